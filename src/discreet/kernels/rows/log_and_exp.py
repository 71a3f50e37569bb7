"""Logarithm and exponential that give a number the same answer beside any others, on any machine.

A library's own may take one of two ways by how many numbers there are or how they lie in memory, and the ways may
differ in the last bit. Here are only sums, products, quotients and powers of two, which IEEE 754 rounds in one way.
"""

import math

import numpy as np

from discreet.typing import Floats

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 in two parts; the first has 33 bits, so that its product with an exponent is exact."""


def logarithm(values: Floats) -> Floats:
    """Return natural logarithms within 4e-16 of their size: -inf at 0, NaN below.

    Examples
    --------
    >>> logarithm(np.array([1.0, 0.0, 100.0])).tolist() == [0.0, -math.inf, math.log(100.0)]
    True
    """
    part, power = np.frexp(np.asarray(values, dtype=np.float64))
    low = part < math.sqrt(0.5)
    part, power = np.where(low, 2.0 * part, part), (power - low).astype(np.float64)
    # ln m = 2 artanh s = 2 (s + s^3 / 3 + ...) with |s| <= 0.172: the 12 terms leave 1e-19.
    s = (part - 1.0) / (part + 1.0)
    square, series = s * s, np.zeros_like(s)
    for k in range(12, 0, -1):
        series = square * (1.0 / (2 * k + 1) + series)
    # The small terms first: what their sum rounds is small beside the exact product.
    result = power * _LN2_HIGH + (2.0 * s + (2.0 * s * series + power * _LN2_LOW))
    result = np.where(values == np.inf, np.inf, result)
    return np.where(values > 0.0, result, np.where(values == 0.0, -np.inf, np.nan))


def logarithm_of_one_plus(values: Floats) -> Floats:
    """Return ln(1 + x), sharp for small x too.

    Source: Hewlett-Packard HP-15C Advanced Functions Handbook (1982), appendix: x ln(u) / (u - 1) with u = 1 + x.
    """
    u = 1.0 + np.asarray(values, dtype=np.float64)
    # ln(u) x / (u - 1): by what u = 1 + x was rounded cancels between both (Kahan).
    quotient = logarithm(u) * (values / np.where(u == 1.0, 1.0, u - 1.0))
    return np.where(u == 1.0, values, np.where((u > 0.0) & np.isfinite(u), quotient, logarithm(u)))


def exponential(values: Floats) -> Floats:
    """Return e^x within 3e-16 of its size; inf beyond what a float holds, 0 far below 0.

    Examples
    --------
    >>> exponential(np.array([0.0, -1e9, 1e9])).tolist()
    [1.0, 0.0, inf]
    """
    missing = np.isnan(values)
    inside = np.clip(np.where(missing, 0.0, values), -800.0, 800.0)
    power = np.rint(inside / math.log(2.0))
    # In two parts, as the first product is exact and cancels most of the number: one product would lose those digits.
    rest = (inside - power * _LN2_HIGH) - power * _LN2_LOW
    series = np.ones_like(rest)
    for k in range(14, 0, -1):  # |rest| <= 0.347: what is left out is below 1e-17
        series = 1.0 + rest / k * series
    # In two steps, as one power of two may be larger than any float.
    half = (power / 2.0).astype(np.int64)
    result = np.ldexp(np.ldexp(series, half), power.astype(np.int64) - half)
    return np.where(missing, np.nan, result)
