"""Queries of the ledger's tables: rows to values."""

import json
from collections.abc import Collection
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, bindparam, func, or_, select

from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetError, VerificationError
from discreet.ledger.chain import STATES, lost_hashes, text_sha256
from discreet.ledger.grains import DELTA_GRAIN, EPSILON_GRAIN, RHO_GRAIN, as_decimal
from discreet.ledger.records import Account, Accounting, Allotment, Entry
from discreet.ledger.schema import accounts, allotments, entries, releases

_N_RELEASES = (
    select(func.count())
    .select_from(entries)
    .where(entries.c.dataset == accounts.c.dataset, entries.c.kind == "release")
    .scalar_subquery()
)
_ACCOUNTS = select(accounts, _N_RELEASES.label("n_releases"))
_ACCOUNT = _ACCOUNTS.where(accounts.c.dataset == bindparam("dataset"))
_ALLOTMENTS = select(allotments).where(allotments.c.dataset == bindparam("dataset")).order_by(allotments.c.project)
_ALLOTMENTS_OF = _ALLOTMENTS.where(allotments.c.project.in_(bindparam("projects", expanding=True)))
# Built once: to build a statement takes longer than to answer it.


def find_account(connection: Connection, dataset: str) -> Account | None:
    """Return a data set's account, or None when it has none."""
    row = connection.execute(_ACCOUNT, {"dataset": dataset}).mappings().one_or_none()
    return None if row is None else _account(row)


def alike(connection: Connection, dataset: str) -> str | None:
    """Return the name of an account that differs from another name in case alone, or None."""
    # Names are ASCII, so that there is nothing else in which two could be alike.
    is_alike = func.lower(accounts.c.dataset) == dataset.lower()
    query = select(accounts.c.dataset).where(is_alike, accounts.c.dataset != dataset)
    return connection.execute(query.order_by(accounts.c.dataset).limit(1)).scalar()


def all_accounts(connection: Connection) -> list[Account]:
    """Return every account, by the name of the data set."""
    return [_account(row) for row in connection.execute(_ACCOUNTS.order_by(accounts.c.dataset)).mappings()]


def find_allotment(connection: Connection, dataset: str, project: str) -> Allotment | None:
    """Return a project's allotment of a data set's cap, or None."""
    where = allotments.c.dataset == dataset, allotments.c.project == project
    row = connection.execute(select(allotments).where(*where)).mappings().one_or_none()
    return None if row is None else _allotment(row)


def find_allotments(connection: Connection, dataset: str, projects: Collection[str] | None) -> list[Allotment]:
    """Return the allotments of a data set's cap, of some projects or of all, by the name of the project."""
    query, values = (_ALLOTMENTS, {}) if projects is None else (_ALLOTMENTS_OF, {"projects": list(projects)})
    return [_allotment(row) for row in connection.execute(query, {"dataset": dataset, **values}).mappings()]


def all_entries(connection: Connection, dataset: str | None) -> list[Entry]:
    """Return the entries in order."""
    query = select(entries).order_by(entries.c.seq)
    if dataset is not None:
        query = query.where(entries.c.dataset == dataset)
    rows = connection.execute(query).mappings().all()
    latest: dict[int, str] = {}
    for row in rows:
        if row["kind"] in STATES:
            latest[row["reservation"] or row["seq"]] = STATES[row["kind"]]
    return [_entry(row, latest.get(row["seq"])) for row in rows]


def find_reservation(connection: Connection, entry: int) -> tuple[RowMapping, str]:
    """Return a reserve entry, and the kind of the newest entry that belongs to it."""
    query = select(entries).where(or_(entries.c.seq == entry, entries.c.reservation == entry))
    rows = connection.execute(query.order_by(entries.c.seq)).mappings().all()
    if not rows or rows[0]["kind"] != "reserve":
        raise BudgetError(
            f"A reservation must be in the ledger, but entry={entry} is not. The ledger was replaced under a "
            "running computation: check it with `discreet budget verify`."
        )
    return rows[0], rows[-1]["kind"]


def charge_states(connection: Connection) -> dict[str, str]:
    """Return the state of every charge by the hash of its reserve entry; "reconciled" for one charged again."""
    rows = connection.execute(select(entries).order_by(entries.c.seq)).mappings().all()
    hashes, states = {row["seq"]: row["hash"] for row in rows}, {}
    for row in rows:
        if row["kind"] in STATES:
            states[hashes[row["reservation"] or row["seq"]]] = STATES[row["kind"]]
    reconciled = (
        lost_hashes(row["facts"]) for row in rows if row["kind"] == "reconcile" and row["request"] is not None
    )
    return states | {digest: "reconciled" for (digest,) in reconciled}


