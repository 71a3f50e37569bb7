"""The noise of the profile likelihood: from a noisy least sum of squares to the range of the log-likelihoods."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.accounting.neighbors import NeighboringRelation
from discreet.methods.subset_selection.calibration import Sensitivity
from discreet.methods.subset_selection.sum_of_squares import squares_scale, squares_step
from discreet.typing import Floats

ROOM = 100
"""The bound of the least sum must exceed its sensitivity by this many solver's errors, or the choice is uniform."""

UP = 1 + Fraction(1, 2**40)
"""Makes up for the rounding of a few float64 operations and logarithms."""


@dataclass(frozen=True)
class ProfileNoise:
    """How far n log f moves between neighbors. Sums of squares are in squared target bounds.

    Parameters
    ----------
    sensitivity : Sensitivity
        Of the sums of squares.
    neighboring : NeighboringRelation
        Which tables are neighbors.
    n_rows : int
        n, or n0 where the number of rows is private: a public factor.
    """

    sensitivity: Sensitivity
    neighboring: NeighboringRelation
    n_rows: int

    # ---- the likelihood, with a bound of the least sum of squares that holds but with probability delta

    @property
    def threshold(self) -> Fraction:
        """A bound of the least sum of squares must lie above this, or the choice is uniform."""
        return self.sensitivity.size + ROOM * self.sensitivity.error

    def bound(self, published: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
        """Return L, which the least sum of squares falls below with probability delta at most; L may be negative.

        Source: privacy specification 2.2 and 14.
        """
        # F - tau - eta - scale log(1 / (2 delta)) - one step: the lower tail of Laplace noise is e^(-t) / 2.
        step = squares_step(self.sensitivity)
        tail = Fraction(math.log(float(1 / (2 * delta)))) * UP
        return published - self.sensitivity.error - squares_scale(self.sensitivity, epsilon) * step * tail * UP - step

    def gamma(self, bound: Fraction) -> Fraction:
        """Return the range sensitivity of n log f at a table whose least f is at least a bound.

        Source: privacy specification 2.1.
        """
        # n log((1 + x) / (1 - x)), or -n log(1 - x) under ADD_OR_REMOVE_ONE, with x = Delta / L.
        size = self.sensitivity.size
        n_rows_changed = 2 if self.neighboring is NeighboringRelation.REPLACE_ONE else 1
        return self.n_rows * Fraction(math.log1p(float(n_rows_changed * size / (bound - size)))) * UP

    def inflation(self, bound: Fraction) -> Fraction:
        """Return what the solver's error and rounding add to the range, in every neighbor that shares the bound."""
        # Twice the length of the interval of the errors of n log f; f is at least `least` in a neighbor.
        least = bound - self.sensitivity.size - self.sensitivity.error
        return 2 * (self.n_rows * self.sensitivity.error / least + self._rounding)

    @property
    def _rounding(self) -> Fraction:
        """Of n log f, f between 2^-60 and 2^60, either way: |n log f| <= 42 n, to 2^-50 of it."""
        return Fraction(2 * 42 * self.n_rows, 2**50)

    def log_likelihood(self, sums: Floats) -> Floats:
        """Return n log f of every model, -2 log-likelihood up to a constant. Not releasable."""
        # On the event that the bound holds no sum lies below the tolerance.
        return self.n_rows * np.log(np.maximum(sums, float(self.sensitivity.tolerance)))

    # ---- the floored likelihood, without any failure

    def floored_gamma(self, floor: Fraction) -> Fraction:
        """Return the range sensitivity of n log(f / n + s0^2).

        Source: privacy specification 2.5.
        """
        # n log(1 + Delta / (n s0^2)) for each row that comes or goes.
        n_rows_changed = 2 if self.neighboring is NeighboringRelation.REPLACE_ONE else 1
        share = float(self.sensitivity.size / (self.n_rows * floor))
        return n_rows_changed * self.n_rows * Fraction(math.log1p(share)) * UP

    def floored_inflation(self, floor: Fraction) -> Fraction:
        """Return what the solver's error and rounding add to the floored range."""
        return 2 * (self.sensitivity.error / floor * UP + self._rounding)

    def floored_log_likelihood(self, sums: Floats, floor: Fraction) -> Floats:
        """Return n log(f / n + s0^2) of every model, to be minimized. Not releasable."""
        return self.n_rows * np.log(np.maximum(sums, 0.0) / self.n_rows + float(floor))
