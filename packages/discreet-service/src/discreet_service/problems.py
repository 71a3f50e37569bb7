"""Errors as RFC 9457 problems: each type of error has one status, in this one place."""

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from discreet.errors import (
    BudgetError,
    BudgetExceededError,
    ConflictError,
    DataMismatchError,
    DiscreetError,
    ForbiddenError,
    InvalidParameterError,
    MetadataError,
    NotFoundError,
    NotSignedInError,
    PolicyError,
    TooManyRequestsError,
    UnreachableError,
    VerificationError,
)
from discreet_service.client.requests import NO_PURPOSE
from discreet_service.logs import log

STATUS: tuple[tuple[type[DiscreetError], int, str], ...] = (
    (NotSignedInError, 401, "not-signed-in"),
    (ForbiddenError, 403, "forbidden"),
    (PolicyError, 403, "policy"),
    (NotFoundError, 404, "not-found"),
    (UnreachableError, 503, "not-ready"),
    (BudgetExceededError, 409, "budget-exceeded"),
    (BudgetError, 409, "budget"),
    (ConflictError, 409, "conflict"),
    (DataMismatchError, 409, "data-mismatch"),
    (VerificationError, 409, "verification"),
    (InvalidParameterError, 422, "invalid-parameter"),
    (MetadataError, 422, "metadata"),
    (TooManyRequestsError, 429, "too-many-requests"),
    (DiscreetError, 500, "internal"),
)
"""The first type of which an error is an instance counts."""

NOT_READY = "The service is not ready to answer. Nothing was left half done. Try again, or tell the person who runs it."
INTERNAL = "Something went wrong in the service. Nothing was left half done. Try again, or tell the person who runs it."
NO_ID = "An id has 8 to 32 of the letters a to z and the digits 2 to 7, but this one has not. Copy it from the list."
MEDIA_TYPE = "application/problem+json"


def status_of(error: Exception) -> tuple[int, str]:
    """Return the status of an error and the name of its kind; 500 for what is not ours."""
    return next(((status, kind) for cls, status, kind in STATUS if isinstance(error, cls)), (500, "internal"))


def public_message(error: Exception) -> str:
    """Return an error's own text where it is the caller's, and a constant where it is the service's."""
    status, _ = status_of(error)
    return str(error) if status < 500 else NOT_READY if status == 503 else INTERNAL


def problem(
    status: int, kind: str, detail: str, errors: list[dict[str, str]] | None = None, **more: Any
) -> JSONResponse:
    """Return a problem as a response, which never repeats what was sent."""
    title = HTTPStatus(status).phrase
    body = {"type": f"urn:discreet:problem:{kind}", "title": title, "status": status, "detail": detail, **more}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {"Retry-After": "60"} if status == 429 else {}
    content = body if errors is None else body | {"errors": errors}
    return JSONResponse(content, status, headers, media_type=MEDIA_TYPE)


def handle(app: FastAPI) -> None:
    """Have an application answer errors as problems."""

    @app.exception_handler(DiscreetError)
    def _ours(_: Request, error: DiscreetError) -> JSONResponse:
        status, kind = status_of(error)
        if status >= 500:
            log("error", kind=type(error).__name__)
        amounts = ("requested", "remaining") if isinstance(error, BudgetExceededError) else ()
        more: dict[str, Any] = {name: float(getattr(error, name)) for name in amounts}
        # Of metadata of another shape than the schema's: all that is wrong.
        faults = [{"place": each.place, "problem": each.message} for each in getattr(error, "problems", ())[:50]]
        return problem(status, kind, public_message(error), faults or None, **more)

    @app.exception_handler(RequestValidationError)
    def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        # Messages alone: the input could be anything, of any size.
        entries = error.errors()[:20]
        ours = [str(entry["ctx"]["error"]) for entry in entries if entry["type"] == "value_error"]
        places = [{"place": ".".join(map(str, entry["loc"])), "problem": entry["msg"]} for entry in entries]
        detail = NO_PURPOSE if NO_PURPOSE in ours else "The call must follow the API's description; see errors."
        if any(entry["loc"] == ("path", "id") for entry in entries):
            return problem(422, "invalid-request", NO_ID)
        return problem(422, "invalid-request", detail, places)

    @app.exception_handler(HTTPException)
    def _http(_: Request, error: HTTPException) -> JSONResponse:
        kind = HTTPStatus(error.status_code).phrase.lower().replace(" ", "-")
        response = problem(error.status_code, kind, str(error.detail))
        response.headers.update(error.headers or {})
        return response
