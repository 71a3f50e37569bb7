"""Steps that follow each other on the same rows: a choice of columns, and what is done with them."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from discreet.accounting.events import ComposedEvent
from discreet.data.engine import Table
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Outcome, Preparation, Progress
from discreet.methods.following_step import NextStep, beside_of, event_of, records_of
from discreet.release import NoiseRecord


class PreparedSteps(Preparation):
    """A step that chooses columns, and what is done with them.

    Parameters
    ----------
    first : Preparation
        The choice.
    label : str
        What the choice is called among the steps.
    then : callable
        From the chosen columns to the next step, which may itself be several.
    largest : sequence of str
        The most columns that can come: the next step's event is the same for whichever do.
    delta : Fraction
        Of all steps together.
    first_parameters : dict
        Of the plan and of the choice.
    family : str
        Of the fit.
    """

    def __init__(
        self,
        first: Preparation,
        label: str,
        then: NextStep,
        largest: Sequence[str],
        delta: Fraction,
        first_parameters: dict[str, Any],
        family: str,
    ) -> None:
        self.first, self.label, self.then, self.delta = first, label, then, delta
        self.target, self.candidates = first.target, first.candidates
        self.widest = then(largest)
        beside = beside_of(self.widest)
        self.columns = tuple(dict.fromkeys((*first.columns, *self.widest.columns))) if beside else first.columns
        self.event = ComposedEvent((event_of(first), event_of(self.widest)))
        parameters = self.widest.parameters
        self._selects = "select" in parameters
        inner = (
            {name: parameters[name] for name in ("select", "fit")}
            if self._selects
            else {"family": family, **parameters}
        )
        self.parameters = {**first_parameters, **(inner if self._selects else {"fit": inner})}
        self.noise = self.widest.noise if self._selects else first.noise
        self.steps = (*records_of(label, first, first.steps), *self.widest.steps)
        self.public, self.not_protected = (*first.public, *beside), first.not_protected

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
        return (self.widest if self._selects else self.first).expected_noise(variance)

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Choose, then go on with what was chosen.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Called for work whose length is public.

        Returns
        -------
        Outcome
            The selected columns and their coefficients.

        Notes
        -----
        Claim: ``prepared_steps.privacy.md``.
        """
        chosen = self.first.run(table, rng, progress)
        following = self.then(chosen.selected)
        if following.event != self.widest.event:
            raise ArithmeticError("a step would cost other than was reserved")
        done = following.run(table, rng, progress)
        return Outcome(
            selected=done.selected,
            noise=done.noise if self._selects else chosen.noise,
            steps=(*records_of(self.label, self.first, chosen.steps, chosen.selected), *done.steps),
            fit=done.fit,
            moments=done.moments,
            by_size=done.by_size or chosen.by_size,
            chances=(done if self._selects else chosen).chances,
            hidden=(done if self._selects else chosen).hidden,
        )
