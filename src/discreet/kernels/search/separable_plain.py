"""The splitting bound from the largest model's least squares alone: it always exists."""

import importlib

import numpy as np
import numpy.typing as npt

from discreet.kernels.search.separable import ROUNDING, Bound, Layout, Origin, SearchProblem


def plain_bound(problem: SearchProblem, inside: int, outside: int) -> Bound:
    """Return a bound that is constant but for the costs, valid for each model of the region."""
    units = [j for j in range(len(problem.cost)) if not (inside | outside) >> j & 1]
    layout = Layout.of([[unit] for unit in units], problem.columns)
    usable = np.ones(len(problem.xty), dtype=np.bool_)
    for j, columns in enumerate(problem.columns):
        if outside >> j & 1:
            usable[columns] = False
    value = _least(problem, usable)
    # In the ball |c'b| <= R max |c|.
    largest = problem.radius * float(np.abs(problem.xty[usable]).max(initial=0.0))
    least = max(value, -2.0 * largest)
    error = ROUNDING * (abs(problem.yty) + abs(least) + largest + float(problem.cost.sum()) + 64.0)
    decided = float(problem.cost[[j for j in range(len(problem.cost)) if inside >> j & 1]].sum())
    const = problem.yty + least + decided - 8.0 * problem.rounding * problem.radius**2 - 2.0 * error
    packed = np.zeros((int(layout.starts[-1]), layout.width))
    packed[np.arange(len(packed)), np.arange(len(packed)) - np.repeat(layout.starts[:-1], np.diff(layout.starts))] = 1.0
    remaining = problem.limit - inside.bit_count()
    split = problem.gram.diagonal()[[problem.columns[j][0] for j in units]]
    nothing = np.zeros(len(problem.xty))
    return Bound(
        layout, inside, outside, const, np.stack([np.zeros(len(units)), problem.cost[units]], axis=1), packed,
        remaining if remaining < len(units) else -1, np.inf, split, error, Origin(nothing, nothing, 0.0, nothing),
    )  # fmt: skip


def _least(problem: SearchProblem, usable: npt.NDArray[np.bool_]) -> float:
    """Return a number below every b'Gb - 2c'b over the columns in play and the ball, up to rounding."""
    walk = importlib.import_module("discreet.kernels.subsets.l1_ball_compiled")
    value, gap, _ = walk.walk(
        problem.gram, problem.xty, problem.radius, problem.rounding, usable, *walk.walk_space(len(problem.xty))
    )
    return float(value - gap)
