"""Accuracy against epsilon: the same tables and draws at every epsilon and for every selection, refined in steps."""

import time
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from discreet.methods.base.method import Progress
from discreet.simulation import selection
from discreet.simulation.drawn_tables import DrawnTables
from discreet.simulation.processes import spread
from discreet.simulation.rivals import Rival
from discreet.simulation.scenario import Scenario
from discreet.simulation.selection import Expected, Simulation, mean_rating
from discreet.typing import Floats


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
    """

    def __init__(
        self,
        scenario: Scenario,
        rivals: Sequence[Rival],
        epsilons: Sequence[float],
        n_draws: int = 1,
        seed: int = 0,
        tables: DrawnTables | None = None,
    ) -> None:
        self.scenario, self.epsilons = scenario, tuple(sorted(map(float, epsilons)))
        self._rivals, self._n_draws, self._seed = {rival.name: rival for rival in rivals}, n_draws, seed
        self._tables = tables or DrawnTables(scenario)
        self._ratings: dict[tuple[str, float], list[Floats]] = {}
        self._counts = dict.fromkeys(self._rivals, 0)

    def extend(
        self,
        n_tables: int,
        names: Collection[str] | None = None,
        n_processes: int = 1,
        progress: Progress | None = None,
        explains: bool = True,
    ) -> None:
        """Draw so many tables for each of some selections, those that they have included."""
        chosen = [name for name in self._rivals if names is None or name in names]
        for first in sorted({self._counts[name] for name in chosen}):
            group = [self._rivals[name] for name in chosen if self._counts[name] == first]
            self._extend(group, range(first, n_tables), n_processes, progress, explains)

    def _extend(
        self, group: list[Rival], numbers: range, n_processes: int, progress: Progress | None, explains: bool
    ) -> None:
        work = Simulation(self.scenario, tuple(group), self.epsilons, self._n_draws, self._seed, explains)
        if not work.prepared:
            return

        def take(rated: Iterable[Floats]) -> None:
            for ratings in rated:
                for key, own in zip(work.prepared, ratings, strict=True):
                    self._ratings.setdefault(key, []).append(own)
                for rival in group:
                    self._counts[rival.name] += 1
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
                ratings = np.stack([np.stack(self._ratings[name, epsilon]) for epsilon in epsilons])
                answers += risen(self.scenario, name, epsilons, ratings)
        return answers


def risen(scenario: Scenario, name: str, epsilons: Sequence[float], ratings: Floats) -> list[Expected]:
    """Return the means of a curve that never falls; `ratings` has the shape (n_epsilons, n_tables, n_draws, 3)."""
    pooled = np.empty(ratings.shape)
    for measure in range(ratings.shape[-1]):
        for first, last in rising_blocks(ratings[..., measure].mean(axis=(1, 2))):
            # Tables are the same at each epsilon: a block's error is that of its mean on each table.
            pooled[first:last, ..., measure] = ratings[first:last, ..., measure].mean(axis=0)
    return [mean_rating(scenario, name, epsilon, own) for epsilon, own in zip(epsilons, pooled, strict=True)]


def rising_blocks(means: Floats) -> list[tuple[int, int]]:
    """Return the blocks, as first and last places, whose means are the nearest curve that never falls.

    Examples
    --------
    >>> rising_blocks(np.array([0.1, 0.4, 0.2, 0.9]))
    [(0, 1), (1, 3), (3, 4)]
    """
    blocks: list[tuple[int, int, float]] = []
    for place, mean in enumerate(means):
        blocks.append((place, place + 1, float(mean)))
        while len(blocks) > 1 and blocks[-2][2] > blocks[-1][2]:
            (first, middle, low), (_, last, high) = blocks[-2], blocks[-1]
            both = ((middle - first) * low + (last - middle) * high) / (last - first)
            blocks[-2:] = [(first, last, both)]
    return [(first, last) for first, last, _ in blocks]
