"""The tree of `best_subsets`, compiled once and kept on disk.

A node is a model S, of which some units are fixed and the rest may still be dropped. It holds the inverse of the Gram
matrix of the free columns given the fixed ones, so that the residual sum of squares without a unit costs a division,
and that without two of them a row of the inverse. Dropping only raises it: what S leaves unexplained bounds all below.
"""

import math
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.kernels.best_subsets_steps_compiled import stepwise
from discreet.kernels.small_matrices_compiled import factor_small, solve_factor, squared_length

Floats = npt.NDArray[np.float64]
Masks = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]

DEPENDENT = 1e-12
"""A column of which the others leave less than this share of its square adds nothing to them; as in `best_subsets`."""

TIE = 1e-10
"""A model is looked for when it is better than another by more than this share of its residual sum of squares."""

ROUNDING = 1e-14
"""Residual sums of squares are not told apart below this share of the total."""

LOST = 1e-9
"""Share of a diagonal entry of the inverse that rounding may change before the inverse is computed anew."""

WORTH = 1024.0
"""It is left as it is when a new one would not be so many times more exact."""
EPSILON = 2.0**-52

PART = 2e9
"""Work between two looks for an interrupt: about a second."""

WORDS = 2
"""Words of 64 bits that a model is: bit j of them is set when unit j is in it."""

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")


def search(
    gram: Floats, xty: Floats, starts: Places, max_size: int, n_best: int, ridge: float, most_work: float = np.inf
) -> tuple[Floats, Masks, Floats, int]:
    """Return the best models of each size, what no model of a size can be below, and how many nodes were visited.

    Parameters
    ----------
    gram : ndarray of float, shape (q, q)
        Correlations of the columns, ordered by unit.
    xty : ndarray of float, shape (q,)
        Correlations with the target.
    starts : ndarray of int64, shape (d + 1,)
        Columns of unit j are starts[j] to starts[j + 1], at least one; 1 <= d <= 128.
    max_size : int
        Units in the largest model, from 1 to d.
    n_best : int
        Models kept for each size.
    ridge : float
        Added to the diagonal where bounds are computed, so that the inverse exists.
    most_work : float
        Multiplications after which the search ends, whatever is left.

    Returns
    -------
    unexplained : ndarray of float, shape (max_size + 1, n_best)
        Share of the total, best first; infinite where there are not so many models.
    masks : ndarray of uint64, shape (max_size + 1, n_best, 2)
        Bit j set: unit j is in the model.
    least : ndarray of float, shape (max_size + 1,)
        No model that is not listed leaves less; infinite where the search was finished and all models are listed.
    visited : int
        Nodes.
    """
    d, q = len(starts) - 1, len(xty)
    problem = (np.ascontiguousarray(gram), np.ascontiguousarray(xty), starts, float(ridge))
    last = np.append(0, last_places(d, max_size, n_best))
    limit = np.append(np.full(max_size + 1, np.inf), -np.inf)
    masks = np.zeros((max_size + 1, n_best, WORDS), np.uint64)
    best = (np.full((max_size + 1, n_best), np.inf), masks, last, limit)
    # One layer a depth of the tree.
    layers = (
        np.zeros((d + 1, d), np.int64),  # units that may be dropped
        np.zeros((d + 1, d), np.int64),  # the place of their first column in the inverse
        np.zeros((d + 1, d)),  # what dropping one adds
        np.zeros((d + 1, q, q)),  # inverse
        np.zeros((d + 1, q)),  # coefficients
        np.zeros((d + 1, q)),  # diagonal of the inverse when it was last computed anew
        np.zeros((d + 1, 4), np.int64),  # number of units, number of fixed ones, next child, last child
        np.zeros(d + 1),  # what is left unexplained
        np.zeros((d + 1, WORDS), np.uint64),  # the model
    )
    is_complete = np.array([n_best >= math.comb(d, size) for size in range(max_size + 1)])
    width = int(np.diff(starts).max())
    work = (
        np.zeros((q, q)), np.zeros((q, q)), np.zeros(q), np.zeros(q, np.int64), np.zeros(q), np.zeros(WORDS, np.uint64),
    )  # fmt: skip
    small = (np.zeros((width, width)), np.zeros((q, width)), np.zeros(width), np.zeros((width, width)), np.zeros(width))
    for models in stepwise(problem[0], problem[1], starts, max_size):
        for model in models:
            _offer(problem, best, int(np.bitwise_count(model).sum()), model, work)
    _enter(problem, best, layers, work, small)
    depth, visited, done = 0, 0, 0.0
    while depth >= 0 and done < most_work:  # in parts, so that an interrupt is heard
        depth, more, part = _walk(problem, best, layers, work, small, depth, min(PART, most_work - done))
        visited, done = visited + more, done + part
    return best[0], masks, _least(best, is_complete, layers, depth), visited


