"""Requests: listed, read, made anew, withdrawn; a request's page follows what becomes of it."""

from typing import Annotated, Any, get_args

from fastapi import APIRouter, Query, Response

from discreet.errors import DiscreetError, InvalidParameterError, NotFoundError
from discreet.release import canonical_sha256
from discreet_service.access.roles import READERS, Role
from discreet_service.api.paging import Cursor, parse_cursor, split_page
from discreet_service.call_limits import simulations
from discreet_service.codes import MEANING
from discreet_service.fields import State
from discreet_service.pages import plan_form
from discreet_service.pages.budgets import remaining_budget
from discreet_service.pages.odds import Odds, odds_of
from discreet_service.pages.outlook_text import outlook_text
from discreet_service.pages.plans import plan_page
from discreet_service.pages.titles import titled_target, titled_targets
from discreet_service.pages.visit import Visit, redirect, signed_in
from discreet_service.problems import public_message
from discreet_service.schemas import RequestOut
from discreet_service.store.requests import Request
from discreet_service.use_cases import outlooks, permissions, requests

router = APIRouter()

Reader = Annotated[Visit, signed_in(*READERS)]
Analyst = Annotated[Visit, signed_in(Role.ANALYST)]

STATES = get_args(State)
OPEN = ("waiting", "approved", "running")
"""States in which a request's page polls for the next one."""

_PAGE_SIZE = 50


@router.get("/requests")
def list_requests(visit: Reader, state: Annotated[str, Query(max_length=20)] = "", cursor: Cursor = None) -> Response:
    """List the requests that are open, the newest first."""
    if state not in ("", *STATES):
        raise InvalidParameterError(f"state must be one of {', '.join(STATES)}. Leave it out for all.")
    rows = requests.list_visible(
        visit.context, visit.who, state=state or None, before=parse_cursor(cursor), limit=_PAGE_SIZE + 1
    )
    items, following = split_page(rows, [row.seq for row in rows], _PAGE_SIZE)
    targets = titled_targets(visit, items)
    return visit.page("requests", requests=items, targets=targets, state=state, states=STATES, following=following)


@router.post("/requests")
def make_request(visit: Analyst) -> Response:
    """Make the request that a plan has become; the same form sent twice makes it once."""
    try:
        body = plan_form.request_in(visit.form)
        # One form stands for one request a text: sent twice it makes one, changed and sent again another.
        key = canonical_sha256([visit.form.get("nonce"), body.model_dump(mode="json")])
        created, _ = requests.submit(visit.context, visit.who, body, key)
    except NotFoundError:
        raise
    except DiscreetError as error:
        return plan_page(visit, visit.form, error)
    return redirect(f"/requests/{created.id}", said="asked")


@router.get("/requests/{id}")
@simulations
def show_request(visit: Reader, id: str, accuracy: Annotated[str, Query(max_length=3)] = "") -> Response:
    """Show a request: its exact text, its cost, its worst-case odds, and what becomes of it."""
    return visit.page("request", **request_facts(visit, id, tells_outlook=accuracy == "yes"))


@router.get("/requests/{id}/state")
def poll_request(
    visit: Reader, id: str, shown_state: Annotated[str, Query(alias="seen", max_length=20)] = ""
) -> Response:
    """Tell a page that is open whether it is still what it shows."""
    request = permissions.open_request(visit.context, visit.who, id)
    return Response(status_code=204) if request.state == shown_state else Response(headers={"HX-Refresh": "true"})


@router.get("/requests/{id}/outlook")
@simulations
def show_outlook(visit: Reader, id: str) -> Response:
    """Show how well a request can be expected to do, as a part of its page."""
    request = permissions.open_request(visit.context, visit.who, id)
    return visit.page("part_outlook", outlook=_outlook(visit, request))


@router.post("/requests/{id}/withdrawal")
def withdraw_request(visit: Analyst, id: str) -> Response:
    """Take a request back that does not run yet."""
    try:
        requests.withdraw(visit.context, visit.who, id)
    except NotFoundError:
        raise
    except DiscreetError as error:
        return visit.page_with_error(error, "request", **request_facts(visit, id))
    return redirect(f"/requests/{id}", said="withdrawn")


@router.get("/requests/{id}/revision")
def show_revision(visit: Analyst, id: str) -> Response:
    """Show the plan of a request, to change it."""
    request = permissions.open_request(visit.context, visit.who, id)
    return plan_page(visit, plan_form.form_of(request.content), revises=id)


@router.post("/requests/{id}/revision")
def revise_request(visit: Analyst, id: str) -> Response:
    """Change a request that waits."""
    try:
        requests.revise(visit.context, visit.who, id, plan_form.request_in(visit.form))
    except NotFoundError:
        raise
    except DiscreetError as error:
        return plan_page(visit, visit.form, error, revises=id)
    return redirect(f"/requests/{id}", said="revised")


def request_facts(visit: Visit, id_: str, *, tells_outlook: bool = False) -> dict[str, Any]:
    """Return the variables of the template `request`."""
    row = permissions.open_request(visit.context, visit.who, id_)
    request = requests.request_out(visit.context, row)
    is_curator = visit.who.role is Role.CURATOR
    return {
        "request": request,
        "target": titled_target(visit, request.dataset, request.content["target"]),
        "text": plan_form.json_text(request.content),
        "is_open": request.state in OPEN,
        "is_own": request.by == visit.who.name,
        "decides": is_curator and request.state == "waiting" and request.by != visit.who.name,
        "meaning": MEANING.get(request.code or "", ""),
        "detail": _detail(visit, request) if is_curator and request.state == "failed" else None,
        "remaining": remaining_budget(visit, request.dataset, request.project),
        "odds": _odds(visit, request),
        "outlook": _outlook(visit, row) if tells_outlook and request.state == "waiting" else None,
        "slot_s": _slot_s(visit, request.dataset),
        "form": visit.form,
    }


def _outlook(visit: Visit, request: Request) -> dict[str, Any]:
    """Return the expected accuracy of a request; its odds stand elsewhere."""
    facts: dict[str, Any] = {"error": None, "is_early": False, "odds": None, "command": None}
    try:
        outlook = outlooks.outlook_of(visit.context, visit.who, request)
        epsilon, target = float(request.content["parameters"]["epsilon"]), request.content["target"]
        return {**facts, "text": outlook_text(outlook, epsilon, target)}
    except DiscreetError as error:
        return {**facts, "error": public_message(error)}


def _odds(visit: Visit, request: RequestOut) -> Odds | None:
    """Return the worst-case odds of a request that somebody decides on."""
    if request.state != "waiting" or request.is_free:
        return None
    try:
        metadata = permissions.open_dataset(visit.context, visit.who, request.dataset).metadata
    except NotFoundError:  # no longer open to its analyst
        return None
    remaining = remaining_budget(visit, request.dataset, request.project)
    facts = request.epsilon, request.delta, metadata["unit"], metadata["neighboring"]
    return odds_of(*facts, None if remaining is None else remaining.budget)


def _detail(visit: Visit, request: RequestOut) -> str | None:
    try:
        return requests.detail(visit.context, request.id)
    except NotFoundError:
        return None


def _slot_s(visit: Visit, dataset: str) -> int | None:
    try:
        return permissions.open_dataset(visit.context, visit.who, dataset).slot_s
    except NotFoundError:  # no longer open to its analyst
        return None
