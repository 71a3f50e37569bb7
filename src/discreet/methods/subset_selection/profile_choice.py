"""How a model is chosen by its profile likelihood, once the least sum of squares is published."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.accounting.guarantee import exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.methods.subset_selection.calibration import Sensitivity
from discreet.methods.subset_selection.profile_noise import ProfileNoise
from discreet.methods.subset_selection.setting import Setting

LEAST_FLOOR = Fraction(1, 10**12)
"""Of s0^2, in squared target bounds."""


@dataclass(frozen=True)
class Split:
    """What is left for the method itself, and what its formulas take for the number of rows.

    Parameters
    ----------
    squares, selection : Fraction
        Epsilon of the sum of squares and of the choice, in nats.
    delta : Fraction
        With which the bound of the sum may fail.
    n_rows : int
        Public, or guessed.
    """

    squares: Fraction
    selection: Fraction
    delta: Fraction
    n_rows: int


@dataclass(frozen=True)
class Choice:
    """What the choice of the model is made with, in -2 log-likelihood.

    Parameters
    ----------
    gamma, inflation : Fraction
        Range of the scores' changes, and what computing adds to it.
    penalty : Fraction
        phi.
    uniform : bool
        Whether the scores are not looked at.
    """

    gamma: Fraction
    inflation: Fraction
    penalty: Fraction
    uniform: bool = False


@dataclass(frozen=True)
class ProfileChooser:
    """Ranges, penalties and scores of a request, from public facts and what was released.

    Parameters
    ----------
    neighboring : NeighboringRelation
        Which tables are neighbors.
    split : Split
        Privacy costs, and n.
    penalty : callable
        phi from the noise's scale, the number of free columns and n.
    variance_floor : float or None
        s0^2, in squared units of the target.
    """

    neighboring: NeighboringRelation
    split: Split
    penalty: Callable[[Fraction, int, int], Fraction]
    variance_floor: float | None

    def profile(self, setting: Setting) -> ProfileNoise:
        """Return the ranges of the log-likelihood, from public facts and earlier releases."""
        sensitivity = Sensitivity.of(setting.design, setting.ratio)
        return ProfileNoise(sensitivity, self.neighboring, self.split.n_rows)

    def choice(self, setting: Setting, bound: Fraction, uniform: bool = False) -> Choice:
        """Return range and penalty of the choice, given a lower bound of the least sum of squares."""
        profile, floor = self.profile(setting), self._floor(setting)
        if floor is not None:
            gamma, inflation = profile.floored_gamma(floor), profile.floored_inflation(floor)
        else:
            gamma, inflation = profile.gamma(bound), profile.inflation(bound)
        scale = (gamma + inflation) / self.split.selection
        penalty = self.penalty(scale, setting.n_units, self.split.n_rows)
        inflation += 2 * penalty * len(setting.design.candidates) / 2**51
        return Choice(gamma, inflation, penalty, uniform and floor is None)

    def widest(self, setting: Setting) -> Choice:
        """Return the choice with the most noise, just above the bound's threshold: uniform, unless the likelihood is
        floored.
        """
        return self.choice(setting, self.profile(setting).threshold * (1 + Fraction(1, 2**20)), uniform=True)

    def scored(
        self,
        setting: Setting,
        published: Fraction,
        sums: npt.NDArray[np.float64],
        counted: npt.NDArray[np.float64],
    ) -> tuple[Choice, npt.NDArray[np.float64]]:
        """Return the choice after a published sum of squares, and the scores n log f + phi |M|. The scores are not
        releasable.

        Scores are all zero where the bound is too small to choose by. Shapes: sums, counted (n_models,).
        """
        profile = self.profile(setting)
        bound = profile.bound(published, self.split.squares, self.split.delta)
        if bound <= profile.threshold:
            return self.widest(setting), np.zeros(len(sums))
        choice = self.choice(setting, bound)
        return choice, profile.log_likelihood(sums) + float(choice.penalty) * counted

    def floored(
        self, setting: Setting, sums: npt.NDArray[np.float64], counted: npt.NDArray[np.float64]
    ) -> tuple[Choice, npt.NDArray[np.float64]]:
        """Return the choice by the floored likelihood, and the scores n log(f / n + s0^2) + phi |M|, which are not
        releasable.

        Shapes: sums, counted (n_models,).
        """
        choice, floor = self.choice(setting, Fraction(0)), self._floor(setting) or Fraction(1)
        return choice, self.profile(setting).floored_log_likelihood(sums, floor) + float(choice.penalty) * counted

    def _floor(self, setting: Setting) -> Fraction | None:
        """s0^2 in squared target bounds; not below what floats can tell from nothing."""
        if self.variance_floor is None:
            return None
        unit = exact(setting.design.bound, "y_bound") ** 2
        return max(exact(self.variance_floor, "variance_floor") / unit, LEAST_FLOOR)
