"""Rows in coordinates in which columns have about unit variance and no correlation, and none is long.

A bound on |x| in half ranges asks for the same noise in every direction, and where columns are narrow, far from the
middle of their bounds or alike that is much beside what the rows tell there. In z = A x, A from released means and
covariances, noise that is the same in every direction is the same part of what the rows tell. In weighted products a
row z longer than a length counts (length / |z|)^2. In the score no row counts less, or coefficients would be those of
other rows wherever the model does not hold: a row's score, residual times z, is shortened to `cut` as a whole.
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.typing import Floats

LONGEST = GRID * (1.0 - 2.0**-40)
"""Of a turned row in steps; the hair covers the rounding of a length."""


@dataclass(frozen=True)
class Turn:
    """A public map from a row's cells to its coordinates.

    Parameters
    ----------
    matrix : ndarray of float, shape (p, p)
        Whole numbers: of a row's cells its coordinates, over `scale`.
    scale : float
        GRID is the length.
    length : float
        Longer rows count less in weighted products.
    cut : float
        Longer scores are shortened to it; none is where that is more than the largest residual times the length.
    """

    matrix: Floats
    scale: float
    length: float
    cut: float = math.inf

    @classmethod
    def of(cls, matrix: Floats, length: float) -> "Turn":
        """Return the map that is nearest to a matrix per half range, shorter rows being scaled to `length`."""
        p = len(matrix)
        bits = 37 - math.ceil(math.log2(p + 1))  # so that p products with a cell of 15 bits are below 2^53
        unit = max(float(np.abs(matrix).max()), 1e-300) / (2**bits - 1)
        return cls(np.rint(matrix / unit), unit / length, length)

    @property
    def natural(self) -> Floats:
        """A: of a row in half ranges its coordinates."""
        natural: Floats = self.matrix * (self.scale * self.length)
        return natural

    def to(self, length: float, cut: float) -> "Turn":
        """Return the same coordinates with another length and cut."""
        return Turn(self.matrix, self.scale * self.length / length, length, cut)
