"""The audit of a ledger: the chain's hashes, then everything that its entries add up to."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, RowMapping, select

from discreet.errors import VerificationError
from discreet.ledger import costs, rule
from discreet.ledger.chain import BEFORE, GENESIS, entry_hash, lost_hashes, text_sha256
from discreet.ledger.costs import AMOUNTS
from discreet.ledger.records import Accounting, Verification
from discreet.ledger.schema import accounts, allotments, entries, head, releases

_SUMS = ("accounting", *(f"{name}_{of}" for name in AMOUNTS for of in ("cap", "spent")))
_TERMS = ("unit", "neighboring")
_CHARGES = ("reserve", "reconcile")


@dataclass
class Replay:
    """What a ledger must hold, from its entries alone.

    Parameters
    ----------
    last : int
        Place of the last entry.
    hashes : list of str
        The genesis and the hash of every entry so far.
    lost : list of str
        Hashes of entries that reconcile entries stand for.
    accounts : dict
        Each data set's columns.
    allotments : dict
        Of each data set and project, its columns.
    reservations : dict
        Of each reserve entry, the kind of its latest step and its row.
    digests : dict
        Of each release entry, its request and the digest of its text.
    """

    last: int = 0
    hashes: list[str] = field(default_factory=lambda: [GENESIS])
    lost: list[str] = field(default_factory=list)
    accounts: dict[str, dict[str, Any]] = field(default_factory=dict)
    allotments: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    reservations: dict[int, tuple[str, RowMapping]] = field(default_factory=dict)
    digests: dict[int, tuple[str, str]] = field(default_factory=dict)


def audit(connection: Connection, heads: Iterable[str]) -> Verification:
    """Check a whole ledger, and return what was checked."""
    replay = Replay()
    try:
        for row in connection.execute(select(entries).order_by(entries.c.seq)).mappings():
            _check_link(replay, row)
            _apply(replay, row)
        _check_head(connection, replay)
        _check_accounts(connection, replay)
        _check_allotments(connection, replay)
        _check_releases(connection, replay)
    except (AttributeError, KeyError, TypeError, ValueError):
        # SQLite holds any type in any column, so a foreign hand can leave text where a number belongs.
        raise _misfit(f"a value after entry {replay.last} has another type than is written") from None
    _check_heads(replay, heads)
    return Verification(replay.last, len(replay.accounts), len(replay.digests), replay.hashes[-1])


def _misfit(problem: str) -> VerificationError:
    return VerificationError(
        f"The ledger must be as it was written, but {problem}. "
        "Spend nothing from it; keep this file, and put back the newest copy that verifies."
    )


def _check_link(replay: Replay, row: RowMapping) -> None:
    expected = replay.last + 1
    if row["seq"] != expected:
        raise _misfit(f"entry {expected} is missing")
    if not _hash_fits(row):
        raise _misfit(f"entry {expected} was changed: its hash does not fit its row")
    if row["prev"] != replay.hashes[-1]:
        raise _misfit(f"entry {expected} does not follow the entry before it: one of them was replaced")
    replay.last = expected
    replay.hashes.append(row["hash"])


def _hash_fits(row: RowMapping) -> bool:
    try:
        return bool(entry_hash(row) == row["hash"])
    except (TypeError, ValueError):
        return False


def _apply(replay: Replay, row: RowMapping) -> None:
    if row["kind"] == "reconcile":
        replay.lost += lost_hashes(row["facts"])
    if row["kind"] == "grant":
        _apply_grant(replay, row)
    elif row["kind"] == "reconcile" and row["request"] is None:
        if any(row[name] for name in AMOUNTS):
            raise _misfit(f"entry {row['seq']} charges without a request")
    elif row["dataset"] not in replay.accounts:
        raise _misfit(f"entry {row['seq']} spends from a data set that has no cap before it")
    elif row["kind"] == "allot":
        _apply_allotment(replay, row)
    elif row["kind"] in _CHARGES:
        replay.reservations[row["seq"]] = (row["kind"], row)
        _charge(replay, row)
    else:
        _apply_step(replay, row)


def _apply_grant(replay: Replay, row: RowMapping) -> None:
    account = replay.accounts.setdefault(row["dataset"], dict.fromkeys(_TERMS) | _zero_sums())
    if account["epsilon_spent"]:
        _check_accounting(account, row)
    _set_cap(account, row)
    _settle(account, row)


def _apply_allotment(replay: Replay, row: RowMapping) -> None:
    account = replay.accounts[row["dataset"]]
    _check_accounting(account, row)
    if any((row[name] or 0) > account[f"{name}_cap"] for name in ("epsilon", "delta")):
        raise _misfit(f"entry {row['seq']} allots more than the cap")
    allotment = replay.allotments.setdefault((row["dataset"], row["project"]), _zero_sums())
    _set_cap(allotment, row)
    _check_cap(allotment, row, "allotment")


def _zero_sums() -> dict[str, Any]:
    return dict.fromkeys(_SUMS) | {f"{name}_spent": 0 for name in AMOUNTS}


def _set_cap(sums: dict[str, Any], row: RowMapping) -> None:
    if row["rho"] is not None and not costs.follows(row):
        raise _misfit(f"entry {row['seq']} has a cap on rho that its epsilon and delta do not allow")
    sums |= {"accounting": costs.accounting_of(row).value} | {f"{name}_cap": row[name] or 0 for name in AMOUNTS}


def _apply_step(replay: Replay, row: RowMapping) -> None:
    kind, reserved = replay.reservations.get(row["reservation"], (None, None))
    if reserved is None or BEFORE.get(row["kind"]) != kind or not _same(row, reserved):
        raise _misfit(f"entry {row['seq']} ({row['kind']}) is no step that its reservation could take")
    refund = -1 if row["kind"] == "cancel" else 0
    if any((row[name] or 0) != refund * (reserved[name] or 0) for name in AMOUNTS):
        raise _misfit(f"entry {row['seq']} ({row['kind']}) does not give back what was reserved")
    replay.reservations[row["reservation"]] = (row["kind"], reserved)
    if row["kind"] == "release":
        replay.digests[row["seq"]] = (row["request"], json.loads(row["facts"])["release_sha256"])
    _charge(replay, row)


def _same(row: RowMapping, reserved: RowMapping) -> bool:
    return all(row[name] == reserved[name] for name in ("dataset", "project", "request"))


def _charge(replay: Replay, row: RowMapping) -> None:
    account = replay.accounts[row["dataset"]]
    _add(account, row)
    _settle(account, row)
    if row["project"] is None:
        return
    allotment = replay.allotments.get((row["dataset"], row["project"]))
    if allotment is None:
        raise _misfit(f"entry {row['seq']} spends from an allotment that was not made before it")
    _add(allotment, row)
    _check_cap(allotment, row, "allotment")


def _add(sums: dict[str, Any], row: RowMapping) -> None:
    if row["kind"] in _CHARGES:
        _check_accounting(sums, row)
    for name in AMOUNTS:
        sums[f"{name}_spent"] += row[name] or 0


def _check_accounting(account: dict[str, Any], row: RowMapping) -> None:
    if account["accounting"] != costs.accounting_of(row):
        raise _misfit(f"entry {row['seq']} adds up another amount than its data set")


def _settle(account: dict[str, Any], row: RowMapping) -> None:
    for name in _TERMS:
        if row[name] is not None and account[name] not in (None, row[name]):
            raise _misfit(f"entry {row['seq']} is under another {name} than its data set")
        account[name] = account[name] or row[name]
    _check_cap(account, row, "cap")


def _check_cap(sums: dict[str, Any], row: RowMapping, noun: str) -> None:
    if not all(rule.conditions(Accounting(sums["accounting"]), sums, rule.NO_COST).values()):
        raise _misfit(f"entry {row['seq']} spends more than the {noun}")


def _check_head(connection: Connection, replay: Replay) -> None:
    row = connection.execute(select(head.c.seq, head.c.hash)).one_or_none()
    if row is None or (row.seq, row.hash) != (replay.last, replay.hashes[-1]):
        raise _misfit(f"entries after entry {replay.last} are missing")


def _check_accounts(connection: Connection, replay: Replay) -> None:
    rows = {row["dataset"]: row for row in connection.execute(select(accounts)).mappings()}
    for name in sorted(rows.keys() | replay.accounts.keys()):
        if name not in rows or name not in replay.accounts:
            raise _misfit(f"data set {name!r} has an account without entries, or entries without an account")
        for column in (*_TERMS, *_SUMS):
            if rows[name][column] != replay.accounts[name][column]:
                raise _misfit(f"the account of data set {name!r} differs from its entries in {column}")


def _check_allotments(connection: Connection, replay: Replay) -> None:
    rows = {(row["dataset"], row["project"]): row for row in connection.execute(select(allotments)).mappings()}
    for key in sorted(rows.keys() | replay.allotments.keys()):
        row, replayed = rows.get(key), replay.allotments.get(key)
        if row is None or replayed is None or any(row[column] != replayed[column] for column in _SUMS):
            raise _misfit(f"the allotment of project {key[1]!r} of data set {key[0]!r} differs from its entries")


def _check_releases(connection: Connection, replay: Replay) -> None:
    rows = {row.entry: row for row in connection.execute(select(releases))}
    for seq in sorted(rows.keys() | replay.digests.keys()):
        if seq not in rows:
            raise _misfit(f"the release that entry {seq} recorded is missing")
        row = rows[seq]
        if replay.digests.get(seq) != (row.request, text_sha256(row.text)):
            raise _misfit(f"the release stored under entry {seq} is not the one that was recorded")


def _check_heads(replay: Replay, heads: Iterable[str]) -> None:
    chain_hashes = frozenset(replay.hashes) | frozenset(replay.lost)
    for value in heads:
        if value not in chain_hashes:
            raise VerificationError(
                f"The ledger's chain does not hold the release's head {value[:64]!r}. If the release was charged to "
                "another ledger, name that one with --ledger. If not, this ledger is an older copy: spend nothing from "
                "it, and put back the newest copy."
            )
