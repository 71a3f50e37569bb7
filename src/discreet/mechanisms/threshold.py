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
MOST_CHOSEN = 1000
NEGLIGIBLE = 2.0**-60
"""Of a class's weight: what the float weights may leave out, far below their slack."""


def above_threshold(
    scores: npt.ArrayLike,
    threshold: int,
    epsilon: Number,
    sensitivity: Number,
    rng: Source,
    absent_weight: int = 1,
    noise: TopKNoise = "exponential",
    max_size: int | None = None,
) -> Integers:
    """Draw the features whose scores lie above a threshold, over all 2^d subsets or those of at most `max_size`.

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
    max_size : int, optional
        Most features that may be chosen, from 1 to 1000; default all of them.

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
    if max_size is not None and (isinstance(max_size, bool) or not 1 <= max_size <= MOST_CHOSEN):
        raise InvalidParameterError(f"max_size must be a whole number of 1 .. {MOST_CHOSEN}, but is {max_size}.")
    classes = _Classes.of(values, t, absent_weight, max_size if max_size is not None else values.size)
    # argmin cost - (2 / epsilon) Z: two subsets' costs differ by 2 more at most between neighbors. In whole scores,
    # cost Delta is a distance, and the slope of distances is epsilon over twice Delta.
    words = Words(rng)
    winner = classes.race(exact_epsilon(epsilon) / (2 * size), rng.words(values.size + 1), words, noise == "gumbel")
    chosen = classes.natural.copy()
    if winner:
        farthest, free = classes.order[winner - 1], classes.order[: winner - 1]
        chosen[farthest] = ~chosen[farthest]
        chosen[free] = _free_subset(free.size, int(classes.room[winner]), absent_weight, words)
    return np.flatnonzero(chosen)


@dataclass(frozen=True)
class _Classes:
    """Subsets by the place of the farthest feature on the wrong side: 0 for none, j for the j-th nearest to t.

    In a class the nearer features are free, the farther ones on their own side: so its subsets have one cost. With n =
    j - 1 free features, room for r of them, and m absent ones among the others, they count together
    b^m (sum over i <= r of C(n, i) b^(n - i)), which is (1 + b)^n b^m where n <= r. No room, no subset.
    """

    natural: npt.NDArray[np.bool_]
    order: Integers
    costs: Integers
    n_free: Integers
    n_absent: Integers
    room: Integers
    absent_weight: int

    @classmethod
    def of(cls, values: Integers, t: int, absent_weight: int, max_size: int) -> "_Classes":
        distances, natural = np.abs(values - t), values > t
        order = np.argsort(distances, kind="stable")
        is_above = natural[order]
        # Of class j: itself, absent where it lies above and is moved; then those beyond it that lie below.
        # beyond[j]: how many of the features from place j on lie at t or below.
        beyond = np.concatenate([np.cumsum(~is_above[::-1])[::-1], [0]])
        n_free = np.concatenate([[0], np.arange(values.size)])
        n_absent = np.concatenate([beyond[:1], beyond[1:] + is_above])
        n_present = values.size - n_free - n_absent
        costs = np.concatenate([[0], distances[order]])
        return cls(natural, order, costs, n_free, n_absent, max_size - n_present, absent_weight)

    @property
    def _rounding(self) -> float:
        """Relative error of a weight in floats: a sum of `room` terms errs by as many roundings."""
        return ROUNDING * (1.0 if (self.room >= self.n_free).all() else MOST_CHOSEN)

    @property
    def log_weights(self) -> Floats:
        """Return the logarithm of what each class counts, shape (d + 1,); -inf for a class without a subset."""
        n, log_b = self.n_free, math.log(self.absent_weight)
        whole = n * math.log1p(self.absent_weight)
        is_cut = self.room < n
        if is_cut.any():
            whole = np.where(is_cut, _log_partial_sums(n, self.room, self.absent_weight), whole)
        return np.asarray(whole + self.n_absent * log_b)

    def race(self, slope: Fraction, drawn: npt.NDArray[np.uint64], words: Words, gumbel: bool) -> int:
        """Return the class whose best subset, after noise, is the best of all.

        The largest of W noises has the energy E / W, E exponential of rate one. Floats leave out who cannot win; the
        others are compared exactly.
        """
        weights = self.log_weights
        with np.errstate(divide="ignore", over="ignore"):
            # The best noise of W_j subsets has the energy E / W_j, so log E - log W_j; noise falls as energy rises, so
            # the smaller end of E gives the upper bound.
            losses = self.costs.astype(np.float64) * float(slope)
            slack = self._rounding * (1.0 + np.maximum(weights, 0.0) + losses)
            smaller, larger = minus_log_ends(drawn)
            high = _noise(np.log(smaller) - weights - slack, gumbel) - losses + slack
            low = _noise(np.log(larger) - weights + slack, gumbel) - losses - slack
        # Public facts do not tell which classes are empty, the side of each score does: all have a word all the same.
        is_empty = self.room < 0
        near = np.flatnonzero(~is_empty & ~(high < low[~is_empty].max()))
        contenders = [(int(j), self._value(int(j), slope, Uniform(words, int(drawn[j])), gumbel)) for j in near]
        best = contenders[0]
        for other in contenders[1:]:
            best = other if best[1] < other[1] else best
        return best[0]

    def _value(self, j: int, slope: Fraction, uniform: Uniform, gumbel: bool) -> Real:
        n, room = int(self.n_free[j]), int(self.room[j])
        weight = _log_weight(n, min(n, room), int(self.n_absent[j]), self.absent_weight)
        return difference(noise_of(log_sum(None, [uniform], weight), gumbel), rational(slope * int(self.costs[j])))


def _noise(log_energies: Floats, gumbel: bool) -> Floats:
    """Return -log(energy), or -log(1 - exp(-energy)), widened by what it errs: nothing beyond the caller's slack."""
    if gumbel:
        return -log_energies
    # Beyond e^6.6 the noise is 0 to a float, below e^-40 it is that of Gumbel.
    energies = np.exp(np.clip(log_energies, -40.0, 6.6))
    return np.where(log_energies < -40.0, -log_energies, -np.log(-np.expm1(-energies)))


