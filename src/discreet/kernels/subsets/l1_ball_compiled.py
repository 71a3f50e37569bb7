"""The active-set walk of `l1_ball` for one small model, compiled once and kept on disk.

What it cannot certify goes back to the array code, which has a method that always ends. The compiler's cache does
not notice when a file that another one calls has changed: remove `__pycache__` after editing this one.
"""

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

# Without reference counts, which cost more than the arithmetic here; so compiled code allocates nothing.
_compile = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)


def walk_space(p: int) -> tuple[npt.NDArray[Any], ...]:
    """Return the arrays that `walk` takes after the columns it may use: signs first, point and residual last."""
    return (
        np.zeros(p), np.empty(p, np.int64), np.empty((p, p)), np.empty(p), np.empty((2, p)), np.empty(p), np.empty(p),
        np.zeros(p), np.empty(p),
    )  # fmt: skip


@_compile
def walk(  # type: ignore[no-untyped-def]
    gram, xty, radius, ridge, usable, sign, active, factor, inverse, halves, target, step, point, residual
):  # fmt: skip # pragma: no cover - compiled
    """Walk to one model's optimum; leave signs, point and residual products, and return what `grade` does.

    The gap is infinite where the walk does not end. Shapes: usable (p,), sign (p,).
    """
    p = len(xty)
    tiny, count, ready = 0.0, 0, 0
    for k in range(p):
        point[k] = 0.0
        tiny = max(tiny, abs(xty[k]))
        if sign[k] != 0.0:
            active[count] = k
            count += 1
    tiny = 1e-13 * tiny + 1e-300
    for _ in range(50 + 10 * p):
        if not _extend(gram, xty, ridge, sign, active, factor, inverse, halves, step, ready, count):
            break
        ready = count
        _face(radius, sign, active, factor, inverse, halves, target, step, count)
        # As far towards the face's optimum as no coefficient changes its sign: b_k (1 - t) + t target_k = 0 at t = b_k
        # / (b_k - target_k).
        reach = 1.0
        for a in range(count):
            k = active[a]
            if target[a] * sign[k] < 0.0:
                reach = min(reach, point[k] / (point[k] - target[a]))
        norm, n_kept = 0.0, 0
        for a in range(count):
            k = active[a]
            if target[a] * sign[k] < 0.0 and point[k] / (point[k] - target[a]) <= reach:
                point[k], sign[k] = 0.0, 0.0
                # Rows of the Cholesky factor before the first column that leaves stay valid.
                ready = min(ready, n_kept)
            else:
                point[k] += reach * (target[a] - point[k])
                norm += abs(point[k])
                active[n_kept] = k
                n_kept += 1
        count = n_kept
        # Not yet at an optimum of a face: go on without looking at columns outside.
        if reach < 1.0:
            continue
        value, gap, largest = grade(gram, xty, radius, usable, active, count, point, residual)
        best = _entering(radius, usable, sign, residual, norm, tiny)
        if best < 0:
            return value, gap, largest
        sign[best] = 1.0 if residual[best] > 0.0 else -1.0
        active[count] = best
        count += 1
    return 0.0, np.inf, 0.0


@_compile
def _extend(gram, xty, ridge, sign, active, factor, inverse, halves, column, ready, count):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Add columns `ready` to `count` to the Cholesky factor and to the half solved sides; False if not regular."""
    for a in range(ready, count):
        k = active[a]
        total, u, v, products = gram[k, k] + ridge, xty[k], sign[k], gram[k]
        for b in range(a):
            column[b] = products[active[b]]
        for b in range(a):
            # The factor is kept by columns, L' in rows: factor[b, a] = L[a, b]; `halves` are L^-1 c and L^-1 s.
            entry, row = column[b] * inverse[b], factor[b]
            row[a] = entry
            for c in range(b + 1, a):
                column[c] -= entry * row[c]
            total -= entry * entry
            u -= entry * halves[0, b]
            v -= entry * halves[1, b]
        if not total > 0.0:
            return False
        inverse[a] = 1.0 / np.sqrt(total)
        halves[0, a], halves[1, a] = u * inverse[a], v * inverse[a]
    return True


@_compile
def _face(radius, sign, active, factor, inverse, halves, target, step, count):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Leave in `target` the optimum over sign'b <= radius on the active columns."""
    for a in range(count):
        target[a], step[a] = halves[0, a], halves[1, a]
    norm, slope = 0.0, 0.0
    # Back substitution for G^-1 c and G^-1 s together.
    for a in range(count - 1, -1, -1):
        target[a] *= inverse[a]
        step[a] *= inverse[a]
        for c in range(a):
            target[c] -= factor[c, a] * target[a]
            step[c] -= factor[c, a] * step[a]
        norm += sign[active[a]] * target[a]
        slope += sign[active[a]] * step[a]
    if norm > radius and slope > 0.0:
        # Lagrange: b = G^-1 c - lambda G^-1 s with s'b = R.
        multiplier, total, same_orthant = (norm - radius) / slope, 0.0, True
        for a in range(count):
            target[a] -= multiplier * step[a]
            total += abs(target[a])
            same_orthant = same_orthant and target[a] * sign[active[a]] >= 0.0
        # Rounding may put the point a hair outside the ball; within one orthant its norm is linear, and can be cut.
        if same_orthant and total > radius:
            for a in range(count):
                target[a] *= radius / total


@_compile
def grade(gram, xty, radius, usable, active, count, point, residual):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return b'Gb - 2c'b at a point, its Frank-Wolfe gap, and the largest |x_j'(y - Xb)| of the model's columns."""
    p, a = len(xty), 0
    for j in range(p):
        residual[j] = xty[j]
    # Four columns at a time: each pass reads and writes the residuals once for four.
    while a + 4 <= count:
        k0, k1, k2, k3 = active[a], active[a + 1], active[a + 2], active[a + 3]
        b0, b1, b2, b3 = point[k0], point[k1], point[k2], point[k3]
        row0, row1, row2, row3 = gram[k0], gram[k1], gram[k2], gram[k3]
        for j in range(p):
            residual[j] = residual[j] - row0[j] * b0 - row1[j] * b1 - row2[j] * b2 - row3[j] * b3
        a += 4
    while a < count:
        row0, b0 = gram[active[a]], point[active[a]]
        for j in range(p):
            residual[j] -= row0[j] * b0
        a += 1
    # With r = c - G b: b'Gb - 2c'b = -b'(r + c), and no point of the ball is lower by more than 2 (R max |r_j| - b'r),
    # the Frank-Wolfe gap.
    value, inner, largest = 0.0, 0.0, 0.0
    for a in range(count):
        k = active[a]
        inner += point[k] * residual[k]
        value -= point[k] * (residual[k] + xty[k])
    for j in range(p):
        size = abs(residual[j]) if usable[j] else 0.0
        largest = size if size > largest else largest
    return value, max(2.0 * (radius * largest - inner), 0.0), largest


@_compile
def _entering(radius, usable, sign, residual, norm, tiny):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the column outside that helps most, or -1 when none helps more than those inside by rounding."""
    best, outside, level = -1, 0.0, 0.0
    for j in range(len(sign)):
        if usable[j]:
            if sign[j] != 0.0:
                level = max(level, residual[j] * sign[j])
            elif abs(residual[j]) > outside:
                outside, best = abs(residual[j]), j
    # Karush, Kuhn and Tucker: at the optimum |r_j| <= lambda outside, with r_j s_j = lambda inside, and lambda = 0
    # where the bound is slack.
    threshold = level * (1.0 + 1e-10) if norm >= radius * (1.0 - 1e-12) else 0.0
    return best if outside > threshold + tiny else -1
