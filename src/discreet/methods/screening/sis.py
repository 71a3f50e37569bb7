"""Private sure independence screening: the k columns that go most with the target, one by one (Swope et al. 2024)."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import model_validator

from discreet.accounting.events import event_record
from discreet.accounting.guarantee import exact_delta, exact_epsilon
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.rng import Source
from discreet.methods.base.candidates import columns_progress, columns_read, features_of, public_candidates
from discreet.methods.base.method import Outcome, Preparation, Progress
from discreet.methods.base.request_facts import not_protected
from discreet.methods.screening.noise_test import (
    associations_tested,
    epsilon_beside,
    kendall_variance,
    plan_noise_test,
    prepare_with_default_test,
)
from discreet.methods.screening.order_scores import KENDALL_STEPS, kendall_scores, split_scores
from discreet.methods.screening.screener import Screening, target_coding
from discreet.methods.screening.step_down import StepDown, thresholds_for
from discreet.methods.screening.target_bound import Bound
from discreet.methods.screening.target_center import CLAIM, Center
from discreet.methods.screening.target_plan import TargetPlan, association_of
from discreet.methods.screening.threshold_choice import (
    MAX_FALSE,
    AboveThreshold,
    check_number_of_rows,
    needed_of,
    variance_of_no_effect,
)
from discreet.methods.screening.top_k_choice import TopK
from discreet.methods.screening.units import Units
from discreet.methods.subset_selection.subset_regression import events_of
from discreet.parameters.screening import IndependenceParameters
from discreet.release import NoiseRecord, StepRecord

UNITS = {
    "products": "products of scaled columns",
    "median_split": "rows above less rows below each column's median",
    "kendall": "rows by which pairs agree or disagree in order",
}
"""Of the scores: a row whose cell and target both lie at their ends counts 1."""

SCORE_BY_RULE = 5
"""Times as large a score as of a target that does not saturate is expected of the last selected column."""


class IndependenceScreening(IndependenceParameters, Screening):
    """The k columns that are most associated with the target, one column at a time.

    References
    ----------
    Swope, Khanna, Doldo, Roy, Raff 2024; Fan and Lv 2008; Kendall 1938; privacy specification 4.1 to 4.3.
    """

    name: ClassVar[str] = "sis"

    @model_validator(mode="after")
    def _threshold_has_what_is_asked(self) -> Self:
        if self.n_features_to_select != "auto":
            if self.max_false is not None:
                raise ValueError("max_false must come with n_features_to_select=auto: a fixed number has no threshold.")
            if self.forced or self.groups or self.max_size is not None:
                raise ValueError("forced, groups and max_size must come with n_features_to_select=auto. Drop them.")
        elif self.noise_test:
            raise ValueError(
                "noise_test must come with a fixed number of columns: above a threshold max_false says it."
            )
        elif self.mechanism != "auto" or self.gamma is not None or self.expected_score is not None or self.delta:
            raise ValueError(
                "mechanism, gamma, expected_score and delta must be left out with n_features_to_select=auto: one draw "
                "over all subsets makes the choice, at delta 0."
            )
        if self.association == "kendall" and (self.saturation or self.y_bound or self.y_center != "private"):
            raise ValueError(
                "saturation, y_bound and y_center must be left out with association=kendall: only the order of the "
                "cells counts. Drop them, or use association=products."
            )
        return self

    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> "PreparedScreening":
        """Check the request and calibrate its noise, from public facts alone.

        Parameters
        ----------
        metadata : Metadata
            What is public about the table.
        target : str
            The response: numeric, or a category with two levels, a `level` or `codes`.
        candidates : sequence of str, optional
            Columns that may be selected, numeric; default all declared ones but the target.

        Returns
        -------
        PreparedScreening
            The cost, the noise, and a `run`.

        Raises
        ------
        InvalidParameterError
            When names or sizes do not fit, or a category needs codes.
        MetadataError
            When a column lacks bounds, or a candidate is a category.
        """
        if self.association in ("kendall", "median_split") and metadata.layout is not None:
            raise InvalidParameterError(
                f"association={self.association} must have a table of a column a feature, but this one has a value a "
                "row. Leave out association."
            )
        features = features_of(metadata, target, candidates)
        units = Units.of(features, self.forced, self.groups)
        if self.n_features_to_select != "auto":
            self.check_size(len(features))
        coding = target_coding(metadata, target, self.level, self.codes)
        in_order = ScoreDesign.plan(metadata, target, features, **coding, by_order=metadata.layout is None)
        association = association_of(self, in_order)
        by_order = association != "products"
        design = in_order if by_order else ScoreDesign.plan(metadata, target, features, **coding)
        method = self.model_copy(update={"association": association})
        if self.n_features_to_select == "auto" and not TargetPlan(method, design).buys_center:
            check_number_of_rows(self.number_of_rows(metadata))
        center, bound = (value if isinstance(value, float) else None for value in (self.y_center, self.y_bound))
        if center is not None or bound is not None:  # refuses what does not fit
            ScoreDesign.plan(metadata, target, features[:1], center, bound, **coding, by_order=by_order)

        def prepared(noise_test: bool) -> PreparedScreening:
            return PreparedScreening(method.model_copy(update={"noise_test": noise_test}), design, units)

        return prepare_with_default_test(method, prepared, design)


class PreparedScreening(Preparation):
    """A request of `IndependenceScreening` with its noise fixed.

    Parameters
    ----------
    method : IndependenceScreening
        The parameters.
    whole : ScoreDesign
        The row map around the middle of the target's bounds or codes, with half their width as its bound.
    units : Units
        What is chosen: columns, and groups of them.
    """

    columns: Sequence[str]

    def __init__(self, method: IndependenceScreening, whole: ScoreDesign, units: Units) -> None:
        self.method, self.whole, self.units = method, whole, units
        self.plan = plan = TargetPlan(method, whole)
        self.columns, self.target, self.candidates = columns_read(whole), whole.target, whole.features
        epsilon = exact_epsilon(method.epsilon)
        self.test = plan_noise_test(method, whole, epsilon)
        self.center, self.bound, self.shift = plan.center(epsilon), plan.bound(epsilon), plan.shift(epsilon)
        self.choice = self._choice(epsilon_beside(self.test, epsilon * (1 - plan.share)))
        self.noise = self._noise_record()
        records = [
            *([self.center.part()] if self.center else []),
            *([self.bound.part()] if self.bound else []),
            *([self.shift.part("y_shift")] if self.shift else []),
        ]
        after = [self.test.part()] if self.test else []
        self.event = events_of(*(part.event for part in records), self.choice.event, *(part.event for part in after))
        before, tests = (tuple(part.record() for part in parts) for parts in (records, after))
        self.steps = (*before, self._screening(self.noise), *tests) if records or after else ()
        self.delta = exact_delta(method.delta) if self.choice.is_concentrated else Fraction(0)
        self.parameters = self._parameters()
        self.public = public_candidates(whole.metadata, whole.target, whole.features)
        self.not_protected = not_protected(whole.metadata)

    @property
    def step(self) -> int:
        """Whole steps of a score in one row."""
        return KENDALL_STEPS if self.method.association == "kendall" else GRID**2

    @property
    def _saturations(self) -> tuple[float, float]:
        """Of columns and of the target."""
        n_rows = self.plan.n_rows
        return self.plan.saturations(None if n_rows is None else self._needed(n_rows) / max(n_rows, 1))

    def _needed(self, n_rows: float) -> float:
        """A score that is seldom had by chance, in rows."""
        if not isinstance(self.choice, TopK):
            return self._thresholds(n_rows)[0] / self.step
        scale = 2.0 * float(self.choice.sensitivity / self.choice.epsilon) / self.step
        return needed_of(len(self.whole.features), scale, n_rows)

    def _choice(self, epsilon: Fraction) -> TopK | StepDown | AboveThreshold:
        sensitivity, n_rows = int(self.plan.moved * self.step), self.plan.n_rows
        if self.method.n_features_to_select == "auto":
            max_false = self.method.max_false or MAX_FALSE
            facts = (self.units, epsilon, sensitivity, self.step, max_false)
            return thresholds_for(*facts, self.method.noise, self.method.max_size)
        largest = None if n_rows is None else n_rows * (1 if self.plan.is_bounded else SCORE_BY_RULE)
        return self.method.top_k(len(self.whole.features), epsilon, sensitivity, self.step, largest)

    def _noise_record(self, n_rows: float | None = None) -> NoiseRecord:
        """The noise box, with the threshold where the number of rows is public, guessed or released."""
        record = self.choice.noise_record(self.step, UNITS[self.method.association], self._formula(), CLAIM)
        n_rows = n_rows or self.plan.n_rows
        if isinstance(self.choice, TopK) or n_rows is None:
            return record
        return record.model_copy(update={"threshold": self._thresholds(n_rows)[0] / self.step})

    def _thresholds(self, n_rows: float) -> tuple[int, ...]:
        """The thresholds in steps."""
        if isinstance(self.choice, TopK):
            raise TypeError("a fixed number of columns has no threshold")
        return self.choice.thresholds(self._variance(n_rows))

    def _variance(self, n_rows: float) -> float:
        """Variance of a score of no effect, in rows."""
        if self.method.association == "kendall":
            return kendall_variance(n_rows, self.whole.metadata.rows_per_unit)
        mean = self.shift or self.center
        center_variance = mean.variance if isinstance(mean, Center) and not self.whole.by_order else 0.0
        return variance_of_no_effect(n_rows, self.whole.metadata.rows_per_unit, center_variance)

    def _formula(self) -> str:
        rows = self.whole.metadata.rows_per_unit
        change = "one row changes" if rows == 1 else f"{rows} rows of one unit change"
        compared = " beside the others" if self.plan.compares else ""
        return f"{float(self.plan.moved):g}, the most that {change} a score by{compared}"

    def _screening(self, noise: NoiseRecord) -> StepRecord:
        return StepRecord(name="screening", event=event_record(self.choice.event), noise=noise)

    def _parameters(self) -> dict[str, Any]:
        parameters = {**self.method.release_parameters(), **self.choice.parameters}
        for name in ("forced", "groups"):  # what is not asked for is not told
            if not parameters[name]:
                del parameters[name]
        if self.method.n_features_to_select == "auto":
            parameters.pop("noise_test", None)  # it is never made
        if (saturation := self._saturations[0]) < 1.0:
            parameters["saturation"] = saturation
        elif self.plan.is_by_rule and not self.plan.has_two_values:
            parameters["y_saturation"] = self._saturations[1]
        if self.whole.codes is not None:
            parameters["codes"] = dict(self.whole.codes)
        if self.method.association == "kendall":
            parameters.pop("y_center", None)
        elif self.center is None:
            design = self._around(self._public_center)
            parameters |= {"y_center": design.center, "y_bound": design.bound}
        elif not self.plan.has_two_values:
            parameters["y_bound"] = self._around(self.whole.center).bound
        if self.bound is not None:
            parameters["y_bound"] = "private"
        return parameters

    @property
    def _public_center(self) -> float:
        return self.method.y_center if isinstance(self.method.y_center, float) else self.whole.center

    def _around(self, center: float, bound: float | None = None) -> ScoreDesign:
        """The row map around a center: a target of two values keeps both, another is clipped at its bound."""
        saturation, of_target = self._saturations
        near = 1.0 if self.plan.has_two_values else of_target
        stated = self.method.y_bound if isinstance(self.method.y_bound, float) else None
        bound = bound or stated or near * self.whole.bound
        if stated is None and self.plan.has_two_values:
            bound += abs(center - self.whole.center)
        return replace(self.whole, center=center, bound=bound, saturation=saturation)

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Estimate the target's mean where it is private, add up the products, choose the k best after noise.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Called as columns are done, whose number is public.

        Returns
        -------
        Outcome
            The selected columns, in the order of the candidates.

        Notes
        -----
        Claim: ``sis.privacy.md``. Cost: one pass over the target and one over the columns; 8 bytes a column.
        """
        # Each estimate is released before the next row map rests on it: given it, that map is public (sequential
        # composition).
        design, noise, steps = self._around(self._public_center), self.noise, self.steps
        center, n_rows, estimates = self._public_center, None, list[StepRecord]()
        if self.center is not None:
            place, n_rows = self.center.estimate(table, rng)
            center = self.whole.center + place * self.whole.bound
            design = self._around(center)
            estimates.append(self.center.part().record(design.center))
        if self.bound is not None:
            around = replace(self.whole, center=center)
            design = self._around(center, Bound(around, self.bound.epsilon).estimate(table, rng))
            estimates.append(self.bound.part().record(design.bound))
        if self.shift is not None:
            shift, n_rows = replace(self.shift, design=design).estimate(table, rng)
            design = replace(design, shift=shift)
            estimates.append(self.shift.part("y_shift").record(shift))
        if estimates:
            noise = self._noise_record(n_rows)
            steps = (*estimates, self._screening(noise))
        if self.method.association == "kendall":
            scores = kendall_scores(table, self.whole, self.plan.n_rows, progress)
        elif self.method.association == "median_split":
            scores = np.abs(split_scores(table, design, self.plan.n_rows, rng, progress)) * GRID
        else:
            scores = np.abs(table.products(design, columns_progress(progress, len(design.features))))
        if isinstance(self.choice, TopK):
            places, chances = self.choice.draw(scores, rng), dict[str, float]()
        else:
            n_rows = n_rows or check_number_of_rows(self.plan.n_rows)
            choice = self.choice.draw(self.units.scores(scores), self._thresholds(n_rows), rng)
            variances = np.full(self.units.n_units, self._variance(n_rows))
            places = self.units.columns(choice.units)
            chances = self.choice.chances(choice, variances, self.units, self.whole.features)
        selected = tuple(design.features[place] for place in places)
        if self.test is not None:
            steps = (*estimates, self._screening(noise), associations_tested(self.test, table, selected, rng))
        return Outcome(selected, noise, steps, chances=chances)
