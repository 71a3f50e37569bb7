"""Rows of a linear regression in coordinates that earlier noisy moments make nearly uncorrelated, and their residuals.

With W the whitening map, b0 a pilot estimate, z = W x and r = y - x'b0, the coefficients of r on z are
g = W^-T (b - b0), so that b = b0 + W'g. Rows are weighted by f^2, f = min(1, norm / |z|), which depends on x alone: the
slopes stay what they were if the model holds; rows are as long as the noise of X'X allows. Scores f^2 z r are cut in
length, all at once: neither a long row nor a large residual alone is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.kernels.moments.moments import GRID, exact_moments
from discreet.kernels.rows.contribution_bound import BLOCK_ROWS, kept_units
from discreet.kernels.sufficient_statistics.cleaning import CleanGram
from discreet.kernels.sufficient_statistics.gram import NoisyGram
from discreet.kernels.sufficient_statistics.score_lengths import OCTAVES, octaves
from discreet.typing import Cells, Floats, Integers, Words

CUT = 4.0
"""Residuals are clipped at this many of their root mean square where their squares are added up."""

SHORTEST = 2.0
"""Rows are shortened to this many root mean squares of |z| where noise is large; else to as long as it allows."""

CURVATURE_SHARE = 0.03
"""Longer rows are welcome while the curvature's noise stays below this share of the number of rows."""

SQUARES_NOISE = 0.55
"""Scores that are squared are cut so far out that their noise, beside what they are, times the stretch is this."""

MOST_STRETCH = 4.0
"""But no farther than this many times as far out as the scores that are added up."""

SMALLEST_CUT = 1e-3
"""Of residuals, in units of the target's bound: the grid's steps must not be seen."""


