"""Select columns, then fit the model that they make: two steps as one priced unit."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

from pydantic import Field, field_validator

from discreet.accounting.events import ComposedEvent, event_record
from discreet.accounting.guarantee import exact_delta, exact_epsilon
from discreet.accounting.totals import totals_of
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.base import Fitter, Method, Outcome, Preparation, Progress
from discreet.methods.noise_budget import NoiseBudget
from discreet.methods.registry import FAMILIES, SELECTIONS, method_of
from discreet.release import StepRecord

SELECT_SHARE = Fraction(1, 2)
"""Part of epsilon that a selection gets when the plan does not say."""


class SelectThenFit(Method):
    """A selection, and coefficients of the columns that it selects, under one epsilon and delta.

    Parameters
    ----------
    epsilon : float
        Of both steps together, in nats, in (0, 1000].
    delta : float
        Of both steps together.
    select : dict
        ``method``, and its parameters; ``epsilon`` is its part, half of the whole where it is not given.
    fit : dict
        ``family`` (linear, logistic or poisson), and its parameters; ``epsilon`` is its part, the rest of the whole
        where it is not given.

    Notes
    -----
    Claim: ``select_then_fit.privacy.md``.
    """

    name: ClassVar[str] = "run"

    epsilon: float = 1.0
    delta: float = 0.0
    select: dict[str, Any] = Field(default_factory=dict)
    fit: dict[str, Any] = Field(default_factory=dict)

    @field_validator("epsilon")
    @classmethod
    def _epsilon_in_range(cls, value: float) -> float:
        exact_epsilon(value)
        return value

    @field_validator("delta")
    @classmethod
    def _delta_in_range(cls, value: float) -> float:
        exact_delta(value)
        return value

    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> Preparation:
        """Check both steps and price them, from public facts alone.

        Parameters
        ----------
        metadata : Metadata
            What is public about the table.
        target : str
            The response of both steps.
        candidates : sequence of str, optional
            Columns that may be selected; default all declared ones but the target.

        Returns
        -------
        Preparation
            The cost, and a `run`.

        Raises
        ------
        InvalidParameterError
            When the parts cost more than the whole, or a step's parameters do not fit.
        """
        how, family = str(self.select.get("method", "pcls")), str(self.fit.get("family", "linear"))
        if how not in SELECTIONS or family not in FAMILIES:
            raise InvalidParameterError(
                f"A plan must select by one of {', '.join(SELECTIONS)}, then fit one of {', '.join(FAMILIES)}, but it "
                f"has method={how[:40]!r} and family={family[:40]!r}."
            )
        self._check_keys(how)
        first, second = self._parts()
        selecting = {name: value for name, value in self.select.items() if name not in ("method", "epsilon")}
        fitting = {name: value for name, value in self.fit.items() if name not in ("family", "epsilon")}
        if how == "moments":
            selecting["delta"] = self.delta
            if family == "linear":
                return self._from_moments(first + second, selecting, fitting, metadata, target, candidates)
        method = method_of(how, epsilon=float(first), **selecting)
        fitter = method_of(family, epsilon=float(second), delta=self.delta, **fitting)
        prepared = method.prepare(metadata, target, candidates)
        if prepared.event is None or not isinstance(fitter, Fitter):
            raise InvalidParameterError("A plan must give a guarantee, but as_published gives none. Drop it.")
        if totals_of(prepared.event).failure > exact_delta(self.delta):
            raise InvalidParameterError(
                f"A plan's delta must cover its parts, but the selection needs more than delta={self.delta:g}. "
                "Raise it, or give the selection a smaller one."
            )
        size = fitter.size(metadata, target, prepared.candidates)
        budget = NoiseBudget.of(first + second, exact_delta(self.delta), *size, (prepared.event,))
        return PreparedSteps(self, prepared, fitter, budget, metadata)

    def _check_keys(self, how: str) -> None:
        """Refuse what a step cannot decide: the plan does, or the other step."""
        mine = {"name", "fit", "confidence", "delta"} if how == "moments" else {"name"}
        steps = (("select", self.select, mine), ("fit", self.fit, {"name", "delta", "fit_intercept"}))
        for step, keys, forbidden in steps:
            found = sorted(forbidden & set(keys))
            if found:
                raise InvalidParameterError(
                    f"A plan's {step} step cannot have {found[0]}: leave it out. Delta belongs to the plan, "
                    "confidence to fit, and a model here always has an intercept."
                )

    def _from_moments(
        self,
        epsilon: Fraction,
        selecting: dict[str, Any],
        fitting: dict[str, Any],
        metadata: Metadata,
        target: str,
        candidates: Sequence[str] | None,
    ) -> Preparation:
        """Both steps from the same noisy moments: the second is free."""
        confidence = fitting.pop("confidence", 0.95)
        if fitting:
            raise InvalidParameterError(
                f"A fit from noisy moments has no parameter {next(iter(fitting))[:40]!r}: give it to select."
            )
        method = method_of("moments", epsilon=float(epsilon), fit=True, confidence=confidence, **selecting)
        prepared = method.prepare(metadata, target, candidates)
        prepared.parameters = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "select": {"method": "moments", **prepared.parameters},
            "fit": {"family": "linear", "confidence": confidence},
        }
        return prepared

    def _parts(self) -> tuple[Fraction, Fraction]:
        """Epsilon of the selection and of the fit."""
        total = exact_epsilon(self.epsilon)
        stated = [part.get("epsilon") for part in (self.select, self.fit)]
        asked = [None if value is None else exact_epsilon(value) for value in stated]
        second_or_none = asked[1]
        first = asked[0] or (total - second_or_none if second_or_none is not None else total * SELECT_SHARE)
        second = second_or_none or total - first
        if first <= 0 or second <= 0 or first + second > total:
            shown = " + ".join("the rest" if value is None else f"{float(value):g}" for value in asked)
            raise InvalidParameterError(
                f"The parts of a plan must cost at most the whole, but {shown} does not fit in epsilon="
                f"{self.epsilon:g}. Lower a part, or raise epsilon."
            )
        return first, second


class PreparedSteps(Preparation):
    """A request of `SelectThenFit` with its budget split.

    Parameters
    ----------
    method : SelectThenFit
        The parameters.
    selection : Preparation
        The first step.
    fitter : Fitter
        The second step's parameters.
    budget : NoiseBudget
        What the second step may spend.
    metadata : Metadata
        What is public about the table.
    """

    def __init__(
        self,
        method: SelectThenFit,
        selection: Preparation,
        fitter: Fitter,
        budget: NoiseBudget,
        metadata: Metadata,
    ) -> None:
        self.selection, self.fitter, self.budget, self.metadata = selection, fitter, budget, metadata
        self.columns, self.target, self.candidates = selection.columns, selection.target, selection.candidates
        if selection.event is None:
            raise InvalidParameterError("A plan must give a guarantee.")
        self.delta = exact_delta(method.delta)
        widest = fitter.prepare_within(metadata, self.target, self.candidates, budget)
        if widest.event is None:
            raise InvalidParameterError("A plan must give a guarantee.")
        self.event = ComposedEvent((selection.event, widest.event))
        self.parameters = {
            "epsilon": method.epsilon,
            "delta": method.delta,
            "select": {"method": method.select.get("method", "pcls"), **selection.parameters},
            "fit": {"family": fitter.name, **widest.parameters},
        }
        self.noise = selection.noise
        self.steps = (*self._selection_steps(selection.steps), *widest.steps)
        self.public, self.not_protected = selection.public, selection.not_protected

    def _selection_steps(self, steps: tuple[StepRecord, ...]) -> tuple[StepRecord, ...]:
        if steps or self.selection.event is None:
            return steps
        return (StepRecord(name="selection", event=event_record(self.selection.event), noise=self.selection.noise),)

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Select, then fit what was selected.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Told of work whose length is public.

        Returns
        -------
        Outcome
            The selected columns and their coefficients.

        Notes
        -----
        Claim: ``select_then_fit.privacy.md``.
        """
        chosen = self.selection.run(table, rng, progress)
        fit = self.fitter.prepare_within(self.metadata, self.target, chosen.selected, self.budget)
        fitted = fit.run(table, rng, progress)
        return Outcome(
            selected=chosen.selected,
            noise=chosen.noise,
            steps=(*self._selection_steps(chosen.steps), *fitted.steps),
            fit=fitted.fit,
            moments=fitted.moments,
            by_size=chosen.by_size,
        )
