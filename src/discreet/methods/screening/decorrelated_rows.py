"""What the passes of decorrelated scores add up over the rows: whole numbers, each a function of one row."""

from dataclasses import dataclass

import numpy as np

from discreet.data.design import Design
from discreet.data.metadata import CategoryColumn, NumericColumn, half_width
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.decorrelated_scores import (
    Fit,
    Scoring,
    Target,
    column_sums,
    residual_sum,
    saturated,
    score_sums,
    target_sums,
)
from discreet.methods.screening.units import FORCED, Units
from discreet.typing import Bools, Cells, Integers

BINS = 256
"""Of the target's bounds, for its median: so few that a table of some hundred rows is far from all but some of them."""

DISTANCES = np.unique(np.rint(2 * GRID * np.exp2(-np.arange(81) / 8.0)).astype(np.int64))
"""Distances from the center that their median may be, in steps: 8 an octave, down to a 1024th of the bounds' width."""


@dataclass(frozen=True)
class ScoredRows:
    """Which columns are used, what they become, and the sums of each pass.

    Parameters
    ----------
    is_read : ndarray of bool, shape (n_columns,)
        Of the regression's columns but the constant: all, of a category all but the first.
    is_two_valued : ndarray of bool, shape (p,)
        Of these: which become 1 or -1.
    units : Units
        What they enter in: a category, a group.
    ratio : tuple of int
        By what fraction cells are multiplied before they are cut; at least 1.
    has_products : bool
        Whether the columns' products are added up: not where they are public.
    """

    is_read: Bools
    is_two_valued: Bools
    units: Units
    ratio: tuple[int, int] = (1, 1)
    has_products: bool = True

    @classmethod
    def of(cls, design: Design, units: Units, saturation: float = 1.0, has_products: bool = True) -> "ScoredRows":
        """Return the rows of a design, whose candidates enter in these units, saturated at a part of their bounds."""
        unit_of = np.arange(units.n_units) if units.unit_of is None else units.unit_of
        read, two_valued = list[bool](), list[bool]()
        for name, width in zip(design.candidates, design.widths, strict=True):
            column = design.metadata.declared(name)
            read += [not (isinstance(column, CategoryColumn) and width > 1), *[True] * (width - 1)]
            # Levels, and whole numbers of two neighboring values.
            is_binary = not isinstance(column, NumericColumn) or (
                column.type == "integer" and half_width(column)[1] == 0.5
            )
            two_valued += [is_binary] * width
        used = np.array(read, dtype=np.bool_)
        owners = np.repeat(unit_of, design.widths)[used]
        return cls(
            used,
            np.array(two_valued, dtype=np.bool_)[used],
            Units(int((owners != FORCED).sum()), units.n_units, owners),
            (1_000_000, max(round(1_000_000 * saturation), 1)),
            has_products,
        )

    @property
    def _owners(self) -> Integers:
        return np.arange(self.units.n_units) if self.units.unit_of is None else self.units.unit_of

    @property
    def width(self) -> int:
        """Number of columns that are used."""
        return len(self.is_two_valued)

    @property
    def pairs(self) -> tuple[Integers, Integers]:
        """Pairs of columns whose products are added up: a square that is always 1 is not."""
        first, second = np.triu_indices(self.width)
        unknown = ((first != second) | ~self.is_two_valued[first]) & self.has_products
        return first[unknown], second[unknown]

    @property
    def together(self) -> Bools:
        """Which columns enter together with each: none is adjusted for itself."""
        alike = (self._owners[:, None] == self._owners) & (self._owners != FORCED)
        same: Bools = alike | np.eye(self.width, dtype=np.bool_)
        return same

    def columns(self, cells: Cells) -> Integers:
        """Return the saturated columns of encoded rows."""
        return saturated(cells[:, 1:-1][:, self.is_read], self.is_two_valued, self.ratio)

    def bins(self, cells: Cells) -> Integers:
        """Return how many targets lie in each bin of the bounds."""
        places = (cells[:, -1].astype(np.int64) + GRID) * BINS // (2 * GRID + 1)
        return np.bincount(places, minlength=BINS).astype(np.int64)

    def distances(self, cells: Cells, center: int) -> Integers:
        """Return how many targets lie between each distance from the center and the one before."""
        sizes = np.abs(cells[:, -1].astype(np.int64) - center)
        return np.bincount(np.searchsorted(DISTANCES, sizes), minlength=len(DISTANCES)).astype(np.int64)

    def first_sums(self, cells: Cells, target: Target) -> Integers:
        """Return the sums of `column_sums`, then those of `target_sums`."""
        columns = self.columns(cells)
        response = cells[:, -1].astype(np.int64)
        return np.concatenate([column_sums(columns, self.pairs), target_sums(columns, response, target)])

    def residuals(self, cells: Cells, target: Target, fit: Fit) -> Integers:
        """Return the sum of `residual_sum`."""
        return residual_sum(self.columns(cells), cells[:, -1].astype(np.int64), target, fit)

    def scores(self, cells: Cells, target: Target, scoring: Scoring) -> Integers:
        """Return the sums of `score_sums`."""
        return score_sums(self.columns(cells), cells[:, -1].astype(np.int64), target, scoring)
