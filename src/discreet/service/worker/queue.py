"""The queue: the requests' rows themselves. A worker takes one up, and puts right what another left behind."""

from contextlib import suppress

from sqlalchemy import Connection, select

from discreet.errors import BudgetError, ConflictError, NotFoundError
from discreet.service.clock import now, seconds_until, slot_end
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

    Running, in a slot that `begin` sets anew once the work can start; None when there is none.

    On PostgreSQL rows that another worker is taking are passed over (SKIP LOCKED); SQLite has one writer at a time.
    """
    with context.database.write() as connection:
        query = select(rows.c.id, rows.c.dataset, rows.c.version, rows.c.attempts)
        query = query.where(rows.c.state == requests.APPROVED).order_by(rows.c.seq).limit(1)
        row = connection.execute(query.with_for_update(skip_locked=True)).one_or_none()
        if row is None:
            return None
        end = slot_end(_length(context, connection, row.dataset, row.version), context.settings.tick_s)
        requests.step(connection, row.id, requests.APPROVED, requests.RUNNING, slot_end=end, attempts=row.attempts + 1)
        return requests.find(connection, row.id)


def begin(context: Context, taken: Request) -> Request:
    """Begin the slot of a request that was taken up: its clock starts now.

    In its slot.
    """
    with context.database.write() as connection:
        end = slot_end(_length(context, connection, taken.dataset, taken.version), context.settings.tick_s)
        requests.step(connection, taken.id, requests.RUNNING, requests.RUNNING, in_slot=taken.slot_end, slot_end=end)
        return requests.find(connection, taken.id)


def _length(context: Context, connection: Connection, dataset: str, version: int) -> int:
    try:
        return datasets.find(connection, dataset, version).slot_s
    except NotFoundError:  # the row was tampered with: the job refuses it, and the queue goes on
        return context.settings.slot_s


def settle(context: Context, taken: Request, code: str = codes.NOT_STARTED, detail: str = "") -> None:
    """End a running request whose job is over, by what the ledger says of it.

    RESERVED: no row was read, so the cost is given back. TOUCHED: it stays charged, and there will be no release: a job
    that still ran could not record one. RELEASED or LOST: the row was changed with it, unless somebody recovered the
    ledger by hand.
    """
    with suppress(BudgetError, ConflictError):  # the job took its step meanwhile, or it is settled later
        entry = _reserved_for(context, taken.id) if code == codes.CHANGED else taken.entry
        state = "none" if entry is None else context.ledger.state(entry)
        final = codes.NO_RESULT if state in ("touched", "lost") else code
        ended = str(taken.slot_end) if seconds_until(str(taken.slot_end)) > -GRACE_S else now()

        def end(connection: Connection) -> None:
            requests.fail(connection, taken, final, detail, ended)
            audit.note_at(connection, ended, "worker", "fail", taken.id, {"code": final})

        if entry is None or state not in ("touched", "reserved"):
            with context.database.write() as connection:
                end(connection)
        else:
            reservation = context.ledger.reservation(entry)
            (reservation.lose if state == "touched" else reservation.cancel)(within=end)


def _reserved_for(context: Context, id_: str) -> int | None:
    """Find what was reserved for a request whose own row is not to be believed."""
    found = (one for one in context.ledger.history() if one.kind == "reserve" and one.facts.get("reference") == id_)
    return next((one.seq for one in found), None)


def recover(context: Context) -> None:
    """Put right what workers that died have left: requests that run after the end of their slots.

    One whose rows were not opened is queued again, a few times: its cost is still reserved, and no noise was drawn.
    """
    with context.database.read() as connection:
        query = select(rows.c.id).where(rows.c.state == requests.RUNNING, rows.c.slot_end < now(-GRACE_S))
        stale = [requests.find(connection, id_) for id_ in connection.execute(query).scalars().all()]
    for found in stale:
        if not _queued_again(context, found):
            settle(context, found)


def _queued_again(context: Context, found: Request) -> bool:
    with suppress(BudgetError, ConflictError):  # an entry that is not there; or another worker was quicker
        if found.entry is None or context.ledger.state(found.entry) != "reserved" or found.attempts >= MOST_ATTEMPTS:
            return False
        with context.database.write() as connection:
            slot = found.slot_end
            requests.step(connection, found.id, requests.RUNNING, requests.APPROVED, in_slot=slot, slot_end=None)
    return True
