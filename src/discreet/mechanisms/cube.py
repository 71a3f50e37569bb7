"""Noise whose density falls with the largest of its coordinates: for vectors of integers whose changes fill a cube.

The draw is exact. A radius is a sum of geometric numbers that is accepted with a rational probability, and the noise is
uniform in the cube of that radius.
"""

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.accounting.guarantee import Number, exact
from discreet.errors import InvalidParameterError
from discreet.mechanisms.reals import Uniform, Words
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noise_bounds

MAX_SCALE = 2**55
"""As for the noise of single numbers."""

MOST_TRIES = 10_000
"""Bounds the expected number of radii that are drawn until one is accepted."""


def check_cube(n_numbers: int, scale: Number, purpose: str) -> None:
    """Refuse noise that cannot be drawn, before anything is charged.

    Parameters
    ----------
    n_numbers : int
        Of the vector.
    scale : float, int or Fraction
        In the unit of the integers.
    purpose : str
        What the noise is for, as the message calls it.

    Raises
    ------
    InvalidParameterError
        When the scale is above 2^55, or so small beside the number of numbers that a draw would not end.
    """
    size = exact(scale, "scale")
    if n_numbers < 1 or not 0 < size <= MAX_SCALE:
        raise InvalidParameterError(
            f"The noise of {purpose} must have a scale in (0, 2^55], but it is {float(size):.3g}. Raise epsilon or the "
            "share of it, or lower rows_per_unit."
        )
    if _log_tries(n_numbers, size) > math.log(MOST_TRIES):
        raise InvalidParameterError(
            f"The noise of {purpose} must have a scale of at least {n_numbers / (2 * math.log(MOST_TRIES)):.3g} steps, "
            f"but it is {float(size):.3g}. Lower epsilon, or count in smaller steps."
        )


def cube_noise(values: Sequence[int], scale: Number, rng: Source) -> list[int]:
    """Add noise to a vector of integers: P(z) proportional to exp(-max |z_j| / scale).

    Parameters
    ----------
    values : sequence of int
        d integers of any size.
    scale : float, int or Fraction
        In (0, 2^55], in the unit of the integers: the most that any of them changes between neighbors, over epsilon.
        Used as it is, without rounding.
    rng : Source
        Where the noise comes from.

    Returns
    -------
    list of int
        The noisy values, of any size: nothing is clipped or wrapped.

    Raises
    ------
    InvalidParameterError
        When there is no value, or the scale is out of range; never because of the values.

    Notes
    -----
    Claim: ``cube.privacy.md``. Cost: O(d) and products of d whole numbers; about exp(d / (2 scale)) radii are drawn.
    The variance of a number is `cube_variance`.

    References
    ----------
    Hardt and Talwar 2010 (K-norm mechanism); Awan and Slavkovic 2021, for which norm is best.

    Examples
    --------
    >>> cube_noise([7, -7], Fraction(1, 500), Source())
    [7, -7]
    """
    numbers = [int(value) for value in values]
    size = exact(scale, "scale")
    check_cube(len(numbers), size, "a vector")
    radius = _radius(len(numbers), size, rng)
    return [number + part for number, part in zip(numbers, _uniform(2 * radius + 1, len(numbers), rng), strict=True)]


@functools.lru_cache(maxsize=64)
def cube_variance(n_numbers: int, scale: Number) -> float:
    """Return the variance of one number's noise; two numbers of one vector are uncorrelated.

    Parameters
    ----------
    n_numbers : int
        d.
    scale : float, int or Fraction
        In the unit of the integers.

    Returns
    -------
    float
        About (d + 1) (d + 2) scale^2 / 3.

    Notes
    -----
    Given the radius r, the variance is r (r + 1) / 3; r has the weight (2 r + 1)^d exp(-r / scale).

    Examples
    --------
    >>> round(cube_variance(1, 10) / (2 / (4 * math.sinh(1 / 20) ** 2)), 9)
    1.0
    """
    d, size = n_numbers, float(scale)
    mode = d * size
    width = 40.0 * math.sqrt(d + 1) * size + 60.0 * size
    # With x = r + 1/2 the radius has the weight x^d exp(-x / b), where E x^2 = (d + 1) (d + 2) b^2, and a uniform
    # number of -r .. r has the variance r (r + 1) / 3 = (x^2 - 1/4) / 3.
    if mode + width > 1e6:  # a sum at so many points is its integral
        return (d + 1) * (d + 2) * size**2 / 3.0 - 1.0 / 12.0
    r = np.arange(int(max(mode - width, 0)), int(mode + width) + 2, dtype=np.float64)
    logs = d * np.log(2 * r + 1) - r / size
    weights = np.exp(logs - logs.max())
    return float(weights @ (r * (r + 1)) / weights.sum() / 3.0)


