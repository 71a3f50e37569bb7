"""The epsilon at which a selection reaches a goal: the simulation of a plan, inverted."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import InvalidParameterError
from discreet.methods.base.method import Progress
from discreet.simulation import selection
from discreet.simulation.drawn_tables import DrawnTables
from discreet.simulation.processes import spread
from discreet.simulation.rivals import Rival
from discreet.simulation.scenario import Scenario
from discreet.simulation.selection import Expected, Measure, expected
from discreet.typing import Floats

MOST_EPSILON = 1000.0
LEAST_EPSILON = 1e-3

WIDTH = 0.2
"""Of the interval, in the logarithm of epsilon, at which a bisection ends."""

AROUND = (-0.4, 0.0, 0.4)
"""Steps in that logarithm, beside the end of the bisection, at which a curve is first evaluated."""

STEPS = 5
NEAR = 0.015
"""A goal is met where the curve is within this of it, and its last value within 1.6 times that; or after so many
steps that follow the curve.
"""


def epsilon_for(
    scenario: Scenario,
    rival: Rival,
    goal: float,
    measure: Measure = "right",
    *,
    n_tables: int = 100,
    seed: int = 0,
    tables: DrawnTables | None = None,
) -> Expected | None:
    """Return the simulation at the least epsilon that reaches a goal; None where even a very large epsilon does not.

    Bisection in log epsilon, then a logistic curve through points around its end, refined where it meets the goal.
    """
    if not 0.0 < goal < 1.0:
        raise InvalidParameterError(f"A goal must lie in (0, 1), but it is {goal:g}.")
    drawn, n_few = tables or DrawnTables(scenario), max(n_tables // 4, min(n_tables, 8))

    def at(place: float, count: int, seed: int, explains: bool = measure == "explained") -> Expected | None:
        options: dict[str, Any] = {"n_tables": count, "n_draws": 1, "seed": seed, "tables": drawn, "explains": explains}
        results = expected(scenario, [rival], [math.exp(place)], **options)
        return results[0] if results else None

    low, high = math.log(LEAST_EPSILON), math.log(MOST_EPSILON)
    if getattr(at(high, n_few, seed), measure, 0.0) < goal > getattr(at(high, 2 * n_tables, seed + 1), measure, 0.0):
        return None  # only if many tables agree
    while high - low > WIDTH:
        middle = (low + high) / 2.0
        low, high = (middle, high) if getattr(at(middle, n_few, seed), measure, 0.0) < goal else (low, middle)
    places = [_within(high + part) for part in AROUND]
    values = [getattr(at(place, n_tables, seed + 1), measure, 0.0) for place in places]
    tried = list[Expected]()
    for step in range(STEPS):
        place = _within(_crossing(np.array(places), np.array(values), goal)[0])
        latest = at(place, 2 * n_tables, seed + 2 + step, explains=True)
        tried += [latest] if latest is not None else []
        places += [place] * 2
        values += [getattr(latest, measure, 0.0)] * 2
        _, curve = _crossing(np.array(places), np.array(values), goal)
        if abs(curve(place) - goal) <= NEAR and abs(values[-1] - goal) <= 1.6 * NEAR:
            return latest
    met = [result for result in tried if getattr(result, measure) >= goal - NEAR]
    return min(met or tried[-1:], key=lambda result: result.epsilon, default=None)


def _within(place: float) -> float:
    """The nearest logarithm of an epsilon that can be had."""
    return min(max(place, math.log(LEAST_EPSILON)), math.log(MOST_EPSILON))


def _crossing(places: Floats, values: Floats, goal: float) -> tuple[float, Callable[[float], float]]:
    """Where a logistic curve through noisy values, in the logarithm of epsilon, takes a value; and the curve."""
    middle = float(places.mean())
    x = np.column_stack([np.ones(len(places)), places - middle])
    start = math.log(goal / (1.0 - goal))
    coef = np.array([start, 1.0])
    for _ in range(50):
        mean = 1.0 / (1.0 + np.exp(-np.clip(x @ coef, -30.0, 30.0)))
        weights = np.maximum(mean * (1.0 - mean), 1e-4)
        prior = 1e-3 * np.eye(2)  # values that are all alike have no curve through them
        coef = coef + np.linalg.solve(x.T @ (weights[:, None] * x) + prior, x.T @ (values - mean) - prior @ coef)

    def curve(place: float) -> float:
        return float(1.0 / (1.0 + np.exp(-np.clip(coef[0] + coef[1] * (place - middle), -30.0, 30.0))))

    if not coef[1] > 0.0:
        return middle, curve
    reach = float(np.ptp(places))
    return middle + min(max((start - float(coef[0])) / float(coef[1]), -reach), reach), curve


def epsilons_for(
    scenario: Scenario,
    rivals: Sequence[Rival],
    goal: float,
    measure: Measure = "right",
    *,
    n_tables: int = 100,
    seed: int = 0,
    n_processes: int = 1,
    progress: Progress | None = None,
) -> list[Expected]:
    """Return the least epsilon of each selection that reaches a goal; those that never do are left out."""
    work, results = _Inversion(scenario, goal, measure, n_tables, seed), list[Expected | None]()
    start = time.perf_counter()

    def take(more: Iterable[Expected | None]) -> None:
        for result in more:
            results.append(result)
            if progress is not None:
                progress("Looking for epsilon", 1, len(rivals))

    take(work.epsilon(rival) for rival in rivals[:1])
    remaining = rivals[1:]
    if n_processes > 1 and (time.perf_counter() - start) * len(remaining) > selection.WORTH_SECONDS:
        take(spread(work.epsilon, remaining, n_processes))
    else:
        take(work.epsilon(rival) for rival in remaining)
    return [result for result in results if result is not None]


@dataclass(frozen=True)
class _Inversion:
    """The search for an epsilon, the same for a rival wherever it is run."""

    scenario: Scenario
    goal: float
    measure: Measure
    n_tables: int
    seed: int

    def epsilon(self, rival: Rival) -> Expected | None:
        facts = {"n_tables": self.n_tables, "seed": self.seed}
        return epsilon_for(self.scenario, rival, self.goal, self.measure, **facts, tables=_tables_of(self.scenario))


def _tables_of(scenario: Scenario) -> DrawnTables:
    """The tables of the last scenario that this process was asked about."""
    if not _LAST or _LAST[0].scenario != scenario:
        _LAST[:] = [DrawnTables(scenario)]
    return _LAST[0]


_LAST: list[DrawnTables] = []
