"""Every subset's score by a tree of eliminations, compiled once and kept on disk.

Units are numbered in the tree's order, fewest columns first; unit t is bit t of a tree mask. A block fixes the units
from 16 on. Within it the units from 15 down to 6 are decided one after the other, each inclusion one step of a Cholesky
factorization of what is left, and the last six at once: 64 models side by side. A model whose unconstrained optimum
lies in the ball is finished. Any other is first tried with the signs of that optimum, for all 64 together; the few that
have other signs are walked. What is optimal in a model is optimal in every larger one whose further columns have no
larger residual product: they are all given the optimum at once. Models are visited in increasing order, so that nearly
every optimum is found where it has no zero coefficient.

The compiler's cache does not notice when a file that this one calls has changed: remove `__pycache__` after editing
`l1_ball_compiled` or `subsets_lanes`.
"""

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from discreet.kernels.subsets.l1_ball import ridge_for
from discreet.kernels.subsets.l1_ball_compiled import grade, walk, walk_space
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.kernels.subsets.subsets_lanes import LANE_UNITS, Lanes, Path, bound, side_by_side
from discreet.typing import Floats, Integers, Masks

UNSEEN, INSIDE, ABSENT = -1, -2, -3
"""Owners of a model not yet scored, of one whose unconstrained optimum lies in the ball, and of one not in the list."""

# Without reference counts, which cost more than the arithmetic here; so compiled code allocates nothing.
_compile = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)


class Layout(NamedTuple):
    """A problem in the tree's order: y first, then the columns unit by unit, then those of every model.

    Parameters
    ----------
    system : ndarray of float, shape (p + 1, p + 1)
        Moments of y and of the columns in use, with the tree's ridge.
    gram : ndarray of float, shape (p, p)
        X'X in the same order, without the ridge.
    xty : ndarray of float, shape (p,)
        X'y in the same order.
    yty : float
        y'y.
    radius : float
        Bound on the l1 norm.
    inside : float
        Unconstrained optima up to this l1 norm are accepted; -1 accepts none.
    inside_gap : float
        How far above the minimum the score of such an optimum can be.
    ridge : float
        Added to the diagonal in the walk.
    tolerance : float
        Largest duality gap allowed.
    start : ndarray of int64, shape (d + 1,)
        Unit t owns the rows start[t] to start[t + 1] of `system`.
    bits : ndarray of uint64, shape (p,)
        The bit of each column's unit, 0 for a column of every model.
    """

    system: Floats
    gram: Floats
    xty: Floats
    yty: float
    radius: float
    inside: float
    inside_gap: float
    ridge: float
    tolerance: float
    start: Integers
    bits: Masks


def layout_of(problem: SubsetProblem) -> tuple[Layout, npt.NDArray[np.intp]]:
    """Return the problem in the tree's order, and the original number of each unit: bit t is unit order[t].

    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., Theorems 10.3 and 10.4.
    """
    gram, xty, yty, radius, units, always, tolerance = problem
    order = np.argsort(units.sum(axis=1), kind="stable")
    rows = np.concatenate([*(np.flatnonzero(units[unit]) for unit in order), np.flatnonzero(always)]).astype(np.intp)
    start = np.cumsum([1, *(int(units[unit].sum()) for unit in order)])
    inner, sides = np.ascontiguousarray(gram[np.ix_(rows, rows)]), np.ascontiguousarray(xty[rows])
    ridge = ridge_for(inner, radius, tolerance)
    light = min(ridge, 0.2 * tolerance / max(radius * radius, 1e-300))
    system = np.block([[np.full((1, 1), yty), sides[None, :]], [sides[:, None], inner + light * np.eye(len(rows))]])
    size = (np.sqrt(max(yty, 0.0)) + radius * np.sqrt(inner.diagonal().max(initial=0.0))) ** 2
    # Cholesky elimination gives the exact residual sum of squares of moments that differ from the true ones by at most
    # (k + 10) u sqrt(a_ii a_jj) in each entry, whatever the conditioning. It is the minimum over all coefficients, so
    # it exceeds the minimum over the ball by at most this: that error on the ball, and the ridge times radius^2. The
    # coefficients from back substitution attain it with moments that differ by at most (3 k + 10) u sqrt(a_ii a_jj);
    # where they lie in the ball it is below the minimum by no more than rounding.
    gap = light * radius * radius + (len(rows) + 10) * 2.0**-53 * size
    inside = radius if gap <= tolerance else -1.0  # else no optimum counts as inside: each gap is computed at its point
    floats = (float(yty), float(radius), inside, gap, ridge, float(tolerance))
    bits = np.zeros(len(rows), dtype=np.uint64)
    bits[: start[-1] - 1] = np.uint64(1) << np.repeat(np.arange(len(order), dtype=np.uint64), np.diff(start))
    return Layout(np.ascontiguousarray(system), inner, sides, *floats, start.astype(np.int64), bits), order