@dataclass(frozen=True)
class Whitening:
    """A row map of released numbers: from a design's cells to whitened columns, the weighted residual, the residual.

    Parameters
    ----------
    matrix : ndarray of float, shape (p, p)
        W.
    start : ndarray of float, shape (p,)
        b0, per half range.
    norm : float
        Longer rows z are shortened to it.
    cut : float
        Residuals are clipped to it where they are squared; in units of the target's bound.
    longest : float
        Longer scores are shortened to it; in the same unit.
    units : ndarray of float, shape (p,)
        What 1 is in each of the design's columns: less for the constant of weighted rows.
    stretch : float
        Scores that are squared are shortened to this many times `longest`, at least 1. What is cut off the sum of
        scores is added back, so that it varies by choice of rows as if it were not cut.
    """

    matrix: Floats
    start: Floats
    norm: float
    cut: float
    longest: float
    units: Floats
    stretch: float = 1.0

    def cells(self, cells: Cells) -> Cells:
        """Return [f z / norm, r / cut, f^2 z r / longest, f^2 z r / (stretch longest)] on the grid.

        Of the first and the last two the length is at most 1. Each number is computed from its own row, by the same
        operations in any block. Shapes: cells (n, p + 1), the target last; returns (n, 3 p + 1).
        """
        p = len(self.start)
        whitened, residual, length = self._rows(cells)
        shortening = 1.0 / np.maximum(length / self.norm, 1.0)
        score = shortening**2 * residual
        of_scores = [score / (np.maximum(np.abs(score) * length / most, 1.0) * most) for most in self._limits]
        out = np.empty((len(cells), 3 * p + 1), dtype=np.int16, order="F")
        for i in range(p):
            out[:, i] = np.rint(np.clip(whitened[i] * shortening / self.norm, -1.0, 1.0) * _reach(p))
            for first, of_score in zip((p + 1, 2 * p + 1), of_scores, strict=True):
                out[:, first + i] = np.rint(np.clip(whitened[i] * of_score, -1.0, 1.0) * _reach(p))
        out[:, p] = np.rint(np.clip(residual / self.cut, -1.0, 1.0) * GRID)
        return out

    @property
    def _limits(self) -> tuple[float, float]:
        """Of the lengths of scores: of those that are added up, and of those that are squared."""
        return self.longest, self.stretch * self.longest

    def directions(self, cells: Cells) -> Integers:
        """Return the sums of directions of scores by octaves of their length from `longest` on, in whole steps.

        Shapes: cells (n, p + 1); returns (OCTAVES, p).
        """
        p = len(self.start)
        whitened, residual, length = self._rows(cells)
        place = octaves(np.abs(residual) * length / np.maximum(length / self.norm, 1.0) ** 2, self.longest)
        scale = np.where(place > 0, np.sign(residual) / np.maximum(length, 1e-300), 0.0) * _reach(p)
        sums = np.empty((OCTAVES, p), dtype=np.int64)
        for j in range(p):  # sums of integers below 2^53 are exact in any order
            steps = np.rint(np.clip(whitened[j] * scale, -GRID, GRID))
            sums[:, j] = np.bincount(place, weights=steps, minlength=OCTAVES + 1)[1:]
        return sums

    def _rows(self, cells: Cells) -> tuple[Floats, Floats, Floats]:
        """Return z, r and |z|. Shapes: returns (p, n), (n,), (n,)."""
        # Column by column: a product of matrices could round a row by its place in the block, and with it by others.
        p = len(self.start)
        columns = [cells[:, j] / (GRID * self.units[j]) for j in range(p)]
        residual = cells[:, p] / GRID
        for j in range(p):
            residual -= self.start[j] * columns[j]
        whitened = np.empty((p, len(cells)))
        square = np.zeros(len(cells))
        for i in range(p):
            total = np.zeros(len(cells))
            for j in range(p):
                total += self.matrix[i, j] * columns[j]
            whitened[i] = total
            square += total * total
        return whitened, residual, np.sqrt(square)

    @property
    def shape(self) -> tuple[int, int]:
        """Of the sums: X'X beside X'r, r'r below, and then the p columns of summed squares of scores."""
        p = len(self.start)
        return 2 * p + 1, p + 1

    def sums(self, cells: Cells) -> Integers:
        """Return the sums over rows that are units by themselves. Shapes: cells (n, p + 1); returns `shape`."""
        p, rows = len(self.start), self.cells(cells)
        return self._joined(self._products(rows), rows[:, 2 * p + 1 :].astype(np.float64), 1)

    def sums_of_units(self, cells: Cells, starts: Integers, words: Words, most: int, places: Integers) -> Integers:
        """Return the sums over units, the scores of each added up; at most `most` rows of a unit, sampled by all cells.

        Shapes: as those of `kept_rows`; places (p + 1,), of the model's columns and the target.
        """
        rows_kept, units = kept_units(cells, starts, words, most)
        n_units, p = len(starts) - 1, len(self.start)
        products = np.zeros((p + 1, p + 1), dtype=np.int64)
        totals = np.zeros((n_units, p), dtype=np.float64)  # sums of integers below 2^53 are exact in any order
        for first in range(0, len(rows_kept), BLOCK_ROWS):
            rows = self.cells(rows_kept[first : first + BLOCK_ROWS, places])
            products += self._products(rows)
            owners = units[first : first + BLOCK_ROWS]
            for j in range(p):
                totals[:, j] += np.bincount(owners, weights=rows[:, 2 * p + 1 + j], minlength=n_units)
        return self._joined(products, totals, most)

    def _products(self, rows: Cells) -> Integers:
        """Return X'X and r'r, and beside X'X the sum of scores."""
        p = len(self.start)
        products = exact_moments(rows[:, : p + 1])
        products[:p, p] = products[p, :p] = rows[:, p + 1 : 2 * p + 1].sum(axis=0, dtype=np.int64) * GRID
        return products

    def _joined(self, products: Integers, scores: Floats, most: int) -> Integers:
        """Return the products, and below them the sum of squares of each unit's score, shortened."""
        p, longest = scores.shape[1], unit_norm(most) * GRID
        square = np.zeros(len(scores))
        for j in range(p):
            square += scores[:, j] ** 2
        length = np.maximum(np.sqrt(square) / longest, 1.0) * unit_norm(most)
        short = np.empty(scores.shape, dtype=np.int16, order="F")
        for j in range(p):
            short[:, j] = np.rint(scores[:, j] / length * (_reach(p) / GRID))
        return np.concatenate([products, np.pad(exact_moments(short), ((0, 0), (0, 1)))])


