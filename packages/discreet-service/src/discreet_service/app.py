"""The server: the API under /v1, the pages beside it, one guard before each route."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI

from discreet_service import api, pages, problems
from discreet_service.access.guard import check_guarded
from discreet_service.access.limits import RateLimits
from discreet_service.call_limits import limit_quick
from discreet_service.context import Context, open_context
from discreet_service.logs import log
from discreet_service.middleware import Surroundings
from discreet_service.schemas import Problem
from discreet_service.settings import Settings

V1 = "/v1"

_SUMMARY_ENDS = re.compile(r"[.:;(]")
"""Where the description of a call goes on after what the call does."""

_PROBLEMS = {
    400: "Malformed",
    401: "No valid key",
    403: "Not for this role",
    404: "Not there, or not open to you",
    409: "Does not fit the state it is in",
    413: "Too large",
    422: "Does not fit the description, the metadata or the method",
    429: "Too many calls",
}


def create_app(settings: Settings, *, is_warm: bool = False) -> FastAPI:
    """Return the server, which uvicorn runs; a warm one loads what simulations need when it starts."""
    app = FastAPI(
        title="Discreet",
        version=version("discreet"),
        description="Answers requests on private tables with differentially private releases.",
        lifespan=_lifespan(settings, is_warm),
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{V1}/openapi.json",
        redirect_slashes=False,  # it would lead to whatever host a call names, and from HTTPS to HTTP with its key
    )
    app.state.limits = RateLimits(settings.rate_per_minute)
    described: dict[int | str, dict[str, Any]] = {
        status: {"model": Problem, "description": text} for status, text in _PROBLEMS.items()
    }
    for router in api.ROUTERS:  # each at once below the application: every level looks for the route anew
        app.include_router(router, prefix=V1, responses=described)
    app.openapi = _described(app.openapi)  # type: ignore[method-assign]
    problems.handle(app)
    pages.add_pages(app)
    app.add_middleware(Surroundings, limits=app.state.limits, prefix=V1)
    check_guarded(app)
    return app


def _described(make: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """Name calls in the OpenAPI description by what they do, and give problems their media type.

    FastAPI names a call after its function, and takes every model for plain JSON.
    """

    def describe() -> dict[str, Any]:
        description = make()
        for call in (call for methods in description["paths"].values() for call in methods.values()):
            call["summary"] = _SUMMARY_ENDS.split(call["description"])[0].strip()
            for status, answer in call["responses"].items():
                if status >= "400" and "application/json" in answer.get("content", {}):
                    answer["content"][problems.MEDIA_TYPE] = answer["content"].pop("application/json")
        return description

    return describe


def _lifespan(settings: Settings, is_warm: bool) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with ExitStack() as stack:
            context: Context = stack.enter_context(open_context(settings, pooled=True))
            app.state.context = context
            if is_warm:
                context.outlooks.start()
            limit_quick()
            log("started")
            yield
        log("stopped")

    return lifespan
