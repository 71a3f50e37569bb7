"""Objective perturbation: the rate of the linear term and the ridge that are really used, and what they spend."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.events import ComposedEvent, LaplaceEvent, ObjectivePerturbationEvent
from discreet.kernels.glm.objective_perturbation import minimized
from discreet.mechanisms.additive import discrete_laplace
from discreet.mechanisms.spherical import spherical_laplace
from discreet.methods.registry import method_of
from discreet.methods.regression.perturbed_logistic import STEP
from discreet.selftest.evidence import Evidence
from discreet.selftest.replay import swapped
from discreet.selftest.tables import LABEL, REPLACE, Pair
from discreet.selftest.tape import Tape

CURVATURE = 0.25
"""The logistic loss's second derivative is no larger."""


def _objective(relation: str, epsilon: float, _: int) -> list[Evidence]:
    """`LogisticRegression` with delta 0: densities of one minimizer on two tables (Chaudhuri et al. 2011)."""
    pair = Pair([(1.0, 1.0), (-1.0, 0.0)] * 5, (1.0, 0.0), (1.0, 1.0), ("x1", "z"), {"z": LABEL})
    table = pair.tables(relation)[0]
    prepared: Any = method_of("logistic", epsilon=epsilon, delta=0.0).prepare(table.metadata, "z", ["x1"])
    calls: dict[str, tuple[tuple[Any, ...], Any]] = {}

    def watched(mechanism: Any) -> Any:
        def call(*args: Any) -> Any:
            calls[mechanism.__name__] = args, mechanism(*args)
            return calls[mechanism.__name__][1]

        return call

    with swapped({each: watched(each) for each in (spherical_laplace, minimized, discrete_laplace)}):
        prepared.run(table, Tape((0.3, 0.7, 0.2, 0.6, 0.4)))
    (n_numbers, rate, _source), linear = calls["spherical_laplace"]
    (_sums, term, chosen), _theta = calls["minimized"]
    (_values, scale, _source), _noisy = calls["discrete_laplace"]
    longest = math.sqrt(n_numbers)  # of a row, its intercept included
    # Density of the linear term: rate times the gradient's move; of the Jacobian: log(1 + curvature |x|^2 / ridge).
    spent = (2.0 if relation == REPLACE else 1.0) * rate * longest + math.log1p(CURVATURE * longest**2 / chosen.ridge)
    # Two minimizers that stand for one are twice the gradient over the ridge apart; each number is rounded to a step.
    distance = math.sqrt(n_numbers) * 2.0 * chosen.gradient / (chosen.ridge * STEP) + n_numbers
    fault = "" if np.array_equal(linear, term) else "the linear term is not what was drawn"
    charges = _charges(prepared.event)
    about: dict[str, Any] = {
        "subject": "LogisticRegression",
        "claim": "methods/regression/perturbed_logistic.privacy.md",
        "neighboring": relation,
    }
    about |= {"delta": 0.0, "how": "replay", "n_draws": 0, "fault": fault}
    return [
        Evidence(case="delta 0: its minimizer", epsilon=charges[0], shown=spent, **about),
        Evidence(case="delta 0: its output", epsilon=charges[1], shown=distance / float(scale), **about),
    ]


def _charges(event: ComposedEvent) -> tuple[float, float]:
    """Return the charges for the minimizer, and for the noise on the output."""
    kinds = (ObjectivePerturbationEvent, LaplaceEvent)
    epsilons = [sum((each.epsilon for each in event.events if isinstance(each, kind)), Fraction(0)) for kind in kinds]
    return float(epsilons[0]), float(epsilons[1])


CHECKS = (_objective,)
"""Under a relation, at an epsilon. They make no draws."""
