"""What the theorems of Lei et al. ask for where they prove that the right model is found, and whether it is so."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.methods.base.method import Preparation
from discreet.methods.subset_selection.pcls import PreparedLeastSquares
from discreet.methods.subset_selection.pcpl import PreparedProfileLikelihood
from discreet.methods.subset_selection.subset_regression import PreparedSelection
from discreet.simulation.rivals import Rival
from discreet.simulation.scenario import Scenario


@dataclass(frozen=True)
class Condition:
    """One condition of a theorem.

    Parameters
    ----------
    quantity : str
        "penalty", "R", "rows" or "epsilon of the sum of squares".
    relation : {">=", "<="}
        Between what is found and what is needed.
    needed, actual : float
        Of that quantity; what is needed may be infinite: no number would do.
    purpose : str
        What it ensures, in words.
    """

    quantity: str
    relation: str
    needed: float
    actual: float
    purpose: str

    @property
    def holds(self) -> bool:
        """Whether it is met."""
        return self.actual >= self.needed if self.relation == ">=" else self.actual <= self.needed

    def record(self) -> dict[str, Any]:
        """Return the fields as JSON values, an infinite need as None, and whether the condition holds."""
        needed = self.needed if math.isfinite(self.needed) else None
        fields = {"quantity": self.quantity, "relation": self.relation, "needed": needed, "found": self.actual}
        return {**fields, "purpose": self.purpose, "holds": self.holds}


@dataclass(frozen=True)
class _Facts:
    """What the theorems speak of, in the target's unit and per half range of a column."""

    models: float
    sigma2: float
    n_rows: int
    n_true: int
    n_columns: int
    least_effect: float
    least_eigenvalue: float
    y_bound: float
    radius: float

    @property
    def size(self) -> float:
        """(r + R)^2: what one row adds to a sum of squares at most."""
        return (self.y_bound + self.radius) ** 2

    @property
    def strength(self) -> float:
        """kappa_0 b_0^2: what leaving out the weakest column adds to the mean square at least."""
        return max(self.least_eigenvalue * self.least_effect**2, 1e-300)


def conditions(scenario: Scenario, rivals: Sequence[Rival], epsilon: float) -> list[dict[str, Any]]:
    """Return theorem 1 for the first pcls, theorem 2 for the first pcpl among the selections, each with its conditions.

    The constant c is taken as 0, so what is needed is the least; theorem 2 scales the residual variance to 1.
    Source: Lei et al. 2018, conditions (18) to (20); privacy specification 1.7.
    """
    theorems = []
    for method in ("pcls", "pcpl"):
        for rival in (candidate for candidate in rivals if candidate.method == method):
            theorem = _theorem(scenario, rival, epsilon)
            if theorem is not None:
                theorems.append(theorem)
                break
    return theorems


def _theorem(scenario: Scenario, rival: Rival, epsilon: float) -> dict[str, Any] | None:
    try:
        prepared = rival.at(epsilon).prepare(scenario.draw_metadata, scenario.target, scenario.candidates)
    except DiscreetError:
        return None
    facts = _facts(scenario, prepared)
    if facts is None:
        return None
    if isinstance(prepared, PreparedLeastSquares):
        penalty = prepared.parameters["model_penalty"]
        if not isinstance(penalty, int | float):
            return None
        number, all_of = 1, _of_least_squares(facts, float(penalty), epsilon)
    elif isinstance(prepared, PreparedProfileLikelihood) and prepared.method.variance_floor is None:
        penalty = _likely_penalty(prepared, facts)
        number, all_of = 2, _of_likelihood(facts, penalty, prepared)
    else:
        return None
    return {
        "theorem": number,
        "method": rival.method,
        "rival": rival.name,
        "epsilon": epsilon,
        "model_penalty": float(penalty),
        "holds": all(condition.holds for condition in all_of),
        "conditions": [condition.record() for condition in all_of],
    }


