"""Outlooks of requests: one process for all, a fair share for each person, answers remembered."""

import json
import os
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from discreet import errors, workflow
from discreet.errors import DiscreetError, InvalidParameterError
from discreet.release import canonical_sha256
from discreet_service.logs import log
from discreet_service.simulation import child, quick
from discreet_service.simulation.run import ONE_THREAD, ResourceLimits
from discreet_service.simulation.turns import Turns

CPU_S, CLOCK_S = 3, 2.5
"""The most that one simulation may take: it draws no table after 1.4 seconds, and this ends one that is stuck."""
MOST_WAITING, MOST_WAITING_EACH = 16, 2
_START_S = 30.0
"""What waiting for a turn may take: the first one waits until the process has loaded everything."""
_MOST_ANSWERS = 256

Gone = Callable[[], bool]


class Outlooks:
    """The outlooks of one server."""

    def __init__(self, limits: ResourceLimits) -> None:
        self._limits = {"memory_mb": limits.memory_mb, "cpu_s": CPU_S, "clock_s": CLOCK_S}
        self._turns = Turns(1, MOST_WAITING, MOST_WAITING_EACH)
        self._answers: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the process where there is none, and do not wait for it."""
        with self._lock:
            self._running()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def outlook(self, who: str, question: dict[str, Any], is_gone: Gone) -> workflow.Outlook:
        """Return what a request can be expected to achieve, from public facts alone, or the remembered answer."""
        key = canonical_sha256(question)
        answer = self._answers.get(key)
        if answer is None:
            with self._turns.turn(who, _START_S, is_gone):
                answer = self._asked(question)
                if answer.get("error") == child.TIME:  # then what follows without a simulation
                    answer = self._asked(question | {"n_tables": 0})
                answer = _value(answer)
            self._answers[key] = answer
            while len(self._answers) > _MOST_ANSWERS:
                self._answers.popitem(last=False)
        return workflow.Outlook(**{**answer, "rows": tuple(answer["rows"]), "chance": tuple(answer["chance"])})

    def _asked(self, question: dict[str, Any]) -> dict[str, Any]:
        """Ask the process; one that has ended is started anew with the next question."""
        task = json.dumps({"question": question, "limits": self._limits}).encode()
        with self._lock:
            process = self._running()
        if process.stdin is None or process.stdout is None:
            return {"error": "", "text": ""}
        with suppress(BrokenPipeError, ValueError):
            process.stdin.write(task + b"\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            if isinstance(answer, dict):
                return answer
        return {"error": "", "text": ""}

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(  # noqa: S603 - ours
                [sys.executable, "-m", quick.__name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **ONE_THREAD},
                start_new_session=True,
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what was written to a process that has ended
                    if pipe is not None:
                        pipe.close()
            process.wait()


def _value(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer's value, or raise its error."""
    if "value" in answer:
        value: dict[str, Any] = answer["value"]
        return value
    kind, text = str(answer["error"]), str(answer["text"])
    if kind in (child.TIME, child.MEMORY):
        raise InvalidParameterError("This request takes too much time or memory to simulate. Name fewer columns.")
    cls = getattr(errors, kind, None)
    if isinstance(cls, type) and issubclass(cls, DiscreetError) and cls is not errors.BudgetExceededError:
        raise cls(text)
    log("error", kind="outlook")
    raise DiscreetError("A simulation ended without an answer. Try again; if it ends again, tell who runs the service.")
