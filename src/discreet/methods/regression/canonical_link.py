"""Requests of logistic and Poisson regressions (privacy specification 6.2)."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import field_validator

from discreet.accounting.guarantee import exact_delta, exact_epsilon
from discreet.data.adjusted_design import Adjustment, GeneralizedDesign, check_predictor
from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.kernels.glm.count_bound import Histogram
from discreet.kernels.glm.families import Family
from discreet.kernels.glm.noisy_newton import MOST_PASSES
from discreet.kernels.sufficient_statistics.score_lengths import OCTAVES
from discreet.methods.base.method import Fitter, Preparation
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.regression.generalized_linear import LEAST_SCALE, PreparedGlm
from discreet.methods.regression.objective_perturbation import PreparedPerturbation
from discreet.parameters.regression import GeneralizedParameters


class GeneralizedLinear(GeneralizedParameters, Fitter):
    """A regression with a canonical link."""

    family_name: ClassVar[Literal["logistic", "poisson"]]

    @field_validator("delta")
    @classmethod
    def _delta_in_range(cls, value: float) -> float:
        exact_delta(value)
        return value

    @field_validator("fit_intercept")
    @classmethod
    def _always_an_intercept(cls, value: bool) -> bool:
        if not value:
            raise ValueError(f"fit_intercept must be true for a {cls.name} regression.")
        return value

    @property
    def adjustment(self) -> Adjustment:
        """The columns that take part without a coefficient."""
        return Adjustment(self.offset, getattr(self, "exposure", None), self.weights)

    @abstractmethod
    def family(self, metadata: Metadata, target: str) -> tuple[Family, float, float]:
        """Return the response's law, and center and bound of its cells."""

    def design(self, metadata: Metadata, target: str, columns: Sequence[str] | None) -> Design:
        """Return the row map of a request."""
        _, center, bound = self.family(metadata, target)
        adjustment, least = self.adjustment, int(columns is None)
        if not adjustment.columns:
            return Design.plan(metadata, target, columns, center, bound, least)
        names = adjustment.candidates(metadata, target, columns)
        adjustment.check(metadata, target, names)
        check_predictor(adjustment, metadata)
        plain = Design.plan(metadata, target, names, center, bound, least)
        adjusted: GeneralizedDesign = GeneralizedDesign.of(plain, metadata, adjustment)
        return adjusted

    def size(self, metadata: Metadata, target: str, columns: Sequence[str] | None = None) -> tuple[int, int]:
        """Return what a noise budget must know before the columns of a later selection are known."""
        p = 1 + sum(self.design(metadata, target, columns).widths) + self.adjustment.has_offset
        family, _, _ = self.family(metadata, target)
        n_bins = Histogram.of(family).n_columns if self.finds_bound(family) else 0
        return MOST_PASSES * p * (p + 3) // 2 + OCTAVES * p + n_bins, LEAST_SCALE

    def finds_bound(self, family: Family) -> bool:
        """Tell whether a pass finds where counts are clipped."""
        return getattr(self, "private_count_bound", False) and family.high > 1.0

    def check_columns(self, metadata: Metadata, target: str, columns: Sequence[str]) -> None:
        """Refuse columns of which one could not be in a model: there is none among numeric ones."""
        self.design(metadata, target, columns)

    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> Preparation:
        """Check the request and calibrate its noise, from public facts alone."""
        size = self.size(metadata, target, candidates)
        budget = NoiseBudget.of(exact_epsilon(self.epsilon), exact_delta(self.delta), *size)
        self._check_adjustment(budget)
        if budget.rho is None:
            return PreparedPerturbation(self, self.design(metadata, target, candidates), budget, for_columns=True)
        return self.prepare_within(metadata, target, candidates, budget)

    def prepare_within(
        self, metadata: Metadata, target: str, columns: Sequence[str] | None, budget: NoiseBudget
    ) -> Preparation:
        """Check a request and fix its noise so that it spends a given budget."""
        design = self.design(metadata, target, columns)
        self._check_adjustment(budget)
        if budget.rho is None:
            return PreparedPerturbation(self, design, budget)
        return PreparedGlm(self, design, budget)

    def _check_adjustment(self, budget: NoiseBudget) -> None:
        """Refuse an offset and weights under a pure budget."""
        if budget.rho is None and self.adjustment.columns:
            role = next(iter(self.adjustment.roles))
            raise InvalidParameterError(
                f"A {self.name} regression with {role} needs a delta, such as 0.000001, but it is 0. Give one, or "
                "leave "
                f"out {role}."
            )
