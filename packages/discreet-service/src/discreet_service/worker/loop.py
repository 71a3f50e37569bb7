"""A worker: takes up requests, each in a process of its own, one or several in a slot."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

from discreet.errors import DiscreetError, InvalidParameterError
from discreet_service.clock import seconds_until
from discreet_service.context import Context
from discreet_service.logs import log
from discreet_service.store.requests import Request
from discreet_service.worker import codes, job, queue

POLL_S = 0.5
REST_S = 2.0
"""Seconds between a slot's end and the next slot: a release takes a moment to record and a killed job none, and nobody
may see from the next request which of them it was."""
_REST_EACH_S = 0.2
"""More of it for each further request of a slot: their outcomes are recorded one after another."""
_MARGIN_S = 5.0
"""Seconds after the slot's end in which a job that was in time may record its outcome."""
_RENEW_S = queue.GRACE_S / 2
"""While a job starts, its slot begins anew this often: no other worker takes this one for dead."""


def work(context: Context, *, until: Callable[[], bool] = lambda: False, once: bool = False) -> None:
    """Answer requests."""
    _check_memory(context)
    while not until():
        batch: list[Request] = []
        try:
            queue.recover(context)
            batch = queue.take_several(context, context.settings.requests_per_slot)
            if batch:
                answer(context, batch)
        except DiscreetError as error:  # such as a database that is being restarted
            log("waiting", kind=type(error).__name__)
        if batch:
            continue
        if once:
            return
        time.sleep(POLL_S)


def _check_memory(context: Context) -> None:
    """Refuse several requests a slot where one that takes much memory could end another one's computation."""
    settings = context.settings
    machine_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    if settings.requests_per_slot > 1 and settings.requests_per_slot * settings.memory_mb > machine_mb:
        raise InvalidParameterError(
            f"requests_per_slot times memory_mb must fit the machine's memory of {machine_mb} MB, but "
            f"{settings.requests_per_slot} times {settings.memory_mb} does not. Lower one of them in the service file."
        )


@dataclass
class _Job:
    """A request, and the process that answers it, if it could be started."""

    request: Request
    process: subprocess.Popen[bytes] | None
    detail: str = ""
    is_ready: bool = False
    is_done: bool = False

    def failure(self) -> tuple[str, str]:
        """Return the code of failure that counts where there is no outcome, and a detail."""
        if self.process is None:
            return codes.NOT_STARTED, self.detail
        if not self.is_ready:
            return codes.NOT_STARTED, f"The job was not ready within {job.START_S:g} s: the machine is too slow."
        exit_ = self.process.returncode
        if not self.is_done or exit_ in (-signal.SIGALRM, -signal.SIGXCPU):
            return codes.NOT_STARTED, "The slot was too short for the computation, or the machine too slow."
        return codes.code_of(exit_), f"The job ended by signal {-exit_}." if exit_ < 0 else ""


def answer(context: Context, batch: Sequence[Request]) -> None:
    """Have requests answered, and stay with them until their slot is well over, however their jobs ended."""
    for request in batch:
        log("running", request=request.id, dataset=request.dataset)
    jobs = _run(context, batch)
    end = str(jobs[0].request.slot_end)
    _sleep_until(end, 0.0)
    for each in jobs:
        queue.settle(context, each.request, *each.failure())
    _sleep_until(end, REST_S + _REST_EACH_S * (len(jobs) - 1))
    for each in jobs:
        log("slot ended", request=each.request.id)


def _sleep_until(end: str, after_s: float) -> None:
    time.sleep(max(0.0, seconds_until(end) + after_s))


def _run(context: Context, batch: Sequence[Request]) -> list[_Job]:
    """Run jobs in one slot, to its end."""
    with ExitStack() as stack:
        jobs = [_begin(context, request, stack) for request in batch]
        _start_slot(context, jobs)
        end = str(jobs[0].request.slot_end)
        for each in jobs:
            if each.process is not None and each.is_ready:
                _send(each.process, end)
        for each in jobs:
            if each.process is not None and each.is_ready:
                each.is_done = _read_byte(each.process, seconds_until(end)) is not None
        for each in jobs:
            if each.process is not None and not each.is_done:
                each.process.kill()
        for each in jobs:
            if each.process is not None and each.is_done:
                _await_end(each, each.process, end)
    return jobs


def _begin(context: Context, request: Request, stack: ExitStack) -> _Job:
    """Start the process of a request; `stack` ends it."""
    try:
        process = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "discreet_service.worker.job"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the worker, which leaves when the slot is over
            )
        )
    except OSError as error:  # no memory or no processes left
        return _Job(request, None, f"The job could not be started: {type(error).__name__}.")
    stack.callback(process.kill)
    _send(process, json.dumps({"request": request.id, "settings": _settings(context)}))
    return _Job(request, process)


def _start_slot(context: Context, jobs: Sequence[_Job]) -> None:
    """Begin the one slot of all when all jobs are ready.

    No row decides when that is: none is opened before, so that no job's rows slow another one's start.
    """
    until, renewed = time.monotonic() + job.START_S, time.monotonic()
    while (waiting := [each for each in jobs if each.process is not None and not each.is_ready]) and (
        left_s := until - time.monotonic()
    ) > 0:
        _hear(waiting, min(_RENEW_S, left_s))
        if time.monotonic() - renewed >= _RENEW_S:
            _renew(context, jobs)
            renewed = time.monotonic()
    _renew(context, jobs)


def _renew(context: Context, jobs: Sequence[_Job]) -> None:
    for each, request in zip(jobs, queue.begin(context, [each.request for each in jobs]), strict=True):
        each.request = request


def _hear(jobs: Sequence[_Job], within_s: float) -> None:
    """Mark the jobs that say something, or have ended, as ready; return at the first or when the time is over."""
    job_of = {each.process.stdout: each for each in jobs if each.process is not None and each.process.stdout}
    for out in select.select(list(job_of), [], [], max(0.0, within_s))[0]:
        os.read(out.fileno(), 1)
        job_of[out].is_ready = True


def _await_end(each: _Job, process: subprocess.Popen[bytes], end: str) -> None:
    """Give a job that was in time the time to record its outcome."""
    try:
        process.wait(max(0.0, seconds_until(end) + _MARGIN_S))
    except subprocess.TimeoutExpired:
        each.is_done = False


def _read_byte(process: subprocess.Popen[bytes], within_s: float) -> bytes | None:
    """Return the next byte of the job, empty at its end; None when there is none in time."""
    out = process.stdout
    if out is None or not select.select([out.fileno()], [], [], max(0.0, within_s))[0]:
        return None
    return os.read(out.fileno(), 1)


def _send(process: subprocess.Popen[bytes], line: str) -> None:
    if process.stdin is not None:
        with suppress(BrokenPipeError):  # it ended before it read
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()


def _settings(context: Context) -> dict[str, Any]:
    values: dict[str, Any] = context.settings.model_dump(mode="json")
    values["pepper"] = context.settings.secret.decode()
    values["sign_on"] = None
    return values
