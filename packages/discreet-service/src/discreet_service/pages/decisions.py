"""What waits for a curator's decision, and the decision itself."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Response

from discreet.errors import DiscreetError, NotFoundError
from discreet_service.access.roles import Role
from discreet_service.pages.budgets import remaining_budget
from discreet_service.pages.forms import validated
from discreet_service.pages.home import MOST_WAITING
from discreet_service.pages.requests import request_facts
from discreet_service.pages.titles import titled_target
from discreet_service.pages.visit import Visit, redirect, signed_in
from discreet_service.schemas import DecisionIn
from discreet_service.use_cases import decisions, requests

router = APIRouter()

Curator = Annotated[Visit, signed_in(Role.CURATOR)]


@router.get("/inbox")
def show_inbox(visit: Curator) -> Response:
    """Show the requests that wait, the oldest first, with what is left for each."""
    rows = requests.list_visible(visit.context, visit.who, state="waiting", limit=MOST_WAITING, oldest_first=True)
    waiting = [
        {
            "request": request,
            "target": titled_target(visit, request.dataset, request.content["target"]),
            "remaining": remaining_budget(visit, request.dataset, request.project),
        }
        for request in rows
    ]
    return visit.page("inbox", waiting=waiting)


@router.post("/requests/{id}/approval")
def approve_request(visit: Curator, id: str) -> Response:
    """Approve the text that was read; its cost is charged."""
    return _decide(visit, id, decisions.approve, "approved")


@router.post("/requests/{id}/rejection")
def reject_request(visit: Curator, id: str) -> Response:
    """Reject a request; nothing is charged."""
    return _decide(visit, id, decisions.reject, "rejected")


def _decide(visit: Visit, id_: str, decide: Callable[..., Any], outcome: str) -> Response:
    try:
        decision = validated(DecisionIn, sha256=visit.form.get("sha256"), comment=visit.form.get("comment"))
        decide(visit.context, visit.who, id_, decision.sha256, decision.comment)
    except NotFoundError:
        raise
    except DiscreetError as error:
        return visit.page_with_error(error, "request", **request_facts(visit, id_))
    return redirect(f"/requests/{id_}", said=outcome)
