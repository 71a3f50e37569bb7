"""The k largest of many scores with noise on each, exactly: bounds from 64 bits, more bits where they overlap."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.lipschitz_race import log_of, rational
from discreet.mechanisms.reals import Real, Uniform, Words, difference, log_sum
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noise_bounds
from discreet.typing import Floats, Integers

Scores = npt.NDArray[Any]

BLOCK = 2**18


def noisy_leaders(values: Scores, k: int, slope: Fraction, rng: Source, gumbel: bool) -> Integers:
    """Return the indices of the k largest values of slope times score plus noise.

    Parameters
    ----------
    values : ndarray of float64 or int64, shape (d,)
        Scores, d > k.
    k : int
        Number of indices.
    slope : Fraction
        Positive.
    rng : Source
        Where the noise comes from.
    gumbel : bool
        Else the noise is exponential.

    Returns
    -------
    ndarray of int, shape (k,)
        Indices, increasing.

    Notes
    -----
    Cost: O(d), a block of scores at a time. Scores are taken less the k-th largest, so that floats are fine near it.
    """
    # All scores share the reference, so no comparison depends on it, although it is private.
    leaders, reference = None, np.partition(values, values.size - k)[values.size - k]
    for start in range(0, values.size, BLOCK):
        part = values[start : start + BLOCK]
        drawn = _Leaders.of(part, start, reference, float(slope), rng.words(part.size), gumbel)
        leaders = (drawn if leaders is None else leaders.joined(drawn)).leading(k)
    # Two intervals overlap at the k-th place: the same words, and bits after them, decide.
    if leaders is None or leaders.at.size > k:
        return _decided(leaders, k, slope, Words(rng), gumbel) if leaders is not None else np.empty(0, dtype=np.int64)
    return np.sort(leaders.at)


@dataclass(frozen=True)
class _Leaders:
    """Scores that may be among the largest, with bounds of their noisy values from 64 bits of noise each."""

    at: Integers
    scores: Scores
    words: npt.NDArray[np.uint64]
    low: Floats
    high: Floats

    @classmethod
    def of(
        cls, scores: Scores, first: int, reference: float, slope: float, words: npt.NDArray[np.uint64], gumbel: bool
    ) -> "_Leaders":
        with np.errstate(over="ignore"):
            # Scores are within 2^62 or 2^1022, so differences fit; the product with the slope may overflow, and is cut.
            ahead = np.clip((scores - reference).astype(np.float64) * slope, -1e300, 1e300)
        low, high = noise_bounds(words, "gumbel" if gumbel else "exponential", ahead)
        return cls(np.arange(first, first + scores.size), scores, words, low, high)

    def joined(self, other: "_Leaders") -> "_Leaders":
        pairs = zip(self.fields(), other.fields(), strict=True)
        return _Leaders(*(np.concatenate(pair) for pair in pairs))

    def fields(self) -> tuple[npt.NDArray[Any], ...]:
        return self.at, self.scores, self.words, self.low, self.high

    def leading(self, k: int) -> "_Leaders":
        """Return the entries whose upper bound reaches the k-th largest lower bound."""
        if self.at.size <= k:
            return self
        # k entries reach at least the floor, so one whose upper bound lies below is out, in every later block too.
        floor = np.partition(self.low, self.low.size - k)[self.low.size - k]
        at = np.flatnonzero(~(self.high < floor))
        return _Leaders(*(field[at] for field in self.fields()))


def _decided(leaders: _Leaders, k: int, slope: Fraction, words: Words, gumbel: bool) -> Integers:
    """Order the remaining scores by as many bits as it takes."""
    exact = [
        (int(at), _noisy(Fraction(score.item()) * slope, Uniform(words, int(word)), gumbel))
        for at, score, word in zip(leaders.at, leaders.scores, leaders.words, strict=True)
    ]
    exact.sort(key=cmp_to_key(_larger_first))
    return np.sort(np.array([at for at, _ in exact[:k]], dtype=np.int64))


def _noisy(ahead: Fraction, uniform: Uniform, gumbel: bool) -> Real:
    if gumbel:
        # Gumbel noise is -log E, E exponential; exponential noise is E itself.
        return difference(rational(ahead), log_sum(None, [uniform], log_of(1)))
    value, error = uniform.exponential()
    return difference(Real(value, error, uniform.enclose_exponential), rational(-ahead))


def _larger_first(left: tuple[int, Real], right: tuple[int, Real]) -> int:
    return -1 if right[1] < left[1] else 1
