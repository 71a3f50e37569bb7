"""Writing to the ledger: caps, costs and the steps of a reservation, each inside the caller's transaction."""

from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Table, and_, func, insert, select, update

from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetError, InvalidParameterError
from discreet.ledger import chain, queries, refusals, rule, sums
from discreet.ledger.costs import AMOUNTS, Amounts, numbers
from discreet.ledger.records import Account, Accounting, Allotment
from discreet.ledger.schema import accounts, allotments, entries, releases
from discreet.ledger.store import Store

_NOTHING = {f"{name}_spent": 0 for name in AMOUNTS}


def set_cap(
    connection: Connection,
    account_terms: dict[str, str | None],
    relation: NeighboringRelation | None,
    accounting: Accounting,
    amounts: Amounts,
) -> bool:
    """Write a lifetime cap; return False when it was already so."""
    dataset = str(account_terms["dataset"])
    cap = _cap(accounting, amounts)
    before = queries.find_account(connection, dataset)
    if before is None:
        refusals.check_alone(dataset, queries.alike(connection, dataset))
        connection.execute(insert(accounts).values(**account_terms, **cap, **_NOTHING))
        return True
    refusals.check_terms(before, account_terms["unit"], relation)
    if before.accounting is not accounting and before.epsilon_spent:
        raise refusals.other_accounting(before, accounting)
    _check_covers(before, amounts)
    fixed = {name: account_terms[name] for name in ("unit", "neighboring") if account_terms[name] is not None}
    connection.execute(update(accounts).where(accounts.c.dataset == dataset).values(**cap, **fixed))
    return queries.find_account(connection, dataset) != before


def set_allotment(connection: Connection, account: Account, project: str, amounts: Amounts) -> bool:
    """Write what a project may spend of a data set's cap; return False when it was already so."""
    allotted = numbers(amounts)
    if allotted["epsilon"] > account.epsilon_cap or allotted["delta"] > account.delta_cap:
        raise refusals.above_cap(account, amounts)
    key = {"dataset": account.dataset, "project": project}
    cap = _cap(account.accounting, amounts)
    before = queries.find_allotment(connection, **key)
    if before is None:
        connection.execute(insert(allotments).values(**key, **cap, **_NOTHING))
        return True
    _check_covers(before, amounts)
    connection.execute(update(allotments).where(_allotment_of(key)).values(**cap))
    return queries.find_allotment(connection, **key) != before


def charge(store: Store, connection: Connection, account: Account, values: dict[str, Any]) -> None:
    """Add a cost to what is spent, of the account and of the project's allotment, by one conditional update each."""
    project = values["project"]
    sums.check_account(connection, account.dataset)
    if project is not None:
        current = queries.find_allotment(connection, account.dataset, project)
        allotment = refusals.check_allotted(store, account, current, project)
        sums.check_allotment(connection, account.dataset, project)
    is_account = and_(
        accounts.c.dataset == values["dataset"],
        # Where the cap left unit or relation open, the first charge fixes them.
        func.coalesce(accounts.c.unit, values["unit"]) == values["unit"],
        func.coalesce(accounts.c.neighboring, values["neighboring"]) == values["neighboring"],
    )
    terms = {name: values[name] for name in ("unit", "neighboring")}
    if not _take(connection, accounts, is_account, account.accounting, values, **terms):
        raise refusals.exceeded(store, account, values)
    if project is not None and not _take(connection, allotments, _allotment_of(values), account.accounting, values):
        raise refusals.exceeded(store, allotment, values)


def step(connection: Connection, entry: int, kind: str, text: str | None = None) -> None:
    """Move a reservation on, with all that belongs to the step."""
    reserved, latest = queries.find_reservation(connection, entry)
    if latest != chain.BEFORE[kind]:
        raise BudgetError(
            f"Step {kind!r} must follow state={chain.STATES[chain.BEFORE[kind]]!r}, but entry={entry} has "
            f"state={chain.STATES[latest]!r}. What is charged stays charged; make a new request."
        )
    row = {"kind": kind, "reservation": entry} | {name: reserved[name] for name in ("dataset", "project", "request")}
    if kind == "cancel":
        _give_back(connection, reserved, row)
    elif kind == "release":
        _store_release(connection, row, text)
    else:
        chain.append(connection, **row)


def touched_before(connection: Connection, older_than_s: float | None) -> list[int]:
    """Return the reserve entries of the reservations that are still TOUCHED."""
    ended = select(entries.c.reservation).where(entries.c.kind.in_(["release", "lost"]))
    query = select(entries.c.reservation).where(entries.c.kind == "touch", entries.c.reservation.not_in(ended))
    if older_than_s is not None:
        # A thousand years are older than any entry; more might not fit into a date.
        age = timedelta(seconds=min(older_than_s, 3e10))
        query = query.where(entries.c.time <= chain.time_text(age))
    return [row.reservation for row in connection.execute(query.order_by(entries.c.reservation))]


def _cap(accounting: Accounting, amounts: Amounts) -> dict[str, Any]:
    return {"accounting": accounting.value} | {f"{name}_cap": amounts[name] or 0 for name in AMOUNTS}


def _allotment_of(values: dict[str, Any]) -> ColumnElement[bool]:
    return and_(allotments.c.dataset == values["dataset"], allotments.c.project == values["project"])


def _take(
    connection: Connection,
    table: Table,
    is_row: ColumnElement[bool],
    accounting: Accounting,
    values: dict[str, Any],
    **fixed: str,
) -> bool:
    # One conditional update checks and charges, so that concurrent requests cannot both fit below the cap.
    fits = rule.conditions(accounting, table.c, values).values()
    done = connection.execute(
        update(table)
        .where(is_row, table.c.accounting == accounting.value, *fits)
        .values(**{f"{name}_spent": table.c[f"{name}_spent"] + (values[name] or 0) for name in AMOUNTS}, **fixed)
    )
    return done.rowcount == 1


def _check_covers(limit: Account | Allotment, amounts: Amounts) -> None:
    caps = {f"{name}_cap": cap for name, cap in numbers(amounts).items()}
    if not all(rule.conditions(limit.accounting, vars(limit) | caps, rule.NO_COST).values()):
        is_rho = limit.accounting is Accounting.ZCDP
        raise (refusals.below_spent_rho if is_rho else refusals.below_spent)(limit, amounts)


def _give_back(connection: Connection, reserved: RowMapping, row: dict[str, Any]) -> None:
    # A cancel follows a reservation alone (`chain.BEFORE`): of data that were never opened.
    refund = {name: None if reserved[name] is None else -reserved[name] for name in AMOUNTS}
    for table, is_row in ((accounts, accounts.c.dataset == reserved["dataset"]), (allotments, _allotment_of(row))):
        less = {f"{name}_spent": table.c[f"{name}_spent"] + (refund[name] or 0) for name in AMOUNTS}
        connection.execute(update(table).where(is_row).values(**less))
    chain.append(connection, **row, **refund)


def _store_release(connection: Connection, row: dict[str, Any], text: str | None) -> None:
    try:
        digest = chain.text_sha256(str(text))
    except UnicodeEncodeError:
        raise InvalidParameterError("A release must be text that UTF-8 can hold. Pass what to_json returned.") from None
    seq, _ = chain.append(connection, **row, facts=chain.facts_text({"release_sha256": digest}))
    connection.execute(insert(releases).values(entry=seq, request=row["request"], text=str(text)))
