"""Many numeric columns at once: cells of one storage type in one array, and on the grid in one stroke."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.data.cells import numbers
from discreet.data.columns import NumericColumn, half_width
from discreet.kernels.moments.moments import GRID
from discreet.typing import Floats


@dataclass(frozen=True)
class Scales:
    """How the cells of some features become integers: one number for all, or one a feature.

    Parameters
    ----------
    lower, upper : ndarray of float
        Bounds.
    middle, half : ndarray of float
        Center of the bounds and half their width.
    missing : ndarray of float
        What a missing cell counts as; NaN for the middle.
    strict : ndarray of bool
        Whether a cell beyond the bounds counts as missing.
    """

    lower: Floats
    upper: Floats
    middle: Floats
    half: Floats
    missing: Floats
    strict: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, columns: Sequence[NumericColumn]) -> "Scales":
        """Return the scales of declared columns, in their order."""
        middle, half = np.array([half_width(column) for column in columns]).reshape(-1, 2).T
        return cls(
            np.array([column.lower for column in columns], dtype=np.float64),
            np.array([column.upper for column in columns], dtype=np.float64),
            middle,
            half,
            np.array([np.nan if column.missing is None else column.missing for column in columns]),
            np.array([column.out_of_bounds == "missing" for column in columns], dtype=np.bool_),
        )

    def part(self, start: int, stop: int) -> "Scales":
        """Return the scales of a range of features; itself where all features are alike."""
        return self.at(slice(start, stop))

    def at(self, place: slice | npt.NDArray[np.int64]) -> "Scales":
        """Return the scales of the features at some places; itself where all features are alike."""
        if len(self.lower) == 1:
            return self
        numbers = (self.lower, self.upper, self.middle, self.half, self.missing)
        lower, upper, middle, half, missing = (field[place] for field in numbers)
        return Scales(lower, upper, middle, half, missing, self.strict[place])

    def saturated(self, saturation: float) -> "Scales":
        """Return scales whose ends lie nearer to the middles: at this part of each half range."""
        return self if saturation == 1.0 else replace(self, half=self.half * saturation)

    def cells(self, values: Floats) -> Floats:
        """Return integers on the grid, as floats in [-32767, 32767], as the row map of a regression does.

        Shapes: values (..., n_features).
        """
        if self.strict.any():
            beyond = self.strict & ((values < self.lower) | (values > self.upper))
            values = np.where(beyond, np.nan, values)
        if not np.isnan(self.missing).all():
            values = np.where(np.isnan(values), self.missing, values)
        # The steps of `grid_cells` in the same order, so that both round alike to the last bit.
        cells: Floats = np.clip(values, self.lower, self.upper)
        cells -= self.middle
        cells /= self.half
        np.clip(cells, -1.0, 1.0, out=cells)
        cells[np.isnan(cells)] = 0.0
        cells *= GRID
        return np.rint(cells, out=cells)


def matrix_of(columns: Sequence[pa.Array]) -> Floats:
    """Return columns as numbers, those of one storage type at once: there may be thousands.

    NaN where a cell is missing, not finite or not a number; never an error. Returns shape (n_columns, n_rows).
    """
    matrix = np.empty((len(columns), len(columns[0]) if columns else 0))
    kinds: dict[Any, list[int]] = {}
    for place, column in enumerate(columns):
        kinds.setdefault(column.type, []).append(place)
    for kind, places in kinds.items():
        if pa.types.is_dictionary(kind):  # each has its own entries
            for place in places:
                matrix[place] = numbers(columns[place])
            continue
        together = [columns[place] for place in places]
        if pa.types.is_string(kind):  # so much text may pass what 32 bits can count
            together = [column.cast(pa.large_string()) for column in together]
        values = numbers(pa.concat_arrays(together)).reshape(len(places), -1)
        if len(kinds) == 1:
            return values
        matrix[places] = values
    return matrix
