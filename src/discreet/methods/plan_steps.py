"""The steps of a plan one by one: their parameters, epsilons and public checks."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from discreet.accounting.events import Event
from discreet.accounting.guarantee import exact_delta, exact_epsilon
from discreet.accounting.totals import totals_of
from discreet.data.adjusted_design import Adjustment
from discreet.data.metadata import Metadata
from discreet.data.score_design import are_alike
from discreet.digits import plain
from discreet.errors import InvalidParameterError
from discreet.methods.base.method import Fitter, Method, Preparation
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.base.request_facts import not_protected
from discreet.methods.following_step import BESIDE, FollowingStep, NextStep, event_of
from discreet.methods.prepared_steps import PreparedSteps
from discreet.methods.registry import method_of
from discreet.methods.selection_by_half import PreparedHalves
from discreet.parameters.steps import StepsParameters

MOST_COLUMNS = 128
"""That a step which follows a screening of no fixed number is prepared for."""


class PlanSteps:
    """The steps of a plan, each prepared from public facts.

    Parameters
    ----------
    plan : StepsParameters
        What was asked.
    metadata : tuple of Metadata
        Of the choice, and of the fit.
    target : str
        The response of all steps.
    parts : list of Fraction
        Epsilon of each step.
    inference : str
        How intervals stay valid: `split`, `fission` or `none`.
    whole : Metadata
        Of the table before it is halved.
    """

    def __init__(
        self,
        plan: StepsParameters,
        metadata: tuple[Metadata, Metadata],
        target: str,
        parts: list[Fraction],
        inference: str,
        whole: Metadata,
    ) -> None:
        self.plan, self.target, self.by_half, self.whole = plan, target, inference == "split", whole
        self.metadata, self.metadata_of_fit = metadata
        self.first = parts.pop(0) if plan.screen is not None else Fraction(0)
        self.last = parts[-1]
        self.middle = parts[0] if len(parts) == 2 else Fraction(0)
        self.delta = exact_delta(plan.delta)
        self.fitting = self._keys(plan.fit, "family")
        self.stated = {"epsilon": plan.epsilon, "delta": plan.delta, "selective_inference": inference}

    def _keys(self, step: dict[str, Any] | None, name: str) -> dict[str, Any]:
        """A step's own parameters; a guess of the number of rows is of the whole table, as a public number is."""
        keys = {key: value for key, value in (step or {}).items() if key not in (name, "epsilon")}
        if self.by_half and self.whole.n_rows is not None and self.metadata.n_rows is None:
            keys.setdefault("n0", self.whole.n_rows)
        if self.by_half and isinstance(keys.get("n0"), int) and keys["n0"] > 1:
            keys["n0"] //= 2
        return keys

    def candidates(self, candidates: Sequence[str] | None) -> Sequence[str] | None:
        """The candidates, of which an offset and weights of the fit are none."""
        if not BESIDE & set(self.fitting) or self._is_one_step:
            return candidates
        adjustment: Adjustment = getattr(self._fitter(), "adjustment", Adjustment())
        names = adjustment.candidates(self.metadata, self.target, candidates)
        adjustment.check(self.metadata, self.target, names)
        return names

    def screening(self, candidates: Sequence[str] | None) -> Preparation:
        """The first step."""
        keys = self._keys(self.plan.screen, "method")
        method = method_of(str((self.plan.screen or {}).get("method", "sis")), epsilon=_at_most(self.first), **keys)
        method = method.model_copy(update={"noise_test": False})  # of a selection alone
        return method.prepare(self.metadata, self.target, candidates)

    def check_columns(self, columns: Sequence[str]) -> None:
        """Refuse a column that a later step could not take: a screening may leave any of them."""
        checked = columns[:1] if are_alike(self.metadata, columns) else columns
        for step in self._later():
            if isinstance(step, Fitter):
                step.check_columns(self.metadata_of_fit, self.target, checked)

    def _later(self) -> list[Method]:
        """The steps after a screening; where the fit comes from a selection's moments, they are one."""
        selection = [] if self.plan.select is None else [self._selection()]
        return selection if selection and self._is_one_step else [*selection, self._fitter()]

    @property
    def _is_one_step(self) -> bool:
        return not self.by_half and self.plan.selection_method == "moments" and self.plan.family == "linear"

    def _selection(self) -> Method:
        plan = self.plan
        keys = self._keys(plan.select, "method")
        if plan.selection_method == "moments":
            keys["delta"] = plan.delta
        if self._is_one_step:
            keys |= {"fit": True, "selective_inference": self.stated["selective_inference"], **self._level()}
            return method_of("moments", epsilon=_at_most(self.middle + self.last), **keys)
        return method_of(plan.selection_method, epsilon=_at_most(self.middle), **keys)

    def _level(self) -> dict[str, Any]:
        """The confidence of a fit from noisy moments, which has no other parameter."""
        fitting = dict(self.fitting)
        level = {"confidence": fitting.pop("confidence", 0.95)}
        if BESIDE & set(fitting):
            raise InvalidParameterError(
                f"A fit from noisy moments cannot have {min(BESIDE & set(fitting))}. Select by another method."
            )
        if fitting:
            raise InvalidParameterError(
                f"A fit from noisy moments has no parameter {next(iter(fitting))[:40]!r}: give it to select."
            )
        return level

    def selected(self, columns: Sequence[str] | None, before: tuple[Event, ...]) -> Preparation:
        """A selection among columns and the fit of what it selects, when other steps were charged before."""
        plan = self.plan
        if self._is_one_step:
            return self._from_moments(columns)
        prepared = self.choice(columns)
        then = self._fit_within(self._fitter(), prepared.candidates, (*before, event_of(prepared)))
        parameters = {
            **self.stated,
            "select": step_parameters({"method": plan.selection_method}, prepared),
        }
        return PreparedSteps(prepared, "selection", then, prepared.candidates, self.delta, parameters, plan.family)

    def choice(self, columns: Sequence[str] | None) -> Preparation:
        """A selection among columns, whose failures the plan's delta must cover."""
        prepared = self._selection().prepare(self.metadata, self.target, columns)
        if totals_of(event_of(prepared)).failure > self.delta:
            raise InvalidParameterError(
                "A plan's delta must cover its parts, but the selection needs more than "
                f"delta={plain(self.plan.delta)}. "
                "Raise it, or give the selection a smaller one."
            )
        return prepared

    def halves(
        self, first: Preparation, label: str, selection: FollowingStep | None, parameters: dict[str, Any]
    ) -> Preparation:
        """A choice by half of the units, in one step or two, and the fit by the others."""
        chooses = first if selection is None else selection.widest
        largest = chooses.candidates
        if label == "screening" and selection is None:
            largest = most_columns(first)
        fitter = self._fitter()
        size = fitter.size(self.metadata_of_fit, self.target, largest)
        budget = NoiseBudget.of(self.last, self.delta, *size)
        fit = FollowingStep.of(
            lambda columns: fitter.prepare_within(self.metadata_of_fit, self.target, columns, budget), largest
        )
        stated = {**self.stated, **parameters}
        if label == "selection" or selection is not None:
            stated["select"] = step_parameters({"method": self.plan.selection_method}, chooses)
        stated["fit"] = {"family": self.plan.family, **fit.widest.parameters}
        return PreparedHalves(first, label, selection, fit, self.delta, stated, not_protected(self.whole))

    def fitted(self, columns: Sequence[str], largest: Sequence[str], screen: Preparation) -> Preparation:
        """The fit of screened columns."""
        return self._fit_within(self._fitter(), largest, (event_of(screen),))(columns)

    def _fitter(self) -> Fitter:
        fitter = method_of(self.plan.family, epsilon=float(self.last), delta=self.plan.delta, **self.fitting)
        if not isinstance(fitter, Fitter):
            raise InvalidParameterError("A plan must give a guarantee.")
        return fitter

    def _fit_within(self, fitter: Fitter, largest: Sequence[str], before: tuple[Event, ...]) -> NextStep:
        size = fitter.size(self.metadata, self.target, largest)
        budget = NoiseBudget.of(self.first + self.middle + self.last, self.delta, *size, before)
        return lambda columns: fitter.prepare_within(self.metadata, self.target, columns, budget)

    def _from_moments(self, columns: Sequence[str] | None) -> Preparation:
        """Both steps from the same noisy moments: the second is free."""
        prepared = self._selection().prepare(self.metadata, self.target, columns)
        prepared.parameters = {
            **self.stated,
            "select": {"method": "moments", **prepared.parameters},
            "fit": {"family": "linear", **self._level()},
        }
        return prepared


