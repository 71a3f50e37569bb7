"""A random vector whose density falls with its length: the linear term of objective perturbation."""

import numpy as np
import numpy.typing as npt
from scipy.special import erfinv, ndtri

from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.typing import Floats

MOST_WORDS = 15
"""Words of leading zeros: a probability below 2^-960 is taken as that."""

ACCURACY = 1e-11
"""Bounds the vector's distance from the real vector that it rounds, relative to that vector's length."""


def spherical_laplace(n_numbers: int, rate: float, rng: Source) -> Floats:
    """Return a vector with density proportional to exp(-rate |b|).

    Parameters
    ----------
    n_numbers : int
        Its dimension, positive.
    rate : float
        Positive; the mean length is n_numbers / rate.
    rng : Source
        Where the noise comes from.

    Returns
    -------
    ndarray of float, shape (n_numbers,)
        A uniform direction times a length that is Gamma distributed with shape `n_numbers`; never zero, always finite.

    Raises
    ------
    InvalidParameterError
        When a parameter is out of range.

    Notes
    -----
    Claim: ``spherical.privacy.md``. Drawn in floating point: never release it, or a number to which it was added.

    References
    ----------
    Chaudhuri, Monteleoni, Sarwate 2011, Algorithm 2; privacy specification 6.2 and 8.3.

    Examples
    --------
    >>> spherical_laplace(3, 2.0, Source()).shape
    (3,)
    """
    if n_numbers < 1 or not 0.0 < rate < float("inf"):
        raise InvalidParameterError(f"A vector and its rate must be positive, but n={n_numbers} and rate={rate}.")
    direction = _normal(rng, n_numbers)  # independent normal coordinates: a uniform direction
    length = _exponential(rng, n_numbers).sum() / rate  # a sum of exponential numbers is Gamma distributed
    direction /= np.abs(direction).max()  # so that no square underflows
    vector: Floats = direction / np.linalg.norm(direction) * length
    return vector


def _normal(rng: Source, count: int) -> Floats:
    """Return normal numbers with a small relative error: a sign, and the size from its tail or from its center."""
    is_tail, chance = _half_chance(rng, count)
    # 2 Phi(-size) = V where V is the chance of both tails, erf(size / sqrt(2)) = V where it is that of the center.
    size = np.where(is_tail, -ndtri(chance / 2.0), np.sqrt(2.0) * erfinv(chance))
    numbers: Floats = np.where(_bits(rng, count), size, -size)
    return numbers


def _exponential(rng: Source, count: int) -> Floats:
    """Return exponential numbers with a small relative error, large or small."""
    is_tail, chance = _half_chance(rng, count)
    # V = e^-x in the tail, V = 1 - e^-x in the center.
    numbers: Floats = np.where(is_tail, -np.log(chance), -np.log1p(-chance))
    return numbers


def _half_chance(rng: Source, count: int) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Return a uniform number as a fair bit, tail or not, and its distance from that end: uniform in (0, 1/2)."""
    is_tail = _bits(rng, count)
    return is_tail, _small(rng, count)


def _bits(rng: Source, count: int) -> npt.NDArray[np.bool_]:
    bits: npt.NDArray[np.bool_] = (rng.words(count) >> np.uint64(63)).astype(bool)
    return bits


def _small(rng: Source, count: int) -> Floats:
    """Return uniform numbers in (0, 1/2), rounded by a relative 2^-52 or less."""
    zeros, empty = np.zeros(count, dtype=np.int64), np.ones(count, dtype=bool)
    for _ in range(MOST_WORDS):
        words = rng.words(int(empty.sum()))
        zeros[empty] += [64 - int(word).bit_length() for word in words]
        empty[empty] = words == 0
        if not empty.any():
            break
    # The number of leading zeros is geometric, the bits after the first one are uniform: 2^(-2 - zeros) (1 + bits).
    mantissa = 1.0 + ((rng.words(count) >> np.uint64(13)).astype(np.float64) + 0.5) * 2.0**-51
    numbers: Floats = np.ldexp(mantissa, -2 - zeros)
    return numbers
