"""How well selections can be expected to do: the methods themselves, run on tables drawn from a scenario."""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError, InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.base import Preparation, Progress
from discreet.planning.processes import spread
from discreet.planning.remembered import remembered
from discreet.planning.rivals import Rival
from discreet.planning.rivals import rivals as rivals_of
from discreet.planning.scenario import DrawnTables, Scenario, SimulatedTable

Measure = Literal["right", "overlap", "explained"]
Floats = npt.NDArray[np.float64]

MOST_EPSILON = 1000.0
LEAST_EPSILON = 1e-3

AROUND = (-0.4, -0.2, 0.0, 0.2, 0.4)
"""Steps in the logarithm of epsilon, beside the end of a bisection, at which a curve is first seen."""

STEPS = 9
NEAR = 0.015
"""A goal is met within this, or after so many steps."""

WORTH_SECONDS = 8.0
"""Work that is expected to take longer than this is spread over processes: they take about two seconds to start."""


@dataclass(frozen=True)
class Expected:
    """Means over drawn tables and draws of noise, of one selection at one epsilon.

    Parameters
    ----------
    rival : str
        What it is called.
    epsilon : float
        In nats.
    n_rows : int
        Of the tables.
    right : float
        Chance that exactly the right columns are selected.
    overlap : float
        Columns that are right and selected over those that are either (Jaccard).
    explained : float
        Adjusted R^2 of the selected columns over that of the right ones.
    error : float
        Standard error of `right`, between tables included; not 0 where all agree, as further ones might not.
    n_draws : int
        Draws in all.
    """

    rival: str
    epsilon: float
    n_rows: int
    right: float
    overlap: float
    explained: float
    error: float
    n_draws: int


@dataclass(frozen=True)
class Simulation:
    """What is run on each table, the same for a table's number wherever it is run.

    Parameters
    ----------
    scenario : Scenario
        What tables are drawn from.
    rivals : tuple of Rival
        The selections.
    epsilons : tuple of float
        In nats.
    n_draws : int
        Draws of noise on each table.
    seed : int
        Of the simulation.
    """

    scenario: Scenario
    rivals: tuple[Rival, ...]
    epsilons: tuple[float, ...]
    n_draws: int
    seed: int

    @cached_property
    def prepared(self) -> dict[tuple[str, float], Preparation]:
        """Requests by rival and epsilon; what is refused is left out."""
        return {
            (rival.name, epsilon): found
            for rival in self.rivals
            for epsilon in self.epsilons
            if (found := _prepared(self.scenario, rival, epsilon)) is not None
        }

    def table_seed(self, number: int) -> int:
        """Return the seed of a table.

        Parameters
        ----------
        number : int
            Of the table.

        Returns
        -------
        int
            Of its rows.
        """
        return self.seed * 1_000_003 + number

    def rated(self, number: int, tables: DrawnTables | None = None) -> Floats:
        """Return how good the selections on one table are.

        Parameters
        ----------
        number : int
            Of the table.
        tables : DrawnTables, optional
            Where to look for it first.

        Returns
        -------
        ndarray of float, shape (n_requests, n_draws, 3)
            Right, overlap, explained.
        """
        seed = self.table_seed(number)
        table = self.scenario.draw(Source.seeded(seed)) if tables is None else tables.table(seed)
        found = np.empty((len(self.prepared), self.n_draws, 3))
        for place, one in enumerate(self.prepared.values()):
            rng = Source.seeded(seed * 1009 + place + 1)
            for draw in range(self.n_draws):
                found[place, draw] = _rated(self.scenario, table, one, rng)
        return found


def expected(
    scenario: Scenario,
    rivals: Sequence[Rival],
    epsilons: Sequence[float],
    *,
    n_tables: int = 20,
    n_draws: int = 5,
    seed: int = 0,
    n_processes: int = 1,
    tables: DrawnTables | None = None,
    progress: Progress | None = None,
) -> list[Expected]:
    """Run selections on drawn tables and rate what they select.

    Parameters
    ----------
    scenario : Scenario
        What tables are drawn from.
    rivals : sequence of Rival
        The selections.
    epsilons : sequence of float
        In nats.
    n_tables : int
        Tables, the same for all; at least 1.
    n_draws : int
        Draws of noise on each; at least 1.
    seed : int
        Of the simulation.
    n_processes : int
        At most; more than one only where the work is long. The numbers are the same.
    tables : DrawnTables, optional
        Tables of the same scenario that may have been drawn before.
    progress : callable, optional
        Told of the tables.

    Returns
    -------
    list of Expected
        In the order of the rivals, then of the epsilons; a rival that refuses an epsilon is left out there.

    Raises
    ------
    InvalidParameterError
        When there are no tables, no draws, or the seed is negative.

    Notes
    -----
    Cost: a selection on known moments for each draw. Several processes are started anew, so a script that asks for
    them must keep its own work under ``if __name__ == "__main__"``.
    """
    if min(n_tables, n_draws) < 1 or seed < 0:
        raise InvalidParameterError(
            "A simulation must have at least one table, one draw and a seed that is not negative, but "
            f"n_tables={n_tables}, n_draws={n_draws}, seed={seed}."
        )
    work = Simulation(scenario, tuple(rivals), tuple(map(float, epsilons)), n_draws, seed)
    if not work.prepared:
        return []
    found: list[Floats] = []

    def take(more: Iterable[Floats]) -> None:
        for one in more:
            found.append(one)
            if progress is not None:
                progress("Simulating tables", 1, n_tables)

    take(work.rated(number, tables) for number in range(min(1, n_tables)))  # pays what is loaded once
    start = time.perf_counter()
    take(work.rated(number, tables) for number in range(1, min(2, n_tables)))
    left = range(2, n_tables)
    if n_processes > 1 and (time.perf_counter() - start) * len(left) > WORTH_SECONDS:
        take(spread(work.rated, left, n_processes))
    else:
        take(work.rated(number, tables) for number in left)
    ratings = np.stack(found)
    return [_mean(scenario, *key, ratings[:, place]) for place, key in enumerate(work.prepared)]


