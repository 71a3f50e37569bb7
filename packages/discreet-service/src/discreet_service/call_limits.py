"""Limits on concurrent calls: few threads, first come first served, and separate ones for slow routes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi import Request

QUICK = 4
"""Threads of calls that take milliseconds. More would only take turns at one processor, while one holds the ledger."""

P = ParamSpec("P")
R = TypeVar("R")


def limit_quick() -> None:
    """Set how many quick calls are worked on at once; called when the server starts, inside its event loop."""
    to_thread.current_default_thread_limiter().total_tokens = QUICK


_gone: ContextVar[threading.Event | None] = ContextVar("gone", default=None)


def caller_is_gone() -> bool:
    """Tell whether the caller of the route that runs has disconnected, where that is watched."""
    event = _gone.get()
    return event is not None and event.is_set()


def _call_of(arguments: tuple[object, ...]) -> Request | None:
    """Return the HTTP request among a route's arguments: itself, or that of a page's visit."""
    calls = (value if isinstance(value, Request) else getattr(value, "request", None) for value in arguments)
    return next((call for call in calls if isinstance(call, Request)), None)


@asynccontextmanager
async def _watched(call: Request | None) -> AsyncIterator[None]:
    """Watch whether the caller disconnects, which threads ask by `caller_is_gone`."""
    if call is None:
        yield
        return
    event = threading.Event()
    before, watch = _gone.set(event), asyncio.create_task(_watch(call, event))
    try:
        yield
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
        _gone.reset(before)


async def _watch(call: Request, event: threading.Event) -> None:
    # The body was read, so the next message is the end. `is_disconnected` misses it behind a middleware.
    while (await call.receive())["type"] != "http.disconnect":
        pass
    event.set()


def _answer(call: Request | None, route: Callable[[], R]) -> R:
    """Answer a call that may have waited: who makes it must still be let through, as when it came."""
    if call is not None and hasattr(call.state, "admit_again"):
        call.state.admit_again(call.app.state.context)
    return route()


class SlowRoutes:
    """Marks routes that take seconds: they have threads of their own, so that no quick call waits for them."""

    def __init__(self, name: str, threads: int) -> None:
        self._limiter: RunVar[CapacityLimiter] = RunVar(name)  # each event loop has one of its own
        self._threads = threads

    def __call__(self, route: Callable[P, R]) -> Callable[P, R]:
        """Return an async route of the same signature that runs in these threads."""

        @wraps(route)
        async def limited(*args: P.args, **kwargs: P.kwargs) -> R:
            call = _call_of((*args, *kwargs.values()))
            async with _watched(call):
                answer = partial(_answer, call, partial(route, *args, **kwargs))
                return await to_thread.run_sync(answer, limiter=self._loop_limiter())

        return limited  # type: ignore[return-value]  # FastAPI awaits it

    def _loop_limiter(self) -> CapacityLimiter:
        limiter = self._limiter.get(None)
        if limiter is None:
            limiter = CapacityLimiter(self._threads)
            self._limiter.set(limiter)
        return limiter


simulations = SlowRoutes("simulations", 24)
"""Their threads wait for processes and turns: more of them than `simulation.run` lets wait."""
reports = SlowRoutes("reports", 2)
providers = SlowRoutes("providers", 2)
"""Calls to the sign-on provider, which may be slow."""
