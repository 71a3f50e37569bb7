"""Which scores lie above a public threshold, without saying how many: one draw over all subsets of the features.

The cost of a subset is the number of sensitivities by which scores must move until it holds just the features above the
threshold t: cost(M) = max of |v_j - t| / Delta over the features j that M places on the wrong side of t.
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.accounting.guarantee import Number, exact, exact_epsilon
from discreet.errors import InvalidParameterError
from discreet.mechanisms.lipschitz_race import noise_of, rational
from discreet.mechanisms.reals import (
    ROUNDING,
    Interval,
    Real,
    Uniform,
    Words,
    context_for,
    difference,
    log_sum,
    widened,
)
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import minus_log_ends
from discreet.mechanisms.top_k import LEAST_SENSITIVITY, MAX_INTEGER, TopKNoise
from discreet.typing import Floats, Integers

MOST_COPIES = 2**40


def above_threshold(
    scores: npt.ArrayLike,
    threshold: int,
    epsilon: Number,
    sensitivity: Number,
    rng: Source,
    absent_weight: int = 1,
    noise: TopKNoise = "exponential",
) -> Integers:
    """Draw the features whose scores lie above a threshold, over all 2^d subsets.

    Parameters
    ----------
    scores : array_like of int, shape (d,)
        Whole numbers.
    threshold : int
        t, public.
    epsilon : float or Fraction
        In nats, in (0, 1000].
    sensitivity : float or Fraction
        Delta, the most that any one score changes between neighbors, up or down. Positive.
    rng : Source
        Where the noise comes from.
    absent_weight : int
        b, from 1 to 2^40, public: a subset M counts b^(d - len(M)) times. So 1 / (1 + b) is the share of features that
        noise alone would choose, and with b near d / 3 the threshold need not grow with d.
    noise : {"exponential", "gumbel"}
        Permute-and-flip, or the exponential mechanism.

    Returns
    -------
    ndarray of int, shape (number of chosen features,)
        Indices, increasing.

    Raises
    ------
    InvalidParameterError
        When a parameter is out of range; never because of the values of the scores.

    Notes
    -----
    Claim: ``threshold.privacy.md``. Cost: a sort, and O(d) numbers; the 2^d subsets fall into d + 1 classes.

    Examples
    --------
    >>> above_threshold([5, 90, 7, 80], threshold=40, epsilon=50, sensitivity=1, rng=Source())
    array([1, 3])
    """
    values, t, size = _checked(scores, threshold, sensitivity)
    if isinstance(absent_weight, bool) or not 1 <= absent_weight <= MOST_COPIES:
        raise InvalidParameterError(f"absent_weight must be a whole number of 1 .. 2^40, but is {absent_weight}.")
    if noise not in ("exponential", "gumbel"):
        raise InvalidParameterError(f"noise must be exponential or gumbel, but noise={noise!r}.")
    classes = _Classes.of(values, t, absent_weight)
    words = Words(rng)
    winner = classes.race(exact_epsilon(epsilon) / (2 * size), rng.words(values.size + 1), words, noise == "gumbel")
    chosen = classes.natural.copy()
    if winner:
        farthest, free = classes.order[winner - 1], classes.order[: winner - 1]
        chosen[farthest] = ~chosen[farthest]
        chosen[free] = _coins(free.size, absent_weight, words)
    return np.flatnonzero(chosen)


@dataclass(frozen=True)
class _Classes:
    """Subsets by the place of the farthest feature on the wrong side: 0 for none, j for the j-th nearest to t.

    In a class all features nearer than the j-th are free, those farther on their own side: so its subsets have one
    cost, and count (1 + b)^(j - 1) b^m_j times together, m_j the absent features among the j-th and those farther.
    """

    natural: npt.NDArray[np.bool_]
    order: Integers
    costs: Integers
    n_free: Integers
    n_absent: Integers
    absent_weight: int

    @classmethod
    def of(cls, values: Integers, t: int, absent_weight: int) -> "_Classes":
        distances, natural = np.abs(values - t), values > t
        order = np.argsort(distances, kind="stable")
        is_above = natural[order]
        # Of class j: itself, absent where it lies above and is moved; then those beyond it that lie below.
        beyond = np.concatenate([np.cumsum(~is_above[::-1])[::-1], [0]])
        return cls(
            natural,
            order,
            np.concatenate([[0], distances[order]]),
            np.concatenate([[0], np.arange(values.size)]),
            np.concatenate([beyond[:1], beyond[1:] + is_above]),
            absent_weight,
        )

    def race(self, slope: Fraction, drawn: npt.NDArray[np.uint64], words: Words, gumbel: bool) -> int:
        """Return the class whose best subset, after noise, is the best of all.

        The largest of W noises has the energy E / W, E exponential of rate one. Floats leave out who cannot win; the
        others are compared exactly.
        """
        weights = self.n_free * math.log1p(self.absent_weight) + self.n_absent * math.log(self.absent_weight)
        with np.errstate(divide="ignore", over="ignore"):
            losses = self.costs.astype(np.float64) * float(slope)
            slack = ROUNDING * (1.0 + weights + losses)
            smaller, larger = minus_log_ends(drawn)
            high = _noise(np.log(smaller) - weights - slack, gumbel) - losses + slack
            low = _noise(np.log(larger) - weights + slack, gumbel) - losses - slack
        near = np.flatnonzero(~(high < low.max()))
        contenders = [(int(j), self._value(int(j), slope, Uniform(words, int(drawn[j])), gumbel)) for j in near]
        best = contenders[0]
        for other in contenders[1:]:
            best = other if best[1] < other[1] else best
        return best[0]

    def _value(self, j: int, slope: Fraction, uniform: Uniform, gumbel: bool) -> Real:
        weight = _log_weight(int(self.n_free[j]), int(self.n_absent[j]), self.absent_weight)
        return difference(noise_of(log_sum(None, [uniform], weight), gumbel), rational(slope * int(self.costs[j])))


def _noise(log_energies: Floats, gumbel: bool) -> Floats:
    """Return -log(energy), or -log(1 - exp(-energy)), widened by what it errs: nothing beyond the caller's slack."""
    if gumbel:
        return -log_energies
    # Beyond e^6.6 the noise is 0 to a float, below e^-40 it is that of Gumbel.
    energies = np.exp(np.clip(log_energies, -40.0, 6.6))
    return np.where(log_energies < -40.0, -log_energies, -np.log(-np.expm1(-energies)))


