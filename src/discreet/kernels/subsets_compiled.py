"""The work of `subsets` and `l1_ball` for many small models, compiled once and kept on disk.

Same rules as the array code beside it, one model at a time: share a parent's optimum, or walk an active set from the
parent's signs. What is not certified here goes back to the array code, which has a method that always converges.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.kernels.l1_ball import ridge_for, solve_on_l1_ball

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Masks = npt.NDArray[np.uint64]
Signs = npt.NDArray[np.int8]
Level = tuple[Masks, Signs, Floats, Floats, Masks, npt.NDArray[np.int32]]
"""Masks, signs, values, gaps, units in use, and the place of each mask in its level (empty for many units)."""
Problem = tuple[Floats, Floats, float, Bools, Bools, float]

CHUNK = 4096
"""Models a task: few enough for a moving progress bar, enough to hide the cost of a thread."""

TABLE_UNITS = 22
"""Up to this many units a table of 2^d places finds a parent at once; beyond, a binary search."""

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")


def solve_level(problem: Problem, masks: Masks, above: Level | None, progress: Callable[[int], None] | None) -> Level:
    """Answer one size's models; the contract of ``subsets.solve_level``.

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
        masks, signs, values, gaps, support, table.
    """
    gram, xty, radius, units, always, tolerance = problem
    n, p = len(masks), len(xty)
    signs, values, gaps = np.zeros((n, p), np.int8), np.zeros(n), np.full(n, np.inf)
    support = np.zeros(n, np.uint64)
    parents = above if above is not None else _no_level(p, len(units))
    column_unit = np.where(units.any(axis=0), units.argmax(axis=0), -1)
    fixed = (gram, xty, radius, column_unit, always, ridge_for(gram, radius, tolerance))

    def solve(low: int) -> int:
        part = slice(low, min(low + CHUNK, n))
        _solve_part(*fixed, len(units), masks[part], *parents, signs[part], values[part], gaps[part], support[part])
        return part.stop - low

    if n <= CHUNK:
        finished: Any = [solve(0)]
    else:
        with ThreadPoolExecutor(numba.config.NUMBA_NUM_THREADS) as pool:
            finished = list(pool.map(solve, range(0, n, CHUNK)))
    if progress is not None:
        progress(sum(finished))
    _certify(problem, masks, signs, values, gaps, support)
    table = parents[5]
    if table.size:
        table[masks] = np.arange(n, dtype=np.int32)
    return masks, signs, values, gaps, support, table


def _no_level(p: int, d: int) -> Level:
    table = np.full(2**d if d <= TABLE_UNITS else 0, -1, dtype=np.int32)
    none = np.empty(0, np.uint64)
    return none, np.empty((0, p), np.int8), np.empty(0), np.empty(0), none, table


def _certify(problem: Problem, masks: Masks, signs: Signs, values: Floats, gaps: Floats, support: Masks) -> None:
    """Give the array code what the walk left without a certificate; its optimum may use any of the model's units."""
    gram, xty, radius, units, always, tolerance = problem
    rest = np.flatnonzero(~(gaps <= tolerance))
    if rest.size:
        included = (masks[rest, None] >> np.arange(len(units), dtype=np.uint64)) & np.uint64(1)
        columns = (included.astype(np.float64) @ units > 0.0) | always
        start = np.where(columns, signs[rest], 0).astype(np.int8)
        values[rest], gaps[rest], signs[rest] = solve_on_l1_ball(gram, xty, radius, columns, start, tolerance)
        support[rest] = masks[rest]


@_compile
def _solve_part(  # type: ignore[no-untyped-def]
    gram, xty, radius, column_unit, always, ridge, d, masks,
    parents, parent_signs, parent_values, parent_gaps, parent_support, table,
    signs, values, gaps, support,
):  # fmt: skip # pragma: no cover - compiled
    p = len(xty)
    one = np.uint64(1)
    usable = np.empty(p, np.bool_)
    work = (
        np.empty(p, np.uint64), np.empty((p, p)), np.empty(p), np.empty(p), np.zeros(p), np.empty(p), np.empty(p),
    )  # fmt: skip
    for i in range(len(masks)):
        mask = masks[i]
        parent, shared = np.int64(-1), False
        for j in range(d):
            bit = one << np.uint64(j)
            if mask & bit:
                continue
            place = np.int64(table[mask | bit]) if len(table) > 0 else _find(parents, mask | bit)
            if place >= 0:
                parent = place
                if not parent_support[place] & bit:
                    shared = True
                    break
        if shared:
            values[i], gaps[i] = parent_values[parent], parent_gaps[parent]
            support[i] = parent_support[parent]
            for k in range(p):
                signs[i, k] = parent_signs[parent, k]
            continue
        for k in range(p):
            unit = column_unit[k]
            usable[k] = always[k] or (unit >= 0 and mask & (one << np.uint64(unit)) != 0)
            signs[i, k] = parent_signs[parent, k] if parent >= 0 and usable[k] else 0
        values[i], gaps[i] = _walk(gram, xty, radius, ridge, usable, signs[i], work)
        support[i] = 0
        for k in range(p):
            if signs[i, k] != 0 and column_unit[k] >= 0:
                support[i] |= one << np.uint64(column_unit[k])


