"""The running sums beside the entries: a charge is added to them only while they are what the entries add up to."""

from sqlalchemy import ColumnElement, Connection, RowMapping, Table, and_, func, select

from discreet.errors import VerificationError
from discreet.ledger import costs
from discreet.ledger.costs import AMOUNTS
from discreet.ledger.schema import accounts, allotments, entries

CHARGES = ("reserve", "reconcile", "cancel")
"""Kinds of entries that change what is spent; a cancelled one takes back what it reserved."""


def check_account(connection: Connection, dataset: str) -> None:
    """Refuse to spend from an account that was changed beside its entries."""
    is_entry = entries.c.dataset == dataset
    row = connection.execute(select(accounts).where(accounts.c.dataset == dataset)).mappings().one()
    wrong = _differing(connection, row, is_entry, "grant") + _other_terms(connection, row, is_entry)
    if wrong:
        raise _changed(f"the account of data set {dataset!r}", wrong)


def check_allotment(connection: Connection, dataset: str, project: str) -> None:
    """Refuse to spend from an allotment that was changed beside its entries."""
    row = connection.execute(select(allotments).where(*_names(allotments, dataset, project))).mappings().one()
    wrong = _differing(connection, row, and_(*_names(entries, dataset, project)), "allot")
    if wrong:
        raise _changed(f"the allotment of project {project!r} of data set {dataset!r}", wrong)


def check_end(connection: Connection, last: int, digest: str) -> None:
    """Refuse to spend from a ledger whose last entries are gone."""
    row = connection.execute(
        select(entries.c.seq, entries.c.hash).order_by(entries.c.seq.desc()).limit(1)
    ).one_or_none()
    if (row is None and last) or (row is not None and (row.seq, row.hash) != (last, digest)):
        raise _changed("the end of the chain", ["last entry"])


def _names(table: Table, dataset: str, project: str) -> tuple[ColumnElement[bool], ...]:
    return table.c.dataset == dataset, table.c.project == project


def _differing(connection: Connection, row: RowMapping, is_entry: ColumnElement[bool], kind: str) -> list[str]:
    """Return the columns that differ from the entries: from the newest cap, and from the sum of all charges."""
    caps = connection.execute(select(entries).where(is_entry, entries.c.kind == kind)).mappings().all()
    if not caps:
        return [f"{kind} entry"]
    cap = max(caps, key=lambda entry: entry["seq"])  # to ask for the last would have a server walk the whole chain
    # Whole numbers, added up in an index that holds nothing else.
    totals = [func.coalesce(func.sum(entries.c[name]), 0).label(name) for name in AMOUNTS]
    spent = connection.execute(select(*totals).where(is_entry, entries.c.kind.in_(CHARGES))).mappings().one()
    wrong = [] if row["accounting"] == costs.accounting_of(cap) else ["accounting"]
    for name in AMOUNTS:
        wrong += [f"{name}_cap"] if row[f"{name}_cap"] != (cap[name] or 0) else []
        wrong += [f"{name}_spent"] if row[f"{name}_spent"] != spent[name] else []
    return wrong


def _other_terms(connection: Connection, row: RowMapping, is_entry: ColumnElement[bool]) -> list[str]:
    wrong = []
    for name in ("unit", "neighboring"):
        fixed = select(entries.c[name]).where(
            is_entry, entries.c.kind.in_(("grant", "reserve", "reconcile")), entries.c[name].is_not(None)
        )
        first = connection.execute(fixed.limit(1)).scalar()
        wrong += [name] if first != row[name] else []
    return wrong


def _changed(subject: str, wrong: list[str]) -> VerificationError:
    return VerificationError(
        f"A ledger must not be changed by hand, but {subject} differs from its entries in {', '.join(wrong)}. "
        "Spend nothing from it: `discreet budget verify` checks all of it; put back the newest copy that verifies."
    )
