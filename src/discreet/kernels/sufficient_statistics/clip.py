"""How far out a private clip must lie so that it does not bend slopes, and intervals of slopes that one bent."""

from statistics import NormalDist

import numpy as np

from discreet.typing import Floats

BEND = 0.1
"""Most that a clip may bend a slope, in standard errors."""

CORRELATION = 0.5
"""Of the target with the column whose slope is to be kept: weaker ones are bent by fewer standard errors."""

SCALES = 5.0
"""Rows beyond a private quantile, in scales of its noise: with fewer it may lie anywhere beyond the rows."""


def most_clipped(noise: float, n_rows: float) -> float:
    """Return the share of rows whose target may be clipped, when the noise of X'y is in bounds of the target.

    Source: Stein 1981; Brillinger 1983 (clipping the share t of the rows makes a slope smaller by about that share).

    Examples
    --------
    >>> f"{most_clipped(20.0, 1_000):.4f} {most_clipped(20.0, 100_000):.5f}"
    '0.0152 0.00065'
    """
    # A slope of correlation r is r sqrt(n) standard errors from zero without noise; noise adds to the error as much as
    # to the sum of n x^2, of columns spread evenly over their bounds and a target of standard deviation 1/2.
    ratio = min(noise, 1e100) ** 2 * 12.0 / n_rows
    # A clipped share s makes a slope smaller by about s of itself, which is s r sqrt(n / (1 + ratio)) standard errors.
    return float(min(BEND / CORRELATION * ((1.0 + ratio) / n_rows) ** 0.5, 0.5))


def widening(tail: float, tail_beyond: float) -> float:
    """Return by what to multiply a normal column's quantile with a tail for only the wanted share to lie beyond.

    Examples
    --------
    >>> round(widening(0.05, 0.005), 2), widening(0.01, 0.05)
    (1.57, 1.0)
    """
    inner, outer = (NormalDist().inv_cdf(1.0 - share) for share in (max(tail, 1e-12), max(tail_beyond, 1e-12)))
    return max(outer / max(inner, 0.25), 1.0)


def stretched(low: Floats, high: Floats, offset: Floats, share: float) -> tuple[Floats, Floats]:
    """Return ends of intervals, the far ones moved out, for slopes that a clip made smaller by this share of rows."""
    unclipped = 1.0 - share
    if unclipped == 1.0:
        return low, high
    below, above = low - offset, high - offset
    times = 1.0 / unclipped if unclipped > 0.0 else np.inf  # zero times infinity is never asked for
    far_low, far_high = low.copy(), high.copy()
    far_low[below < 0.0] = (below[below < 0.0] * times) + offset[below < 0.0]
    far_high[above > 0.0] = (above[above > 0.0] * times) + offset[above > 0.0]
    return far_low, far_high
