"""Who did what: an entry for each action, in the same transaction."""

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from discreet_service.clock import now
from discreet_service.store.schema import audit


@dataclass(frozen=True)
class AuditEntry:
    """One entry of the audit."""

    seq: int  # its place
    time: str
    actor: str  # an account; "worker" and "-" stand for the service itself and for nobody
    action: str  # such as "approve"
    object: str  # what it was done to
    detail: dict[str, Any]  # public facts


_MOST = 2000
"""The most characters of a detail."""


def record(connection: Connection, actor: str, action: str, object_: str, **detail: Any) -> None:
    """Add an entry, as of now."""
    record_at(connection, now(), actor, action, object_, detail)


def record_at(connection: Connection, time: str, actor: str, action: str, object_: str, detail: dict[str, Any]) -> None:
    """Add an entry, as of another time, such as the end of a slot."""
    text = json.dumps(detail, sort_keys=True)
    if len(text) > _MOST:
        text = json.dumps(dict.fromkeys(sorted(detail), "too long to keep"))
    values = {"time": time, "actor": actor[:100], "action": action, "object": object_[:200], "detail": text}
    connection.execute(insert(audit).values(**values))


def page(
    connection: Connection, before: int | None, limit: int, actions: tuple[str, ...] | None = None
) -> list[AuditEntry]:
    """Return entries, the newest first."""
    query = select(audit).order_by(audit.c.seq.desc()).limit(limit)
    if before is not None:
        query = query.where(audit.c.seq < before)
    if actions is not None:
        query = query.where(audit.c.action.in_(actions))
    rows = connection.execute(query).mappings()
    return [AuditEntry(**{**row, "detail": json.loads(row["detail"])}) for row in rows]
