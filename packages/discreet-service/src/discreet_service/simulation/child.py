"""One simulation in a process of its own, which may take no more time and memory than its limits say.

Run as ``python -m discreet_service.simulation.child`` with the question as JSON in the first line of standard input;
the answer is JSON on standard output. It ends when standard input does: when whoever asked is gone.
"""

import json
import os
import resource
import sys
import threading
from dataclasses import asdict
from typing import Any

from discreet import workflow
from discreet.errors import DiscreetError, InvalidParameterError

MEMORY, TIME = "memory", "time"
"""Kinds of failure, beside the names of errors."""
_NICE = 10
"""Calls of milliseconds come first."""


def question_of(fields: dict[str, Any]) -> workflow.Question:
    """Return a question from its JSON."""
    listed = {name: tuple(fields[name]) for name in ("epsilons", "n_rows", "methods")}
    candidates = None if fields["candidates"] is None else tuple(fields["candidates"])
    metadata = workflow.Metadata.from_value(fields["metadata"])
    return workflow.Question(**{**fields, **listed, "metadata": metadata, "candidates": candidates})


def answer(fields: dict[str, Any]) -> dict[str, Any]:
    """Simulate, and return `value`, or `error` and `text`: all of it from public facts."""
    try:
        return {"value": asdict(workflow.expect(question_of(fields)))}
    except DiscreetError as error:
        return {"error": type(error).__name__, "text": str(error)}
    except (MemoryError, ImportError, OSError, SystemError):  # a library that gets no memory says so in its own way
        return {"error": MEMORY, "text": ""}
    except ArithmeticError:
        text = "The numbers of a question must lie where they can be computed with, but some do not. Ask for others."
        return {"error": InvalidParameterError.__name__, "text": text}


def limit(memory_mb: int, cpu_s: int) -> None:
    """Keep this process within so much memory and time of a processor."""
    os.nice(_NICE)
    for kind, most in ((resource.RLIMIT_AS, memory_mb << 20), (resource.RLIMIT_CPU, cpu_s), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(kind, (most, most))


def _exit_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


def main() -> None:
    """Read the question, answer it."""
    task = json.loads(sys.stdin.readline())
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    limit(**task["limits"])
    print(json.dumps(answer(task["question"])))


if __name__ == "__main__":
    main()
