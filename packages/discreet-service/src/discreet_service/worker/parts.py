"""A request of parts in one slot: each part has a share of the slot, and what they came to leaves when it ends.

The slot is cut at times that are fixed when it begins. A part is drawn, recorded and looked at in its own share, so the
ledger's times tell nothing of the rows; how many parts there are is a function of what was released.
"""

import signal
import time
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection

from discreet import workflow
from discreet.errors import BudgetError, BudgetExceededError, ComputationFailedError
from discreet.release import Release
from discreet.workflow.paid_terms import MOST_PARTS
from discreet_service.clock import instant_of, seconds_to
from discreet_service.context import Context
from discreet_service.store import audit, requests
from discreet_service.store.requests import Request
from discreet_service.worker.delivery import WORKER, AtSlotEnd


class AtShareEnd(AtSlotEnd):
    """Records a part when its share of the slot ends; the request stays as it is."""

    def __init__(self, request: Request, end: float) -> None:
        super().__init__(request)
        self._share_end = end

    def wait(self) -> None:
        """Sleep until the share ends."""
        left_s = seconds_to(self._share_end)
        if left_s < 0:
            self._is_late = True
            raise ComputationFailedError
        time.sleep(left_s)

    def released(self, connection: Connection) -> None:
        """Keep the part in the ledger alone."""

    def lost(self, connection: Connection) -> None:
        """Leave it to the worker to record the loss when the slot ends: until then a late part looks like any other."""
        self._is_late = True
        super().lost(connection)


def buy(context: Context, priced: workflow.PartsRequest, table: Any, request: Request) -> None:
    """Buy parts from the reserved ceiling until they are sure enough, and record them pooled when the slot ends."""
    buyer = priced.buyer()
    slot_end = instant_of(str(request.slot_end))
    for end in _ends(slot_end):
        method = buyer.next_part()
        if method is None:
            break
        release = _part(context, priced, priced.part(method), table, request, end)
        if release is None:
            break
        buyer.add(method, release)
    if not buyer.bought:
        raise BudgetError("A ceiling must pay for one part at least, but it does not. Ask again with a higher one.")
    _record(context, priced, buyer.pooled(), request, slot_end)


def reference_of(request: Request) -> str:
    """Return what the ledger's entry of a part calls the request."""
    return f"{request.id}/part"


def _ends(slot_end: float) -> tuple[float, ...]:
    """When each part's share of the slot ends; the last share is for what all parts came to."""
    share = seconds_to(slot_end) / (MOST_PARTS + 1)
    return tuple(slot_end - share * part for part in range(MOST_PARTS, 0, -1))


def _part(
    context: Context,
    priced: workflow.PartsRequest,
    part: workflow.PricedRequest,
    table: Any,
    request: Request,
    end: float,
) -> Release | None:
    """Return a part: recorded before, or drawn now; None where the ceiling holds no more."""
    stored = context.ledger.stored(part.digest)
    if stored is not None:
        return Release.from_json(stored)
    try:
        reservation = workflow.reserve(
            part, context.ledger, project=request.project, reference=reference_of(request), ceiling=priced.digest
        )
    except BudgetExceededError:  # an earlier worker died while it drew: that part is charged and told nothing
        return None
    return workflow.fulfil(part, table, reservation, delivery=AtShareEnd(request, end))


def _record(
    context: Context, priced: workflow.PartsRequest, release: Release, request: Request, slot_end: float
) -> None:
    """Give back what was not drawn, and show the pooled release, when the slot ends."""
    slot = str(request.slot_end)
    signal.setitimer(signal.ITIMER_REAL, 0)  # what the job's start has set
    with suppress(OSError):  # the worker may be dead
        print(".", flush=True)
    time.sleep(max(0.0, seconds_to(slot_end)))
    held = context.ledger.held(request.dataset, priced.digest)
    if held is None:
        raise BudgetError("A ceiling must stand until its parts are recorded, but it does not. Ask again.")

    def show(connection: Connection) -> None:
        # The three entries that record the pooled release are reserve, touch and release.
        entry = context.ledger.last_entry(connection) - 2
        requests.step(
            connection, request.id, requests.RUNNING, requests.RELEASED, in_slot=slot, ended=slot, entry=entry
        )
        audit.record_at(connection, slot, WORKER, "release", request.id, {})

    context.ledger.reservation(held).close(release.to_json(), within=show)
