"""Random words that are decided beforehand: what a mechanism makes of them is then no matter of chance."""

from collections.abc import Sequence

import numpy as np

from discreet.mechanisms.rng import Source
from discreet.typing import Words


class Tape(Source):
    """A source whose first uniform numbers are given.

    Parameters
    ----------
    first : sequence of float
        Uniform numbers in (0, 1), in the order in which they are asked for.
    rest : float
        Every further one.
    """

    def __init__(self, first: Sequence[float] = (), rest: float = 0.5) -> None:
        self._words, self._rest, self._at = [_word(number) for number in first], _word(rest), 0

    @property
    def is_system(self) -> bool:
        """Such a release carries no guarantee."""
        return False

    def words(self, count: int) -> Words:
        """Return the next words: those of the tape, then random ones. Returns shape (count,)."""
        words = self._words[self._at : self._at + count]
        self._at += count
        return np.array(words + [self._rest] * (count - len(words)), dtype=np.uint64)


def _word(number: float) -> int:
    return min(int(number * 2.0**64), 2**64 - 1)
