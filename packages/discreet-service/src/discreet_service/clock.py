"""Times as the service keeps them: UTC texts to the millisecond, in the order of the times."""

import math
import time as clocks
from datetime import UTC, datetime, timedelta


def now(after_s: float = 0.0) -> str:
    """Return the time, such as "2026-01-31T09:30:00.000Z"."""
    return _text(datetime.now(UTC) + timedelta(seconds=after_s))


def slot_end(length_s: float, tick_s: float) -> str:
    """Return the end of a slot that begins now: the first tick after its length, which no row decides."""
    # ceil((now + length) / tick): the time shows the public tick alone, not how long anything took.
    ticks = math.ceil((datetime.now(UTC).timestamp() + length_s) / tick_s)
    return _text(datetime.fromtimestamp(ticks * tick_s, UTC))


def seconds_until(time: str) -> float:
    """Return the seconds until a time; negative when it is past."""
    return (datetime.fromisoformat(time) - datetime.now(UTC)).total_seconds()


def instant_of(time: str) -> float:
    """Return when a time comes, by the clock that nobody can set: what is asked once holds, whatever is set later."""
    return clocks.monotonic() + seconds_until(time)


def seconds_to(instant: float) -> float:
    """Return the seconds to an instant; negative when it is past."""
    return instant - clocks.monotonic()


def _text(time: datetime) -> str:
    return time.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
