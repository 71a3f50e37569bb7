"""How X'y of unit rows varies by the choice of rows: least squares with weights, whose errors do not vary with them.

Rows that are divided by their length are weighted by w, one over its square. Where errors have equal variances s^2, X'y
varies by s^2 times the sum of w^2 x x'. What is released is the sum of w x x', and s^2 times the mean of w. Between
both stands the law of the rows: a coefficient of a column that is far from its mean in long rows alone varies less
than the released sums say, one whose column has nothing to do with the length varies more.
"""

from typing import NamedTuple

import numpy as np

from discreet.typing import Bools, Floats

STEPS = 4
"""Of the search for columns whose weighted moments are the released ones."""

POINTS_OF_COLUMN = 4
"""Points for each column, at least."""

LEAST_SPREAD, MOST_CORRELATION = 1e-4, 0.999
"""Standard deviation of a column, and correlation of two, that noise may leave."""

LEAST_EIGENVALUE = 1e-6
"""Of likely columns of length 1: what varies less is taken as it is."""


class UnitColumns(NamedTuple):
    """What is public of columns whose rows are divided by their length.

    Parameters
    ----------
    low, high : ndarray of float, shape (p,)
        Ends of all columns, as they are scaled; of the first one, the constant, both are 1.
    dummies : ndarray of bool, shape (n_categories, p)
        Levels of each category, of which each row has one.
    constant : float
        What the constant is in lengths.
    shortest : float
        Length from which on rows are divided by it; others are divided by this.
    """

    low: Floats
    high: Floats
    dummies: Bools
    constant: float
    shortest: float


class LikelyUnitRows(NamedTuple):
    """Rows that have about the released moments.

    Parameters
    ----------
    rows : ndarray of float, shape (m, p)
        Before they are divided.
    weights : ndarray of float, shape (m,)
        One over their squared lengths.
    """

    rows: Floats
    weights: Floats

    def sampling(self, gram: Floats, columns: list[int]) -> Floats:
        """Return the sum of w^2 x x' over the mean of w, where that of w x x' is `gram`: equal for rows of one length.

        Shapes: gram (k, k), of these columns; returns (k, k), positive semidefinite. Cost: O(m k^2 + k^3).
        """
        rows, mean = self.rows[:, columns], float(self.weights.mean())
        once, twice = _products(rows, self.weights / mean), _products(rows, (self.weights / mean) ** 2)
        length = np.sqrt(np.maximum(once.diagonal(), 1e-300))
        values, vectors = np.linalg.eigh(once / np.outer(length, length))
        values, vectors = values[values > LEAST_EIGENVALUE], vectors[:, values > LEAST_EIGENVALUE]
        inverse = (vectors / np.sqrt(values)) @ vectors.T / length
        # What both say of the same rows, relative to the first, is put onto the released moments.
        relative = np.eye(len(gram)) + inverse @ (twice - once) @ inverse.T
        length = np.sqrt(np.maximum(gram.diagonal(), 1e-300))
        values, vectors = np.linalg.eigh((gram + gram.T) / 2.0 / np.outer(length, length))
        root = length[:, None] * ((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
        sampling: Floats = root @ relative @ root.T
        return sampling


def likely_unit_rows(gram: Floats, unit: UnitColumns) -> LikelyUnitRows:
    """Return rows whose weighted means, variances and correlations are those of released moments, or nearly.

    Post-processing of `gram`, X'X with the constant first and as 1. Cost: O(m p (p + m)) a step, about 15 ms for p = 8.
    Source: Cario and Nelson 1997 (columns of given margins and correlations).
    Shapes: gram (p, p).
    """
    from discreet.kernels.rows.likely_columns import N_POINTS, likely_columns  # slow to load

    low, high, n_points = unit.low[1:], unit.high[1:], max(N_POINTS, POINTS_OF_COLUMN * len(gram))
    goal = _Weighted.of(gram)
    means, spreads, correlations = goal.means.copy(), goal.spreads.copy(), goal.correlations.copy()
    for step in range(1, STEPS + 1):
        columns = likely_columns(means, correlations * np.outer(spreads, spreads), low, high, n_points)
        likely = LikelyUnitRows(np.column_stack([np.ones(n_points), columns]), _weights(columns, unit))
        if step == STEPS:
            break
        reached = _Weighted.of(_products(likely.rows, likely.weights))
        means = np.clip(means + goal.means - reached.means, low, high)
        spreads *= np.clip(goal.spreads / reached.spreads, 0.5, 2.0)
        correlations = np.clip(
            correlations + goal.correlations - reached.correlations, -MOST_CORRELATION, MOST_CORRELATION
        )
        np.fill_diagonal(correlations, 1.0)
    return likely


class _Weighted(NamedTuple):
    """Weighted means, standard deviations and correlations of columns."""

    means: Floats
    spreads: Floats
    correlations: Floats

    @classmethod
    def of(cls, gram: Floats) -> "_Weighted":
        total = max(float(gram[0, 0]), 1e-3 * float(gram.diagonal().max()), 1e-300)
        means = gram[0, 1:] / total
        covariance = gram[1:, 1:] / total - np.outer(means, means)
        spreads = np.sqrt(np.maximum(covariance.diagonal(), LEAST_SPREAD**2))
        correlations = np.clip(covariance / np.outer(spreads, spreads), -MOST_CORRELATION, MOST_CORRELATION)
        np.fill_diagonal(correlations, 1.0)
        return cls(means, spreads, correlations)


def _weights(columns: Floats, unit: UnitColumns) -> Floats:
    """One over the squared lengths; a category adds 1, whichever level a row has."""
    is_level: Bools = np.asarray(unit.dummies.any(axis=0), dtype=np.bool_)[1:]
    squares = unit.constant**2 + len(unit.dummies) + (columns[:, ~is_level] ** 2).sum(axis=1)
    weights: Floats = 1.0 / np.maximum(squares, unit.shortest**2)
    return weights


def _products(rows: Floats, weights: Floats) -> Floats:
    products: Floats = (rows * weights[:, None]).T @ rows
    return products
