"""Noise whose density falls with a weighted length: for vectors of integers whose changes fill an ellipsoid.

The draw is exact. A vector of real numbers, of as many digits as it takes, is rounded to the nearest integers.
"""

import functools
import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, DivisionByZero, InvalidOperation
from fractions import Fraction

import numpy as np

from discreet.accounting.guarantee import Number, exact
from discreet.errors import InvalidParameterError
from discreet.mechanisms.additive import MAX_SCALE
from discreet.mechanisms.reals import MOST_DIGITS, Uniform, Words
from discreet.mechanisms.rng import Source

DIGITS = 30
"""Of the first try: enough but for one number in 10^9, at a scale of 2^55."""

HALF = Decimal("0.5")

Ends = tuple[Decimal, Decimal]
Point = tuple[Uniform, Uniform]


def ellipsoid_noise(values: Sequence[int], scales: Sequence[Number], rng: Source) -> list[int]:
    """Add noise to a vector of integers: z rounded, z with a density proportional to exp(-|z / scales|).

    Parameters
    ----------
    values : sequence of int
        d integers of any size.
    scales : sequence of float, int or Fraction
        One for each value, in (0, 2^55], in the unit of the integers. Used as they are, without rounding.
    rng : Source
        Where the noise comes from.

    Returns
    -------
    list of int
        The noisy values, of any size: nothing is clipped or wrapped.

    Raises
    ------
    InvalidParameterError
        When there is no value, or a scale is missing or out of range; never because of the values.

    Notes
    -----
    Claim: ``ellipsoid.privacy.md``. Epsilon is the largest Euclidean length of the changes, each over its scale. The
    variance of a number is (d + 1) scale^2, and two numbers of one vector are uncorrelated. Cost: a fifth of a
    millisecond a value; a seeded source simulates the same law in floating point, and takes a tenth of a microsecond.

    References
    ----------
    Hardt and Talwar 2010 (K-norm mechanism); Awan and Slavkovic 2021, for which norm is best; Devroye 1986, Non-uniform
    random variate generation, V.4.4 (the polar method).

    Examples
    --------
    >>> ellipsoid_noise([7, -7], [Fraction(1, 500), Fraction(1, 900)], Source())
    [7, -7]
    """
    numbers = [int(value) for value in values]
    distinct = {id(scale): exact(scale, "scale") for scale in {id(scale): scale for scale in scales}.values()}
    sizes = [distinct[id(scale)] for scale in scales]  # most are alike: the numbers of a block have one
    if not numbers or len(numbers) != len(sizes) or not all(0 < size <= MAX_SCALE for size in distinct.values()):
        raise InvalidParameterError(
            "Noise in an ellipsoid must have a scale in (0, 2^55] for each number, and a number. Raise epsilon or the "
            "share of it, or lower rows_per_unit."
        )
    # A subclass of Source may be predictable: its noise must never look like that of a release.
    noise = _drawn(sizes, rng) if type(rng) is Source else _simulated(sizes, rng)
    return [number + part for number, part in zip(numbers, noise, strict=True)]


