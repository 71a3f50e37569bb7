"""Noisy moments: sums of products released once, then any model, coefficient or criterion for free."""

from dataclasses import replace
from fractions import Fraction

from discreet.accounting.events import ComposedEvent, Event, event_record
from discreet.accounting.guarantee import exact_delta
from discreet.data.engine import Table
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.additive import MAX_SCALE
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Outcome, Preparation, Progress
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.base.request_facts import check_slopes, not_protected, public_columns, rows_progress
from discreet.methods.moments.clipped_rows import clipped_rows
from discreet.methods.moments.column_scales import SHARE
from discreet.methods.moments.moments_method import MomentsMethod
from discreet.methods.moments.noisy_sums import CLAIM, NoisySums
from discreet.methods.subset_selection.tuning import Tuned, estimate_privately
from discreet.methods.subset_selection.tuning_plan import Tuning
from discreet.release import MomentsRecord, StepRecord


class PreparedMoments(Preparation):
    """A request of a `MomentsMethod` with its noise fixed.

    Parameters
    ----------
    method : MomentsMethod
        The parameters.
    sums : NoisySums
        The sums.
    tuning : Tuning
        The private estimates before them.
    budget : NoiseBudget
        Of all sums, those of later passes too.
    """

    def __init__(self, method: MomentsMethod, sums: NoisySums, tuning: Tuning, budget: NoiseBudget) -> None:
        self.method, self.sums, self.tuning, self.whole = method, sums, tuning, budget
        self.scales = method.column_scales(sums, tuning.metadata, budget)
        self.budget = self._of_first_pass(budget)
        design, metadata = sums.design, tuning.metadata
        method.check(design.candidates)
        check_slopes(design)
        self.columns, self.target, self.candidates = design.columns, design.target, design.candidates
        events: tuple[Event, ...] = (*self._first, *(part.event for part in tuning.parts), self._main)
        self.event = events[0] if len(events) == 1 else ComposedEvent(events)
        self.delta = exact_delta(method.delta)
        self.estimates = sums.estimates(method.shares(metadata.neighboring, sums))
        self._check_scales()
        variance = self.estimates[0].variance(self.budget) / GRID**4 * sums.largest_scale**2
        chance = {"max_false": method.false_chance(variance, metadata)}
        self.noise = self.estimates[0].noise(self.budget, CLAIM).model_copy(update=chance)
        self.steps = (*self._first_steps(), *(part.record() for part in tuning.parts), *self._moments_steps())
        self.parameters = {
            **method.model_dump(mode="json", exclude_none=True, by_alias=True),
            "y_bound": "private"
            if "y_bound" in tuning.budget
            else method._public_level[1] or design.unit_bound or design.bound,
            "y_center": "private" if "y_center" in tuning.budget else design.center,
            **({"column_scales": "private"} if self.scales is not None else {}),
        }
        self.public, self.not_protected = tuple(public_columns(metadata, design)), not_protected(metadata)

    @property
    def _first(self) -> tuple[Event, ...]:
        """What the columns' scales cost, where private estimates stand between them and the other sums."""
        return () if self.scales is None or not self.tuning.parts else (_part_event(self.whole, SHARE),)

    @property
    def _main(self) -> Event:
        """What the sums cost, with all that is drawn beside them."""
        return _part_event(self.whole, 1 - SHARE) if self._first else self.whole.event()

    def _first_steps(self) -> tuple[StepRecord, ...]:
        """That of the columns' scales; their values are among the moments."""
        if self.scales is None or not self._first:
            return ()
        noise = self.scales.estimate().noise(self.whole.part(SHARE), CLAIM)
        return (StepRecord(name="column_scales", event=event_record(self._first[0]), noise=noise),)

    def _moments_steps(self) -> tuple[StepRecord, ...]:
        """One privacy cost for all sums: what one row does to them together."""
        record = StepRecord(name="moments", event=event_record(self._main), noise=self.noise)
        return (record,)

    def _drawn(self, table: Table, rng: Source, progress: Progress | None) -> tuple[Tuned, NoisySums, MomentsRecord]:
        """Return the private estimates, the sums with the bounds that these set, and their moments with noise."""
        tuned = self._tuned(table, rng, progress)
        sums = self.sums.under(tuned.setting.design)
        record = sums.draw(tuned.moments, self.estimates, self.budget, rng)
        clipped = clipped_rows(self.tuning, tuned.clipped, record.n_rows, self.method._is_unbent)
        return tuned, sums, record.model_copy(update={"clipped": clipped})

    def _tuned(self, table: Table, rng: Source, progress: Progress | None = None) -> Tuned:
        """Return the private estimates: columns' scales first, where they are bought, then those of the target."""
        tuning = self.tuning
        if self.scales is not None:
            design = replace(tuning.wide.design, scaling=self.scales.draw(table, self.whole, rng))
            tuning = replace(tuning, wide=replace(tuning.wide, design=design))
        return estimate_privately(tuning, table, rng, rows_progress(progress, table))

    def _with_later_passes(
        self, record: MomentsRecord, tuned: Tuned, sums: NoisySums, table: Table, rng: Source
    ) -> MomentsRecord:
        """Return the moments with those of later passes: of none."""
        del tuned, sums, table, rng
        return record

    def _of_first_pass(self, budget: NoiseBudget) -> NoiseBudget:
        """What the moments may spend: what the columns' scales leave."""
        return budget if self.scales is None else budget.part(1 - SHARE)

    def _check_scales(self) -> None:
        """Refuse noise that no word can hold."""
        check_scale(max(estimate.scale(self.budget) for estimate in self.estimates))
        if self.scales is not None:
            check_scale(self.scales.estimate().scale(self.whole.part(SHARE)))

    def noisy_record(self, table: Table, rng: Source, progress: Progress | None = None) -> tuple[Tuned, MomentsRecord]:
        """Return the private estimates, and the moments with noise that everything is computed from.

        Parameters
        ----------
        table : Table
            As of `run`.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            As of `run`.

        Returns
        -------
        Tuned
            The private estimates.
        MomentsRecord
            As a release holds it.
        """
        tuned, sums, record = self._drawn(table, rng, progress)
        record = self._with_later_passes(record, tuned, sums, table, rng)
        return tuned, self.method.divided(record, rng)

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Add up the moments, add the noise, and compute what was asked from the result alone.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Called as rows are read, where their number is public.

        Returns
        -------
        Outcome
            The moments, and what the method makes of them.

        Notes
        -----
        Claim: ``noisy_moments.privacy.md``. Cost: one pass over the rows, one more for each kind of private bound
        and for columns' scales.
        """
        tuned, record = self.noisy_record(table, rng, progress)
        answers = self.method.outcome(record, self.sums.design.candidates)
        return Outcome(
            noise=self.noise,
            steps=(*self._first_steps(), *tuned.steps, *self._moments_steps()),
            moments=record,
            **answers,
        )


def check_scale(scale: Fraction) -> None:
    """Refuse noise that does not fit in 64 bits.

    Parameters
    ----------
    scale : Fraction
        In whole steps.

    Raises
    ------
    InvalidParameterError
        Saying what to change.
    """
    if scale > MAX_SCALE:
        raise InvalidParameterError("The noise must fit in 64 bits. Raise epsilon, or lower rows_per_unit.")


def _part_event(budget: NoiseBudget, share: Fraction) -> Event:
    """Of a share: what the lattice adds grows with rho, and is shared alike."""
    return replace(budget.part(share), lattice=budget.lattice * share).event()
