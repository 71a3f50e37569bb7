"""Private sure independence screening: the k columns that go most with the target, one by one (Swope et al. 2024)."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import model_validator

from discreet.accounting.events import event_record
from discreet.accounting.guarantee import exact, exact_delta, exact_epsilon
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.rng import Source
from discreet.methods.base.candidates import columns_progress, columns_read, features_of, public_candidates
from discreet.methods.base.method import Outcome, Preparation, Progress
from discreet.methods.base.request_facts import not_protected
from discreet.methods.screening.median_split import MOVED, split_scores
from discreet.methods.screening.noise_test import (
    associations_tested,
    epsilon_beside,
    plan_noise_test,
    prepare_with_default_test,
)
from discreet.methods.screening.screener import Screening, target_coding
from discreet.methods.screening.step_down import StepDown, by_column, thresholds_for
from discreet.methods.screening.target_bound import Bound
from discreet.methods.screening.target_center import CLAIM, Center, Median, has_two_values
from discreet.methods.screening.threshold_choice import (
    MAX_FALSE,
    AboveThreshold,
    Drawn,
    check_number_of_rows,
    needed_of,
    variance_of_no_effect,
)
from discreet.methods.screening.top_k_choice import TopK
from discreet.methods.screening.units import Units
from discreet.methods.subset_selection.subset_regression import events_of
from discreet.methods.subset_selection.target_scale import target_shares
from discreet.parameters.screening import IndependenceParameters
from discreet.release import NoiseRecord, StepRecord

UNIT, UNIT_OF_SPLITS = "products of scaled columns", "rows above less rows below each column's median"
"""Of the scores: a row whose cell and target both lie at their ends counts 1."""

CENTER_SHARE = 0.1
"""Of epsilon, for the target's mean.

With m the mean of a column on its scaled range, an error of the mean moves its score by m times 2.8 / epsilon_y, and
the choice asks for scores of about 4 log C(d, k) / epsilon_k. What both cost together is least at a share of .13 to .05
for m = 1/2 and from a hundred to a million columns, and within 3% of the least at .1.
"""

SATURATIONS = ((0.05, 1.0, 0.1), (0.08, 0.5, 0.05), (math.inf, 0.3, 0.02))
"""Where the number of columns is chosen as well: of columns and of the target, by the largest threshold a row. A target
seldom fills its bounds. Few rows need signs, many can do without; skewed columns lose by them."""

SATURATION_OF_UNKNOWN = (0.5, 0.1)
"""Where nobody says how many rows there are."""

SHARES_BY_RULE, ROWS_BY_RULE, SHARE_OF_MEDIAN = (0.12, 0.25), 60, Fraction(2, 5)
"""Of epsilon, for the target's center and the mean of what is left of it once it saturates: more, the fewer rows there
are times epsilon over what a unit moves, from 500 of these down to 240; of that share, what the center has."""


SCORE_BY_RULE = 5
"""Times as large a score as of a target that does not saturate is expected of the last selected column."""


class IndependenceScreening(IndependenceParameters, Screening):
    """The k columns with the largest sums of products with the target, one column at a time.

    References
    ----------
    Swope, Khanna, Doldo, Roy, Raff 2024; Fan and Lv 2008; privacy specification 4.1 to 4.3.
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
        if self.median_split and metadata.layout is not None:
            raise InvalidParameterError(
                "median_split must have a table of a column a feature, but this one has a value a row. Drop it."
            )
        features = features_of(metadata, target, candidates)
        units = Units.of(features, self.forced, self.groups)
        if self.n_features_to_select != "auto":
            self.check_size(len(features))
        coding = target_coding(metadata, target, self.level, self.codes)
        design = ScoreDesign.plan(metadata, target, features, **coding, splits=self.median_split)
        if self.n_features_to_select == "auto" and not _buys_center(self, design):
            check_number_of_rows(self.number_of_rows(metadata))
        center, bound = (value if isinstance(value, float) else None for value in (self.y_center, self.y_bound))
        if center is not None or bound is not None:  # refuses what does not fit
            ScoreDesign.plan(metadata, target, features[:1], center, bound, **coding, splits=self.median_split)

        def prepared(noise_test: bool) -> PreparedScreening:
            return PreparedScreening(self.model_copy(update={"noise_test": noise_test}), design, units)

        return prepare_with_default_test(self, prepared, design)