def last_places(d: int, max_size: int, n_best: int) -> Places:
    """Return the last place to fill of each size from 1 on.

    Parameters
    ----------
    d, max_size, n_best : int
        Units, the largest size, models wanted of each.

    Returns
    -------
    ndarray of int64, shape (max_size,)
        Of some sizes there are fewer models than wanted.
    """
    return np.array([min(n_best, math.comb(d, size)) - 1 for size in range(1, max_size + 1)], dtype=np.int64)


def _least(
    best: tuple[Floats, Masks, Places, Floats], is_complete: Any, layers: tuple[npt.NDArray[Any], ...], depth: int
) -> Floats:
    """What no model of a size that was not offered can be below: the least bound of the subtrees not yet visited."""
    values, _, last, _ = best
    rises, facts, rss = layers[2], layers[6], layers[7]
    least = values[np.arange(len(values)), last].copy()
    least[is_complete] = np.inf
    needed = values[np.arange(len(values)), last] * (1.0 - TIE) - ROUNDING
    for t in range(depth + 1):
        n, k, a, lowest = facts[t]
        for child in range(lowest, min(a, n - 2) + 1):
            below = np.arange(max(1, k + child), min(k + n - 1, len(least)))  # the child itself was offered
            bound = rss[t] + rises[t, child]
            below = below[bound < needed[below]]  # else its models are no better, but for ties
            least[below] = np.minimum(least[below], bound)
    return least


@_compile
def _enter(problem, best, layers, work, small):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Lay out the root: the model of all units."""
    units, places, rises, inverses, coefs, firsts, facts, rss, models = layers
    d = units.shape[1]
    for u in range(d):
        units[0, u] = u
        models[0, u >> 6] |= np.uint64(1) << np.uint64(u & 63)
    if d < len(best[0]):
        _offer(problem, best, d, models[0], work)
    rss[0] = _refresh(
        problem, models[0], units[0], d, places[0], inverses[0], coefs[0], firsts[0], rises[0], work, small
    )
    _offer_without(problem, best, d - 1, models[0], rss[0], units[0], rises[0], d, work)
    _sort(rises[0], units[0], places[0], d)
    facts[0, 0], facts[0, 2] = d, d - 1


@_compile
def _walk(problem, best, layers, work, small, t, budget):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Visit nodes depth first, the unit of least effect dropped first; return depth, -1 at the end, nodes and work."""
    starts = problem[2]
    units, places, rises, inverses, coefs, firsts, facts, rss, models = layers
    visited, done = 0, 0.0
    while t >= 0 and done < budget:  # each turn adds work or removes a child for good
        n, k, a, lowest = facts[t, 0], facts[t, 1], facts[t, 2], facts[t, 3]
        done += 1.0
        if a < lowest:
            t -= 1
            continue
        facts[t, 2] -= 1
        size, bound = k + n - 1, rss[t] + rises[t, a]
        if a == n - 1 or not _open(best, k + a, size - 1, bound):
            continue
        visited += 1
        # The child: without unit a, the units before it fixed.
        s, left, u = t + 1, n - a - 1, units[t, a]
        unit, place, rise, coef, first = units[s], places[s], rises[s], coefs[s], firsts[s]
        for j in range(left):
            unit[j], place[j] = units[t, a + 1 + j], places[t, a + 1 + j]
        for w in range(models.shape[1]):
            models[s, w] = models[t, w]
        models[s, u >> 6] &= ~(np.uint64(1) << np.uint64(u & 63))
        rss[s] = bound
        width = starts[u + 1] - starts[u]
        parent = (starts, inverses[t], coefs[t], firsts[t], places[t, a], width)
        kept = _drop(parent, unit, place, left, coef, rise, small)
        done += 1.0 * left * width
        if not kept:
            done += 1.0 * len(coef) ** 3
            rss[s] = _refresh(problem, models[s], unit, left, place, inverses[s], coef, first, rise, work, small)
        offered = _offer_without(problem, best, size - 1, models[s], rss[s], unit, rise, left, work)
        done += left * left + offered * float(size) ** 3
        _sort(rise, unit, place, left)
        low = 0
        while low < left - 1 and not _open(best, k + a + low, size - 2, rss[s] + rise[low]):
            low += 1
        if low >= left - 1:
            continue
        facts[s, 0], facts[s, 1], facts[s, 2], facts[s, 3] = left, k + a, left - 2, low
        if kept:
            done += 1.0 * (left - low) ** 2 * width
            _invert_rest(parent, unit, place, low, left, inverses[s], coef, first, work, small)
        t = s
    return t, visited, done


