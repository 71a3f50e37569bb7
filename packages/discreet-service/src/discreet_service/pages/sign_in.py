"""Signing in and out, and one's own password."""

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from discreet import workflow
from discreet.errors import DiscreetError, ForbiddenError, NotSignedInError, TooManyRequestsError
from discreet_service.access import authentication
from discreet_service.access.guard import address_of, context_of, unguarded
from discreet_service.access.roles import EVERYONE
from discreet_service.pages import cookies
from discreet_service.pages.forms import Form, read_form
from discreet_service.pages.views import html
from discreet_service.pages.visit import Visit, check_token, redirect, signed_in
from discreet_service.problems import status_of
from discreet_service.use_cases import account, people

router = APIRouter()

Anyone = Annotated[Visit, signed_in(*EVERYONE)]

_LOCAL = re.compile(r"/(?:[A-Za-z0-9._~%@?=&+-][A-Za-z0-9._~%@?=&+/-]*)?")
_FORM_AGE_S = 3600.0


def local(path: str) -> str:
    """Return a path on this server, or "/" for any other address."""
    return path if len(path) <= 2000 and _LOCAL.fullmatch(path) else "/"


@router.get("/sign-in")
@unguarded
def show_sign_in(request: Request) -> Response:
    """Show the form; a cookie of its own stands for the session that there is not yet."""
    return _form(request, Form({"next": (request.query_params.get("next", "/"),)}))


@router.post("/sign-in")
@unguarded
def sign_in(request: Request, form: Annotated[Form, Depends(read_form)]) -> Response:
    """Check name and password, and open a session with a new token."""
    context = context_of(request)
    before = request.cookies.get(cookies.form_cookie(context.settings), "")
    try:
        check_token(request, form, authentication.form_token(context, f"sign in {before}") if before else "-")
        password = form.values.get("password", ("",))[-1]
        token = authentication.sign_in(context, form.get("name"), password, address_of(request))
    except ForbiddenError:  # the page stood open for long, or the browser keeps no cookies
        problem = "This page was open for too long, or the browser keeps no cookies. Try again."
        return _form(request, form, problem, 403)
    except (NotSignedInError, TooManyRequestsError) as error:
        return _form(request, form, str(error), status_of(error)[0])
    response = go_back(form.get("next"))
    cookies.set_session(response, context.settings, token)
    end_earlier(request)
    return response


def go_back(path: str) -> Response:
    """Send the browser to a path of this server that it wanted before signing in."""
    response = Response(status_code=303)
    response.headers["Location"] = local(path)
    return response


@router.post("/sign-out")
def sign_out(visit: Anyone) -> Response:
    """End the session."""
    authentication.sign_out(visit.context, visit.token)
    response = redirect("/sign-in")
    cookies.delete_cookie(response, visit.context.settings, cookies.session_cookie(visit.context.settings))
    return response


@router.get("/account")
def show_account(visit: Anyone) -> Response:
    """Show who one is to the service."""
    return visit.page("account", me=people.me(visit.context, visit.who))


@router.post("/account/password")
def change_password(visit: Anyone) -> Response:
    """Change one's own password: the session goes on with a new token, all others are over."""
    old, new, repeated = (visit.form.values.get(name, ("",))[-1] for name in ("old", "new", "repeated"))
    try:
        token = account.change_password(visit.context, visit.who, old, new, repeated, address_of(visit.request))
    except DiscreetError as error:
        return visit.page_with_error(error, "account", me=people.me(visit.context, visit.who))
    response = redirect("/account", said="password")
    cookies.set_session(response, visit.context.settings, token)
    return response


def _form(request: Request, form: Form, message: str | None = None, status: int = 200) -> Response:
    context = context_of(request)
    name = cookies.form_cookie(context.settings)
    before = request.cookies.get(name) or workflow.token(30)
    facts = {
        "visit": None,
        "problem": None,
        "message": message,
        "form_token": authentication.form_token(context, f"sign in {before}"),
        "name": form.get("name"),
        "next": local(form.get("next", "/")),
        "sign_on": None if context.settings.sign_on is None else context.settings.sign_on.label,
    }
    response = html("sign_in", status, **facts)
    cookies.set_cookie(response, context.settings, name, before, _FORM_AGE_S)
    if status == 429:
        response.headers["Retry-After"] = "900"
    return response


def end_earlier(request: Request) -> None:
    """End the session that the browser had before."""
    context = context_of(request)
    before = request.cookies.get(cookies.session_cookie(context.settings))
    if before:
        authentication.sign_out(context, before)
