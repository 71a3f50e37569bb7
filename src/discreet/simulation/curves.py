"""Accuracy against epsilon: the same tables and draws at every epsilon and for every selection, refined in steps."""

import itertools
import math
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.methods.base.method import Progress
from discreet.simulation import selection
from discreet.simulation.drawn_tables import DrawnTables
from discreet.simulation.processes import spread
from discreet.simulation.rivals import Rival
from discreet.simulation.scenario import Scenario
from discreet.simulation.selection import PLACES, Expected, Requests, Simulation, chance_error, mean_rating
from discreet.typing import Floats

KEPT_CELLS = 2**18
"""Of drawn tables that are kept: a plan seldom looks at one again."""


class PairedCurves:
    """Ratings of selections on a scenario's tables, to which more tables can be added.

    The law of a method is better at a larger epsilon, so the curves of `expected` never fall: where simulated means do,
    they are pooled (isotonic regression).

    Parameters
    ----------
    scenario : Scenario
        What tables are drawn from.
    rivals : sequence of Rival
        The selections.
    epsilons : sequence of float
        In nats.
    n_draws : int
        Draws of noise on each table.
    seed : int
        Of the simulation.
    tables : DrawnTables, optional
        Tables of the same scenario that may have been drawn before.
    requests : dict, optional
        Prepared before, for tables with the same public facts; more are added.
    """

    def __init__(
        self,
        scenario: Scenario,
        rivals: Sequence[Rival],
        epsilons: Sequence[float],
        n_draws: int = 1,
        seed: int = 0,
        tables: DrawnTables | None = None,
        requests: Requests | None = None,
    ) -> None:
        self.scenario, self.epsilons = scenario, tuple(sorted(map(float, epsilons)))
        self._requests: Requests = {} if requests is None else requests
        self._rivals, self._n_draws, self._seed = {rival.name: rival for rival in rivals}, n_draws, seed
        self._tables = tables or DrawnTables(scenario, KEPT_CELLS)
        self._ratings: dict[tuple[str, float], list[Floats]] = {}
        self._counts = {(name, epsilon): 0 for name in self._rivals for epsilon in self.epsilons}

    def extend(
        self,
        n_tables: int,
        names: Collection[str] | None = None,
        n_processes: int = 1,
        progress: Progress | None = None,
        explains: bool = True,
        epsilons: Collection[float] | None = None,
        sure: float | None = None,
        always: Collection[float] = (),
    ) -> None:
        """Draw so many tables for each of some selections at some epsilons, those that they have included.

        A chance of the right columns whose standard error is at most `sure` needs no more, but at the epsilons of
        `always`. Each table is drawn once for all that lack it.
        """
        chosen = [
            (name, epsilon)
            for name, epsilon in self._counts
            if (names is None or name in names) and (epsilons is None or epsilon in epsilons)
        ]
        if sure is not None:
            chosen = [key for key in chosen if key[1] in always or self._error(*key) > sure]
        firsts = sorted({self._counts[key] for key in chosen if self._counts[key] < n_tables})
        for first, end in itertools.pairwise([*firsts, n_tables]):  # those that had fewer have caught up by then
            group = [key for key in chosen if self._counts[key] == first]
            self._extend(group, range(first, end), n_processes, progress, explains)

    def _error(self, name: str, epsilon: float) -> float:
        ratings = self._ratings.get((name, epsilon))
        return math.inf if ratings is None else mean_rating(self.scenario, name, epsilon, np.stack(ratings)).error

    def _extend(
        self,
        group: list[tuple[str, float]],
        numbers: range,
        n_processes: int,
        progress: Progress | None,
        explains: bool,
    ) -> None:
        rivals = tuple(self._rivals[name] for name in dict.fromkeys(name for name, _ in group))
        left_out = frozenset((rival.name, epsilon) for rival in rivals for epsilon in self.epsilons) - set(group)
        facts = (self.scenario, rivals, self.epsilons, self._n_draws, self._seed, explains)
        work = Simulation(*facts, self._requests, left_out)
        if not work.prepared:
            return

        def take(rated: Iterable[Floats]) -> None:
            for ratings in rated:
                for key, own in zip(work.prepared, ratings, strict=True):
                    self._ratings.setdefault(key, []).append(own)
                for key in group:
                    self._counts[key] += 1
                if progress is not None:
                    progress("Simulating tables", 1, None)

        take(work.rated(number, self._tables) for number in numbers[:1])  # pays what is loaded once
        start = time.process_time()
        take(work.rated(number, self._tables) for number in numbers[1:2])
        rest = numbers[2:]
        if n_processes > 1 and (time.process_time() - start) * len(rest) > selection.WORTH_SECONDS:
            take(spread(work.rated, rest, n_processes))
        else:
            take(work.rated(number, self._tables) for number in rest)

    def expected(self) -> list[Expected]:
        """Return the means so far, in the order of the selections, then of the epsilons; no curve falls."""
        answers = list[Expected]()
        for name in self._rivals:
            epsilons = [epsilon for epsilon in self.epsilons if (name, epsilon) in self._ratings]
            if epsilons:
                ratings = [np.stack(self._ratings[name, epsilon]) for epsilon in epsilons]
                answers += risen(self.scenario, name, epsilons, ratings)
        return answers


