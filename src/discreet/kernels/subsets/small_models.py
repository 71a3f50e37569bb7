"""Scores of all models of a few units out of many, each solved on its own columns.

The tree of `subsets_compiled` shares work between models that differ in their first units. Where many units may be in a
model, but few at a time, there is little to share, and a model is a short list of units instead of a word of bits.
"""

import importlib
from collections.abc import Callable, Iterator
from itertools import chain, combinations, islice

import numpy as np
import numpy.typing as npt

from discreet.kernels.subsets.l1_ball import ridge_for, solve_on_l1_ball
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.typing import Floats

Members = npt.NDArray[np.int16]
Block = tuple[Members, Floats, Floats]

BLOCK_MODELS = 2**14
"""Models scored between two reports of progress."""


def small_model_blocks(
    problem: SubsetProblem, max_size: int, progress: Callable[[int], None] | None = None
) -> Iterator[Block]:
    """Yield units, scores and gaps of every subset of at most `max_size` units, the empty one included.

    A block's models have one size and increasing units; a score is min ||y - Xb||^2 over the model and the ball at a
    feasible point, and score - gap <= the true minimum. The order is a function of the number of units and `max_size`
    alone. Cost: O(k^3) for a model of k columns. Source: Lei et al. 2018, Algorithm 1, line 2; privacy specification
    1.1.
    """
    # Loading the compiler takes half a second: whoever imports this module does not pay for it.
    compiled = importlib.import_module("discreet.kernels.subsets.small_models_compiled")
    layout = compiled.layout_of(problem, max_size, ridge_for(problem.gram, problem.radius, problem.tolerance))
    for size in range(min(max_size, len(problem.units)) + 1):
        for members in _members(len(problem.units), size):
            scores, gaps = compiled.score(layout, members)
            yield members, *_certified(problem, members, scores, gaps)
            if progress is not None:
                progress(len(members))


def _members(d: int, size: int) -> Iterator[Members]:
    """List all models of so many units, in parts."""
    models = combinations(range(d), size)
    while part := list(islice(models, BLOCK_MODELS)):  # ends with the combinations
        flat = np.fromiter(chain.from_iterable(part), dtype=np.int16, count=len(part) * size)
        yield flat.reshape(len(part), size)


def _certified(problem: SubsetProblem, members: Members, scores: Floats, gaps: Floats) -> tuple[Floats, Floats]:
    """Solve with array code what the walk left without a certificate."""
    gram, xty, yty, radius, units, always, tolerance = problem
    for i in np.flatnonzero(~(gaps <= tolerance)):
        columns = units[members[i]].any(axis=0) | always
        start = np.zeros((1, int(columns.sum())), dtype=np.int8)
        inner = gram[np.ix_(columns, columns)]
        value, gap, _ = solve_on_l1_ball(inner, xty[columns], radius, np.ones_like(start, dtype=bool), start, tolerance)
        scores[i], gaps[i] = max(yty + float(value[0]), 0.0), gap[0]
    return scores, gaps
