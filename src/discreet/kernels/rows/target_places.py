"""Where a target lies among public points: counts of rows, for its center and for how far it lies from that."""

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells, Integers

CENTERS = 513
"""Equally spaced points, from the target's lower to its upper bound, on which its median is sought: an odd number, with
the middle among them."""

CLIPS = np.array(sorted(set(np.rint(GRID * np.exp2(np.arange(-192, 1) / 16.0)).tolist())), dtype=np.int64)
"""Bounds of the target that may be chosen, in steps of the public one: 16 an octave, down to 1 / 4096."""

PLACES = np.searchsorted(CLIPS, np.arange(GRID + 1))
"""Of each size of a target, the first of the `CLIPS` that is no less."""


def center_counts(cells: Cells) -> Integers:
    """Return how many rows have their target nearest to each of the `CENTERS`. The target is the last column."""
    # floor(x + 1/2) in whole numbers: no rounding of a float decides where a row lies.
    nearest = ((cells[:, -1].astype(np.int64) + GRID) * (CENTERS - 1) + GRID) // (2 * GRID)
    return np.bincount(nearest, minlength=CENTERS).astype(np.int64)


def clip_counts(cells: Cells) -> Integers:
    """Return how many rows have their target's size at most at each of the `CLIPS`, and above the one before."""
    places = PLACES[np.abs(cells[:, -1].astype(np.int64))]
    return np.bincount(places, minlength=len(CLIPS)).astype(np.int64)