@_compile
def _drop(parent, unit, place, left, new_coef, rise, small):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Coefficients and rises of the units left when one is dropped; False when too many digits are lost."""
    starts, inverse, coef, first, origin, width = parent
    block, side, shift, inner, inner_side = small
    for x in range(width):
        for y in range(x + 1):
            block[x, y] = inverse[origin + x, origin + y]
    factor_small(block, width, block)
    solve_factor(block, width, coef, origin, shift)
    kept = True
    for j in range(left):
        p, h = place[j], starts[unit[j] + 1] - starts[unit[j]]
        if width == 1 and h == 1:  # the same as below, without its loops
            v = inverse[p, origin] / block[0, 0]
            side[p, 0] = v
            new_coef[p] = coef[p] - v * shift[0]
            v = inverse[p, p] - v * v
            rise[j] = new_coef[p] * new_coef[p] / max(v, 1e-300)
            if _lost(v, first[p]):
                kept = False
            continue
        for x in range(h):
            i = p + x
            change = coef[i]
            for y in range(width):
                v = inverse[i, origin + y]
                for z in range(y):
                    v -= block[y, z] * side[i, z]
                side[i, y] = v / block[y, y]
                change -= side[i, y] * shift[y]
            new_coef[i] = change
            for y in range(x + 1):
                v = inverse[i, p + y]
                for z in range(width):
                    v -= side[i, z] * side[p + y, z]
                inner[x, y] = v
            if _lost(inner[x, x], first[i]):
                kept = False
        rise[j] = squared_length(inner, h, new_coef, p, inner_side)
    return kept


@_compile
def _lost(now, first):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Whether a diagonal entry of the inverse is worth computing anew."""
    noise = EPSILON * first * first
    return not now > 0.0 or (noise > LOST * now and noise > WORTH * EPSILON * now * now)


@_compile
def _invert_rest(  # type: ignore[no-untyped-def]
    parent, unit, place, low, left, new, coef, new_first, work, small
):  # fmt: skip # pragma: no cover - compiled
    """The inverse that goes with `_drop`, for the units from `low` on; their places become those in it."""
    starts, inverse, _, first, _, width = parent
    side, source, moved = small[1], work[3], work[4]
    m = 0
    for j in range(low, left):
        p = place[j]
        place[j] = m
        for x in range(starts[unit[j] + 1] - starts[unit[j]]):
            source[m] = p + x
            m += 1
    for x in range(m):
        i = source[x]
        moved[x], new_first[x] = coef[i], first[i]
        if width == 1:
            v = side[i, 0]
            for y in range(m):
                new[x, y] = inverse[i, source[y]] - v * side[source[y], 0]
        else:
            for y in range(m):
                w = inverse[i, source[y]]
                for z in range(width):
                    w -= side[i, z] * side[source[y], z]
                new[x, y] = w
    for x in range(m):
        coef[x] = moved[x]


@_compile
def _needed(value):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """What a model must be below to be looked for in the place of another."""
    return value * (1.0 - TIE) - ROUNDING


@_compile
def _open(best, least, most, bound):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Whether models of these sizes, none better than the bound, are still looked for."""
    values, _, last, limit = best
    low, high = max(1, least), min(most, len(values) - 1)
    if low > high or not bound < _needed(limit[low]):
        return False
    for m in range(low, high + 1):  # noqa: SIM110 - compiled
        if bound < _needed(values[m, last[m]]):
            return True
    return False


@_compile
def _sort(rise, unit, place, n):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Order units by what dropping them adds, most first."""
    for i in range(1, n):
        r, u, p = rise[i], unit[i], place[i]
        j = i
        while j > 0 and rise[j - 1] < r:
            rise[j], unit[j], place[j] = rise[j - 1], unit[j - 1], place[j - 1]
            j -= 1
        rise[j], unit[j], place[j] = r, u, p