def n_threads() -> int:
    """Return the number of threads for compiled code: one a core, unless NUMBA_NUM_THREADS says otherwise."""
    return int(numba.config.NUMBA_NUM_THREADS)


class BlockOptima(NamedTuple):
    """The optima of a block's models, and for each model the number of the optimum that it shares."""

    owner: npt.NDArray[np.int32]
    inside: Floats
    values: Floats
    gaps: Floats
    n_optima: Integers


def score_block(layout: Layout, high: int, lows: Masks, n_low: int) -> tuple[Floats, Floats]:
    """Return scores and gaps of the models high | low, for each of `lows`.

    The gap is above the tolerance where there is no certificate.
    """
    p, start = len(layout.xty), layout.start
    n_lane = min(LANE_UNITS, n_low)
    q, n, size = int(start[n_lane]) - 1, 1 << n_lane, 1 << n_low
    levels = np.empty((n_low - n_lane + 1, start[n_low], start[n_low]))
    path = Path(
        np.empty((p, p + 1)), np.empty(p, np.int64), np.full(n_low + 1, -1), levels, np.zeros(p, np.bool_),
    )  # fmt: skip
    lanes = Lanes(
        (np.arange(n) >> np.arange(n_lane)[:, None] & 1).astype(np.float64),
        np.empty((q + 1, q + 1, n)), np.empty((q + 1, q + 1, n)), np.empty((p, n)), np.empty((p, n)), np.empty((p, n)),
        np.empty(n), np.empty(n), np.empty(p, np.int64),
    )  # fmt: skip
    optima = BlockOptima(
        np.full(size, ABSENT, np.int32), np.empty(size), np.empty(size), np.empty(size), np.zeros(1, np.int64),
    )  # fmt: skip
    scores, gaps = np.empty(len(lows)), np.empty(len(lows))
    work, system = walk_space(p), layout.system.copy()
    _score_block(layout, system, np.uint64(high), lows, n_low, n_lane, path, lanes, optima, work)
    _collect(layout, lows, optima, scores, gaps)
    return scores, gaps


@_compile
def _score_block(layout, system, high, lows, n_low, n_lane, path, lanes, optima, work):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    start, owner, last, bit = layout.start, optima.owner, np.uint64(0), np.uint64(1)
    for i in range(len(lows)):
        owner[lows[i]] = UNSEEN
    pivots = _fix(layout, system, high, n_low, path)
    for i in range(len(lows)):
        if owner[lows[i]] != UNSEEN:
            continue
        top = lows[i] >> np.uint64(n_lane) << np.uint64(n_lane)
        # Back to the highest unit on which this batch and the last one differ, and down again.
        t = n_low - 1
        if path.before[n_low - 1] >= 0:
            while t >= n_lane and (top ^ last) >> np.uint64(t) & bit == 0:
                t -= 1
            pivots = path.before[t]
        last = top
        level, pivots = _descend(top, t, n_low, n_lane, start, path, pivots)
        side_by_side(path.levels[level], start, n_lane, path, pivots, lanes)
        _accept(layout, top, n_low, n_lane, pivots, path, lanes, optima, work)


@_compile
def _fix(layout, system, high, n_low, path):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Eliminate the columns of every model and of the block's own units."""
    start, pivots = layout.start, 0
    for t in range(len(start) - 1, n_low - 1, -1):
        every = t == len(start) - 1
        if every or high >> np.uint64(t) & np.uint64(1):
            for c in range((len(layout.system) if every else start[t + 1]) - 1, start[t] - 1, -1):
                pivots = _eliminate(system, system, c, path.rows, path.at, path.usable, pivots)
    _copy(system, path.levels[0], start[n_low])
    return pivots


@_compile
def _copy(source, target, size):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for i in range(size):
        for j in range(i + 1):
            target[i, j] = source[i, j]


@_compile
def _descend(top, t, n_low, n_lane, start, path, pivots):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Decide the units from t down to the lanes; return the level reached and the number of pivots."""
    level, bit = 0, np.uint64(1)
    for above in range(t + 1, n_low):
        level += 1 if top >> np.uint64(above) & bit else 0
    while t >= n_lane:
        path.before[t] = pivots
        included = top >> np.uint64(t) & bit != 0
        for c in range(start[t], start[t + 1]):
            path.usable[c - 1] = False
        if included:
            source, target = path.levels[level], path.levels[level + 1]
            if start[t] == start[t + 1]:
                _copy(source, target, start[t])
            for c in range(start[t + 1] - 1, start[t] - 1, -1):
                pivots = _eliminate(source, target, c, path.rows, path.at, path.usable, pivots)
                source = target
            level += 1
        t -= 1
    path.before[n_lane - 1] = pivots
    return level, pivots


@_compile
def _eliminate(source, target, c, rows, at, usable, pivots):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Eliminate column c by one step of the Cholesky factorization; its multipliers become row `pivots`."""
    # Without a positive pivot: not a number, and none of these models passes for one inside the ball.
    inverse = 1.0 / source[c, c] if source[c, c] > 0.0 else np.nan
    row = rows[pivots]
    for j in range(c):
        row[j] = source[c, j] * inverse
    row[c] = inverse
    for i in range(c):
        factor, before, after = source[c, i], source[i], target[i]
        for j in range(i + 1):
            after[j] = before[j] - factor * row[j]
    at[pivots] = c
    usable[c - 1] = True
    return pivots + 1


