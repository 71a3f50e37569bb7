"""Every candidate model's score, sharing optima between models.

When the l1 bound is active an optimum has few columns. The optimum of a model whose coefficients live in a smaller
model is that model's optimum too, so models are visited by size, largest first, and most of them are answered by one
of their parents: the models with one unit more.
"""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.kernels.l1_ball import solve_on_l1_ball

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Signs = npt.NDArray[np.int8]
Masks = npt.NDArray[np.uint64]

COMPILE_FROM = 2**14
"""From this many models on, compiled code is waited for when it is not yet on disk."""


def constrained_scores(
    gram: Floats,
    xty: Floats,
    yty: float,
    radius: float,
    units: Bools,
    always: Bools,
    models: Masks,
    tolerance: float,
    progress: Callable[[int], None] | None = None,
    compiled: bool | None = None,
) -> tuple[Floats, Floats]:
    """Return the least squares score of each model under an l1 bound, with its duality gap.

    Parameters
    ----------
    gram : ndarray of float, shape (p, p)
        X'X.
    xty : ndarray of float, shape (p,)
        X'y.
    yty : float
        y'y.
    radius : float
        Bound on the l1 norm of the coefficients, positive.
    units : ndarray of bool, shape (d, p)
        Columns of each unit that enters or leaves as one; d <= 63, disjoint.
    always : ndarray of bool, shape (p,)
        Columns in every model, such as the intercept.
    models : ndarray of uint64, shape (n_models,)
        Bit j set: unit j is in the model. Distinct.
    tolerance : float
        Largest duality gap allowed, positive, in the units of `yty`.
    progress : callable, optional
        Told the number of models finished since it was last told.
    compiled : bool, optional
        Whether to use compiled code; by default from 2^14 models on, or when it is on disk already.

    Returns
    -------
    scores : ndarray of float, shape (n_models,)
        min ||y - Xb||^2 over the model and the ball, at a feasible point.
    gaps : ndarray of float, shape (n_models,)
        score - gap <= the true minimum <= score; at most `tolerance`.

    Notes
    -----
    Cost: at most one small linear system a pivot; a tenth to a half of the models need any.

    References
    ----------
    Lei et al. 2018, Algorithm 1, line 2; privacy specification 1.1 and 1.6.
    """
    scores, gaps = np.empty(len(models)), np.empty(len(models))
    solve = _level_solver(compiled, len(models))
    problem = (
        np.ascontiguousarray(gram),
        np.ascontiguousarray(xty),
        float(radius),
        np.ascontiguousarray(units),
        np.ascontiguousarray(always),
        float(tolerance),
    )
    above = None
    for order in _levels(models):
        masks = models[order]
        by_mask = np.argsort(masks, kind="stable")
        level = solve(problem, masks[by_mask], above, progress)
        scores[order[by_mask]] = yty + level[2]
        gaps[order[by_mask]] = level[3]
        above = level
    return np.maximum(scores, 0.0), gaps


Level = tuple[Masks, Signs, Floats, Floats]
"""Masks in increasing order, signs of the coefficients, values, gaps; compiled code keeps more behind these four."""

LevelSolver = Callable[..., Any]
Problem = tuple[Floats, Floats, float, Bools, Bools, float]


def _levels(models: Masks) -> list[npt.NDArray[np.intp]]:
    """Positions of the models of each size, largest size first."""
    sizes = np.bitwise_count(models)
    return [np.flatnonzero(sizes == size) for size in sorted(set(sizes.tolist()), reverse=True)]


def _level_solver(compiled: bool | None, n_models: int) -> LevelSolver:
    if compiled is None:
        compiled = n_models >= COMPILE_FROM
    if compiled:
        # Loading the compiler takes half a second: small problems do not pay for it.
        return importlib.import_module("discreet.kernels.subsets_compiled").solve_level  # type: ignore[no-any-return]
    return solve_level


def solve_level(problem: Problem, masks: Masks, above: Level | None, progress: Callable[[int], None] | None) -> Level:
    """Answer one size's models from the level above where possible, solve the rest in batches.

    Parameters
    ----------
    problem : tuple
        gram, xty, radius, units, always, tolerance.
    masks : ndarray of uint64, shape (n_models,)
        Models of one size, in increasing order.
    above : tuple or None
        What this function returned for the size before, None at first.
    progress : callable or None
        Told the number of models finished.

    Returns
    -------
    tuple
        masks, signs, values, gaps.
    """
    gram, xty, radius, units, always, tolerance = problem
    signs = np.zeros((len(masks), len(xty)), dtype=np.int8)
    values, gaps = np.zeros(len(masks)), np.full(len(masks), np.inf)
    answered = np.zeros(len(masks), dtype=np.bool_)
    if above is not None:
        _share(units, masks, above, answered, signs, values, gaps)
    rest = np.flatnonzero(~answered)
    if rest.size:
        included = (masks[rest, None] >> np.arange(len(units), dtype=np.uint64)) & np.uint64(1)
        columns = (included.astype(np.float64) @ units > 0.0) | always
        start = np.where(columns, signs[rest], 0).astype(np.int8)
        values[rest], gaps[rest], signs[rest] = solve_on_l1_ball(gram, xty, radius, columns, start, tolerance)
    if progress is not None:
        progress(len(masks))
    return masks, signs, values, gaps


def _share(
    units: Bools, masks: Masks, above: Level, answered: Bools, signs: Signs, values: Floats, gaps: Floats
) -> None:
    """Copy the optimum of a parent that does not use the unit left out; else leave its signs as a start."""
    parents, parent_signs, parent_values, parent_gaps = above
    for j, unit in enumerate(units):
        bit = np.uint64(1) << np.uint64(j)
        open_ = np.flatnonzero(~answered & ((masks & bit) == 0))
        place = np.minimum(np.searchsorted(parents, masks[open_] | bit), len(parents) - 1)
        known = parents[place] == (masks[open_] | bit)
        open_, place = open_[known], place[known]
        unused = ~parent_signs[place][:, unit].any(axis=1)
        signs[open_] = parent_signs[place]
        shared = open_[unused]
        values[shared], gaps[shared] = parent_values[place[unused]], parent_gaps[place[unused]]
        answered[shared] = True
