"""What a report says, taken from a release and put into short texts; nothing is escaped here."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from discreet.accounting.guarantee import Guarantee, exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.release import GuaranteeRecord, LedgerRecord, NoiseRecord, PublicColumn, Release
from discreet.report.chances import seldom_gap, worst_posterior
from discreet.report.words import at_least, at_most, count, listed, number, percent, setting, shortened

Audience = Literal["board", "analyst"]

PRIORS = (0.01, 0.1, 0.5)
"""Beliefs before the release for which the worst belief after it is told."""

_PEOPLE = frozenset(
    {
        *(
            "person",
            "individual",
            "human",
            "patient",
            "participant",
            "subject",
            "respondent",
            "student",
            "pupil",
        ),
        *("employee", "worker", "customer", "client", "user", "member", "citizen", "resident"),
        *("household", "family"),
    }
)
"""Units that hold all rows of a person; of any other unit the report says that it is not a person."""

_METHODS = {"pcls": "penalized constrained least squares"}
_MECHANISMS = {"exponential": "exponential mechanism", "laplace": "report noisy max"}
_NUMERICS = {
    "exact": "The noise is drawn exactly, in whole numbers.",
    "float-safe": "What the computer's rounding can add is part of the proof.",
    "idealized": "The proof is for real numbers; the computer's rounding is not covered by it.",
}
_MEANINGS = {
    "epsilon": "what this release spends",
    "delta": "added chance of a result outside the promise",
    "mechanism": "how the noisy choice is made",
    "l1_radius": "R: limit on the sizes of a model's coefficients, added up",
    "model_penalty": "price of every further column in a model, in the unit of the scores",
    "max_size": "most columns that may be selected",
    "models": "the candidate models, when they are given one by one",
    "n_candidates": "number of candidate models",
    "forced": "columns put into every model",
    "groups": "columns that enter and leave together",
    "y_bound": "r: farthest that a target value may lie from its center",
    "y_center": "declared middle of the target",
    "fit_intercept": "whether models have a constant term",
    "as_published": "whether the paper's algorithm runs to the letter, errors included",
}


@dataclass(frozen=True)
class Odds:
    """One line of the table of beliefs: what is protected against, and the worst beliefs after."""

    kind: Literal["release", "contents", "so_far", "cap"]
    epsilon: str
    after: tuple[str, ...]


@dataclass(frozen=True)
class Promise:
    """The guarantee in short texts."""

    epsilon: str
    delta: str
    factor: str
    is_pure: bool
    is_weak: bool
    replaces: bool
    unit: str
    is_people: bool
    is_row: bool
    rows: int
    is_identified: bool
    priors: tuple[str, ...]
    odds: tuple[Odds, ...]
    tripled: Odds


@dataclass(frozen=True)
class Noise:
    """The noise box in short texts; `gap` and `lead` are None when the law is not known here."""

    mechanism: str
    law: str
    n_models: str
    sensitivity: str
    inflation: str
    scale: str
    is_sum_over_epsilon: bool
    formula: str
    numerics: str
    numerics_meaning: str
    claim: str
    gap: str | None
    gap_scales: str | None
    lead: str | None


@dataclass(frozen=True)
class Column:
    """A column that took part, and what was declared public about it."""

    name: str
    role: str
    type: str
    values: str
    source: str


@dataclass(frozen=True)
class Budget:
    """Where the data set's ledger stands, in short texts."""

    entry: str
    head: str
    spent: str
    cap: str
    left: str


@dataclass(frozen=True)
class Facts:
    """Everything that a report says."""

    audience: Audience
    is_private: bool
    is_seeded: bool
    method: str
    method_words: str | None
    target: str
    short_target: str
    dataset: str
    data: str
    candidates: tuple[tuple[str, bool], ...]
    n_candidates: int
    chosen: tuple[str, ...]
    headline: str | None
    forced: tuple[str, ...]
    settings: tuple[tuple[str, str, str], ...]
    promise: Promise | None
    noise: Noise
    columns: tuple[Column, ...]
    n_unlisted: int
    sources: str
    not_protected: tuple[str, ...]
    budget: Budget | None
    event: str | None
    release: Release


def gather(release: Release, audience: Audience, n_listed: int | None) -> Facts:
    """Return what a report on a release says.

    Parameters
    ----------
    release : Release
        The release.
    audience : {"board", "analyst"}
        Who reads it.
    n_listed : int or None
        The most columns whose bounds are listed; None lists all.

    Returns
    -------
    Facts
        Short texts, not yet escaped.
    """
    guarantee = promised(release)
    promise = _promise(release, guarantee) if guarantee else None
    columns = tuple(_column(column) for column in _public(release))
    forced = _names(_parameters(release).get("forced"))
    candidates = tuple(name for name in _candidates(release) if name not in forced)
    chosen = tuple(name for name in release.selected if name not in forced)
    provenance = release.provenance
    return Facts(
        audience=audience,
        is_private=promise is not None,
        is_seeded=provenance.randomness == "seeded",
        method=release.method,
        method_words=_METHODS.get(release.method.casefold()),
        target=_target(release),
        short_target=shortened(_target(release), 40),
        dataset=provenance.dataset,
        data=provenance.data,
        candidates=tuple((name, name in release.selected) for name in candidates),
        n_candidates=len(candidates) or len(chosen),
        chosen=chosen,
        headline=_headline(chosen),
        forced=forced,
        settings=tuple((name, setting(value), _MEANINGS.get(name, "")) for name, value in _parameters(release).items()),
        promise=promise,
        noise=_noise(release.noise, _epsilon(release)),
        columns=columns[:n_listed],
        n_unlisted=len(columns) - len(columns[:n_listed]),
        sources="; ".join(dict.fromkeys(column.source for column in release.public)) or "none",
        not_protected=release.not_protected,
        budget=_budget(provenance.ledger) if provenance.ledger else None,
        event=setting(release.event) if release.event else None,
        release=release,
    )


