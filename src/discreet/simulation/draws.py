"""Simulated numbers from a seeded source."""

import numpy as np
from scipy.special import ndtri

from discreet.mechanisms.rng import Source
from discreet.typing import Floats


def uniforms(rng: Source, *shape: int) -> Floats:
    """Return uniform numbers in (0, 1): multiples of 2^-53, shifted by half of one."""
    words = rng.words(int(np.prod(shape))) >> np.uint64(11)
    return np.asarray((words.astype(np.float64) + 0.5) * 2.0**-53).reshape(shape)


def normals(rng: Source, *shape: int) -> Floats:
    """Return standard normal numbers, within 8.3 of zero."""
    return np.asarray(ndtri(uniforms(rng, *shape)), dtype=np.float64)
