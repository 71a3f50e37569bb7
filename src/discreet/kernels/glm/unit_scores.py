"""Scores of units, cut in length, and their squares added up: what one unit adds is a public function of its rows.

A score is the sum over a unit's rows of residual times x; `sandwich` says what its squares tell.
"""

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.kernels.glm.families import Columns, RowMap
from discreet.kernels.glm.turned_rows import LONGEST
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.contribution_bound import kept_units
from discreet.kernels.rows.lines import buffers, lines_of, mirrored, n_lines
from discreet.typing import Cells, Floats, Integers, Words

BLOCK_ROWS = 2**16
"""Rows whose scores are added to their units' at once."""


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
        compiled = importlib.import_module("discreet.kernels.glm.row_sums_compiled")
        arguments = self.row_map.arguments(cells, offsets, shares)
        return self._added(lambda *of_scores, total: compiled.add_rows(*arguments, *of_scores, total))

    def sums_of_units(self, cells: Cells, starts: Integers, words: Words, most: int, columns: Columns) -> Integers:
        """Return the sums over units, at most `most` rows of each, sampled by all cells.

        Shapes: as those of `kept_rows`.
        """
        kept, units = kept_units(cells, starts, words, most)
        n_units, p = len(starts) - 1, len(self.matrix)
        scores = np.zeros((n_lines(p), n_units))  # sums of integers below 2^53 are exact in any order
        for start in range(0, len(kept), BLOCK_ROWS):
            of_rows = self.row_map.scores(*columns.of(kept[start : start + BLOCK_ROWS]))
            owners = units[start : start + BLOCK_ROWS]
            for j in range(1, p + 1):
                scores[j] += np.bincount(owners, weights=of_rows[j], minlength=n_units)
        compiled = importlib.import_module("discreet.kernels.glm.row_sums_compiled")
        further = (LONGEST, *buffers(len(scores)))
        return self._added(lambda *of_scores, total: compiled.add_squares(scores, *of_scores, *further, total))

    def _added(self, add: Callable[..., None]) -> Integers:
        """Return what compiled code adds, as sums: products, and in the last column lengths first."""
        p, q = len(self.matrix), n_lines(len(self.matrix))
        total = np.zeros((q, q), dtype=np.int64)
        add(lines_of(self.matrix), (1.0 / self.shift, self.scale, float(self.ratio)), total=total)
        lengths = np.zeros((p, 1), dtype=np.int64)
        lengths[0] = total[0, 0]
        return np.concatenate([mirrored(total[1 : p + 1, 1 : p + 1]), lengths], axis=1)


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
