"""Algorithm 1 of Lei et al. on arrays: every model's constrained least squares once, noise again and again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.data.metadata import Metadata
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.kernels.subsets.subsets import constrained_scores
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noisy_min
from discreet.simulation.draws import uniforms
from discreet.typing import Floats, Masks

TOLERANCE = 1e-9
"""Largest duality gap, of the target's square sum."""

COMPILE_FROM = 2**12
"""From this many models on, compiled code is used: a dozen columns that go together take a minute without it."""


@dataclass(frozen=True)
class Models:
    """All models of some columns but the empty one, from products of the rows.

    Parameters
    ----------
    gram : ndarray of float, shape (p, p)
        X'X; an intercept is a column like any other.
    xty : ndarray of float, shape (p,)
        X'y.
    yty : float
        y'y.
    """

    gram: Floats
    xty: Floats
    yty: float

    @classmethod
    def of(cls, X: Floats, y: Floats) -> "Models":
        """Return the 2^p - 1 models of a table of shapes X (n, p), y (n,)."""
        return cls(X.T @ X, X.T @ y, float(y @ y))

    @property
    def masks(self) -> Masks:
        """Bit j set: column j is in the model."""
        return np.arange(1, 2 ** len(self.xty), dtype=np.uint64)

    @property
    def sizes(self) -> Floats:
        """Number of columns of each model."""
        return np.bitwise_count(self.masks).astype(np.float64)

    def has(self, column: int) -> npt.NDArray[np.bool_]:
        """Tell which models have a column, of shape (n_models,)."""
        holds: npt.NDArray[np.bool_] = (self.masks >> np.uint64(column)) & np.uint64(1) == 1
        return holds

    def residuals(self, radius: float) -> Floats:
        """Return every model's residual sum of squares on the l1 ball, -2 l_R(M; D), of shape (n_models,).

        Source: Lei et al. 2018, Algorithm 1, line 2.
        """
        p = len(self.xty)
        problem = SubsetProblem(
            self.gram,
            self.xty,
            self.yty,
            radius,
            np.eye(p, dtype=np.bool_),
            np.zeros(p, dtype=np.bool_),
            TOLERANCE * self.yty,
        )
        return constrained_scores(problem, self.masks, compiled=len(self.masks) >= COMPILE_FROM)[0]

    def least_squares(self) -> Floats:
        """Return every model's residual sum of squares, without a bound on the coefficients, of shape (n_models,).

        Columns must be linearly independent. Cost: p^3 operations and p^2 numbers for each model.
        """
        p = len(self.xty)
        used = np.column_stack([self.has(column) for column in range(p)])
        grams = np.where(used[:, :, None] & used[:, None, :], self.gram, np.eye(p))  # others: coefficient 0
        sides = np.where(used, self.xty, 0.0)
        coef = np.linalg.solve(grams, sides[:, :, None])[:, :, 0]
        return np.asarray(self.yty - (sides * coef).sum(axis=1))


def picks(scores: Floats, scale: float, times: int, rng: Source) -> npt.NDArray[np.intp]:
    """Return the places of the models that Laplace noise leaves smallest, of shape (times,).

    Source: Lei et al. 2018, Algorithm 1, lines 4 and 6.
    """
    return np.array([noisy_min(scores, scale, 1.0, rng, "laplace") for _ in range(times)], dtype=np.intp)


def laplace(rng: Source, *shape: int) -> Floats:
    """Return standard Laplace numbers."""
    # Inverse of the distribution function: -sign(u) log(1 - |u|) for u uniform on (-1, 1)
    places = 2.0 * uniforms(rng, *shape) - 1.0
    return np.asarray(-np.sign(places) * np.log1p(-np.abs(places)))


def declared(
    dataset: str,
    unit: str,
    bounds: Mapping[str, tuple[float, float]],
    neighboring: str,
    n_rows: int | None,
    source: str,
) -> Metadata:
    """Return the checked metadata of a table of numbers."""
    columns = {
        name: {"type": "real", "lower": low, "upper": high, "source": source} for name, (low, high) in bounds.items()
    }
    facts: dict[str, Any] = {"dataset": dataset, "unit": unit, "neighboring": neighboring, "columns": columns}
    return Metadata.from_value(facts | ({} if n_rows is None else {"n_rows": n_rows}))
