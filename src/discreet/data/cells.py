"""From cells, as storage holds them, to numbers within bounds and places of levels: each by its column alone.

No cell is refused: one that is no number, or of no level, is a missing one.
"""

import importlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.data import arrow_functions as pc
from discreet.data.arrow_arrays import cells_of, number_array, text_array
from discreet.data.derived_columns import with_derived
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn, half_width
from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells, Floats

NUMBER_PATTERN = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""Text that counts as a number, as true and false do; any other text is a missing cell."""


def declared_batch(batch: pa.RecordBatch, metadata: Metadata, names: Sequence[str]) -> pa.RecordBatch:
    """Return named columns of a batch in their order, as if the derived ones were stored.

    The batch holds `columns_read` of the names. A row is made of the same row alone. Where none of the columns is
    derived, it is the batch itself.
    """
    derived = metadata.derived
    if not derived:
        return batch

    def read(values: pa.Array, name: str, level: str | None) -> Floats:
        column = metadata.declared(name)
        if isinstance(column, CategoryColumn):
            of_level: Floats = (level_codes(values, column) == (column.levels or ()).index(str(level))).astype(float)
            return of_level
        return bounded(numbers(values), column)

    return with_derived(batch, derived, names, read)


def bounded(values: Floats, column: NumericColumn) -> Floats:
    """Return finite numbers within a column's bounds; a missing one, NaN, becomes its declared value or the middle."""
    (middle, _), lower, upper = half_width(column), column.lower or 0.0, column.upper or 0.0
    missing = np.isnan(values)
    if column.out_of_bounds == "missing":
        missing |= (values < lower) | (values > upper)
    return np.clip(np.where(missing, middle if column.missing is None else column.missing, values), lower, upper)


def grid_cells(values: Floats, column: NumericColumn, center: float, half: float) -> Cells:
    """Clip, center, scale to [-1, 1], round to steps of 1 / 32767; never an error.

    A missing cell, NaN, becomes its declared value or the center. `center` becomes 0, and what is `half` above it 1;
    both are in the column's unit.
    """
    lower, upper = column.lower or 0.0, column.upper or 0.0
    scaled = np.array(values, dtype=np.float64)
    missing = np.isnan(scaled)
    if column.out_of_bounds == "missing":
        missing |= (scaled < lower) | (scaled > upper)
    # In place: a column that stays in the processor's cache is done in a third of the time.
    scaled[missing] = center if column.missing is None else column.missing
    np.clip(scaled, lower, upper, out=scaled)
    scaled -= center
    scaled /= half
    # Once more: y_bound may be less than the bounds' distance from the center, and division may round beyond 1.
    np.clip(scaled, -1.0, 1.0, out=scaled)
    if column.missing is None:
        scaled[missing] = 0.0
    scaled *= GRID
    cells: Cells = np.rint(scaled, out=scaled).astype(np.int16)
    return cells


class Compiled:
    """The compiled steps of `grid_cells`, once a large table has loaded them: a small one is done before they are."""

    code: Any = None

    @classmethod
    def load(cls) -> None:
        """Load them for all tables of this process."""
        cls.code = importlib.import_module("discreet.kernels.rows.grid_compiled")


def write_cells(values: pa.Array, column: NumericColumn, center: float, half: float, cells: Cells) -> None:
    """Write what `grid_cells` returns of a column of any type; in compiled code where a large table has loaded it."""
    compiled = Compiled.code
    if compiled is None:
        cells[:] = grid_cells(numbers(values), column, center, half)
        return
    plain = _plain(values)
    is_native = not plain.null_count and (pa.types.is_integer(plain.type) or pa.types.is_floating(plain.type))
    floats = (cells_of(plain) if is_native and not pa.types.is_float16(plain.type) else numbers(plain)).view()
    floats.flags.writeable = False  # or code is compiled for both
    missing = np.nan if column.missing is None else float(column.missing)
    bounds = (column.lower or 0.0, column.upper or 0.0)
    compiled.write_cells(floats, bounds, (center, half), column.out_of_bounds == "missing", missing, cells)


