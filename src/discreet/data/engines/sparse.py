"""Sparse matrices in memory: a cell that is not stored is the number 0, and not missing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import scipy.sparse
from typing_extensions import override

from discreet.data.array_names import names_of
from discreet.data.batch_sizes import BATCH_ROWS, rows_a_batch
from discreet.data.engine import Table
from discreet.data.engines.each import Progress
from discreet.data.engines.frame import column_of, storage_type
from discreet.data.engines.own_memory import own_arrow
from discreet.data.header import refuse_stored, require
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.data.storage_types import require_fit
from discreet.errors import DataMismatchError, InvalidParameterError, MetadataError
from discreet.typing import Cells, Floats, Integers

BLOCK_VALUES = 2**20
"""Stored values that are looked at at once."""


class SparseTable(Table):
    """A sparse matrix of features and a target.

    Parameters
    ----------
    X : scipy.sparse matrix or array, shape (n_samples, n_features)
        Numbers, in any format. Of a cell that is stored in parts the sum counts, as everywhere in SciPy.
    y : array_like, shape (n_samples,)
        The target.
    metadata : Metadata
        What is public about them.
    target : str, optional
        The target's name; default the one declared column that no column of X is named as.
    names : sequence of str, optional
        Names of X's columns; default those that the metadata list, then the numbers from 0 of its unlisted features.

    Raises
    ------
    InvalidParameterError
        When X is not a sparse matrix of numbers, or y has another length.
    MetadataError
        When the metadata do not declare the columns of X and a target.
    """

    is_ordered = True

    def __init__(
        self, X: Any, y: Any, metadata: Metadata, target: str | None = None, names: Sequence[str] | None = None
    ) -> None:
        super().__init__(metadata)
        if not scipy.sparse.issparse(X) or X.ndim != 2 or X.dtype.kind not in "biuf":
            raise InvalidParameterError(
                "X must be a sparse matrix of real numbers, such as a scipy.sparse.csr_array. Convert it."
            )
        self._target = target or _only_target(metadata, names)
        self._names = names_of(metadata, self._target, X.shape[1]) if names is None else names
        if len(self._names) != X.shape[1]:
            raise InvalidParameterError("names must be one for each column of X. Give as many.")
        cells = nw.from_native(y, series_only=True) if nw.dependencies.is_into_series(y) else _one_a_row(y)
        self._response_type = storage_type(cells)
        self._response = column_of(cells, metadata.is_number(self._target))
        if len(self._response) != X.shape[0]:
            raise InvalidParameterError("X and y must have the same number of rows. Give a target for each row.")
        self._matrix = _canonical(X)

    @property
    @override
    def name(self) -> str:
        return "X, y"

    @override
    def header(self) -> list[tuple[str, str]]:
        return [*((name, "UNKNOWN") for name in self._names), (self._target, "UNKNOWN")]

    @override
    def storage_types(self) -> Mapping[str, str]:
        # Features are many, and numbers: that they are declared so, the columns listed one by one tell.
        target = {} if self._response_type is None else {self._target: self._response_type}
        return {**dict.fromkeys(self.metadata.stored, "DOUBLE"), **target}

    @override
    def detach(self) -> None:
        # The matrix was copied when it was brought to its form.
        self._response = own_arrow(pa.table({self._target: self._response})).column(0)

    @override
    def row_count(self) -> int | None:
        return int(self._matrix.shape[0])

    @override
    def feature_names(self, target: str) -> Sequence[str]:
        derived = [name for name in self.metadata.derived if name != target]
        return [*self._names, *derived] if derived else self._names

    @override
    def check(self, columns: Sequence[str]) -> None:
        if self.metadata.unit_id is not None:
            raise DataMismatchError(
                "A sparse matrix must have one row a unit: it has no unit_id. Open a table that has that column."
            )
        if columns is not self._names:
            require(self.header(), columns)
            refuse_stored(self.header(), self.metadata.derived)
        types = self.storage_types()
        wanted = self.metadata.stored if columns is self._names else columns
        require_fit(self.metadata, types, [name for name in wanted if name in types])
        self.check_row_count()

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        place = {name: i for i, name in enumerate(self._names)}
        features = [name for name in columns if name != self._target]
        chosen = self._matrix.tocsc()[:, [place[name] for name in features]].tocsr()
        size = rows_a_batch(BATCH_ROWS, len(columns))
        for start in range(0, self._matrix.shape[0], size):
            block = chosen[start : start + size].toarray()
            part: dict[str, Any] = {name: column_of(block[:, i]) for i, name in enumerate(features)}
            response = self._response.slice(start, size)
            part[self._target] = response.combine_chunks() if isinstance(response, pa.ChunkedArray) else response
            yield pa.RecordBatch.from_arrays([part[name] for name in columns], names=list(columns))

    @override
    def products(self, design: ScoreDesign, progress: Progress | None = None) -> Integers:
        if self.metadata.derived and design.columns != (*design.features, design.target):
            return super().products(design, progress)  # from dense columns: a derived cell is of several stored ones
        response = self._responses(design)
        scales, p = design.scales, len(design.features)
        zero = np.broadcast_to(scales.cells(np.zeros(len(scales.lower))).astype(np.int64), p)
        total = zero * int(response.sum())
        places = self._places(design.features)
        for row, column, value in _stored(self._matrix):
            feature = column if places is None else places[column]
            in_design = slice(None) if places is None else feature >= 0
            row, feature, value = row[in_design], feature[in_design], value[in_design]
            cell = scales.at(feature).cells(value).astype(np.int64)
            # Sums of 64 bits wrap around, so that what passes 2^63 on the way comes back: the score itself is below.
            np.add.at(total, feature, (cell - zero[feature]) * response[row])
        if progress is not None:
            progress(p)
        return total

    @override
    def target_sum(self, design: ScoreDesign) -> tuple[int, int]:
        if design.target in self.metadata.derived:
            return super().target_sum(design)
        response = self._responses(design)
        return int(response.sum()), len(response)

    @override
    def target_counts(self, design: ScoreDesign, places: Callable[[Cells], Integers], n_points: int) -> Integers:
        if design.target in self.metadata.derived:
            return super().target_counts(design, places, n_points)
        return places(design.responses(self._response)[:, None])

    def _responses(self, design: ScoreDesign) -> Integers:
        return design.responses(self._response).astype(np.int64)

    def _places(self, features: Sequence[str]) -> Integers | None:
        """Return the place of each of X's columns among the features, -1 for none; None where they are the same."""
        if features is self._names or features == self._names:
            return None
        place = {name: i for i, name in enumerate(features)}
        return np.array([place.get(name, -1) for name in self._names], dtype=np.int64)


