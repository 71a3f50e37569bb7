"""The choice among regression models as numbers: rows as moments, models as subsets, a bound on the coefficients."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.accounting.guarantee import exact
from discreet.data.design import Design
from discreet.kernels.moments.moments import GRID
from discreet.kernels.subsets.l1_ball import solve_on_l1_ball
from discreet.kernels.subsets.model_scores import ModelScores
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.kernels.subsets.subsets import constrained_scores
from discreet.methods.subset_selection.model_space import ModelSpace
from discreet.typing import Floats, Integers, Masks

FEW_COLUMNS = 16
"""Up to so many, one system for each step costs less than to load the compiled walk."""


@dataclass(frozen=True)
class Setting:
    """What the models of a request are and how their scores are computed. Scores are in squared target bounds.

    Parameters
    ----------
    design : Design
        The row map.
    space : ModelSpace
        The candidate models.
    radius : float
        R, in units of the target.
    intercept : bool
        Whether every model has a constant.
    """

    design: Design
    space: ModelSpace
    radius: float
    intercept: bool

    @property
    def ratio(self) -> Fraction:
        """R / r."""
        return exact(self.radius, "R") / exact(self.design.bound, "y_bound")

    @property
    def n_units(self) -> int:
        """Number of columns or groups that are free to enter."""
        return len(self.space.units)

    def problem(self, moments: Integers, tolerance: float) -> SubsetProblem:
        """Return the models' least squares in units of the target's bound.

        Shapes: moments (n_columns, n_columns).
        """
        first = 0 if self.intercept else 1
        matrix = moments.astype(np.float64) / float(GRID) ** 2
        column_of = dict(zip(self.design.candidates, self.design.units(), strict=True))
        none = np.zeros(matrix.shape[0] - 1, dtype=np.bool_)
        units = np.array([np.any([column_of[n] for n in unit], axis=0) for unit in self.space.units] or [none])
        always = np.any([none, *(column_of[n] for n in self.space.forced)], axis=0)
        always[0] = True
        return SubsetProblem(
            matrix[first:-1, first:-1],
            matrix[first:-1, -1],
            float(matrix[-1, -1]),
            self.radius / self.design.bound,
            units[: len(self.space.units), first:],
            always[first:],
            tolerance,
        )

    def sizes(self) -> Floats:
        """Return how many columns each unit counts for in a penalty, shape (n_units,); a category counts once."""
        return np.array([len(unit) for unit in self.space.units], dtype=np.float64)

    def scores(
        self, moments: Integers, masks: Masks, tolerance: float, progress: Callable[[int], None] | None = None
    ) -> Floats:
        """Return constrained residual sums of squares, each at most the tolerance above its true value. Not releasable.

        Source: Lei et al. 2018, Algorithm 1, line 2; privacy specification 1.1. Shapes: masks, returns (n_models,).
        """
        sums, gaps = constrained_scores(self.problem(moments, tolerance), masks, progress)
        if not (gaps <= tolerance).all():
            raise ArithmeticError("a score has no certificate")
        return sums

    def counted(self, masks: Masks) -> Floats:
        """Return how many columns each model is penalized for; forced columns and the constant are free.

        Shapes: masks (n_models,); returns (n_models,).
        """
        bits = (masks[:, None] >> np.arange(self.n_units, dtype=np.uint64)) & np.uint64(1)
        counts: Floats = bits @ self.sizes()
        return counts

    def full_score(self, moments: Integers, ratio: Fraction, tolerance: float) -> float:
        """Return the constrained residual sum of squares of all candidates, in squared target bounds. Not releasable.

        Shapes: moments (n_columns, n_columns).
        """
        problem = self.problem(moments, tolerance)._replace(radius=float(ratio))
        if len(problem.xty) > FEW_COLUMNS:
            value, gap = ModelScores(problem).value(2 ** len(problem.units) - 1)
        else:
            columns = np.ones((1, len(problem.xty)), dtype=np.bool_)
            start = np.zeros(columns.shape, dtype=np.int8)
            optimum = solve_on_l1_ball(problem.gram, problem.xty, problem.radius, columns, start, tolerance)
            value, gap = float(optimum[0][0]), float(optimum[1][0])
        if not gap <= tolerance:
            raise ArithmeticError("a score has no certificate")
        return max(problem.yty + value, 0.0)