def _facts(scenario: Scenario, prepared: Preparation) -> _Facts | None:
    if not scenario.truth or not isinstance(prepared, PreparedSelection):
        return None
    if prepared.tuning.budget.keys() - {"y_center", "n_rows", "sigma2"}:
        return None  # r or R is private
    r, R = prepared.design.bound, prepared.radius
    pattern = scenario.pattern
    scores = scenario.sample if pattern is None else pattern.scores
    weights = np.full(len(scores), 1.0 / len(scores)) if pattern is None else pattern.records / pattern.records.sum()
    x = np.column_stack([np.ones(len(scores)), scores])
    return _Facts(
        math.log(max(prepared.noise.n_candidates or 2, 2)),
        scenario.noise_sd**2,
        scenario.n_rows,
        len(scenario.truth),
        len(scenario.candidates),
        min(abs(scenario.effects[name]) for name in scenario.truth),
        max(float(np.linalg.eigvalsh(x.T @ (weights[:, None] * x))[0]), 1e-12),
        float(r),
        float(R),
    )


def _of_least_squares(facts: _Facts, penalty: float, epsilon: float) -> list[Condition]:
    """Theorem 1: the penalty in squared units of the target."""
    # The penalty must also outweigh the noise: phi >= 4 alpha (r + R)^2 log(n) / epsilon (privacy specification 1.7).
    most = facts.strength * facts.n_rows / max(4.0, 1.0 + 2.0 * facts.n_true)
    return [
        *_penalty(penalty, 4.0 * facts.models * facts.sigma2, 4.0 * facts.models * facts.size / epsilon, most),
        *_common(facts),
    ]


def _of_likelihood(facts: _Facts, penalty: float, prepared: PreparedProfileLikelihood) -> list[Condition]:
    """Theorem 2: the penalty on the scale of -2 log-likelihood; epsilon is in two parts."""
    first, second = float(prepared.split.squares), float(prepared.split.selection)
    most = 2.0 / (3.0 * facts.n_true) * facts.n_rows * math.log1p(facts.strength / (4.0 * facts.sigma2))
    # By the same step as for theorem 1: phi >= 64 alpha (r + R)^2 log(n) / (epsilon sigma^2).
    least = 64.0 * facts.models * facts.size / (second * facts.sigma2)
    room = facts.n_rows * facts.sigma2 / 4.0 - facts.size
    spread = facts.models + math.log(1.0 / (2.0 * float(prepared.split.delta)))
    needed = facts.size * spread / room if room > 0.0 else math.inf
    return [
        *_penalty(penalty, 8.0 * facts.models, least, most),
        *_common(facts),
        Condition("epsilon of the sum of squares", ">=", needed, first, "its noise leaves a useful bound"),
    ]


def _penalty(penalty: float, sampling: float, noise: float, most: float) -> list[Condition]:
    return [
        Condition("penalty", ">=", sampling, penalty, "sampling error lets in no column without effect"),
        Condition("penalty", ">=", noise, penalty, "the noise for privacy lets in none either"),
        Condition("penalty", "<=", most, penalty, "no column with an effect is left out"),
    ]


def _common(facts: _Facts) -> list[Condition]:
    """What both ask of the limit on coefficients and of the number of rows."""
    ratio = facts.sigma2 / facts.strength
    rows = max(
        128.0 * facts.models * ratio,
        4.0 * facts.n_columns * ratio * math.log(max(facts.n_rows, 2)),
        16.0 * facts.models * facts.n_columns,
        8.0 * facts.n_true,
    )
    radius = facts.y_bound * math.sqrt(facts.n_columns / facts.least_eigenvalue)
    return [
        Condition("R", ">=", radius, facts.radius, "the limit on coefficients binds no model"),
        Condition("rows", ">=", rows, float(facts.n_rows), "the weakest effect stands out of sampling error"),
    ]


def _likely_penalty(prepared: PreparedProfileLikelihood, facts: _Facts) -> float:
    """What the penalty becomes when the sum of squares is as supposed and its noise is nothing."""
    profile = prepared.scores(prepared.setting)
    sum_of_squares = Fraction(facts.n_rows * facts.sigma2 / facts.y_bound**2)
    bound = profile.bound(sum_of_squares)
    choice = profile.widest() if bound <= profile.threshold else profile.choice(bound)
    return float(choice.penalty)
