"""How many calls are worked on at once: few, in the order in which they came, and slow ones apart from quick ones."""

from collections.abc import Callable
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

QUICK = 4
"""Threads of calls that take milliseconds. More would only take turns at one processor, while one holds the ledger."""

P = ParamSpec("P")
R = TypeVar("R")


def limit_quick() -> None:
    """Set how many quick calls are worked on at once; called when the server starts, inside its event loop."""
    to_thread.current_default_thread_limiter().total_tokens = QUICK


class Apart:
    """Marks routes that take seconds: no quick call waits for them, and not too many are worked on at once.

    Parameters
    ----------
    name : str
        Of the kind of work; each kind has threads of its own.
    threads : int
        How many.
    """

    def __init__(self, name: str, threads: int) -> None:
        self._limiter: RunVar[CapacityLimiter] = RunVar(name)  # each event loop has one of its own
        self._threads = threads

    def __call__(self, route: Callable[P, R]) -> Callable[P, R]:
        """Return a route that is worked on apart.

        Parameters
        ----------
        route : callable
            As FastAPI takes it; not async.

        Returns
        -------
        callable
            Async, with the same signature.
        """

        @wraps(route)
        async def apart(*given: P.args, **named: P.kwargs) -> R:
            return await to_thread.run_sync(partial(route, *given, **named), limiter=self._here())

        return apart  # type: ignore[return-value]  # FastAPI awaits it

    def _here(self) -> CapacityLimiter:
        found = self._limiter.get(None)
        if found is None:
            found = CapacityLimiter(self._threads)
            self._limiter.set(found)
        return found


simulations = Apart("simulations", 2)
reports = Apart("reports", 2)
providers = Apart("providers", 2)
"""Calls to another server, which may let one wait before anybody has signed in."""