def _log_weight(n_free: int, n_absent: int, absent_weight: int) -> Real:
    """Return n_free log(1 + b) + n_absent log(b)."""

    def enclose(digits: int) -> Interval:
        context = context_for(digits)
        free = context.multiply(Decimal(n_free), context.ln(Decimal(1 + absent_weight)))
        absent = context.multiply(Decimal(n_absent), context.ln(Decimal(absent_weight)))
        total = context.add(free, absent)
        return widened(total, total, context, digits)

    value = n_free * math.log1p(absent_weight) + n_absent * math.log(absent_weight)
    return Real(value, ROUNDING * (1.0 + value), enclose)


def _coins(count: int, absent_weight: int, words: Words) -> npt.NDArray[np.bool_]:
    """Draw independent features, each present with probability 1 / (1 + b) exactly."""
    sides = 1 + absent_weight
    drawn = words.take(count)
    # A word beyond the last multiple of the number of sides is drawn again: with a probability below 2^-23.
    last = np.uint64(2**64 - 1 - 2**64 % sides)
    while (again := np.flatnonzero(drawn > last)).size:
        drawn = drawn.copy()
        drawn[again] = words.take(again.size)
    return np.asarray(drawn % np.uint64(sides) == 0)


def _checked(scores: npt.ArrayLike, threshold: int, sensitivity: Number) -> tuple[Integers, int, Fraction]:
    """Return scores and threshold as whole numbers whose differences are exact, and the sensitivity."""
    values = np.asarray(scores)
    if values.dtype.kind not in "iu" or values.ndim != 1 or values.size == 0:
        raise InvalidParameterError("scores must be a non-empty list of whole numbers. Round what computes them.")
    if isinstance(threshold, bool) or not isinstance(threshold, (int, np.integer)):
        raise InvalidParameterError(f"threshold must be a whole number in the scores' steps, but is {threshold!r}.")
    size = exact(sensitivity, "sensitivity")
    if not LEAST_SENSITIVITY <= size <= 1 / LEAST_SENSITIVITY:
        raise InvalidParameterError(
            f"sensitivity must be in 1e-250 .. 1e250, but sensitivity={sensitivity}. Scale the scores."
        )
    low = 0 if values.dtype.kind == "u" else -MAX_INTEGER
    clipped = np.clip(values, low, MAX_INTEGER).astype(np.int64)
    return clipped, min(max(int(threshold), -MAX_INTEGER), MAX_INTEGER), size
