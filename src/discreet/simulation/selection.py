"""How well selections can be expected to do: the methods themselves, run on tables drawn from a scenario."""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from discreet.errors import DiscreetError, InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Preparation, Progress
from discreet.simulation.cached_moments import CachedMoments, ReadMoments
from discreet.simulation.cached_preparation import cached_preparation
from discreet.simulation.drawn_tables import DrawnTables
from discreet.simulation.processes import spread
from discreet.simulation.public_columns import as_in
from discreet.simulation.rivals import Rival
from discreet.simulation.rivals import rivals as rivals_of
from discreet.simulation.scenario import Scenario
from discreet.simulation.simulated_table import SimulatedTable
from discreet.typing import Floats

Measure = Literal["right", "overlap", "explained"]
PLACES: tuple[Measure, ...] = ("right", "overlap", "explained")
Requests = dict[tuple[str, float], Preparation | None]

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

    @property
    def mechanism(self) -> str:
        """Name of the curve in `accuracy_chart`."""
        return self.rival


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
    explains : bool
        Whether it is rated what the selected columns explain.
    requests : dict
        Prepared before, by rival and epsilon, for tables with the same public facts.
    left_out : frozenset of (str, float)
        Names and epsilons that are not asked.
    """

    scenario: Scenario
    rivals: tuple[Rival, ...]
    epsilons: tuple[float, ...]
    n_draws: int
    seed: int
    explains: bool = True
    requests: Requests = field(default_factory=dict)
    left_out: frozenset[tuple[str, float]] = frozenset()

    def __getstate__(self) -> dict[str, Any]:
        """What another process is told: it prepares the requests itself, which hold functions of this one."""
        return {name: value for name, value in self.__dict__.items() if name != "prepared"} | {"requests": {}}

    @cached_property
    def prepared(self) -> dict[tuple[str, float], Preparation]:
        """Requests by rival and epsilon; what is refused is left out."""
        keys = [(rival, epsilon) for rival in self.rivals for epsilon in self.epsilons]
        keys = [(rival, epsilon) for rival, epsilon in keys if (rival.name, epsilon) not in self.left_out]
        for rival, epsilon in keys:
            if (rival.name, epsilon) not in self.requests:
                self.requests[rival.name, epsilon] = _prepared(self.scenario, rival, epsilon)
        requests = {(rival.name, epsilon): self.requests[rival.name, epsilon] for rival, epsilon in keys}
        return {key: request for key, request in requests.items() if request is not None}

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
            Right, overlap, explained; the last NaN where it is not rated.
        """
        seed = table_seed(self.seed, number)
        table = self.scenario.draw(Source.seeded(seed)) if tables is None else tables.table(seed)
        ratings = np.empty((len(self.prepared), self.n_draws, 3))
        for draw in range(self.n_draws):
            # Each request starts at the same words: selections and epsilons are compared on the same draws.
            released: dict[str, ReadMoments] = {}
            for place, prepared in enumerate(self.prepared.values()):
                selected = _selected(prepared, table, Source.seeded(seed * 1009 + draw + 1), released)
                ratings[place, draw] = _rated(self.scenario, table, selected, self.explains)
        return ratings


