"""The server: the API under /v1, the pages beside it, one guard before each route."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response

from discreet.errors import TooManyRequestsError
from discreet_service import api, pages, problems
from discreet_service.access.guard import address_of, check_guarded
from discreet_service.access.limits import RateLimits
from discreet_service.call_limits import limit_quick
from discreet_service.context import Context, open_context
from discreet_service.logs import log
from discreet_service.metrics import count_call
from discreet_service.schemas import Problem
from discreet_service.settings import Settings

V1 = "/v1"

_SUMMARY_ENDS = re.compile(r"[.:;(]")
"""Where the description of a call goes on after what the call does."""

MOST_BYTES = 1 << 20
"""The largest body of a call."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

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
    )
    app.state.limits = RateLimits(settings.rate_per_minute)
    described: dict[int | str, dict[str, Any]] = {
        status: {"model": Problem, "description": text} for status, text in _PROBLEMS.items()
    }
    v1 = APIRouter(prefix=V1, responses=described)
    for router in api.ROUTERS:
        v1.include_router(router)
    app.include_router(v1)
    app.openapi = _described(app.openapi)  # type: ignore[method-assign]
    problems.handle(app)
    pages.add_pages(app)
    app.middleware("http")(_middleware)
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


async def _middleware(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
    """Limit calls, turn errors into problems, add the headers, count and log."""
    response = await _respond(request, call)
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    route = _route_template(request)
    count_call(request.method, route, response.status_code)
    actor = getattr(request.state, "actor", "-")
    log("call", method=request.method, route=route, status=response.status_code, actor=actor)
    return response


async def _respond(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
    length = request.headers.get("content-length", "0")
    if request.headers.get("transfer-encoding") or not length.isdigit() or int(length) > MOST_BYTES:
        detail = f"A body must have a length of at most {MOST_BYTES}."
        return pages.problem_for(request, problems.problem(413, "too-large", detail))
    try:
        request.app.state.limits.check(f"address {address_of(request)}")
        return await call(request)
    except TooManyRequestsError as error:
        return pages.problem_for(request, problems.problem(429, "too-many-requests", str(error)))
    except Exception as error:  # its text could hold anything: only its kind is logged
        log("error", kind=type(error).__name__)
        return pages.problem_for(request, problems.problem(500, "internal", problems.INTERNAL))


def _route_template(request: Request) -> str:
    """Return the route without its arguments, which stand in no log."""
    route = request.scope.get("route")
    prefix = V1 if request.url.path.startswith(f"{V1}/") else ""
    return "-" if route is None else f"{prefix}{route.path}"
