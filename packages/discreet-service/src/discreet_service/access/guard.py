"""The guard of every route: without one no route is served, so that access is denied by default."""

import inspect
import ipaddress
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends, FastAPI, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException

from discreet.errors import ForbiddenError, NotSignedInError
from discreet_service.access import authentication
from discreet_service.access.limits import RateLimits
from discreet_service.access.roles import Principal, Role
from discreet_service.context import Context

EVERYBODY = "is_for_everybody"
"""Attribute of a route's function that is a deliberate exception."""

_bearer = HTTPBearer(auto_error=False, description="A key, as the page Keys makes them.")


@dataclass(frozen=True)
class Caller:
    """Who calls, before anything is known of them: a guarded route admits them first of all."""

    request: Request = field(repr=False)
    key: str = field(repr=False)
    roles: frozenset[Role]

    def admit(self, context: Context) -> Principal:
        """Return the principal of the key, or refuse."""
        who = authentication.authenticate_key(context, self.key)
        limits: RateLimits = self.request.app.state.limits
        limits.check(f"account {who.name}")
        self.request.state.actor = who.name
        self.request.state.admit_again = lambda later: check_role(
            authentication.authenticate_key(later, self.key), self.roles
        )
        return check_role(who, self.roles)


class Guard:
    """A dependency that lets some roles through, by their key; with no roles, nobody."""

    def __init__(self, roles: Iterable[Role]) -> None:
        self.roles = frozenset(roles)

    async def __call__(
        self, request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
    ) -> Caller:
        """Return the caller, whom `GuardedRoute` admits in place of the principal."""
        if credentials is None:
            raise NotSignedInError("A key is needed: send `Authorization: Bearer KEY`. Create one on the page Keys.")
        request.state.caller = caller = Caller(request, credentials.credentials, self.roles)
        return caller


class GuardedRoute(APIRoute):
    """A route that admits its caller and answers in one thread, and to GET in one reading transaction.

    A route with threads of its own answers there, and in transactions of its own. What else a route depends on is
    resolved before its caller is admitted, so it opens nothing.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, _guarded(endpoint), **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler, for those who may call: others do not learn what is wrong with a call."""
        handle, guards = super().get_route_handler(), guards_within(self.dependant)

        async def handle_admitted(request: Request) -> Response:
            try:
                return await handle(request)
            except (RequestValidationError, HTTPException):  # a body is read before the guard is asked
                for guard in () if hasattr(request.state, "actor") else guards:
                    caller = getattr(request.state, "caller", None) or await guard(request, await _bearer(request))
                    await to_thread.run_sync(caller.admit, context_of(request))
                raise

        return handle_admitted


def _guarded(route: Callable[..., Any]) -> Callable[..., Any]:
    """Return an async route of the same signature that admits its caller before it answers."""
    has_threads = inspect.iscoroutinefunction(route)

    @wraps(route)
    async def answer(**given: Any) -> Any:
        name = next((name for name, value in given.items() if isinstance(value, Caller)), None)
        if not has_threads:
            return await to_thread.run_sync(partial(_answer, route, given, name))
        if name is not None:
            caller: Caller = given[name]
            given[name] = await to_thread.run_sync(caller.admit, context_of(caller.request))
        return await route(**given)

    return answer


def _answer(route: Callable[..., Any], given: dict[str, Any], name: str | None) -> Any:
    if name is None:
        return route(**given)
    caller: Caller = given[name]
    with _moment(caller.request) as context:
        return route(**given | {name: caller.admit(context)})


@contextmanager
def _moment(request: Request) -> Iterator[Context]:
    """Have a call that reads see one moment of the database, from its key to its answer."""
    if request.method != "GET":
        yield context_of(request)
        return
    with context_of(request).reading() as context:
        request.state.context = context
        try:
            yield context
        finally:
            del request.state.context


def check_role(who: Principal, roles: frozenset[Role]) -> Principal:
    """Return the principal, or refuse a role that may not."""
    if who.role not in roles:
        *others, last = sorted(f"{'an' if role.value[0] == 'a' else 'a'} {role.value}" for role in roles)
        allowed = f"{', '.join(others)} or {last}" if others else last
        raise ForbiddenError(
            f"Your role is {who.role.value}, and only {allowed} may do this. Ask somebody with that role."
        )
    return who


def allow(*roles: Role) -> Any:
    """Return a guard to annotate the principal of a route with."""
    return Depends(Guard(roles))


def unguarded(route: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a route that is for everybody: a deliberate exception."""
    setattr(route, EVERYBODY, True)
    return route


def routes_of(app: FastAPI) -> list[RouteContext]:
    """Return the routes of an application, those of its routers among them."""
    return [route for route in iter_route_contexts(app.routes) if isinstance(route.original_route, APIRoute)]


def guard_of(route: RouteContext) -> Guard | None:
    """Return the guard of a route, or None when it has none."""
    return next(
        (dependency.call for dependency in route.dependant.dependencies if isinstance(dependency.call, Guard)), None
    )


def check_guarded(app: FastAPI) -> None:
    """Refuse to serve an application with a route that nobody guards."""
    routes = routes_of(app)
    open_ = [route.path for route in routes if not _is_guarded(route)]
    if open_ or not routes:
        raise ForbiddenError(f"Every route must have a guard, but {open_[0] if open_ else 'none was found'} has none.")


def _is_guarded(route: RouteContext) -> bool:
    guards = guards_within(route.dependant)
    if not guards or route.endpoint is None:
        return guard_of(route) is not None or bool(getattr(route.endpoint, EVERYBODY, False))
    # A caller is admitted where the route itself asks for one principal by name: a guard alone would admit everybody.
    named = [dependency.name for dependency in route.dependant.dependencies if dependency.call is guards[0]]
    endpoint = inspect.unwrap(route.endpoint)
    yields = inspect.isgeneratorfunction(endpoint) or inspect.isasyncgenfunction(endpoint)
    is_asked = len(guards) == 1 and any(named)
    return is_asked and not yields and isinstance(route.original_route, GuardedRoute)


def guards_within(dependant: Dependant) -> list[Guard]:
    """Return the guards by key among what a route depends on, at any depth."""
    guards = list[Guard]()
    for dependency in dependant.dependencies:
        call = dependency.call
        if isinstance(call, Guard) and type(call).__call__ is Guard.__call__:
            guards.append(call)
        guards += guards_within(dependency)
    return guards


def context_of(request: Request) -> Context:
    """Return the open service that a call is made to."""
    context: Context = getattr(request.state, "context", None) or request.app.state.context
    return context


def address_of(request: Request) -> str:
    """Return the caller's address, or "-"; behind a proxy, uvicorn's settings decide whom to believe.

    Of IPv6 the network of 64 bits, as one caller has all of its addresses, and each would have limits of its own.
    """
    host = request.client.host if request.client else "-"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return host
    return str(address.ipv4_mapped or ipaddress.ip_network((int(address) >> 64 << 64, 64)))
