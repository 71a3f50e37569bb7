"""Accounts, for admins."""

from typing import Annotated, Any

from fastapi import APIRouter, Response

from discreet import workflow
from discreet.errors import DiscreetError, InvalidParameterError, NotFoundError
from discreet_service.access.roles import Role
from discreet_service.pages.forms import validated
from discreet_service.pages.visit import Visit, redirect, signed_in
from discreet_service.schemas import UserChange, UserIn, UserOut
from discreet_service.use_cases import people

router = APIRouter()

Admin = Annotated[Visit, signed_in(Role.ADMIN)]


@router.get("/users")
def list_users(visit: Admin) -> Response:
    """List all accounts."""
    return visit.page("users", **_facts(visit))


@router.post("/users")
def add_user(visit: Admin) -> Response:
    """Make an account; its password is shown this once."""
    try:
        fields = {name: visit.form.get(name) for name in ("name", "role", "shown", "subject")}
        account = people.add_account(visit.context, visit.who.name, validated(UserIn, **fields))
    except DiscreetError as error:
        return visit.page_with_error(error, "users", **_facts(visit))
    return visit.page("users", 201, **_facts(visit, account))


@router.post("/users/{name}")
def change_user(visit: Admin, name: str) -> Response:
    """Change an account's role, disable or enable it, or give it a new password that is shown this once."""
    try:
        change = _change(visit)
        changed = people.change_account(visit.context, visit.who, name, change)
    except NotFoundError:
        raise
    except DiscreetError as error:
        return visit.page_with_error(error, "users", **_facts(visit))
    if change.password is None:
        return redirect("/users", said="changed")
    return visit.page("users", **_facts(visit, changed.model_copy(update={"password": change.password})))


def _change(visit: Visit) -> UserChange:
    action = visit.form.get("change")
    if action == "role":
        return validated(UserChange, role=visit.form.get("role"))
    changes: dict[str, dict[str, Any]] = {
        "disable": {"disabled": True},
        "enable": {"disabled": False},
        "password": {"password": workflow.token()},
    }
    if action not in changes:
        raise InvalidParameterError(f"change must be role or one of {', '.join(changes)}, but it is another.")
    return validated(UserChange, **changes[action])


def _facts(visit: Visit, new_user: UserOut | None = None) -> dict[str, Any]:
    return {
        "users": people.accounts(visit.context),
        "roles": [role.value for role in Role],
        "new_user": new_user,
        "form": visit.form,
    }
