"""The list of the best models of each size in `best_subsets_compiled`, and which models could still enter it."""

import numba
import numpy as np

DEPENDENT = 1e-12
"""A column of which the others leave less than this share of its square adds nothing to them; as in `best_subsets`."""

TIE = 1e-10
"""A model is looked for when it is better than another by more than this share of its residual sum of squares."""

ROUNDING = 1e-14
"""Residual sums of squares that differ by less than this share of the total are equal."""

_compile = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)


@_compile
def offer(problem, best, size, model, work):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Compute what a model leaves unexplained, and list it when it is among the best of its size."""
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
def offer_without(  # type: ignore[no-untyped-def]
    problem, best, size, model, rss, unit, rise, n, work
):  # fmt: skip # pragma: no cover - compiled
    """Offer the model without each of its free units in turn, where that may be better; return how many."""
    values, last = best[0], best[2]
    if size < 1 or size >= len(values):
        return 0
    without, offered = work[5], 0
    for j in range(n):
        if rss + rise[j] < _needed(values[size, last[size]]):
            for w in range(len(without)):
                without[w] = model[w]
            without[unit[j] >> 6] &= ~(np.uint64(1) << np.uint64(unit[j] & 63))
            offer(problem, best, size, without, work)
            offered += 1
    return offered


@_compile
def is_wanted(best, least, most, bound):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Tell whether a model of these sizes, no better than the bound, could enter the list."""
    values, _, last, limit = best
    low, high = max(1, least), min(most, len(values) - 1)
    if low > high or not bound < _needed(limit[low]):
        return False
    for m in range(low, high + 1):  # noqa: SIM110 - compiled
        if bound < _needed(values[m, last[m]]):
            return True
    return False


@_compile
def _needed(value):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the value that a model must be below to replace a listed one."""
    return value * (1.0 - TIE) - ROUNDING


@_compile
def _is_listed(masks, values, value, model):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Tell whether a model is in the list already, from the steps that the search starts from."""
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
    """Return a model's residual sum of squares by pivoted Cholesky; dependent columns add nothing."""
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
