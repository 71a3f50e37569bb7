"""A node of the search in `best_subsets_compiled`: its inverse and coefficients, and what dropping a unit adds.

They follow from those of the node above, or are computed anew from the correlations where rounding has eaten digits.
"""

import numba
import numpy as np

from discreet.kernels.subsets.small_matrices_compiled import factor_small, solve_factor, squared_length

LOST = 1e-9
"""Share of a diagonal entry of the inverse that rounding may change before the inverse is computed anew."""

WORTH = 1024.0
"""The inverse is computed anew only when a new one is this many times more exact."""
EPSILON = 2.0**-52

_compile = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)


@_compile
def refresh(  # type: ignore[no-untyped-def]
    problem, model, unit, n, place, inverse, coef, first, rise, work, small
):  # fmt: skip # pragma: no cover - compiled
    """Compute a node from the correlations; return the share of the total that its model leaves unexplained."""
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
    # The factor's trailing block L is that of the free columns given the fixed ones: their inverse is L^-T L^-1.
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
def drop(parent, unit, place, n_left, new_coef, rise, small):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Compute the other units' coefficients and rises when one unit is dropped; False when too many digits are lost."""
    starts, inverse, coef, first, origin, width = parent
    block, side, shift, inner, inner_side = small
    for x in range(width):
        for y in range(x + 1):
            block[x, y] = inverse[origin + x, origin + y]
    # With L L' = A_oo of the dropped unit o: A becomes A - A_.o A_oo^-1 A_o., and b becomes b - A_.o A_oo^-1 b_o;
    # `side` is A_.o L^-T, `shift` is L^-1 b_o. A unit's rise is then b_j' A_jj^-1 b_j.
    factor_small(block, width, block)
    solve_factor(block, width, coef, origin, shift)
    is_exact = True
    for j in range(n_left):
        p, h = place[j], starts[unit[j] + 1] - starts[unit[j]]
        if width == 1 and h == 1:  # the same as below, without its loops
            v = inverse[p, origin] / block[0, 0]
            side[p, 0] = v
            new_coef[p] = coef[p] - v * shift[0]
            v = inverse[p, p] - v * v  # the inverse without a row and column: A_pp - A_po^2 / A_oo
            rise[j] = new_coef[p] * new_coef[p] / max(v, 1e-300)
            if _lost(v, first[p]):
                is_exact = False
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
                is_exact = False
        rise[j] = squared_length(inner, h, new_coef, p, inner_side)
    return is_exact


@_compile
def invert_rest(  # type: ignore[no-untyped-def]
    parent, unit, place, low, n_left, new, coef, new_first, work, small
):  # fmt: skip # pragma: no cover - compiled
    """Compute the inverse that goes with `drop`, for the units from `low` on, and their places in it."""
    starts, inverse, _, first, _, width = parent
    side, source, moved = small[1], work[3], work[4]
    m = 0
    for j in range(low, n_left):
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
def _lost(now, first):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Tell whether a diagonal entry of the inverse has lost too many digits."""
    # An inverse computed anew errs by about u A_ii^2; `first` is A_ii at that time, and a new one would err by u now^2.
    noise = EPSILON * first * first
    return not now > 0.0 or (noise > LOST * now and noise > WORTH * EPSILON * now * now)
