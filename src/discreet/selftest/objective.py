"""Objective perturbation: the rate of the linear term and the ridge that are really used, and what they spend."""

import math
from typing import Any

import numpy as np

from discreet.accounting.events import (
    ComposedEvent,
    CubeEvent,
    EllipsoidEvent,
    LaplaceEvent,
    ObjectivePerturbationEvent,
)
from discreet.kernels.glm.count_bound import UNIT
from discreet.kernels.glm.objective_perturbation import minimized
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.additive import discrete_laplace
from discreet.mechanisms.cube import cube_noise
from discreet.mechanisms.ellipsoid import ellipsoid_noise
from discreet.mechanisms.spherical import spherical_laplace
from discreet.methods.registry import method_of
from discreet.methods.regression.objective_perturbation import STEP
from discreet.selftest.evidence import Evidence
from discreet.selftest.replay import swapped
from discreet.selftest.tables import LABEL, REPLACE, Pair
from discreet.selftest.tape import Tape

MECHANISMS = spherical_laplace, minimized, discrete_laplace, cube_noise, ellipsoid_noise
PARTS = "minimizer", "output", "information"

LARGEST_COUNT = 2.0
COUNT = {"type": "integer", "lower": 0, "upper": LARGEST_COUNT}

CURVATURES = {
    "logistic": {1: 0.25},
    "poisson": {
        1: math.exp(-1.0),
        2: max(m * math.exp(-m) * (1.0 + m) for m in (j / 1e4 for j in range(40_000))),
    },
}
"""By where counts are clipped: no second derivative of a loss is larger. Of E min(N, c), N of mean m, it is m P(N < c)
by the log of the mean.
"""


def _logistic(relation: str, epsilon: float, _: int) -> list[Evidence]:
    return _objective("logistic", "LogisticRegression", relation, epsilon, LABEL, 1.0)


def _poisson(relation: str, epsilon: float, _: int) -> list[Evidence]:
    return _objective("poisson", "PoissonRegression", relation, epsilon, COUNT, LARGEST_COUNT)


def _objective(
    family: str, subject: str, relation: str, epsilon: float, target: dict[str, Any], high: float
) -> list[Evidence]:
    """A regression with delta 0: densities of one minimizer on two tables (Chaudhuri et al. 2011)."""
    pair = Pair([(1.0, high), (-1.0, 0.0)] * 5, (1.0, 0.0), (1.0, high), ("x1", "z"), {"z": target})
    table = pair.tables(relation)[0]
    prepared: Any = method_of(family, epsilon=epsilon, delta=0.0).prepare(table.metadata, "z", ["x1"])
    calls: dict[str, tuple[tuple[Any, ...], Any]] = {}
    laplace: list[tuple[Any, ...]] = []

    def watched(mechanism: Any) -> Any:
        def call(*args: Any) -> Any:
            calls[mechanism.__name__] = args, mechanism(*args)
            if mechanism is discrete_laplace:
                laplace.append(args)
            return calls[mechanism.__name__][1]

        return call

    with swapped({each: watched(each) for each in MECHANISMS}):
        outcome = prepared.run(table, Tape((0.3, 0.7, 0.2, 0.6, 0.4)))
    (n_numbers, rate, _source), linear = calls["spherical_laplace"]
    (_sums, term, chosen), _theta = calls["minimized"]
    *before, (_values, scale, _source) = laplace
    (_entries, information_scale, _), _noisy = calls["cube_noise"]
    longest = math.sqrt(n_numbers)  # of a row, its intercept included
    # Density of the linear term: rate times the gradient's move; of the Jacobian: log(1 + curvature |x|^2 / ridge).
    bound = int(outcome.fit.count_bound or high)
    curvature = CURVATURES[family][bound] / bound  # responses are divided by the largest
    spent = (2.0 if relation == REPLACE else 1.0) * rate * longest + math.log1p(curvature * longest**2 / chosen.ridge)
    # Two minimizers that stand for one are twice the gradient over the ridge apart; each number is rounded to a step.
    distance = math.sqrt(n_numbers) * 2.0 * chosen.gradient / (chosen.ridge * STEP) + n_numbers
    # A row at a corner added moves no product by more than 1; replaced by one at another corner, one of them by 2.
    moved = (2 if relation == REPLACE else 1) * GRID**2
    fault = "" if np.array_equal(linear, term) else "the linear term is not what was drawn"
    charges = _charges(prepared.event, family == "poisson")
    about: dict[str, Any] = {
        "subject": subject,
        "claim": "methods/regression/objective_perturbation.privacy.md",
        "neighboring": relation,
    }
    about |= {"delta": 0.0, "how": "replay", "n_draws": 0, "fault": fault}
    shown = [spent, distance / float(scale), moved / float(information_scale)]
    if family == "poisson":
        ((_rows, bins_scale, _),) = before
        of_bins = (2 if relation == REPLACE else 1) * UNIT / float(bins_scale)  # a row leaves a bin for another
        shown = [of_bins, *shown, _of_squares(calls["ellipsoid_noise"][0][1], relation)]
    parts = ("bound of counts", *PARTS, "dispersion") if family == "poisson" else PARTS
    return [
        Evidence(case=f"delta 0: its {part}", epsilon=charge, shown=each, **about)
        for part, charge, each in zip(parts, charges, shown, strict=True)
    ]


def _of_squares(scales: Any, relation: str) -> float:
    """The length, over the scales, of the change by a unit whose score is as long as is let through.

    Of two columns: the sum of lengths, then the products 00, 01 and 11. A unit of score (s, 0) is added, or replaced by
    one of (0, s), which is as long and moves two products.
    """
    of_length, first, _, second = (GRID**2 / float(scale) for scale in scales)
    return math.hypot(first, second) if relation == REPLACE else math.hypot(of_length, first)


def _charges(event: ComposedEvent, is_of_counts: bool) -> tuple[float, ...]:
    """Return the charges for the minimizer, for the noise on the output, for the information, and of counts before that
    for where they are clipped, and after it for how much they vary.
    """
    kinds = [ObjectivePerturbationEvent, LaplaceEvent, CubeEvent]
    if [type(each) for each in event.events] != ([LaplaceEvent, *kinds, EllipsoidEvent] if is_of_counts else kinds):
        raise TypeError("The parts of objective perturbation must be a minimizer, its output and the information.")
    return tuple(float(getattr(each, "epsilon")) for each in event.events)  # noqa: B009 - of events of any kind


CHECKS = (_logistic, _poisson)
"""Under a relation, at an epsilon. They make no draws."""
