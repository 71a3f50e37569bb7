"""Charges that somebody outside the ledger remembers: its witness, or a release."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.accounting.guarantee import exact
from discreet.errors import InvalidParameterError, VerificationError
from discreet.ledger.costs import AMOUNTS
from discreet.ledger.grains import DELTA_GRAIN, EPSILON_GRAIN, RHO_GRAIN, charged
from discreet.ledger.witness import Line
from discreet.release import Release


@dataclass(frozen=True)
class Charge:
    """A reserve entry that somebody outside the ledger remembers.

    Parameters
    ----------
    seq : int
        Its place in the ledger as it was.
    hash : str
        Its hash.
    values : dict
        Columns of the entry that charges it again.
    is_touched : bool
        Whether data were opened on its account.
    is_cancelled : bool
        Whether it was given back.
    """

    seq: int
    hash: str
    values: dict[str, Any]
    is_touched: bool
    is_cancelled: bool


def charges_of(lines: Iterable[Line]) -> list[Charge]:
    """Return the charges that a witness remembers.

    In the order in which they were made.
    """
    kinds: dict[str, dict[str, Line]] = {}
    for line in lines:
        if line.charge is not None:
            kinds.setdefault(line.charge, {})[line.kind] = line
    return [_charge(found) for found in kinds.values()]


def charge_of(release: Release) -> Charge:
    """Return the charge that a release shows.

    In the numbers that the release shows, which may differ from the ledger's by less than a grain.
    """
    shown, promised = release.provenance.ledger, release.guarantee
    if shown is None or promised is None:
        raise InvalidParameterError(
            "A release must show its charge, but this one was charged to no ledger. Leave it out: it spent nothing."
        )
    values = {
        "dataset": release.provenance.dataset,
        "project": None,
        "request": release.provenance.request_sha256,
        "unit": promised.unit,
        "neighboring": promised.neighboring.value,
        "epsilon": charged(exact(promised.epsilon, "epsilon"), EPSILON_GRAIN),
        "delta": charged(exact(promised.delta, "delta"), DELTA_GRAIN),
        "rho": None if shown.rho is None else charged(exact(shown.rho, "rho"), RHO_GRAIN),
        "failure": None if shown.rho is None else charged(_failure(release.event or {}), DELTA_GRAIN),
    }
    return Charge(shown.entry, shown.head, values, is_touched=True, is_cancelled=False)


def _charge(kinds: Mapping[str, Line]) -> Charge:
    made = kinds.get("reserve") or kinds.get("reconcile")
    if made is None or made.charge is None or made.charge_seq is None:
        raise VerificationError(
            f"A witness must hold each charge whose steps it holds, but not {next(iter(kinds.values())).charge}. "
            "Put the file back as it was, or reconcile from releases."
        )
    columns = ("dataset", "project", "request", "unit", "neighboring", *AMOUNTS)
    is_touched = not kinds.keys().isdisjoint(("touch", "release", "lost"))
    values = {name: getattr(made, name) for name in columns}
    return Charge(made.charge_seq, made.charge, values, is_touched, "cancel" in kinds and not is_touched)


def _failure(event: dict[str, Any]) -> Fraction:
    """Probability of failure in an event as a release shows it."""
    if event.get("type") == "FailureEvent":
        return exact(event["delta"], "delta")
    return sum((_failure(part) for part in event.get("events", ())), Fraction(0))
