"""Ceilings: a cost that is reserved once and drawn part by part; what is not drawn goes back.

While a ceiling stands, one reserve entry holds what may still be drawn. A draw is one transaction: that entry is
cancelled, what is left beside the part is reserved anew, and the part is reserved. So at any time the entries add up to
what was drawn and what is held, no other request gets in between, and a process that dies leaves the one or the other.
"""

from typing import Any

from sqlalchemy import Connection, RowMapping, select

from discreet.errors import BudgetExceededError
from discreet.ledger import chain, postings, queries, rule
from discreet.ledger.costs import AMOUNTS, accounting_of, numbers
from discreet.ledger.records import Account
from discreet.ledger.schema import entries
from discreet.ledger.store import Store

KEPT = ("dataset", "project", "request", "unit", "neighboring", "facts")
"""What the entries of one ceiling have in common."""


def standing(connection: Connection, dataset: str, request: str) -> RowMapping | None:
    """Return the entry that holds what may still be drawn of a ceiling, or None where there is none any more."""
    is_held = entries.c.dataset == dataset, entries.c.kind == "reserve", entries.c.request == request
    newest = connection.execute(select(entries.c.seq).where(*is_held).order_by(entries.c.seq.desc()).limit(1)).scalar()
    if newest is None:
        return None
    row, latest = queries.find_reservation(connection, newest)
    return row if latest == "reserve" else None


def draw(store: Store, connection: Connection, account: Account, ceiling: str, part: dict[str, Any]) -> None:
    """Take a part's cost out of what a ceiling holds, so that the part can be charged in the same transaction."""
    row = standing(connection, account.dataset, ceiling)
    if row is None or any(row[name] != part[name] for name in ("project", "unit", "neighboring")):
        raise _exceeded(row, part)
    left = {name: None if row[name] is None else row[name] - (part[name] or 0) for name in AMOUNTS}
    if any((left[name] or 0) < 0 for name in rule.held(accounting_of(row))):
        raise _exceeded(row, part)
    # Amounts that only inform may add up to more than the ceiling's: none is given back twice.
    rest = {name: None if amount is None else max(amount, 0) for name, amount in left.items()}
    held = {name: row[name] for name in KEPT} | rest
    postings.step(connection, row["seq"], "cancel")
    postings.charge(store, connection, account, held)
    chain.append(connection, kind="reserve", **held)


def close(connection: Connection, entry: int, text: str) -> None:
    """Give back what a ceiling still holds, and record what its parts came to, as a release that costs nothing."""
    row, _ = queries.find_reservation(connection, entry)
    postings.step(connection, entry, "cancel")
    nothing = {name: None if row[name] is None else 0 for name in AMOUNTS}
    seq, _ = chain.append(connection, kind="reserve", **{name: row[name] for name in KEPT}, **nothing)
    postings.step(connection, seq, "touch")
    postings.step(connection, seq, "release", text)


def _exceeded(row: RowMapping | None, part: dict[str, Any]) -> BudgetExceededError:
    names = rule.held(accounting_of(part))
    taken, held = numbers(part), numbers(row or dict.fromkeys(AMOUNTS))
    amounts = " and ".join(f"{name} {float(taken[name]):.6g} of {float(held[name]):.6g}" for name in names)
    return BudgetExceededError(
        f"A part must fit in what its ceiling still holds, but it takes {amounts}. Ask again: parts that were released "
        "are kept.",
        taken["epsilon"],
        held["epsilon"],
    )
