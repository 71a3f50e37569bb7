"""One selection theorem, three noises: permute-and-flip, the exponential mechanism, Laplace noisy minimum.

The draw is exact. Each candidate has one uniform number whose bits are drawn only as far as they are needed: 64 bits
and floating point decide almost always; where two candidates are closer than the error bound, more bits and decimal
arithmetic decide.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.accounting.guarantee import Number, exact, exact_epsilon
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.typing import Floats, Words

Noise = Literal["exponential", "gumbel", "laplace"]

NOISE_OF_MECHANISM: dict[str, Noise] = {
    "permute_and_flip": "exponential",
    "exponential": "gumbel",
    "laplace": "laplace",
}
"""Every noise here has a hazard rate of at most 1: the theorem's condition (privacy specification 0.3)."""

MOST_BITS = 2**14
"""Of a uniform number; that so many bits decide no comparison is less likely than any other fault."""

LEAST_RANGE = Fraction(1, 10**250)

_FLOAT_ERROR = 2.0**-46
"""Bounds the relative error of a few float64 operations and logarithms: 64 units in the last place."""


def noisy_min(
    scores: npt.ArrayLike,
    range_sensitivity: Number,
    epsilon: Number,
    rng: Source,
    noise: Noise = "exponential",
) -> int:
    """Return the index of the smallest score after noise, epsilon-differentially private.

    Parameters
    ----------
    scores : array_like of float, shape (n_candidates,)
        Smaller is better; finite.
    range_sensitivity : float or Fraction
        Gamma: the largest change, between neighbors, of the difference of two scores. Positive.
    epsilon : float or Fraction
        In nats, in (0, 1000].
    rng : Source
        Where the noise comes from.
    noise : {"exponential", "gumbel", "laplace"}
        Law of the noise, scaled by Gamma / epsilon.

    Returns
    -------
    int
        Index of the winner; ties have probability zero.

    Raises
    ------
    InvalidParameterError
        When a parameter is out of range; never because of the values of finite scores.

    Notes
    -----
    Claim: ``selection.privacy.md``. Cost: O(n_candidates) time and memory, a quarter of a second a million.

    References
    ----------
    Privacy specification 0.3 (Theorem 1); McKenna and Sheldon 2020; Dwork and Roth 2014.

    Examples
    --------
    >>> noisy_min([5.0, 0.0, 9.0], range_sensitivity=1.0, epsilon=100, rng=Source())
    1
    """
    return noisy_min_of_blocks([_checked(scores)], range_sensitivity, epsilon, rng, noise)


def noisy_min_of_blocks(
    blocks: Iterable[Floats],
    range_sensitivity: Number,
    epsilon: Number,
    rng: Source,
    noise: Noise = "exponential",
) -> int:
    """Return the index of the smallest noisy score, as `noisy_min`, from scores that come block by block.

    Parameters
    ----------
    blocks : iterable of ndarray of float
        Scores, smaller is better; finite.
    range_sensitivity : float or Fraction
        As for `noisy_min`.
    epsilon : float or Fraction
        In nats, in (0, 1000].
    rng : Source
        Where the noise comes from.
    noise : {"exponential", "gumbel", "laplace"}
        Law of the noise.

    Returns
    -------
    int
        Index of the winner, counted through the blocks.

    Raises
    ------
    InvalidParameterError
        When a parameter is out of range, or there is no score.

    Notes
    -----
    Claim: ``selection.privacy.md``.
    """
    if noise not in _QUANTILES:
        raise InvalidParameterError(f"noise must be one of {', '.join(_QUANTILES)}, but noise={noise!r}.")
    gamma = exact(range_sensitivity, "range_sensitivity")
    if not LEAST_RANGE <= gamma <= 1 / LEAST_RANGE:
        raise InvalidParameterError(f"range_sensitivity must be in 1e-250 .. 1e250, but it is {range_sensitivity}.")
    slope = exact_epsilon(epsilon) / gamma
    # argmin f_i - b Z_i, b = Gamma / epsilon, is argmax Z_i - (f_i - reference) / b: any reference common to all will
    # do.
    leading, count, reference = _Contenders.none(), 0, None
    for scores in blocks:
        if reference is None:
            reference = float(scores.min())
        leading = leading.joined(_Contenders.of(scores, count, reference, float(slope), rng.words(scores.size), noise))
        count += scores.size
    if reference is None:
        raise InvalidParameterError("scores must be a non-empty list of finite numbers. Check what computes them.")
    return int(leading.indices[0]) if leading.indices.size == 1 else _decide(leading, reference, slope, rng, noise)


