"""Rate limits."""

import threading
import time
from collections import deque

from discreet.errors import TooManyRequestsError

_WINDOW_S = 60.0


class RateLimits:
    """Calls in any minute, of each account and from each address; each server process counts for itself."""

    def __init__(self, per_minute: int) -> None:
        self._most = per_minute
        self._times: dict[str, deque[float]] = {}
        self._next_sweep = time.monotonic() + _WINDOW_S
        self._lock = threading.Lock()

    def check(self, caller: str) -> None:
        """Count a call."""
        now = time.monotonic()
        with self._lock:
            self._forget(now)
            times = self._times.setdefault(caller, deque())
            while times and times[0] <= now - _WINDOW_S:
                times.popleft()
            if len(times) >= self._most:
                raise TooManyRequestsError(f"There may be {self._most} calls a minute. Try again in a minute.")
            times.append(now)

    def _forget(self, now: float) -> None:
        """Drop callers of long ago, once a minute: there may be many addresses."""
        if now < self._next_sweep:
            return
        self._next_sweep = now + _WINDOW_S
        self._times = {caller: times for caller, times in self._times.items() if times and times[-1] > now - _WINDOW_S}
