"""The loop of `small_models` over models, compiled once and kept on disk.

The compiler's cache does not notice when a file that this one calls has changed: remove `__pycache__` after editing
`l1_ball_compiled`.
"""

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from discreet.kernels.subsets.l1_ball_compiled import walk, walk_space
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.typing import Floats, Integers

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")


class Layout(NamedTuple):
    """A problem in the arrays of the compiled loop.

    Parameters
    ----------
    gram : ndarray of float, shape (p, p)
        X'X.
    xty : ndarray of float, shape (p,)
        X'y.
    yty, radius, ridge : float
        y'y, the bound on the l1 norm, what the walk adds to the diagonal.
    always : ndarray of int64
        Columns of every model.
    columns : ndarray of int64
        Columns of the units, unit by unit.
    start : ndarray of int64, shape (d + 1,)
        Unit j owns columns[start[j]] to columns[start[j + 1]].
    widest : int
        The most columns that a model can have.
    """

    gram: Floats
    xty: Floats
    yty: float
    radius: float
    ridge: float
    always: Integers
    columns: Integers
    start: Integers
    widest: int


def layout_of(problem: SubsetProblem, max_size: int, ridge: float) -> Layout:
    """Return the problem as `score` takes it."""
    widths = problem.units.sum(axis=1).astype(np.int64)
    always = np.flatnonzero(problem.always).astype(np.int64)
    columns = np.nonzero(problem.units)[1].astype(np.int64)
    start = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    widest = len(always) + int(np.sort(widths)[::-1][:max_size].sum())
    gram, xty = np.ascontiguousarray(problem.gram), np.ascontiguousarray(problem.xty)
    return Layout(gram, xty, float(problem.yty), float(problem.radius), ridge, always, columns, start, widest)


def score(layout: Layout, members: npt.NDArray[np.int16]) -> tuple[Floats, Floats]:
    """Return scores and gaps of listed models; the gap is infinite where the walk does not end.

    Shapes: members (n_models, size); returns scores, gaps (n_models,).
    """
    scores, gaps = np.empty(len(members)), np.empty(len(members))
    place = np.empty(layout.widest, np.int64)
    small = (np.empty((layout.widest, layout.widest)), np.empty(layout.widest), np.ones(layout.widest, np.bool_))
    _score(layout, members, place, small, walk_space(layout.widest), scores, gaps)
    return scores, gaps


@_compile
def _score(layout, members, place, small, space, scores, gaps):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    gram, xty, usable = small
    sign, active, factor, inverse, halves, target, step, point, residual = space
    for a in range(len(layout.always)):
        place[a] = layout.always[a]
    for i in range(len(members)):
        k = len(layout.always)
        for unit in members[i]:
            for c in range(layout.start[unit], layout.start[unit + 1]):
                place[k] = layout.columns[c]
                k += 1
        for a in range(k):
            row = layout.gram[place[a]]
            for b in range(k):
                gram[a, b] = row[place[b]]
            xty[a], sign[a] = layout.xty[place[a]], 0.0
        value, gap, _ = walk(
            gram[:k, :k], xty[:k], layout.radius, layout.ridge, usable[:k], sign[:k], active, factor, inverse, halves,
            target, step, point[:k], residual[:k],
        )  # fmt: skip
        scores[i], gaps[i] = max(layout.yty + value, 0.0), gap