def _at_most(part: Fraction) -> float:
    """A float that stands for no more than a part: rounded to the nearest, all parts could exceed the whole."""
    value = float(part)
    return value if exact_epsilon(value) <= part else math.nextafter(value, 0.0)


def parts_of(epsilon: float, steps: list[dict[str, Any]]) -> list[Fraction]:
    """Return the epsilon of each step; those without one share alike what the others leave."""
    total = exact_epsilon(epsilon)
    stated = [step.get("epsilon") for step in steps]
    epsilons = [None if value is None else exact_epsilon(value) for value in stated]
    remaining = total - sum((value for value in epsilons if value is not None), Fraction(0))
    open_ = sum(value is None for value in epsilons)
    if remaining < 0 or (open_ and remaining <= 0):
        shown = " + ".join("the rest" if value is None else f"{float(value):g}" for value in epsilons)
        raise InvalidParameterError(
            f"The parts of a plan must cost at most the whole, but {shown} does not fit in epsilon="
            f"{epsilon:g}. Lower a part, or raise epsilon."
        )
    return [value if value is not None else remaining / open_ for value in epsilons]


def step_parameters(step: dict[str, Any], prepared: Preparation) -> dict[str, Any]:
    """Return what a release says of a step: its method and parameters."""
    stated = {key: value for key, value in prepared.parameters.items() if key != "noise_test"}  # no step has one
    return {"method": step.get("method", "sis"), **stated}


def most_columns(screen: Preparation) -> Sequence[str]:
    """Return as many columns as a screening can leave: what follows is charged for them."""
    k = screen.parameters["n_features_to_select"]
    if k != "auto":
        return screen.candidates[: int(k)]
    if len(screen.candidates) > MOST_COLUMNS:
        raise InvalidParameterError(
            f"A step after n_features_to_select=auto must be ready for all candidates, of which there may be "
            f"{MOST_COLUMNS}, but there are {len(screen.candidates)}. Give a number instead."
        )
    return screen.candidates
