"""Simulated numbers from a seeded source."""

import math
from statistics import NormalDist

import numpy as np

from discreet.mechanisms.rng import Source
from discreet.typing import Floats


def uniforms(rng: Source, *shape: int) -> Floats:
    """Return uniform numbers in (0, 1): multiples of 2^-53, shifted by half of one."""
    shares = (rng.words(math.prod(shape)) >> np.uint64(11)).astype(np.float64)
    shares += 0.5
    shares *= 2.0**-53
    return shares.reshape(shape)


def normals(rng: Source, *shape: int) -> Floats:
    """Return standard normal numbers, within 8.3 of zero."""
    from scipy.special import ndtri  # slow to load

    return np.asarray(ndtri(uniforms(rng, *shape)), dtype=np.float64)


def chained_normals(rng: Source, n_rows: int, n_columns: int, correlation: float) -> Floats:
    """Return standard normal numbers, shape (n_rows, n_columns), each column correlated with the one before it."""
    chained = by_columns(normals(rng, n_rows, n_columns))
    for j in range(1, n_columns if correlation else 1):
        chained[:, j] = correlation * chained[:, j - 1] + math.sqrt(1.0 - correlation**2) * chained[:, j]
    return chained


def by_columns(rows: Floats) -> Floats:
    """Return the same numbers with each column in one piece, as what follows takes them."""
    columns = np.empty(rows.shape[::-1])
    for start in range(0, len(rows), BLOCK):  # a tenth of the time of one copy, which leaves the cache at each number
        columns[:, start : start + BLOCK] = rows[start : start + BLOCK].T
    return columns.T


BLOCK = 64
"""Rows that are turned at once."""


def some_normals(rng: Source, *shape: int) -> Floats:
    """Return standard normal numbers as `normals` does, to the last digits, without what that loads: of some 10^5."""
    shares = np.minimum(uniforms(rng, *shape), 1.0 - 2.0**-53)
    offsets, of_share = shares - 0.5, NormalDist().inv_cdf
    rest = 0.180625 - offsets * offsets  # MIDDLE squared
    result = offsets * _polynomial(ABOVE, rest) / _polynomial(BELOW, rest)
    is_tail = np.abs(offsets) > MIDDLE
    result[is_tail] = [of_share(share) for share in shares[is_tail].tolist()]
    return result


MIDDLE = 0.425
"""Of shares around a half, whose quantile is a quotient of two polynomials."""

# Highest powers first. Source: Wichura 1988, Algorithm AS 241, which `statistics.NormalDist` follows too.
ABOVE = (
    2.5090809287301226727e3,
    3.3430575583588128105e4,
    6.7265770927008700853e4,
    4.5921953931549871457e4,
    1.3731693765509461125e4,
    1.9715909503065514427e3,
    1.3314166789178437745e2,
    3.3871328727963666080e0,
)
BELOW = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)


def _polynomial(coefficients: tuple[float, ...], at: Floats) -> Floats:
    total = np.full_like(at, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * at + coefficient
    return total