def _drawn(sizes: list[Fraction], rng: Source) -> list[int]:
    """Return the rounded vector, by as many digits as it takes.

    z_j = 2 s_j sqrt(t e / w) x: (x, y) uniform in the unit disk, w = x^2 + y^2 and e = -log w, so that sqrt(2 e / w) x
    is normal and y gives another one; t is Gamma distributed with shape (d + 1) / 2.
    """
    words, d = Words(rng), len(sizes)
    # Two normal numbers a point; for an odd d the last one is not used. Shape (d + 1) / 2: as many exponential numbers,
    # and for an even d a half more.
    points = [_in_disk(words) for _ in range((d + 1) // 2)]
    energies = [Uniform(words) for _ in range((d + 1) // 2)]
    half = _in_disk(words) if d % 2 == 0 else None  # half the square of a normal number: Gamma of shape 1/2
    digits = DIGITS
    while digits <= MOST_DIGITS:
        low, high = _downward(digits), _upward(digits)
        time = _time(energies, half, low, high)
        reals = [end for point in points for end in _normals(point, time, low, high)]
        noise = [_rounded(real, size, low, high) for real, size in zip(reals, sizes, strict=False)]
        if None not in noise:
            return [whole for whole in noise if whole is not None]
        digits *= 2
    raise ArithmeticError("a random number has no end of equal digits: the source of random bits is broken")


def _in_disk(words: Words) -> Point:
    """Draw a point of the unit disk: uniform numbers in [0, 1) for both coordinates, which stand for [-1, 1)."""
    while True:  # ends with probability one: pi / 4 of the square is in the disk
        point, digits = (Uniform(words), Uniform(words)), DIGITS
        while digits <= MOST_DIGITS:
            least, most = _square(point, _downward(digits), _upward(digits))
            if most < 1:
                return point
            if least >= 1:
                break
            digits *= 2


def _coordinate(uniform: Uniform, low: Context, high: Context) -> Ends:
    """Enclose 2 u - 1."""
    least, most = uniform.enclose(low.prec)
    return low.subtract(low.multiply(2, least), 1), high.subtract(high.multiply(2, most), 1)


def _square(point: Point, low: Context, high: Context) -> Ends:
    """Enclose x^2 + y^2."""
    sizes = [_size(_coordinate(uniform, low, high)) for uniform in point]
    least = low.add(*(low.multiply(size[0], size[0]) for size in sizes))
    return least, high.add(*(high.multiply(size[1], size[1]) for size in sizes))


def _size(ends: Ends) -> Ends:
    """Enclose the absolute value."""
    lowest, highest = ends
    sizes = lowest.copy_abs(), highest.copy_abs()
    return (Decimal(0) if lowest < 0 < highest else min(sizes)), max(sizes)


def _energy(ends: Ends, low: Context, high: Context) -> Ends:
    """Enclose -log of a number in (0, 1): a decimal's logarithm is the nearest one, so the next one is beyond it."""
    # Decimal's ln rounds to the nearest whatever its context says, so the rounding outward is done by hand.
    least, most = low.minus(low.ln(high.plus(ends[1]))), high.minus(high.ln(low.plus(ends[0])))
    least, most = low.next_minus(least), high.next_plus(most)
    return max(least, Decimal(0)), most


def _time(energies: list[Uniform], half: Point | None, low: Context, high: Context) -> Ends:
    """Enclose a Gamma variable, a sum of exponential ones and, if need be, half the square of a normal one."""
    least, most = Decimal(0), Decimal(0)
    for uniform in energies:
        ends = _energy(uniform.enclose(low.prec), low, high)
        least, most = low.add(least, ends[0]), high.add(most, ends[1])
    if half is None:
        return least, most
    square, x = _square(half, low, high), _size(_coordinate(half[0], low, high))
    if square[0] == 0:
        return least, Decimal("Infinity")
    ends = _energy(square, low, high)
    # x sqrt(2 e / w) is normal, e = -log w: half its square is e x^2 / w.
    less = low.divide(low.multiply(ends[0], low.multiply(x[0], x[0])), square[1])
    more = high.divide(high.multiply(ends[1], high.multiply(x[1], x[1])), square[0])
    return low.add(least, less), high.add(most, more)


def _normals(point: Point, time: Ends, low: Context, high: Context) -> list[Ends]:
    """Enclose 2 sqrt(t e / w) times each coordinate of a point."""
    square = _square(point, low, high)
    if square[0] == 0 or not time[1].is_finite():
        return [(Decimal("-Infinity"), Decimal("Infinity"))] * 2
    energy = _energy(square, low, high)
    less = low.divide(low.multiply(time[0], energy[0]), square[1])
    more = high.divide(high.multiply(time[1], energy[1]), square[0])
    # The nearest decimal, so the next one is beyond the root.
    shortest = low.multiply(2, max(low.next_minus(low.sqrt(less)), Decimal(0)))
    longest = high.multiply(2, high.next_plus(high.sqrt(more)))
    ends = list[Ends]()
    for uniform in point:
        # A negative end is farthest from 0 times the longest: the product's lower end takes that factor.
        lowest, highest = _coordinate(uniform, low, high)
        ends.append(
            (
                low.multiply(lowest, shortest if lowest > 0 else longest),
                high.multiply(highest, longest if highest > 0 else shortest),
            )
        )
    return ends


def _rounded(ends: Ends, scale: Fraction, low: Context, high: Context) -> int | None:
    """Return the integer nearest to a real number times the scale; None where its digits do not tell."""
    if not ends[1].is_finite():
        return None
    numerator, denominator = Decimal(scale.numerator), Decimal(scale.denominator)
    least = low.divide(low.multiply(ends[0], numerator), denominator)
    most = high.divide(high.multiply(ends[1], numerator), denominator)
    # round(x) = floor(x + 1/2), but for ties, whose probability is zero.
    below, above = math.floor(low.add(least, HALF)), math.floor(high.add(most, HALF))
    return below if below == above else None


@functools.cache
def _downward(digits: int) -> Context:
    """Arithmetic that rounds down."""
    return Context(digits, ROUND_FLOOR, Emin=-(10**9), Emax=10**9, traps=[InvalidOperation, DivisionByZero])


@functools.cache
def _upward(digits: int) -> Context:
    """Arithmetic that rounds up."""
    return Context(digits, ROUND_CEILING, Emin=-(10**9), Emax=10**9, traps=[InvalidOperation, DivisionByZero])


def _simulated(sizes: list[Fraction], rng: Source) -> list[int]:
    """Return the same law in floating point, from the words of a seeded source."""
    from scipy.special import ndtri  # slow to load

    d = len(sizes)
    uniforms = (rng.words(d + 1 + (d + 1) // 2).astype(np.float64) + 0.5) * 2.0**-64
    uniforms = np.minimum(uniforms, 1.0 - 2.0**-53)
    normals, waits = ndtri(uniforms[: d + 1]), -np.log(uniforms[d + 1 :])
    # Z = scale sqrt(2 t) g, the claim's mixture, which `_drawn` has as 2 scale sqrt(t e / w) x.
    time = waits.sum() + (0.5 * normals[d] ** 2 if d % 2 == 0 else 0.0)
    distinct = {id(size): float(size) for size in {id(size): size for size in sizes}.values()}
    noise = np.array([distinct[id(size)] for size in sizes]) * math.sqrt(2.0 * time) * normals[:d]
    return [int(part) for part in np.rint(noise).tolist()]
