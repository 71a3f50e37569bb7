"""Columns whose decorrelated scores lie above a threshold: each beside all the others, at one price for all.

The columns' products and a first look at the target get cube noise. From these it is public, for any row, what the
other columns say of a column and of the target; the last pass adds up the products of what is left of both.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np

from discreet.accounting.events import ComposedEvent, event_record
from discreet.accounting.guarantee import exact, exact_epsilon
from discreet.data.design import Design
from discreet.data.engine import Table
from discreet.data.metadata import Metadata, NumericColumn, half_width
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.decorrelated_rows import BINS, SaturatedRows
from discreet.kernels.rows.decorrelated_scores import Target
from discreet.kernels.sufficient_statistics.cut_columns import Columns, least_variance, uniform_square
from discreet.kernels.sufficient_statistics.decorrelation import (
    CUTS,
    Decorrelation,
    decorrelation,
    fit_of,
    leak_variances,
)
from discreet.mechanisms.cube import cube_variance
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Method, Outcome, Preparation, Progress
from discreet.methods.base.public_check import NAME, LookedAt, PublicLook, share_of_look
from discreet.methods.base.request_facts import not_protected, rows_progress
from discreet.methods.base.request_facts import public_columns as columns_record
from discreet.methods.screening.decorrelated_columns import entering_together, only, saturated_rows
from discreet.methods.screening.decorrelated_estimates import NoisyEstimates
from discreet.methods.screening.decorrelated_plan import CLAIM, SCALES, ScorePlan, check_shares, within
from discreet.methods.screening.first_screening import NAME as FIRST
from discreet.methods.screening.first_screening import SHARE as FIRST_SHARE
from discreet.methods.screening.first_screening import FirstScreening, ScreenedScores, most_beside
from discreet.methods.screening.step_down import N_DRAWN, StepDown, thresholds_for
from discreet.methods.screening.threshold_choice import Chosen
from discreet.methods.screening.units import FORCED, Units
from discreet.parameters.screening import DECORRELATION_SHARES, DecorrelatedParameters
from discreet.release import NoiseRecord, StepRecord
from discreet.typing import Floats, Integers

MOST_COLUMNS = 64
"""Of the numbers that a row becomes, a category one a level but the first: noise grows with the number of pairs."""

DEVIATIONS = 2.5
"""By how many standard deviations scores of no effect may be large: a column whose score varies more has it lowered."""

MOST_CHANCE = 0.5
"""A column that would score as high more often than not without an effect, given the others', is not chosen."""

ENOUGH_DRAWN = 4000
"""Tables without an effect by which that is decided; what is told comes from ten times as many."""

NARROW, AIMED = 2 * GRID // BINS, 0.6
"""A target that is spread over less than this, a bin of its median, lies on one side of its center. Then scores vary
more than is known, and this part of the stated chance of a false column is aimed at."""

MOST_SCORE = 2**61
"""In steps: beyond any threshold, and far from where 64 bits end."""


