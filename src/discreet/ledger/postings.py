"""Writing to the ledger: caps, costs and the steps of a reservation, each inside the caller's transaction."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, and_, func, insert, select, update

from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetError, InvalidParameterError
from discreet.ledger import books, chain, refusals
from discreet.ledger.costs import Amounts
from discreet.ledger.grains import DELTA_GRAIN, EPSILON_GRAIN, RHO_GRAIN
from discreet.ledger.records import Account, Accounting
from discreet.ledger.schema import accounts, entries, releases

_SPENT = ("epsilon", "delta", "rho", "failure")


def set_cap(
    connection: Connection,
    wanted: dict[str, str | None],
    relation: NeighboringRelation | None,
    accounting: Accounting,
    amounts: Amounts,
) -> bool:
    """Write a lifetime cap.

    Parameters
    ----------
    connection : Connection
        Holding the head.
    wanted : dict
        Columns dataset, unit and neighboring; None leaves a column as it is.
    relation : NeighboringRelation or None
        The relation in `wanted`.
    accounting : Accounting
        What adds up.
    amounts : dict
        The cap in grains.

    Returns
    -------
    bool
        False when all of it stood already.

    Raises
    ------
    InvalidParameterError
        When the cap is below what is spent.
    BudgetError
        When the unit, the relation or the accounting is another than that of what is spent.
    """
    dataset = str(wanted["dataset"])
    cap = {"accounting": accounting.value} | {f"{name}_cap": amounts[name] or 0 for name in _SPENT}
    before = books.find_account(connection, dataset)
    if before is None:
        connection.execute(insert(accounts).values(**wanted, **cap, **{f"{name}_spent": 0 for name in _SPENT}))
        return True
    refusals.check_terms(before, wanted["unit"], relation)
    if before.accounting is not accounting and before.epsilon_spent:
        raise refusals.other_accounting(before, accounting)
    _check_covers(before, amounts)
    fixed = {name: wanted[name] for name in ("unit", "neighboring") if wanted[name] is not None}
    connection.execute(update(accounts).where(accounts.c.dataset == dataset).values(**cap, **fixed))
    return books.find_account(connection, dataset) != before


def charge(connection: Connection, accounting: Accounting, values: dict[str, Any]) -> bool:
    """Add a cost to what is spent, in one conditional update.

    Parameters
    ----------
    connection : Connection
        In a writing transaction.
    accounting : Accounting
        What adds up, as the account says.
    values : dict
        Columns of the reserve entry.

    Returns
    -------
    bool
        False when the account does not allow it; then nothing changed.
    """
    held = ("rho", "failure") if accounting is Accounting.ZCDP else ("epsilon", "delta")
    costs = {name: values[name] or 0 for name in _SPENT}
    allowed = and_(
        accounts.c.dataset == values["dataset"],
        accounts.c.accounting == accounting.value,
        *(accounts.c[f"{name}_spent"] + costs[name] <= accounts.c[f"{name}_cap"] for name in held),
        func.coalesce(accounts.c.unit, values["unit"]) == values["unit"],
        func.coalesce(accounts.c.neighboring, values["neighboring"]) == values["neighboring"],
    )
    done = connection.execute(
        update(accounts)
        .where(allowed)
        .values(
            **{f"{name}_spent": accounts.c[f"{name}_spent"] + costs[name] for name in _SPENT},
            unit=values["unit"],
            neighboring=values["neighboring"],
        )
    )
    return done.rowcount == 1


def step(connection: Connection, entry: int, kind: str, text: str | None = None) -> None:
    """Move a reservation on, with all that belongs to the step.

    Parameters
    ----------
    connection : Connection
        Holding the head.
    entry : int
        The reserve entry.
    kind : str
        "touch", "release", "lost" or "cancel".
    text : str or None
        The release, for "release".

    Raises
    ------
    BudgetError
        When the reservation is not in the state before this step.
    """
    found = books.find_reservation(connection, entry)
    if found is None:
        raise BudgetError(
            f"A reservation must be in the ledger, but entry={entry} is not. The ledger was replaced under a "
            "running computation: check it with `discreet budget verify`."
        )
    reserved, latest = found
    if latest != chain.BEFORE[kind]:
        raise BudgetError(
            f"Step {kind!r} must follow state={chain.STATES[chain.BEFORE[kind]]!r}, but entry={entry} has "
            f"state={chain.STATES[latest]!r}. What is charged stays charged; make a new request."
        )
    row = {"kind": kind, "reservation": entry, "dataset": reserved["dataset"], "request": reserved["request"]}
    if kind == "cancel":
        _give_back(connection, reserved, row)
    elif kind == "release":
        _store_release(connection, row, text)
    else:
        chain.append(connection, **row)


def touched_before(connection: Connection, older_than_s: float | None) -> list[int]:
    """Return the reservations that are still TOUCHED.

    Parameters
    ----------
    connection : Connection
        In a transaction.
    older_than_s : float or None
        Only those touched at least so many seconds ago.

    Returns
    -------
    list of int
        Their reserve entries.
    """
    ended = select(entries.c.reservation).where(entries.c.kind.in_(["release", "lost"]))
    query = select(entries.c.reservation).where(entries.c.kind == "touch", entries.c.reservation.not_in(ended))
    if older_than_s is not None:
        # A thousand years are older than any entry; more might not fit into a date.
        age = timedelta(seconds=min(older_than_s, 3e10))
        query = query.where(entries.c.time <= chain.time_text(age))
    return [row.reservation for row in connection.execute(query.order_by(entries.c.reservation))]


def _check_covers(account: Account, amounts: Amounts) -> None:
    epsilon, delta, rho, failure = (amounts[name] or 0 for name in _SPENT)
    if account.accounting is Accounting.ZCDP:
        if rho * RHO_GRAIN < account.rho_spent or failure * DELTA_GRAIN < account.failure_spent:
            raise refusals.below_spent_rho(account, rho * RHO_GRAIN, failure * DELTA_GRAIN)
    elif epsilon * EPSILON_GRAIN < account.epsilon_spent or delta * DELTA_GRAIN < account.delta_spent:
        raise refusals.below_spent(account, epsilon * EPSILON_GRAIN, delta * DELTA_GRAIN)


def _give_back(connection: Connection, reserved: Any, row: dict[str, Any]) -> None:
    back = {name: None if reserved[name] is None else -reserved[name] for name in _SPENT}
    connection.execute(
        update(accounts)
        .where(accounts.c.dataset == reserved["dataset"])
        .values(**{f"{name}_spent": accounts.c[f"{name}_spent"] + (back[name] or 0) for name in _SPENT})
    )
    chain.append(connection, **row, **back)


def _store_release(connection: Connection, row: dict[str, Any], text: str | None) -> None:
    try:
        digest = chain.text_sha256(str(text))
    except UnicodeEncodeError:
        raise InvalidParameterError("A release must be text that UTF-8 can hold. Pass what to_json returned.") from None
    seq, _ = chain.append(connection, **row, facts=chain.facts_text({"release_sha256": digest}))
    connection.execute(insert(releases).values(entry=seq, request=row["request"], text=str(text)))
