"""What `auto` means: the selection that does best on drawn tables, chosen from public facts alone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.methods.base.method import Progress
from discreet.parameters.shared import EPSILON
from discreet.simulation.rivals import Rival, rivals
from discreet.simulation.scenario import Scenario
from discreet.simulation.selection import expected
from discreet.simulation.supposition import Supposition

TRUE_COLUMNS = (1, 2, 3, 4)
"""Numbers of columns that matter, equally, of the scenarios that are tried."""

HARD = Supposition(r_squared=(0.1,), correlation=(0.6,))
HARD_COLUMNS = (2, 3)
"""Weak effects of correlated columns are tried beside: where the table is large, they alone tell selections apart."""

ROUNDS = ((32, 1, 4), (80, 2, 1))
"""Tables of all scenarios together and draws of a round, and how many selections go on from it."""


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
    """

    rival: Rival
    right: float
    overlap: float
    explained: float
    n_rivals: int
    supposed: dict[str, Any] = field(default_factory=dict)


def best_selection(
    metadata: Metadata,
    target: str,
    candidates: Sequence[str] | None = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    n_rows: int | None = None,
    progress: Progress | None = None,
    supposed: Mapping[str, Any] | Supposition | None = None,
) -> Choice:
    """Return the selection whose columns overlap most with the right ones, over the scenarios that are supposed.

    The simulation is seeded, so equal public facts give equal choices. Scenarios count alike. Cost: a few seconds for a
    thousand rows and six candidates.
    """
    if not EPSILON.low <= epsilon <= EPSILON.high:
        raise InvalidParameterError(f"epsilon must {EPSILON}, but epsilon={epsilon:g}.")
    names = Design.plan(metadata, target, candidates).candidates
    stated = Supposition.of(supposed)
    numbers = [k for k in TRUE_COLUMNS if k <= len(names)] if stated.leaves_columns_open else [None]
    scenarios = [scenario for k in numbers for scenario in stated.scenarios(metadata, target, names, n_rows, k)]
    if stated.is_empty:
        hard = [k for k in HARD_COLUMNS if k <= len(names)]
        scenarios += [scenario for k in hard for scenario in HARD.scenarios(metadata, target, names, n_rows, k)]
    compared = rivals(metadata, target, names, delta, scenarios[0].n_rows)
    n_rivals, means = len(compared), dict[str, tuple[float, ...]]()
    for n_all, n_draws, n_kept in ROUNDS:
        n_tables = math.ceil(n_all / len(scenarios))
        means = _means(scenarios, compared, epsilon, n_tables, n_draws, progress)
        possible = [rival for rival in compared if rival.name in means]
        compared = sorted(possible, key=lambda rival: means[rival.name])[-n_kept:]
    overlap, right, explained = means[compared[-1].name]
    return Choice(compared[-1], right, overlap, explained, n_rivals, stated.record(scenarios))


def _means(
    scenarios: Sequence[Scenario],
    compared: Sequence[Rival],
    epsilon: float,
    n_tables: int,
    n_draws: int,
    progress: Progress | None,
) -> dict[str, tuple[float, ...]]:
    """Overlap, right and explained of each selection that is possible, over the scenarios."""
    ratings: dict[str, list[tuple[float, float, float]]] = {}
    for scenario in scenarios:
        for result in expected(scenario, compared, [epsilon], n_tables=n_tables, n_draws=n_draws, progress=progress):
            ratings.setdefault(result.rival, []).append((result.overlap, result.right, result.explained))
    return {name: tuple(float(value) for value in np.mean(rated, axis=0)) for name, rated in ratings.items()}
