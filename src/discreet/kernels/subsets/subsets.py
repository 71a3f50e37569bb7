"""Every candidate model's score, sharing optima between models.

When the l1 bound is active an optimum has few columns. The optimum of a model whose coefficients live in a smaller
model is that model's optimum too. The array code here visits models by size, largest first, and most of them are
answered by one of their parents: the models with one unit more. Many models go to the compiled tree, block by block.
"""

import importlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, combinations, islice
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.kernels.subsets.l1_ball import solve_on_l1_ball
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.typing import Bools, Floats, Masks

Signs = npt.NDArray[np.int8]

COMPILE_FROM = 2**14
"""From this many models on, compiled code is waited for when it is not yet on disk."""

BLOCK_UNITS = 16
"""Units that a block decides: 65,536 models and their optima stay in a core's cache."""

Block = tuple[Masks, Floats, Floats]
"""Masks, scores and gaps of some models."""


def constrained_scores(
    problem: SubsetProblem,
    models: Masks,
    progress: Callable[[int], None] | None = None,
    compiled: bool | None = None,
) -> tuple[Floats, Floats]:
    """Return the least squares score of each listed model under an l1 bound, and its duality gap.

    A score is min ||y - Xb||^2 over the model and the ball at a feasible point, and score - gap <= the true minimum.
    Source: Lei et al. 2018, Algorithm 1, line 2; privacy specification 1.1 and 1.6. Shapes: models (n_models,).
    """
    if compiled is None:
        compiled = len(models) >= COMPILE_FROM
    if not compiled:
        return _scores_by_level(problem, models, progress)
    scores, gaps = np.empty(len(models)), np.empty(len(models))
    by_mask = np.argsort(models, kind="stable")
    increasing = models[by_mask]
    for masks, block_scores, block_gaps in _compiled_blocks(problem, None, models, progress, None):
        place = by_mask[np.searchsorted(increasing, masks)]
        scores[place], gaps[place] = block_scores, block_gaps
    return scores, gaps


def score_blocks(
    problem: SubsetProblem,
    max_size: int | None = None,
    progress: Callable[[int], None] | None = None,
    compiled: bool | None = None,
    threads: int | None = None,
) -> Iterator[Block]:
    """Yield masks, scores and gaps of every subset of the units, the empty one included, block by block.

    As `constrained_scores`, each model once. The order is a function of the shape of `units`, of `max_size` and of
    `compiled` alone; a few blocks of about 2^16 models are held at a time. Cost: O(d) operations a model with vectors
    of
    models side by side, and O(d^2) for each distinct optimum.
    """
    d = len(problem.units)
    size = d if max_size is None else min(max_size, d)
    if compiled is None:
        compiled = sum(comb(d, j) for j in range(size + 1)) >= COMPILE_FROM
    if compiled:
        yield from _compiled_blocks(problem, size, None, progress, threads)
    else:
        models = _up_to_size(d, size)
        yield models, *_scores_by_level(problem, models, progress)


def _up_to_size(d: int, size: int) -> Masks:
    """Return the increasing masks of d units with at most `size` of them."""
    if d <= BLOCK_UNITS:
        masks = np.arange(2**d, dtype=np.uint64)
        return masks[np.bitwise_count(masks) <= size]
    chosen = (units for k in range(size + 1) for units in combinations(range(d), k))
    return np.array(sorted(sum(1 << j for j in units) for units in chosen), dtype=np.uint64)


Part = tuple[int, Masks]
"""A block's units from `n_low` on, and its models' masks of the units below; both in the tree's order."""


def _compiled_blocks(
    problem: SubsetProblem,
    size: int | None,
    models: Masks | None,
    progress: Callable[[int], None] | None,
    threads: int | None,
) -> Iterator[Block]:
    """Score all models up to a size, or those listed, in the order of `_parts`, some blocks ahead of the caller."""
    # Loading the compiler takes half a second: small problems do not pay for it.
    tree = importlib.import_module("discreet.kernels.subsets.subsets_compiled")
    layout, order = tree.layout_of(problem)
    d = len(order)
    n_low = min(BLOCK_UNITS, max(tree.LANE_UNITS, d - 2), d)
    parts = _parts_of_list(_reorder(models, order.argsort()), n_low) if size is None else _parts(d, n_low, size)

    def score(group: list[Part]) -> Block:
        results = [tree.score_block(layout, high, lows, n_low) for high, lows in group]
        masks = _reorder(np.concatenate([lows | np.uint64(high) for high, lows in group]), order)
        return masks, *_certified(problem, masks, *(np.concatenate(each) for each in zip(*results, strict=True)))

    for block in _ahead(score, _groups(parts), threads or tree.n_threads()):
        if progress is not None:
            progress(len(block[0]))
        yield block