def known_hashes(connection: Connection) -> set[str]:
    """Return the hashes of all entries, and of lost ones that were reconciled."""
    hashes = set(connection.execute(select(entries.c.hash)).scalars())
    for facts in connection.execute(select(entries.c.facts).where(entries.c.kind == "reconcile")).scalars():
        hashes.update(lost_hashes(facts))
    return hashes


def unknown_hashes(connection: Connection, hashes: Collection[str]) -> set[str]:
    """Return the hashes that belong to no entry, nor to a lost one that was reconciled."""
    return set(hashes).difference(
        connection.execute(select(entries.c.hash).where(entries.c.hash.in_(hashes))).scalars()
    )


def newest_release(connection: Connection, request: str) -> str | None:
    """Return the text of a request's newest release, checked against its entry, or None."""
    return _newest(connection, releases.c.request == request, entries.c.request == request)


def newest_answer(connection: Connection, request: str) -> int | None:
    """Return the reserve entry that ended with a request's newest release, or None."""
    query = select(entries.c.reservation).join(releases, entries.c.seq == releases.c.entry)
    return connection.execute(
        query.where(releases.c.request == request).order_by(entries.c.seq.desc()).limit(1)
    ).scalar()


def release_of(connection: Connection, entry: int) -> str | None:
    """Return the text of the release that a reservation ended with, checked against its entry, or None."""
    return _newest(connection, entries.c.reservation == entry)


def _newest(connection: Connection, *where: ColumnElement[bool]) -> str | None:
    row = connection.execute(
        select(releases.c.entry, releases.c.text, entries.c.facts)
        .join(entries, entries.c.seq == releases.c.entry)
        .where(*where)
        .order_by(releases.c.entry.desc())
        .limit(1)
    ).one_or_none()
    if row is None:
        return None
    if json.loads(row.facts).get("release_sha256") != text_sha256(row.text):
        raise VerificationError(
            f"A stored release must be the one that was recorded, but that of entry {row.entry} is not. "
            "Check the ledger with `discreet budget verify`."
        )
    return str(row.text)


def _account(row: RowMapping) -> Account:
    return Account(
        dataset=row["dataset"],
        unit=row["unit"],
        neighboring=_relation(row),
        n_releases=row["n_releases"],
        **_sums(row),
    )


def _allotment(row: RowMapping) -> Allotment:
    return Allotment(dataset=row["dataset"], project=row["project"], **_sums(row))


def _sums(row: RowMapping) -> dict[str, Any]:
    epsilon_spent, delta_spent = row["epsilon_spent"], row["delta_spent"]
    if epsilon_spent > row["epsilon_cap"] or delta_spent > row["delta_cap"]:
        # Under zCDP the sums may outgrow the cap, which is then the better bound, as a pair.
        epsilon_spent, delta_spent = row["epsilon_cap"], row["delta_cap"]
    return {
        "epsilon_cap": row["epsilon_cap"] * EPSILON_GRAIN,
        "epsilon_spent": epsilon_spent * EPSILON_GRAIN,
        "delta_cap": row["delta_cap"] * DELTA_GRAIN,
        "delta_spent": delta_spent * DELTA_GRAIN,
        "accounting": Accounting(row["accounting"]),
        "rho_cap": row["rho_cap"] * RHO_GRAIN,
        "rho_spent": row["rho_spent"] * RHO_GRAIN,
        "failure_cap": row["failure_cap"] * DELTA_GRAIN,
        "failure_spent": row["failure_spent"] * DELTA_GRAIN,
    }


def _entry(row: RowMapping, state: str | None) -> Entry:
    return Entry(
        **{name: row[name] for name in ("seq", "time", "kind", "dataset", "project", "request", "reservation", "unit")},
        neighboring=_relation(row),
        epsilon=_decimal(row["epsilon"], EPSILON_GRAIN),
        delta=_decimal(row["delta"], DELTA_GRAIN),
        rho=None if row["rho"] is None else _decimal(row["rho"], RHO_GRAIN),
        failure=None if row["failure"] is None else _decimal(row["failure"], DELTA_GRAIN),
        facts=json.loads(row["facts"]),
        hash=row["hash"],
        state=state if row["kind"] == "reserve" else None,
    )


def _relation(row: RowMapping) -> NeighboringRelation | None:
    return None if row["neighboring"] is None else NeighboringRelation(row["neighboring"])


def _decimal(grains: int, grain: Fraction) -> Decimal:
    return as_decimal(grains * grain)
