"""Columns that a table may have, by what is released of their means and covariances.

They are Beta distributed between their bounds, so 0/1 columns where mean and variance say so, and correlated by a
Gaussian copula. The points are the same always.
"""

from functools import cache

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from discreet.typing import Floats

N_POINTS = 512

LEAST_VARIANCE = 1e-8
"""Of a column in half ranges."""

TWO_VALUED = 0.9
"""Of the variance of a column that has its bounds alone: with more it is one."""

LARGEST_SHAPE = 1e6
"""Of a Beta law."""


def likely_columns(means: Floats, covariance: Floats, low: Floats, high: Floats, n_points: int = N_POINTS) -> Floats:
    """Return columns with about these means, variances and correlations, between their bounds. Cost: O(n p (n + p)).

    Shapes: means (p,), covariance (p, p), low, high (p,); returns (n_points, p).
    """
    sd = np.sqrt(np.maximum(np.diagonal(covariance), LEAST_VARIANCE))
    correlation = covariance / np.outer(sd, sd)
    values, vectors = np.linalg.eigh((correlation + correlation.T) / 2.0 + 1e-6 * np.eye(len(sd)))
    # Rows of points are independent normal numbers; times the root of the correlation they have it.
    latent = _points(len(sd), n_points) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    scale = np.sqrt(np.maximum((latent**2).mean(axis=0), 1e-12))
    chances = ndtr(latent / scale)
    columns: Floats = np.empty_like(chances)
    for j in range(len(sd)):
        columns[:, j] = _column(chances[:, j], float(means[j]), float(sd[j]) ** 2, float(low[j]), float(high[j]))
    return columns


def _column(chances: Floats, mean: float, variance: float, low: float, high: float) -> Floats:
    """Quantiles of the Beta law between `low` and `high` of a mean and a variance."""
    width = high - low
    at = min(max((mean - low) / width, 1e-3), 1.0 - 1e-3)
    share = min(variance / width**2 / (at * (1.0 - at)), 1.0)
    # Beta(a s, (1 - a) s) has the mean a and the variance a (1 - a) / (s + 1).
    size = min(1.0 / max(share, 1e-9) - 1.0, LARGEST_SHAPE)
    if share > TWO_VALUED:
        parts = (chances > 1.0 - at).astype(np.float64)
    else:
        parts = betaincinv(at * size, (1.0 - at) * size, np.clip(chances, 1e-6, 1.0 - 1e-6))
    quantiles: Floats = low + width * parts
    return quantiles


@cache
def _points(width: int, n_points: int) -> Floats:
    """Normal quantiles of points that fill the cube evenly: multiples of roots, modulo 1."""
    # The generalized golden ratio solves g^(width + 1) = g + 1; its powers are far from rational together.
    ratio = 1.5
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (width + 1.0))
    steps = ratio ** -np.arange(1.0, width + 1.0)
    points: Floats = ndtri(np.clip((0.5 + np.outer(np.arange(1, n_points + 1), steps)) % 1.0, 1e-6, 1.0 - 1e-6))
    return points
