"""How a job hands an outcome over: at the end of its slot, whatever the rows are."""

import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from traceback import extract_tb

from sqlalchemy import Connection

from discreet import workflow
from discreet.errors import BudgetError, ComputationFailedError
from discreet_service.clock import instant_of, seconds_to
from discreet_service.store import audit, requests
from discreet_service.store.requests import Request
from discreet_service.worker import codes

WORKER = "worker"
"""The actor of the audit for what no person does."""


class AtSlotEnd(workflow.Delivery):
    """Records an outcome when the request's slot ends, and changes its row with the ledger's.

    When that is is settled now, before rows are opened: were the machine's clock set meanwhile, the time left would
    depend on whether the rows were done with before.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._slot_end = str(request.slot_end)
        self._end = instant_of(self._slot_end)
        self._detail = ""
        self._is_late = False

    def touched(self, connection: Connection) -> None:
        """Open the rows within the slot alone, and only while no other worker has taken the request up."""
        if seconds_to(self._end) < 0:
            raise BudgetError("Rows must be opened within the slot, but it is over. Ask again with a longer one.")
        requests.step(connection, self._request.id, requests.RUNNING, requests.RUNNING, in_slot=self._slot_end)

    def wait(self) -> None:
        """Sleep until the slot ends, so that no row decides when the outcome is recorded."""
        signal.setitimer(signal.ITIMER_REAL, 0)  # what `main` has set
        left_s = seconds_to(self._end)
        if left_s < 0:
            self._is_late = True
            raise ComputationFailedError
        with suppress(OSError):  # the worker may be dead: what came out is recorded all the same, and no sooner
            print(".", flush=True)  # for the worker, which stops what has not come here in time
        time.sleep(left_s)

    def released(self, connection: Connection) -> None:
        """Show the release with the transaction that records it."""
        slot, id_ = self._slot_end, self._request.id
        requests.step(connection, id_, requests.RUNNING, requests.RELEASED, in_slot=slot, ended=slot)
        audit.record_at(connection, slot, WORKER, "release", id_, {})

    def lost(self, connection: Connection) -> None:
        """Show that there is none, whatever the cause."""
        if self._is_late:
            raise BudgetError("An outcome must be recorded at the end of the slot, but that is past.")
        requests.fail(connection, self._request, codes.NO_RESULT, self._detail, self._slot_end)
        audit.record_at(connection, self._slot_end, WORKER, "fail", self._request.id, {"code": codes.NO_RESULT})

    def failed(self, error: BaseException) -> None:
        """Keep where it failed, without any text of the error."""
        self._detail = places_of(error)


def places_of(error: BaseException) -> str:
    """Return the kinds of an error and of its causes, and where in the code they arose, a line each."""
    lines: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(lines) < 10:
        frames = [
            f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in extract_tb(cause.__traceback__)
        ]
        lines.append(f"{_kind_of(cause)}: {' > '.join(frames[-8:])}")
        cause = cause.__cause__ or cause.__context__
    return "\n".join(lines)


def _kind_of(error: BaseException) -> str:
    """Return the name of a type of the code; one that was made at run time could be called after a cell."""
    kind = type(error)
    is_in_code = getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind
    return kind.__name__ if is_in_code else "Exception"