@_compile
def _find(sorted_masks, mask):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    low, high = 0, len(sorted_masks)
    while low < high:
        middle = (low + high) // 2
        if sorted_masks[middle] < mask:
            low = middle + 1
        else:
            high = middle
    return low if low < len(sorted_masks) and sorted_masks[low] == mask else -1


@_compile
def _walk(gram, xty, radius, ridge, usable, sign, work):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Active-set walk of one model; leaves its signs in `sign` and returns its value and gap."""
    active, factor, target, price, point, residual, scratch = work
    p = len(xty)
    tiny = 0.0
    for k in range(p):
        point[k] = 0.0
        tiny = max(tiny, abs(xty[k]))
    tiny = 1e-13 * tiny + 1e-300
    for _ in range(50 + 10 * p):
        count = 0
        for k in range(p):
            if sign[k] != 0:
                active[count] = k
                count += 1
        if not _face(gram, xty, radius, ridge, sign, active, count, factor, target, price, scratch):
            break
        reach = 1.0
        for a in range(count):
            k = active[a]
            if target[a] * sign[k] < 0.0:
                reach = min(reach, point[k] / (point[k] - target[a]))
        norm = 0.0
        for a in range(count):
            k = active[a]
            if target[a] * sign[k] < 0.0 and point[k] / (point[k] - target[a]) <= reach:
                point[k] = 0.0
                sign[k] = 0
            else:
                point[k] += reach * (target[a] - point[k])
                norm += abs(point[k])
        if reach < 1.0:
            continue
        value, gap, best, level = _grade(gram, xty, radius, usable, sign, point, residual, active, count)
        threshold = level * (1.0 + 1e-10) if norm >= radius * (1.0 - 1e-12) else 0.0
        if best < 0 or abs(residual[best]) <= threshold + tiny:
            return value, gap
        sign[best] = 1 if residual[best] > 0.0 else -1
    return 0.0, np.inf


@_compile
def _face(  # type: ignore[no-untyped-def]
    gram, xty, radius, ridge, sign, active, count, factor, target, price, inverse
):  # fmt: skip # pragma: no cover - compiled
    """Optimum over sign'b <= radius on the active columns, left in `target`; False when the system is not regular."""
    for a in range(count):
        k = active[a]
        for b in range(a):
            total = gram[k, active[b]]
            for c in range(b):
                total -= factor[a, c] * factor[b, c]
            factor[a, b] = total * inverse[b]
        total, u, v = gram[k, k] + ridge, xty[k], float(sign[k])
        for c in range(a):
            total -= factor[a, c] * factor[a, c]
            u -= factor[a, c] * target[c]
            v -= factor[a, c] * price[c]
        if not total > 0.0:
            return False
        inverse[a] = 1.0 / np.sqrt(total)
        target[a], price[a] = u * inverse[a], v * inverse[a]
    norm, slope = 0.0, 0.0
    for a in range(count - 1, -1, -1):
        target[a] *= inverse[a]
        price[a] *= inverse[a]
        for c in range(a):
            target[c] -= factor[a, c] * target[a]
            price[c] -= factor[a, c] * price[a]
        norm += sign[active[a]] * target[a]
        slope += sign[active[a]] * price[a]
    if norm > radius and slope > 0.0:
        multiplier, total, same_orthant = (norm - radius) / slope, 0.0, True
        for a in range(count):
            target[a] -= multiplier * price[a]
            total += abs(target[a])
            same_orthant = same_orthant and target[a] * sign[active[a]] >= 0.0
        if same_orthant and total > radius:
            for a in range(count):
                target[a] *= radius / total
    return True


@_compile
def _grade(gram, xty, radius, usable, sign, point, residual, active, count):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Value and Frank-Wolfe gap at the point; the column outside that could help most; the level of those inside."""
    p = len(xty)
    for j in range(p):
        residual[j] = xty[j]
    for a in range(count):
        k = active[a]
        for j in range(p):
            residual[j] -= gram[k, j] * point[k]
    value, inner, largest, best, outside, level = 0.0, 0.0, 0.0, -1, 0.0, 0.0
    for j in range(p):
        if usable[j]:
            size = abs(residual[j])
            largest = max(largest, size)
            if sign[j] != 0:
                level = max(level, residual[j] * sign[j])
            elif size > outside:
                outside, best = size, j
            inner += point[j] * residual[j]
            value -= point[j] * (residual[j] + xty[j])
    return value, max(2.0 * (radius * largest - inner), 0.0), best, level
