"""Features and a target in memory, side by side: arrays, series, or columns of a frame."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from typing_extensions import override

from discreet.data.array_names import names_of
from discreet.data.batch_sizes import BATCH_ROWS, rows_a_batch
from discreet.data.engine import Table
from discreet.data.engines.frame import column_of, storage_type
from discreet.data.engines.own_memory import own_column
from discreet.data.metadata import Metadata
from discreet.errors import DataMismatchError, InvalidParameterError, MetadataError

STRIP_ROWS = 2048
"""Rows of a matrix that are copied at once; they stay in a processor's cache."""


class ArraysTable(Table):
    """Features and target as one table; cells are converted when the rows are read, not before.

    Parameters
    ----------
    columns : dict of str to array or series
        All of one length.
    metadata : Metadata
        What is public about them.
    """

    is_ordered = True

    def __init__(self, columns: dict[str, Any], metadata: Metadata) -> None:
        super().__init__(metadata)
        self._columns = columns

    @property
    @override
    def name(self) -> str:
        return "X, y"

    @override
    def header(self) -> list[tuple[str, str]]:
        return [(name, "UNKNOWN") for name in self._columns]

    @override
    def storage_types(self) -> Mapping[str, str]:
        kinds = ((name, storage_type(values)) for name, values in self._columns.items())
        return {name: kind for name, kind in kinds if kind is not None}

    @override
    def detach(self) -> None:
        self._columns = {name: own_column(values) for name, values in self._columns.items()}

    @override
    def row_count(self) -> int | None:
        return len(next(iter(self._columns.values())))

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        size = rows_a_batch(BATCH_ROWS, len(columns))
        for start in range(0, self.row_count() or 0, size):
            parts = _side_by_side([self._columns[name][start : start + size] for name in columns])
            arrays = [column_of(part, self.metadata.is_number(name)) for name, part in zip(columns, parts, strict=True)]
            yield pa.RecordBatch.from_arrays(
                [a.combine_chunks() if isinstance(a, pa.ChunkedArray) else a for a in arrays], names=list(columns)
            )


def _side_by_side(parts: list[Any]) -> list[Any]:
    """Return the columns of a matrix of floats in memory of their own, copied a few rows at a time."""
    # Cells of a row share a line of the processor's cache: by whole columns each line would be fetched for each cell.
    places = [i for i, part in enumerate(parts) if isinstance(part, np.ndarray) and part.dtype == np.float64]
    copies = np.empty((len(places), len(parts[0]) if places else 0))
    for start in range(0, copies.shape[1], STRIP_ROWS):
        strip = slice(start, start + STRIP_ROWS)
        for copy, place in zip(copies, places, strict=True):
            copy[strip] = parts[place][strip]
    own = dict(zip(places, copies, strict=True))
    return [own.get(i, part) for i, part in enumerate(parts)]


def table_of_pair(pair: tuple[Any, ...], metadata: Metadata) -> Table:
    """Return features and target as one table in memory, of which nothing is stated yet."""
    if len(pair) != 2:
        raise InvalidParameterError(f"Arrays must be given as a pair (X, y), but {len(pair)} are given. Give two.")
    X, y = pair
    response = _cells_of(y)
    if type(X).__module__.startswith("scipy.sparse"):
        sparse: Any = importlib.import_module("discreet.data.engines.sparse")  # loads scipy, which few tables need
        table: Table = sparse.SparseTable(X, y, metadata, _target_of_array(y, metadata))
        return table
    is_frame = nw.dependencies.is_into_dataframe(X)
    columns = _frame_columns(X, y, response, metadata) if is_frame else _array_columns(X, y, response, metadata)
    if len({len(values) for values in columns.values()}) > 1:
        raise InvalidParameterError("X and y must have the same number of rows. Give a target for each row.")
    return ArraysTable(columns, metadata)


def _frame_columns(X: Any, y: Any, response: Any, metadata: Metadata) -> dict[str, Any]:
    try:
        frame = nw.from_native(X, eager_only=True)
        columns = {str(name): frame[name] for name in frame.columns}
    except Exception:  # a frame's own complaint may show cells
        raise DataMismatchError("The frame's columns must have distinct names that are text. Rename them.") from None
    lacking = [name for name in metadata.stored if name not in columns]
    name = _name_of(y)
    if len(lacking) != 1 or name not in (None, lacking[0]):
        called = "one column without a name" if name is None else f"named {name[:60]!r}"
        shown = ", ".join(repr(column[:60]) for column in lacking[:3]) or "none"
        raise DataMismatchError(
            f"X and y together must be all declared columns as they are, but X lacks {shown} and y is {called}. Hand "
            "over the whole table: candidates=[...] says which columns take part."
        )
    return {**columns, lacking[0]: response}


def _array_columns(X: Any, y: Any, response: Any, metadata: Metadata) -> dict[str, Any]:
    # A list may hold anything: no common type is guessed from its cells.
    matrix = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else np.asarray(X)
    if matrix.ndim != 2:
        raise InvalidParameterError(f"X must have two dimensions, but it has {matrix.ndim}. Reshape it.")
    target = _target_of_array(y, metadata)
    names = names_of(metadata, target, matrix.shape[1])
    return {**{name: matrix[:, place] for place, name in enumerate(names)}, target: response}


def _target_of_array(y: Any, metadata: Metadata) -> str:
    name = _name_of(y)
    if name is None:
        return metadata.stored[-1]
    if name not in metadata.stored:
        raise MetadataError(f"y must be a declared column, but its name {name[:60]!r} is not declared. Rename it.")
    return name


def _name_of(y: Any) -> str | None:
    """Return the name of a series; of a polars series without one, the name is an empty text."""
    name = getattr(y, "name", None) if nw.dependencies.is_into_series(y) else None
    return str(name) if name not in (None, "") else None


def _cells_of(y: Any) -> Any:
    if nw.dependencies.is_into_series(y):
        return nw.from_native(y, series_only=True)
    cells = np.array(y, dtype=object) if isinstance(y, (list, tuple)) else np.asarray(y)
    if cells.ndim == 2 and cells.shape[1] == 1:
        return cells[:, 0]
    if cells.ndim != 1:
        raise InvalidParameterError(f"y must have one dimension, but it has {cells.ndim}. Reshape it.")
    return cells
