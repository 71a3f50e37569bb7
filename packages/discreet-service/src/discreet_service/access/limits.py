"""Rate limits."""

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from discreet.errors import TooManyRequestsError


class RateLimits:
    """Calls a minute, of each account and from each address; each server process counts for itself."""

    def __init__(self, per_minute: int) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._most = RateLimitItemPerMinute(per_minute)

    def check(self, caller: str) -> None:
        """Count a call."""
        if not self._limiter.hit(self._most, caller):
            raise TooManyRequestsError(f"There may be {self._most.amount} calls a minute. Try again in a minute.")
