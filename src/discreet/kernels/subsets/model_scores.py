"""The constrained score of one model after another, each by itself."""

import importlib

import numpy as np
import numpy.typing as npt

from discreet.kernels.subsets.bits import bits_of
from discreet.kernels.subsets.l1_ball import ridge_for, solve_on_l1_ball
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.typing import Floats


class ModelScores:
    """Least squares on the l1 ball, one model at a time.

    Parameters
    ----------
    problem : SubsetProblem
        Moments, radius, units, columns of every model, tolerance.

    Attributes
    ----------
    start : ndarray of float, shape (p,)
        The optimum over all columns, up to rounding; its signs are where the other walks begin.

    Notes
    -----
    A model's score is a function of the problem and the model alone, whatever was scored before.
    """

    def __init__(self, problem: SubsetProblem) -> None:
        self.problem = problem
        self._gram = np.ascontiguousarray(problem.gram)
        self._xty = np.ascontiguousarray(problem.xty)
        self._units = problem.units.astype(np.float64)
        self._ridge = ridge_for(problem.gram, problem.radius, problem.tolerance)
        self._walk = importlib.import_module("discreet.kernels.subsets.l1_ball_compiled")
        self._space = self._walk.walk_space(len(problem.xty))
        everything = np.ones(len(problem.xty), dtype=np.bool_)
        self._signs = np.zeros(len(problem.xty))
        self._solve(everything, self._signs)
        self.start: Floats = self._space[-2].copy()

    def value(self, model: int) -> tuple[float, float]:
        """Return the least of b'Gb - 2c'b over a model and the ball, at a feasible point, and its duality gap.

        value - gap <= the true minimum <= value up to rounding; the gap is at most the tolerance. Cost: O(k^3) a step.
        """
        d = len(self.problem.units)
        columns = bits_of(model, d)[:d] @ self._units > 0.0
        columns |= self.problem.always
        value, gap = self._solve(columns, np.where(columns, self._signs, 0.0))
        if gap <= self.problem.tolerance:
            return value, gap
        zeros = np.zeros((1, len(columns)), dtype=np.int8)
        values, gaps, _ = solve_on_l1_ball(
            self._gram, self._xty, self.problem.radius, columns[None, :], zeros, self.problem.tolerance
        )
        return float(values[0]), float(gaps[0])

    def _solve(self, columns: npt.NDArray[np.bool_], signs: Floats) -> tuple[float, float]:
        """Run the compiled walk from these signs, which it replaces by those of the optimum."""
        answer = self._walk.walk(
            self._gram, self._xty, self.problem.radius, self._ridge, columns, signs, *self._space[1:]
        )
        return float(answer[0]), float(answer[1])
