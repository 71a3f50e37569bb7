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

LEAST_KNOWN = 1e-6
"""Of a mean count."""

UNLIKELY = 1e-4
"""Beside the likeliest law: a less likely one does not count."""

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

    And about how many rows there are, their mean, and the standard deviation of what is known of its logarithm.
    """

    bound: int
    low: float
    high: float
    n_rows: float
    mean: float
    log_sd: float = 0.0


def chosen_bound(request: HistogramRequest, sums: Floats, noise: float) -> CountBound:
    """Return the bound of least error.

    `noise` is the standard deviation of the noise on a score whose residuals are at most 1.
    """
    ends, sd, rows = request.row_map.ends, request.sd / UNIT, np.asarray(sums, dtype=np.float64) / UNIT
    likely, weights = _likely(ends, rows, sd)
    starts = np.array([0, *(end + 1 for end in ends[:-1])], dtype=np.float64)
    totals, counts = np.maximum(likely @ starts, 1e-9), np.maximum(likely.sum(axis=1), 1.0)

    def expected(bound: int) -> float:
        """The mean error over the laws, of slopes of size 1 that are shrunk: one that is lost is off by no more."""
        errors = _error(bound, _cut(ends, likely, bound), totals, counts, noise)
        return float(weights @ (1.0 - 1.0 / (1.0 + errors)))

    best, n_rows, total = min(ends[1:], key=expected), float(weights @ counts), float(weights @ totals)
    is_above = np.array(ends, dtype=np.float64) > best
    above, error = float(rows[is_above].sum()), float(ndtri(0.975)) * sd * float(is_above.sum()) ** 0.5
    mean = max(total / n_rows, LEAST_KNOWN)
    # A log-normal law of the mean with this relative variance.
    relative = np.minimum(totals / counts / mean, 1.0 / LEAST_KNOWN) - 1.0
    log_sd = math.sqrt(math.log1p(float(weights @ relative**2)))
    return CountBound(best, max(above - error, 0.0), max(above + error, 0.0), n_rows, mean, log_sd)


def _likely(ends: Sequence[int], rows: Floats, sd: float) -> tuple[Floats, Floats]:
    """Return how many rows each bin holds under each law that is likely: what is seen of it, and of the others what the
    law expects; and how likely the laws are.

    Negative binomial laws on a grid, each with its likeliest number of rows. Shapes: returns (m, bins), (m,).
    """
    laws = _laws(ends)
    # Sampling counts a little more than it does, as no law is quite right.
    variance = sd**2 + 2.0 * np.maximum(rows, 0.0)
    n_rows = np.maximum((laws @ (rows / variance)) / (laws**2 @ (1.0 / variance)), 1.0)
    distance = ((rows - n_rows[:, None] * laws) ** 2 / variance).sum(axis=1)
    distance = np.nan_to_num(distance, nan=LARGEST_NOISE)
    weights = np.exp(-0.5 * (distance - distance.min()))
    is_likely = weights > UNLIKELY
    expected = laws[is_likely] * n_rows[is_likely, None]
    return np.where(rows > SEEN * sd, rows, expected), weights[is_likely] / weights[is_likely].sum()


def _laws(ends: Sequence[int]) -> Floats:
    """Return the chances of the bins under laws of many means and spreads. Shapes: returns (number of laws, bins)."""
    n_means = math.ceil(math.log(ends[-1] / LEAST_MEAN) / math.log(MEAN_STEP)) + 1
    means, counts = np.geomspace(LEAST_MEAN, float(ends[-1]), n_means)[:, None], np.array(ends, dtype=np.float64)
    below = [pdtr(counts, means)]
    below += [betainc(size, counts + 1.0, size / (size + means)) for size in SIZES]
    laws: Floats = np.diff(np.concatenate(below), axis=1, prepend=0.0)
    laws[:, -1] += 1.0 - laws.sum(axis=1)
    return laws


def _cut(ends: Sequence[int], rows: Floats, bound: int) -> Floats:
    """Which share of the sum of squared counts lies above a bound, about at most.

    Squares, as slopes are told by the rows of large means: those of a rare level may be all that are clipped.
    Shapes: rows (m, bins); returns (m,).
    """
    largest = float(ends[-1])
    squares = (np.array(ends, dtype=np.float64) / largest) ** 2
    share: Floats = rows @ np.maximum(squares - (bound / largest) ** 2, 0.0) / np.maximum(rows @ squares, 1e-300)
    return share


def _error(bound: int, share: Floats, total: Floats, n_rows: Floats, noise: float) -> Floats:
    """Return the squared error of a slope per standard deviation, where a share of the squared counts is cut off.

    Shapes: share, total, n_rows (m,); returns (m,).
    """
    mean = total / n_rows
    signal, of_noise = n_rows * mean * pdtr(bound - 1, mean), noise * bound / TYPICAL_SD  # of E min(N, c) by log mean
    if not of_noise < LARGEST_NOISE:
        return np.full_like(mean, math.inf)
    with np.errstate(all="ignore"):  # counts may be as large as floats are
        errors: Floats = (_variance(bound, mean) * n_rows + of_noise**2) / signal**2 + (BENT * share) ** 2
    return np.where((signal > 0.0) & np.isfinite(errors), errors, math.inf)


def _variance(bound: int, mean: Floats) -> Floats:
    """Return the variance of min(N, c), of a Poisson count."""
    # E N 1{N <= c} = m P(N <= c - 1), E N (N - 1) 1{N <= c} = m^2 P(N <= c - 2).
    below = mean * pdtr(bound - 1, mean)
    twice = mean**2 * pdtr(bound - 2, mean) if bound > 1 else 0.0 * mean
    beyond = pdtrc(bound, mean)
    variance: Floats = np.maximum(twice + below + bound**2 * beyond - (below + bound * beyond) ** 2, 0.0)
    return variance
