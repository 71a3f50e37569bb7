"""The queue: the requests' rows themselves. A worker takes one up, and puts right what another left behind."""

from contextlib import suppress

from sqlalchemy import Connection, select, update

from discreet.errors import BudgetError, ConflictError
from discreet.service.clock import now, slot_end
from discreet.service.context import Context
from discreet.service.store import audit, datasets, requests
from discreet.service.store.requests import Request
from discreet.service.store.schema import requests as rows
from discreet.service.worker import codes

MOST_ATTEMPTS = 3
GRACE_S = 20.0
"""After a slot's end, before its worker is taken for dead; a slow one then finds that it may record nothing."""


def take(context: Context) -> Request | None:
    """Take up the oldest approved request.

    Parameters
    ----------
    context : Context
        The service.

    Returns
    -------
    Request or None
        Running, its slot begun; None when there is none.

    Notes
    -----
    On PostgreSQL rows that another worker is taking are passed over (SKIP LOCKED); SQLite has one writer at a time.
    """
    with context.database.write() as connection:
        query = select(rows.c.id, rows.c.dataset, rows.c.version, rows.c.attempts)
        query = query.where(rows.c.state == requests.APPROVED).order_by(rows.c.seq).limit(1)
        row = connection.execute(query.with_for_update(skip_locked=True)).one_or_none()
        if row is None:
            return None
        length_s = datasets.find(connection, row.dataset, row.version).slot_s
        end = slot_end(length_s, context.settings.tick_s)
        requests.step(connection, row.id, requests.APPROVED, requests.RUNNING, slot_end=end, attempts=row.attempts + 1)
        return requests.find(connection, row.id)


def settle(context: Context, id_: str, code: str = codes.NOT_STARTED, detail: str = "") -> None:
    """End a running request whose job is over, by what the ledger says of it.

    Parameters
    ----------
    context : Context
        The service.
    id_ : str
        The request.
    code : str
        Why, where no row was read.
    detail : str
        For its curator.

    Notes
    -----
    RESERVED: no row was read, so the cost is given back. TOUCHED: it stays charged, and there will be no release: a job
    that still ran could not record one. RELEASED or LOST: the row was changed with it.
    """
    with context.database.read() as connection:
        found = requests.find(connection, id_)
    if found.state != requests.RUNNING or found.entry is None:
        return
    reservation = context.ledger.reservation(found.entry)
    touched = context.ledger.state(found.entry) == "touched"
    final = codes.NO_RESULT if touched else code

    def end(connection: Connection) -> None:
        requests.fail(connection, id_, requests.RUNNING, final, detail)
        audit.note(connection, "worker", "fail", id_, code=final)

    with suppress(BudgetError, ConflictError):  # the job took its step meanwhile: settled when its slot is over
        (reservation.lose if touched else reservation.cancel)(within=end)


def recover(context: Context) -> None:
    """Put right what workers that died have left: requests that run after the end of their slots.

    Parameters
    ----------
    context : Context
        The service.

    Notes
    -----
    One whose rows were not opened is queued again, a few times: its cost is still reserved, and no noise was drawn.
    """
    with context.database.read() as connection:
        query = select(rows.c.id).where(rows.c.state == requests.RUNNING, rows.c.slot_end < now(-GRACE_S))
        stale = list(connection.execute(query).scalars())
    for id_ in stale:
        if not _queued_again(context, id_):
            settle(context, id_)


def _queued_again(context: Context, id_: str) -> bool:
    with context.database.read() as connection:
        found = requests.find(connection, id_)
    if found.entry is None or context.ledger.state(found.entry) != "reserved" or found.attempts >= MOST_ATTEMPTS:
        return False
    with context.database.write() as connection:
        again = update(rows).where(
            rows.c.id == id_, rows.c.state == requests.RUNNING, rows.c.slot_end == found.slot_end
        )
        return connection.execute(again.values(state=requests.APPROVED, slot_end=None)).rowcount == 1
