"""One computation in a process of its own: the only code of the service that opens a private table.

Run as ``python -m discreet_service.worker.job`` with the job as JSON in the first line of standard input. It says two
things: a dot when it is ready, upon which the second line tells it when its slot ends, and a dot when the rows are done
with; its standard error, where anything could stand, is nowhere.
"""

import json
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from discreet import workflow
from discreet.errors import (
    BudgetError,
    ConflictError,
    DataMismatchError,
    DiscreetError,
    InvalidParameterError,
)
from discreet_service.access.digests import same_secret
from discreet_service.clock import seconds_until
from discreet_service.context import Context, open_context
from discreet_service.settings import Settings
from discreet_service.store import datasets, decisions, requests
from discreet_service.store.datasets import Dataset
from discreet_service.store.decisions import Decision
from discreet_service.store.requests import Request
from discreet_service.use_cases.decisions import seal_of
from discreet_service.use_cases.identity import check_servers, tables_at
from discreet_service.use_cases.priced_requests import price, private_source
from discreet_service.use_cases.requests import content_sha256
from discreet_service.worker import codes, parts
from discreet_service.worker.delivery import AtSlotEnd

LOADED = (workflow.open_table, workflow.check_table, workflow.fulfil)
"""Loaded now: the workflow loads what is used first when it is used, and a slot's time is for the rows."""

START_S = 120.0
"""The most that a job may take until it can start: to load the program, and to check request and seal."""


class SharedTableError(DiscreetError):
    """The table is not, or not surely, the data set's alone."""


Begin = Callable[[Request], Request]
"""Called when all but the table is ready; returns the request in the slot in which its rows may be read."""


def run(context: Context, id_: str, begin: Begin = lambda request: request) -> None:
    """Answer a request that a worker has taken up."""
    with context.database.read() as connection:
        request = requests.find(connection, id_)
        decision = decisions.find(connection, id_)
    if not _is_as_approved(context, request, decision):
        raise ConflictError(f"A request must be as it was approved, but id={id_} is not.")
    with context.database.read() as connection:
        dataset = datasets.find(connection, request.dataset, request.version)
    priced = price(context, dataset, request.content)
    if priced.digest != request.question:
        raise ConflictError(f"A request must mean what it meant when it was approved, but id={id_} does not.")
    if isinstance(priced, workflow.PartsRequest):
        priced.load()
    request = begin(request)
    _check_unshared(context, dataset)
    table = _open_table(context, priced, dataset.source)
    workflow.check_table(priced, table, charged=True)
    if isinstance(priced, workflow.PartsRequest):
        parts.buy(context, priced, table, request)
        return
    workflow.fulfil(priced, table, context.ledger.reservation(int(str(request.entry))), delivery=AtSlotEnd(request))


def _is_as_approved(context: Context, request: Request, decision: Decision | None) -> bool:
    if decision is None or content_sha256(request.content, request.version) != request.sha256:
        return False
    seal = seal_of(context, request, "approved", decision.by, request.entry)
    return (decision.decision, decision.sha256) == ("approved", request.sha256) and same_secret(decision.seal, seal)


def _check_unshared(context: Context, dataset: Dataset) -> None:
    """Refuse a table of which another data set has rows, by whatever name: what the server could not see, this can."""
    roots = context.settings.private
    for kind in ("data", "targets"):
        if dataset.source[kind] is not None:
            try:
                private_source(roots, dataset.source[kind])
            except InvalidParameterError:  # such as a link that stands there since
                raise SharedTableError from None
    with context.database.read() as connection:
        versions = [version for version in datasets.tables_taken(connection) if version.name != dataset.name]
    others = [table for version in versions for table in tables_at(roots, version.source)]
    for own in tables_at(roots, dataset.source):
        if any(own.shares(other) for other in others) or check_servers(own, others):
            raise SharedTableError


def _open_table(context: Context, priced: workflow.PricedRequest, source: dict[str, Any]) -> Any:
    private = context.settings.private
    data, table = private_source(private, source["data"])
    targets = (None, None) if source["targets"] is None else private_source(private, source["targets"])
    return workflow.open_table(data, priced.metadata, table, *targets)


def _limit_memory(memory_mb: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a dump would hold rows
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))


def _limit_clock(seconds: float) -> None:
    # By the system itself, as the worker may be dead: without a handler, SIGALRM ends the process.
    signal.setitimer(signal.ITIMER_REAL, max(0.001, seconds))


def _limit_slot(slot_end: str) -> None:
    seconds = max(0.001, seconds_until(slot_end))
    _limit_clock(seconds)
    most = int(time.process_time() + seconds * 64) + 60  # of all cores together; the worker watches the clock
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))


def _start_slot(request: Request) -> Request:
    """Tell the worker that the work can start, and wait for the end of the slot, which it tells in turn."""
    print(".", end="", flush=True)
    slot_end = sys.stdin.readline().strip()
    if not slot_end:
        raise BudgetError("A slot must be begun by a worker, but it is gone. Ask again.")
    _limit_slot(slot_end)
    return replace(request, slot_end=slot_end)


def main() -> int:
    """Read the job, do it, and return an exit code; 0 once the outcome is recorded, whatever it is."""
    job = json.loads(sys.stdin.readline())
    settings = Settings.model_validate(job["settings"])
    _limit_memory(settings.memory_mb)
    _limit_clock(START_S)
    try:
        with open_context(settings) as context:
            return outcome(context, job["request"], _start_slot)
    except DiscreetError:
        return codes.exit_of(codes.NOT_STARTED)


def outcome(context: Context, id_: str, begin: Begin = lambda request: request) -> int:
    """Answer a request, and return an exit code; 0 once the outcome is recorded, whatever it is."""
    try:
        run(context, id_, begin)
    except SharedTableError:
        return codes.exit_of(codes.SHARED)
    except DataMismatchError:
        return codes.exit_of(codes.DATA_MISMATCH)
    except ConflictError:
        return codes.exit_of(codes.CHANGED)
    except DiscreetError:
        return codes.exit_of(codes.NOT_STARTED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
