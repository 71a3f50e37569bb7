"""The guard of every route: without one no route is served, so that access is denied by default."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from discreet.errors import ForbiddenError, NotSignedInError
from discreet_service.access import authentication
from discreet_service.access.limits import RateLimits
from discreet_service.access.roles import Principal, Role
from discreet_service.context import Context

EVERYBODY = "is_for_everybody"
"""Attribute of a route's function that is a deliberate exception."""

_bearer = HTTPBearer(auto_error=False, description="A key, as the page Keys makes them.")


class Guard:
    """A dependency that lets some roles through, by their key; with no roles, nobody."""

    def __init__(self, roles: Iterable[Role]) -> None:
        self.roles = frozenset(roles)

    def __call__(
        self, request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
    ) -> Principal:
        """Return the principal of the key, or refuse."""
        if credentials is None:
            raise NotSignedInError("A key is needed: send `Authorization: Bearer KEY`. Make one on the page Keys.")
        who = authentication.authenticate_key(context_of(request), credentials.credentials)
        limits: RateLimits = request.app.state.limits
        limits.check(f"account {who.name}")
        request.state.actor = who.name
        return check_role(who, self.roles)


def check_role(who: Principal, roles: frozenset[Role]) -> Principal:
    """Return the principal, or refuse a role that may not."""
    if who.role not in roles:
        allowed = ", ".join(sorted(role.value for role in roles))
        raise ForbiddenError(f"This is for the roles {allowed}, but yours is {who.role.value}.")
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
    open_ = [
        route.path for route in routes if guard_of(route) is None and not getattr(route.endpoint, EVERYBODY, False)
    ]
    if open_ or not routes:
        raise ForbiddenError(f"Every route must have a guard, but {open_[0] if open_ else 'none was found'} has none.")


def context_of(request: Request) -> Context:
    """Return the open service that a call is made to."""
    context: Context = request.app.state.context
    return context


def address_of(request: Request) -> str:
    """Return the caller's address, or "-"; behind a proxy, uvicorn's settings decide whom to believe."""
    return request.client.host if request.client else "-"
