"""The row map that tells whether a row's target lies where it is clipped."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.data.cells import declared_batch, numbers
from discreet.data.derived_columns import columns_read
from discreet.data.design import Design
from discreet.data.metadata import NumericColumn
from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells, Integers


@dataclass(frozen=True)
class ClippedTarget:
    """A row becomes 1 where its target is clipped by more than a step of the grid, else 0; a total function of the row.

    Parameters
    ----------
    design : Design
        With the target's bounds, its center, and how far from it a target is clipped.
    """

    design: Design

    @property
    def columns(self) -> tuple[str, ...]:
        """Name of the target alone, or of what it is derived from."""
        return columns_read(self.design.metadata.derived, (self.design.target,))

    @property
    def n_columns(self) -> int:
        """One number a row."""
        return 1

    def encode(self, batch: pa.RecordBatch) -> Cells:
        """Return 0 or 1 for each row, shape (n_rows, 1); a cell that counts as missing is not clipped."""
        batch = declared_batch(batch, self.design.metadata, (self.design.target,))
        column = self.design.metadata.declared(self.design.target)
        values = numbers(batch.column(self.design.target))
        low, high = self.design.center - self.design.bound, self.design.center + self.design.bound
        if isinstance(column, NumericColumn):
            lower, upper = column.lower or 0.0, column.upper or 0.0
            if column.out_of_bounds == "missing":
                values = np.where((values < lower) | (values > upper), np.nan, values)
            low, high = max(low, lower), min(high, upper)
        step = self.design.bound / GRID
        is_clipped = (values < low - step) | (values > high + step)  # not a number is neither
        return is_clipped.astype(np.int16)[:, None]

    @staticmethod
    def count(cells: Cells) -> Integers:
        """Return the number of ones, shape (1,)."""
        total: Integers = cells.astype(np.int64).sum(axis=0)
        return total
