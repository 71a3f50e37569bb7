"""A worker: takes up requests one after another, each in a process and a slot of its own."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from discreet.errors import DiscreetError
from discreet_service.clock import instant_of, seconds_to
from discreet_service.context import Context
from discreet_service.logs import log
from discreet_service.store.requests import Request
from discreet_service.worker import codes, job, queue

POLL_S = 0.5
REST_S = 2.0
"""Seconds between a slot's end and the next slot: a release takes a moment to record and a killed job none, and nobody
may see from the next request which of them it was."""
_MARGIN_S = 5.0
"""Seconds after the slot's end in which a job that was in time may record its outcome."""
_RENEW_S = queue.GRACE_S / 2
"""While a job starts, its slot begins anew this often: no other worker takes this one for dead."""


def work(context: Context, *, until: Callable[[], bool] = lambda: False, once: bool = False) -> None:
    """Answer requests."""
    watch = queue.Watch()
    while not until():
        request = None
        try:
            queue.recover(context, watch)
            request = queue.take(context)
            if request is not None:
                answer(context, request)
        except DiscreetError as error:  # such as a database that is being restarted
            log("waiting", kind=type(error).__name__)
        if request is not None:
            continue
        if once:
            return
        time.sleep(POLL_S)


def answer(context: Context, request: Request) -> None:
    """Have a request answered, and stay with it until its slot is well over, however the job ended."""
    log("running", request=request.id, dataset=request.dataset)
    try:
        request, end, code, detail = _run(context, request)
    except OSError as error:  # no memory or no processes left
        end = instant_of(str(request.slot_end))
        code, detail = codes.NOT_STARTED, f"The job could not be started: {type(error).__name__}."
    time.sleep(max(0.0, seconds_to(end)))
    queue.settle(context, request, code, detail)
    time.sleep(max(0.0, seconds_to(end) + REST_S))
    log("slot ended", request=request.id)


def _run(context: Context, request: Request) -> tuple[Request, float, str, str]:
    """Run a job, and return its request in its slot, the instant at which that ends, a code of failure and a detail."""
    with subprocess.Popen(
        [sys.executable, "-m", "discreet_service.worker.job"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the worker, which leaves when the slot is over
    ) as process:
        try:
            _send(process, json.dumps({"request": request.id, "settings": _settings(context)}))
            request, is_ready = _start_slot(context, process, request)
            end = instant_of(str(request.slot_end))
            if is_ready:
                _send(process, str(request.slot_end))
            is_done = is_ready and _read_byte(process, seconds_to(end)) is not None
            if is_done:
                process.wait(_MARGIN_S + max(0.0, seconds_to(end)))
        except subprocess.TimeoutExpired:
            is_done = False
        finally:
            process.kill()
    if not is_ready:
        late = f"The job was not ready within {job.START_S:g} s: the machine is too slow."
        return request, end, codes.NOT_STARTED, late
    if not is_done or process.returncode == -signal.SIGALRM:
        return request, end, codes.NOT_STARTED, "The slot was too short for the computation, or the machine too slow."
    ended = f"The job ended by signal {-process.returncode}." if process.returncode < 0 else ""
    return request, end, codes.code_of(process.returncode), ended


def _start_slot(context: Context, process: subprocess.Popen[bytes], request: Request) -> tuple[Request, bool]:
    """Begin the slot when the job is ready, which no row decides; return the request in it, and whether it is."""
    until = time.monotonic() + job.START_S
    message = None
    while message is None and time.monotonic() < until:
        message = _read_byte(process, min(_RENEW_S, until - time.monotonic()))
        request = queue.begin(context, request)
    return request, message is not None


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
