"""Projects with their members, and one's own keys."""

from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel

from discreet.errors import ConflictError, DiscreetError
from discreet.service.access.roles import READERS, Role
from discreet.service.pages.forms import filled
from discreet.service.pages.visit import Visit, anyone, go, seated
from discreet.service.schemas import KeyIn, MembersIn, Name
from discreet.service.use_cases import people

router = APIRouter()

Anyone = Annotated[Visit, anyone()]
Reader = Annotated[Visit, anyone(READERS)]
Curator = Annotated[Visit, seated(Role.CURATOR)]


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
        name = filled(_Project, name=visit.form.get("project")).name
        if "new" in visit.form and any(one.name == name for one in people.projects(visit.context, visit.who)):
            raise ConflictError(f"A new project must have a new name, but there is one called {name!r}. Change it.")
        members = MembersIn(members=visit.form.every("members"))
        people.set_members(visit.context, visit.who, name, members)
    except DiscreetError as error:
        return visit.again(error, "projects", **_projects(visit))
    return go("/projects", said="members")


@router.get("/keys")
def list_keys(visit: Anyone) -> Response:
    """List one's keys; an admin sees everybody's."""
    return visit.page("keys", **_keys(visit), made=None)


@router.post("/keys")
def make_key(visit: Anyone) -> Response:
    """Make a key, and show it this once."""
    try:
        given = filled(KeyIn, label=visit.form.get("label"), days=visit.form.get("days"))
        made = people.make_key(visit.context, visit.who, given)
    except DiscreetError as error:
        return visit.again(error, "keys", **_keys(visit), made=None)
    return visit.page("keys", 201, **_keys(visit), made=made)


@router.post("/keys/{id}/revocation")
def revoke_key(visit: Anyone, id: str) -> Response:
    """Revoke a key."""
    people.revoke_key(visit.context, visit.who, id)
    return go("/keys", said="revoked")


def _projects(visit: Visit) -> dict[str, Any]:
    accounts = people.accounts(visit.context) if visit.who.role is Role.CURATOR else []
    projects = people.projects(visit.context, visit.who)
    members = {name for project in projects for name in project.members}
    return {
        "projects": projects,
        "people": [one for one in accounts if one.name in members or (one.role is Role.ANALYST and not one.disabled)],
        "form": visit.form,
    }


def _keys(visit: Visit) -> dict[str, Any]:
    return {"keys": people.listed_keys(visit.context, visit.who), "form": visit.form}
