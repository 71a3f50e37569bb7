"""What curators decided on requests: kept once, never changed."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, insert, select

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


_FOUND = select(decisions).where(decisions.c.request.in_(bindparam("ids", expanding=True)))


def find(connection: Connection, id_: str) -> Decision | None:
    """Return what was decided on a request."""
    return find_all(connection, [id_]).get(id_)


def find_all(connection: Connection, ids: list[str]) -> dict[str, Decision]:
    """Return what was decided on some requests, by their ids."""
    rows = connection.execute(_FOUND, {"ids": ids}).mappings()
    return {
        row["request"]: Decision(**{name: value for name, value in row.items() if name != "request"}) for row in rows
    }
