"""Discrete Laplace and Gaussian noise on integers: what every published number gets.

For a release the noise comes from OpenDP's exact samplers, which take their bits from the operating system. A seeded
source simulates the same laws from its own words in floating point, for tests, simulations and benchmarks: fast, and
without any guarantee.
"""

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.accounting.guarantee import Number, exact
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.typing import Floats

MAX_SCALE = 2.0**55
"""OpenDP's 64 bits clip noise of this scale with a probability of e^-256."""

TABLE_SCALE = 256.0
"""Up to this scale a simulated Gaussian is drawn from the table of its law, beyond it by rounding a continuous one."""


def check_scale(scale: Number, purpose: str) -> None:
    """Refuse a scale of noise that cannot be drawn, before anything is charged.

    Parameters
    ----------
    scale : float, int or Fraction
        In the unit of the integers.
    purpose : str
        What the noise is for, as the message calls it.

    Raises
    ------
    InvalidParameterError
        When the scale is above 2^55.
    """
    if not exact(scale, "scale") <= MAX_SCALE:
        raise InvalidParameterError(
            f"The noise of {purpose} must fit in 64 bits, but its scale is {float(scale):.3g}. Raise epsilon or the "
            "share of it, or lower rows_per_unit."
        )


def discrete_laplace(values: Iterable[int], scale: Number, rng: Source) -> list[int]:
    """Add independent discrete Laplace noise: P(k) proportional to exp(-|k| / scale).

    Parameters
    ----------
    values : iterable of int
        Integers of any size.
    scale : float, int or Fraction
        In (0, 2^55], in the unit of the integers; rounded up to a float.
    rng : Source
        Where the noise comes from.

    Returns
    -------
    list of int
        The noisy values, of any size: nothing is clipped or wrapped.

    Raises
    ------
    InvalidParameterError
        When the scale is out of range; never because of the values.

    Notes
    -----
    Claim: ``additive.privacy.md``. Epsilon is the l1 sensitivity of the values over the scale. Cost: 10 microseconds a
    value, and a tenth of a second to load OpenDP; a seeded source takes a tenth of a microsecond.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan 2012; Canonne, Kamath, Steinke 2020, Algorithm 2; privacy specification 8.2.

    Examples
    --------
    >>> discrete_laplace([2**62], 0.01, Source()) == [2**62]
    True
    """
    return _noisy(values, _rounded_up(scale), rng, "laplace", _simulated_laplace)


def discrete_gaussian(values: Iterable[int], scale: Number, rng: Source) -> list[int]:
    """Add independent discrete Gaussian noise: P(k) proportional to exp(-k^2 / (2 scale^2)).

    Parameters
    ----------
    values : iterable of int
        Integers of any size.
    scale : float, int or Fraction
        In (0, 2^55], in the unit of the integers; rounded up to a float. The standard deviation, but for small scales.
    rng : Source
        Where the noise comes from.

    Returns
    -------
    list of int
        The noisy values, of any size: nothing is clipped or wrapped.

    Raises
    ------
    InvalidParameterError
        When the scale is out of range; never because of the values.

    Notes
    -----
    Claim: ``additive.privacy.md``. Cost: 20 microseconds a value, and a tenth of a second to load OpenDP; a seeded
    source takes a tenth of a microsecond.

    References
    ----------
    Canonne, Kamath, Steinke 2020, Algorithm 3 and Theorem 4; privacy specification 6.1 and 8.2.

    Examples
    --------
    >>> discrete_gaussian([7, -7], 0.01, Source())
    [7, -7]
    """
    return _noisy(values, _rounded_up(scale), rng, "gaussian", _simulated_gaussian)


def _noisy(
    values: Iterable[int],
    scale: float,
    rng: Source,
    law: str,
    simulated: Callable[[int, float, Source], npt.NDArray[np.int64]],
) -> list[int]:
    numbers = [int(value) for value in values]
    # A subclass of Source may be predictable: its noise must never look like that of a release.
    if type(rng) is Source:
        # On zeros, so that no sum can leave 64 bits: OpenDP would clip it there.
        noise = _opendp(law, scale)([0] * len(numbers)) if numbers else []
    else:
        noise = simulated(len(numbers), scale, rng).tolist()
    return [number + int(part) for number, part in zip(numbers, noise, strict=True)]


def _rounded_up(scale: Number) -> float:
    """Return a float that is no smaller: a larger scale gives no weaker guarantee."""
    exact_scale = exact(scale, "scale")
    if not 0 < exact_scale <= MAX_SCALE:
        raise InvalidParameterError(
            f"scale must lie in (0, 2^55], but scale={float(exact_scale):g}. "
            "Choose a larger epsilon, or a coarser grid."
        )
    nearest = float(exact_scale)
    return nearest if nearest >= exact_scale else math.nextafter(nearest, math.inf)


@functools.lru_cache(maxsize=64)
def _opendp(law: str, scale: float) -> Any:
    """Return OpenDP's measurement on vectors of 64-bit integers."""
    # A run without additive noise does not need it; its prelude would load half of the scientific libraries.
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian, make_laplace
    from opendp.metrics import l1_distance, l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    domain = vector_domain(atom_domain(T="i64"))
    if law == "laplace":
        return make_laplace(domain, l1_distance(T="i64"), scale=scale)
    return make_gaussian(domain, l2_distance(T="f64"), scale=scale)


# ---- the same laws from a seeded source, in floating point


def _simulated_laplace(count: int, scale: float, rng: Source) -> npt.NDArray[np.int64]:
    """Return the difference of two geometric numbers, each the floor of an exponential one."""
    # floor(scale E) has P(k) proportional to exp(-k / scale); the difference of two is discrete Laplace.
    waits = np.floor(-np.log(_uniform(rng, 2 * count)) * scale).reshape(2, count)
    noise: npt.NDArray[np.int64] = (waits[0] - waits[1]).astype(np.int64)
    return noise


def _simulated_gaussian(count: int, scale: float, rng: Source) -> npt.NDArray[np.int64]:
    """Invert the distribution function; from scale 256 on that of the continuous law, the same to five digits."""
    from scipy.special import ndtri  # slow to load

    u = _uniform(rng, count)
    if scale > TABLE_SCALE:
        rounded: npt.NDArray[np.int64] = np.rint(scale * ndtri(u)).astype(np.int64)
        return rounded
    # |K| >= k just where the tail of u is at most P(K >= k): each half of u inverts the tail of its own side.
    tail = np.minimum(u, 1.0 - u)
    size = np.searchsorted(-_gaussian_tails(scale), -tail, side="right")
    noise: npt.NDArray[np.int64] = np.where(u < 0.5, -size, size).astype(np.int64)
    return noise


@functools.lru_cache(maxsize=16)
def _gaussian_tails(scale: float) -> Floats:
    """Return P(K >= k) for k = 1, 2, .. up to 40 scales."""
    weights = np.exp(-0.5 * (np.arange(math.ceil(40.0 * scale) + 2) / scale) ** 2)
    tails = np.cumsum(weights[::-1])[::-1]
    # The sum over all integers is twice that from 0 on, less the weight of 0.
    probabilities: Floats = tails[1:] / (2.0 * tails[0] - weights[0])
    return probabilities


def _uniform(rng: Source, count: int) -> Floats:
    """Return numbers inside (0, 1), the lower tail as fine as floats can be."""
    numbers: Floats = (rng.words(count).astype(np.float64) + 0.5) * 2.0**-64
    return np.minimum(numbers, 1.0 - 2.0**-53)