def _stored(matrix: Any) -> Iterator[tuple[Integers, Integers, Floats]]:
    """Yield row, column and value of the stored cells, a block after the other."""
    by_row = matrix.format == "csr"
    for start in range(0, len(matrix.data), BLOCK_VALUES):
        stop = min(start + BLOCK_VALUES, len(matrix.data))
        first = np.searchsorted(matrix.indptr, start, side="right") - 1
        last = np.searchsorted(matrix.indptr, stop, side="left")
        counts = np.diff(np.clip(matrix.indptr[first : last + 1], start, stop))
        major = np.repeat(np.arange(first, last), counts)
        minor = matrix.indices[start:stop].astype(np.int64)
        value = matrix.data[start:stop].astype(np.float64)
        value[~np.isfinite(value)] = np.nan
        yield (major, minor, value) if by_row else (minor, major, value)


def _canonical(X: Any) -> Any:
    """Return a copy of rows or columns with each cell once: the flags that X holds may be out of date."""
    compressed = X if X.format in ("csr", "csc") else X.tocsr()
    canonical = type(compressed)(
        (compressed.data, compressed.indices, compressed.indptr), shape=compressed.shape, copy=True
    )
    with np.errstate(over="ignore", invalid="ignore"):
        canonical.sum_duplicates()
    return canonical


def _one_a_row(y: Any) -> Any:
    values = np.array(y, dtype=object) if isinstance(y, (list, tuple)) else np.asarray(y)
    if values.ndim != 1:
        raise InvalidParameterError("y must have one dimension, a cell for each row. Reshape it.")
    return values


def _only_target(metadata: Metadata, names: Sequence[str] | None) -> str:
    in_x = set(names or ())
    remaining = [name for name in metadata.stored if name not in in_x]
    if len(remaining) != 1:
        raise MetadataError("The target must be a declared column that X does not have. Name it with target=NAME.")
    return remaining[0]