class DecorrelatedScreening(DecorrelatedParameters, Method):
    """The columns that go with the target beside all the others, by decorrelated scores above a threshold.

    References
    ----------
    Ning and Liu 2017 (decorrelated scores); Frisch and Waugh 1933; Hardt and Talwar 2010 (cube noise).
    """

    name: ClassVar[str] = "decorrelated"

    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> Preparation:
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
        Preparation
            The cost, the noise, and a `run`.

        Raises
        ------
        InvalidParameterError
            When names, numbers or shares do not fit.
        MetadataError
            When a column lacks bounds or levels.
        """
        if metadata.layout is not None:
            raise InvalidParameterError(
                "decorrelated must have a table of a column a feature, but this one has a value a row. Use sis."
            )
        center = self.y_center if isinstance(self.y_center, float) else None
        design = Design.plan(metadata, target, candidates, center)
        units = Units.of(design.candidates, self.forced, self.groups)
        width = saturated_rows(design, units)[0].width
        if self.public_moments is not None and width > MOST_COLUMNS:
            raise InvalidParameterError(
                f"decorrelated must have at most {MOST_COLUMNS} columns with public_moments, a category one a "
                f"level but the first, but there are {width}. Name fewer candidates, or leave public_moments out."
            )
        if self.public_moments is not None and self.saturation is not None:
            raise InvalidParameterError(
                "saturation must not be given with public_moments, which are of columns as they are. Leave one out."
            )
        if self.public_moments is not None and not isinstance(self.x_center, str):
            raise InvalidParameterError(
                "x_center must not be given with public_moments, which have the columns' means. Leave one out."
            )
        middle, half = half_width(cast("NumericColumn", metadata.declared(target)))
        whole = replace(design, center=middle, bound=half)
        if self.public_moments is None:
            return self._bought(whole, units, exact_epsilon(self.epsilon))
        share = share_of_look(ScorePlan(self, whole, units).information)
        if (self.shares or {}).get(NAME) is not None:
            share = exact((self.shares or {})[NAME], f"shares[{NAME!r}]")
        epsilon = exact_epsilon(self.epsilon)
        rest = epsilon - epsilon * share
        used, bought = ScorePlan(self, whole, units, rest), self._bought(whole, units, rest)
        look = PublicLook(whole, used.rows, used.public_columns, epsilon * share)
        check_shares(self, (*used.budget, *DECORRELATION_SHARES, FIRST, NAME))
        return LookedAt(look, PreparedScores(self, used), bought)

    def _bought(self, design: Design, units: Units, epsilon: Fraction) -> Preparation:
        """Return the request whose columns' moments are bought: of few columns, or after a first screening."""
        plan = ScorePlan(self, design, units, epsilon, is_public=False)
        owners = plan.entering.owners(plan.width)
        n_forced = int((owners == FORCED).sum())
        widths = np.bincount(owners[owners != FORCED], minlength=units.n_units)
        n_units = most_beside(plan, widths.tolist(), MOST_COLUMNS - n_forced)
        if n_units < 1:
            raise InvalidParameterError(
                f"decorrelated must have at most {MOST_COLUMNS} columns beside each other, a category one a level but "
                "the first, but the forced ones or one category have more. Leave some out."
            )
        look = () if self.public_moments is None else (NAME,)
        if units.n_units <= n_units:
            check_shares(self, (*plan.budget, *look))
            return PreparedScores(self, plan)
        check_shares(self, (*(name for name in plan.budget if name != "y_median"), FIRST, *look))
        share = exact((self.shares or {}).get(FIRST, FIRST_SHARE), f"shares[{FIRST!r}]")
        plan = ScorePlan(self, design, units, epsilon, is_public=False, is_first=True)
        first = FirstScreening(plan, n_units, epsilon * share)
        rest = epsilon - epsilon * share - sum((plan.budget[part.name] for part in first.scales), Fraction(0))
        bought = frozenset[str]() if first.has_scales else plan.scales_bought(min(plan.rows.n_real, n_units + n_forced))

        def among(names: Sequence[str], y_center: float | None, scaled: SaturatedRows | None) -> Preparation:
            method = self._among(set(names), design.center if y_center is None else y_center, bought)
            units_of_names = Units.of(names, method.forced, method.groups)
            chosen = replace(design, candidates=tuple(names))
            rows = None if scaled is None else only(scaled, design, chosen, units_of_names)
            among_them = ScorePlan(method, chosen, units_of_names, rest, False, bought, rows)
            hides = not first.has_scales and plan.rows.n_real > 0
            return PreparedScores(method, among_them, units.n_units, hides)

        stated = self.model_dump(mode="json", exclude_none=True)
        return ScreenedScores(first, among, stated)

    def _among(self, names: set[str], y_center: float, bought: Collection[str]) -> "DecorrelatedScreening":
        """Return the request among the columns that a first screening left, which found the target's center.

        `bought` are those of `SCALES` that are bought now.
        """
        before = {FIRST, *SCALES} - set(bought)
        changed: dict[str, Any] = {
            "groups": tuple(group for group in self.groups if names.issuperset(group)),
            "shares": {name: share for name, share in (self.shares or {}).items() if name not in before},
        }
        if self.y_center == "private":
            changed["y_center"] = y_center
        if not isinstance(self.x_center, str):
            changed["x_center"] = {name: center for name, center in self.x_center.items() if name in names}
        return self.model_copy(update=changed)


