"""Rows that a table may have, by what is released of its columns: what a pass can be expected to tell.

Columns are Beta distributed between their bounds with the released means and variances, so 0/1 columns where these say
so, and correlated by a Gaussian copula. The points are the same always. They decide how much noise a pass has; what it
tells does not rest on them.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from discreet.kernels.glm.families import Family, Groups
from discreet.kernels.glm.pooled_score import Turned
from discreet.kernels.glm.turned_rows import Turn
from discreet.typing import Floats

N_POINTS = 512

LEAST_VARIANCE = 1e-8
"""Of a column in half ranges."""

TWO_VALUED = 0.9
"""Of the variance of a column that has its bounds alone: with more it is one."""

TYPICAL_COEFFICIENT = 2.0
"""Per half range: what is hidden further is not lost by noise."""

LARGEST_SHAPE = 1e6
"""Of a Beta law."""


@dataclass(frozen=True)
class LikelyRows:
    """Rows with their constant, and the weight of each in the information.

    Parameters
    ----------
    rows : ndarray of float, shape (m, p)
        Per half range.
    weights : ndarray of float, shape (m,)
        They add up to the number of rows at a weight of 1.
    """

    rows: Floats
    weights: Floats

    @classmethod
    def of(
        cls,
        family: Family,
        theta: Floats,
        center: Floats,
        spread: Floats,
        n_rows: float,
        groups: Groups = (),
        fixed: Floats | None = None,
    ) -> "LikelyRows":
        """Return rows of columns with a mean and a covariance, without the last ones, whose coefficients are fixed."""
        coefficients = np.concatenate([theta, np.zeros(0) if fixed is None else fixed])
        rows = _columns(center, spread, groups)
        weights = family.weight(rows @ coefficients) * (n_rows / len(rows))
        return cls(rows[:, : len(theta)], np.maximum(weights, 1e-300))

    def turned(self, turn: Turn, parts: Floats, before: Floats) -> Turned:
        """Return coordinates with what is likely of rows there, which counted `before` in the first pass."""
        turned = self.rows @ turn.natural.T
        squares = (turned[:, 1:] ** 2).sum(axis=1)
        left = float(parts @ squares) / max(float(parts.sum()) * float(squares.mean()), 1e-300)
        spent = float((self.weights * parts**2) @ squares) / max(float((self.weights * parts) @ squares), 1e-300)
        share = spent if turned.shape[1] > 1 else 1.0
        return Turned(turn, float(parts.sum() / before.sum()), left, share)

    def error(self, parts: Floats, noise: Floats) -> float:
        """Return the squared error of estimates where rows count so much and the score has this noise.

        In units of what sampling alone makes it, the geometric mean of all directions: one that is lost anyway does not
        decide. Of estimates that are shrunk as coefficients of a typical size ask. Shapes: parts (m,), noise (p, p).
        """
        whole, p = np.ones_like(parts), len(noise)
        with np.errstate(all="ignore"):
            error = math.exp((self._volume(parts, noise) - self._volume(whole, np.zeros((p, p)))) / p)
        return error if math.isfinite(error) else math.inf

    def _volume(self, parts: Floats, noise: Floats) -> float:
        """Logarithm of the determinant of H^-1 (J + N) H^-1."""
        prior = np.eye(len(noise)) * TYPICAL_COEFFICIENT**-2.0
        slope = _products(self.rows, self.weights * parts) + prior
        variance = _products(self.rows, self.weights * parts**2) + noise + prior
        return float(np.linalg.slogdet(variance)[1] - 2.0 * np.linalg.slogdet(slope)[1])


def _products(rows: Floats, weights: Floats) -> Floats:
    products: Floats = (rows * weights[:, None]).T @ rows
    return products


def _columns(center: Floats, spread: Floats, groups: Groups) -> Floats:
    sd = np.sqrt(np.maximum(np.diagonal(spread)[1:], LEAST_VARIANCE))
    correlation = spread[1:, 1:] / np.outer(sd, sd)
    values, vectors = np.linalg.eigh((correlation + correlation.T) / 2.0 + 1e-6 * np.eye(len(sd)))
    latent = _points(len(sd)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    scale = np.sqrt(np.maximum((latent**2).mean(axis=0), 1e-12))
    chances = ndtr(latent / scale)
    grouped = {j for group in groups for j in group}
    columns = [
        _column(chance, float(mean), float(own) ** 2, 0.0 if j in grouped else -1.0)
        for j, (chance, mean, own) in enumerate(zip(chances.T, center[1:], sd, strict=True), start=1)
    ]
    return np.column_stack([np.ones(len(chances)), *columns])


def _column(chances: Floats, mean: float, variance: float, low: float) -> Floats:
    """Quantiles of the Beta law between `low` and 1 of a mean and a variance."""
    width = 1.0 - low
    at = min(max((mean - low) / width, 1e-3), 1.0 - 1e-3)
    share = min(variance / width**2 / (at * (1.0 - at)), 1.0)
    size = min(1.0 / max(share, 1e-9) - 1.0, LARGEST_SHAPE)
    if share > TWO_VALUED:
        parts = (chances > 1.0 - at).astype(np.float64)
    else:
        parts = betaincinv(at * size, (1.0 - at) * size, np.clip(chances, 1e-6, 1.0 - 1e-6))
    quantiles: Floats = low + width * parts
    return quantiles


@cache
def _points(width: int) -> Floats:
    """Normal quantiles of points that fill the cube evenly: multiples of roots, modulo 1."""
    # The generalized golden ratio solves g^(width + 1) = g + 1; its powers are far from rational together.
    ratio = 1.5
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (width + 1.0))
    steps = ratio ** -np.arange(1.0, width + 1.0)
    points: Floats = ndtri(np.clip((0.5 + np.outer(np.arange(1, N_POINTS + 1), steps)) % 1.0, 1e-6, 1.0 - 1e-6))
    return points
