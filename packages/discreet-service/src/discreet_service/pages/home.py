"""The first page: what each role looks for first."""

from typing import Annotated, Any

from fastapi import APIRouter, Response

from discreet.errors import DiscreetError
from discreet_service.access.roles import EVERYONE, READERS, Role
from discreet_service.pages.budgets import budget_of
from discreet_service.pages.titles import titled_targets
from discreet_service.pages.visit import Visit, signed_in
from discreet_service.use_cases import datasets, oversight, people, permissions, requests

router = APIRouter()

LATEST = 6
MOST_WAITING = 200


@router.get("/")
def show_home(visit: Annotated[Visit, signed_in(*EVERYONE)]) -> Response:
    """Show what each role looks for first."""
    context, who = visit.context, visit.who
    facts: dict[str, Any] = {
        "datasets": [],
        "requests": [],
        "n_waiting": 0,
        "audit_entries": [],
        "head": "",
        "users": [],
    }
    facts |= {"me": people.me(context, who), "health": None}
    if who.role in READERS:
        facts["datasets"] = with_budgets(visit)
        facts["requests"] = requests.list_visible(context, who, limit=LATEST)
        facts["targets"] = titled_targets(visit, facts["requests"])
    if who.role is Role.CURATOR:
        facts["n_waiting"] = len(requests.list_visible(context, who, state="waiting", limit=MOST_WAITING))
    if who.role in (Role.AUDITOR, Role.ADMIN):
        facts["audit_entries"] = oversight.audit_entries(context, visit.who, None, LATEST)
    if who.role is Role.AUDITOR:
        facts["head"] = oversight.head(context)
    if who.role is Role.ADMIN:
        facts |= {"users": people.accounts(context), "health": _health(visit)}
    return visit.page("home", **facts)


def with_budgets(visit: Visit) -> list[dict[str, Any]]:
    """Return the data sets that somebody sees, each with its `budget`, None where there is no cap yet."""
    return [
        {"dataset": datasets.dataset_out(dataset, visit.who), "budget": budget_of(visit, dataset.name)}
        for dataset in permissions.open_datasets(visit.context, visit.who)
    ]


def _health(visit: Visit) -> str:
    try:
        return oversight.health(visit.context)["status"]
    except DiscreetError as error:
        return str(error)