def _reach(p: int) -> float:
    """Whole steps of the longest row: rounding p of its numbers makes it no longer than the grid."""
    return GRID - math.sqrt(p) / 2.0 - 1.0


def unit_norm(rows_per_unit: int) -> float:
    """Return where the norm of the sum of a unit's scores is cut, in those of one row at most.

    Examples
    --------
    >>> unit_norm(1), unit_norm(8)
    (1.0, 2.0)
    """
    # A row's score is about an eighth of the largest: the cut is that of twice four to eight rows that agree.
    return max(1.0, rows_per_unit / 4.0)


def squares_stretch(seen: "Seen", longest: float, rows_per_unit: int, noise: float) -> float:
    """Return how many times as far out scores may be cut where they are squared: as far as their noise allows.

    `noise`: standard deviation of each sum of squares where the norm is 1.
    """
    reach = unit_norm(rows_per_unit) * longest
    # Whitened columns have squares of 1 in the mean, so that n error^2 is what squared scores add up to in a direction.
    # At the stretch s their noise is s^2 times as large as at 1, s^3 relative = SQUARES_NOISE.
    relative = noise * reach**2 / max(seen.n_rows * seen.error**2, 1e-300)
    return float(np.clip((SQUARES_NOISE / max(relative, 1e-300)) ** (1.0 / 3.0), 1.0, MOST_STRETCH))


class Seen(NamedTuple):
    """What the first pass tells of the sums of the second.

    Parameters
    ----------
    error : float
        Root mean square of the residuals, rather too large; in units of the target's bound.
    n_rows : float
        Their number.
    largest : float
        Length of any row's score at most.
    """

    error: float
    n_rows: float
    largest: float


def whitening(
    moments: NoisyGram, clean: CleanGram, start: Floats, units: Sequence[float], curvature_sd: float
) -> tuple[Whitening, Seen]:
    """Return the row map that noisy moments ask for, for a pass whose X'X has that much noise where the norm is 1.

    Its scores are as short as is of use; `score_lengths` tells whether they may be.
    Shapes: moments of the model's columns; start, units (p,).
    """
    p, n_rows = len(start), max(clean.n_rows, 1.0)
    values, vectors = np.linalg.eigh(clean.gram / n_rows)
    # A direction that is lost in noise is stretched no further than what its noise says.
    noise = float(np.sqrt(moments.gram_variance.max() * p)) / n_rows
    floor = max(noise, 1e-9 * float(values[-1]), 1e-12)
    matrix = (vectors / np.sqrt(np.maximum(values, floor))).T
    error, widest = _root_mean_square_residual(moments, start, n_rows), 1.0 + float(np.abs(start).sum())
    cut = min(max(CUT * error, SMALLEST_CUT), widest)
    allowed = math.sqrt(CURVATURE_SHARE * n_rows / curvature_sd) if curvature_sd > 0.0 else np.inf
    longest = float(np.sqrt((np.abs(matrix).sum(axis=1) ** 2).sum()))  # of all rows within their bounds
    norm = min(max(allowed, SHORTEST * math.sqrt(p)), longest)
    largest = norm * widest
    least = min(SHORTEST * math.sqrt(p) * cut, largest)  # shorter ones would be cut where errors vary most
    row_map = Whitening(np.ascontiguousarray(matrix), start, norm, cut, least, np.array(units, dtype=np.float64))
    return row_map, Seen(error, n_rows, largest)


def _root_mean_square_residual(moments: NoisyGram, coef: Floats, n_rows: float) -> float:
    """Return an upper limit of the residuals' root mean square, with next to no chance of a larger one."""
    plain = moments.yty - 2.0 * coef @ moments.xty + coef @ moments.gram @ coef
    square = coef**2
    of_gram = 2.0 * square @ moments.gram_variance @ square - np.diagonal(moments.gram_variance) @ square**2
    variance = float(moments.yty_variance + 4.0 * square @ moments.xty_variance + of_gram)
    return math.sqrt((max(float(plain), 0.0) + 2.0 * math.sqrt(max(variance, 0.0))) / n_rows)
