"""Errors as pages, with the status and text of the API's problems."""

import inspect
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.exceptions import HTTPException

from discreet.errors import DiscreetError
from discreet_service.pages.views import html

_API = "/v1"
_PHRASES = {status.phrase for status in HTTPStatus}
_TITLES = {
    403: "Not allowed",
    404: "Not found",
    409: "Not possible now",
    422: "Not accepted",
    429: "Too many calls",
    500: "The service failed",
    503: "The service is not ready",
}
"""Of pages, where a status has a phrase of its own alone."""


def handle(app: FastAPI) -> None:
    """Have an application answer its pages' errors with pages."""
    for kind in (DiscreetError, RequestValidationError, HTTPException):
        app.exception_handler(kind)(_problem_for(app.exception_handlers[kind]))


def _problem_for(handler: Callable[[Request, Any], Any]) -> Callable[[Request, Any], Any]:
    async def answer(request: Request, error: Any) -> Response:
        response = handler(request, error)
        response = await response if inspect.isawaitable(response) else response
        return problem_for(request, response) if isinstance(response, JSONResponse) else response

    return answer


def problem_for(request: Request, problem: JSONResponse) -> Response:
    """Return a problem to a call of the API, else a page; who is not signed in is sent to do so."""
    if request.url.path == _API or request.url.path.startswith(f"{_API}/"):
        return problem
    if problem.status_code == 401:
        return _to_sign_in(request)
    body = json.loads(bytes(problem.body))
    if body.get("errors"):
        places = "; ".join(f"{error['place'].rpartition('.')[2]}: {error['problem']}" for error in body["errors"])
        body["detail"] = f"What is sent to a page must fit it, but {places}. Go back and try again."
    if body["title"] == body["detail"] == "Not Found":
        body |= {
            "title": "Page not found",
            "detail": "There is no page at this address. Check the address.",
        }
    if body["title"] == body["detail"] == "Method Not Allowed":
        body |= {
            "title": "Nothing to show here",
            "detail": "This address takes a form and shows nothing by itself. Go back to the page with the form.",
        }
    title = _TITLES.get(problem.status_code, body["title"]) if body["title"] in _PHRASES else body["title"]
    if "HX-Request" in request.headers:
        return html("part_problem", problem.status_code, message=body["detail"])
    visit = getattr(request.state, "visit", None)
    return html("problem", problem.status_code, visit=visit, problem=None, title=title, message=body["detail"])


def _to_sign_in(request: Request) -> Response:
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    query = {"next": path} if request.method == "GET" and path != "/" else {}
    if "HX-Request" in request.headers:  # a part of a page cannot be the page of signing in
        return Response(status_code=401, headers={"HX-Redirect": "/sign-in"})
    return RedirectResponse("/sign-in" + (f"?{urlencode(query)}" if query else ""), 303)