def numbers(values: pa.Array) -> Floats:
    """Return a column of any type as float64, NaN where a cell is missing, not finite or not a number; never an error.

    Examples
    --------
    >>> numbers(pa.array(["1.5", " 2 ", "x", None, "inf"]))
    array([1.5, 2. , nan, nan, nan])
    """
    values = _plain(values)
    kind = values.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        converted = pc.cast(values, pa.float64(), safe=False)
    elif pa.types.is_decimal(kind):  # by way of text, which is read as in any other storage: to the nearest number
        converted = pc.cast(pc.cast(values, pa.string()), pa.float64())
    elif _is_text(kind):
        converted = _parsed(values)
    else:
        return np.full(len(values), np.nan)
    cells: Floats = cells_of(converted, np.nan)
    finite = np.isfinite(cells)
    return cells if finite.all() else np.where(finite, cells, np.nan)


def _parsed(values: pa.Array) -> pa.Array:
    """Parse text as numbers; what does not look like one is null."""
    trimmed = pc.ascii_trim_whitespace(values)
    try:
        return pc.cast(trimmed, pa.float64())
    except pa.ArrowInvalid:
        # What a boolean becomes where a file has no types.
        word = pc.ascii_lower(trimmed)
        true, one, false, zero = text_array(["true", "1", "false", "0"])
        trimmed = pc.if_else(pc.equal(word, true), one, pc.if_else(pc.equal(word, false), zero, trimmed))
        matches = pc.match_substring_regex(trimmed, NUMBER_PATTERN)
        return pc.cast(pc.if_else(matches, trimmed, pa.NA), pa.float64())


def level_codes(values: pa.Array, column: CategoryColumn) -> npt.NDArray[np.int16]:
    """Return the place of each cell's level, -1 for a cell of none; never an error.

    Cells of any type are compared with the levels as text, then with those that are numbers as numbers, so that 1, 1.0
    and "1" are one level however the table is stored.
    """
    levels = list(column.levels or ())
    other = -1 if column.unknown is None else levels.index(column.unknown)
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_dictionary(values.type):  # a look at each entry serves all cells that share it
        entries = level_codes(values.dictionary, column)
        indices = cells_of(values.indices if not values.indices.null_count else values.indices.cast(pa.int64()), -1)
        cell_codes: npt.NDArray[np.int16] = np.append(entries, np.int16(other)).take(indices)
        return cell_codes
    values = _plain(values)
    codes = np.full(len(values), -1, dtype=np.int16)  # there are at most 10,000 levels
    if _is_text(values.type):
        codes = _places(values, text_array(levels).cast(values.type))
    elif pa.types.is_boolean(values.type) or pa.types.is_integer(values.type):
        codes = _places(pc.cast(values, pa.string()), text_array(levels))
    numeric = _level_numbers(tuple(levels))
    if not np.isnan(numeric).all():
        by_number = _places(*(number_array(cells + 0.0) for cells in (numbers(values), numeric)))
        codes = np.where(codes < 0, by_number, codes)
    return np.where(codes < 0, other, codes)


def _places(values: pa.Array, levels: pa.Array) -> npt.NDArray[np.int16]:
    indices = pc.index_in(values, value_set=levels, skip_nulls=True)
    places: npt.NDArray[np.int16] = cells_of(indices, -1).astype(np.int16)
    return places


@lru_cache(maxsize=1024)
def _level_numbers(levels: tuple[str, ...]) -> Floats:
    """Return the levels as numbers, NaN for one that is none or the same number as another."""
    as_numbers = numbers(text_array(levels))
    _, place, times = np.unique(as_numbers, return_inverse=True, return_counts=True)
    return np.where(times[place] > 1, np.nan, as_numbers)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _plain(values: Any) -> pa.Array:
    """Undo dictionaries, chunks and views: the same text and numbers whatever the storage."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        return _plain(values.dictionary).take(values.indices)
    if pa.types.is_string_view(values.type):
        values = pc.cast(values, pa.string())
    return values
