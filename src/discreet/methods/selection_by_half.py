"""Half of the units choose the columns, the others give their coefficients: each half at the whole privacy cost."""

from fractions import Fraction
from typing import Any

from discreet.accounting.events import ComposedEvent, ParallelEvent
from discreet.data.engine import Table
from discreet.data.halves import KEY_WORDS, halves_of
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Outcome, Preparation, Progress
from discreet.methods.following_step import FollowingStep, beside_of, event_of, records_of
from discreet.release import NoiseRecord, StepRecord


class PreparedHalves(Preparation):
    """A choice of columns on half of the units, in one or two steps, and the fit of what they chose on the others.

    Parameters
    ----------
    first : Preparation
        The first choice.
    label : str
        What it is called among the steps: screening or selection.
    selection : FollowingStep or None
        The choice among screened columns, by the same half.
    fit : FollowingStep
        By the other half.
    delta : Fraction
        Of each half, and so of all.
    parameters : dict
        Of the plan and of all steps.
    not_protected : tuple of str
        What the guarantee does not protect, of the whole table.
    """

    def __init__(
        self,
        first: Preparation,
        label: str,
        selection: FollowingStep | None,
        fit: FollowingStep,
        delta: Fraction,
        parameters: dict[str, Any],
        not_protected: tuple[str, ...],
    ) -> None:
        self.first, self.label, self.selection, self.fit, self.delta = first, label, selection, fit, delta
        self.target, self.candidates, beside = first.target, first.candidates, beside_of(fit.widest)
        self.columns = tuple(dict.fromkeys((*first.columns, *fit.widest.columns))) if beside else first.columns
        choices = [event_of(first), *([] if selection is None else [event_of(selection.widest)])]
        choice = choices[0] if len(choices) == 1 else ComposedEvent(tuple(choices))
        self.event = ParallelEvent((choice, event_of(fit.widest)))
        self.parameters = parameters
        self.noise = first.noise if selection is None else selection.widest.noise
        self.steps = (*records_of(label, first, first.steps), *self._selection_steps(), *fit.widest.steps)
        self.public, self.not_protected = (*first.public, *beside), not_protected

    def _selection_steps(self) -> tuple[StepRecord, ...]:
        widest = None if self.selection is None else self.selection.widest
        return () if widest is None else records_of("selection", widest, widest.steps)

    def expected_noise(self, variance: float) -> NoiseRecord:
        """Return the noise of the last choice, as it can be expected.

        Parameters
        ----------
        variance : float
            Of the target, in squared bounds.

        Returns
        -------
        NoiseRecord
            Of the selection, else of the screening.
        """
        chooses = self.first if self.selection is None else self.selection.widest
        return chooses.expected_noise(variance)

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Throw the units into halves; let the first choose, and the second estimate what was chosen.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the coins and the noise come from.
        progress : callable, optional
            Called for work whose length is public.

        Returns
        -------
        Outcome
            The selected columns and their coefficients.

        Notes
        -----
        Claim: ``selection_by_half.privacy.md``.
        """
        choosing, fitting = halves_of(table, rng.words(KEY_WORDS), self.columns)
        chosen = self.first.run(choosing, rng, progress)
        steps = records_of(self.label, self.first, chosen.steps, chosen.selected)
        if self.selection is not None:
            selection = self.selection.on(chosen.selected)
            chosen = selection.run(choosing, rng, progress)
            steps += records_of("selection", selection, chosen.steps)
        done = self.fit.on(chosen.selected).run(fitting, rng, progress)
        return Outcome(
            selected=done.selected,
            noise=chosen.noise,
            steps=(*steps, *done.steps),
            fit=done.fit,
            by_size=chosen.by_size,
            chances=chosen.chances,
            hidden=chosen.hidden,
        )