@_compile
def _accept(layout, top, n_low, n_lane, pivots, path, lanes, optima, work):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Score the batch's models: inside the ball, on the face of their own signs, or by a walk."""
    q, any_left = layout.start[n_lane] - 1, False
    owner, inside, norms, limit = optima.owner, optima.inside, lanes.norms, layout.inside
    for lane in range(len(norms)):
        low = top | np.uint64(lane)
        if owner[low] == UNSEEN:
            if norms[lane] <= limit:
                owner[low], inside[low] = INSIDE, lanes.schur[q, q, lane]
            else:
                any_left = True
    if any_left:
        bound(layout.radius, q, pivots, path, lanes)
        _accept_bounded(
            layout.gram, layout.xty, layout.radius, layout.ridge, layout.tolerance, layout.bits, top,
            layout.start[n_low] - 1, q, q + pivots, path.usable, lanes.column, lanes.b, lanes.bounded, norms,
            owner, optima.values, optima.gaps, optima.n_optima, *work,
        )  # fmt: skip


@_compile
def _accept_bounded(  # type: ignore[no-untyped-def]
    gram, xty, radius, ridge, tolerance, bits, top, own, q, count, usable, column, free, bounded, norms,
    owner, values, gaps, n_optima, sign, active, factor, inverse, halves, target, step, point, residual,
):  # fmt: skip # pragma: no cover - compiled
    """Score the models whose unconstrained optimum lies outside the ball."""
    for lane in range(len(norms)):
        low = top | np.uint64(lane)
        if owner[low] != UNSEEN:
            continue
        for k in range(q):
            usable[k] = low & bits[k] != 0
        # sum |b| >= s'b = R, and they are equal just where the point has the signs s of its face.
        right = norms[lane] <= radius * (1.0 + 1e-12)
        n_active = _point_of_lane(
            right, radius, own, lane, count, usable, column, free, bounded, norms, sign, active, point
        )
        value, gap, largest = 0.0, np.inf, 0.0
        if right:
            value, gap, largest = grade(gram, xty, radius, usable, active, n_active, point, residual)
        if not gap <= tolerance:
            value, gap, largest = walk(
                gram,
                xty,
                radius,
                ridge,
                usable,
                sign,
                active,
                factor,
                inverse,
                halves,
                target,
                step,
                point,
                residual,
            )
        new = n_optima[0]
        values[new], gaps[new], n_optima[0] = value, gap, new + 1
        if gap <= tolerance:
            _share(bits, own, sign, residual, largest, owner, new)
        else:
            owner[low] = new


@_compile
def _point_of_lane(  # type: ignore[no-untyped-def]
    right, radius, own, lane, count, usable, column, free, bounded, norms, sign, active, point
):  # fmt: skip # pragma: no cover - compiled
    """Unpack a lane's point if its signs are right, else signs to start a walk from."""
    for k in range(len(sign)):
        sign[k] = point[k] = 0.0
    scale = radius / norms[lane] if right and norms[lane] > radius else 1.0
    n_active = 0
    for r in range(count):
        k, b = column[r], bounded[r, lane]
        if not abs(b) > 0.0 or not usable[k]:
            continue
        # A wrong sign: of the block's own columns most are not used at all, others change side.
        if not right and k >= own and b * free[r, lane] < 0.0:
            continue
        sign[k], point[k] = (1.0 if b > 0.0 else -1.0), b * scale
        active[n_active] = k
        n_active += 1
    return n_active


@_compile
def _share(bits, own, sign, residual, largest, owner, new):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Give an optimum to every model between its support and all columns whose residual product is not larger."""
    support, busy, all_units, bit = np.uint64(0), np.uint64(0), np.uint64(len(owner) - 1), np.uint64(1)
    for k in range(own):
        support |= bits[k] if sign[k] != 0.0 else np.uint64(0)
        busy |= bits[k] if abs(residual[k]) > largest else np.uint64(0)
    rest = all_units & ~(support | busy)
    part = rest
    while True:  # down through the subsets of `rest` to the empty one
        if owner[support | part] == UNSEEN:
            owner[support | part] = new
        if part == 0:
            break
        # The next smaller subset of `rest`: the borrow runs through the bits that are not in it.
        part = (part - bit) & rest


@_compile
def _collect(layout, lows, optima, scores, gaps):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for i in range(len(lows)):
        optimum = optima.owner[lows[i]]
        scores[i] = max(optima.inside[lows[i]] if optimum < 0 else layout.yty + optima.values[optimum], 0.0)
        gaps[i] = layout.inside_gap if optimum < 0 else optima.gaps[optimum]
