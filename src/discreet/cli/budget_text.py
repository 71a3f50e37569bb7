"""What the ledger tells, as words and as JSON."""

from collections.abc import Sequence
from typing import Any

from discreet import workflow
from discreet.cli.console import counted, number

ZCDP = "zcdp"


def account_record(account: "workflow.Account", allotments: "Sequence[workflow.Allotment]" = ()) -> dict[str, Any]:
    """An account as JSON, with what projects are allotted of it."""
    return {
        "dataset": account.dataset,
        "unit": account.unit,
        "neighboring": account.neighboring,
        **_sums(account),
        "releases": account.n_releases,
        "allotments": [allotment_record(allotment) for allotment in allotments],
    }


def allotment_record(allotment: "workflow.Allotment") -> dict[str, Any]:
    """An allotment as JSON."""
    return {"dataset": allotment.dataset, "project": allotment.project, **_sums(allotment)}


def entry_record(entry: "workflow.Entry") -> dict[str, Any]:
    """An entry as JSON."""
    names = ("seq", "time", "kind", "dataset", "project", "request", "unit", "hash", "state")
    return {
        **{name: getattr(entry, name) for name in names},
        "neighboring": entry.neighboring,
        "epsilon": float(entry.epsilon),
        "delta": float(entry.delta),
        "rho": None if entry.rho is None else float(entry.rho),
        "failure": None if entry.failure is None else float(entry.failure),
        "facts": entry.facts,
    }


def account_line(account: "workflow.Account") -> str:
    """An account as a bar and its sums."""
    converted = f"; {converts(account)}" if account.accounting == ZCDP else ""
    return f"{_bar(account.dataset, account)}, {counted(account.n_releases, 'release')}{converted}"


def allotment_line(allotment: "workflow.Allotment") -> str:
    """An allotment as a bar and its sums, below that of its data set."""
    return _bar(f"  {allotment.project}", allotment)


def entry_lines(entries: "Sequence[workflow.Entry]") -> list[str]:
    """Entries, each in one line."""
    meanings = [f"{entry.meaning} ({entry.outcome})" if entry.outcome else entry.meaning for entry in entries]
    width = max(map(len, meanings), default=0)
    return [_entry_line(entry, f"{text:<{width}}") for entry, text in zip(entries, meanings, strict=True)]


def _entry_line(entry: "workflow.Entry", meaning: str) -> str:
    name = entry.dataset if entry.project is None else f"{entry.dataset} {entry.project}"
    return f"{entry.seq:>5}  {entry.time}  {meaning}  {name:<20} {_amount(entry):<30} {entry.hash[:12]}"


def _amount(entry: "workflow.Entry") -> str:
    """The cap that an entry sets, or what it adds to what is spent."""
    if entry.rho is not None:
        return f"rho {number(entry.rho)}"
    is_cap = entry.kind in ("grant", "allot")
    parts = (("epsilon", entry.epsilon, is_cap), ("delta", entry.delta, False))
    return ", ".join(f"{name} {number(value)}" for name, value, is_shown in parts if value or is_shown)


def held_line(entry: "workflow.Entry") -> str:
    """What to do with what is reserved, where nobody computes it any more."""
    if "ceiling" in entry.facts:
        return (
            f"Entry {entry.seq} reserves budget for the next parts of a request. If no process is "
            f"running that request, "
            "give the same command again: it goes on from the parts that were bought, and gives back what it does not "
            f"use. Or give the budget back: `discreet budget free {entry.seq}`."
        )
    return (
        f"Entry {entry.seq} reserves budget, and no row was opened for it. If no process is running that request, give "
        f"the budget back: `discreet budget free {entry.seq}`."
    )


def cap(sums: "workflow.Account | workflow.Allotment") -> str:
    """What may be spent."""
    if sums.accounting != ZCDP:
        delta = f" and delta {number(sums.delta_cap)}" if sums.delta_cap else ""
        return f"epsilon {number(sums.epsilon_cap)}{delta}"
    return f"rho {number(sums.rho_cap)}"


def converts(account: "workflow.Account") -> str:
    """The cap's epsilon: that of the running rho would be no bound."""
    return f"the cap converts to epsilon {number(account.epsilon_cap)} at delta {number(account.delta_cap)}"


def _bar(name: str, sums: "workflow.Account | workflow.Allotment") -> str:
    filled = round(30 * float(sums.share_spent))
    bar = f"{name:<20} [{'#' * filled}{'.' * (30 - filled)}]"
    if sums.accounting == ZCDP:
        spent, whole, left = (number(value) for value in (sums.rho_spent, sums.rho_cap, sums.rho_left))
        return f"{bar} rho {spent} of {whole} spent, {left} left"
    spent, whole, left = (number(value) for value in (sums.epsilon_spent, sums.epsilon_cap, sums.epsilon_left))
    return f"{bar} epsilon {spent} of {whole} spent, {left} left{_delta(sums)}"


def _delta(sums: "workflow.Account | workflow.Allotment") -> str:
    """What is spent of a cap on delta, where there is one."""
    return f", delta {number(sums.delta_spent)} of {number(sums.delta_cap)}" if sums.delta_cap else ""


def _sums(sums: "workflow.Account | workflow.Allotment") -> dict[str, Any]:
    return {
        "epsilon": _part(sums, "epsilon"),
        "delta": _part(sums, "delta"),
        "accounting": sums.accounting,
        "rho": None
        if sums.accounting != ZCDP
        else {
            **_part(sums, "rho"),
            "failure": {"cap": float(sums.failure_cap), "spent": float(sums.failure_spent)},
        },
    }


def _part(sums: "workflow.Account | workflow.Allotment", name: str) -> dict[str, float]:
    return {of: float(getattr(sums, f"{name}_{of}")) for of in ("cap", "spent", "left")}