class PreparedScores(Preparation):
    """A request of `DecorrelatedScreening` with its noise fixed.

    Parameters
    ----------
    method : DecorrelatedScreening
        The parameters.
    plan : ScorePlan
        The parts before the choice, and what the choice may spend.
    n_screened : int
        Units of which a first screening left these; 0 where there was none.
    hides : bool
        Whether that may have hidden narrow columns.
    """

    columns: Sequence[str]
    tells_chances = True
    """Whether the chances of the chosen columns are told; a simulation need not."""

    def __init__(
        self, method: DecorrelatedScreening, plan: ScorePlan, n_screened: int = 0, hides: bool = False
    ) -> None:
        self.method, self.plan, self.metadata, self.budget = method, plan, plan.metadata, plan.budget
        design = plan.design
        self.columns, self.target, self.candidates = design.columns, design.target, design.candidates
        self.hides = hides
        self.choice = thresholds_for(
            plan.entering,
            plan.budget["screening"],
            # A row's part of a score lies in [-GRID^2, GRID^2], so a unit moves each score by `moved` GRID^2 at most.
            plan.moved * GRID**2,
            GRID**2,
            method.max_false,
            max_size=method.max_size,
            n_screened=n_screened if plan.known is None else None,
        )
        n_rows = self.metadata.n_rows or method.n0
        variance = None if n_rows is None else float(n_rows * plan.rows_per_unit)
        self.noise = self._choice_noise(None if variance is None else self._thresholds(variance, method.max_false))
        self.event = ComposedEvent((*(part.event for part in plan.parts.values()), self.choice.event))
        self.steps = (*(part.record() for part in plan.parts.values()), self._screening(self.noise))
        stated = method.model_dump(mode="json", exclude_none=True)
        is_cut = plan.known is None and not plan.is_cut_by_spread
        saturation = {"saturation": plan.saturation} if is_cut else {}
        self.parameters: dict[str, Any] = {**self.choice.parameters, **stated, **saturation}
        self.public = tuple(columns_record(self.metadata, design))
        self.not_protected = not_protected(self.metadata)

    def _choice_noise(self, thresholds: tuple[int, ...] | None) -> NoiseRecord:
        """The noise box, with the threshold of the first column where it is known."""
        formula = f"{self.plan.moved}, the most that one {self.metadata.unit} changes a score by"
        record = self.choice.noise_record(GRID**2, "decorrelated scores, in rows", formula, CLAIM)
        return record if thresholds is None else record.model_copy(update={"threshold": thresholds[0] / GRID**2})

    def _thresholds(self, variance: float, max_false: float) -> tuple[int, ...]:
        """Return the thresholds in steps, for the variance of a score of no effect, in rows."""
        # Up to the next of a few values: then the thresholds, which are computed from drawn tables, are so once.
        rounded = math.exp2(math.ceil(8.0 * math.log2(max(variance, 1.0))) / 8.0)
        return replace(self.choice, max_false=max_false).thresholds(rounded)

    def _screening(self, noise: NoiseRecord) -> StepRecord:
        return StepRecord(name="screening", event=event_record(self.choice.event), noise=noise)

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Estimate median and scale of the target, products and a pilot; score the rows by these; choose.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Called as rows of the last pass are read, where their number is public.

        Returns
        -------
        Outcome
            The selected columns, in the order of the candidates.

        Notes
        -----
        Claim: ``decorrelated_scores.privacy.md``. Cost: five passes over the rows, four where the center is public.
        """
        plan, noisy = self.plan, NoisyEstimates(self.plan, table, rng)
        rows = noisy.rows()
        center = noisy.center()
        distance = noisy.distance(center) if "y_scale" in plan.parts else 2
        target = Target(center, max(distance // 2, 1))
        n_rows, columns, pilot = noisy.moments_and_pilot(rows, target)
        residuals = partial(rows.residuals, target=target, fit=fit_of(columns, pilot, distance))
        pilot = noisy.residual_mean(residuals, pilot, n_rows)
        cut = within(CUTS, plan.information_of(n_rows) ** 0.8)
        scores = decorrelation(columns, pilot, n_rows, entering_together(plan.entering), distance, cut, self.hides)
        start = np.zeros(plan.width, dtype=np.int64)
        progress_of_rows = rows_progress(progress, table)
        sums = table.map_reduce(
            plan.design, partial(rows.scores, target=target, scoring=scores.scoring), start, progress_of_rows
        )
        # A noisy number of rows may be larger than it looks.
        more = 2.0 * math.sqrt(cube_variance(plan.n_products, plan.scale("gram"))) if plan.buys_count else 0.0
        variances = (n_rows + more) * plan.rows_per_unit * scores.row_variances + n_rows**2 * scores.variances
        chance = self.method.max_false * (AIMED if distance <= NARROW else 1.0)
        thresholds = self._thresholds(float(variances.mean()), chance)
        noise = self._choice_noise(thresholds)
        # What was released before may be added to any score: it moves none of them between neighbors.
        # All is cut, so that no sum wraps around: that would tell neighbors apart.
        shifted = np.abs(np.clip(sums, -MOST_SCORE, MOST_SCORE) + _steps(scores.shifts * n_rows))
        # A score whose deviation is above the common one is lowered by the excess: one threshold serves for all.
        own = shifted - _steps(DEVIATIONS * (np.sqrt(variances) - math.sqrt(variances.mean())))
        above = self.choice.draw(plan.entering.scores(np.maximum(own, 0)), thresholds, rng)
        choice = self._likely(above, scores, n_rows, variances)
        names = tuple(self.candidates[place] for place in plan.units.columns(choice.units))
        chances = self._told(choice, scores, n_rows, variances) if self.tells_chances else {}
        steps = (*noisy.steps, self._screening(noise))
        return Outcome(names, noise, steps, chances=chances, hidden=self._hidden(columns))

    def _hidden(self, columns: Columns) -> tuple[str, ...]:
        """The numeric candidates that noise hides though it would not if they filled their bounds."""
        if columns.is_unseen is None:
            return ()
        typical = uniform_square(self.plan.cut)
        # A column that fills its bounds is called hidden, at `least`, in one of forty tables at most.
        is_clear = least_variance(columns.mean_variance) + 2.0 * math.sqrt(columns.mean_variance) < typical
        owners = np.repeat(np.arange(len(self.candidates)), self.plan.design.widths)[self.plan.rows.is_read]
        places = owners[columns.is_unseen & ~columns.is_two_valued & is_clear]
        return tuple(self.candidates[place] for place in np.unique(places))

    def _likely(self, above: Chosen, scores: Decorrelation, n_rows: float, variances: Floats) -> Chosen:
        """Return the choice without what the effects of the others explain.

        One by one the unit is left out whose chance is largest, as long as that is more than a half.
        """
        choice, apart = above, scores._replace(common=np.zeros_like(scores.common))
        while above.noisy_scores is not None and choice.units:
            by_unit = self._chances(choice, apart, n_rows, variances, ENOUGH_DRAWN)
            worst = max(choice.units, key=lambda unit: by_unit[unit])
            if by_unit[worst] <= MOST_CHANCE:
                break
            choice = replace(choice, units=[unit for unit in choice.units if unit != worst])
        return choice

    def _told(self, choice: Chosen, scores: Decorrelation, n_rows: float, variances: Floats) -> dict[str, float]:
        """Return the chances of what is chosen, by column; none where no noisy scores are released."""
        if choice.noisy_scores is None or not choice.units:
            return {}
        # Told, but no reason to leave a column out: what is hidden may have no effect, and errors may not add up.
        by_unit = self._chances(choice, scores, n_rows, variances + scores.unseen * n_rows**2, N_DRAWN)
        return self.plan.units.by_column(by_unit, choice.units, self.candidates)

    def _chances(self, choice: Chosen, scores: Decorrelation, n_rows: float, variances: Floats, n_drawn: int) -> Floats:
        """Return how often each unit without an effect beside the chosen ones has as large a noisy score.

        Shapes: returns (n_units,).
        """
        if choice.noisy_scores is None or not isinstance(self.choice, StepDown):
            raise TypeError("no noisy scores are released")
        units = self.plan.entering
        owners = units.owners(self.plan.width)
        noise = variances + cube_variance(units.n_units, self.choice.scale / GRID**2)
        sizes = np.where(owners == FORCED, 0.0, choice.noisy_scores[owners])
        effects_of = np.where(np.isin(owners, choice.units), owners, FORCED)
        with_leaks = variances + leak_variances(scores, sizes, noise, n_rows, effects_of)
        of_units = np.zeros(units.n_units)
        np.maximum.at(of_units, owners[owners != FORCED], with_leaks[owners != FORCED])
        return self.choice.chances_of_units(choice.noisy_scores, of_units, choice.units, n_drawn)


def _steps(rows: Floats) -> Integers:
    """Return scores in whole steps, from rows; what is no number counts as 0, as it would have none of the bounds."""
    numbers = np.nan_to_num(rows * GRID**2, nan=0.0)
    steps: Integers = np.rint(np.clip(numbers, -MOST_SCORE, MOST_SCORE)).astype(np.int64)
    return steps
