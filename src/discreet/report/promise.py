"""The guarantee of a release in short texts."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from discreet.accounting.guarantee import Guarantee, exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.release import GuaranteeRecord, LedgerRecord, Release
from discreet.report.chances import is_weak, worst_posterior
from discreet.report.price import price
from discreet.report.vocabulary import PEOPLE
from discreet.report.words import at_most, number, one_in, percent_at_most, thousands

PRIORS = (0.01, 0.1, 0.5)
"""Beliefs before the release for which the worst belief after it is told."""

OddsKind = Literal["release", "contents", "so_far", "cap"]


@dataclass(frozen=True)
class Odds:
    """One line of the table of beliefs: what is protected against, and the worst beliefs after."""

    kind: OddsKind
    epsilon: str
    after: tuple[str, ...]


@dataclass(frozen=True)
class Promise:
    """The guarantee in short texts; `rho` is None without Gaussian noise, `failure` without a bound that may fail."""

    epsilon: str
    delta: str
    one_in: str
    rho: str | None
    failure: str | None
    is_all_gaussian: bool
    factor: str
    is_pure: bool
    is_weak: bool
    replaces: bool
    counts_units: bool
    unit: str
    is_people: bool
    is_row: bool
    rows: int
    is_identified: bool
    priors: tuple[str, ...]
    odds: tuple[Odds, ...]
    tripled: Odds
    tripled_cap: Odds | None


def promised(release: Release) -> GuaranteeRecord | None:
    """Return what a release promises, if it is private and its noise cannot be drawn again.

    None when it is not private, states no guarantee or comes from a seed: then nothing is promised.
    """
    return release.guarantee if release.private and release.provenance.randomness != "seeded" else None


def promise(release: Release) -> Promise | None:
    """Return a release's guarantee in short texts.

    None when nothing is promised.
    """
    record = promised(release)
    if record is None:
        return None
    Guarantee(exact(record.epsilon, "epsilon"), exact(record.delta, "delta"), record.neighboring)
    cost, ledger = price(release.event), release.provenance.ledger
    return Promise(
        epsilon=thousands(at_most(record.epsilon)),
        delta=at_most(record.delta),
        one_in=one_in(record.delta),
        rho=at_most(cost.rho, 4) if cost.rho > 0 else None,
        failure=at_most(cost.delta) if cost.delta > 0 else None,
        is_all_gaussian=cost.rho > 0 and cost.epsilon == 0 and cost.delta == 0,
        factor=thousands(at_most(math.exp(min(record.epsilon, 700.0)), 3)),
        is_pure=record.delta == 0,
        is_weak=is_weak(record.epsilon),
        replaces=record.neighboring is NeighboringRelation.REPLACE_ONE,
        counts_units=record.n_units is not None,
        unit=record.unit,
        is_people=record.unit.strip().casefold() in PEOPLE,
        is_row=record.unit.strip().casefold() in ("row", "record"),
        rows=record.rows_per_unit,
        is_identified=record.rows_per_unit > 1 or any(column.role == "unit_id" for column in release.public),
        priors=tuple(f"{number(100 * prior)}%" for prior in PRIORS),
        odds=tuple(_odds(record, ledger)),
        tripled=_line("release", 3 * record.epsilon),
        tripled_cap=_line("cap", 3 * ledger.epsilon_cap) if ledger else None,
    )


def _odds(record: GuaranteeRecord, ledger: LedgerRecord | None) -> Iterator[Odds]:
    yield _line("release", record.epsilon)
    if record.neighboring is NeighboringRelation.ADD_OR_REMOVE_ONE:
        yield _line("contents", 2 * record.epsilon)  # taken out, then put back changed
    if ledger is None:
        return
    # Where rho adds up, the sum of epsilons means little, and only the cap converts.
    so_far = ledger.epsilon_spent if ledger.accounting == "basic" else record.epsilon
    if so_far > record.epsilon * (1 + 1e-9):
        yield _line("so_far", so_far)
    if ledger.epsilon_cap > so_far * (1 + 1e-9):
        yield _line("cap", ledger.epsilon_cap)


def _line(kind: OddsKind, epsilon: float) -> Odds:
    after = tuple(percent_at_most(worst_posterior(epsilon, prior)) for prior in PRIORS)
    return Odds(kind, thousands(at_most(epsilon)), after)