def expected_selection(
    scenario: Scenario,
    epsilons: Sequence[float] = (0.1, 0.3, 1.0, 3.0, 10.0),
    *,
    compared: Sequence[Rival] | None = None,
    delta: float = 1e-6,
    n_tables: int = 20,
    n_draws: int = 2,
    seed: int = 0,
) -> list[Expected]:
    """Tell how well selections can be expected to do on a table that is like a scenario; no private data are opened.

    Parameters
    ----------
    scenario : Scenario
        What the table is supposed to be like.
    epsilons : sequence of float
        In nats.
    compared : sequence of Rival, optional
        The selections; default those that are worth a comparison.
    delta : float
        Of the default ones; 0 leaves out what needs one.
    n_tables : int
        Tables to draw.
    n_draws : int
        Draws of noise on each.
    seed : int
        Of the simulation: the same numbers for the same seed.

    Returns
    -------
    list of Expected
        In the order of the selections, then of the epsilons.
    """
    found = compared
    if found is None:
        found = rivals_of(scenario.metadata, scenario.target, scenario.candidates, delta, scenario.n_rows)
    return expected(scenario, found, epsilons, n_tables=n_tables, n_draws=n_draws, seed=seed)


def epsilon_for(
    scenario: Scenario,
    rival: Rival,
    wanted: float,
    measure: Measure = "right",
    *,
    n_tables: int = 100,
    seed: int = 0,
    tables: DrawnTables | None = None,
) -> Expected | None:
    """Return the least epsilon at which a selection does as well as is wanted.

    Parameters
    ----------
    scenario : Scenario
        What tables are drawn from.
    rival : Rival
        The selection.
    wanted : float
        In (0, 1).
    measure : {"right", "overlap", "explained"}
        What must reach it.
    n_tables : int
        Tables for each point of the curve; a quarter as many a step of the bisection, the same in every step, and twice
        as many where the curve meets the goal.
    seed : int
        Of the simulation.
    tables : DrawnTables, optional
        Tables of the same scenario that may have been drawn before.

    Returns
    -------
    Expected or None
        There; None where even a very large epsilon does not do.

    Raises
    ------
    InvalidParameterError
        When `wanted` is not in (0, 1).

    Notes
    -----
    Where a method does no better with more epsilon over some range, the epsilon found may be any of that range.
    Bisection in log epsilon, then a logistic curve through points around its end, each with tables of its own; where
    the curve meets the goal is the next point, until one is near.
    """
    if not 0.0 < wanted < 1.0:
        raise InvalidParameterError(f"A goal must lie in (0, 1), but it is {wanted:g}.")

    kept, few = tables or DrawnTables(scenario), max(n_tables // 4, 1)

    def at(epsilon: float, count: int, seed: int) -> Expected | None:
        found = expected(scenario, [rival], [epsilon], n_tables=count, n_draws=1, seed=seed, tables=kept)
        return found[0] if found else None

    low, high = math.log(LEAST_EPSILON), math.log(MOST_EPSILON)
    if getattr(at(MOST_EPSILON, few, seed), measure, 0.0) < wanted:
        return None
    while high - low > 0.1:
        middle = (low + high) / 2.0
        one = at(math.exp(middle), few, seed)
        low, high = (middle, high) if one is None or getattr(one, measure) < wanted else (low, middle)
    places, values = list[float](), list[float]()
    found, steps = None, [high + part for part in AROUND]
    for step in range(STEPS):
        is_last = step >= len(AROUND)
        place = _crossing(np.array(places), np.array(values), wanted) if is_last else steps[step]
        place = min(max(place, math.log(LEAST_EPSILON)), math.log(MOST_EPSILON))
        weight = 2 if is_last else 1
        found = at(math.exp(place), weight * n_tables, seed + 1 + step)
        places += [place] * weight
        values += [getattr(found, measure, 0.0)] * weight
        if is_last and abs(values[-1] - wanted) <= NEAR:
            break
    return found


def _crossing(places: Floats, values: Floats, wanted: float) -> float:
    """Where a logistic curve through noisy values, in the logarithm of epsilon, takes a value."""
    middle = float(places.mean())
    x = np.column_stack([np.ones(len(places)), places - middle])
    start = math.log(wanted / (1.0 - wanted))
    coef = np.array([start, 1.0])
    for _ in range(50):
        mean = 1.0 / (1.0 + np.exp(-np.clip(x @ coef, -30.0, 30.0)))
        weights = np.maximum(mean * (1.0 - mean), 1e-4)
        prior = 1e-3 * np.eye(2)  # values that are all alike have no curve through them
        coef = coef + np.linalg.solve(x.T @ (weights[:, None] * x) + prior, x.T @ (values - mean) - prior @ coef)
    if not coef[1] > 0.0:
        return middle
    reach = float(np.ptp(places))
    return middle + min(max((start - float(coef[0])) / float(coef[1]), -reach), reach)


def epsilons_for(
    scenario: Scenario,
    rivals: Sequence[Rival],
    wanted: float,
    measure: Measure = "right",
    *,
    n_tables: int = 100,
    seed: int = 0,
    n_processes: int = 1,
    progress: Progress | None = None,
) -> list[Expected]:
    """Return for each selection the least epsilon at which it does as well as is wanted.

    Parameters
    ----------
    scenario : Scenario
        What tables are drawn from.
    rivals : sequence of Rival
        The selections.
    wanted : float
        In (0, 1).
    measure : {"right", "overlap", "explained"}
        What must reach it.
    n_tables : int
        As for `epsilon_for`.
    seed : int
        Of the simulation.
    n_processes : int
        At most; the numbers are the same.
    progress : callable, optional
        Told of the rivals.

    Returns
    -------
    list of Expected
        In the order of the rivals; those that do not reach it are left out.
    """
    work, found = _Inversion(scenario, wanted, measure, n_tables, seed), list[Expected | None]()
    start = time.perf_counter()

    def take(more: Iterable[Expected | None]) -> None:
        for one in more:
            found.append(one)
            if progress is not None:
                progress("Looking for epsilon", 1, len(rivals))

    take(work.epsilon(rival) for rival in rivals[:1])
    left = rivals[1:]
    if n_processes > 1 and (time.perf_counter() - start) * len(left) > WORTH_SECONDS:
        take(spread(work.epsilon, left, n_processes))
    else:
        take(work.epsilon(rival) for rival in left)
    return [one for one in found if one is not None]


@dataclass(frozen=True)
class _Inversion:
    """The search for an epsilon, the same for a rival wherever it is run."""

    scenario: Scenario
    wanted: float
    measure: Measure
    n_tables: int
    seed: int

    def epsilon(self, rival: Rival) -> Expected | None:
        facts = {"n_tables": self.n_tables, "seed": self.seed}
        return epsilon_for(self.scenario, rival, self.wanted, self.measure, **facts, tables=_tables_of(self.scenario))


def _tables_of(scenario: Scenario) -> DrawnTables:
    """The tables of the last scenario that this process was asked about."""
    if not _LAST or _LAST[0].scenario != scenario:
        _LAST[:] = [DrawnTables(scenario)]
    return _LAST[0]


_LAST: list[DrawnTables] = []


def _prepared(scenario: Scenario, rival: Rival, epsilon: float) -> Preparation | None:
    try:
        return remembered(rival.at(epsilon).prepare(scenario.draw_metadata, scenario.target, scenario.candidates))
    except DiscreetError:  # such as noise that does not fit
        return None


def _rated(scenario: Scenario, table: SimulatedTable, prepared: Preparation, rng: Source) -> tuple[float, float, float]:
    selected = tuple(sorted(prepared.run(table, rng).selected))
    right = scenario.truth
    worth: float = table.remembered(("worth", selected), lambda: scenario.explained(table, selected))
    union = len(right | set(selected))
    overlap = len(right & set(selected)) / union if union else 1.0
    return float(set(selected) == right), overlap, worth


def _mean(scenario: Scenario, name: str, epsilon: float, ratings: Floats) -> Expected:
    right, overlap, explained = ratings.mean(axis=(0, 1))
    each = ratings[:, :, 0].mean(axis=1)
    seen = float(each.std(ddof=1) / math.sqrt(len(each))) if len(each) > 1 else 0.0
    guess = (each.sum() + 1.0) / (len(each) + 2.0)
    least = math.sqrt(guess * (1.0 - guess) / (len(each) + 2.0)) if seen == 0.0 else 0.0
    count = ratings[..., 0].size
    return Expected(
        name, epsilon, scenario.n_rows, float(right), float(overlap), float(explained), float(max(seen, least)), count
    )