def _checked(scores: npt.ArrayLike) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise InvalidParameterError("scores must be a non-empty list of finite numbers. Check what computes them.")
    return values


@dataclass(frozen=True)
class _Contenders:
    """Candidates that may still win: bounds of Z_i - slope * (score_i - reference) from 64 bits of noise each."""

    indices: npt.NDArray[np.intp]
    scores: Floats
    words: Words
    low: Floats
    high: Floats

    @classmethod
    def none(cls) -> "_Contenders":
        nothing = np.empty(0)
        return cls(np.empty(0, dtype=np.intp), nothing, np.empty(0, dtype=np.uint64), nothing, nothing)

    @classmethod
    def of(
        cls, scores: Floats, first: int, reference: float, slope: float, words: Words, noise: Noise
    ) -> "_Contenders":
        with np.errstate(over="ignore"):
            # slope (score - reference) by halves: the difference of two floats may overflow.
            behind = np.clip((scores / 2 - reference / 2) * (2 * slope), -1e300, 1e300)
        low, high = noise_bounds(words, noise, -behind)
        return cls(np.arange(first, first + scores.size), scores, words, low, high).leading()

    def joined(self, other: "_Contenders") -> "_Contenders":
        parts = zip(
            (self.indices, self.scores, self.words, self.low, self.high),
            (other.indices, other.scores, other.words, other.low, other.high),
            strict=True,
        )
        return _Contenders(*(np.concatenate(part) for part in parts)).leading()

    def leading(self) -> "_Contenders":
        """Return the candidates whose upper bound reaches the largest lower bound."""
        # Not `high >= low.max()`: a bound that is no number keeps its candidate, and digits decide.
        at = np.flatnonzero(~(self.high < self.low.max(initial=-np.inf)))
        return _Contenders(self.indices[at], self.scores[at], self.words[at], self.low[at], self.high[at])


def noise_bounds(words: Words, noise: Noise, ahead: Floats) -> tuple[Floats, Floats]:
    """Bound shifted noises from 64 bits of their uniform numbers.

    Parameters
    ----------
    words : ndarray of uint64
        The first bits of each.
    noise : {"exponential", "gumbel", "laplace"}
        Law of the noise.
    ahead : ndarray of float
        The shift of each, off by a few units in the last place.

    Returns
    -------
    tuple of ndarray of float
        Below and above the sums, whatever the further bits.
    """
    with np.errstate(divide="ignore"):
        low, high = _QUANTILES[noise].on_floats(words)
    # Relative to the noise, to the shift, and to 1: a logarithm near 0 errs by what its argument was rounded by.
    slack = _FLOAT_ERROR * (1.0 + np.abs(ahead))
    low = low - _FLOAT_ERROR * np.abs(low) + ahead - slack
    high = high + _FLOAT_ERROR * np.abs(high) + ahead + slack
    return low, high


# ---- more precision where a comparison is closer than the margin


@dataclass
class _Contender:
    """A candidate whose uniform number is known to lie in [word, word + 1) / 2^bits."""

    index: int
    behind: Fraction
    word: int
    bits: int


def _decide(left: _Contenders, reference: float, slope: Fraction, rng: Source, noise: Noise) -> int:
    """Draw more bits for the remaining candidates until one of them is ahead for certain."""
    contenders = [
        _Contender(int(index), (Fraction(float(score)) - Fraction(reference)) * slope, int(word), 64)
        for index, score, word in zip(left.indices, left.scores, left.words, strict=True)
    ]
    while len(contenders) > 1:  # each turn narrows every interval by 2^64: one turn suffices but for once in 2^50
        if contenders[0].bits > MOST_BITS:
            raise ArithmeticError("two random numbers agree beyond belief: the source of random bits is broken")
        for contender in contenders:
            contender.word = (contender.word << 64) | int(rng.words(1)[0])
            contender.bits += 64
        bounds = [_exact_bounds(contender, noise) for contender in contenders]
        ahead = max(low for low, _ in bounds)
        contenders = [c for c, (_, high) in zip(contenders, bounds, strict=True) if high >= ahead]
    return contenders[0].index


