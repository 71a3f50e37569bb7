"""What a storage answers and every engine implements: a header, batches of rows, and what is known of their number."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from discreet.data.metadata import Metadata


class Storage(ABC):
    """Rows as they are stored, with what is public about them.

    Parameters
    ----------
    metadata : Metadata
        What is public about the table.

    Notes
    -----
    An engine implements `name`, `header`, `batches` and, where the storage states it, `row_count`.
    """

    is_ordered: ClassVar[bool] = False
    """Whether `batches` returns the rows in the same order whenever and for whichever columns it is called."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata.fixed()

    @property
    def metadata(self) -> Metadata:
        """What is public about the table."""
        return self._metadata

    @property
    @abstractmethod
    def name(self) -> str:
        """Public name of the source, without its folder."""

    @property
    def locator(self) -> str | None:
        """Where the source is, when asking it again would find the same rows; None for a frame in memory."""
        return None

    def holds_file(self, path: Path) -> bool:  # noqa: ARG002 - a frame holds none
        """Tell whether an existing file of this machine is the source or a part of it: False for what is elsewhere."""
        return False

    @abstractmethod
    def header(self) -> list[tuple[str, str]]:
        """Return names and storage types of the columns, without reading a row."""

    def storage_types(self) -> Mapping[str, str]:
        """Return the storage types that hold for all cells of their columns, from the header; default all of it."""
        return dict(self.header())

    def row_count(self) -> int | None:
        """Return the number of rows where the storage states it without reading rows, else None."""
        return None

    def about_rows(self) -> int:
        """Return about how many rows there are, to plan memory by; 0 where nothing tells. No output may use it."""
        return self.row_count() or self.metadata.n_rows or 0

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read columns named in the header, rows in any order and any batches, of the storage's own types."""

    def one_state(self) -> AbstractContextManager[object]:
        """Have all passes in the block read one state of the table, whatever others write meanwhile.

        Default: nothing to do, as of rows in memory, or of files, where a pass of another state is refused.
        """
        return nullcontext()

    def streams(self, columns: Sequence[str]) -> Iterator[Iterable[pa.RecordBatch]]:
        """Return the same rows as streams that can be read side by side; default one batch after the other.

        Whoever takes a stream reads it to its end.
        """
        return ([batch] for batch in self.batches(columns))
