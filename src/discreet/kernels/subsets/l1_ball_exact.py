"""The last resort of `l1_ball`: the same walk in integers of some hundred bits, which always ends.

With nearly equal columns in billions of rows floats have too few digits to decide which of them helps. Numbers are
integers in units of 2^-BITS, and the moments are taken as exact.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.typing import Floats

Numbers = npt.NDArray[np.object_]

BITS = 320
"""Of which elimination loses at most 130: pivots are above 2^-60 of the largest entry."""


def rounding_of_moments(gram: Floats, radius: float) -> float:
    """Return how much of a duality gap moments rounded to floats can hide: 8 (k + 2) u n R^2.

    k columns, u = 2^-53, n the largest diagonal entry, R the radius.
    """
    return 8.0 * (len(gram) + 2) * 2.0**-53 * float(gram.diagonal().max(initial=0.0)) * radius * radius


def finish(gram: Floats, xty: Floats, radius: float, point: Floats, tolerance: float) -> tuple[Floats, float]:
    """Return a point in the ball, and its duality gap less `rounding_of_moments`, at most the tolerance.

    Cost: O(k^3) operations on long integers a step, milliseconds for 20 columns and .2 s for 128.
    Shapes: gram (k, k), xty (k,), point (k,); returns point (k,).
    """
    # It ends. A ridge rho makes X'X + rho I positive definite from k u n on, so that doubling it is over at 2 k u n at
    # the latest; it adds at most 2 rho R^2 to the gap. Then let the walk be at the optimum b of a face, with gap g.
    # Until it is at the optimum of the next one it has moved, in the norm of X'X, by at most sqrt(k D), D being by how
    # much the objective fell. While D < g^2 / (64 k n R^2), the vertex that entered still promises g / 2, and each full
    # step in a face that holds it gains at least (g / 2)^2 / (16 n R^2). So from optimum to optimum the objective falls
    # by g^2 / (64 k n R^2) or more, with g > tolerance / 4: far more than 2^-190 of it, which is all that rounding can
    # change. No face is visited twice, and of faces there are finitely many; in practice it is a few for each column.
    inner, sides = _numbers(gram), _numbers(xty)
    bound, allowed = _number(radius), _number(tolerance) >> 2
    ridge = max(_number(0.02 * tolerance / (radius * radius)), 1)
    while (exact := _walk(inner, sides, bound, _numbers(point), ridge, allowed)) is None:
        ridge *= 2
    rounded = np.array([int(b) / 2**BITS for b in exact])
    # The gap is computed exactly at the returned floats, from the moments without the ridge.
    at = _numbers(rounded)
    residual = sides - _product(inner, at)
    largest = max((abs(r) for r in residual), default=0)
    gap = 2 * (bound * largest - sum(b * r for b, r in zip(at, residual, strict=True)))
    return rounded, max(gap / 2 ** (2 * BITS) - rounding_of_moments(gram, radius), 0.0)


def _walk(gram: Numbers, xty: Numbers, radius: int, point: Numbers, ridge: int, allowed: int) -> Numbers | None:
    """Walk from one face's optimum to the next until the gap is at most `allowed`; None where a pivot is too small."""
    k = len(xty)
    system = gram.copy()
    system[np.arange(k), np.arange(k)] += ridge
    sign = np.array([(b > 0) - (b < 0) for b in point], dtype=object)
    norm = sum(abs(point))
    if norm > radius:
        point = point * radius // norm
    while True:  # ends: see `finish`
        on = np.flatnonzero(sign)
        target = _face_optimum(system[np.ix_(on, on)], xty[on], sign[on], radius, ridge >> 1)
        if target is None:
            return None
        # As in `l1_ball`: to where the first coefficient would change its sign, which leaves; only at a face's optimum
        # may a column enter.
        blocked = [a for a in range(len(on)) if target[a] * sign[on[a]] < 0]
        if blocked:
            # The share of the way that is free, as a fraction: where the first coefficient becomes zero.
            shares = {a: (abs(point[on[a]]), abs(point[on[a]]) + abs(target[a])) for a in blocked}
            first = min(blocked, key=lambda a: (shares[a][0] << BITS) // shares[a][1])
            part, whole = shares[first]
            point[on] += (target - point[on]) * part // whole
            point[on[first]] = sign[on[first]] = 0
            continue
        point[on] = target
        residual = xty - _product(system, point)
        best = max(range(k), key=lambda j: abs(residual[j]))
        gap = 2 * (radius * abs(residual[best]) - sum(b * r for b, r in zip(point, residual, strict=True)))
        if gap >> BITS <= allowed:
            return point
        sign[best] = 1 if residual[best] > 0 else -1


def _face_optimum(system: Numbers, sides: Numbers, sign: Numbers, radius: int, least: int) -> Numbers | None:
    """Return the optimum over sign'b <= radius; None where a pivot is below `least`."""
    solved = _solve(system, np.stack([sides, sign << BITS], axis=1), least)
    if solved is None or len(sides) == 0:
        return None if solved is None else sides
    free, step = solved[:, 0], solved[:, 1]
    over = sum(sign * free) - radius
    return free if over <= 0 else free - step * over // sum(sign * step)


def _solve(system: Numbers, sides: Numbers, least: int) -> Numbers | None:
    """Solve by elimination without exchanges, which a positive definite system does not need."""
    left, right = system.copy(), sides.copy()
    k = len(left)
    for a in range(k):
        if left[a, a] < least:
            return None
        # Of fixed-point numbers a quotient is (a << BITS) // b, a product a b >> BITS.
        factor = (left[a + 1 :, a] << BITS) // left[a, a]
        left[a + 1 :, a + 1 :] -= np.outer(factor, left[a, a + 1 :]) >> BITS
        right[a + 1 :] -= np.outer(factor, right[a]) >> BITS
    for a in range(k - 1, -1, -1):
        right[a] = (right[a] << BITS) // left[a, a]
        right[:a] -= np.outer(left[:a, a], right[a]) >> BITS
    return right


def _product(matrix: Numbers, vector: Numbers) -> Numbers:
    product: Numbers = matrix.dot(vector) >> BITS
    return product


def _numbers(values: Any) -> Numbers:
    """Floats as integers in units of 2^-BITS."""
    array = np.asarray(values, dtype=np.float64)
    return np.array([_number(value) for value in array.ravel().tolist()], dtype=object).reshape(array.shape)


def _number(value: float) -> int:
    numerator, denominator = value.as_integer_ratio()
    return (numerator << BITS) // denominator