def risen(scenario: Scenario, name: str, epsilons: Sequence[float], ratings: Sequence[Floats]) -> list[Expected]:
    """Return the means of a curve that never falls; `ratings` of each epsilon has the shape (n_tables, n_draws, 3)."""
    figures = [mean_rating(scenario, name, epsilon, own) for epsilon, own in zip(epsilons, ratings, strict=True)]
    for place, measure in enumerate(PLACES):
        of_measure = [own[..., place] for own in ratings]
        means, weights = [float(own.mean()) for own in of_measure], [own.size for own in of_measure]
        for first, last in rising_blocks(means, weights):
            if last - first > 1:
                mean, error = _pooled(of_measure[first:last])
                changed: dict[str, Any] = {measure: mean} | ({"error": error} if measure == "right" else {})
                figures[first:last] = [replace(figure, **changed) for figure in figures[first:last]]
    return figures


def _pooled(ratings: Sequence[Floats]) -> tuple[float, float]:
    """Return the mean of a block and its standard error; its epsilons share their first tables, some have more.

    Shapes: ratings (n_tables, n_draws) each.
    """
    n_tables = max(map(len, ratings))
    sums, counts = np.zeros(n_tables), np.zeros(n_tables)
    for own in ratings:
        sums[: len(own)] += own.mean(axis=1)
        counts[: len(own)] += 1.0
    mean = float(sums.sum() / counts.sum())
    return mean, chance_error(mean, sums - mean * counts, float(counts.sum()), float(counts.sum()) / len(ratings))


def rising_blocks(means: Sequence[float], weights: Sequence[float]) -> list[tuple[int, int]]:
    """Return the blocks, as first and last places, whose weighted means are the nearest curve that never falls.

    Examples
    --------
    >>> rising_blocks([0.1, 0.4, 0.2, 0.9], [1.0, 1.0, 1.0, 1.0])
    [(0, 1), (1, 3), (3, 4)]
    """
    blocks: list[tuple[int, int, float, float]] = []
    for place, (mean, weight) in enumerate(zip(means, weights, strict=True)):
        blocks.append((place, place + 1, float(mean), float(weight)))
        while len(blocks) > 1 and blocks[-2][2] > blocks[-1][2]:
            (first, _, low, own), (_, last, high, other) = blocks[-2], blocks[-1]
            blocks[-2:] = [(first, last, (own * low + other * high) / (own + other), own + other)]
    return [(first, last) for first, last, _, _ in blocks]
