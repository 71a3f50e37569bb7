"""Models side by side, one a lane of the processor's vectors: those that differ in a few units alone.

They share the columns eliminated before. The compiler's cache does not notice when a file that another one calls has
changed: remove `__pycache__` after editing this one.
"""

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from discreet.typing import Floats, Integers

LANE_UNITS = 6
"""Units decided at once: 64 models repay the start of a loop and stay in the nearest cache."""

NARROW_UNITS = 3
"""The first of them, which are decided in eight lanes."""

# Without reference counts, which cost more than the arithmetic here; so compiled code allocates nothing.
_compile = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)


class Path(NamedTuple):
    """The columns eliminated on the way to a batch, in that order."""

    rows: Floats  # multipliers of each pivot, for y and the columns still to be decided; at its own place 1 / pivot
    at: Integers  # the column of each pivot, as a row of `system`
    before: Integers  # pivots made before each unit was decided
    levels: Floats  # what is left after each included unit
    usable: npt.NDArray[np.bool_]  # columns of the model


class Lanes(NamedTuple):
    """The models of one batch side by side; the last units' columns first, then the path's from its end."""

    member: Floats  # 1 in the models that include a unit, else 0
    schur: Floats
    factor: Floats  # multipliers of the last units' columns; on the diagonal 1 / pivot, 0 in the models without it
    b: Floats  # unconstrained coefficients
    bounded: Floats  # coefficients on the face of the ball that has their signs
    weights: Floats  # forward solution for those signs
    norms: Floats
    slope: Floats
    column: Integers  # the column of each row


@_compile
def side_by_side(system, start, n_lane, path, pivots, lanes):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Decide the last units in all lanes at once: residual sums of squares in schur[-1, -1], coefficients, l1 norms."""
    schur, factor, b, norms, column = lanes.schur, lanes.factor, lanes.b, lanes.norms, lanes.column
    rows, at, q = path.rows, path.at, start[n_lane] - 1
    # The first units differ among few lanes: decide them there, and repeat.
    narrow = min(NARROW_UNITS, n_lane)
    few = 1 << narrow
    for i in range(q + 1):
        for j in range(i + 1):
            # y is first in the tree and last here, on the side that is still to be eliminated.
            entry, row = system[i + 1, j + 1] if i < q else (system[j + 1, 0] if j < q else system[0, 0]), schur[i, j]
            for lane in range(few):
                row[lane] = entry
    for t in range(n_lane):
        if t == narrow:
            for i in range(start[t] - 1, q + 1):
                for j in range(start[t] - 1, i + 1):
                    _repeat(schur[i, j], few)
        for c in range(start[t] - 1, start[t + 1] - 1):
            _eliminate_lanes(schur, factor, lanes.member[t], c, q, few if t < narrow else len(norms))
    for c in range(start[narrow] - 1):
        for j in range(c, q + 1):
            _repeat(factor[c, j], few)
    for lane in range(len(norms)):
        norms[lane] = 0.0
    for r in range(q):
        column[r] = r
    for a in range(pivots):
        column[q + pivots - 1 - a] = at[a] - 1
    for c in range(q - 1, -1, -1):
        _copy_lanes(factor[c, q], b[c])
        _substitute_lanes(factor, b, norms, c, q)
    for r in range(q, q + pivots):
        _fill(b[r], rows[q + pivots - 1 - r, 0])
        _substitute(rows, q + pivots - 1 - r, b, norms, r, column)


@_compile
def _repeat(row, have):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    while have < len(row):
        done, rest = row[:have], row[have : 2 * have]
        for lane in range(have):
            rest[lane] = done[lane]
        have *= 2


@_compile
def _eliminate_lanes(schur, factor, member, c, q, width):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Eliminate column c in the lanes that include it; in the others its multipliers are zero."""
    inverse, pivot = factor[c, c], schur[c, c]
    for lane in range(width):
        inverse[lane] = (1.0 / pivot[lane] if pivot[lane] > 0.0 else np.nan) if member[lane] > 0.0 else 0.0
    for j in range(c + 1, q + 1):
        multiplier, entry = factor[c, j], schur[j, c]
        for lane in range(width):
            multiplier[lane] = entry[lane] * inverse[lane]
    for i in range(c + 1, q + 1):
        entry = schur[i, c]
        for j in range(c + 1, i + 1):
            target, multiplier = schur[i, j], factor[c, j]
            for lane in range(width):
                target[lane] -= entry[lane] * multiplier[lane]


