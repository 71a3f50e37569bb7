"""How far n log f moves between neighbors, and the scores of the choice by it (Lei et al. 2018, Algorithm 2)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.accounting.guarantee import exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.methods.subset_selection.calibration import Sensitivity
from discreet.methods.subset_selection.penalty import covering_penalty, default_max_false
from discreet.methods.subset_selection.setting import Setting
from discreet.methods.subset_selection.sum_of_squares import squares_scale, squares_step
from discreet.parameters.subset_selection import LikelihoodParameters
from discreet.typing import Floats

MAX_PENALTY = 1e15
"""Far above any difference of two log-likelihoods."""

ROOM = 100
"""The bound of the least sum must exceed its sensitivity by this many solver's errors, or the choice is uniform."""

UP = 1 + Fraction(1, 2**40)
"""Makes up for the rounding of a few float64 operations and logarithms."""

LEAST_FLOOR = Fraction(1, 10**12)
"""Of s0^2, in squared target bounds."""


@dataclass(frozen=True)
class LikelihoodSplit:
    """Epsilon of the sum of squares and of the choice, the delta with which the sum's bound may fail, and n or n0."""

    squares: Fraction
    selection: Fraction
    delta: Fraction
    n_rows: int


@dataclass(frozen=True)
class LikelihoodChoice:
    """Range of the scores' changes, what computing adds to it, and phi, in -2 log-likelihood; a uniform choice looks
    at no score.
    """

    gamma: Fraction
    inflation: Fraction
    penalty: Fraction
    uniform: bool = False


