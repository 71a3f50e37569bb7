"""Data sets as they are declared: version by version, never changed."""

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, func, insert, select
from sqlalchemy.exc import IntegrityError

from discreet.errors import ConflictError, NotFoundError
from discreet_service.clock import now
from discreet_service.store.schema import datasets, requests


@dataclass(frozen=True)
class Dataset:
    """One version of a data set."""

    name: str  # its key in the ledger
    version: int  # from 1
    metadata: dict[str, Any]
    metadata_sha256: str
    source: dict[str, Any]  # where the table is, by the name of a folder: for curators and workers alone
    slot_s: int  # length of a request's slot
    by: str  # who declared it
    created: str

    @property
    def locator(self) -> str:
        """Where the table is, the same for whoever asks."""
        return "service:" + json.dumps(self.source, sort_keys=True)


_IS_NAMED = datasets.c.name == bindparam("name")
_FOUND = select(datasets).where(_IS_NAMED).order_by(datasets.c.version.desc()).limit(1)
_VERSION = _FOUND.where(datasets.c.version == bindparam("version"))
_IS_THERE = select(datasets.c.version).where(_IS_NAMED).limit(1)


def find(connection: Connection, name: str, version: int | None = None) -> Dataset:
    """Return a version of a data set, the newest by default."""
    query, values = (_FOUND, {}) if version is None else (_VERSION, {"version": version})
    row = connection.execute(query, {"name": name, **values}).mappings().one_or_none()
    if row is None:
        raise not_found(name)
    return _dataset(row)


def check_registered(connection: Connection, name: str) -> None:
    """Refuse the name of no data set. Cost: none that grows with its metadata."""
    if connection.execute(_IS_THERE, {"name": name}).one_or_none() is None:
        raise not_found(name)


def not_found(name: str) -> NotFoundError:
    """Return the error of a data set that is not there, or not shown."""
    return NotFoundError(f"There is no data set {name[:100]!r} that you may see. Choose one from the list.")


def newest(connection: Connection) -> list[Dataset]:
    """Return the newest version of every data set, by name."""
    last = select(datasets.c.name, func.max(datasets.c.version).label("version")).group_by(datasets.c.name).subquery()
    query = (
        select(datasets)
        .join(last, (last.c.name == datasets.c.name) & (last.c.version == datasets.c.version))
        .order_by(datasets.c.name)
    )
    return [_dataset(row) for row in connection.execute(query).mappings()]


def tables_taken(connection: Connection) -> list[Dataset]:
    """Return the versions whose tables no other data set may have: the newest of each, and all that were charged."""
    charged = select(requests.c.dataset, requests.c.version).where(requests.c.entry.is_not(None)).distinct()
    pairs = {(dataset.name, dataset.version) for dataset in newest(connection)} | {
        tuple(row) for row in connection.execute(charged)
    }
    rows = connection.execute(select(datasets)).mappings()
    return [_dataset(row) for row in rows if (row["name"], row["version"]) in pairs]


def add(
    connection: Connection,
    name: str,
    metadata: dict[str, Any],
    sha256: str,
    source: dict[str, Any],
    slot_s: int,
    by: str,
) -> Dataset:
    """Declare a data set, or a further version of it."""
    last = connection.execute(select(func.max(datasets.c.version)).where(datasets.c.name == name)).scalar()
    row = {
        "name": name,
        "version": (last or 0) + 1,
        "metadata": json.dumps(metadata),  # columns keep their order
        "metadata_sha256": sha256,
        "source": json.dumps(source, sort_keys=True),
        "slot_s": slot_s,
        "by": by,
        "created": now(),
    }
    try:
        connection.execute(insert(datasets).values(row))
    except IntegrityError:
        raise ConflictError(
            f"Versions must come one after another, but {name!r} got one meanwhile. Try again."
        ) from None
    return find(connection, name)


def _dataset(row: RowMapping) -> Dataset:
    texts = {name: json.loads(row[name]) for name in ("metadata", "source")}
    return Dataset(**{**row, **texts})
