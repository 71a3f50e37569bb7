"""What every engine does: stream the columns that were asked for, add up integers. Never the whole table in memory."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.data.design import Cells, Design, RowMap
from discreet.data.metadata import Metadata
from discreet.data.unit_cut import cut_blocks
from discreet.errors import DataMismatchError
from discreet.kernels.moments import exact_moments

Integers = npt.NDArray[np.int64]
Progress = Callable[[int], None]

BATCH_ROWS = 2**16
WORKERS = 2

_STORED = frozenset(
    [
        *("BOOL", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
        *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE"),
        *("DECIMAL", "DECIMAL32", "DECIMAL64", "DECIMAL128", "DECIMAL256"),
        *("VARCHAR", "ENUM", "UUID", "JSON", "NULL", "UNKNOWN"),
    ]
)
"""Storage types of numbers and text, in the words of all engines; the last two where every cell is missing."""


class Table(ABC):
    """A private table, seen only through its metadata.

    Parameters
    ----------
    metadata : Metadata
        What is public about it.

    Notes
    -----
    Opening a table reads its header and nothing else. An engine implements `header`, `batches` and, where the storage
    states it, `row_count`.
    """

    def __init__(self, metadata: Metadata) -> None:
        self.metadata = metadata

    @property
    @abstractmethod
    def name(self) -> str:
        """Public name of the source, without its folder."""

    @property
    def locator(self) -> str | None:
        """Where the source is, when asking it again would find the same rows; None for a frame in memory."""
        return None

    @abstractmethod
    def header(self) -> list[tuple[str, str]]:
        """Return names and storage types of the columns, without reading a row."""

    def row_count(self) -> int | None:
        """Return the number of rows where the storage states it without reading rows, else None."""
        return None

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the rows' named columns, in any order and any batches.

        Parameters
        ----------
        columns : sequence of str
            Names from the header.

        Yields
        ------
        pyarrow.RecordBatch
            Of the storage's own types.
        """

    # ---- what methods use

    def check(self, columns: Sequence[str]) -> None:
        """Compare the header, and the number of rows where it is public, with the metadata; no row is read.

        Parameters
        ----------
        columns : sequence of str
            Columns that will be read.

        Raises
        ------
        DataMismatchError
            When a column is absent or doubled, cannot hold what is declared, or the public row count differs.
        """
        header = self.header()
        names = [name for name, _ in header]
        unit_id = (self.metadata.unit_id,) if self.metadata.unit_id else ()
        for name in (*columns, *unit_id):
            if names.count(name) != 1:
                found = "is there more than once" if name in names else f"is not in it{_nearly(name, names)}"
                raise DataMismatchError(
                    f"The table must have each declared column once, but column {_shown(name)} {found}. "
                    "Correct the metadata or the table."
                )
            kind = dict(header)[name].upper()
            if kind.endswith("]") or kind.split("(")[0].strip('"') not in _STORED:
                raise DataMismatchError(
                    f"Column {_shown(name)} must hold numbers or text, but its storage type is {kind[:40]}. "
                    "Convert it before it is opened here."
                )
        if self.metadata.n_rows is not None:
            stated = self.row_count()
            if stated is not None and stated != self.metadata.n_rows:
                raise DataMismatchError(
                    f"The table must have the n_rows={self.metadata.n_rows} that its metadata declares public, but it "
                    "has another number of rows. Correct n_rows, or declare neighboring: add_or_remove_one."
                )

    def map_reduce(
        self,
        design: RowMap,
        work: Callable[[Cells], Integers],
        start: Integers,
        progress: Progress | None = None,
    ) -> Integers:
        """Add up an integer function of blocks of encoded rows, the cut by unit enforced first.

        Parameters
        ----------
        design : RowMap
            The row map.
        work : callable
            From encoded rows to an array of int64; must not depend on how rows are split into blocks.
        start : ndarray of int64
            The sum of no rows.
        progress : callable, optional
            Told the number of rows read since it was last told.

        Returns
        -------
        ndarray of int64
            The same integers in any order, by any blocks, on any engine.
        """
        total = start.copy()
        if self.metadata.unit_id is not None:
            unit_id = self.metadata.unit_id
            batches = self.batches((*design.columns, unit_id))
            for cells in cut_blocks(batches, design, unit_id, self.metadata.rows_per_unit):
                total += work(cells)
            return total

        def task(batch: pa.RecordBatch) -> Integers:
            return work(design.encode(batch))

        waiting: list[tuple[int, Future[Integers]]] = []
        with ThreadPoolExecutor(WORKERS) as pool:
            for batch in self.batches(design.columns):
                waiting.append((batch.num_rows, pool.submit(task, batch)))
                if len(waiting) > WORKERS:
                    total += _finished(waiting.pop(0), progress)
            for item in waiting:
                total += _finished(item, progress)
        return total

    def moments(self, design: Design, progress: Progress | None = None) -> Integers:
        """Return the exact second moments of the encoded rows.

        Parameters
        ----------
        design : Design
            The row map.
        progress : callable, optional
            Told the number of rows read since it was last told.

        Returns
        -------
        ndarray of int64, shape (n_columns, n_columns)
            In units of 1 / 32767^2.

        References
        ----------
        Privacy specification 8.1.
        """
        p = design.n_columns
        return self.map_reduce(design, exact_moments, np.zeros((p, p), dtype=np.int64), progress)


def _finished(item: tuple[int, Future[Integers]], progress: Progress | None) -> Integers:
    n_rows, future = item
    part = future.result()
    if progress is not None:
        progress(n_rows)
    return part


def _nearly(name: str, names: Sequence[str]) -> str:
    """Tell of a column spelled nearly the same, and of no other: without a header, the first row stands there."""
    near = [other for other in names if other.strip().casefold() == name.strip().casefold()]
    return f", though {_shown(near[0])} is" if near else ""


def _shown(name: str) -> str:
    """A column name on one line: control characters escaped, cut at 60."""
    return repr(name[:60])
