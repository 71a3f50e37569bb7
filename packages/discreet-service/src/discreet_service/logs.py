"""The log: one JSON object a line, of listed fields alone. What is not listed cannot be written."""

import json
import logging
import sys
from typing import Any

from discreet_service.clock import now

FIELDS = frozenset(
    {"method", "route", "status", "actor", "request", "dataset", "state", "code", "kind", "worker", "url"}
)
"""All public: routes without their arguments, kinds of errors without their texts, no run time of a computation."""


def log(event: str, **fields: Any) -> None:
    """Write a line to standard error."""
    unlisted = fields.keys() - FIELDS
    if unlisted:
        raise KeyError(f"A log line must have listed fields alone, but {sorted(unlisted)} are not.")
    values = {name: value if isinstance(value, int) else str(value)[:200] for name, value in fields.items()}
    sys.stderr.write(json.dumps({"time": now(), "event": event, **values}) + "\n")


class _Waits(logging.Handler):
    """Writes that a lock is awaited as one of the log's own lines."""

    def emit(self, record: logging.LogRecord) -> None:
        log("wait", kind=record.levelname.lower())


def take_over() -> None:
    """Have what the core says of itself in this log, in the process of a server or worker."""
    core = logging.getLogger("discreet")
    core.handlers, core.propagate = [_Waits()], False
