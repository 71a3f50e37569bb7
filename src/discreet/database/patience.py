"""Waiting for a lock: said once it lasts, and open to an interruption, as nothing is written yet."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SAY_AFTER_S = 2.0
"""How long a wait is silent, in seconds."""

LOG = logging.getLogger("discreet")
"""Without any settings, its warnings are lines on standard error."""

_STOP = "To stop, press Ctrl-C."


class _State(threading.local):
    is_waiting = False


_state = _State()


def is_waiting() -> bool:
    """Tell whether this thread waits for a lock, and so has written nothing of what it is about to write."""
    return _state.is_waiting


def say_awaited(what: str) -> None:
    """Say what is awaited, and how to stop."""
    LOG.warning("%s %s", what, _STOP)


class Wait:
    """A wait that looks again and again.

    Parameters
    ----------
    what : str
        A sentence that says what is awaited.
    at_most_s : float
        When to give up, in seconds.
    """

    def __init__(self, what: str, at_most_s: float) -> None:
        self._what, self._begun, self._at_most_s, self._is_said = what, time.monotonic(), at_most_s, False

    def goes_on(self) -> bool:
        """Tell whether to look once more; say what is awaited where it has lasted."""
        waited = time.monotonic() - self._begun
        if waited >= SAY_AFTER_S and not self._is_said:
            self._is_said = True
            say_awaited(self._what)
        return waited <= self._at_most_s


@contextmanager
def waiting(what: str | None = None) -> Iterator[None]:
    """Have a block wait for a lock and nothing else; where it does not look itself, a clock says what is awaited."""
    clock = None if what is None else threading.Timer(SAY_AFTER_S, say_awaited, [what])
    if clock is not None:
        clock.daemon = True
        clock.start()
    _state.is_waiting = True
    try:
        yield
    finally:
        _state.is_waiting = False
        if clock is not None:
            clock.cancel()
