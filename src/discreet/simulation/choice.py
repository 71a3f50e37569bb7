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

ROUNDS = ((15, 10), (30, 4), (60, 2), (75, 1))
"""Tables of all scenarios together that a round adds, and how many selections go on from it.

Of more than `FEW` candidates fewer tables are drawn, as each takes longer.
"""

MOST_ROWS = 5_000
"""Of a drawn table: of more rows the noise of sampling is small, and epsilon times rows decides."""

EASY, MOST_HALVINGS = 0.95, 3
"""Where the best selection is exactly right so often, many are; effects are halved, at most so many times, to tell
them apart. What a selection did with larger effects counts as much: one that fails there has a fault of another kind.
"""

EXACT_WEIGHT = 0.1
"""What exactly the right columns count beside the overlap: it breaks near ties."""


@dataclass(frozen=True)
class Choice:
    """A selection and how well it did on drawn tables.

    Parameters
    ----------
    rival : Rival
        The best by overlap.
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
    """Return the selection whose columns overlap most with the right ones, over the scenarios that are supposed.

    The simulation is seeded, so equal public facts give equal choices. Scenarios count alike. Cost: a few seconds for a
    thousand rows and six candidates.
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
        race.add(compared, counts[seed], seed, explains=n_left == 1)
        compared = race.best(compared)[:n_left]
        if race.means(compared[0].name)[1] == 1.0:
            break  # always exactly right
    best = compared[0]
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
        self._sums: dict[str, Floats] = {}
        self._tables: dict[str, int] = {}
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
                means = np.array([mean.overlap, mean.right])
                self._sums[mean.rival] = self._sums.get(mean.rival, np.zeros(2)) + n_tables * means
                self._tables[mean.rival] = self._tables.get(mean.rival, 0) + n_tables
                self._explained.setdefault(mean.rival, []).append(mean.explained)

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
        overlap, right = (self._sums[name] / self._tables[name]).tolist()
        return overlap, right

    def explained(self, name: str) -> float:
        """What the selected columns explained on the tables that were added last."""
        shares = self._explained[name]
        return 1.0 if self.means(name)[1] == 1.0 else float(np.mean(shares))

    def best(self, compared: Sequence[Rival]) -> list[Rival]:
        """Those that are possible, the best first."""
        possible = [rival for rival in compared if rival.name in self._sums]
        return sorted(possible, key=lambda rival: -self._worth(rival.name))

    def _worth(self, name: str) -> float:
        """With all sizes of effects that were tried, each as likely."""
        return float(np.mean([overlap + EXACT_WEIGHT * right for overlap, right in self._at_each_size(name)]))

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
            sentence += f", the best of {self.n_rivals}; next was {others[0].name}, with {overlap}"
        if "public_moments" in best.parameters:
            sentence += (
                "; the columns' own products are those of the public table and cost nothing: it is supposed that "
                "private rows have about the same"
            )
        elif best.method == "moments":
            sentence += f"; one release was read under {len(READINGS)} penalties, and readings are free"
        return sentence
