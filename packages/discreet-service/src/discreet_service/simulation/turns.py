"""A fair queue: few at once, one of each person, and next whoever had a turn longest ago."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from discreet.errors import ConflictError, TooManyRequestsError

_POLL_S = 0.1
"""How often a waiting call checks whether its caller is still there."""


@dataclass(frozen=True)
class _Waiting:
    who: str
    number: int


class Turns:
    """A small queue for work that takes a processor for a while.

    At most `at_once` run, each of another person; at most `most` calls wait, and `most_each` of one person.
    """

    def __init__(self, at_once: int, most: int, most_each: int) -> None:
        self._at_once, self._most, self._most_each = at_once, most, most_each
        self._changed = threading.Condition()
        self._numbers = itertools.count(1)
        self._waiting: list[_Waiting] = []
        self._running: set[str] = set()
        self._served: dict[str, int] = {}

    @contextmanager
    def turn(self, who: str, timeout_s: float, is_gone: Callable[[], bool]) -> Iterator[None]:
        """Wait for a turn, and hold it until the end of the block."""
        with self._changed:
            self._wait(who, time.monotonic() + timeout_s, is_gone)
        try:
            yield
        finally:
            with self._changed:
                self._running.discard(who)
                self._changed.notify_all()

    def _wait(self, who: str, until: float, is_gone: Callable[[], bool]) -> None:
        if len(self._waiting) >= self._most or sum(call.who == who for call in self._waiting) >= self._most_each:
            raise TooManyRequestsError(
                f"At most {self._most_each} simulations of one account, and {self._most} in all, may wait for their "
                "turn, and so many do. Ask again later, or use `discreet plan` on your machine."
            )
        own = _Waiting(who, next(self._numbers))
        self._waiting.append(own)
        try:
            while self._next() is not own:
                self._changed.wait(_POLL_S)
                if is_gone():
                    raise ConflictError("A simulation must be waited for, but its caller has left.")
                if time.monotonic() > until:
                    raise TooManyRequestsError(
                        "Simulations take turns, and those of others take long. Ask again later, or use `discreet "
                        "plan` on your machine."
                    )
            self._running.add(who)
            self._served[who] = next(self._numbers)
        finally:
            self._waiting.remove(own)
            self._changed.notify_all()

    def _next(self) -> _Waiting | None:
        """Return the call whose turn begins now, if one may begin."""
        ready = [call for call in self._waiting if call.who not in self._running]
        if not ready or len(self._running) >= self._at_once:
            return None
        # Least recently served first, then first come: one account cannot keep the others waiting.
        return min(ready, key=lambda call: (self._served.get(call.who, 0), call.number))
