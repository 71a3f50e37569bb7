"""Penalized constrained least squares: the private choice of a regression model (Lei et al. 2018, Algorithm 1)."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.accounting.events import Event, SelectionEvent, event_record
from discreet.accounting.guarantee import exact, exact_epsilon
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noisy_min
from discreet.mechanisms.subset_search import ENUMERATED, noisy_min_subset
from discreet.methods.base.method import Outcome, Progress
from discreet.methods.base.request_facts import models_progress, rows_progress
from discreet.methods.subset_selection.calibration import (
    MAX_PENALTY,
    Calibration,
    Sensitivity,
    bounded_penalty,
)
from discreet.methods.subset_selection.penalty import covering_penalty, default_max_false, noise_penalty
from discreet.methods.subset_selection.setting import Setting
from discreet.methods.subset_selection.subset_regression import (
    PreparedSelection,
    SubsetSelection,
    events_of,
    largest_target,
)
from discreet.methods.subset_selection.target_scale import TYPICAL_ROWS
from discreet.methods.subset_selection.tuning import Tuned, estimate_privately
from discreet.methods.subset_selection.tuning_plan import Tuning
from discreet.parameters.ranges import MAX_ROWS
from discreet.parameters.subset_selection import LeastSquaresParameters
from discreet.release import NoiseRecord, StepRecord
from discreet.typing import Integers, Masks


class PenalizedLeastSquares(LeastSquaresParameters, SubsetSelection):
    """Which columns belong in a linear regression: the noisy minimum of constrained least squares plus a penalty.

    References
    ----------
    Lei, Charest, Slavkovic, Smith, Fienberg 2018, section 3 and Algorithm 1; privacy specification 1 and 3.
    """

    name: ClassVar[str] = "pcls"

    def prepare(
        self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None
    ) -> "PreparedLeastSquares":
        """Check the request and calibrate its noise, from public facts alone.

        Parameters
        ----------
        metadata : Metadata
            What is public about the table.
        target : str
            The response, numeric.
        candidates : sequence of str, optional
            Columns that may be selected; default all declared ones but the target.

        Returns
        -------
        PreparedLeastSquares
            The cost, the noise, and a `run`.

        Raises
        ------
        InvalidParameterError
            When names, sizes or the number of models do not fit.
        MetadataError
            When a column lacks bounds or levels.
        """
        if self.as_published and self.model_penalty in ("aic", "bic"):
            raise InvalidParameterError(
                f"as_published must have a number as model_penalty, but it is {self.model_penalty}: the paper does not "
                "say where sigma^2 comes from. Give phi."
            )
        setting = self.setting(metadata, target, candidates)
        needs_rows = self.model_penalty == "auto" and self.max_false is None and not self.as_published
        tuning = self.tuning(metadata, setting, n_rows=needs_rows)
        if not self.as_published and self._estimates_variance(setting, tuning):
            tuning = self.tuning(metadata, setting, n_rows=True, variance=True)
        return PreparedLeastSquares(self, setting, tuning)

    def _estimates_variance(self, setting: Setting, tuning: Tuning) -> bool:
        """Whether sampling can matter beside the noise: sigma^2 is hardly above r^2 / 4 (a public rule)."""
        if self.model_penalty != "auto" or tuning.n_public is None:
            return self.model_penalty in ("aic", "bic")
        scale = float(Sensitivity.of(setting.design, setting.ratio).range / tuning.remaining)
        max_false = self.false_chance(setting, tuning, scale, tuning.n_public)
        noise = noise_penalty(scale, setting.n_units, max_false)
        return math.log(tuning.n_public) * self._likely_variance(tuning) >= 0.5 * noise

    @staticmethod
    def _likely_variance(tuning: Tuning) -> float:
        """Of a residual, in squared target bounds: a bound that is typical of the target has more of it inside."""
        return 0.5 if "y_bound" in tuning.budget else 0.25

    def false_chance(self, setting: Setting, tuning: Tuning, scale: float, n_rows: int) -> float:
        """Return the chance of a false column that the penalty auto is set for, as stated or by default.

        Parameters
        ----------
        setting : Setting
            Of the models.
        tuning : Tuning
            The private estimates before the choice.
        scale : float
            Of the selection's noise, in squared target bounds.
        n_rows : int
            The number of rows.

        Returns
        -------
        float
            Where no column goes with the target.
        """
        if self.max_false is not None:
            return self.max_false
        # Of a target within bounds that are public: a standard deviation of a third of them is typical.
        variance = 0.5 if "y_bound" in tuning.budget else 1.0 / 9.0
        return default_max_false(scale, n_rows, setting.n_units, variance)

    def penalty(self, setting: Setting, tuning: Tuning, scale: Fraction, sigma2: float | None, n_rows: int) -> Fraction:
        """Return phi in squared target bounds.

        Parameters
        ----------
        setting : Setting
            Whose target bound is the unit.
        tuning : Tuning
            The private estimates before the choice.
        scale : Fraction
            Of the selection's noise.
        sigma2 : float or None
            The residual variance, where it was estimated.
        n_rows : int
            The number of rows, where the penalty needs one.

        Returns
        -------
        Fraction
            At least 0.
        """
        if isinstance(self.model_penalty, float):
            return exact(self.model_penalty, "model_penalty") / exact(setting.design.bound, "y_bound") ** 2
        if self.model_penalty == "auto":
            variance = sigma2 if sigma2 is not None else self._likely_variance(tuning)
            max_false = self.false_chance(setting, tuning, float(scale), n_rows)
            return Fraction(covering_penalty(variance, float(scale), setting.n_units, n_rows, max_false))
        return Fraction((sigma2 or 0.0) * (2.0 if self.model_penalty == "aic" else math.log(max(n_rows, 2))))


class PreparedLeastSquares(PreparedSelection):
    """A request of `PenalizedLeastSquares` with its noise fixed.

    Parameters
    ----------
    method : PenalizedLeastSquares
        The parameters.
    setting : Setting
        The widest that can come out.
    tuning : Tuning
        The private estimates before the choice.
    """

    def __init__(self, method: PenalizedLeastSquares, setting: Setting, tuning: Tuning) -> None:
        super().__init__(method, setting, tuning)
        self.method = method
        # As it will be, or with the most noise and penalty that the estimates before it can lead to.
        variance = 1.0 if "sigma2" in tuning.budget else None
        fixed = not tuning.budget.keys() - {"y_center"}
        most_rows = MAX_ROWS if "n_rows" in tuning.budget else TYPICAL_ROWS
        self.calibration = self._calibrated(setting, variance, tuning.n_public or most_rows)
        if fixed:
            bounded_penalty(self.calibration.penalty)
        if isinstance(method.model_penalty, float):
            bounded_penalty(exact(method.model_penalty, "model_penalty") / exact(setting.design.bound, "y_bound") ** 2)
        selection = SelectionEvent(self.calibration.epsilon, self.calibration.noise)
        parts = tuning.parts
        self.event: Event | None = None if method.as_published else events_of(*(p.event for p in parts), selection)
        self.noise = self._noise(setting, self.calibration)
        if "n_rows" in tuning.budget and method.max_false is None:  # the chance follows from their number
            self.noise = self.noise.model_copy(update={"max_false": None})
        self.steps = (*(part.record() for part in parts), self.selection_record(self.noise)) if parts else ()
        unit = setting.design.bound**2
        named = isinstance(method.model_penalty, str)
        self.parameters = self._common_parameters(
            float(self.calibration.penalty) * unit if fixed or not named else method.model_penalty
        )

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Draw the private estimates, add up the moments, draw the noisy minimum of the models' scores.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Called as rows are read, where their number is public, and as models are scored.

        Returns
        -------
        Outcome
            The selected columns.

        Notes
        -----
        Claim: ``pcls.privacy.md``. Cost: one pass over the rows, and those of ``tuning.py``; then every model's score
        up to 2^20 models, a lazy search beyond, whose time depends on the rows.
        """
        if self.method.as_published:
            return self._run_as_published(table, rng)
        tuned = estimate_privately(self.tuning, table, rng, rows_progress(progress, table))
        calibration = self._tuned(tuned) if self.tuning.budget else self.calibration
        law = (calibration.gamma + calibration.inflation, calibration.epsilon, rng, calibration.noise)
        if self.space.listed is not None:
            masks = self.space.masks()
            scores = self._scores(tuned.setting, calibration, tuned.moments, masks, progress)
            chosen = int(masks[noisy_min(scores, *law)])
        else:
            if progress is not None and self.space.n_models > ENUMERATED:
                progress("Searching models", 0, None)  # its length depends on the rows
            report_models = models_progress(progress, self.space.n_models)
            problem = tuned.setting.problem(tuned.moments, float(calibration.tolerance))
            penalties = float(calibration.penalty) * tuned.setting.sizes()
            chosen = noisy_min_subset(problem, penalties, self.space.max_size, *law, report_models)
        noise = self._noise(tuned.setting, calibration)
        steps = (*tuned.steps, self.selection_record(noise)) if tuned.steps else ()
        return Outcome(self.space.names(chosen), noise, steps)

    def scores(self, moments: Integers, masks: Masks, progress: Progress | None = None) -> npt.NDArray[np.float64]:
        """Return penalized scores in squared target bounds. Not releasable.

        Parameters
        ----------
        moments : ndarray of int64, shape (n_columns, n_columns)
            Exact, in grid units.
        masks : ndarray of uint64, shape (n_models,)
            The models.
        progress : callable, optional
            Called as models are scored.

        Returns
        -------
        ndarray of float, shape (n_models,)
            Each within the calibration's tolerance and rounding above its true value.

        References
        ----------
        Lei et al. 2018, Algorithm 1, lines 2 and 3; privacy specification 1.1.
        """
        return self._scores(self.setting, self.calibration, moments, masks, progress)

    def expected_noise(self, variance: float) -> NoiseRecord:
        """Return the noise with the penalty of a supposed residual variance.

        Parameters
        ----------
        variance : float
            In squared target bounds.

        Returns
        -------
        NoiseRecord
            With the widest bounds that can come out.
        """
        if not self.tuning.budget:
            return self.noise
        sigma2 = variance if "sigma2" in self.tuning.budget else None
        return self._noise(self.setting, self._calibrated(self.setting, sigma2, self.tuning.n_public or TYPICAL_ROWS))

    def selection_record(self, noise: NoiseRecord) -> StepRecord:
        """Return the choice of the model as a step.

        Parameters
        ----------
        noise : NoiseRecord
            Its noise box.

        Returns
        -------
        StepRecord
            The last step.
        """
        event = SelectionEvent(self.calibration.epsilon, self.calibration.noise)
        return StepRecord(name="selection", event=event_record(event), noise=noise)

    def _scores(
        self, setting: Setting, calibration: Calibration, moments: Integers, masks: Masks, progress: Progress | None
    ) -> npt.NDArray[np.float64]:
        report_models = models_progress(progress, len(masks))
        sums = setting.scores(moments, masks, float(calibration.tolerance), report_models)
        return sums + float(calibration.penalty) * setting.counted(masks)

    def _problem(self, moments: Integers) -> SubsetProblem:
        """The models' least squares in units of the target's bound."""
        return self.setting.problem(moments, float(self.calibration.tolerance))

    def _tuned(self, tuned: Tuned) -> Calibration:
        return self._calibrated(tuned.setting, tuned.sigma2, tuned.n_rows or TYPICAL_ROWS)

    def _calibrated(self, setting: Setting, sigma2: float | None, n_rows: int) -> Calibration:
        """The noise of the choice, from public facts and from what was released before it."""
        sensitivity = Sensitivity.of(setting.design, setting.ratio)
        epsilon = self.tuning.remaining if not self.method.as_published else exact_epsilon(self.method.epsilon)
        penalty = self.method.penalty(setting, self.tuning, sensitivity.range / epsilon, sigma2, n_rows)
        if self.tuning.budget:  # after a private estimate nothing is refused; above this it is infinite
            penalty = min(penalty, Fraction(MAX_PENALTY))
        chance = None
        if self.method.model_penalty == "auto" and not self.method.as_published:
            chance = self.method.false_chance(setting, self.tuning, float(sensitivity.range / epsilon), n_rows)
        return Calibration.of(setting.design, sensitivity, epsilon, self.method.noise_law, penalty, chance)

    def _run_as_published(self, table: Table, rng: Source) -> Outcome:
        """Algorithm 1 to the letter: y's bound is the largest y observed, which is what makes it not private."""
        moments = table.moments(self.design)
        masks = self.space.masks()
        scores = self.scores(moments, masks)
        gamma = 2.0 * (largest_target(table, self.design) + self.radius / self.design.bound) ** 2
        chosen = noisy_min(scores, gamma, self.calibration.epsilon, rng, "laplace")
        return Outcome(self.space.names(int(masks[chosen])), self._published_noise(gamma))

    # ---- what is public about the request

    def _noise(self, setting: Setting, calibration: Calibration) -> NoiseRecord:
        if self.method.as_published:
            return self._published_noise(float(calibration.gamma + calibration.inflation))
        metadata, unit = self.tuning.metadata, setting.design.bound**2
        factor, rows = 2 if metadata.neighboring is NeighboringRelation.REPLACE_ONE else 1, metadata.rows_per_unit
        formula = " x ".join([*([str(factor)] if factor > 1 else []), *([f"{rows} rows"] if rows > 1 else [])])
        spread = "(r + R)^2 - max(r - R, 0)^2"
        gamma, inflation = float(calibration.gamma), float(calibration.inflation)
        return NoiseRecord(
            mechanism=self.method.mechanism,
            noise=calibration.noise,
            n_candidates=self.space.n_models,
            sensitivity=gamma * unit,
            inflation=inflation * unit,
            scale=(gamma + inflation) * unit / float(calibration.epsilon),
            formula=f"{formula} x [{spread}]" if formula else spread,
            numerics=f"{self._draw()}; score errors counted in the inflation",
            claim="methods/subset_selection/pcls.privacy.md",
            penalty=float(calibration.penalty) * unit,
            max_false=calibration.max_false,
        )

    def _published_noise(self, gamma: float) -> NoiseRecord:
        unit = self.design.bound**2
        return NoiseRecord(
            mechanism="laplace",
            noise="laplace",
            n_candidates=self.space.n_models,
            sensitivity=gamma * unit,
            scale=gamma * unit / float(self.calibration.epsilon),
            formula="2 (r + R)^2, r the largest |y| observed",
            numerics="as published",
            claim="none",
        )

    def _draw(self) -> str:
        """How the law is drawn from: decided by public facts."""
        lazy = not self.space.must_be_listed and self.space.n_models > ENUMERATED
        return "exact draw, by a lazy search whose time depends on the rows" if lazy else "exact draw"
