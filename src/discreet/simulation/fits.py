"""How sharp a private linear regression of the right columns can be expected to be: run on drawn tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from discreet.data.metadata import CategoryColumn, half_width
from discreet.errors import DiscreetError, InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Preparation, Progress
from discreet.methods.registry import method_of
from discreet.release import CoefficientRecord, FitRecord
from discreet.simulation.drawn_tables import DrawnTables
from discreet.simulation.scenario import Scenario
from discreet.simulation.selection import table_seed

N_TABLES = 4
"""Each fit takes some hundredths of a second."""


@dataclass(frozen=True)
class ExpectedFit:
    """What drawn tables and the coefficients of the right columns make of one fit at one epsilon.

    Parameters
    ----------
    epsilon : float
        In nats, of the fit alone.
    n_rows : int
        Of the tables.
    error : float
        Mean absolute error of a coefficient, in the target's unit per half range of its column; of a category, of the
        change from one level to another.
    half_width : float or None
        Median of half the length of the intervals with two ends, in the same unit; None where there is none.
    coverage : float or None
        Of the intervals with an end, the part that hold the supposed effect; they are made to hold 95% of them. None
        where there is none.
    uninformative : float
        Part of the coefficients of which nothing can be told, for the noise.
    n_draws : int
        Coefficients in all.
    """

    epsilon: float
    n_rows: int
    error: float
    half_width: float | None
    coverage: float | None
    uninformative: float
    n_draws: int


class FitCost(NamedTuple):
    """Whether a fit can be had.

    Parameters
    ----------
    prepared : Preparation or None
        The request.
    reason : str
        Why there is none.
    """

    prepared: Preparation | None
    reason: str


def expected_fit(
    scenario: Scenario,
    epsilons: Sequence[float],
    delta: float = 0.0,
    *,
    n_tables: int = N_TABLES,
    seed: int = 0,
    confidence: float = 0.95,
    tables: DrawnTables | None = None,
    progress: Progress | None = None,
) -> list[ExpectedFit]:
    """Run private linear regressions of the columns that matter on drawn tables, as ``discreet fit`` runs them.

    Parameters
    ----------
    scenario : Scenario
        What tables are drawn from, and which columns matter.
    epsilons : sequence of float
        In nats: of the fit, to which a selection adds its own.
    delta : float
        0 is pure privacy, whose noise is much larger.
    n_tables : int
        Tables, one draw of noise on each; at least 1.
    seed : int
        Of the simulation: the tables are those of `expected`.
    confidence : float
        Level of the intervals, in (0, 1).
    tables : DrawnTables, optional
        Tables of the same scenario that may have been drawn before.
    progress : callable, optional
        Called as tables are done.

    Returns
    -------
    list of ExpectedFit
        In the order of the epsilons; what is refused is left out: see `fit_cost`.

    Raises
    ------
    InvalidParameterError
        When there are no tables, or the seed is negative.

    Notes
    -----
    Errors are those against the supposed effects, so they hold what the target's bounds cut off. Cost: some hundredths
    of a second a table and epsilon.
    """
    if n_tables < 1 or seed < 0:
        raise InvalidParameterError(
            "A simulation must have at least one table and a seed that is not negative, but "
            f"n_tables={n_tables}, seed={seed}."
        )
    drawn, fits = tables or DrawnTables(scenario), list[ExpectedFit]()
    costs = [fit_cost(scenario, epsilon, delta, confidence) for epsilon in epsilons]
    ratings: list[list[tuple[float, float, bool, bool]]] = [[] for _ in epsilons]
    for number in range(n_tables if any(cost.prepared for cost in costs) else 0):
        own_seed = table_seed(seed, number)
        table = drawn.table(own_seed)
        for place, cost in enumerate(costs):
            if cost.prepared is not None:
                fit = cost.prepared.run(table, Source.seeded(own_seed * 1009 + 500 + place)).fit
                ratings[place] += [] if fit is None else list(_rated(scenario, fit))
        if progress is not None:
            progress("Simulating fits", 1, n_tables)
    for epsilon, rated in zip(epsilons, ratings, strict=True):
        if rated:
            error, half, covered, empty = np.array(rated, dtype=np.float64).T
            has_end, between = empty == 0, np.isfinite(half)
            fits.append(
                ExpectedFit(
                    float(epsilon),
                    scenario.n_rows,
                    float(error.mean()),
                    float(np.median(half[between])) if between.any() else None,
                    float(covered[has_end].mean()) if has_end.any() else None,
                    float(empty.mean()),
                    len(rated),
                )
            )
    return fits


def fit_cost(scenario: Scenario, epsilon: float, delta: float, confidence: float = 0.95) -> FitCost:
    """Return the request of a fit of the columns that matter, or why it cannot be had.

    Parameters
    ----------
    scenario : Scenario
        Which columns matter.
    epsilon, delta : float
        Of the fit alone.
    confidence : float
        Level of its intervals.

    Returns
    -------
    FitCost
        From public facts alone.
    """
    right = [name for name in scenario.candidates if name in scenario.truth]
    if not right:
        return FitCost(None, "No column has an effect, so there is nothing to fit.")
    try:
        method = method_of("linear", epsilon=epsilon, delta=delta, confidence=confidence)
        return FitCost(method.prepare(scenario.draw_metadata, scenario.target, right), "")
    except DiscreetError as error:
        return FitCost(None, str(error))


def _rated(scenario: Scenario, fit: FitRecord) -> list[tuple[float, float, bool, bool]]:
    """Error, half width, whether the interval holds the effect, and whether it tells nothing: of each coefficient."""
    ratings = []
    named = [term for term in fit.coefficients if term.column is not None]
    for name, group in groupby(named, key=lambda term: str(term.column)):
        terms = list(group)
        for term, true in zip(terms, _true(scenario, name, terms), strict=True):
            low, high = term.interval
            ratings.append(
                (
                    abs(term.estimate - true) * half_range(scenario, name),
                    (high - low) / 2.0 * half_range(scenario, name),
                    low <= true <= high,
                    term.uninformative,
                )
            )
    return ratings


def _true(scenario: Scenario, name: str, terms: Sequence[CoefficientRecord]) -> list[float]:
    """The supposed coefficients in own units; of levels, against the one that has no coefficient."""
    column, effect = scenario.metadata.declared(name), scenario.effects[name]
    if not isinstance(column, CategoryColumn):
        return [effect / half_range(scenario, name)]
    levels = column.levels or ()
    last = max(len(levels) - 1, 1)
    values = scenario.level_effects.get(name) or tuple(effect * place / last for place in range(len(levels)))
    by_level = dict(zip(levels, values, strict=True))
    fitted_levels = {term.level for term in terms}
    reference = next((by_level[level] for level in levels if level not in fitted_levels), 0.0)
    return [by_level[str(term.level)] - reference for term in terms]


def half_range(scenario: Scenario, name: str) -> float:
    """Return half the range of a number; 1 for a category.

    Parameters
    ----------
    scenario : Scenario
        Whose metadata declare the column.
    name : str
        Of the column.

    Returns
    -------
    float
        More than 0.
    """
    column = scenario.metadata.declared(name)
    return 1.0 if isinstance(column, CategoryColumn) else half_width(column)[1]
