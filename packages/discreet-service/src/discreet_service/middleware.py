"""What stands around every call: limits before it; headers, a count and a line of the log with its answer."""

from fastapi import Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import TooManyRequestsError
from discreet_service import pages, problems
from discreet_service.access.guard import address_of
from discreet_service.access.limits import RateLimits
from discreet_service.logs import log
from discreet_service.metrics import count_call

MOST_BYTES = 1 << 20
"""The largest body of a call."""

_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
"""Of every answer that does not say otherwise; names in lower case, as ASGI has them."""


class Surroundings:
    """Limits calls, turns errors into problems, adds the headers, counts and logs."""

    def __init__(self, app: ASGIApp, limits: RateLimits, prefix: str) -> None:
        self._app, self._limits, self._prefix = app, limits, f"{prefix}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def send_whole(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                _add_headers(message)
                self._record(scope, message["status"])
            await send(message)

        request = Request(scope)
        try:
            await (self._refusal(request) or self._app)(scope, receive, send_whole)
        except Exception as error:  # its text could hold anything: only its kind is logged
            log("error", kind=type(error).__name__)
            if has_begun:
                raise
            internal = problems.problem(500, "internal", problems.INTERNAL)
            await pages.problem_for(request, internal)(scope, receive, send_whole)

    def _refusal(self, request: Request) -> Response | None:
        """Return the answer to a call that is too large, or one of too many."""
        length = request.headers.get("content-length", "0")
        if request.headers.get("transfer-encoding") or not length.isdigit() or int(length) > MOST_BYTES:
            detail = f"A body must have a length of at most {MOST_BYTES}."
            refusal = pages.problem_for(request, problems.problem(413, "too-large", detail))
            refusal.headers["Connection"] = "close"  # what follows could be read as another call's beginning
            return refusal
        try:
            self._limits.check(f"address {address_of(request)}")
        except TooManyRequestsError as error:
            return pages.problem_for(request, problems.problem(429, "too-many-requests", str(error)))
        return None

    def _record(self, scope: Scope, status: int) -> None:
        route = self._route_template(scope)
        count_call(scope["method"], route, status)
        actor = scope.get("state", {}).get("actor", "-")
        log("call", method=scope["method"], route=route, status=status, actor=actor)

    def _route_template(self, scope: Scope) -> str:
        """Return the route without its arguments, which stand in no log."""
        route = scope.get("route")
        prefix = self._prefix.rstrip("/") if scope["path"].startswith(self._prefix) else ""
        return "-" if route is None else f"{prefix}{route.path}"


def _add_headers(message: Message) -> None:
    headers = list(message.get("headers", ()))
    present = {name.lower() for name, _ in headers}
    message["headers"] = [*headers, *(pair for pair in _HEADERS if pair[0] not in present)]
