"""A random vector whose density falls with its length: the linear term of objective perturbation."""

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source

Floats = npt.NDArray[np.float64]


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
        A uniform direction times a length that is Gamma distributed with shape `n_numbers`.

    Raises
    ------
    InvalidParameterError
        When a parameter is out of range.

    Notes
    -----
    Claim: ``spherical.privacy.md``. Drawn in floating point: never release it, or a number that it was merely added to.

    References
    ----------
    Chaudhuri, Monteleoni, Sarwate 2011, Algorithm 2; privacy specification 6.2.

    Examples
    --------
    >>> spherical_laplace(3, 2.0, Source()).shape
    (3,)
    """
    if n_numbers < 1 or not 0.0 < rate < float("inf"):
        raise InvalidParameterError(f"A vector and its rate must be positive, but n={n_numbers} and rate={rate}.")
    direction = ndtri(_uniform(rng, n_numbers))
    length = -np.log(_uniform(rng, n_numbers)).sum() / rate  # a sum of exponential numbers is Gamma distributed
    found: Floats = direction / np.linalg.norm(direction) * length
    return found


def _uniform(rng: Source, count: int) -> Floats:
    """Numbers in (0, 1): the middles of 2^53 cells."""
    found: Floats = ((rng.words(count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return found
