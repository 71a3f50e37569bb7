"""Least squares on the l1 ball from moments, many models at once, each with a certificate.

The problem of one model is ``min b'Gb - 2c'b`` over ``||b||_1 <= radius`` and b supported on the model. An active-set
method walks from one orthant's optimum to the next, every point feasible; what it cannot certify in floats is finished
by the same walk in long integers, which has a proof that it ends.
"""

import numpy as np
import numpy.typing as npt

from discreet.kernels.subsets.l1_ball_exact import finish
from discreet.typing import Bools, Floats

BATCH_CELLS = 2**21
"""Doubles held by one batch of linear systems: 16 MB."""


def solve_on_l1_ball(
    gram: Floats,
    xty: Floats,
    radius: float,
    columns: Bools,
    start: npt.NDArray[np.int8],
    tolerance: float,
) -> tuple[Floats, Floats, npt.NDArray[np.int8]]:
    """Return each model's minimum of b'Gb - 2c'b on the ball, its Frank-Wolfe gap, and its signs.

    value - gap <= optimum <= value up to rounding, and gap <= tolerance; where `finish` served, the gap is less
    `rounding_of_moments`. Cost: a few systems of p unknowns a model when `start` is close, about 2 p from zeros.
    Source: privacy specification 1.6.
    Shapes: gram (p, p), xty (p,), columns, start (n_models, p); returns (n_models,), (n_models,), (n_models, p).
    """
    n_models, p = columns.shape
    value, gap = np.empty(n_models), np.empty(n_models)
    signs = np.zeros((n_models, p), dtype=np.int8)
    step = max(1, BATCH_CELLS // (p * p))
    for low in range(0, n_models, step):
        part = slice(low, low + step)
        point = _active_set(gram, xty, radius, columns[part], start[part], tolerance)
        value[part], gap[part] = value_and_gap(gram, xty, radius, columns[part], point)
        for i in np.flatnonzero(gap[part] > tolerance):
            used = columns[part][i]
            inner = gram[np.ix_(used, used)]
            point[i, used], gap[low + i] = finish(inner, xty[used], radius, point[i, used], tolerance)
            value[low + i] = value_and_gap(inner, xty[used], radius, used[None, used], point[i : i + 1, used])[0][0]
        signs[part] = np.sign(point)
    return value, gap, signs


def value_and_gap(gram: Floats, xty: Floats, radius: float, columns: Bools, point: Floats) -> tuple[Floats, Floats]:
    """Return the objective b'Gb - 2c'b at feasible points, and the Frank-Wolfe gaps that certify them.

    Shapes: gram (p, p), xty (p,), columns (n_models, p), point (n_models, p); returns value, gap (n_models,).
    """
    residual = xty - point @ gram
    largest = np.where(columns, np.abs(residual), 0.0).max(axis=1, initial=0.0)
    value = -np.einsum("ij,ij->i", point, residual + xty)
    # grad'b + radius ||grad||_inf with grad = 2 (Gb - c) = -2 residual: no point of the ball is lower by more.
    gap = 2.0 * (radius * largest - np.einsum("ij,ij->i", point, residual))
    return value, np.maximum(gap, 0.0)


def ridge_for(gram: Floats, radius: float, tolerance: float) -> float:
    """Return a ridge that makes every system regular: a fiftieth of the tolerance, or more if rounding needs it."""
    # ridge ||b||_2^2 <= ridge R^2 in the ball: a fiftieth of the tolerance, unless rounding asks for more.
    largest = max(float(gram.diagonal().max(initial=0.0)), 1e-300)
    return min(max(0.02 * tolerance / max(radius * radius, 1e-300), 1e-14 * largest), 1e-9 * largest)


def _active_set(
    gram: Floats, xty: Floats, radius: float, columns: Bools, start: npt.NDArray[np.int8], tolerance: float
) -> Floats:
    """Walk all models together; a model is done when no column outside its active set can improve it."""
    n_models, p = columns.shape
    result = np.zeros((n_models, p))
    ridge = ridge_for(gram, radius, tolerance)
    tiny = 1e-13 * float(np.abs(xty).max(initial=0.0)) + 1e-300
    active = np.arange(n_models)
    sign = np.where(columns, start, 0).astype(np.float64)
    point = np.zeros((n_models, p))
    for _ in range(50 + 10 * p):
        target = _face_optimum(gram, xty, radius, sign, ridge)
        blocked = target * sign < 0.0
        room = np.divide(point, point - target, out=np.ones_like(point), where=blocked & (point != target))
        # As far towards the face's optimum as no coefficient changes its sign; one that becomes zero leaves.
        reach = np.where(blocked, room, 1.0).min(axis=1, initial=1.0)
        arrived = reach >= 1.0
        point += np.where(arrived, 1.0, reach)[:, None] * (target - point)
        leaving = blocked & (room <= reach[:, None])
        point[leaving] = 0.0
        sign[leaving] = 0.0
        point[sign == 0.0] = 0.0

        residual = np.where(columns[active], xty - point @ gram, 0.0)
        # Karush, Kuhn and Tucker: inside the ball no residual product is left; on its surface those of columns outside
        # are at most the level of those inside.
        level = np.where(sign != 0.0, residual * sign, 0.0).max(axis=1, initial=0.0)
        inside = np.abs(point).sum(axis=1) < radius * (1.0 - 1e-12)
        outside = np.where(sign == 0.0, np.abs(residual), 0.0)
        best = outside.argmax(axis=1)
        rows = np.arange(len(active))
        better = outside[rows, best] > np.where(inside, 0.0, level) * (1.0 + 1e-10) + tiny
        entering = arrived & better
        sign[rows[entering], best[entering]] = np.sign(residual[rows[entering], best[entering]])
        done = arrived & ~better
        if done.any():
            result[active[done]] = point[done]
            keep = ~done
            active, sign, point = active[keep], sign[keep], point[keep]
            if active.size == 0:
                return result
    result[active] = point
    return result


def _face_optimum(gram: Floats, xty: Floats, radius: float, sign: Floats, ridge: float) -> Floats:
    """Return the optimum over sign'b <= radius with b supported where the sign is not zero."""
    active = sign != 0.0
    system = np.where(active[:, :, None] & active[:, None, :], gram, 0.0)
    diagonal = np.arange(gram.shape[0])
    # Columns that are not active get a row of the identity: their solution is 0, and all models are solved in one call.
    system[:, diagonal, diagonal] = np.where(active, gram.diagonal() + ridge, 1.0)
    sides = np.stack([np.where(active, xty, 0.0), sign], axis=2)
    free, step = np.moveaxis(np.linalg.solve(system, sides), 2, 0)
    norm = np.einsum("ij,ij->i", sign, free)
    slope = np.einsum("ij,ij->i", sign, step)
    # Lagrange: b = G^-1 c - multiplier G^-1 s, with s'b = radius where the free optimum lies outside.
    multiplier = np.divide(norm - radius, slope, out=np.zeros_like(norm), where=(norm > radius) & (slope > 0.0))
    target: Floats = free - multiplier[:, None] * step
    over = np.abs(target).sum(axis=1) / radius
    same_orthant = (target * sign >= 0.0).all(axis=1)
    # Rounding may put a point of this orthant a hair outside the ball: the sensitivity needs it inside.
    return np.where((same_orthant & (over > 1.0))[:, None], target / np.maximum(over, 1.0)[:, None], target)
