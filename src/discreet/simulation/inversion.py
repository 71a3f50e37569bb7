"""The epsilon at which a selection reaches a goal: the simulation of a plan, inverted."""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.errors import InvalidParameterError
from discreet.methods.base.method import Progress
from discreet.simulation import selection
from discreet.simulation.curves import risen
from discreet.simulation.drawn_tables import DrawnTables
from discreet.simulation.processes import spread
from discreet.simulation.rivals import Rival
from discreet.simulation.scenario import Scenario
from discreet.simulation.selection import PLACES, Expected, Measure, Simulation
from discreet.typing import Floats

EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""At which a curve is looked at first: those of a plan among them."""

NEAR = 1.07
"""The goal is missed at the epsilon that is found, divided by this."""


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

    All epsilons are tried on the same tables and draws, and the curve through them never falls. What is returned is at
    or above the goal.
    """
    if not 0.0 < goal < 1.0:
        raise InvalidParameterError(f"A goal must lie in (0, 1), but it is {goal:g}.")
    n_few = max(n_tables // 4, min(n_tables, 8))
    curve = _Curve(scenario, rival, measure, seed, tables or DrawnTables(scenario))
    place = curve.first(EPSILONS, n_few, goal)
    while place < len(EPSILONS) and curve.raw(EPSILONS[place], n_tables) < goal:
        place += 1
    if place == len(EPSILONS):
        if curve.raw(EPSILONS[-1], n_tables) < goal:
            return None
        place -= 1
    while place > 0 and curve.raw(EPSILONS[place - 1], n_tables) >= goal:
        place -= 1
    high = EPSILONS[place]
    low = EPSILONS[place - 1] if place else high
    while high / low > NEAR:
        middle = _rounded(math.sqrt(low * high))
        if middle in (low, high):
            break
        low, high = (middle, high) if curve.raw(middle, n_tables) < goal else (low, middle)
    met = [each for each in curve.risen(n_tables) if getattr(each, measure) >= goal]
    return met[0] if met else None


def _rounded(epsilon: float) -> float:
    """Two significant digits: what people write."""
    return float(f"{epsilon:.2g}")


class _Curve:
    """Ratings of one selection, at any epsilon, on the same tables and draws."""

    def __init__(self, scenario: Scenario, rival: Rival, measure: Measure, seed: int, tables: DrawnTables) -> None:
        self._scenario, self._rival, self._measure, self._seed, self._tables = scenario, rival, measure, seed, tables
        self._ratings: dict[float, list[Floats]] = {}

    def _at(self, epsilon: float, n_tables: int) -> list[Floats]:
        """One array of shape (1, 1, 3) a table; none where the epsilon is refused."""
        ratings = self._ratings.setdefault(epsilon, [])
        work = Simulation(self._scenario, (self._rival,), (epsilon,), 1, self._seed)
        if len(ratings) < n_tables and work.prepared:
            ratings += [work.rated(number, self._tables) for number in range(len(ratings), n_tables)]
        return ratings[:n_tables]

    def raw(self, epsilon: float, n_tables: int) -> float:
        """The mean at one epsilon; 0 where it is refused."""
        ratings = self._at(epsilon, n_tables)
        return float(np.mean([own[..., PLACES.index(self._measure)] for own in ratings])) if ratings else 0.0

    def first(self, epsilons: Sequence[float], n_tables: int, goal: float) -> int:
        """Place of the first epsilon at which few tables reach the goal; past the end where none does."""
        low, high = 0, len(epsilons)
        while low < high:  # the law rises, so a bisection does
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.raw(epsilons[middle], n_tables) < goal else (low, middle)
        return low

    def risen(self, n_tables: int) -> list[Expected]:
        """The curve through all epsilons that were tried on all tables."""
        epsilons = sorted(epsilon for epsilon, ratings in self._ratings.items() if len(ratings) >= n_tables)
        if not epsilons:
            return []
        ratings = [np.concatenate(self._at(epsilon, n_tables)) for epsilon in epsilons]
        return risen(self._scenario, self._rival.name, epsilons, ratings)


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
    start = time.process_time()

    def take(more: Iterable[Expected | None]) -> None:
        for result in more:
            results.append(result)
            if progress is not None:
                progress("Looking for epsilon", 1, len(rivals))

    take(work.epsilon(rival) for rival in rivals[:1])
    remaining = rivals[1:]
    if n_processes > 1 and (time.process_time() - start) * len(remaining) > selection.WORTH_SECONDS:
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
