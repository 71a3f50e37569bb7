"""Simulated numbers from a seeded source."""

from statistics import NormalDist

import numpy as np

from discreet.mechanisms.rng import Source
from discreet.typing import Floats


def uniforms(rng: Source, *shape: int) -> Floats:
    """Return uniform numbers in (0, 1): multiples of 2^-53, shifted by half of one."""
    words = rng.words(int(np.prod(shape))) >> np.uint64(11)
    return np.asarray((words.astype(np.float64) + 0.5) * 2.0**-53).reshape(shape)


def normals(rng: Source, *shape: int) -> Floats:
    """Return standard normal numbers, within 8.3 of zero."""
    from scipy.special import ndtri  # slow to load

    return np.asarray(ndtri(uniforms(rng, *shape)), dtype=np.float64)


def some_normals(rng: Source, *shape: int) -> Floats:
    """Return standard normal numbers as `normals` does, to the last digits, without what that loads: of some 10^5."""
    of_share, shares = NormalDist().inv_cdf, np.minimum(uniforms(rng, *shape), 1.0 - 2.0**-53)
    return np.array([of_share(share) for share in shares.ravel().tolist()], dtype=np.float64).reshape(shape)
