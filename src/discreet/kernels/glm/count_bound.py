"""Where counts are clipped, from a noisy histogram of them: noise grows with the largest count that may be.

Clipping at c loses information and, where counts are not Poisson, bends slopes by up to half the share of the squares
that is cut off; a larger c has more noise. The bound that is taken has the least mean squared error of a typical slope.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, ndtri, pdtr, pdtrc

from discreet.kernels.glm.families import Family
from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells, Floats, Integers

SHARE = 0.05
"""Of mu^2, for the histogram."""

LARGEST_NOISE = 1e140
"""Of which a square is a float."""

UNIT = 2**29
"""What one row adds to its bin: 2^33 rows fit in 64 bits."""

BENT = 0.5
"""Error of a slope where all of the squared counts were cut off, and counts are not Poisson."""

TYPICAL_SD = 0.4
"""Of a column, in half ranges."""

SEEN = 4.0
"""A bin with fewer rows than so many standard deviations of the noise does not count by itself."""

LEAST_MEAN, MEAN_STEP = 1e-3, 1.2
"""Of the laws that counts may have, and a mean over the next smaller one."""

SIZES = (0.5, 1.0, 2.0, 4.0)
"""Of negative binomial laws: the variance is the mean plus its square over the size."""


def bounds_of(largest: float) -> tuple[int, ...]:
    """Return the bounds to choose from: 1, 2, 3, 4, 6, 8, 12 and so on, and the largest count."""
    last = max(round(largest), 1)
    ends = {round(2.0**k * part) for k in range(int(math.log2(last)) + 1) for part in (1.0, 1.5)}
    return (*sorted(end for end in ends if end < last), last)


@dataclass(frozen=True)
class Histogram:
    """Numbers of rows whose count is in each bin.

    Parameters
    ----------
    ends : tuple of int
        The largest count of each bin; that of the first is 0.
    bins : ndarray of int, shape (2 * GRID + 1,)
        Of a response's cell: its bin.
    """

    ends: tuple[int, ...]
    bins: Integers

    @classmethod
    def of(cls, family: Family) -> "Histogram":
        """Return the histogram of a family's responses."""
        ends = (0, *bounds_of(family.high))
        places = np.array(ends, dtype=np.float64)
        return cls(ends, np.searchsorted(places, np.minimum(family.responses(), places[-1])))

    @property
    def n_columns(self) -> int:
        """Of the counts."""
        return len(self.ends)

    def sums(self, cells: Cells, _offsets: Cells | None = None, _shares: Cells | None = None) -> Integers:
        """Return the numbers of rows in units of UNIT. Shapes: cells (n, p + 1); returns (number of bins,)."""
        bins = self.bins[cells[:, -1].astype(np.intp) + GRID]
        return np.bincount(bins, minlength=len(self.ends)) * UNIT


@dataclass(frozen=True)
class HistogramRequest:
    """Numbers of rows to be released with independent Gaussian noise.

    Parameters
    ----------
    row_map : Histogram
        Its `sums` are the integers.
    mu : float
        What the release costs, as Gaussian differential privacy, of one row.
    sd : float
        Standard deviation of the noise, in the integers' units.
    """

    row_map: Histogram
    mu: float
    sd: float

    @classmethod
    def of(cls, family: Family, mu: float, replace: bool) -> "HistogramRequest":
        """Return the request; a row that is replaced leaves one bin for another."""
        spent = mu * math.sqrt(SHARE)
        return cls(Histogram.of(family), spent, UNIT * (math.sqrt(2.0) if replace else 1.0) / spent)


@dataclass(frozen=True)
class CountBound:
    """Where counts are clipped, and between how many rows have a larger one, with a chance of 95 percent.

    And about how many rows there are, and their mean.
    """

    bound: int
    low: float
    high: float
    n_rows: float
    mean: float