def _reorder(masks: Any, order: npt.NDArray[np.intp]) -> Masks:
    """Move bit t to bit order[t]."""
    if (order == np.arange(len(order))).all():
        return masks  # type: ignore[no-any-return]
    moved: Masks = np.zeros_like(masks)
    for t, unit in enumerate(order):
        moved |= ((masks >> np.uint64(t)) & np.uint64(1)) << np.uint64(unit)
    return moved


def _parts(d: int, n_low: int, size: int) -> Iterator[Part]:
    """Yield all models of at most `size` units: the units from `n_low` on by their number, then in order."""
    lows = {}
    for n_high in range(min(size, d - n_low) + 1):
        room = min(size - n_high, n_low)
        lows[room] = _up_to_size(n_low, room)
        for units in combinations(range(n_low, d), n_high):
            yield sum(1 << t for t in units), lows[room]


def _parts_of_list(models: Masks, n_low: int) -> Iterator[Part]:
    """Yield the listed models by their units from `n_low` on."""
    models = np.sort(models)
    highs, first = np.unique(models >> np.uint64(n_low), return_index=True)
    for high, lows in zip(highs, np.split(models, first[1:]), strict=True):
        yield int(high) << n_low, lows & np.uint64(2**n_low - 1)


def _groups(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Join parts until they are a block."""
    group: list[Part] = []
    n_models = 0
    for part in parts:
        group.append(part)
        n_models += len(part[1])
        if n_models >= 2 ** (BLOCK_UNITS - 2):
            yield group
            group, n_models = [], 0
    if group:
        yield group


def _ahead(score: Callable[[list[Part]], Block], groups: Iterator[list[Part]], threads: int) -> Iterator[Block]:
    """Score groups on several threads, and yield them in their order; at most one waits for each thread."""
    first = list(islice(groups, 2))
    groups = chain(first, groups)
    if threads == 1 or len(first) < 2:
        yield from map(score, groups)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Block]] = deque()
        try:
            for group in groups:
                waiting.append(pool.submit(score, group))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _certified(problem: SubsetProblem, masks: Masks, scores: Floats, gaps: Floats) -> tuple[Floats, Floats]:
    """Solve with array code, which always converges, what the tree left without a certificate."""
    rest = np.flatnonzero(~(gaps <= problem.tolerance))
    if rest.size:
        gram, xty, yty, radius, _, _, tolerance = problem
        columns = problem.columns(masks[rest])
        start = np.zeros(columns.shape, dtype=np.int8)
        values, gaps[rest], _ = solve_on_l1_ball(gram, xty, radius, columns, start, tolerance)
        scores[rest] = np.maximum(yty + values, 0.0)
    return scores, gaps


Level = tuple[Masks, Signs, Floats, Floats]
"""Masks in increasing order, signs of the coefficients, values, gaps."""


def _scores_by_level(
    problem: SubsetProblem, models: Masks, progress: Callable[[int], None] | None
) -> tuple[Floats, Floats]:
    """Score the models size by size, largest first."""
    scores, gaps = np.empty(len(models)), np.empty(len(models))
    sizes = np.bitwise_count(models)
    above = None
    for size in sorted(set(sizes.tolist()), reverse=True):
        order = np.flatnonzero(sizes == size)
        order = order[np.argsort(models[order], kind="stable")]
        above = _solve_level(problem, models[order], above)
        scores[order], gaps[order] = np.maximum(problem.yty + above[2], 0.0), above[3]
        if progress is not None:
            progress(len(order))
    return scores, gaps


def _solve_level(problem: SubsetProblem, masks: Masks, above: Level | None) -> Level:
    """Take one size's optima from the level above where possible; solve the other models in batches."""
    signs = np.zeros((len(masks), len(problem.xty)), dtype=np.int8)
    values, gaps = np.zeros(len(masks)), np.full(len(masks), np.inf)
    answered = np.zeros(len(masks), dtype=np.bool_)
    if above is not None:
        _share(problem.units, masks, above, answered, signs, values, gaps)
    rest = np.flatnonzero(~answered)
    if rest.size:
        gram, xty, _, radius, _, _, tolerance = problem
        columns = problem.columns(masks[rest])
        start = np.where(columns, signs[rest], 0).astype(np.int8)
        values[rest], gaps[rest], signs[rest] = solve_on_l1_ball(gram, xty, radius, columns, start, tolerance)
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
        is_listed = parents[place] == (masks[open_] | bit)
        open_, place = open_[is_listed], place[is_listed]
        unused = ~parent_signs[place][:, unit].any(axis=1)
        signs[open_] = parent_signs[place]
        shared = open_[unused]
        values[shared], gaps[shared] = parent_values[place[unused]], parent_gaps[place[unused]]
        answered[shared] = True
