"""One computation in a process of its own: the only code of the service that opens a private table.

Run as ``python -m discreet.service.worker.job`` with the job as JSON on standard input. It says one thing, a dot when
the rows are done with; its standard error, where anything could stand, is nowhere.
"""

import json
import resource
import sys
import time
from pathlib import Path
from traceback import extract_tb
from typing import Any

from sqlalchemy import Connection

from discreet import workflow
from discreet.errors import ComputationFailedError, ConflictError, DataMismatchError, DiscreetError
from discreet.service.clock import now, seconds_until
from discreet.service.context import Context, open_context
from discreet.service.desk.decisions import seal_of
from discreet.service.desk.inquiries import inquire, located
from discreet.service.desk.requests import content_sha256
from discreet.service.settings import Settings
from discreet.service.store import audit, datasets, requests
from discreet.service.store.requests import Request
from discreet.service.worker import codes

WORKER = "worker"
"""The actor of what nobody does."""


class AtSlotEnd(workflow.Delivery):
    """An outcome is recorded when its slot ends, and the request's row changes with the ledger's.

    Parameters
    ----------
    request : Request
        What is answered.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._detail = ""

    def wait(self) -> None:
        """Sleep until the slot ends, so that no row decides when the outcome is recorded.

        Raises
        ------
        ComputationFailedError
            When it has ended before: the outcome is late, and its time would tell of the rows.
        """
        left_s = seconds_until(str(self._request.slot_end))
        if left_s < 0:
            self._detail = "The slot was too short for the computation, or the machine too slow."
            raise ComputationFailedError
        print(".", flush=True)  # for the worker, which stops what has not come here in time
        time.sleep(left_s)

    def released(self, connection: Connection) -> None:
        """Show the release with the transaction that records it."""
        requests.step(connection, self._request.id, requests.RUNNING, requests.RELEASED, ended=now())
        audit.note(connection, WORKER, "release", self._request.id)

    def lost(self, connection: Connection) -> None:
        """Show that there is none, whatever the cause."""
        requests.fail(connection, self._request.id, requests.RUNNING, codes.NO_RESULT, self._detail)
        audit.note(connection, WORKER, "fail", self._request.id, code=codes.NO_RESULT)

    def failed(self, error: BaseException) -> None:
        """Keep where it failed, without any text of the error."""
        self._detail = places_of(error)


def places_of(error: BaseException) -> str:
    """Return the kinds of an error and of its causes, and where in the code they arose.

    Parameters
    ----------
    error : BaseException
        Its text is not looked at: it could hold a cell.

    Returns
    -------
    str
        A line for each.
    """
    lines: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(lines) < 10:
        frames = [
            f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in extract_tb(seen.__traceback__)
        ]
        lines.append(f"{type(seen).__name__}: {' > '.join(frames[-8:])}")
        seen = seen.__cause__ or seen.__context__
    return "\n".join(lines)


def run(context: Context, id_: str) -> None:
    """Answer a request that a worker has taken up.

    Parameters
    ----------
    context : Context
        The service.
    id_ : str
        The request; it is running, and its cost is reserved.

    Raises
    ------
    DiscreetError
        When something does not fit before a row was read: the worker gives the cost back.
    """
    with context.database.read() as connection:
        found = requests.find(connection, id_)
        decision = requests.decision_on(connection, id_)
        dataset = datasets.find(connection, found.dataset, found.version)
    seal = None if decision is None else seal_of(context, found, "approved", found.sha256, decision.by)
    approved = decision is not None and decision.decision == "approved" and decision.seal == seal
    if not approved or content_sha256(found.content, found.version) != found.sha256 or found.entry is None:
        raise ConflictError(f"A request must be as it was approved, but id={id_} is not.")
    inquiry = inquire(context, dataset, found.content)
    if inquiry.digest != found.question:
        raise ConflictError(f"A request must mean what it meant when it was approved, but id={id_} does not.")
    table = _opened(context, inquiry, dataset.source)
    workflow.check_table(inquiry, table, charged=True)
    workflow.fulfil(inquiry, table, context.ledger.reservation(found.entry), delivery=AtSlotEnd(found))


def _opened(context: Context, inquiry: workflow.Inquiry, source: dict[str, Any]) -> Any:
    data, targets = source["data"], source["targets"]
    private = context.settings.private
    return workflow.open_table(
        located(private, data),
        inquiry.metadata,
        data["table"],
        None if targets is None else located(private, targets),
    )


def _limit(memory_mb: int, seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a dump would hold rows
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))
    most = int(seconds * 64) + 60  # of all cores together; the worker watches the clock
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))


def main() -> int:
    """Read the job, do it, and tell by an exit code how it ended before any row was read.

    Returns
    -------
    int
        As `codes.EXITS` says; 0 once the outcome is recorded, whatever it is.
    """
    job = json.load(sys.stdin)
    settings = Settings.model_validate(job["settings"])
    _limit(settings.memory_mb, job["seconds"])
    try:
        with open_context(settings) as context:
            run(context, job["request"])
    except DataMismatchError:
        return codes.exit_of(codes.DATA_MISMATCH)
    except ConflictError:
        return codes.exit_of(codes.CHANGED)
    except DiscreetError:
        return codes.exit_of(codes.NOT_STARTED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