def _buys_center(method: IndependenceScreening, design: ScoreDesign) -> bool:
    """Whether the target's center is estimated, and with it the number of rows where that is private.

    Halves are equally large, so that what is taken off the target changes no score of a median split: there the center
    only says where a target of many values saturates.
    """
    needs_rows = method.n_features_to_select == "auto" and method.number_of_rows(design.metadata) is None
    is_idle = method.median_split and has_two_values(design) and not needs_rows
    return method.y_center == "private" and not is_idle


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
        self.has_two_values = has_two_values(whole)
        self.columns, self.target, self.candidates = columns_read(whole), whole.target, whole.features
        epsilon, of_bound = exact_epsilon(method.epsilon), self._share_of_bound
        self.test = plan_noise_test(method, whole, epsilon)
        self.bound = Bound(whole, epsilon * of_bound) if of_bound else None
        of_center, of_shift = self._shares_of_center
        self.center = self._center(epsilon * of_center) if of_center else None
        self.shift = Center(whole, epsilon * of_shift) if of_shift else None
        remaining = epsilon * (1 - of_bound - of_center - of_shift)
        self.choice = self._choice(epsilon_beside(self.test, remaining))
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
    def _shares_of_center(self) -> tuple[Fraction, Fraction]:
        """Of epsilon, for the center of the target, and for the mean of what is clipped around it within its bounds."""
        if not _buys_center(self.method, self.whole):
            return Fraction(0), Fraction(0)
        usual = self._share_by_rule if self._by_rule else CENTER_SHARE
        share = exact((self.method.shares or {}).get("y_center", usual), "shares['y_center']")
        if not self._clips_near:
            return share, Fraction(0)
        of_center = share * (SHARE_OF_MEDIAN if self._by_rule else Fraction(1, 2))
        return of_center, share - of_center

    @property
    def _share_by_rule(self) -> float:
        least, most = SHARES_BY_RULE
        n_rows = self.method.number_of_rows(self.whole.metadata)
        rows = 0.0 if n_rows is None else n_rows * self.method.epsilon / self._moved
        return most if rows <= 0.0 else min(max(ROWS_BY_RULE / rows, least), most)

    @property
    def _moved(self) -> int:
        """The most that one unit changes a score by, in rows."""
        metadata = self.whole.metadata
        n_rows_changed = 2 if metadata.neighboring is NeighboringRelation.REPLACE_ONE else 1
        return n_rows_changed * metadata.rows_per_unit * (MOVED if self.whole.splits else 1)

    def _center(self, epsilon: Fraction) -> Center | Median:
        """A mean, or where that comes after, a median."""
        return (Median if self._by_rule and self._clips_near else Center)(self.whole, epsilon)

    @property
    def _share_of_bound(self) -> Fraction:
        """Of epsilon, for how far the target lies from its center: as asked, or where rows are known to suffice."""
        method, metadata, target = self.method, self.whole.metadata, self.whole.target
        if self.has_two_values or isinstance(method.y_bound, float):
            return Fraction(0)
        stated, n_rows = (method.shares or {}).get("y_bound"), method.number_of_rows(metadata)
        value = "private" if stated is not None else method.y_bound or "furthest"
        shares = target_shares({"y_bound": value}, metadata, target, n_rows, method.epsilon)
        if not shares:
            return Fraction(0)
        return exact(stated, "shares['y_bound']") if stated is not None else shares["y_bound"]

    @property
    def _clips_near(self) -> bool:
        saturates = self.method.saturation is not None or self._by_rule
        return (self.bound is not None or saturates) and not self.has_two_values

    @property
    def _by_rule(self) -> bool:
        """Whether a rule says how near to its center the target saturates: by default, where that center is sought."""
        method = self.method
        if method.n_features_to_select == "auto":
            return True
        asks_nothing = method.saturation is None and method.y_bound is None and "y_bound" not in (method.shares or {})
        is_wide = self.whole.metadata.layout is None
        return asks_nothing and is_wide and method.y_center == "private" and not self.has_two_values

    @property
    def _saturations(self) -> tuple[float, float]:
        """Of columns and of the target: as stated, or by how many rows there publicly are beside the threshold."""
        if self.method.saturation is not None or not self._by_rule:
            stated = self.method.saturation or 1.0
            return 1.0 if self.whole.splits else stated, stated
        n_rows = self.method.number_of_rows(self.whole.metadata)
        if n_rows is None:
            return 1.0 if self.whole.splits else SATURATION_OF_UNKNOWN[0], SATURATION_OF_UNKNOWN[1]
        share = self._needed(n_rows) / max(n_rows, 1)
        columns, target = next(part for most, *part in SATURATIONS if share < most)
        # Which columns are compared: one that lies near an end of its bounds loses beside others.
        return 1.0 if self.whole.splits or isinstance(self.choice, TopK) else columns, target

    def _needed(self, n_rows: float) -> float:
        """A score that is seldom had by chance, in rows."""
        if not isinstance(self.choice, TopK):
            return self._thresholds(n_rows)[0] / GRID**2
        return needed_of(
            len(self.whole.features), 2.0 * float(self.choice.sensitivity / self.choice.epsilon) / GRID**2, n_rows
        )

    def _choice(self, epsilon: Fraction) -> TopK | StepDown | AboveThreshold:
        metadata = self.whole.metadata
        sensitivity = self._moved * GRID**2
        if self.method.n_features_to_select == "auto":
            max_false = self.method.max_false or MAX_FALSE
            facts = (self.units, epsilon, sensitivity, GRID**2, metadata.rows_per_unit, max_false)
            return thresholds_for(*facts, self.method.noise, self.method.max_size)
        n_rows = self.method.number_of_rows(metadata)
        largest = None if n_rows is None else n_rows * (SCORE_BY_RULE if self._by_rule else 1)
        return self.method.top_k(len(self.whole.features), epsilon, sensitivity, GRID**2, largest)

    def _noise_record(self, n_rows: float | None = None) -> NoiseRecord:
        """The noise box, with the threshold where the number of rows is public, guessed or released."""
        unit = UNIT_OF_SPLITS if self.whole.splits else UNIT
        record = self.choice.noise_record(GRID**2, unit, self._formula(), CLAIM)
        n_rows = n_rows or self.method.number_of_rows(self.whole.metadata)
        if isinstance(self.choice, TopK) or n_rows is None:
            return record
        return record.model_copy(update={"threshold": self._thresholds(n_rows)[0] / GRID**2})

    def _thresholds(self, n_rows: float) -> tuple[int, ...]:
        """The thresholds in steps."""
        if isinstance(self.choice, TopK):
            raise TypeError("a fixed number of columns has no threshold")
        return self.choice.thresholds(self._variance(n_rows))

    def _variance(self, n_rows: float) -> float:
        """Variance of a score of no effect, in rows."""
        mean = self.shift or self.center
        center_variance = mean.variance if isinstance(mean, Center) and not self.whole.splits else 0.0
        return variance_of_no_effect(n_rows, self.whole.metadata.rows_per_unit, center_variance)

    def _formula(self) -> str:
        rows = self.whole.metadata.rows_per_unit
        change = "one row changes" if rows == 1 else f"{rows} rows of one unit change"
        return f"{self.choice.sensitivity // GRID**2}, the most that {change} a score by"

    def _screening(self, noise: NoiseRecord) -> StepRecord:
        return StepRecord(name="screening", event=event_record(self.choice.event), noise=noise)

    def _parameters(self) -> dict[str, Any]:
        parameters = {**self.method.release_parameters(), **self.choice.parameters}
        for name in ("forced", "groups", "median_split"):  # what is not asked for is not told
            if not parameters[name]:
                del parameters[name]
        if self.method.n_features_to_select == "auto":
            parameters.pop("noise_test", None)  # it is never made
        if (saturation := self._saturations[0]) < 1.0:
            parameters["saturation"] = saturation
        elif self._by_rule and not self.has_two_values:
            parameters["y_saturation"] = self._saturations[1]
        if self.whole.codes is not None:
            parameters["codes"] = dict(self.whole.codes)
        if self.center is None:
            design = self._around(self._public_center)
            parameters |= {"y_center": design.center, "y_bound": design.bound}
        elif not self.has_two_values:
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
        near = 1.0 if self.has_two_values else of_target
        stated = self.method.y_bound if isinstance(self.method.y_bound, float) else None
        bound = bound or stated or near * self.whole.bound
        if stated is None and self.has_two_values:
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
        design, noise, steps = self._around(self._public_center), self.noise, self.steps
        center, n_rows, estimates = self._public_center, None, list[StepRecord]()
        if self.center is not None:
            if isinstance(self.center, Median):
                place = self.center.estimate(table, rng)
            else:
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
        if design.splits:
            public = self.method.number_of_rows(self.whole.metadata)
            scores = np.abs(split_scores(table, design, public, rng, progress)) * GRID
        else:
            scores = np.abs(table.products(design, columns_progress(progress, len(design.features))))
        if isinstance(self.choice, TopK):
            places, chances = self.choice.draw(scores, rng), dict[str, float]()
        else:
            n_rows = n_rows or check_number_of_rows(self.method.number_of_rows(self.whole.metadata))
            drawn = self.choice.draw(self.units.scores(scores), self._thresholds(n_rows), rng)
            places, chances = self.units.columns(drawn.chosen), self._chances(drawn, n_rows)
        selected = tuple(design.features[place] for place in places)
        if self.test is not None:
            steps = (*estimates, self._screening(noise), associations_tested(self.test, table, selected, rng))
        return Outcome(selected, noise, steps, chances=chances)

    def _chances(self, drawn: Drawn, n_rows: float) -> dict[str, float]:
        """Return by selected column how often one without an effect has as large a noisy score."""
        if drawn.noisy is None or not isinstance(self.choice, StepDown):
            return {}
        variances = np.full(len(drawn.noisy), self._variance(n_rows))
        return by_column(self.choice.chances(drawn.noisy, variances), drawn, self.units, self.whole.features)
