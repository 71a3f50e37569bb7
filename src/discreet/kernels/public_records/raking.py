"""Weights on public points that bring noisy totals of private ones with them: projection, and raking."""

import math

import numpy as np
import numpy.typing as npt

from discreet.typing import Floats

MOST_TRUST = 2.0**40
"""Where the public points and the private totals differ by no more than the noise, nothing is gained by more."""

STEPS = 100
"""Newton steps, far more than a convex function this smooth takes."""


def on_simplex(values: npt.ArrayLike, total: float) -> Floats:
    """Return the Euclidean projection of values onto nonnegative weights with a given total. Cost: O(m log m).

    Source: Duchi, Shalev-Shwartz, Singer, Chandra 2008; privacy specification 5.1. Shapes: values (m,); returns (m,).

    Examples
    --------
    >>> on_simplex([3.0, 1.0, -2.0], 3.0)
    array([2.5, 0.5, 0. ])
    """
    points = np.asarray(values, dtype=np.float64)
    if total <= 0.0 or not len(points):
        return np.zeros(len(points))
    # max(value - shift, 0); clipping each negative count at 0 instead would add a noise scale for each empty point.
    descending = np.sort(points)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, len(points) + 1)
    above = np.flatnonzero(descending > excess)
    shift = excess[above[-1] if len(above) else 0]
    weights: Floats = np.maximum(points - shift, 0.0)
    return weights


def raked(features: Floats, base: Floats, target: Floats, variance: Floats, doubt: float = 1.0) -> Floats:
    """Return public weights, of sum 1, tilted until the features' means come as near noisy private ones as these allow.

    They minimize trust times the relative entropy to the base, plus half the squared misfit in units of the noise.
    Cost: O(m q^2) for each of about ten Newton steps. Source: Deville and Sarndal 1992 (raking); empirical Bayes for
    the trust.
    Shapes: features (m, q), base (m,), target (q,), variance (q,); returns (m,).
    """
    shares = base / base.sum()
    means = shares @ features
    centered = features - means
    covariance = (centered * shares[:, None]).T @ centered
    # Trust is the precision of a prior by which private means differ from public ones like N(0, C / trust), C the
    # features' covariance. The weights are base exp(features'lambda): the dual, over lambda, is convex.
    trust = doubt * _most_likely_trust(covariance, target - means, variance)
    return _tilted(centered, shares, target - means, trust * variance)


def _most_likely_trust(covariance: Floats, gap: Floats, variance: Floats) -> float:
    """Return the trust at which the gap is most likely to be N(0, covariance / trust + variance)."""
    sd = np.sqrt(variance)
    values, axes = np.linalg.eigh(covariance / np.outer(sd, sd))
    # In units of the noise and along the axes, the gap's coordinates are independent, of variance 1 + value / trust.
    squares, values = (axes.T @ (gap / sd)) ** 2, np.maximum(values, 0.0)
    grid = 2.0 ** np.arange(-10.0, math.log2(MOST_TRUST) + 0.25, 0.25)
    spreads = 1.0 + values / grid[:, None]
    surprise = np.log(spreads).sum(axis=1) + (squares / spreads).sum(axis=1)
    return float(grid[int(np.argmin(surprise))])


def _tilted(centered: Floats, shares: Floats, gap: Floats, ridge: Floats) -> Floats:
    """Minimize the dual by Newton's method, steps halved until they descend."""
    tilt = np.zeros(len(gap))
    value, weights = _dual(centered, shares, gap, ridge, tilt)
    for _ in range(STEPS):
        means = weights @ centered
        gradient = means - gap + ridge * tilt
        hessian = (centered * weights[:, None]).T @ centered - np.outer(means, means) + np.diag(ridge)
        # Features that are constant on the points, or add up to others, have no curvature of their own.
        hessian[np.diag_indices_from(hessian)] += 1e-12 * (1.0 + np.trace(hessian))
        step = np.linalg.solve(hessian, gradient)
        slope, size = float(gradient @ step), 1.0
        if slope <= 1e-14:
            break
        while size > 1e-9:
            attempt, new_weights = _dual(centered, shares, gap, ridge, tilt - size * step)
            if attempt <= value - 0.1 * size * slope:
                break
            size /= 2.0
        else:
            break
        tilt, value, weights = tilt - size * step, attempt, new_weights
    return weights


def _dual(centered: Floats, shares: Floats, gap: Floats, ridge: Floats, tilt: Floats) -> tuple[float, Floats]:
    # log sum of shares e^(x'lambda), less lambda'gap, plus lambda'ridge lambda / 2; the largest exponent is taken out
    # first.
    exponents = centered @ tilt
    top = float(exponents.max())
    parts = shares * np.exp(exponents - top)
    total = float(parts.sum())
    return top + math.log(total) - float(tilt @ gap) + 0.5 * float(ridge @ tilt**2), parts / total