def _exact_bounds(contender: _Contender, noise: Noise) -> tuple[Decimal, Decimal]:
    # 2^-bits is 10^(-0.3 bits): half as many digits as bits are finer than the interval is wide.
    digits = contender.bits // 2 + 40
    context = Context(prec=digits)
    exactly = Context(prec=contender.bits + 40)  # 2^-bits has fewer digits than bits
    unit = exactly.power(Decimal(2), -contender.bits)
    ends = [exactly.multiply(Decimal(contender.word + step), unit) for step in (0, 1)]
    behind = context.divide(Decimal(contender.behind.numerator), Decimal(contender.behind.denominator))
    # Sorted, as exponential noise falls with its uniform number and the others rise.
    low, high = sorted(_QUANTILES[noise].on_decimals(end, context) for end in ends)
    error = context.power(Decimal(10), 6 - digits)
    return _shift(low, behind, -error, context), _shift(high, behind, error, context)


def _shift(end: Decimal, behind: Decimal, error: Decimal, context: Context) -> Decimal:
    """Return end - behind, moved outwards by a relative error."""
    if not end.is_finite():
        return end
    size = context.add(context.add(Decimal(1), context.abs(end)), context.abs(behind))
    return context.add(context.subtract(end, behind), context.multiply(error, size))


# ---- the three noises, as increasing or decreasing functions of a uniform number


@dataclass(frozen=True)
class _Quantile:
    """Bounds of the noise from 64 bits of its uniform number, and its value at an exact number in [0, 1]."""

    on_floats: Callable[[Words], tuple[Floats, Floats]]
    on_decimals: Callable[[Decimal, Context], Decimal]


def minus_log_ends(words: Words) -> tuple[Floats, Floats]:
    """Return -log of both ends of [word, word + 1) / 2^64, the smaller first, accurate near 0 and near 1.

    Parameters
    ----------
    words : ndarray of uint64
        The first bits of uniform numbers.

    Returns
    -------
    tuple of ndarray of float
        Of exponential numbers of rate one: below and above them, whatever the further bits.
    """
    above = (~words).astype(np.float64)  # 2^64 - 1 - word, exact before the cast
    near_one = words >= np.uint64(2**63)
    word = words.astype(np.float64)
    larger = np.where(near_one, -np.log1p(-(above + 1.0) * 2.0**-64), -np.log(word * 2.0**-64))
    smaller = np.where(near_one, -np.log1p(-above * 2.0**-64), -np.log((word + 1.0) * 2.0**-64))
    return smaller, larger


def _gumbel_floats(words: Words) -> tuple[Floats, Floats]:
    smaller, larger = minus_log_ends(words)  # Gumbel noise is -log(-log U)
    return -np.log(larger), -np.log(smaller)


def _laplace_floats(words: Words) -> tuple[Floats, Floats]:
    """Return the log of twice the smaller tail, signed: the lower half of the words is the lower tail."""
    lower = words < np.uint64(2**63)
    tail = np.where(lower, words, ~words).astype(np.float64)
    inner = np.log((tail + 1.0) * 2.0**-63)
    outer = np.log(tail * 2.0**-63)
    return np.where(lower, outer, -inner), np.where(lower, inner, -outer)


def _exponential_decimal(number: Decimal, context: Context) -> Decimal:
    return Decimal("Infinity") if number == 0 else context.minus(context.ln(number))


def _gumbel_decimal(number: Decimal, context: Context) -> Decimal:
    if number == 0 or number == 1:
        return Decimal("-Infinity") if number == 0 else Decimal("Infinity")
    return context.minus(context.ln(context.minus(context.ln(number))))


def _laplace_decimal(number: Decimal, context: Context) -> Decimal:
    if number == 0 or number == 1:
        return Decimal("-Infinity") if number == 0 else Decimal("Infinity")
    exact_context = Context(prec=len(number.as_tuple().digits) + 400)  # 1 - number without rounding
    tail = number if number < Decimal("0.5") else exact_context.subtract(Decimal(1), number)
    size = context.ln(exact_context.multiply(tail, Decimal(2)))
    return size if number < Decimal("0.5") else context.minus(size)


_QUANTILES: dict[str, _Quantile] = {
    "exponential": _Quantile(minus_log_ends, _exponential_decimal),
    "gumbel": _Quantile(_gumbel_floats, _gumbel_decimal),
    "laplace": _Quantile(_laplace_floats, _laplace_decimal),
}
