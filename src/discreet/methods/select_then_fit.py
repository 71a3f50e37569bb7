"""Screen or select columns, then fit the model that they make: two or three steps under one privacy cost."""

from collections.abc import Sequence
from typing import Any, ClassVar

from discreet.accounting.guarantee import exact_delta
from discreet.data.halves import can_be_halved, metadata_of_halves
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.methods.base.method import Method, Preparation
from discreet.methods.following_step import FollowingStep, event_of
from discreet.methods.plan_steps import PlanSteps, most_columns, parts_of, step_parameters
from discreet.methods.prepared_steps import PreparedSteps
from discreet.methods.registry import FAMILIES, IN_PLANS, SCREENINGS, require_method
from discreet.parameters.steps import StepsParameters

FISSION = "fission"

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
    ``prepared_steps.privacy.md``.
    """

    name: ClassVar[str] = "run"

    @property
    def takes_features(self) -> bool:
        """Whether the candidates may be the features of a wide table: they are to be screened."""
        return self.screen is not None

    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> Preparation:
        """Check all steps and fix their privacy costs, from public facts alone."""
        self._check_keys()
        inference = self.selective_inference or self._inference(metadata)
        if inference == "split":
            return self._by_half(metadata, target, candidates)
        if inference == FISSION:
            self._check_fission()
        steps = PlanSteps(
            self, (metadata, metadata), target, parts_of(self.epsilon, self._requested_steps()), inference, metadata
        )
        candidates = steps.candidates(candidates)
        if self.screen is None:
            return steps.selected(candidates, ())
        screen = steps.screening(candidates)
        steps.candidates(screen.candidates)
        steps.check_columns(screen.candidates)
        # All candidates of a screening are numeric and are scaled alike, so that any k of them need the same noise,
        # and none of them is refused once the rows are open: each was checked above.
        largest = most_columns(screen)
        parameters = {**steps.stated, "screen": step_parameters(self.screen, screen)}

        def then(columns: Sequence[str]) -> Preparation:
            if self.select is None:
                return steps.fitted(columns, columns, screen)
            return steps.selected(columns, (event_of(screen),))

        return PreparedSteps(screen, "screening", then, largest, exact_delta(self.delta), parameters, self.family)

    def _by_half(self, metadata: Metadata, target: str, candidates: Sequence[str] | None) -> Preparation:
        """Half of the units screen and select, the others fit, each half at all of epsilon and delta."""
        *choices, fit = self._requested_steps()
        parts = [*parts_of(self.epsilon, choices), *parts_of(self.epsilon, [fit])]
        steps = PlanSteps(self, metadata_of_halves(metadata), target, parts, "split", metadata)
        candidates = steps.candidates(candidates)
        if self.screen is None:
            return steps.halves(steps.choice(candidates), "selection", None, {})
        screen = steps.screening(candidates)
        steps.candidates(screen.candidates)
        steps.check_columns(screen.candidates)
        largest = most_columns(screen)
        selection = None if self.select is None else FollowingStep.of(steps.choice, largest)
        return steps.halves(screen, "screening", selection, {"screen": step_parameters(self.screen, screen)})

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

    def _check_keys(self) -> None:
        """Refuse methods that are none, and what a step cannot decide: the plan does, or another step."""
        screening = None if self.screen is None else str(self.screen.get("method", "sis"))
        if screening is not None:
            require_method(screening, SCREENINGS, "screen.method")
        require_method(self.selection_method, IN_PLANS, "select.method")
        require_method(self.family, FAMILIES, "fit.family")
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
