"""Rows that a table may have, by what is released of its columns: what a pass can be expected to tell.

They decide how much noise a pass has; what it tells does not rest on them.
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.kernels.glm.families import Family, Groups
from discreet.kernels.glm.pooled_score import Turned
from discreet.kernels.glm.turned_rows import Turn
from discreet.kernels.rows.likely_columns import likely_columns
from discreet.typing import Floats

TYPICAL_COEFFICIENT = 2.0
"""Per half range: what is hidden further is not lost by noise."""


@dataclass(frozen=True)
class LikelyRows:
    """Rows with their constant, and the weight of each in the information.

    Parameters
    ----------
    rows : ndarray of float, shape (m, p)
        Per half range.
    weights : ndarray of float, shape (m,)
        They add up to the number of rows at a weight of 1.
    n_rows : float
        That these stand for.
    """

    rows: Floats
    weights: Floats
    n_rows: float

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
        return cls(rows[:, : len(theta)], np.maximum(weights, 1e-300), n_rows)

    def turned(self, turn: Turn, longest: float, parts: Floats, before: Floats) -> Turned:
        """Return coordinates with what is likely of rows there, which counted `before` in the first pass."""
        turned = self.rows @ turn.natural.T
        squares = (turned[:, 1:] ** 2).sum(axis=1)
        left = float(parts @ squares) / max(float(parts.sum()) * float(squares.mean()), 1e-300)
        whole = float(self.weights @ squares) / max(float((self.weights * parts) @ squares), 1e-300)
        share = whole if turned.shape[1] > 1 else 1.0
        return Turned(turn, longest, float(parts.sum() / before.sum()), left, share)

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
    low = np.full(len(center), -1.0)
    low[[j for group in groups for j in group]] = 0.0
    columns = likely_columns(center[1:], spread[1:, 1:], low[1:], np.ones(len(low) - 1))
    return np.column_stack([np.ones(len(columns)), columns])
