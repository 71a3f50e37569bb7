"""How many calls are worked on at once: few, in the order in which they came, and slow ones apart from quick ones."""

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Request

QUICK = 4
"""Threads of calls that take milliseconds. More would only take turns at one processor, while one holds the ledger."""

SLOW = 2
"""Threads of calls that take seconds, such as simulations and pictures."""

P = ParamSpec("P")
R = TypeVar("R")


def limit(app: FastAPI) -> None:
    """Set how many calls are worked on at once; called when the server starts, inside its event loop.

    Parameters
    ----------
    app : FastAPI
        The server.
    """
    to_thread.current_default_thread_limiter().total_tokens = QUICK
    app.state.slow = CapacityLimiter(SLOW)


async def slowly(request: Request, function: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
    """Do what takes seconds where no quick call waits for it.

    Parameters
    ----------
    request : Request
        The call.
    function : callable
        What to do.
    *given, **named : Any
        What it is given.

    Returns
    -------
    Any
        What it returns.
    """
    return await to_thread.run_sync(partial(function, *given, **named), limiter=request.app.state.slow)
