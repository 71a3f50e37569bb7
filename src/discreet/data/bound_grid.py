"""The public grid of private bounds, and the row map that places cells on it."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.data.cells import numbers
from discreet.data.metadata import Metadata, NumericColumn
from discreet.typing import Cells, Floats, Integers

POINTS_PER_OCTAVE = 4
OCTAVES = (-20, 40)
"""Sizes from 2^-20 to 2^40: a millionth to a million million, in whatever unit a column has."""


def bound_grid() -> Floats:
    """Return the increasing points where a bound may lie: zero, and powers of 2^(1/4) of both signs.

    Examples
    --------
    >>> grid = bound_grid()
    >>> len(grid), float(grid[0]), float(grid[241])
    (483, -1099511627776.0, 0.0)
    """
    low, high = (POINTS_PER_OCTAVE * octave for octave in OCTAVES)
    sizes = np.exp2(np.arange(low, high + 1) / POINTS_PER_OCTAVE)
    points: Floats = np.concatenate([-sizes[::-1], [0.0], sizes])
    return points


@dataclass(frozen=True)
class BoundMap:
    """The row map of private bounds: each cell becomes its neighbors on the grid, below and above.

    Parameters
    ----------
    metadata : Metadata
        What is public about the table.
    columns : tuple of str
        Numeric columns whose bounds are estimated privately.

    Notes
    -----
    A total function of one row. A missing cell has no place, -1, and counts for nothing; a cell beyond the grid is
    moved to its end.

    References
    ----------
    Privacy specification 0.2 and 3.4.
    """

    metadata: Metadata
    columns: tuple[str, ...]

    @property
    def n_columns(self) -> int:
        """Number of integers a row becomes."""
        return 2 * len(self.columns)

    def encode(self, batch: pa.RecordBatch) -> Cells:
        """Return for each column the grid's last point not above the cell, then its first point not below it.

        Returns shape (n_rows, n_columns), two columns for each declared one; -1 for a missing cell.
        """
        grid = bound_grid()
        cells = np.full((batch.num_rows, self.n_columns), -1, dtype=np.int16, order="F")
        for i, name in enumerate(self.columns):
            values = numbers(batch.column(name))
            column = self.metadata.column(name)
            if isinstance(column, NumericColumn) and column.missing is not None:
                values = np.where(np.isnan(values), column.missing, values)
            present = ~np.isnan(values)
            inside = np.clip(values[present], grid[0], grid[-1])
            cells[present, 2 * i] = np.searchsorted(grid, inside, side="right") - 1
            cells[present, 2 * i + 1] = np.searchsorted(grid, inside, side="left")
        return cells

    def count(self, cells: Cells) -> Integers:
        """Return how many cells each point of the grid took, without missing ones, of shape (n_columns, n_points)."""
        n_points = len(bound_grid())
        counts = [np.bincount(column[column >= 0], minlength=n_points) for column in cells.T]
        return np.array(counts, dtype=np.int64).reshape(self.n_columns, n_points)

    @property
    def nothing(self) -> Integers:
        """The counts of no rows."""
        return np.zeros((self.n_columns, len(bound_grid())), dtype=np.int64)
