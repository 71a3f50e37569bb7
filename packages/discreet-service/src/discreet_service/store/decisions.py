"""What curators decided on requests: kept once, never changed."""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from discreet_service.store.schema import decisions


@dataclass(frozen=True)
class Decision:
    """What a curator decided on a request."""

    decision: str  # "approved" or "rejected"
    sha256: str  # of the exact text that it was decided on
    by: str  # who
    comment: str
    time: str
    seal: str  # only a holder of the pepper can make it


def add(connection: Connection, id_: str, decision: Decision) -> None:
    """Keep a decision."""
    connection.execute(insert(decisions).values(request=id_, **vars(decision)))


def find(connection: Connection, id_: str) -> Decision | None:
    """Return what was decided on a request."""
    row = connection.execute(select(decisions).where(decisions.c.request == id_)).mappings().one_or_none()
    return None if row is None else Decision(**{name: value for name, value in row.items() if name != "request"})