def _log_tries(n_numbers: int, scale: Fraction) -> float:
    """Bound the log of the expected number of tries: by the mean loss of an acceptance, and by the worst radius, 0."""
    # A try is accepted with at least q^(d/2) and at least 1 / (2^d d!): the claim's "How often".
    worst = math.lgamma(n_numbers + 1) + n_numbers * math.log(2.0)
    return min(float(n_numbers / (2 * scale)), worst)


def _radius(n_numbers: int, scale: Fraction, rng: Source) -> int:
    """Draw r with the weight (2 r + 1)^d exp(-r / scale)."""
    while True:  # ends with probability one; check_cube bounds the expected number of turns
        radius = sum(_geometric(n_numbers + 1, scale, rng))
        # prod of (2 r + 1) / (2 (r + i)), i = 1 .. d: each factor is at most 1.
        numerator = (2 * radius + 1) ** n_numbers
        denominator = math.prod(range(radius + 1, radius + n_numbers + 1)) << n_numbers
        if _happens(numerator, denominator, rng):
            return radius


def _geometric(count: int, scale: Fraction, rng: Source) -> list[int]:
    """Draw numbers with P(at least g) = exp(-g / scale): whole parts of scale times an exponential number."""
    words, size = rng.words(count), _as_float(scale)
    low, high = noise_bounds(words, "exponential", np.zeros(count))
    with np.errstate(over="ignore", invalid="ignore"):
        # Three roundings, of the scale and of two products, move each end by less than 2^-50 of it.
        below = np.floor(np.maximum(low, 0.0) * size * (1.0 - 2.0**-50))
        above = np.floor(high * size * (1.0 + 2.0**-50))
    # Beyond 2^52 every float is whole, so equal ends would say nothing of the fraction.
    decided = (below == above) & (above < 2.0**52)
    source = Words(rng)
    return [
        int(whole) if sure else _whole_part(Uniform(source, int(word)), scale)
        for whole, sure, word in zip(below.tolist(), decided.tolist(), words.tolist(), strict=True)
    ]


@functools.lru_cache(maxsize=64)
def _as_float(scale: Fraction) -> float:
    return float(scale)


def _whole_part(uniform: Uniform, scale: Fraction) -> int:
    """Return the whole part of scale times an exponential number, by as many bits as it takes."""
    digits = 60
    while True:  # ends: a real number is whole with probability zero, and Uniform refuses a broken source
        ends = [Fraction(end) if end > 0 else Fraction(0) for end in uniform.enclose_exponential(digits)]
        low, high = (math.floor(end * scale) for end in ends)
        if low == high:
            return low
        digits *= 2


def _happens(numerator: int, denominator: int, rng: Source) -> bool:
    """Tell whether a uniform number is below a fraction in (0, 1], bit by bit as far as it takes."""
    number, bits = int(rng.words(1)[0]), 64
    while True:
        # The uniform number lies in [number, number + 1) / 2^bits; cross-multiplied, nothing is rounded.
        if (number + 1) * denominator <= numerator << bits:
            return True
        if number * denominator >= numerator << bits:
            return False
        number, bits = number << 64 | int(rng.words(1)[0]), bits + 64


def _uniform(size: int, count: int, rng: Source) -> list[int]:
    """Draw uniform whole numbers of -(size - 1) / 2 .. (size - 1) / 2; size is odd. What lies beyond is drawn again."""
    # As many bits as the size has: at most half of the draws lie beyond it.
    n_words = -(-size.bit_length() // 64)
    n_unused_bits, numbers = 64 * n_words - size.bit_length(), list[int]()
    while len(numbers) < count:
        words = rng.words(n_words * (count - len(numbers))).tolist()
        for start in range(0, len(words), n_words):
            number = (
                functools.reduce(lambda high, low: high << 64 | low, words[start : start + n_words]) >> n_unused_bits
            )
            if number < size:
                numbers.append(number - size // 2)
    return numbers
