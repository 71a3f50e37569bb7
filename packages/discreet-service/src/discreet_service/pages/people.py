"""Projects with their members, and one's own keys."""

from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel

from discreet.errors import ConflictError, DiscreetError
from discreet_service.access.roles import EVERYONE, READERS, Role
from discreet_service.fields import Name
from discreet_service.pages.forms import validated
from discreet_service.pages.visit import Visit, redirect, signed_in
from discreet_service.schemas import KeyIn, MembersIn
from discreet_service.use_cases import people

router = APIRouter()

Anyone = Annotated[Visit, signed_in(*EVERYONE)]
Reader = Annotated[Visit, signed_in(*READERS)]
Curator = Annotated[Visit, signed_in(Role.CURATOR)]


class _Project(BaseModel):
    name: Name


@router.get("/projects")
def list_projects(visit: Reader) -> Response:
    """List projects and their members."""
    return visit.page("projects", **_projects(visit))


@router.post("/projects")
def set_members(visit: Curator) -> Response:
    """Make a project, or change who belongs to it."""
    try:
        name = validated(_Project, name=visit.form.get("project")).name
        if "new" in visit.form and any(project.name == name for project in people.projects(visit.context, visit.who)):
            raise ConflictError(f"A new project must have a new name, but there is one called {name!r}. Change it.")
        members = MembersIn(members=visit.form.every("members"))
        people.set_members(visit.context, visit.who, name, members)
    except DiscreetError as error:
        return visit.page_with_error(error, "projects", **_projects(visit))
    return redirect("/projects", said="members")


@router.get("/keys")
def list_keys(visit: Anyone) -> Response:
    """List one's keys; an admin sees everybody's."""
    return visit.page("keys", **_keys(visit), new_key=None)


@router.post("/keys")
def make_key(visit: Anyone) -> Response:
    """Make a key, and show it this once."""
    try:
        body = validated(KeyIn, label=visit.form.get("label"), days=visit.form.get("days"))
        new_key = people.make_key(visit.context, visit.who, body, visit.request.state.admit_again)
    except DiscreetError as error:
        return visit.page_with_error(error, "keys", **_keys(visit), new_key=None)
    return visit.page("keys", 201, **_keys(visit), new_key=new_key)


@router.post("/keys/{id}/revocation")
def revoke_key(visit: Anyone, id: str) -> Response:
    """Revoke a key."""
    people.revoke_key(visit.context, visit.who, id)
    return redirect("/keys", said="revoked")


def _projects(visit: Visit) -> dict[str, Any]:
    accounts = people.accounts(visit.context) if visit.who.role is Role.CURATOR else []
    projects = people.projects(visit.context, visit.who)
    members = {name for project in projects for name in project.members}
    return {
        "projects": projects,
        "people": [
            account
            for account in accounts
            if account.name in members or (account.role is Role.ANALYST and not account.disabled)
        ],
        "form": visit.form,
    }


def _keys(visit: Visit) -> dict[str, Any]:
    return {"keys": people.list_keys(visit.context, visit.who), "form": visit.form}
