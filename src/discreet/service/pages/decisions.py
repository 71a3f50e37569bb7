"""What waits for a curator's decision, and the decision itself."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Response

from discreet.errors import DiscreetError, NotFoundError
from discreet.service.access.roles import Role
from discreet.service.pages.budgets import standing
from discreet.service.pages.forms import filled
from discreet.service.pages.home import MOST_WAITING
from discreet.service.pages.requests import request_facts
from discreet.service.pages.visit import Visit, go, seated
from discreet.service.schemas import DecisionIn
from discreet.service.use_cases import decisions, requests

router = APIRouter()

Curator = Annotated[Visit, seated(Role.CURATOR)]


@router.get("/inbox")
def show_inbox(visit: Curator) -> Response:
    """Show the requests that wait, the oldest first, with what is left for each."""
    found = requests.listed(visit.context, visit.who, state="waiting", limit=MOST_WAITING, oldest_first=True)
    waiting = [{"asked": one, "standing": standing(visit, one.dataset, one.project)} for one in found]
    return visit.page("inbox", waiting=waiting)


@router.post("/requests/{id}/approval")
def approve_request(visit: Curator, id: str) -> Response:
    """Approve the text that was read; its cost is charged."""
    return _decide(visit, id, decisions.approve, "approved")


@router.post("/requests/{id}/rejection")
def reject_request(visit: Curator, id: str) -> Response:
    """Reject a request; nothing is charged."""
    return _decide(visit, id, decisions.reject, "rejected")


def _decide(visit: Visit, id_: str, verb: Callable[..., Any], said: str) -> Response:
    try:
        given = filled(DecisionIn, sha256=visit.form.get("sha256"), comment=visit.form.get("comment"))
        verb(visit.context, visit.who, id_, given.sha256, given.comment)
    except NotFoundError:
        raise
    except DiscreetError as error:
        return visit.again(error, "request", **request_facts(visit, id_))
    return go(f"/requests/{id_}", said=said)
