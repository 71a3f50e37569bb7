"""Accounts, projects and keys."""

from typing import Annotated

from fastapi import APIRouter, Request

from discreet_service.access.guard import GuardedRoute, allow, context_of
from discreet_service.access.roles import EVERYONE, READERS, Principal, Role
from discreet_service.fields import Id, Name
from discreet_service.schemas import KeyIn, KeyOut, MembersIn, MeOut, ProjectOut, UserChange, UserIn, UserOut
from discreet_service.use_cases import people

router = APIRouter(route_class=GuardedRoute, tags=["people"])

Anyone = Annotated[Principal, allow(*EVERYONE)]
Reader = Annotated[Principal, allow(*READERS)]
Curator = Annotated[Principal, allow(Role.CURATOR)]
Admin = Annotated[Principal, allow(Role.ADMIN)]


@router.get("/me")
def read_me(request: Request, who: Anyone) -> MeOut:
    """Read who you are to the service."""
    return people.me(context_of(request), who)


@router.get("/users")
def list_users(request: Request, who: Annotated[Principal, allow(Role.ADMIN, Role.CURATOR)]) -> list[UserOut]:
    """List all accounts."""
    del who
    return people.accounts(context_of(request))


@router.post("/users", status_code=201)
def add_user(request: Request, who: Admin, body: UserIn) -> UserOut:
    """Make an account; a password that is made here is shown this once."""
    return people.add_account(context_of(request), who.name, body)


@router.patch("/users/{name}")
def change_user(request: Request, who: Admin, name: Name, body: UserChange) -> UserOut:
    """Change an account: its sessions end; a disabled one loses its keys."""
    return people.change_account(context_of(request), who, name, body)


@router.get("/projects")
def list_projects(request: Request, who: Reader) -> list[ProjectOut]:
    """List projects and their members: analysts see their own."""
    return people.projects(context_of(request), who)


@router.put("/projects/{name}")
def set_members(request: Request, who: Curator, name: Name, body: MembersIn) -> ProjectOut:
    """Make a project, or change who belongs to it."""
    return people.set_members(context_of(request), who, name, body)


@router.get("/keys")
def list_keys(request: Request, who: Anyone) -> list[KeyOut]:
    """List your keys; an admin sees everybody's."""
    return people.list_keys(context_of(request), who)


@router.post("/keys", status_code=201)
def make_key(request: Request, who: Anyone, body: KeyIn) -> KeyOut:
    """Make a key of your own: it is shown this once."""
    return people.make_key(context_of(request), who, body, request.state.admit_again)


@router.delete("/keys/{id}")
def revoke_key(request: Request, who: Anyone, id: Id) -> KeyOut:
    """Revoke a key of your own; an admin may revoke any."""
    return people.revoke_key(context_of(request), who, id)
