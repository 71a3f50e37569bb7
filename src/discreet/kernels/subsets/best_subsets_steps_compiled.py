"""Good models of each size by stepwise regression: add the best unit, drop the worst, exchange two.

The search of `best_subsets_compiled` starts from them. The moments are swept: rows and columns of the model hold minus
its inverse, its coefficients stand beside them, and the residual moments of the other columns are in the other corner,
so that any step, an exchange too, is judged by a few products.
"""

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.typing import Floats, Masks

Places = npt.NDArray[np.int64]

DEPENDENT = 1e-10
"""A column of which the others leave less than this share is not swept in."""

BETTER = 1e-9
"""Share of what is left unexplained by which an exchange must be better: less may be rounding."""

EXCHANGES = 20
"""The most exchanges at one size."""

_compile = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)


def stepwise(gram: Floats, xty: Floats, starts: Places, max_size: int) -> tuple[Masks, Masks]:
    """Return a model of each size on the way from no unit to all, and one on the way back, as masks; deterministic.

    Cost: O(d^2) products for all exchanges at a size, O(q^2) for each column that enters or leaves. Source: Efroymson
    1960, Multiple regression analysis; Miller 2002, Subset Selection in Regression, chapter 3; Goodnight 1979, A
    tutorial on the sweep operator. Shapes: gram (q, q), xty (q,), starts (d + 1,); returns (max_size, 2) twice.
    """
    down, up = (np.zeros((max_size, 2), np.uint64) for _ in range(2))
    _climb(*_start(gram, xty, starts), max_size, False, down)
    _climb(*_start(gram, xty, starts), max_size, True, up)
    return up, down


def upward(gram: Floats, xty: Floats, starts: Places, max_size: int) -> Masks:
    """Return the models on the way from no unit, as masks: up to a small size, a fraction of the time of both ways.

    Shapes: gram (q, q), xty (q,), starts (d + 1,); returns (max_size, 2).
    """
    masks = np.zeros((max_size, 2), np.uint64)
    _climb(*_start(gram, xty, starts), max_size, True, masks)
    return masks


def _start(gram: Floats, xty: Floats, starts: Places) -> tuple[Any, Places, Any]:
    """Return the state without any unit, and room for small matrices."""
    d, q, width = len(starts) - 1, len(xty), int(np.diff(starts).max())
    table = np.block([[gram, xty[:, None]], [xty[None, :], np.ones((1, 1))]])
    squares = tuple(np.empty((width, width)) for _ in range(3))
    return (table, np.zeros(q, np.bool_), np.zeros(d, np.bool_)), starts, (*squares, np.empty((3, width)))


@_compile
def _climb(state, starts, space, max_size, upward, models):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Add units one by one, or drop them from all; exchange at each size while that helps."""
    inside = state[2]
    d = len(inside)
    if not upward:
        for u in range(d):
            _move(state, starts, u, True)
    for step in range(d):
        size = step + 1 if upward else d - step
        if upward and size > max_size:
            break
        if upward:
            _move(state, starts, _best_to_add(state, starts, space), True)
        elif step > 0:
            _move(state, starts, _best_to_drop(state, starts, space), False)
        if size <= max_size:
            for _ in range(EXCHANGES):
                if not _exchange(state, starts, space):
                    break
            for u in range(d):
                if inside[u]:
                    models[size - 1, u >> 6] |= np.uint64(1) << np.uint64(u & 63)


@_compile
def _best_to_add(state, starts, space):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    best, most = -1, -1.0
    for u in range(len(state[2])):
        if not state[2][u]:
            gain = _gain(state, starts, u, -1, space)
            if gain > most:
                best, most = u, gain
    return best


@_compile
def _best_to_drop(state, starts, space):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    best, least = -1, np.inf
    for u in range(len(state[2])):
        if state[2][u]:
            loss = _loss(state, starts, u, space)
            if loss < least or best < 0:
                best, least = u, loss
    return best


@_compile
def _exchange(state, starts, space):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Make the exchange of two units that helps most; False when none helps."""
    table, _, inside = state
    out, into, most = -1, -1, BETTER * max(table[-1, -1], 1e-12)
    for u in range(len(inside)):
        if not inside[u]:
            continue
        loss = _loss(state, starts, u, space)
        c = starts[u]
        is_one = starts[u + 1] == c + 1 and state[1][c]
        factor, side = space[0][0, 0], space[3][0, 0]
        for v in range(len(inside)):
            if not inside[v]:
                if is_one and starts[v + 1] == starts[v] + 1:
                    gain = _gain_of_one(table, starts[v], c, factor, side)
                else:
                    gain = _gain(state, starts, v, u, space)
                better = gain - loss
                if better > most:
                    out, into, most = u, v, better
    if out < 0:
        return False
    _move(state, starts, out, False)
    _move(state, starts, into, True)
    return True