@dataclass(frozen=True)
class LikelihoodScores:
    """How far n log f moves between neighbors, and the choice by it. Sums of squares are in squared target bounds."""

    method: LikelihoodParameters
    setting: Setting
    neighboring: NeighboringRelation
    split: LikelihoodSplit

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """Of the sums of squares."""
        return Sensitivity.of(self.setting.design, self.setting.ratio)

    @property
    def _n_rows_changed(self) -> int:
        return 2 if self.neighboring is NeighboringRelation.REPLACE_ONE else 1

    @property
    def _rounding(self) -> Fraction:
        """Of n log f, f between 2^-60 and 2^60, either way: |n log f| <= 42 n, to 2^-50 of it."""
        return Fraction(2 * 42 * self.split.n_rows, 2**50)

    # ---- the likelihood, with a bound of the least sum of squares that holds but with probability delta

    @property
    def threshold(self) -> Fraction:
        """A bound of the least sum of squares must lie above this, or the choice is uniform."""
        return self.sensitivity.size + ROOM * self.sensitivity.error

    def bound(self, published: Fraction) -> Fraction:
        """L, which the least sum of squares falls below with probability delta at most; L may be negative.

        Source: privacy specification 2.2 and 14.
        """
        # F - tau - eta - scale log(1 / (2 delta)) - one step: the lower tail of Laplace noise is e^(-t) / 2.
        step, scale = squares_step(self.sensitivity), squares_scale(self.sensitivity, self.split.squares)
        tail = Fraction(math.log(float(1 / (2 * self.split.delta)))) * UP
        return published - self.sensitivity.error - scale * step * tail * UP - step

    def gamma(self, bound: Fraction) -> Fraction:
        """Range sensitivity of n log f at a table whose least f is at least a bound.

        Source: privacy specification 2.1.
        """
        # n log((1 + x) / (1 - x)), or -n log(1 - x) under ADD_OR_REMOVE_ONE, with x = Delta / L.
        size = self.sensitivity.size
        # (L + Delta) / (L - Delta) = 1 + 2 Delta / (L - Delta), and L / (L - Delta) = 1 + Delta / (L - Delta).
        share = float(self._n_rows_changed * size / (bound - size))
        return self.split.n_rows * Fraction(math.log1p(share)) * UP

    def inflation(self, bound: Fraction) -> Fraction:
        """What the solver's error and rounding add to the range, in every neighbor that shares the bound."""
        # Twice the length of the interval of the errors of n log f; f is at least `least` in a neighbor.
        least = bound - self.sensitivity.size - self.sensitivity.error
        return 2 * (self.split.n_rows * self.sensitivity.error / least + self._rounding)

    # ---- the floored likelihood, without any failure

    @property
    def floor(self) -> Fraction | None:
        """s0^2 in squared target bounds; not below what floats can tell from nothing."""
        if self.method.variance_floor is None:
            return None
        unit = exact(self.setting.design.bound, "y_bound") ** 2
        return max(exact(self.method.variance_floor, "variance_floor") / unit, LEAST_FLOOR)

    def floored_gamma(self, floor: Fraction) -> Fraction:
        """Range sensitivity of n log(f / n + s0^2): n log(1 + Delta / (n s0^2)) for each row that comes or goes.

        Source: privacy specification 2.5.
        """
        n_rows = self.split.n_rows
        share = float(self.sensitivity.size / (n_rows * floor))
        return self._n_rows_changed * n_rows * Fraction(math.log1p(share)) * UP

    def floored_inflation(self, floor: Fraction) -> Fraction:
        """What the solver's error and rounding add to the floored range."""
        return 2 * (self.sensitivity.error / floor * UP + self._rounding)

    # ---- the penalty

    def false_chance(self, scale: Fraction) -> float:
        """The chance of a false column, where no column goes with the target, at a scale of the choice's noise."""
        likely, stated = float(min(scale, Fraction(10**12))), self.method.max_false
        return stated or default_max_false(likely, self.split.n_rows, self.setting.n_units, 1.0)

    def penalty(self, scale: Fraction) -> Fraction:
        """Phi on the scale of -2 log-likelihood, at a scale of the choice's noise."""
        named, n_units, n_rows = self.method.model_penalty, self.setting.n_units, self.split.n_rows
        if isinstance(named, float):
            penalty = exact(named, "model_penalty")
        elif named == "auto":
            likely = float(min(scale, Fraction(10**12)))
            penalty = Fraction(covering_penalty(1.0, likely, n_units, n_rows, self.false_chance(scale)))
        else:
            penalty = Fraction(2.0 if named == "aic" else math.log(max(n_rows, 2)))
        return min(penalty, Fraction(MAX_PENALTY))

    # ---- the choice

    def choice(self, bound: Fraction, uniform: bool = False) -> LikelihoodChoice:
        """Range and penalty of the choice, given a lower bound of the least sum of squares."""
        floor = self.floor
        if floor is not None:
            gamma, inflation = self.floored_gamma(floor), self.floored_inflation(floor)
        else:
            gamma, inflation = self.gamma(bound), self.inflation(bound)
        scale = (gamma + inflation) / self.split.selection
        penalty = self.penalty(scale)
        inflation += 2 * penalty * len(self.setting.design.candidates) / 2**51
        return LikelihoodChoice(gamma, inflation, penalty, uniform and floor is None)

    def widest(self) -> LikelihoodChoice:
        """The choice with the most noise, just above the threshold: uniform, unless the likelihood is floored."""
        return self.choice(self.threshold * (1 + Fraction(1, 2**20)), uniform=True)

    def scored(self, published: Fraction, sums: Floats, counted: Floats) -> tuple[LikelihoodChoice, Floats]:
        """The choice after a published sum of squares, and the scores n log f + phi |M|, which are not releasable.

        All are zero where the bound is too small to choose by.
        """
        bound = self.bound(published)
        if bound <= self.threshold:
            return self.widest(), np.zeros(len(sums))
        choice = self.choice(bound)
        return choice, self.log_likelihoods(sums) + float(choice.penalty) * counted

    def log_likelihoods(self, sums: Floats) -> Floats:
        """Of every model n log f, -2 log-likelihood up to a constant; not releasable."""
        # On the event that the bound holds no sum lies below the tolerance.
        return self.split.n_rows * np.log(np.maximum(sums, float(self.sensitivity.tolerance)))

    def floored(self, sums: Floats, counted: Floats) -> tuple[LikelihoodChoice, Floats]:
        """The choice by the floored likelihood, and n log(f / n + s0^2) + phi |M|, which are not releasable."""
        choice, floor, n_rows = self.choice(Fraction(0)), float(self.floor or 1), self.split.n_rows
        likelihoods = n_rows * np.log(np.maximum(sums, 0.0) / n_rows + floor)
        return choice, likelihoods + float(choice.penalty) * counted
