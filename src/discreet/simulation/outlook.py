"""What the request at hand would achieve: few tables, one request, so that an answer takes about a second."""

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Method
from discreet.methods.registry import FAMILIES
from discreet.release import FitRecord
from discreet.simulation.drawn_tables import DrawnTables
from discreet.simulation.fits import half_range
from discreet.simulation.rivals import Rival
from discreet.simulation.scenario import Scenario
from discreet.simulation.selection import Expected, Simulation, mean_rating, table_seed
from discreet.typing import Floats

LEAST_TABLES = 2
"""However long they take: one tells nothing of how much tables differ."""


@dataclass(frozen=True)
class FitOutlook:
    """What drawn tables make of the coefficients of one request.

    Parameters
    ----------
    half_width : float or None
        Median of half the length of the intervals with two ends, in the target's unit per half range of a column; None
        where there is none.
    effect : float
        The supposed effect of a column that matters, in the same unit.
    uninformative : float
        Part of the coefficients of which nothing can be told, for the noise.
    n_coefficients : int
        In all tables.
    """

    half_width: float | None
    effect: float
    uninformative: float
    n_coefficients: int


def selection_outlook(
    scenario: Scenario,
    method: str,
    parameters: dict[str, Any],
    epsilons: Sequence[float],
    n_tables: int,
    until: float,
    least: int = LEAST_TABLES,
) -> list[Expected]:
    """Return how often a request selects the right columns; `parameters` without epsilon, `until` on the clock.

    In the order of the epsilons; one that the method refuses is left out. Nothing where time is up before `least`
    tables are drawn.
    """
    work = Simulation(scenario, (Rival(method, method, parameters),), tuple(epsilons), 1, 0, False)
    tables, ratings = DrawnTables(scenario), list[Floats]()
    while work.prepared and len(ratings) < n_tables and (len(ratings) < least or time.monotonic() < until):
        ratings.append(work.rated(len(ratings), tables))
    if len(ratings) < LEAST_TABLES:
        return []
    return [
        mean_rating(scenario, *key, np.stack([own[place] for own in ratings]))
        for place, key in enumerate(work.prepared)
    ]


def fit_outlook(
    scenario: Scenario, method: Method, epsilon: float, n_tables: int, until: float
) -> tuple[FitOutlook | None, list[Expected]]:
    """Return how wide the intervals of a request are, and how often it selects the right columns before it fits.

    None where it gives no coefficients; no line where it selects nothing.
    """
    prepared = method.prepare(scenario.draw_metadata, scenario.target, scenario.candidates)
    tables, widths, ratings = DrawnTables(scenario), list[float](), list[tuple[float, float, float]]()
    for number in range(n_tables):
        if number >= LEAST_TABLES and time.monotonic() >= until:
            break
        own_seed = table_seed(0, number)
        with suppress(DiscreetError):  # such as a table that cannot be divided
            outcome = prepared.run(tables.table(own_seed), Source.seeded(own_seed * 1009 + 500))
            widths += _half_widths(scenario, outcome.fit)
            ratings.append(_rating(scenario, set(outcome.selected)))
    selects = bool(ratings) and method.name not in FAMILIES
    rows = [mean_rating(scenario, method.name, epsilon, np.array(ratings)[:, np.newaxis])] if selects else []
    if not widths:
        return None, rows
    between = [half for half in widths if math.isfinite(half)]
    largest = max(map(abs, scenario.effects.values()), default=0.0)
    width = float(np.median(between)) if between else None
    return FitOutlook(width, largest, 1.0 - len(between) / len(widths), len(widths)), rows


def _rating(scenario: Scenario, selected: set[str]) -> tuple[float, float, float]:
    """Right, overlap; what is explained is not rated."""
    union = len(scenario.truth | selected)
    overlap = len(scenario.truth & selected) / union if union else 1.0
    return float(selected == scenario.truth), overlap, math.nan


def _half_widths(scenario: Scenario, fit: FitRecord | None) -> list[float]:
    """Of the coefficients of one drawn table; infinite where one tells nothing."""
    return [
        math.inf
        if term.uninformative
        else (term.interval[1] - term.interval[0]) / 2.0 * half_range(scenario, term.column)
        for term in ([] if fit is None else fit.coefficients)
        if term.column is not None
    ]