def chosen_bound(request: HistogramRequest, sums: Floats, noise: float) -> CountBound:
    """Return the bound of least error.

    `noise` is the standard deviation of the noise on a score whose residuals are at most 1.
    """
    ends, sd, rows = request.row_map.ends, request.sd / UNIT, np.asarray(sums, dtype=np.float64) / UNIT
    likely = _likely(ends, rows, sd)
    starts = np.array([0, *(end + 1 for end in ends[:-1])], dtype=np.float64)
    total, n_rows = max(float(starts @ likely), 1e-9), max(float(likely.sum()), 1.0)
    best = min(ends[1:], key=lambda bound: _error(bound, _cut(ends, likely, bound), total, n_rows, noise))
    is_above = np.array(ends, dtype=np.float64) > best
    above, error = float(rows[is_above].sum()), float(ndtri(0.975)) * sd * float(is_above.sum()) ** 0.5
    return CountBound(best, max(above - error, 0.0), max(above + error, 0.0), n_rows, total / n_rows)


def _likely(ends: Sequence[int], rows: Floats, sd: float) -> Floats:
    """Return how many rows each bin likely holds: what is seen of it, and of the others what the law of counts expects.

    Negative binomial laws on a grid, each with its likeliest number of rows, are weighted by how likely they are.
    """
    laws = _laws(ends)
    # Sampling counts a little more than it does, as no law is quite right.
    variance = sd**2 + 2.0 * np.maximum(rows, 0.0)
    n_rows = np.maximum((laws @ (rows / variance)) / (laws**2 @ (1.0 / variance)), 1.0)
    distance = ((rows - n_rows[:, None] * laws) ** 2 / variance).sum(axis=1)
    weights = np.exp(-0.5 * (distance - distance.min()))
    expected: Floats = (weights / weights.sum() * n_rows) @ laws
    return np.where(rows > SEEN * sd, rows, expected)


def _laws(ends: Sequence[int]) -> Floats:
    """Return the chances of the bins under laws of many means and spreads. Shapes: returns (number of laws, bins)."""
    n_means = math.ceil(math.log(ends[-1] / LEAST_MEAN) / math.log(MEAN_STEP)) + 1
    means, counts = np.geomspace(LEAST_MEAN, float(ends[-1]), n_means)[:, None], np.array(ends, dtype=np.float64)
    below = [pdtr(counts, means)]
    below += [betainc(size, counts + 1.0, size / (size + means)) for size in SIZES]
    laws: Floats = np.diff(np.concatenate(below), axis=1, prepend=0.0)
    laws[:, -1] += 1.0 - laws.sum(axis=1)
    return laws


def _cut(ends: Sequence[int], rows: Floats, bound: int) -> float:
    """Which share of the sum of squared counts lies above a bound, about at most.

    Squares, as slopes are told by the rows of large means: those of a rare level may be all that are clipped.
    """
    largest = float(ends[-1])
    squares = (np.array(ends, dtype=np.float64) / largest) ** 2
    return float(np.maximum(squares - (bound / largest) ** 2, 0.0) @ rows) / max(float(squares @ rows), 1e-300)


def _error(bound: int, share: float, total: float, n_rows: float, noise: float) -> float:
    """Return the squared error of a slope per standard deviation, where a share of the squared counts is cut off."""
    mean = total / n_rows
    slope = mean * float(pdtr(bound - 1, mean))  # of E min(N, c) by the log of the mean
    signal, of_noise = n_rows * slope, noise * bound / TYPICAL_SD
    if not signal > 0.0 or not of_noise < LARGEST_NOISE:
        return math.inf
    sampling = _variance(bound, mean) * n_rows / signal**2
    return sampling + (of_noise / signal) ** 2 + (BENT * share) ** 2


def _variance(bound: int, mean: float) -> float:
    """Return the variance of min(N, c), of a Poisson count."""
    # E N 1{N <= c} = m P(N <= c - 1), E N (N - 1) 1{N <= c} = m^2 P(N <= c - 2).
    below = mean * float(pdtr(bound - 1, mean))
    twice = mean**2 * float(pdtr(bound - 2, mean)) if bound > 1 else 0.0
    beyond = float(pdtrc(bound, mean))
    return max(twice + below + bound**2 * beyond - (below + bound * beyond) ** 2, 0.0)
