"""What `auto` means: the selection that does best on drawn tables, chosen from public facts alone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.methods.answers.rows import listed
from discreet.methods.base.method import Progress
from discreet.parameters.public_moments import PublicMoments
from discreet.parameters.shared import EPSILON
from discreet.simulation.rivals import FEW, READINGS, Rival, rivals
from discreet.simulation.scenario import Scenario
from discreet.simulation.selection import Requests, expected
from discreet.simulation.supposition import Supposition
from discreet.simulation.worlds import numbers, worlds
from discreet.typing import Floats

ROUNDS = ((15, 10), (30, 6), (96, 6))
"""Tables of all scenarios together that a round adds, and how many selections go on from it.

Of more than `FEW` candidates fewer tables are drawn, as each takes longer. Six stay to the end: what loses little in
each kind of table is told from few tables of a kind less surely than what is best on average.
"""

MOST_ROWS = 5_000
"""Of a drawn table: of more rows the noise of sampling is small, and epsilon times rows decides."""

EASY, MOST_HALVINGS = 0.95, 3
"""Where the best selection is exactly right so often, many are; effects are halved, at most so many times, to tell
them apart. What a selection did with larger effects counts as much: one that fails there has a fault of another kind.
"""

EXACT_WEIGHT = 0.1
"""What exactly the right columns count beside the overlap: it breaks near ties."""

MOST_LOST = 0.3
"""What a selection can lose in one kind of table, beside the best there: one kind does not decide alone."""

NEAR, HALF_TABLES = 0.015, 96
"""What the best loses less than a near tie, and the tables of all scenarios together on which exact recovery decides
between these at half of epsilon: what is exactly right there already is given up less often as epsilon grows.
"""


@dataclass(frozen=True)
class Choice:
    """A selection and how well it did on drawn tables.

    Parameters
    ----------
    rival : Rival
        What loses least beside the best in each kind of table, by overlap.
    right, overlap, explained : float
        Means over the scenarios: see `Expected`.
    n_rivals : int
        How many were compared.
    supposed : dict
        What was stated of the table, as JSON can hold it; empty where nothing was.
    reason : str
        Why it was chosen, in a sentence.
    """

    rival: Rival
    right: float
    overlap: float
    explained: float
    n_rivals: int
    supposed: dict[str, Any] = field(default_factory=dict)
    reason: str = ""


def best_selection(
    metadata: Metadata,
    target: str,
    candidates: Sequence[str] | None = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    n_rows: int | None = None,
    progress: Progress | None = None,
    supposed: Mapping[str, Any] | Supposition | None = None,
    known: PublicMoments | None = None,
) -> Choice:
    """Return the selection whose columns overlap with the right ones nearly as well as the best in most scenarios.

    The simulation is seeded, so equal public facts give equal choices. Scenarios count alike, and in each of them at
    most `MOST_LOST` can be lost. Cost: a few seconds for a thousand rows and six candidates.
    """
    if not EPSILON.low <= epsilon <= EPSILON.high:
        raise InvalidParameterError(f"epsilon must {EPSILON}, but epsilon={epsilon:g}.")
    names = Design.plan(metadata, target, candidates).candidates
    stated = Supposition.of(supposed)
    rows = metadata.n_rows if n_rows is None else n_rows
    scenarios = _scenarios(stated, metadata, target, names, None if rows is None else min(rows, MOST_ROWS), known)
    drawn_rows = scenarios[0].n_rows
    compared = rivals(metadata, target, names, delta, drawn_rows, known)
    drawn_epsilon = min(epsilon * (rows or drawn_rows) / drawn_rows, EPSILON.high)
    share = min(1.0, (FEW / len(names)) ** 2)
    counts = [math.ceil(share * n_all / len(scenarios)) for n_all, _ in ROUNDS]
    race = _Race(scenarios, drawn_epsilon, progress)
    race.add(compared, counts[0], 0, explains=False)
    while _is_open(stated) and race.halvings < MOST_HALVINGS and race.highest_right >= EASY:
        race = race.halved()
        race.add(compared, counts[0], 0, explains=False)
    ranked = race.best(compared)
    compared = ranked[: ROUNDS[0][1]]
    for seed, (_, n_left) in enumerate(ROUNDS[1:], 1):
        race.add(compared, counts[seed], seed, explains=seed == len(ROUNDS) - 1)
        compared = race.best(compared)[:n_left]
        if race.means(compared[0].name)[1] == 1.0:
            compared = [rival for rival in compared if race.means(rival.name)[1] == 1.0]
            break  # always exactly right
    best = race.best_at_half(compared, math.ceil(share * HALF_TABLES / len(scenarios)))
    overlap, right = race.means(best.name)
    every = rivals(metadata, target, names, delta, rows or drawn_rows, known)
    own = next(rival for rival in every if rival.name == best.name)
    return Choice(
        own,
        right,
        overlap,
        race.explained(best.name),
        race.n_rivals,
        stated.record(race.scenarios),
        race.reason(best),
    )


def _scenarios(
    stated: Supposition,
    metadata: Metadata,
    target: str,
    names: Sequence[str],
    n_rows: int | None,
    known: PublicMoments | None,
) -> list[Scenario]:
    """What is stated; where nothing is but the number of columns, all kinds of tables."""
    if _is_open(stated):
        return worlds(metadata, target, names, n_rows, stated.n_true, known)
    listed = numbers(len(names)) if stated.leaves_columns_open else (None,)
    return [scenario for k in listed for scenario in stated.scenarios(metadata, target, names, n_rows, k)]


def _is_open(stated: Supposition) -> bool:
    """Whether nothing is stated but the number of columns that matter."""
    return stated.is_empty or stated == Supposition(n_true=stated.n_true)


class _Race:
    """Selections on the same tables and the same draws, more and more of them for fewer and fewer selections."""

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        epsilon: float,
        progress: Progress | None,
        easier: "_Race | None" = None,
    ) -> None:
        self.scenarios, self._epsilon, self._progress, self._easier = scenarios, epsilon, progress, easier
        self._sums: dict[str, Floats] = {}  # by selection: overlap and right, (n_scenarios, 2)
        self._tables: dict[str, int] = {}  # of each scenario
        self._explained: dict[str, list[float]] = {}
        self._requests: Requests = {}  # scenarios differ in what is not public alone

    @property
    def n_rivals(self) -> int:
        """How many were possible."""
        return len(self._sums)

    def add(self, compared: Sequence[Rival], n_tables: int, seed: int, explains: bool) -> None:
        """Run them on further tables of each scenario."""
        self._explained.clear()
        # Draws of their own for each scenario: with the same ones means over scenarios would rest on few draws.
        for place, scenario in enumerate(self.scenarios):
            for mean in expected(
                scenario,
                compared,
                [self._epsilon],
                n_tables=n_tables,
                n_draws=1,
                seed=seed * len(self.scenarios) + place,
                explains=explains,
                requests=self._requests,
                progress=self._progress,
            ):
                sums = self._sums.setdefault(mean.rival, np.zeros((len(self.scenarios), 2)))
                sums[place] += n_tables * np.array([mean.overlap, mean.right])
                self._explained.setdefault(mean.rival, []).append(mean.explained)
        for name in self._explained:
            self._tables[name] = self._tables.get(name, 0) + n_tables

    def halved(self) -> "_Race":
        """Return a race with half of the effects, which this one counts in."""
        return _Race([scenario.multiplied(0.5) for scenario in self.scenarios], self._epsilon, self._progress, self)

    @property
    def halvings(self) -> int:
        """How often effects were halved."""
        return 0 if self._easier is None else self._easier.halvings + 1

    @property
    def highest_right(self) -> float:
        """How often the selection is exactly right that is so most often."""
        return max(self.means(name)[1] for name in self._sums)

    def means(self, name: str) -> tuple[float, float]:
        """Overlap and right of a selection, over all its tables."""
        overlap, right = (self._sums[name].mean(axis=0) / self._tables[name]).tolist()
        return overlap, right

    def explained(self, name: str) -> float:
        """What the selected columns explained on the tables that were added last."""
        shares = self._explained[name]
        return 1.0 if self.means(name)[1] == 1.0 else float(np.mean(shares))

    def best(self, compared: Sequence[Rival]) -> list[Rival]:
        """Those that are possible, the best first: what loses least beside the best of them in each kind of table."""
        return [rival for rival, _ in self._by_loss(compared)]

    def best_at_half(self, compared: Sequence[Rival], n_tables: int) -> Rival:
        """Return the best; of those that lose nearly as little what is exactly right most often at half of epsilon."""
        ranked = self._by_loss(compared)
        tied = [rival for rival, lost in ranked if lost <= ranked[0][1] + NEAR]
        if len(tied) == 1 or EPSILON.low > self._epsilon / 2.0:
            return tied[0]
        half = _Race(self.scenarios, self._epsilon / 2.0, self._progress)
        half.add(tied, n_tables, len(ROUNDS), explains=False)
        possible = [rival for rival in tied if rival.name in half._sums] or tied[:1]
        return max(possible, key=lambda rival: half.means(rival.name)[::-1]) if len(possible) > 1 else possible[0]

    def _by_loss(self, compared: Sequence[Rival]) -> list[tuple[Rival, float]]:
        """Those that are possible with what they lose, `MOST_LOST` at most in a kind of table; the least first."""
        possible = [rival for rival in compared if rival.name in self._sums]
        if not possible:
            return []
        worth = np.array([self._worth(rival.name) for rival in possible])
        lost = worth.max(axis=0) - worth
        least, mean = np.minimum(lost, MOST_LOST).mean(axis=1), lost.mean(axis=1)
        return [(possible[k], float(least[k])) for k in np.lexsort((mean, least))]

    def _worth(self, name: str) -> Floats:
        """What counts in each kind of table with each size of effects; shape (n_sizes * n_scenarios,)."""
        own: Floats = self._sums[name] @ np.array([1.0, EXACT_WEIGHT]) / self._tables[name]
        return own if self._easier is None else np.append(self._easier._worth(name), own)

    def _at_each_size(self, name: str) -> list[tuple[float, float]]:
        """Overlap and right, the largest effects first."""
        easier = [] if self._easier is None else self._easier._at_each_size(name)
        return [*easier, self.means(name)] if name in self._sums else easier

    def reason(self, best: Rival) -> str:
        """Say why a selection was chosen, in a sentence without its end."""
        others = self.best([Rival(name, "", {}) for name in self._sums if name != best.name])
        sizes = listed([f"{0.5**halvings:g}" for halvings in range(self.halvings + 1)])
        weaker = f", with effects of {sizes} times the usual size," if self.halvings else ""
        overlap, right = (
            listed([f"{mean:.0%}" for mean in means]) for means in zip(*self._at_each_size(best.name), strict=True)
        )
        sentence = (
            f"on tables drawn from public facts{weaker} its columns overlapped with the right ones by {overlap} "
            f"and were exactly right in {right}"
        )
        if others:
            overlap = listed([f"{mean:.0%}" for mean, _ in self._at_each_size(others[0].name)])
            sentence += (
                f"; of {self.n_rivals} selections it came closest to the best one over all kinds of table, or as close "
                f"within {NEAR:g} and was more often exactly right at half of epsilon; the next was {others[0].name}, "
                f"with {overlap}"
            )
        if "public_moments" in best.parameters:
            sentence += (
                "; the columns' own products are those of the public table and cost nothing: it is supposed that "
                "private rows have about the same"
            )
        elif best.method == "moments":
            sentence += f"; its one release was evaluated under {len(READINGS)} penalties, at no further cost"
        return sentence
