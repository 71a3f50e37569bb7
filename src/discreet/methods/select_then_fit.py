"""Screen or select columns, then fit the model that they make: two or three steps under one privacy cost."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

from discreet.accounting.events import ComposedEvent, Event
from discreet.accounting.guarantee import exact_delta, exact_epsilon
from discreet.accounting.totals import totals_of
from discreet.data.adjusted_design import Adjustment
from discreet.data.engine import Table
from discreet.data.halves import can_be_halved, metadata_of_halves
from discreet.data.metadata import Metadata
from discreet.data.score_design import are_alike
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Fitter, Method, Outcome, Preparation, Progress
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.base.request_facts import not_protected
from discreet.methods.following_step import BESIDE, FollowingStep, NextStep, beside_of, event_of, records_of
from discreet.methods.registry import FAMILIES, IN_PLANS, SCREENINGS, method_of
from discreet.methods.selection_by_half import PreparedHalves
from discreet.parameters.steps import StepsParameters
from discreet.release import NoiseRecord

FISSION = "fission"

MOST_COLUMNS = 128
"""That a step which follows a screening of no fixed number is prepared for."""

NAMING = ("forced", "groups", "models", "design_moments", "public_moments")
"""Parameters that name columns: a screening may drop those columns."""


class SelectThenFit(StepsParameters, Method):
    """A choice of columns in one or two steps, and their coefficients, under one epsilon and delta.

    Notes
    -----
    By default half of the units choose, and the others give the coefficients, each half at all of epsilon: so the
    intervals do not suffer from the choice. Noisy moments that select and are fitted are divided instead: half of what
    they tell selects, the other half is fitted (``fission.privacy.md``). With ``selective_inference="none"`` all
    rows do both, and the steps share epsilon. Each step may have an ``epsilon``, its part; those that have none share
    alike what the others of the same rows leave. Claims: ``selection_by_half.privacy.md``,
    ``select_then_fit.privacy.md``.
    """

    name: ClassVar[str] = "run"

    @property
    def takes_features(self) -> bool:
        """Whether the candidates may be the features of a wide table: they are to be screened."""
        return self.screen is not None

    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> Preparation:
        """Check all steps and fix their privacy costs, from public facts alone.

        Parameters
        ----------
        metadata : Metadata
            What is public about the table.
        target : str
            The response of all steps.
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
        self._check_keys()
        inference = self.selective_inference or self._inference(metadata)
        if inference == "split":
            return self._by_half(metadata, target, candidates)
        if inference == FISSION:
            self._check_fission()
        steps = _Steps(
            self, (metadata, metadata), target, _parts(self.epsilon, self._requested_steps()), inference, metadata
        )
        candidates = steps.candidates(candidates)
        if self.screen is None:
            return steps.selected(candidates, ())
        screen = steps.screening(candidates)
        steps.candidates(screen.candidates)
        steps.check_columns(screen.candidates)
        # All candidates of a screening are numeric and are scaled alike, so that any k of them need the same noise,
        # and none of them is refused once the rows are open: each was checked above.
        largest = _most_columns(screen)
        parameters = {**steps.stated, "screen": _step_parameters(self.screen, screen)}

        def then(columns: Sequence[str]) -> Preparation:
            if self.select is None:
                return steps.fitted(columns, columns, screen)
            return steps.selected(columns, (event_of(screen),))

        return PreparedSteps(screen, "screening", then, largest, exact_delta(self.delta), parameters, self.family)

    def _by_half(self, metadata: Metadata, target: str, candidates: Sequence[str] | None) -> Preparation:
        """Half of the units screen and select, the others fit, each half at all of epsilon and delta."""
        *choices, fit = self._requested_steps()
        parts = [*_parts(self.epsilon, choices), *_parts(self.epsilon, [fit])]
        steps = _Steps(self, metadata_of_halves(metadata), target, parts, "split", metadata)
        candidates = steps.candidates(candidates)
        if self.screen is None:
            return steps.halves(steps.choice(candidates), "selection", None, {})
        screen = steps.screening(candidates)
        steps.candidates(screen.candidates)
        steps.check_columns(screen.candidates)
        largest = _most_columns(screen)
        selection = None if self.select is None else FollowingStep.of(steps.choice, largest)
        return steps.halves(screen, "screening", selection, {"screen": _step_parameters(self.screen, screen)})

    def _inference(self, metadata: Metadata) -> str:
        """What serves by default: noisy moments can be divided at no cost of epsilon, other steps by units."""
        # Of public moments both parts would have the same ones.
        is_divisible = self._fits_moments and (self.select or {}).get("public_moments") is None
        if is_divisible and self.screen is None and metadata.rows_per_unit == 1 and not self._fits_more:
            return FISSION
        return "split" if can_be_halved(metadata) else "none"

    def _check_fission(self) -> None:
        """Refuse to divide what is not noisy moments alone."""
        if not self._fits_moments or self.screen is not None:
            raise InvalidParameterError(
                "selective_inference=fission divides noisy moments, so the plan must select by moments, fit a linear "
                "model and screen nothing. Set selective_inference: split."
            )

    @property
    def _fits_moments(self) -> bool:
        """Whether the coefficients can come from the moments that select."""
        return self.selection_method == "moments" and self.family == "linear"

    @property
    def _fits_more(self) -> bool:
        """Whether the fit asks for what moments that select do not have."""
        return bool({key for key in self.fit if key not in ("family", "epsilon", "confidence")})

    def _requested_steps(self) -> list[dict[str, Any]]:
        """The steps that there are."""
        chosen = self.select if self.select is not None or self.screen is not None else {}
        return [step for step in (self.screen, chosen, self.fit) if step is not None]

    @property
    def selection_method(self) -> str:
        """The selection's method."""
        return str((self.select or {}).get("method", "pcls"))

    @property
    def family(self) -> str:
        """The regression's family."""
        return str(self.fit.get("family", "linear"))

    def _check_keys(self) -> None:
        """Refuse methods that are none, and what a step cannot decide: the plan does, or another step."""
        screening = None if self.screen is None else str(self.screen.get("method", "sis"))
        if self.selection_method not in IN_PLANS or self.family not in FAMILIES or screening not in (None, *SCREENINGS):
            first = "" if screening is None else f"screen={screening[:40]!r}, "
            raise InvalidParameterError(
                f"A plan may screen by one of {', '.join(SCREENINGS)}, must select by one of {', '.join(IN_PLANS)}, "
                f"then fit one of {', '.join(FAMILIES)}, but it has {first}method={self.selection_method[:40]!r} and "
                f"family={self.family[:40]!r}."
            )
        if self.selection_method == "decorrelated" and self.screen is not None:
            raise InvalidParameterError(
                "A plan that screens cannot select by decorrelated, whose noise depends on the kinds of the columns: "
                "nobody knows which will be left. Screen nothing, or select by moments."
            )
        not_in_select = {"name"}
        if self.selection_method == "moments":
            not_in_select |= {"fit", "confidence", "delta", "selective_inference"}
        if self.screen is not None:
            not_in_select |= set(NAMING)
        steps = (
            ("screen", self.screen or {}, {"name", "delta", "noise_test"}),
            ("select", self.select or {}, not_in_select),
            ("fit", self.fit, {"name", "delta", "fit_intercept", *(NAMING if self.screen is not None else ())}),
        )
        for step, keys, forbidden in steps:
            misplaced = sorted(forbidden & set(keys))
            if misplaced and misplaced[0] in NAMING:
                raise InvalidParameterError(
                    f"A plan's {step} step cannot have {misplaced[0]} after a screening: nobody knows which columns "
                    "will be left. Leave it out."
                )
            if misplaced:
                raise InvalidParameterError(
                    f"A plan's {step} step cannot have {misplaced[0]}: leave it out. Delta belongs to the plan, "
                    "confidence to fit, and a model here always has an intercept."
                )