def _log_partial_sums(n: Integers, room: Integers, absent_weight: int) -> Floats:
    """Return log(sum over i <= room of C(n, i) b^(n - i)), elementwise; -inf where room < 0.

    All terms are positive: each sum and product errs by a few units in the last place. What is left out once
    (d / b)^i / i! bounds the rest is below `NEGLIGIBLE` of the first term; both lie within the race's slack.
    """
    most = float(n.max()) / absent_weight
    # In units of b^n, so that the terms keep their digits beside n log(b).
    log_term, log_bound = np.zeros(n.size), 0.0
    sums = np.where(room >= 0, 0.0, -np.inf)
    # C(n, i) b^-i <= (n / b)^i / i!, whose ratios are below 1/2 from i > 2 n / b on: what is left is at most the last
    # bound, of a sum that is at least 1.
    for i in range(1, int(room.max(initial=0)) + 1):
        with np.errstate(divide="ignore", invalid="ignore"):
            log_term = log_term + np.log(np.maximum(n - i + 1, 0) / (i * float(absent_weight)))
        sums = np.logaddexp(sums, np.where(room >= i, log_term, -np.inf))
        log_bound += math.log(max(most, 1e-300) / i)
        if i > 2.0 * most and log_bound < math.log(NEGLIGIBLE):
            break
    return np.asarray(sums + n * math.log(absent_weight))


def _partial_sums(n: int, room: int, absent_weight: int) -> list[int]:
    """Return C(n, i) b^(room - i) for i up to room, exactly: what subsets with i of the n free features count."""
    return [math.comb(n, i) * absent_weight ** (room - i) for i in range(room + 1)]


def _log_weight(n_free: int, room: int, n_absent: int, absent_weight: int) -> Real:
    """Return the logarithm of what a class counts; room is n_free where all of the free features fit."""
    b, is_whole = absent_weight, room == n_free
    # W = (1 + b)^n b^m, or b^m sum C(n, i) b^(n - i) = b^(m + n - room) sum C(n, i) b^(room - i), a whole number.
    bases = (1 + b, b, 1) if is_whole else (1, b, sum(_partial_sums(n_free, room, b)))
    powers = (n_free if is_whole else 0, n_absent + (0 if is_whole else n_free - room), 1)

    def enclose(digits: int) -> Interval:
        context = context_for(digits)
        total = Decimal(0)
        for base, power in zip(bases, powers, strict=True):
            total = context.add(total, context.multiply(Decimal(power), context.ln(Decimal(base))))
        return widened(total, total, context, digits)

    value = sum(power * math.log(base) for base, power in zip(bases, powers, strict=True))
    return Real(value, ROUNDING * (1.0 + value), enclose)


def _free_subset(count: int, room: int, absent_weight: int, words: Words) -> npt.NDArray[np.bool_]:
    """Draw a subset of the free features that counts b for each absent one, of those with at most `room` features."""
    if room >= count:
        return _coins(count, absent_weight, words)
    sizes = _partial_sums(count, room, absent_weight)
    below, size = _below(sum(sizes), words), 0
    while below >= sizes[size]:
        below, size = below - sizes[size], size + 1
    chosen: set[int] = set()
    # Floyd's sampling without replacement: each set of this size is as likely.
    for last in range(count - size, count):
        place = _below(last + 1, words)
        chosen.add(last if place in chosen else place)
    is_chosen = np.zeros(count, dtype=np.bool_)
    is_chosen[list(chosen)] = True
    return is_chosen


def _below(bound: int, words: Words) -> int:
    """Draw a whole number of 0 .. bound - 1, each as likely."""
    # As many bits as bound - 1 has: at most half of the draws are rejected.
    n_words = max((bound - 1).bit_length() + 63, 64) // 64
    while True:
        number = int.from_bytes(words.take(n_words).astype("<u8").tobytes(), "little")
        number >>= 64 * n_words - max((bound - 1).bit_length(), 1)
        if number < bound:
            return number


def _coins(count: int, absent_weight: int, words: Words) -> npt.NDArray[np.bool_]:
    """Draw independent features, each present with probability 1 / (1 + b) exactly."""
    sides = 1 + absent_weight
    drawn = words.take(count)
    # A word beyond the last multiple of the number of sides is drawn again: with a probability below 2^-23.
    last = np.uint64(2**64 - 1 - 2**64 % sides)
    while (rejected := np.flatnonzero(drawn > last)).size:
        drawn = drawn.copy()
        drawn[rejected] = words.take(rejected.size)
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
