"""Frames in memory: pandas, polars, Arrow, and whatever narwhals knows."""

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import pyarrow as pa
from typing_extensions import override

from discreet.data.engine import BATCH_ROWS, Table
from discreet.data.metadata import Metadata
from discreet.errors import DataMismatchError, InvalidParameterError


class FrameTable(Table):
    """A table in memory.

    Parameters
    ----------
    frame : DataFrame or pyarrow.Table
        Anything eager that narwhals reads.
    metadata : Metadata
        What is public about it.
    name : str
        What releases call it.
    """

    def __init__(self, frame: Any, metadata: Metadata, name: str = "frame") -> None:
        super().__init__(metadata)
        self._name = name
        try:
            self._frame = nw.from_native(frame, eager_only=True)
            self._names = [str(column) for column in self._frame.columns]
        except TypeError:
            raise InvalidParameterError(
                f"A table must be a file or a pandas, polars or Arrow frame, but it is a {type(frame).__name__}."
            ) from None
        except Exception:  # a frame's own complaint may show cells
            raise DataMismatchError(
                "The frame's columns must have distinct names that are text. Rename them."
            ) from None

    @property
    @override
    def name(self) -> str:
        return self._name

    @override
    def header(self) -> list[tuple[str, str]]:
        return [(str(name), _kind(dtype)) for name, dtype in self._frame.collect_schema().items()]

    @override
    def row_count(self) -> int | None:
        return len(self._frame)

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        arrays = [column_of(self._frame[name]) for name in columns]
        for start in range(0, len(self._frame), BATCH_ROWS):
            yield pa.RecordBatch.from_arrays(
                [_contiguous(array.slice(start, BATCH_ROWS)) for array in arrays], names=list(columns)
            )


def _kind(dtype: Any) -> str:
    """Storage type in the words that files use."""
    name = str(dtype)
    words = {
        "String": "VARCHAR",
        "Object": "VARCHAR",
        "Categorical": "ENUM",
        "Boolean": "BOOLEAN",
        "Date": "DATE",
    }
    if name.startswith(("Int", "UInt")):
        return "BIGINT"
    if name.startswith("Float"):
        return "DOUBLE"
    return words.get(name, name.upper())


def _contiguous(array: Any) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def column_of(values: Any) -> Any:
    """Return a column as Arrow, whatever its cells are; never an error that depends on a cell.

    Parameters
    ----------
    values : narwhals.Series or list
        Numbers, text, missing cells, or a mixture.

    Returns
    -------
    pyarrow.Array or pyarrow.ChunkedArray
        A mixture becomes text; a cell that is neither number nor text becomes a missing one.
    """
    try:
        return values.to_arrow() if isinstance(values, nw.Series) else pa.array(values)
    except Exception:  # Arrow's complaint would show the cell
        return pa.array([_text(cell) for cell in (values.to_list() if isinstance(values, nw.Series) else values)])


def _text(cell: Any) -> str | None:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, str):
        return cell.encode("utf-8", "replace").decode()
    if isinstance(cell, (int, float)):
        return repr(cell)
    return None
