"""What parts below a ceiling can be expected to spend: bought on drawn tables, beside one release at fixed epsilons."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Progress
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.methods.registry import method_of
from discreet.release import Release
from discreet.simulation.scenario import Scenario
from discreet.simulation.supposition import Supposition
from discreet.workflow.expectation import Question
from discreet.workflow.paid_certainty import Certainty, certainty_of
from discreet.workflow.paid_parts import Buyer, check_parts
from discreet.workflow.paid_terms import Terms, terms_for
from discreet.workflow.pooled_parts import epsilon_spent
from discreet.workflow.priced_request import price

SCHEMA = "discreet/expected_parts@1"
N_TABLES = 40
"""Drawn of each scenario, unless another number is asked for."""

FIXED = tuple(Fraction(2) ** -power for power in (5, 4, 3, 2, 1, 0))
"""Shares of the ceiling at which one release is looked at, too."""


@dataclass(frozen=True)
class FixedBudget:
    """One release at a fixed epsilon.

    Parameters
    ----------
    epsilon : float
        What it spends.
    reached : float
        Share of the tables on which it is as sure as is asked for.
    right : float
        Share on which its likeliest model is the right one.
    """

    epsilon: float
    reached: float
    right: float


@dataclass(frozen=True)
class ExpectedParts:
    """What parts spend on tables that are drawn from a scenario.

    Parameters
    ----------
    effects : dict of str to float
        Of the scenario.
    n_rows, n_tables : int
        Rows of a table; tables.
    mean, median, ninth_tenth, worst : float
        Of the epsilon that is spent: on the mean, by half and by a tenth of the tables at least, and the most.
    parts : float
        Mean number of parts.
    reached, right : float
        Shares of the tables on which parts are as sure as is asked for, and on which the likeliest model is right.
    fixed : tuple of FixedBudget
        One release, by epsilon.
    fixed_needed : float or None
        The least of these epsilons at which one release is right as often; None where none is.
    """

    effects: dict[str, float]
    n_rows: int
    n_tables: int
    mean: float
    median: float
    ninth_tenth: float
    worst: float
    parts: float
    reached: float
    right: float
    fixed: tuple[FixedBudget, ...]
    fixed_needed: float | None


def expected_parts(
    question: Question, stops: dict[str, Any], progress: Progress | None = None
) -> tuple[Terms, tuple[ExpectedParts, ...]]:
    """Simulate parts on tables of each scenario that is supposed; no data are opened and nothing is spent.

    Rho adds up where there is a delta, as in an account kept in zcdp; else epsilon does.
    """
    parameters = {"delta": question.delta, **question.parameters}
    method = method_of("moments", **parameters, epsilon=stops["at_most"], n0=_n0(question))
    choices = {"of": stops.get("until_of", "columns"), "prior": stops.get("until_prior", "sparse")}
    choices |= {"width": stops.get("until_width"), "coefficient": stops.get("until_coefficient")}
    if not isinstance(method, NoisyMoments):  # the registry says so
        raise TypeError
    terms = terms_for(method, question.metadata.dataset, None, stops.get("until"), stops["at_most"], **choices)
    supposition = Supposition.of(question.supposed)
    figures = []
    for n_rows in question.n_rows or (None,):
        for scenario in supposition.scenarios(question.metadata, question.target, question.candidates, n_rows):
            figures.append(_expected(method, terms, scenario, question, progress))
    return terms, tuple(figures)


def parts_record(terms: Terms, figures: Sequence[ExpectedParts]) -> dict[str, Any]:
    """Return what JSON holds of them."""
    fit_request = {
        name: getattr(terms, name) for name in ("until", "width", "coefficient", "of", "prior", "at_most", "delta")
    }
    accounting = "zcdp" if terms.is_concentrated else "basic"
    return {"schema": SCHEMA, "accounting": accounting, **fit_request, "scenarios": [asdict(each) for each in figures]}


def _n0(question: Question) -> int | None:
    return question.metadata.n_rows or (question.n_rows[0] if question.n_rows else None)


def _expected(
    method: NoisyMoments, terms: Terms, scenario: Scenario, question: Question, progress: Progress | None
) -> ExpectedParts:
    n_tables, right = question.n_tables or N_TABLES, {name for name, effect in scenario.effects.items() if effect}
    check_parts(method, scenario.metadata, scenario.target, scenario.candidates)
    buyers, fixed = [], [list[Certainty]() for _ in FIXED]
    for seed in range(question.seed, question.seed + n_tables):
        table = scenario.draw(Source.seeded(seed))
        buyer = Buyer(method, terms, scenario.metadata, scenario.target, scenario.candidates)
        while (part := buyer.next_part()) is not None:
            noise = Source.seeded(2**32 + seed * 64 + len(buyer.bought))
            buyer.add(part, _drawn(part, table, scenario, noise))
        buyers.append(buyer)
        for at, (share, known) in enumerate(zip(FIXED, fixed, strict=True)):
            whole = method.model_copy(update={"epsilon": float(share * Fraction(terms.at_most))})
            noise = Source.seeded(2**48 + seed * 64 + at)
            known.append(certainty_of([_drawn(whole, table, scenario, noise)], terms))
        if progress is not None:
            progress("tables", 1, n_tables)
    spent = np.array([epsilon_spent(buyer.costs, terms) for buyer in buyers])
    is_right = [set(buyer.known[-1].model) == right for buyer in buyers]
    budgets = tuple(
        FixedBudget(
            float(share * Fraction(terms.at_most)),
            float(np.mean([terms.suffices(each) for each in known])),
            float(np.mean([set(each.model) == right for each in known])),
        )
        for share, known in zip(FIXED, fixed, strict=True)
    )
    share_right = float(np.mean(is_right))
    return ExpectedParts(
        effects=dict(scenario.effects),
        n_rows=scenario.n_rows,
        n_tables=n_tables,
        mean=float(spent.mean()),
        median=float(np.median(spent)),
        ninth_tenth=float(np.quantile(spent, 0.9, method="higher")),
        worst=float(spent.max()),
        parts=float(np.mean([len(buyer.bought) for buyer in buyers])),
        reached=float(np.mean([terms.suffices(buyer.known[-1]) for buyer in buyers])),
        right=share_right,
        fixed=budgets,
        fixed_needed=next((budget.epsilon for budget in budgets if budget.right >= share_right), None),
    )


def _drawn(method: NoisyMoments, table: Any, scenario: Scenario, source: Source) -> Release:
    """Return a release of a drawn table; its noise is seeded, so it promises nothing."""
    fit_request = method.model_copy(update={"selective_inference": "none"})
    priced = price(
        fit_request, scenario.metadata, scenario.target, scenario.candidates,
        name="simulated", locator=None, rows_origin=table.rows_origin, is_system=False,
    )  # fmt: skip
    return priced.release(priced.prepared.run(table, source), None)
