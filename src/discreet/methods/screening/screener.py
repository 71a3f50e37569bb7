"""What the methods that choose k columns by scores share: parameters, checks, the mechanism that the rule picks."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Self

from pydantic import model_validator

from discreet.accounting.guarantee import exact_delta
from discreet.data.metadata import CategoryColumn, Metadata
from discreet.errors import InvalidParameterError
from discreet.methods.base.method import Method
from discreet.methods.screening.top_k_choice import (
    EXPECTED_SHARE,
    GAMMA,
    Mechanism,
    TopK,
    choose_mechanism,
    concentrated_epsilon,
)
from discreet.parameters.screening import ScreeningParameters, TopKNoise

MOST_PEELED = 1000
"""Each round of peeling has a privacy cost of its own; more columns are for the other mechanisms."""


class Screening(ScreeningParameters, Method):
    """A method that chooses k columns by scores."""

    @model_validator(mode="after")
    def _mechanism_has_what_is_asked(self) -> Self:
        if self.gamma is not None and self.mechanism not in ("auto", "canonical_lipschitz"):
            raise ValueError("gamma must come with mechanism=canonical_lipschitz: the others have none.")
        if self.noise == "gumbel" and self.mechanism == "one_shot":
            raise ValueError("noise must be exponential for mechanism=one_shot.")
        return self

    @property
    def takes_features(self) -> bool:
        """Whether the candidates may be the features of a wide table, named by its header."""
        return True

    def number_of_rows(self, metadata: Metadata) -> int | None:
        """Return the number of rows that formulas may use: the public one, else the guess `n0`."""
        return metadata.n_rows if metadata.n_rows is not None else self.n0

    def check_size(self, n_features: int) -> None:
        """Refuse a number of columns that cannot be chosen."""
        k = self.n_features_to_select
        if k >= n_features:
            advice = "all would be selected, and nothing needs to be spent for that" if k == n_features else "lower it"
            there_are = "there is only one (n_features=1)" if n_features == 1 else f"there are {n_features} candidates"
            raise InvalidParameterError(
                f"n_features_to_select must be less than the number of candidates, but n_features_to_select={k} and "
                f"{there_are}: {advice}."
            )

    def top_k(self, n_features: int, epsilon: Fraction, sensitivity: int, step: int, largest: float | None) -> TopK:
        """Return the choice of k columns and its noise, by the rule where no mechanism is named."""
        self.check_size(n_features)
        k, delta = self.n_features_to_select, exact_delta(self.delta)
        expected = self.expected_score
        if expected is None and largest is not None:
            expected = EXPECTED_SHARE * largest
        mechanism, noise = self._mechanism(n_features, epsilon, sensitivity / step, expected)
        if mechanism == "peeling" and k > MOST_PEELED:
            raise InvalidParameterError(
                f"mechanism=peeling must select at most {MOST_PEELED} columns, but n_features_to_select={k}. "
                "Use mechanism=one_shot."
            )
        if mechanism == "peeling" and noise == "gumbel" and delta and k > 1:  # one draw costs epsilon at delta 0
            epsilon = concentrated_epsilon(k, epsilon, delta)
        gamma = self.gamma if self.gamma is not None else 1.0 if k == 1 else GAMMA
        return TopK(mechanism, noise, gamma, n_features, k, epsilon, sensitivity)

    def _mechanism(
        self, n_features: int, epsilon: Fraction, sensitivity: float, expected: float | None
    ) -> tuple[Mechanism, TopKNoise]:
        k, delta = self.n_features_to_select, exact_delta(self.delta)
        if self.mechanism != "auto":
            by_delta: TopKNoise = "gumbel" if self.mechanism == "peeling" and delta else "exponential"
            return self.mechanism, self.noise or by_delta
        if self.gamma is not None:
            return "canonical_lipschitz", self.noise or "exponential"
        mechanism = choose_mechanism(n_features, k, epsilon, sensitivity, expected)
        if mechanism == "canonical_lipschitz":
            return mechanism, self.noise or "exponential"
        if self.noise == "exponential" or k > MOST_PEELED:
            return mechanism, "exponential"
        # Peeling has one-shot's scale at the same epsilon; with a delta its rounds together may have a larger one.
        gains = k > 1 and delta > 0 and concentrated_epsilon(k, epsilon, delta) > epsilon
        peels = self.noise == "gumbel" or gains
        return ("peeling", "gumbel") if peels else ("one_shot", "exponential")

    def release_parameters(self) -> dict[str, Any]:
        """Return the parameters that are set, as JSON values."""
        return self.model_dump(mode="json", exclude_none=True)


def target_coding(
    metadata: Metadata, target: str, level: str | None, codes: Mapping[str, float] | None
) -> dict[str, Any]:
    """Return `level` and `codes` of a category target; two levels without either are coded -1 and 1."""
    column = metadata.declared(target)
    if isinstance(column, CategoryColumn) and level is None and codes is None and len(column.levels or ()) == 2:
        low, high = column.levels or ("", "")
        codes = {low: -1.0, high: 1.0}
    return {"level": level, "codes": codes}
