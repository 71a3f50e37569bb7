"""The chain of entries: each one's hash covers its row and, through the hash before it, all earlier rows."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, insert, select, update

from discreet.ledger.schema import entries, head
from discreet.mechanisms.rng import token
from discreet.release import canonical_sha256

GENESIS = "0" * 64
"""What the first entry follows."""

STATES = {
    "reserve": "reserved",
    "touch": "touched",
    "release": "released",
    "lost": "lost",
    "cancel": "cancelled",
}
"""The state that a reservation has after an entry of each kind."""

BEFORE = {"touch": "reserve", "cancel": "reserve", "release": "touch", "lost": "touch"}
"""The kind of entry that each step must follow."""

_LATER = ("rho", "failure", "project")
"""Columns that entries of the first schema do not have: they are hashed where they hold something."""

_HASHED = tuple(column.name for column in entries.columns if column.name not in ("hash", *_LATER))


def entry_hash(row: Mapping[Any, Any]) -> str:
    """Return the hash of an entry: the SHA-256 of its row as canonical JSON, in hexadecimal digits."""
    later = [name for name in _LATER if row[name] is not None]
    return canonical_sha256({name: row[name] for name in (*_HASHED, *later)})


def facts_text(facts: Mapping[str, Any]) -> str:
    """Return the text of facts in an entry and in its hash: JSON in ASCII, keys sorted."""
    return json.dumps(dict(facts), sort_keys=True, separators=(",", ":"), allow_nan=False)


def lost_hashes(facts: str) -> list[str]:
    """Return the hashes that a reconcile entry stands for."""
    content = json.loads(facts)
    return [content["lost_hash"]] if "lost_hash" in content else [entry["hash"] for entry in content["lost"]]


def text_sha256(text: str) -> str:
    """Return the SHA-256 by which an entry records a release, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def time_text(age: timedelta = timedelta()) -> str:
    """Return a time as entries hold it: UTC in ISO 8601, to the second."""
    return (datetime.now(UTC) - age).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def read_head(connection: Connection) -> tuple[int, str]:
    """Return place and hash of the last entry; another writer may move the end on meanwhile."""
    row = connection.execute(select(head.c.seq, head.c.hash)).one()
    return row.seq, row.hash


def lock(connection: Connection) -> tuple[int, str]:
    """Wait for the end of the chain, hold it until the transaction ends, and return its place and hash."""
    row = connection.execute(select(head.c.seq, head.c.hash).with_for_update()).one()
    return row.seq, row.hash


def append(connection: Connection, **values: Any) -> tuple[int, str]:
    """Add one entry to the end of the chain, and return its place and hash."""
    last, previous = lock(connection)
    row = dict.fromkeys((*_HASHED, *_LATER)) | {"epsilon": 0, "delta": 0, "facts": "{}", "time": time_text()} | values
    if not last and row["facts"] == "{}":
        # Two ledgers that begin alike in the same second are not copies of one.
        row["facts"] = facts_text({"ledger": token()})
    row |= {"seq": last + 1, "prev": previous}
    digest = entry_hash(row)
    connection.execute(insert(entries).values(row | {"hash": digest}))
    connection.execute(update(head).values(seq=last + 1, hash=digest))
    return last + 1, digest
