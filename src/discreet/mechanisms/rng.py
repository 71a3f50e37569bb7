"""The one door to randomness: nothing else in Discreet may touch a source of random bits, but OpenDP in `additive`."""

import base64
import os

import numpy as np

from discreet.typing import Words


class Source:
    """Uniform random words from the operating system's entropy.

    Notes
    -----
    Every call asks the kernel anew: nothing is buffered, so a fork or a snapshot cannot repeat a word, and there is
    no seed to leak. Cost: about 25 ms a million words.

    References
    ----------
    Privacy specification 8.4.

    Examples
    --------
    >>> Source().words(3).dtype
    dtype('uint64')
    """

    @property
    def is_system(self) -> bool:
        """Tell whether the words are fit for a release."""
        return True

    def words(self, count: int) -> Words:
        """Return independent uniform words.

        Parameters
        ----------
        count : int
            Number of words.

        Returns
        -------
        ndarray of uint64, shape (count,)
            Each uniform on 0 .. 2^64 - 1.
        """
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)  # noqa: TID251 - this is the door

    @staticmethod
    def seeded(seed: int) -> "Source":
        """Return a reproducible source for tests, simulations and benchmarks.

        Parameters
        ----------
        seed : int
            Any non-negative integer.

        Returns
        -------
        Source
            Whoever knows the seed knows its words: a release drawn from it carries no guarantee.
        """
        return _SeededSource(seed)


class _SeededSource(Source):
    """Words that anybody who knows the seed can compute."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))  # noqa: TID251 - this is the door

    @property
    def is_system(self) -> bool:
        return False

    def words(self, count: int) -> Words:
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)


def token(n_bytes: int = 20) -> str:
    """Return a secret random text from the operating system's entropy.

    Parameters
    ----------
    n_bytes : int
        Bytes of entropy; 20 bytes are 160 bits.

    Returns
    -------
    str
        Small letters and digits of base 32, eight for each five bytes.

    Examples
    --------
    >>> len(token())
    32
    """
    return base64.b32encode(os.urandom(n_bytes)).decode().rstrip("=").lower()  # noqa: TID251 - this is the door
