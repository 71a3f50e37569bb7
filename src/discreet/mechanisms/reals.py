"""Random real numbers known to as many digits as a comparison needs.

A number is a float with a bound of its error, and a way to enclose it between decimals of any precision. Comparisons
that the floats decide cost nothing more; the others ask for digits, and with them for more random bits, until one side
is ahead for certain. Two of these numbers are equal with probability zero.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, DivisionByZero, InvalidOperation

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.rng import Source

Interval = tuple[Decimal, Decimal]

ROUNDING = 2.0**-46
"""Bounds the relative error of a few float64 operations, exponentials and logarithms."""


MOST_DIGITS = 2000
"""A comparison of random numbers needs more with a probability of 10^-1900."""


@dataclass(frozen=True)
class Real:
    """A real number as a float with a bound of its error, and as decimals of any precision.

    Parameters
    ----------
    value : float
        Close to it.
    error : float
        Bound of its distance from `value`.
    enclose : callable
        From a number of digits to decimals below and above it; the more digits, the closer they are.
    """

    value: float
    error: float
    enclose: Callable[[int], Interval]

    @classmethod
    def exactly(cls, value: float) -> "Real":
        """Return a float as a real number.

        Parameters
        ----------
        value : float
            Finite.

        Returns
        -------
        Real
            Without error.
        """
        return cls(value, 0.0, lambda _: (Decimal(value), Decimal(value)))

    def __lt__(self, other: "Real") -> bool:
        gap = other.value - self.value
        if abs(gap) > 1.01 * (self.error + other.error):  # 1.01 covers the rounding of this line
            return gap > 0.0
        # Also where an error is infinite. Each turn draws more bits of the same numbers: the law is that of the real
        # numbers.
        digits = 40
        while digits <= MOST_DIGITS:
            low, high = self.enclose(digits)
            other_low, other_high = other.enclose(digits)
            if high < other_low or low > other_high:
                return high < other_low
            digits *= 2
        raise ArithmeticError("two random numbers agree beyond belief: the source of random bits is broken")


class Uniform:
    """A uniform number on (0, 1) whose bits are drawn as they are needed.

    Parameters
    ----------
    words : Words
        Where the first 64 bits come from, and all others.
    first : int, optional
        The first 64 bits, where they have been drawn.
    """

    def __init__(self, words: "Words", first: int | None = None) -> None:
        self._words, self._number, self._bits = words, words.next() if first is None else first, 64

    @property
    def value(self) -> float:
        """The middle of the interval that the first 64 bits leave; off by 2^-53 at most."""
        return ((self._number >> (self._bits - 64)) + 0.5) * 2.0**-64

    def enclose(self, digits: int) -> Interval:
        """Enclose the number, away from zero and one.

        Parameters
        ----------
        digits : int
            Digits of precision.

        Returns
        -------
        tuple of Decimal
            Exact ends.
        """
        # Away from 0 and 1, where the quantiles of the noises are infinite: a number whose bits are equal so far gets
        # more.
        while self._bits < 4 * digits or not 0 < self._number < 2**self._bits - 1:
            if self._bits > 16 * MOST_DIGITS:
                raise ArithmeticError("a random number has no end of equal bits: the source of random bits is broken")
            self._number, self._bits = self._number << 64 | self._words.next(), self._bits + 64
        # n 2^-bits = n 5^bits / 10^bits has at most `bits` digits: the ends are exact. Four bits a digit, where 3.3
        # would do, so that the interval is narrower than the last digit asked for.
        exactly = Context(prec=self._bits + 40)
        unit = exactly.power(Decimal(2), -self._bits)
        return exactly.multiply(Decimal(self._number), unit), exactly.multiply(Decimal(self._number + 1), unit)

    def exponential(self) -> tuple[float, float]:
        """Return -log of the number and a bound of its error; both as floats.

        Returns
        -------
        tuple of float
            The error includes that of the bits not yet drawn.
        """
        word = self._number >> (self._bits - 64)
        above = 2**64 - 1 - word
        if word >= 2**63:
            # Near 1, -log(1 - v) by log1p; half a word in v is a relative 0.5 / (above + 0.5) of the result.
            value = -math.log1p(-(above + 0.5) * 2.0**-64)
            return value, value * (0.51 / (above + 0.5) + ROUNDING)
        value = -math.log((word + 0.5) * 2.0**-64)
        # Half a word is a relative 0.5 / (word + 0.5) of the number, which is an absolute error of its log.
        return value, value * ROUNDING + 0.51 / word if word else math.inf

    def enclose_exponential(self, digits: int) -> Interval:
        """Enclose -log of the number.

        Parameters
        ----------
        digits : int
            Digits of precision.

        Returns
        -------
        tuple of Decimal
            Positive.
        """
        low, high = self.enclose(digits)
        context = Context(prec=self._bits + 40)
        return widened(context.minus(context.ln(high)), context.minus(context.ln(low)), context, digits)


class Words:
    """A search's random words, fetched 256 or more at a time.

    Parameters
    ----------
    rng : Source
        Where they come from.
    """

    def __init__(self, rng: Source) -> None:
        self._rng, self._left, self._at = rng, np.empty(0, dtype=np.uint64), 0

    def next(self) -> int:
        """Return a uniform word.

        Returns
        -------
        int
            On 0 .. 2^64 - 1.
        """
        return int(self.take(1)[0])

    def take(self, count: int) -> npt.NDArray[np.uint64]:
        """Return independent uniform words.

        Parameters
        ----------
        count : int
            Number of words.

        Returns
        -------
        ndarray of uint64, shape (count,)
            Each on 0 .. 2^64 - 1, and never returned again.
        """
        if self._at + count > len(self._left):
            self._left, self._at = self._rng.words(max(256, count)), 0
        self._at += count
        return self._left[self._at - count : self._at]


def widened(low: Decimal, high: Decimal, context: Context, digits: int) -> Interval:
    """Return an interval widened by a bound of the rounding errors in its ends.

    Parameters
    ----------
    low, high : Decimal
        Ends computed with some operations of at least `digits` digits.
    context : Context
        Its precision is not less.
    digits : int
        Digits of the ends.

    Returns
    -------
    tuple of Decimal
        Ends that enclose the exact ones.
    """
    # An operation of decimals errs by half a unit in its last digit; six digits pay for all that are done before, and
    # for what logarithms of numbers near 1 lose beside a size of 1.
    error = context.power(Decimal(10), 6 - digits)
    low_margin = context.multiply(error, context.add(1, context.abs(low)))
    high_margin = context.multiply(error, context.add(1, context.abs(high)))
    return context.subtract(low, low_margin), context.add(high, high_margin)


def context_for(digits: int) -> Context:
    """Return a context of decimal arithmetic with guard digits, and exponents that no score exhausts.

    Parameters
    ----------
    digits : int
        Digits of the result.

    Returns
    -------
    Context
        Of decimal arithmetic.
    """
    return Context(prec=3 * digits + 60, Emax=10**15, Emin=-(10**15), traps=[InvalidOperation, DivisionByZero])


def image(function: Callable[[Decimal, Context], Decimal], number: Real, digits: int) -> Interval:
    """Enclose a monotone function of a number.

    Parameters
    ----------
    function : callable
        Monotone, of a decimal and a context.
    number : Real
        The argument.
    digits : int
        Digits of precision.

    Returns
    -------
    tuple of Decimal
        Its ends.
    """
    context = context_for(digits)
    low, high = sorted(function(end, context) for end in number.enclose(digits))
    return widened(low, high, context, digits)


def difference(left: Real, right: Real) -> Real:
    """Return left - right.

    Parameters
    ----------
    left, right : Real
        The numbers.

    Returns
    -------
    Real
        Their difference.
    """

    def enclose(digits: int) -> Interval:
        context = context_for(digits)
        (low, high), (less, more) = left.enclose(digits), right.enclose(digits)
        return widened(context.subtract(low, more), context.subtract(high, less), context, digits)

    error = left.error + right.error + ROUNDING * (abs(left.value) + abs(right.value))
    return Real(left.value - right.value, error, enclose)


def largest(numbers: Sequence[Real]) -> Real:
    """Return the largest of some numbers, which may be equal.

    Parameters
    ----------
    numbers : sequence of Real
        At least one.

    Returns
    -------
    Real
        The largest.
    """

    def enclose(digits: int) -> Interval:
        ends = [number.enclose(digits) for number in numbers]
        return max(low for low, _ in ends), max(high for _, high in ends)

    # max is monotone in each number: its ends are the largest of their ends.
    reach = max(number.value + number.error for number in numbers)
    value = max(number.value for number in numbers)
    floor = max(number.value - number.error for number in numbers)
    return Real(value, max(reach - value, value - floor), enclose)


def log_sum(start: Real | None, energies: Sequence[Uniform], log_rate: Real) -> Real:
    """Return log(e^start + (E_1 + .. + E_k) / e^log_rate): the k-th next point of a Poisson process, in log time.

    Parameters
    ----------
    start : Real or None
        Where the process starts; None for minus infinity.
    energies : sequence of Uniform
        At least one; E_i is the exponential number that it gives.
    log_rate : Real
        Log of the process's rate.

    Returns
    -------
    Real
        The point.
    """
    parts = [energy.exponential() for energy in energies]
    gap, gap_error = math.fsum(part for part, _ in parts), math.fsum(error for _, error in parts)
    step = math.log(gap) - log_rate.value
    value, error = step, 1.1 * gap_error / gap + log_rate.error + ROUNDING * (1.0 + abs(step) + abs(log_rate.value))
    if start is not None:
        top = max(start.value, step)  # log(e^a + e^b) = top + log(e^(a - top) + e^(b - top)): nothing overflows
        value = top + math.log(math.exp(start.value - top) + math.exp(step - top))
        error += start.error + ROUNDING * (1.0 + abs(value))

    def enclose(digits: int) -> Interval:
        context = context_for(digits)
        sums = [Decimal(0), Decimal(0)]
        for energy in energies:
            sums = [context.add(*pair) for pair in zip(sums, energy.enclose_exponential(digits), strict=True)]
        starts = (None, None) if start is None else start.enclose(digits)
        rates = log_rate.enclose(digits)
        low, high = (
            _log_sum(begin, total, rate, context)
            # The higher the rate, the sooner the point: the lower end takes the upper rate.
            for begin, total, rate in zip(starts, sums, reversed(rates), strict=True)
        )
        # Where the lower end is minus infinity the energy is no larger than the margin that its upper end holds
        # already.
        return (low, high) if not low.is_finite() else widened(low, high, context, digits)

    # log(x (1 + e)) differs from log x by at most 1.1 |e| for |e| < .1; beyond, floats say nothing and digits decide.
    return Real(value, error if gap_error < 0.1 * gap else math.inf, enclose)


def _log_sum(start: Decimal | None, energy: Decimal, log_rate: Decimal, context: Context) -> Decimal:
    # Widening brought the lower end of a small energy to 0 or below: the point is no sooner than the start.
    if energy <= 0:
        return Decimal("-Infinity") if start is None else start
    step = context.subtract(context.ln(energy), log_rate)
    if start is None or not start.is_finite():
        return step
    top, rest = max(start, step), min(start, step)
    return context.add(top, context.ln(context.add(Decimal(1), context.exp(context.subtract(rest, top)))))
