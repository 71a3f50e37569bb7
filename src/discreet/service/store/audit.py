"""Who did what: a line for each deed, in the same transaction as the deed."""

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from discreet.service.clock import now
from discreet.service.store.schema import audit


@dataclass(frozen=True)
class Deed:
    """One line of the audit.

    Parameters
    ----------
    seq : int
        Its place.
    time : str
        When.
    actor : str
        Whose account; "worker" and "-" stand for the service itself and for nobody.
    action : str
        What was done, such as "approve".
    object : str
        To what.
    detail : dict
        Public facts.
    """

    seq: int
    time: str
    actor: str
    action: str
    object: str
    detail: dict[str, Any]


_MOST = 2000
"""Characters of a detail."""


def note(connection: Connection, actor: str, action: str, what: str, **detail: Any) -> None:
    """Add a line, as of now."""
    note_at(connection, now(), actor, action, what, detail)


def note_at(connection: Connection, time: str, actor: str, action: str, what: str, detail: dict[str, Any]) -> None:
    """Add a line, as of another time, such as the end of a slot."""
    text = json.dumps(detail, sort_keys=True)
    if len(text) > _MOST:
        text = json.dumps(dict.fromkeys(sorted(detail), "too long to keep"))
    values = {"time": time, "actor": actor[:100], "action": action, "object": what[:200], "detail": text}
    connection.execute(insert(audit).values(**values))


def page(connection: Connection, before: int | None, limit: int, actions: tuple[str, ...] | None = None) -> list[Deed]:
    """Return lines, the newest first.

    In the order of their places, falling.
    """
    query = select(audit).order_by(audit.c.seq.desc()).limit(limit)
    if before is not None:
        query = query.where(audit.c.seq < before)
    if actions is not None:
        query = query.where(audit.c.action.in_(actions))
    rows = connection.execute(query).mappings()
    return [Deed(**{**row, "detail": json.loads(row["detail"])}) for row in rows]