@_compile
def _refresh(  # type: ignore[no-untyped-def]
    problem, model, unit, n, place, inverse, coef, first, rise, work, small
):  # fmt: skip # pragma: no cover - compiled
    """Compute a node from the correlations; return what its model leaves unexplained."""
    gram, xty, starts, ridge = problem
    inner, inner_side = small[3], small[4]
    factor, lower, z, order = work[0], work[1], work[2], work[3]
    fixed = work[5]
    for w in range(len(fixed)):
        fixed[w] = model[w]
    for j in range(n):
        fixed[unit[j] >> 6] &= ~(np.uint64(1) << np.uint64(unit[j] & 63))
    m = 0
    for u in range(len(starts) - 1):
        if fixed[u >> 6] & (np.uint64(1) << np.uint64(u & 63)):
            for x in range(starts[u], starts[u + 1]):
                order[m] = x
                m += 1
    k = m
    for j in range(n):
        place[j] = m - k
        for x in range(starts[unit[j]], starts[unit[j] + 1]):
            order[m] = x
            m += 1
    rss = 1.0
    for x in range(m):
        for y in range(x):
            v = gram[order[x], order[y]]
            for w in range(y):
                v -= factor[x, w] * factor[y, w]
            factor[x, y] = v / factor[y, y]
        v, r = gram[order[x], order[x]] + ridge, xty[order[x]]
        for w in range(x):
            v -= factor[x, w] * factor[x, w]
            r -= factor[x, w] * z[w]
        factor[x, x] = np.sqrt(max(v, 1e-15))
        z[x] = r / factor[x, x]
        rss -= z[x] * z[x]
    f = m - k
    for y in range(f):
        for x in range(y, f):
            v = 1.0 if x == y else 0.0
            for w in range(y, x):
                v -= factor[k + x, k + w] * lower[w, y]
            lower[x, y] = v / factor[k + x, k + x]
    for x in range(f):
        total = 0.0
        for w in range(x, f):
            total += lower[w, x] * z[k + w]
        coef[x] = total
        for y in range(x + 1):
            total = 0.0
            for w in range(x, f):
                total += lower[w, x] * lower[w, y]
            inverse[x, y], inverse[y, x] = total, total
        first[x] = inverse[x, x]
    for j in range(n):
        p, h = place[j], starts[unit[j] + 1] - starts[unit[j]]
        for x in range(h):
            for y in range(x + 1):
                inner[x, y] = inverse[p + x, p + y]
        rise[j] = squared_length(inner, h, coef, p, inner_side)
    return max(rss, 0.0)


@_compile
def _offer_without(  # type: ignore[no-untyped-def]
    problem, best, size, model, rss, unit, rise, n, work
):  # fmt: skip # pragma: no cover - compiled
    """Offer the model without each of its free units in turn, where that may be better; return how many were."""
    values, last = best[0], best[2]
    if size < 1 or size >= len(values):
        return 0
    without, offered = work[5], 0
    for j in range(n):
        if rss + rise[j] < _needed(values[size, last[size]]):
            for w in range(len(without)):
                without[w] = model[w]
            without[unit[j] >> 6] &= ~(np.uint64(1) << np.uint64(unit[j] & 63))
            _offer(problem, best, size, without, work)
            offered += 1
    return offered


@_compile
def _offer(problem, best, size, model, work):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Compute what a model leaves unexplained, and keep it when it is among the best of its size."""
    values, masks, last, limit = best
    value = _unexplained(problem, model, work)
    if not value < _needed(values[size, last[size]]):
        return
    if _is_listed(masks[size], values[size], value, model):
        return
    i = last[size]
    while i > 0 and values[size, i - 1] > value:
        values[size, i] = values[size, i - 1]
        for w in range(len(model)):
            masks[size, i, w] = masks[size, i - 1, w]
        i -= 1
    values[size, i] = value
    for w in range(len(model)):
        masks[size, i, w] = model[w]
    for m in range(len(values) - 1, 0, -1):
        limit[m] = max(limit[m + 1], values[m, last[m]])


@_compile
def _is_listed(masks, values, value, model):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Whether a model was offered before: by the steps that the search starts from."""
    for i in range(len(values)):
        if values[i] == value:  # the same sums in the same order
            same = True
            for w in range(len(model)):
                same = same and masks[i, w] == model[w]
            if same:
                return True
    return False


@_compile
def _unexplained(problem, model, work):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Residual sum of squares by Cholesky with pivots; dependent columns add nothing."""
    gram, xty, starts, _ = problem
    factor, _, z, order, rest, _ = work
    m = 0
    for u in range(len(starts) - 1):
        if model[u >> 6] & (np.uint64(1) << np.uint64(u & 63)):
            for x in range(starts[u], starts[u + 1]):
                order[m], rest[m] = x, gram[x, x]
                m += 1
    rss = 1.0
    for x in range(m):
        pivot = x
        for y in range(x + 1, m):
            if rest[y] > rest[pivot]:
                pivot = y
        if not rest[pivot] > DEPENDENT:
            break
        order[x], order[pivot] = order[pivot], order[x]
        rest[x], rest[pivot] = rest[pivot], rest[x]
        for w in range(x):
            factor[x, w], factor[pivot, w] = factor[pivot, w], factor[x, w]
        root, r = np.sqrt(rest[x]), xty[order[x]]
        for w in range(x):
            r -= factor[x, w] * z[w]
        z[x] = r / root
        rss -= z[x] * z[x]
        for y in range(x + 1, m):
            v = gram[order[y], order[x]]
            for w in range(x):
                v -= factor[y, w] * factor[x, w]
            factor[y, x] = v / root
            rest[y] -= factor[y, x] * factor[y, x]
    return max(rss, 0.0)