def table_seed(seed: int, number: int) -> int:
    """Return the seed of a table.

    Parameters
    ----------
    seed : int
        Of the simulation.
    number : int
        Of the table.

    Returns
    -------
    int
        Of its rows.
    """
    return seed * 1_000_003 + number


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
    explains: bool = True,
    requests: Requests | None = None,
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
    explains : bool
        Whether it is rated what the selected columns explain; else that is NaN.
    requests : dict, optional
        Prepared before for tables with the same public facts; it takes what is prepared here.
    progress : callable, optional
        Called as tables are done.

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
    levels = tuple(map(float, epsilons))
    work = Simulation(scenario, tuple(rivals), levels, n_draws, seed, explains, {} if requests is None else requests)
    if not work.prepared:
        return []
    table_ratings: list[Floats] = []

    def take(more: Iterable[Floats]) -> None:
        for rating in more:
            table_ratings.append(rating)
            if progress is not None:
                progress("Simulating tables", 1, n_tables)

    take(work.rated(number, tables) for number in range(min(1, n_tables)))  # pays what is loaded once
    start = time.process_time()
    take(work.rated(number, tables) for number in range(1, min(2, n_tables)))
    remaining = range(2, n_tables)
    if n_processes > 1 and (time.process_time() - start) * len(remaining) > WORTH_SECONDS:
        take(spread(work.rated, remaining, n_processes))
    else:
        take(work.rated(number, tables) for number in remaining)
    ratings = np.stack(table_ratings)
    return [mean_rating(scenario, *key, ratings[:, place]) for place, key in enumerate(work.prepared)]


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
    rivals = compared
    if rivals is None:
        rivals = rivals_of(scenario.metadata, scenario.target, scenario.candidates, delta, scenario.n_rows)
    return expected(scenario, rivals, epsilons, n_tables=n_tables, n_draws=n_draws, seed=seed)


def _prepared(scenario: Scenario, rival: Rival, epsilon: float) -> Preparation | None:
    try:
        return cached_preparation(
            as_in(scenario, rival).at(epsilon).prepare(scenario.draw_metadata, scenario.target, scenario.candidates)
        )
    except DiscreetError:  # such as noise that does not fit
        return None


def _selected(
    prepared: Preparation, table: SimulatedTable, rng: Source, released: dict[str, ReadMoments]
) -> tuple[str, ...]:
    """Columns that a request selects; moments are released once for all penalties that read them."""
    if not isinstance(prepared, CachedMoments):
        return tuple(sorted(prepared.run(table, rng).selected))
    key = prepared.release_key
    if key not in released:
        released[key] = prepared.released(table, rng)
    return tuple(sorted(prepared.read(released[key])))


def _rated(
    scenario: Scenario, table: SimulatedTable, selected: tuple[str, ...], explains: bool
) -> tuple[float, float, float]:
    right, explained = scenario.truth, math.nan
    if explains:
        explained = table.cached(("worth", selected), lambda: scenario.explained(table, selected))
    union = len(right | set(selected))
    overlap = len(right & set(selected)) / union if union else 1.0
    return float(set(selected) == right), overlap, explained


def mean_rating(scenario: Scenario, name: str, epsilon: float, ratings: Floats) -> Expected:
    """Return the means of ratings, and the error of the first.

    Parameters
    ----------
    scenario : Scenario
        What tables were drawn from.
    name : str
        Of the selection.
    epsilon : float
        In nats.
    ratings : ndarray of float, shape (n_tables, n_draws, 3)
        Right, overlap, explained.

    Returns
    -------
    Expected
        The error is that between tables.
    """
    right, overlap, explained = map(float, ratings.mean(axis=(0, 1)))
    chances = ratings[:, :, 0].mean(axis=1)
    error = chance_error(right, chances - right, len(chances), len(chances))
    return Expected(name, epsilon, scenario.n_rows, right, overlap, explained, error, ratings[..., 0].size)


def chance_error(chance: float, deviations: Floats, total: float, n_tables: float) -> float:
    """Return the standard error of a chance; not 0 where all tables agree, as further ones might not.

    Parameters
    ----------
    chance : float
        In [0, 1].
    deviations : ndarray of float, shape (n,)
        Of what each table adds from its mean.
    total : float
        What these sums are divided by.
    n_tables : float
        As many tables count where all agree.

    Returns
    -------
    float
        Above 0.
    """
    sample_error = 0.0
    if len(deviations) > 1:
        sample_error = math.sqrt(float((deviations**2).sum()) * len(deviations) / (len(deviations) - 1)) / total
    if sample_error > 0.0:
        return sample_error
    guess = (chance * n_tables + 1.0) / (n_tables + 2.0)
    return math.sqrt(guess * (1.0 - guess) / (n_tables + 2.0))
