"""The queue: the requests' rows themselves. A worker takes one up, and settles those of workers that died."""

import time
from contextlib import suppress

from sqlalchemy import Connection, select

from discreet.errors import BudgetError, ConflictError, NotFoundError
from discreet_service.clock import instant_of, now, seconds_to, seconds_until, slot_end
from discreet_service.context import Context
from discreet_service.store import audit, datasets, requests
from discreet_service.store.requests import Request
from discreet_service.store.schema import requests as rows
from discreet_service.use_cases.requests import charge_of
from discreet_service.worker import codes
from discreet_service.worker.parts import reference_of

MOST_ATTEMPTS = 3
GRACE_S = 20.0
"""Seconds after a slot's end until its worker is taken for dead; a slow one then may record nothing."""


def take(context: Context) -> Request | None:
    """Take up the oldest approved request, or return None; `begin` sets its slot anew once the work can start.

    On PostgreSQL rows that another worker is taking are passed over (SKIP LOCKED); SQLite has one writer at a time.
    """
    with context.database.write() as connection:
        query = select(rows.c.id, rows.c.dataset, rows.c.version, rows.c.attempts)
        query = query.where(rows.c.state == requests.APPROVED).order_by(rows.c.seq).limit(1)
        row = connection.execute(query.with_for_update(skip_locked=True)).one_or_none()
        if row is None:
            return None
        end = slot_end(_slot_s(context, connection, row.dataset, row.version), context.settings.tick_s)
        requests.step(connection, row.id, requests.APPROVED, requests.RUNNING, slot_end=end, attempts=row.attempts + 1)
        return requests.find(connection, row.id)


def begin(context: Context, request: Request) -> Request:
    """Begin the slot of a request that was taken up: its clock starts now."""
    with context.database.write() as connection:
        end = slot_end(_slot_s(context, connection, request.dataset, request.version), context.settings.tick_s)
        requests.step(
            connection, request.id, requests.RUNNING, requests.RUNNING, in_slot=request.slot_end, slot_end=end
        )
        return requests.find(connection, request.id)


def _slot_s(context: Context, connection: Connection, dataset: str, version: int) -> int:
    try:
        return datasets.find(connection, dataset, version).slot_s
    except NotFoundError:  # the row was tampered with: the job refuses it, and the queue goes on
        return context.settings.slot_s


def settle(context: Context, request: Request, code: str = codes.NOT_STARTED, detail: str = "") -> None:
    """End a running request whose job is over, by what the ledger says of it.

    RESERVED: no row was read, so the cost is given back. TOUCHED: it stays charged, and there will be no release: a job
    that still ran could not record one. RELEASED or LOST: the row was changed with it, unless somebody recovered the
    ledger by hand. Of parts what was not drawn is given back; once one was drawn, rows were opened.
    """
    with suppress(BudgetError, ConflictError):  # the job took its step meanwhile, or it is settled later
        entry = _reserved_for(context, request.id) if code == codes.CHANGED else _charge_of(context, request)
        state = "none" if entry is None else context.ledger.state(entry)
        drawn = {} if code == codes.CHANGED else _parts_drawn(context, request)
        final_code = codes.NO_RESULT if drawn or state in ("touched", "lost") else code
        for part in (part for part, part_state in drawn.items() if part_state == "touched"):
            context.ledger.reservation(part).lose()
        ended = str(request.slot_end) if seconds_until(str(request.slot_end)) > -GRACE_S else now()

        def end(connection: Connection) -> None:
            requests.fail(connection, request, final_code, detail, ended)
            audit.record_at(connection, ended, "worker", "fail", request.id, {"code": final_code})

        if entry is None or state not in ("touched", "reserved"):
            with context.database.write() as connection:
                end(connection)
        else:
            reservation = context.ledger.reservation(entry)
            (reservation.lose if state == "touched" else reservation.cancel)(within=end)


def _reserved_for(context: Context, id_: str) -> int | None:
    """Return the reservation of a request whose own row is not to be believed."""
    entries = (
        entry for entry in context.ledger.history() if entry.kind == "reserve" and entry.facts.get("reference") == id_
    )
    return max((entry.seq for entry in entries), default=None)  # of parts the one that holds what is left


def _parts_drawn(context: Context, request: Request) -> dict[int, str]:
    """Return the entries of the parts that were drawn for a request, and their states."""
    if request.entry is None or context.ledger.state(request.entry) != "cancelled":
        return {}
    history, reference = context.ledger.history(request.dataset), reference_of(request)
    return {entry.seq: str(entry.state) for entry in history if entry.facts.get("reference") == reference}


def _charge_of(context: Context, request: Request) -> int | None:
    return None if request.entry is None else charge_of(context, request)


class Watch:
    """What a worker knows of the slots of others, whatever the machine's clock is set to meanwhile."""

    def __init__(self) -> None:
        self._last_look_s: float | None = None
        self._ends: dict[tuple[str, str], float] = {}

    def expired(self, context: Context) -> list[Request]:
        """Return the requests that run though their slots are over, by more than a slow worker could need."""
        now_s = time.monotonic()
        query = select(rows.c.id, rows.c.slot_end, rows.c.dataset, rows.c.version)
        ends: dict[tuple[str, str], float] = {}
        with context.database.read() as connection:
            for row in connection.execute(query.where(rows.c.state == requests.RUNNING)).all():
                slot = (row.id, str(row.slot_end))
                ends[slot] = self._ends.get(slot) or instant_of(slot[1])
                if slot not in self._ends and self._last_look_s is not None:
                    # It began after the last look, so it ends no sooner than a slot after that.
                    length_s = _slot_s(context, connection, row.dataset, row.version)
                    ends[slot] = max(ends[slot], self._last_look_s + length_s)
            over = [id_ for (id_, _), end in ends.items() if seconds_to(end) < -GRACE_S]
            expired = [requests.find(connection, id_) for id_ in over]
        self._last_look_s, self._ends = now_s, ends
        return expired


def recover(context: Context, watch: Watch | None = None) -> None:
    """Put right what workers that died have left: requests that run after the end of their slots.

    One whose rows were not opened is queued again, a few times: its cost is still reserved, and no noise was drawn but
    that of parts which are recorded.
    """
    for request in (watch or Watch()).expired(context):
        if not _requeue(context, request):
            settle(context, request)


def _requeue(context: Context, request: Request) -> bool:
    with suppress(BudgetError, ConflictError):  # an entry that is not there; or another worker was quicker
        entry = _charge_of(context, request)
        if entry is None or context.ledger.state(entry) != "reserved" or request.attempts >= MOST_ATTEMPTS:
            return False
        if not {"touched", "lost"}.isdisjoint(_parts_drawn(context, request).values()):
            return False
        with context.database.write() as connection:
            slot = request.slot_end
            requests.step(connection, request.id, requests.RUNNING, requests.APPROVED, in_slot=slot, slot_end=None)
    return True