@_compile
def _substitute_lanes(factor, solution, norms, c, q):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Finish a column whose multipliers differ from lane to lane."""
    for j in range(c + 1, q):
        _subtract_lanes(factor[c, j], solution[c], solution[j])
    b = solution[c]
    for lane in range(len(b)):
        norms[lane] += abs(b[lane])


@_compile
def _subtract_lanes(multiplier, b, solved):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for lane in range(len(b)):
        b[lane] -= multiplier[lane] * solved[lane]


@_compile
def _substitute(rows, a, solution, norms, r, column):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Finish a column whose multipliers are the same in all lanes, from those of the columns eliminated after it."""
    row, b, s = rows[a], solution[r], 0
    while s + 4 <= r:  # four columns a pass: a load and a store of b for eight operations
        m0, m1, m2, m3 = row[column[s] + 1], row[column[s + 1] + 1], row[column[s + 2] + 1], row[column[s + 3] + 1]
        b0, b1, b2, b3 = solution[s], solution[s + 1], solution[s + 2], solution[s + 3]
        for lane in range(len(b)):
            b[lane] = b[lane] - m0 * b0[lane] - m1 * b1[lane] - m2 * b2[lane] - m3 * b3[lane]
        s += 4
    while s < r:
        m0, b0 = row[column[s] + 1], solution[s]
        for lane in range(len(b)):
            b[lane] -= m0 * b0[lane]
        s += 1
    for lane in range(len(b)):
        norms[lane] += abs(b[lane])


@_compile
def bound(radius, n_columns, pivots, path, lanes):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Fill `bounded` and its l1 norms: each lane's optimum over sign'b <= radius, with the signs of `b`."""
    rows, at, q, n = path.rows, path.at, n_columns, len(lanes.norms)
    factor, free, bounded, weights, norms, slope, column = (
        lanes.factor, lanes.b, lanes.bounded, lanes.weights, lanes.norms, lanes.slope, lanes.column,
    )  # fmt: skip
    end = q + pivots - 1
    for lane in range(n):
        slope[lane] = 0.0
    for a in range(pivots):
        _signs(free[end - a], weights[end - a])
        _forward(rows, a, at[a], weights, end - a, end)
        # s'G^-1 s is the sum of w^2 / pivot, w the forward solution of the signs.
        _add_squares(slope, weights[end - a], rows[a, at[a]])
    for c in range(q):
        _signs(free[c], weights[c])
        _forward(rows, pivots, c + 1, weights, c, end)
        for e in range(c):
            _subtract_lanes(factor[e, c], weights[c], weights[e])
        _add_squares_lanes(slope, weights[c], factor[c, c])
    for lane in range(n):
        slope[lane] = max(norms[lane] - radius, 0.0) / slope[lane]  # the multiplier: (s'b - radius) / (s'G^-1 s)
        norms[lane] = 0.0
    for c in range(q - 1, -1, -1):
        _copy_lanes(factor[c, q], bounded[c])
        _multiply_lanes(weights[c], factor[c, c])
        _subtract_lanes(slope, bounded[c], weights[c])
        _substitute_lanes(factor, bounded, norms, c, q)
    for r in range(q, q + pivots):
        a = end - r
        _fill(bounded[r], rows[a, 0])
        _subtract_scaled(rows[a, column[r] + 1], slope, bounded[r], weights[r])
        _substitute(rows, a, bounded, norms, r, column)


@_compile
def _fill(b, side):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for lane in range(len(b)):
        b[lane] = side


@_compile
def _copy_lanes(source, target):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for lane in range(len(target)):
        target[lane] = source[lane]


@_compile
def _multiply_lanes(b, multiplier):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for lane in range(len(b)):
        b[lane] *= multiplier[lane]


@_compile
def _add_squares(slope, w, inverse):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for lane in range(len(w)):
        slope[lane] += w[lane] * w[lane] * inverse


@_compile
def _add_squares_lanes(slope, w, inverse):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for lane in range(len(w)):
        slope[lane] += w[lane] * w[lane] * inverse[lane]


@_compile
def _subtract_scaled(inverse, slope, b, w):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for lane in range(len(b)):
        b[lane] -= slope[lane] * w[lane] * inverse


@_compile
def _signs(b, sign):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for lane in range(len(b)):
        sign[lane] = (1.0 if b[lane] > 0.0 else 0.0) - (1.0 if b[lane] < 0.0 else 0.0)


@_compile
def _forward(rows, pivots, c, weights, r, end):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Subtract from row r what the first `pivots` columns of the path explain of column c."""
    w, a = weights[r], 0
    while a + 4 <= pivots:
        m0, m1, m2, m3 = rows[a, c], rows[a + 1, c], rows[a + 2, c], rows[a + 3, c]
        w0, w1, w2, w3 = weights[end - a], weights[end - a - 1], weights[end - a - 2], weights[end - a - 3]
        for lane in range(len(w)):
            w[lane] = w[lane] - m0 * w0[lane] - m1 * w1[lane] - m2 * w2[lane] - m3 * w3[lane]
        a += 4
    while a < pivots:
        m0, w0 = rows[a, c], weights[end - a]
        for lane in range(len(w)):
            w[lane] -= m0 * w0[lane]
        a += 1
