"""Scores of units, cut in length, and their squares added up: what one unit adds is a public function of its rows.

A score is the sum over a unit's rows of residual times x; `sandwich` says what its squares tell.
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.kernels.glm.families import Columns, RowMap
from discreet.kernels.moments.moments import GRID, exact_moments
from discreet.kernels.rows.contribution_bound import kept_units
from discreet.typing import Cells, Floats, Integers, Words

BLOCK_ROWS = 2**16

FURTHEST = 2**22
"""A coordinate is clipped here: far beyond both cuts."""

BELOW_ONE = 1.0 - 2.0**-40
"""Covers the rounding of a length."""


@dataclass(frozen=True)
class UnitScores:
    """What the pass adds up: a public function of one unit's rows.

    Parameters
    ----------
    row_map : RowMap
        Its residuals.
    matrix : ndarray of float, shape (p, p)
        Whole numbers: of a score's integers its coordinates, over `scale`.
    shift : float
        A power of two that a score's integers are divided by first.
    scale : float
        GRID is the cut of the products.
    ratio : int
        Of the cut of squared lengths to that of the products, which is GRID^2.
    """

    row_map: RowMap
    matrix: Floats
    shift: float
    scale: float
    ratio: int

    @property
    def n_columns(self) -> int:
        """Of the sums of products."""
        return len(self.matrix)

    def sums(self, cells: Cells, offsets: Cells | None = None, shares: Cells | None = None) -> Integers:
        """Return the sums over rows that are units by themselves: products, and in the last column lengths first.

        Shapes: as those of `RowMap.sums`; returns (p, p + 1).
        """
        total = np.zeros(self._shape, dtype=np.int64)
        for start in range(0, len(cells), BLOCK_ROWS):
            block = (None if each is None else each[start : start + BLOCK_ROWS] for each in (offsets, shares))
            total += self._of_scores(self._scores(cells[start : start + BLOCK_ROWS], *block))
        return total

    def sums_of_units(self, cells: Cells, starts: Integers, words: Words, most: int, columns: Columns) -> Integers:
        """Return the sums over units, at most `most` rows of each, sampled by all cells.

        Shapes: as those of `kept_rows`.
        """
        kept, units = kept_units(cells, starts, words, most)
        n_units, p = len(starts) - 1, len(self.matrix)
        scores = np.zeros((n_units, p))  # sums of integers below 2^53 are exact in any order
        for start in range(0, len(kept), BLOCK_ROWS):
            of_rows = self._scores(*columns.of(kept[start : start + BLOCK_ROWS]))
            owners = units[start : start + BLOCK_ROWS]
            for j in range(p):
                scores[:, j] += np.bincount(owners, weights=of_rows[:, j], minlength=n_units)
        total = np.zeros(self._shape, dtype=np.int64)
        for start in range(0, n_units, BLOCK_ROWS):
            total += self._of_scores(scores[start : start + BLOCK_ROWS])
        return total

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.matrix), len(self.matrix) + 1

    def _scores(self, cells: Cells, offsets: Cells | None, shares: Cells | None) -> Floats:
        """Residual times x of each row, whole numbers of at most GRID^2."""
        return cells[:, :-1].astype(np.float64) * self.row_map.residuals(cells, offsets, shares)[:, None]

    def _of_scores(self, scores: Floats) -> Integers:
        # Whole numbers of so few bits that their products are exact: a unit's part does not depend on its place.
        turned = np.trunc(scores / self.shift) @ self.matrix.T
        z = np.trunc(np.clip(turned * self.scale, -FURTHEST, FURTHEST)).astype(np.int64)
        squares = np.zeros(len(z), dtype=np.int64)
        for column in z.T:
            squares += column * column
        short = z * np.minimum(GRID * BELOW_ONE / np.sqrt(np.maximum(squares, 1)), 1.0)[:, None]
        total = np.zeros(self._shape, dtype=np.int64)
        total[:, :-1] = exact_moments(np.asfortranarray(np.trunc(short).astype(np.int16)))
        total[0, -1] = np.minimum(squares // self.ratio, GRID**2).sum()
        return total


def unit_scores(row_map: RowMap, inverse: Floats, cut: float, ratio: int, rows_per_unit: int) -> UnitScores:
    """Return what to add up for scores in units of `inverse`, cut in squared length. Shapes: inverse (p, p)."""
    p = len(inverse)
    bits = (52 - math.ceil(math.log2(p + 1))) // 2  # so that p products of two such numbers are below 2^53
    largest = max(float(np.abs(inverse).max()), 1e-300)
    matrix = np.rint(inverse / largest * (2**bits - 1))
    shift = 2.0 ** max(math.ceil(math.log2(rows_per_unit * GRID**2)) - bits, 0)
    score_unit = shift * row_map.residual_unit / GRID**2
    scale = largest / (2**bits - 1) * score_unit * GRID / cut**0.5
    return UnitScores(row_map, matrix, shift, min(scale, 1e200), ratio)
