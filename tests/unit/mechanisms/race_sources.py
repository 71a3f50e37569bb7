"""Numbers known to 60 digits and more, and sources of chosen words."""

from typing import Any

import mpmath
import numpy as np

from discreet.mechanisms.reals import Real, Uniform, Words
from discreet.mechanisms.rng import Source

DIGITS = 60


class Chosen(Source):
    """Some words first, then those of a seed."""

    def __init__(self, first: list[int], seed: int = 0) -> None:
        self._first, self._rest = list(first), Source.seeded(seed)

    def words(self, count: int) -> Any:
        """The chosen ones as long as they last."""
        now, self._first = self._first[:count], self._first[count:]
        return np.concatenate([np.array(now, dtype=np.uint64), self._rest.words(count - len(now))])


class InOrder(Words):
    """Words in the order of the source."""

    def next(self) -> int:
        """One at a time."""
        return int(self._rng.words(1)[0])


def uniform(*first: int, seed: int = 0) -> Uniform:
    """A uniform number whose first words are chosen."""
    return Uniform(InOrder(Chosen(list(first), seed)))


def ends(number: Real | Any, digits: int = DIGITS) -> tuple[Any, Any]:
    """What encloses a number, as mpmath's; a working precision to compare in."""
    low, high = number.enclose(digits)
    return mpmath.mpf(str(low)), mpmath.mpf(str(high))


def middle(number: Real, digits: int = DIGITS) -> Any:
    """A number to about that many digits."""
    low, high = ends(number, digits)
    return (low + high) / 2