def promised(release: Release) -> GuaranteeRecord | None:
    """Return what a release promises, if it is private and its noise cannot be drawn again.

    Parameters
    ----------
    release : Release
        The release.

    Returns
    -------
    GuaranteeRecord or None
        None when it is not private, states no guarantee or comes from a seed: then nothing is promised.
    """
    return release.guarantee if release.private and release.provenance.randomness != "seeded" else None


def _promise(release: Release, record: GuaranteeRecord) -> Promise:
    Guarantee(exact(record.epsilon, "epsilon"), exact(record.delta, "delta"), record.neighboring)
    return Promise(
        epsilon=at_most(record.epsilon),
        delta=at_most(record.delta),
        factor=at_most(math.exp(min(record.epsilon, 700.0)), 3),
        is_pure=record.delta == 0,
        is_weak=worst_posterior(record.epsilon, 0.01) > 0.5,
        replaces=record.neighboring is NeighboringRelation.REPLACE_ONE,
        unit=record.unit,
        is_people=record.unit.strip().casefold() in _PEOPLE,
        is_row=record.unit.strip().casefold() in ("row", "record"),
        rows=record.rows_per_unit,
        is_identified=record.rows_per_unit > 1 or any(column.role == "unit_id" for column in release.public),
        priors=tuple(f"{number(100 * prior)}%" for prior in PRIORS),
        odds=tuple(_odds(record, release.provenance.ledger)),
        tripled=_odds_line("release", 3 * record.epsilon),
    )


def _odds(record: GuaranteeRecord, ledger: LedgerRecord | None) -> Iterator[Odds]:
    yield _odds_line("release", record.epsilon)
    if record.neighboring is NeighboringRelation.ADD_OR_REMOVE_ONE:
        yield _odds_line("contents", 2 * record.epsilon)  # taken out, then put back changed
    if ledger is not None and ledger.epsilon_spent > record.epsilon * (1 + 1e-9):
        yield _odds_line("so_far", ledger.epsilon_spent)
    if ledger is not None and ledger.epsilon_cap > max(record.epsilon, ledger.epsilon_spent) * (1 + 1e-9):
        yield _odds_line("cap", ledger.epsilon_cap)


def _odds_line(kind: Literal["release", "contents", "so_far", "cap"], epsilon: float) -> Odds:
    return Odds(kind, at_most(epsilon), tuple(percent(worst_posterior(epsilon, prior)) for prior in PRIORS))


def _noise(record: NoiseRecord, epsilon: float) -> Noise:
    gap = seldom_gap(record.noise)
    lead = seldom_gap(record.noise, record.n_candidates - 1) if record.n_candidates > 2 else None
    return Noise(
        mechanism=_MECHANISMS.get(record.mechanism, record.mechanism.replace("_", "-")),
        law=record.noise,
        n_models=count(record.n_candidates),
        sensitivity=number(record.sensitivity),
        inflation=number(record.inflation, 3),
        scale=number(record.scale),
        is_sum_over_epsilon=math.isclose(record.scale * epsilon, record.sensitivity + record.inflation, rel_tol=1e-9),
        formula=record.formula,
        numerics=record.numerics,
        numerics_meaning=_NUMERICS.get(record.numerics, ""),
        claim=record.claim,
        gap=None if gap is None else number(gap * record.scale, 3),
        gap_scales=None if gap is None else number(gap, 3),
        lead=None if lead is None else number(lead * record.scale, 3),
    )


def _column(column: PublicColumn) -> Column:
    return Column(column.name, column.role, column.type, _values(column), column.source)


def _values(column: PublicColumn) -> str:
    if column.levels is not None:
        shown = ", ".join(column.levels[:8])
        return f"{shown} and {len(column.levels) - 8} more" if len(column.levels) > 8 else shown
    if column.lower is not None and column.upper is not None:
        return f"{number(column.lower)} to {number(column.upper)}"
    return "never used in a model" if column.role == "unit_id" else "not declared"


def _budget(ledger: LedgerRecord) -> Budget:
    return Budget(
        entry=str(ledger.entry),
        head=ledger.head,
        spent=at_most(ledger.epsilon_spent),
        cap=at_least(ledger.epsilon_cap),
        left=at_least(max(0.0, ledger.epsilon_cap - ledger.epsilon_spent)),
    )


def _headline(chosen: tuple[str, ...]) -> str | None:
    text = listed(chosen) if 0 < len(chosen) <= 5 else ""
    return text if 0 < len(text) <= 80 else None


def _public(release: Release) -> list[PublicColumn]:
    order = {"target": 0, "unit_id": 1, "candidate": 2}
    return sorted(release.public, key=lambda column: order[column.role])


def _target(release: Release) -> str:
    declared = [column.name for column in release.public if column.role == "target"]
    return str(release.request.get("target") or (declared or ["the target"])[0])


def _candidates(release: Release) -> tuple[str, ...]:
    asked = _names(release.request.get("candidates"))
    return asked or tuple(column.name for column in release.public if column.role == "candidate")


def _epsilon(release: Release) -> float:
    asked = _parameters(release).get("epsilon", math.nan)
    return release.guarantee.epsilon if release.guarantee else asked if isinstance(asked, float) else math.nan


def _parameters(release: Release) -> dict[str, Any]:
    given = release.request.get("parameters")
    return {str(name): value for name, value in given.items()} if isinstance(given, dict) else {}


def _names(value: Any) -> tuple[str, ...]:
    return tuple(str(name) for name in value) if isinstance(value, list | tuple) else ()
