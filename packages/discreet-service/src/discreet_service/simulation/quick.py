"""A process that has loaded what a simulation needs, and forks for each question: an answer takes about a second.

Run as ``python -m discreet_service.simulation.quick``. Each line of standard input is a question as JSON, each line of
standard output its answer, in order. A fork lives for one question, within limits of its own. It ends when standard
input does.
"""

import json
import os
import select
import signal
import sys
from dataclasses import asdict
from typing import Any

from discreet import workflow
from discreet.errors import DiscreetError, InvalidParameterError
from discreet_service.simulation.child import MEMORY, TIME, limit

_MOST_BYTES = 1 << 20
"""Of one answer."""


def answer(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the outlook of a request as `value`, or `error` and `text`: all of it from public facts."""
    fields = dict(fields)
    positional = [fields.pop(name) for name in ("method", "parameters", "target", "candidates")]
    try:
        return {
            "value": asdict(
                workflow.outlook(workflow.Metadata.from_value(fields.pop("metadata")), *positional, **fields)
            )
        }
    except DiscreetError as error:
        return {"error": type(error).__name__, "text": str(error)}
    except MemoryError:
        return {"error": MEMORY, "text": ""}
    except (ArithmeticError, ValueError):
        text = "With these numbers nothing can be simulated. Give usual ones, such as epsilon between 0.01 and 100."
        return {"error": InvalidParameterError.__name__, "text": text}


def _forked(task: dict[str, Any]) -> bytes:
    """Answer in a fork, and return its JSON; a fork that is ended or too slow has none."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            limit(task["limits"]["memory_mb"], task["limits"]["cpu_s"])
            with os.fdopen(writer, "wb") as out:
                out.write(json.dumps(answer(task["question"])).encode())
        finally:
            os._exit(0)  # nothing of the parent's is flushed or closed twice
    os.close(writer)
    try:
        return _read(reader, float(task["limits"]["clock_s"]))
    finally:
        os.close(reader)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _read(reader: int, seconds: float) -> bytes:
    """Return all that is written to a pipe, empty where that takes too long."""
    parts = list[bytes]()
    while sum(map(len, parts)) <= _MOST_BYTES and select.select([reader], [], [], seconds)[0]:
        part = os.read(reader, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return b""


def _load() -> None:
    """Load and compile what the usual requests need, once and for all forks."""
    bounds = {"type": "real", "lower": 0, "upper": 1, "source": "made up"}
    metadata = workflow.Metadata.from_value(
        {
            "schema": "discreet/metadata@1",
            "dataset": "made-up",
            "unit": "person",
            "neighboring": "replace_one",
            "n_rows": 50,
            "columns": dict.fromkeys(("a", "b", "c", "d"), bounds),
        }
    )
    usual = {"epsilon": 1.0}
    for method, parameters in (
        ("pcls", usual),
        ("moments", usual),
        ("decorrelated", usual),
        ("linear", usual),
        ("run", usual | {"delta": 1e-6}),
    ):
        workflow.outlook(metadata, method, parameters, "a", None, n_tables=2)


def main() -> None:
    """Answer questions until there are no more."""
    _load()
    for line in sys.stdin:
        text = _forked(json.loads(line)) or json.dumps({"error": TIME, "text": ""}).encode()
        sys.stdout.buffer.write(text + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
