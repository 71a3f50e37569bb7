"""What the passes of decorrelated scores add up over encoded rows: whole numbers, each a function of one row."""

from dataclasses import dataclass

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.decorrelated_scores import (
    Fit,
    Scoring,
    Target,
    column_sums,
    cut_target,
    own_sums,
    residual_sum,
    saturated,
    score_sums,
    target_sums,
    turned_sums,
)
from discreet.typing import Bools, Cells, Floats, Integers

BINS = 256
"""Of the target's bounds, for its median: so few that a table of some hundred rows is far from all but some of them."""

DISTANCES = np.unique(np.rint(2 * GRID * np.exp2(-np.arange(81) / 8.0)).astype(np.int64))
"""Distances from the center that their median may be, in steps: 8 an octave, down to a 1024th of the bounds' width."""

OCTAVES, STEPS = 5, 40
"""Octaves below what a center leaves to the nearer bound in which distances from it are told apart, and their steps."""

STEP_ENDS = np.rint(GRID * np.exp2(-np.arange(STEPS, 0.0, -1.0) * (OCTAVES / STEPS))).astype(np.int64)
"""The distances, in parts of 1 / 32767 of that, where a step begins."""

SIGNED_STEPS = (2 * np.searchsorted(STEP_ENDS, np.arange(GRID + 1)) - STEPS).astype(np.int8)
"""Of each distance, the steps below it less those above it."""

MOST_ROOM = 0.9
"""Of a center, in half ranges, beyond which it leaves to the nearer bound what this one does."""


def room_of(centers: Integers) -> Integers:
    """Return what centers leave to the nearer bound, a tenth of a half range at least; in steps. Shapes: (p,)."""
    return GRID - np.minimum(np.abs(centers), round(MOST_ROOM * GRID))


@dataclass(frozen=True)
class SaturatedRows:
    """Which columns of encoded rows are used, what they become, and the sums of each pass; the target is the last.

    Parameters
    ----------
    is_read : ndarray of bool, shape (n_columns,)
        Of the regression's columns but the constant: all, of a category all but the first.
    is_two_valued : ndarray of bool, shape (p,)
        Of these: which become 1 or -1.
    has_products : bool
        Whether the columns' products are added up: not where they are public.
    centers : tuple of int, optional
        What is taken off each column that is used, in steps; default nothing.
    halves : tuple of int, optional
        At which distance from its center each is cut, in steps, at least 1; default half the width of its bounds.
    """

    is_read: Bools
    is_two_valued: Bools
    has_products: bool = True
    centers: tuple[int, ...] | None = None
    halves: tuple[int, ...] | None = None

    @property
    def width(self) -> int:
        """Number of columns that are used."""
        return len(self.is_two_valued)

    @property
    def n_real(self) -> int:
        """Number of columns that are not of two values."""
        return int((~self.is_two_valued).sum())

    @property
    def pairs(self) -> tuple[Integers, Integers]:
        """Pairs of columns whose products are added up: a square that is always 1 is not."""
        first, second = np.triu_indices(self.width)
        unknown = ((first != second) | ~self.is_two_valued[first]) & self.has_products
        return first[unknown], second[unknown]

    def columns(self, cells: Cells) -> Floats:
        """Return the saturated columns of encoded rows."""
        halves = np.full(self.width, GRID) if self.halves is None else np.array(self.halves)
        return saturated(cells[:, 1:-1][:, self.is_read], self.is_two_valued, self._centers, halves)

    def plain_sums(self, cells: Cells, with_count: bool) -> Integers:
        """Return the sums of the cells of columns that are not of two values, at times after the number of rows."""
        sums = self._real(cells).sum(axis=0, dtype=np.int64)
        return np.concatenate([[len(cells) * GRID], sums]) if with_count else sums

    def near_sums(self, cells: Cells, with_count: bool, reach: int) -> Integers:
        """Return the sums of cells less their centers, cut at `reach` steps, which becomes 1.

        Of columns that are not of two values, in units of 1 / 32767; at times after the number of rows.
        """
        moved = self._real(cells).astype(np.int64) - self._centers[~self.is_two_valued]
        sums = (np.clip(moved, -reach, reach) * GRID // reach).sum(axis=0, dtype=np.int64)
        return np.concatenate([[len(cells) * GRID], sums]) if with_count else sums

    def log_distances(self, cells: Cells, with_count: bool) -> Integers:
        """Return the sums of the logarithms of distances of cells from centers, at times after the number of rows.

        Of columns that are not of two values. Each is between 1 for what is at the nearer bound or beyond, and -1 for
        `OCTAVES` below; in units of 1 / STEPS.
        """
        centers = self._centers[~self.is_two_valued]
        distances = np.abs(self._real(cells) - centers.astype(np.float64))  # whole numbers: quotients' floors are exact
        distances *= GRID
        distances /= room_of(centers)
        places = np.minimum(distances, GRID, out=distances).T.astype(np.int16)
        sums = SIGNED_STEPS.take(places).sum(axis=1, dtype=np.int64)
        return np.concatenate([[len(cells) * STEPS], sums]) if with_count else sums

    @property
    def _centers(self) -> Integers:
        return np.zeros(self.width, dtype=np.int64) if self.centers is None else np.array(self.centers)

    def _real(self, cells: Cells) -> Cells:
        """Return the cells of columns that are not of two values."""
        return cells[:, 1:-1][:, self.is_read][:, ~self.is_two_valued]

    def bins(self, cells: Cells) -> Integers:
        """Return how many targets lie in each bin of the bounds."""
        # There are 2 GRID + 1 cells, so the largest falls in the last bin and not beyond it.
        places = (cells[:, -1].astype(np.int64) + GRID) * BINS // (2 * GRID + 1)
        return np.bincount(places, minlength=BINS).astype(np.int64)

    def distances(self, cells: Cells, center: int) -> Integers:
        """Return how many targets lie between each distance from the center and the one before."""
        sizes = np.abs(cells[:, -1].astype(np.int64) - center)
        return np.bincount(np.searchsorted(DISTANCES, sizes), minlength=len(DISTANCES)).astype(np.int64)

    def first_sums(self, cells: Cells, target: Target) -> Integers:
        """Return the sums of `column_sums`, then those of `target_sums`."""
        columns = self.columns(cells)
        response = cells[:, -1].astype(np.float64)
        return np.concatenate([column_sums(columns, self.pairs), target_sums(columns, response, target)])

    def target_sum(self, cells: Cells, target: Target) -> Integers:
        """Return the number of rows, then the sum of the cut target, in units of 1 / 32767."""
        return np.array([len(cells) * GRID, cut_target(cells[:, -1].astype(np.float64), target).sum()], dtype=np.int64)

    def own_scores(self, cells: Cells, target: Target, excess: int) -> Integers:
        """Return the sums of `own_sums`."""
        return own_sums(self.columns(cells), cells[:, -1].astype(np.float64), target, excess)

    def residuals(self, cells: Cells, target: Target, fit: Fit) -> Integers:
        """Return the sum of `residual_sum`."""
        return residual_sum(self.columns(cells), cells[:, -1].astype(np.float64), target, fit)

    def scores(self, cells: Cells, target: Target, scoring: Scoring) -> Integers:
        """Return the sums of `score_sums`."""
        return score_sums(self.columns(cells), cells[:, -1].astype(np.float64), target, scoring)

    def turned(self, cells: Cells, turned: Integers, constants: Integers) -> Integers:
        """Return the number of rows, then the sums of `turned_sums`."""
        sums = turned_sums(self.columns(cells), turned, constants)
        return np.concatenate([[len(cells) * GRID**2], sums])
