"""Requests, decisions on them, and releases."""

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request, Response

from discreet.release import Release
from discreet_service.access.guard import GuardedRoute, allow, context_of
from discreet_service.access.roles import READERS, Principal, Role
from discreet_service.api.paging import Cursor, Limit, parse_cursor, split_page
from discreet_service.call_limits import reports
from discreet_service.fields import Id, Name, State
from discreet_service.schemas import DecisionIn, RequestIn, RequestOut, RequestPage
from discreet_service.use_cases import decisions, permissions, releases, requests

router = APIRouter(route_class=GuardedRoute, tags=["requests"])

Reader = Annotated[Principal, allow(*READERS)]
Analyst = Annotated[Principal, allow(Role.ANALYST)]
Curator = Annotated[Principal, allow(Role.CURATOR)]
Key = Annotated[str, Header(alias="Idempotency-Key", pattern=r"^[!-~]{8,100}$", description="one for each request")]


@router.get("/requests")
def list_requests(
    request: Request,
    who: Reader,
    dataset: Annotated[Name | None, Query()] = None,
    state: State | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> RequestPage:
    """List the requests that are open to you, the newest first."""
    context = context_of(request)
    rows = requests.list_visible(
        context, who, dataset=dataset, state=state, before=parse_cursor(cursor), limit=limit + 1
    )
    items, following = split_page(rows, [row.seq for row in rows], limit)
    return RequestPage(items=requests.requests_out(context, items, short=True), next=following)


@router.post("/requests", status_code=201, responses={200: {"description": "Made before, with the same key"}})
def make_request(request: Request, response: Response, who: Analyst, body: RequestIn, key: Key) -> RequestOut:
    """Make a request; the same Idempotency-Key makes it once. A question answered before is released at once."""
    created, is_new = requests.submit(context_of(request), who, body, key)
    response.status_code = 201 if is_new else 200
    return requests.request_out(context_of(request), created)


@router.get("/requests/{id}")
def read_request(request: Request, who: Reader, id: Id) -> RequestOut:
    """Read a request."""
    return requests.request_out(context_of(request), permissions.open_request(context_of(request), who, id))


@router.put("/requests/{id}")
def revise_request(request: Request, who: Analyst, id: Id, body: RequestIn) -> RequestOut:
    """Change a request of yours that waits: whoever approves must read it again."""
    return requests.request_out(context_of(request), requests.revise(context_of(request), who, id, body))


@router.post("/requests/{id}/withdrawal")
def withdraw_request(request: Request, who: Analyst, id: Id) -> RequestOut:
    """Take back a request of yours that does not run yet; nothing stays charged."""
    return requests.request_out(context_of(request), requests.withdraw(context_of(request), who, id))


@router.post("/requests/{id}/approval")
def approve_request(request: Request, who: Curator, id: Id, body: DecisionIn) -> RequestOut:
    """Approve the exact text of a request: its cost is reserved, and it is queued."""
    approved = decisions.approve(context_of(request), who, id, body.sha256, body.comment)
    return requests.request_out(context_of(request), approved)


@router.post("/requests/{id}/rejection")
def reject_request(request: Request, who: Curator, id: Id, body: DecisionIn) -> RequestOut:
    """Reject a request; nothing is charged."""
    rejected = decisions.reject(context_of(request), who, id, body.sha256, body.comment)
    return requests.request_out(context_of(request), rejected)


@router.get("/requests/{id}/failure")
def read_failure(request: Request, who: Curator, id: Id) -> dict[str, str]:
    """Read where a computation failed: kinds of errors and places in the code."""
    del who
    return {"detail": requests.detail(context_of(request), id)}


@router.get(
    "/requests/{id}/release",
    response_class=Response,
    responses={200: {"content": {kind: {} for kind in releases.MEDIA.values()}, "model": Release}},
)
@reports
def read_release(
    request: Request,
    who: Reader,
    id: Id,
    format: Literal["json", "html", "pdf", "csv", "markdown", "text"] = "json",
    audience: Literal["board", "analyst", "participant"] = "board",
) -> Response:
    """Read the release of a request, as JSON or as a report."""
    return releases.response(context_of(request), who, id, format, audience)
