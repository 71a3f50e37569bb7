"""The middles of a public grid's cells: points that no record has to lie on (Lei 2011)."""

from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from discreet.data.hybrid_design import HybridDesign
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn, half_width
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells

MOST_CELLS = 10**6

ROWS_A_CELL = 50.0
"""Private rows a cell, times epsilon. In the simulation of Wang et al. with two columns, the error is least from 25 to
100."""

FIRST_GUESS = 10_000
"""Of the number of rows, where none is given."""


@dataclass(frozen=True)
class GridPoints:
    """A box of cells of one width a column, crossed with all levels.

    Parameters
    ----------
    cells : ndarray of int16, shape (k, n_columns)
        Their middles, in lexicographic order.
    bins : dict of str to int
        Cells along each numeric column.
    """

    cells: Cells
    bins: dict[str, int]

    @classmethod
    def of(
        cls, design: HybridDesign, metadata: Metadata, epsilon: Fraction, n0: int | None, bins: int | None = None
    ) -> "GridPoints":
        """Return the grid of a request, of at most `MOST_CELLS` cells, from public facts alone.

        Source: Lei 2011, Section 3; privacy specification 5.5.
        """
        levels = prod(len(_levels(design, name)) for name in design.categories)
        n_values = {name: _whole(design, name) for name in design.numeric}
        n_rows = metadata.n_rows or n0 or FIRST_GUESS
        n_bins = bins or _rule(n_rows * float(epsilon) / (ROWS_A_CELL * metadata.rows_per_unit) / levels, n_values)
        bins_by_column = {name: min(n_bins, size) if size else n_bins for name, size in n_values.items()}
        n_cells = levels * prod(bins_by_column.values())
        if n_cells > MOST_CELLS:
            raise InvalidParameterError(
                f"A histogram must have at most {MOST_CELLS:,} cells, but these columns need {n_cells:,}. Take fewer "
                "columns or bins, or weight public records."
            )
        axes = [_middles(bins_by_column[name], bins_by_column[name] == n_values[name]) for name in design.numeric]
        axes += [np.arange(len(_levels(design, name)), dtype=np.int16) for name in design.categories]
        mesh = np.meshgrid(*axes, indexing="ij")
        return cls(np.stack([axis.ravel() for axis in mesh], axis=1).astype(np.int16), bins_by_column)


def _levels(design: HybridDesign, name: str) -> tuple[str, ...]:
    column = design.metadata.declared(name)
    return (column.levels or ()) if isinstance(column, CategoryColumn) else ()


def _whole(design: HybridDesign, name: str) -> int | None:
    """Number of values of an integer column between whole bounds."""
    column = design.metadata.declared(name)
    if not isinstance(column, NumericColumn) or column.type != "integer":
        return None
    middle, half = half_width(column)
    ends = middle - half, middle + half
    return round(2 * half) + 1 if all(end == round(end) for end in ends) else None


def _rule(per_level: float, n_values: dict[str, int | None]) -> int:
    """The most cells a column so that all together are no more than the rule gives; integers take only their values."""
    n_bins = 2
    while n_bins < MOST_CELLS and prod(min(n_bins + 1, size or n_bins + 1) for size in n_values.values()) <= per_level:
        n_bins += 1
        if all(size is not None and size <= n_bins for size in n_values.values()):
            break
    return n_bins


def _middles(bins: int, are_values: bool) -> Cells:
    """Of the cells of a range; the values themselves where there is a cell for each."""
    if are_values:
        return np.rint(np.linspace(-GRID, GRID, bins)).astype(np.int16)
    return np.rint((np.arange(bins) * 2 + 1 - bins) / bins * GRID).astype(np.int16)
