"""After a backup was put back: what was charged since is charged again."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import Connection

from discreet.accounting.neighbors import NeighboringRelation
from discreet.ledger import chain, postings, queries, refusals, rule
from discreet.ledger.charges import Charge
from discreet.ledger.costs import AMOUNTS, Amounts, accounting_of, numbers
from discreet.ledger.records import Account, Allotment
from discreet.ledger.store import Store
from discreet.ledger.witness import Line

Caps = Mapping[tuple[str, str | None], Amounts]


def reconcile(store: Store, connection: Connection, charges: Iterable[Charge], lines: Collection[Line]) -> None:
    """Charge again what is not in the chain, and name every other line that is not in it."""
    states, chain_hashes = queries.charge_states(connection), queries.known_hashes(connection)
    remembered = {charge.hash: charge for charge in charges if not charge.is_cancelled}.values()
    lost = [charge for charge in remembered if _is_lost(charge, states.get(charge.hash))]
    _check_fits(store, connection, lost, _caps(line for line in lines if line.hash not in chain_hashes))
    for charge in lost:
        _charge_again(store, connection, charge)
    for charge in remembered:
        if charge.is_touched and states.get(charge.hash) == "reserved":
            # Data were opened on its account, so it can no longer be given back.
            postings.step(connection, charge.seq, "touch")
    _record_unknown_lines(connection, lines)


def _is_lost(charge: Charge, state: str | None) -> bool:
    return state is None or (state == "cancelled" and charge.is_touched)


def _caps(lines: Iterable[Line]) -> Caps:
    """Return the newest cap or allotment of each data set and project."""
    grants = [line for line in lines if line.kind in ("grant", "allot")]
    return {(line.dataset, line.project): {name: getattr(line, name) for name in AMOUNTS} for line in grants}


def _check_fits(store: Store, connection: Connection, lost: Iterable[Charge], caps: Caps) -> None:
    """Refuse before anything is charged, with all that one data set or project needs in one command."""
    groups: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
    for charge in lost:
        dataset, project = charge.values["dataset"], charge.values["project"]
        for key in dict.fromkeys([(dataset, None), (dataset, project)]):
            groups.setdefault(key, []).append(charge.values)
    for (dataset, project), group in groups.items():
        cost = _sum(group)
        limit: Account | Allotment | None = queries.find_account(connection, dataset)
        if project is not None:
            limit = queries.find_allotment(connection, dataset, project)
        if limit is None or not _fits(limit, cost):
            raise refusals.lost(store, (dataset, project), limit, cost, caps.get((dataset, project)))


def _sum(group: Iterable[Mapping[str, Any]]) -> Amounts:
    is_basic = any(values["rho"] is None for values in group)
    sums: Amounts = {name: sum(values[name] or 0 for values in group) for name in AMOUNTS}
    return sums | {"rho": None, "failure": None} if is_basic else sums


def _fits(limit: Account | Allotment, cost: Amounts) -> bool:
    if limit.accounting is not accounting_of(cost):
        return False
    return all(rule.conditions(limit.accounting, vars(limit), numbers(cost)).values())


def _charge_again(store: Store, connection: Connection, charge: Charge) -> None:
    values = charge.values
    account = refusals.check_granted(store, queries.find_account(connection, values["dataset"]), values["dataset"])
    refusals.check_terms(account, values["unit"], NeighboringRelation(values["neighboring"]))
    postings.charge(store, connection, account, values)
    facts = chain.facts_text({"lost_seq": charge.seq, "lost_hash": charge.hash})
    chain.append(connection, kind="reconcile", **values, facts=facts)


def _record_unknown_lines(connection: Connection, lines: Iterable[Line]) -> None:
    """Record in the chain the witness's lines that it does not hold."""
    chain_hashes = queries.known_hashes(connection)
    unknown: dict[str, dict[str, Line]] = {}
    for line in lines:
        if line.hash not in chain_hashes:
            unknown.setdefault(line.dataset, {})[line.hash] = line
    for dataset, missing in unknown.items():
        named = [{"seq": line.seq, "hash": line.hash, "kind": line.kind} for line in missing.values()]
        chain.append(connection, kind="reconcile", dataset=dataset, facts=chain.facts_text({"lost": named}))
