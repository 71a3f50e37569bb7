"""Simulations in processes of their own, which end when nobody waits for them any more."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from discreet import errors, workflow
from discreet.errors import ConflictError, DiscreetError, InvalidParameterError
from discreet.release import canonical_sha256
from discreet_service.logs import log
from discreet_service.simulation import child
from discreet_service.simulation.turns import Turns

AT_ONCE = 2
MOST_WAITING, MOST_WAITING_EACH = 16, 2
MOST_CELLS = 1 << 24
"""Rows times columns of a simulated table: more take minutes, whatever a service allows."""
_CLOCK_FACTOR = 2
"""Seconds of the clock for each second of the processor, which others share."""
_POLL_S = 0.05
_MOST_ANSWERS = 64
"""Answers in memory, of some 30 kilobytes each; all others are in the cache on disk."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
_ADVICE = (
    "Ask for fewer rows, candidates or epsilons (more rows only do better), or use `discreet plan` on your machine: it "
    "needs the metadata alone."
)

Gone = Callable[[], bool]


@dataclass(frozen=True)
class ResourceLimits:
    """What one simulation may take."""

    memory_mb: int  # of addresses; the program takes some 1,500 before it does anything
    cpu_s: int  # of a processor


class Simulations:
    """The simulations of one server, each within the same limits."""

    def __init__(self, limits: ResourceLimits) -> None:
        self._limits = limits
        self._turns = Turns(AT_ONCE, MOST_WAITING, MOST_WAITING_EACH)
        self._answers: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def expect(self, who: str, question: dict[str, Any], is_gone: Gone) -> workflow.Expectation:
        """Simulate how well selections do, from public facts alone, or return the remembered answer."""
        key = canonical_sha256(question)
        with self._lock:
            answer = self._answers.get(key)
        if answer is None:
            with self._turns.turn(who, _CLOCK_FACTOR * self._limits.cpu_s, is_gone):
                answer = _read(_simulate(question, self._limits, is_gone), self._limits)
            self._keep(key, answer)
        return workflow.Expectation.from_value(answer)

    def _keep(self, key: str, value: dict[str, Any]) -> None:
        with self._lock:
            self._answers[key] = value
            while len(self._answers) > _MOST_ANSWERS:
                self._answers.popitem(last=False)


def _simulate(question: dict[str, Any], limits: ResourceLimits, is_gone: Gone) -> dict[str, Any]:
    """Simulate in a process of its own, within the limits and while the caller waits."""
    until = time.monotonic() + _CLOCK_FACTOR * limits.cpu_s
    with tempfile.TemporaryFile() as out:  # a pipe would have to be emptied meanwhile
        process = subprocess.Popen(  # noqa: S603 - ours
            [sys.executable, "-m", child.__name__],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **ONE_THREAD},
            start_new_session=True,
        )
        with process:
            try:
                _send(process, {"question": question, "limits": vars(limits)})
                while process.poll() is None:
                    if is_gone():
                        raise ConflictError("A simulation must be waited for, but its caller has left.")
                    if time.monotonic() > until:
                        return {"error": child.TIME, "text": ""}
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(_POLL_S)
            finally:
                process.kill()
        out.seek(0)
        return _parse_answer(process.returncode, out.read())


def _send(process: subprocess.Popen[bytes], job: dict[str, Any]) -> None:
    """Send the question; the pipe stays open until the answer is there, as a sign of life."""
    if process.stdin is not None:
        with suppress(BrokenPipeError):  # it ended before it read
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()


def _parse_answer(code: int, output: bytes) -> dict[str, Any]:
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"error": child.TIME, "text": ""}
    with suppress(ValueError):
        answer = json.loads(output)
        if isinstance(answer, dict):
            return answer
    # A library that gets no memory may end the process as it likes.
    return {"error": child.MEMORY if code < 0 else "", "text": ""}


def _read(answer: dict[str, Any], limits: ResourceLimits) -> dict[str, Any]:
    if "value" in answer:
        value: dict[str, Any] = answer["value"]
        return value
    kind, text = str(answer["error"]), str(answer["text"])
    if kind in (child.TIME, child.MEMORY):
        most = f"{limits.cpu_s} s" if kind == child.TIME else f"{limits.memory_mb} MB"
        raise InvalidParameterError(f"A simulation may take {most} on this service, but this one takes more. {_ADVICE}")
    cls = getattr(errors, kind, None)
    if isinstance(cls, type) and issubclass(cls, DiscreetError) and cls is not errors.BudgetExceededError:
        raise cls(text)
    log("error", kind="simulation")
    raise DiscreetError("A simulation ended without an answer.")


def check_cells(n_rows: int, n_columns: int) -> None:
    """Refuse a table that no service can simulate in time, before anything is drawn."""
    if n_rows * n_columns > MOST_CELLS:
        raise InvalidParameterError(
            f"A simulated table may have {MOST_CELLS} cells on this service, so {MOST_CELLS // n_columns} rows of "
            f"{n_columns} columns, but n_rows={n_rows}. {_ADVICE}"
        )