@_compile
def _move(state, starts, u, enters):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Sweep a unit's columns in, as far as they are independent, or out."""
    # The sweep operator: T_ij -= T_ic T_cj / T_cc, T_ic = +-T_ic / T_cc, T_cc = -1 / T_cc; the sign is that of the way.
    table, swept, inside = state
    for c in range(starts[u], starts[u + 1]):
        if (enters and not table[c, c] > DEPENDENT) or (not enters and not swept[c]):
            continue
        pivot, turn = table[c, c], 1.0 if enters else -1.0
        for i in range(len(table)):
            if i != c and table[i, c] != 0.0:
                share = table[i, c] / pivot
                for j in range(len(table)):
                    if j != c:
                        table[i, j] -= share * table[c, j]
        for i in range(len(table)):
            if i != c:
                table[i, c] = table[c, i] = turn * table[c, i] / pivot
        table[c, c] = -1.0 / pivot
        swept[c] = enters
    inside[u] = enters


@_compile
def _loss(state, starts, u, space):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the rise of the residual without a unit; leaves its factor and its half solved coefficients."""
    table, swept, _ = state
    factor, side = space[0], space[3][0]
    n = 0
    for c in range(starts[u], starts[u + 1]):
        if swept[c]:
            m = 0
            for e in range(starts[u], c + 1):
                if swept[e]:
                    factor[n, m] = -table[c, e]
                    m += 1
            side[n] = table[c, -1]
            n += 1
    return _length(factor, side, n)


@_compile
def _gain(state, starts, v, u, space):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the fall of the residual with unit v, after unit u has left (see `_loss`), or -1 for none."""
    table, swept, _ = state
    factor, across, left, sides = space
    base = starts[v]
    h = starts[v + 1] - base
    n = 0
    # Swept out, T_uu = -A: v's residual moments become T_vv + E'A^-1 E, E = T_uv, and its side T_vy + E'A^-1 b.
    if u >= 0:
        for c in range(starts[u], starts[u + 1]):
            if swept[c]:  # across = factor^-1 E
                for x in range(h):
                    t = table[c, base + x]
                    for w in range(n):
                        t -= factor[n, w] * across[w, x]
                    across[n, x] = t / factor[n, n] if factor[n, n] > 0.0 else 0.0
                n += 1
    for x in range(h):
        r = table[base + x, -1]
        for w in range(n):
            r += across[w, x] * sides[0, w]
        sides[1, x] = r
        for y in range(x + 1):
            s = table[base + x, base + y]
            for w in range(n):
                s += across[w, x] * across[w, y]
            left[x, y] = s
    return _length(left, sides[1], h)


@_compile
def _gain_of_one(table, v, c, factor, side):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return what `_gain` does, to the last bit, where one column c has left and one column v enters."""
    across = table[c, v] / factor if factor > 0.0 else 0.0
    square = table[v, v] + across * across
    part = (table[v, -1] + across * side) / np.sqrt(square) if square > DEPENDENT else 0.0
    return part * part


@_compile
def _length(matrix, side, n):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return side'M^-1 side for a matrix M; leaves the factor and the half solved vector."""
    total = 0.0
    for i in range(n):
        for k in range(i + 1):
            t = matrix[i, k]
            for w in range(k):
                t -= matrix[i, w] * matrix[k, w]
            if i == k:
                matrix[i, i] = np.sqrt(t) if t > DEPENDENT else 0.0
            else:
                matrix[i, k] = t / matrix[k, k] if matrix[k, k] > 0.0 else 0.0
        t = side[i]
        for w in range(i):
            t -= matrix[i, w] * side[w]
        side[i] = t / matrix[i, i] if matrix[i, i] > 0.0 else 0.0
        total += side[i] * side[i]
    return total
