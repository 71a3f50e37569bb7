"""The guard of every page by the browser's session, and the responses of its route."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from discreet.errors import ForbiddenError, NotFoundError, NotSignedInError
from discreet_service.access import authentication
from discreet_service.access.digests import same_secret
from discreet_service.access.guard import Guard, check_role, context_of
from discreet_service.access.roles import Principal, Role
from discreet_service.context import Context
from discreet_service.pages.cookies import session_cookie
from discreet_service.pages.forms import Form, read_form
from discreet_service.pages.navigation import NAVIGATION, NOTICES
from discreet_service.pages.views import html
from discreet_service.problems import status_of

FIELD, HEADER = "form_token", "X-Form-Token"
"""Where a form brings its token back: a hidden field, or a header that scripts send."""


@dataclass(frozen=True)
class Visit:
    """A call of a page by somebody who is signed in."""

    request: Request
    who: Principal
    token: str  # of the session
    form: Form  # empty unless the call sends one

    @property
    def context(self) -> Context:
        """The service."""
        return context_of(self.request)

    @property
    def notice(self) -> str | None:
        """What is said of a form that was sent before."""
        return NOTICES.get(self.request.query_params.get("said", ""))

    @property
    def form_token(self) -> str:
        """What every form brings back."""
        return authentication.form_token(self.context, self.token)

    @property
    def navigation(self) -> list[tuple[str, str, bool]]:
        """Addresses and names of the pages for this role, and whether this page is below one."""
        path = self.request.url.path
        return [
            (place, name, path == place or (place != "/" and path.startswith(f"{place}/")))
            for place, name, roles in NAVIGATION
            if self.who.role in roles
        ]

    def has_role(self, *roles: str) -> bool:
        """Tell whether the person has one of some roles."""
        return self.who.role.value in roles

    def page(self, template: str, status: int = 200, **facts: Any) -> HTMLResponse:
        """Return a page without a problem."""
        return html(template, status, **({"visit": self, "problem": None} | facts))

    def page_with_error(self, error: Exception, template: str, **facts: Any) -> HTMLResponse:
        """Return the page of a form that was refused, with what was typed and the status of the API."""
        return self.page(template, status_of(error)[0], problem=str(error), **facts)


class PageGuard(Guard):
    """A dependency that lets some roles through, by their session; what they send must bring its form's token."""

    async def __call__(self, request: Request) -> Visit:  # type: ignore[override] # FastAPI reads the arguments
        """Return the visit, or refuse."""
        if "\0" in request.url.path:
            raise NotFoundError("A page must exist, but there is none of this address.")
        limits = request.app.state.limits
        context = context_of(request)
        token = request.cookies.get(session_cookie(context.settings), "")

        def authenticate(moment: Context) -> Principal:
            who = authentication.authenticate_session(moment, token) if token else None
            if who is None:
                raise NotSignedInError("One must be signed in. Sign in, and come back.")
            return who

        who = await run_in_threadpool(authenticate, context) if token else authenticate(context)
        limits.check(f"account {who.name}")
        request.state.actor = who.name
        request.state.admit_again = lambda later: check_role(authenticate(later), self.roles)
        form = await read_form(request) if request.method == "POST" else Form()
        request.state.visit = visit = Visit(request, who, token, form)
        check_role(who, self.roles)
        if request.method != "GET":
            check_token(request, form, visit.form_token)
        return visit


def check_token(request: Request, form: Form, expected: str) -> None:
    """Refuse a form that another site may have sent."""
    sent_token = request.headers.get(HEADER) or form.get(FIELD)
    if not same_secret(sent_token, expected):
        raise ForbiddenError(
            "A form must be sent from a page of this session, but this one was not. Go back, reload the page and send "
            "it again."
        )


def signed_in(*roles: Role) -> Any:
    """Return a guard to annotate the visit of a page's route with."""
    return Depends(PageGuard(roles))


def redirect(path: str, **query: str) -> Response:
    """Send the browser to another page after a form (303 See Other)."""
    return RedirectResponse(quote(path) + (f"?{urlencode(query)}" if query else ""), 303)