class _Steps:
    """The steps of a plan; `parts` are their epsilons, `metadata` those of the choice and of the fit."""

    def __init__(
        self,
        plan: SelectThenFit,
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
            "select": _step_parameters({"method": plan.selection_method}, prepared),
        }
        return PreparedSteps(prepared, "selection", then, prepared.candidates, self.delta, parameters, plan.family)

    def choice(self, columns: Sequence[str] | None) -> Preparation:
        """A selection among columns, whose failures the plan's delta must cover."""
        prepared = self._selection().prepare(self.metadata, self.target, columns)
        if totals_of(event_of(prepared)).failure > self.delta:
            raise InvalidParameterError(
                f"A plan's delta must cover its parts, but the selection needs more than delta={self.plan.delta:g}. "
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
            largest = _most_columns(first)
        fitter = self._fitter()
        size = fitter.size(self.metadata_of_fit, self.target, largest)
        budget = NoiseBudget.of(self.last, self.delta, *size)
        fit = FollowingStep.of(
            lambda columns: fitter.prepare_within(self.metadata_of_fit, self.target, columns, budget), largest
        )
        stated = {**self.stated, **parameters}
        if label == "selection" or selection is not None:
            stated["select"] = _step_parameters({"method": self.plan.selection_method}, chooses)
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


def _parts(epsilon: float, steps: list[dict[str, Any]]) -> list[Fraction]:
    """Epsilon of each step; those without one share alike what the others leave."""
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


def _step_parameters(step: dict[str, Any], prepared: Preparation) -> dict[str, Any]:
    stated = {key: value for key, value in prepared.parameters.items() if key != "noise_test"}  # no step has one
    return {"method": step.get("method", "sis"), **stated}


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
        Claim: ``select_then_fit.privacy.md``.
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
        )


def _most_columns(screen: Preparation) -> Sequence[str]:
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
