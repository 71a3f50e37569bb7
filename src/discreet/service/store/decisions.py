"""What curators decided on requests: kept once, never changed."""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from discreet.service.store.schema import decisions


@dataclass(frozen=True)
class Decision:
    """What a curator decided on a request.

    Parameters
    ----------
    decision : str
        "approved" or "rejected".
    sha256 : str
        Of the exact text that it was decided on.
    by : str
        Who.
    comment : str
        Why.
    time : str
        When.
    seal : str
        Only a holder of the pepper can make it.
    """

    decision: str
    sha256: str
    by: str
    comment: str
    time: str
    seal: str


def add(connection: Connection, id_: str, decision: Decision) -> None:
    """Keep a decision."""
    connection.execute(insert(decisions).values(request=id_, **vars(decision)))


def find(connection: Connection, id_: str) -> Decision | None:
    """Return what was decided on a request."""
    row = connection.execute(select(decisions).where(decisions.c.request == id_)).mappings().one_or_none()
    return None if row is None else Decision(**{name: value for name, value in row.items() if name != "request"})
