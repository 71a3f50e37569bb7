"""Accounts, projects and keys."""

from collections.abc import Callable
from dataclasses import asdict, replace

from discreet import workflow
from discreet.errors import ForbiddenError
from discreet_service.access.digests import hash_password, keyed_digest
from discreet_service.access.roles import Principal, Role
from discreet_service.clock import now
from discreet_service.context import Context
from discreet_service.schemas import KeyIn, KeyOut, MembersIn, MeOut, ProjectOut, UserChange, UserIn, UserOut
from discreet_service.store import audit, keys, users

AdmitAgain = Callable[[Context], object]
"""Refuses who may not call any more, by what a moment of the database says."""

KEY_PREFIX = "dk"
_DAY_S = 86_400


def me(context: Context, who: Principal) -> MeOut:
    """Return who is asking, with their projects."""
    with context.database.read() as connection:
        return MeOut(name=who.name, role=who.role, projects=users.projects_of(connection, who.name))


def accounts(context: Context) -> list[UserOut]:
    """Return all accounts by name."""
    with context.database.read() as connection:
        return [UserOut(**asdict(user)) for user in users.find_all(connection)]


def add_account(context: Context, by: str, body: UserIn) -> UserOut:
    """Make an account; a password that is made here is shown this once."""
    new_password = None if body.password or body.subject else workflow.token(10)
    password = body.password or new_password
    password_hash = None if password is None else hash_password(password)
    with context.database.write() as connection:
        user = users.add(connection, body.name, body.role, body.shown or body.name, password_hash, body.subject)
        audit.record(connection, by, "add user", user.name, role=user.role.value)
    return UserOut(**asdict(user), password=new_password)


def change_account(context: Context, who: Principal, name: str, change: UserChange) -> UserOut:
    """Change an account; its sessions end, and its keys with a new role or password."""
    if name == who.name and (change.disabled or change.role not in (None, Role.ADMIN)):
        raise ForbiddenError("An admin must be left, so nobody may disable or demote themselves. Ask another admin.")
    password = None if change.password is None else hash_password(change.password)
    with context.database.write() as connection:
        user = users.change(connection, name, disabled=change.disabled, role=change.role, password=password)
        changes = {"disabled": change.disabled, "role": change.role, "password": change.password is not None or None}
        audit.record(
            connection,
            who.name,
            "change user",
            name,
            **{field: value for field, value in changes.items() if value is not None},
        )
    return UserOut(**asdict(user))


def projects(context: Context, who: Principal) -> list[ProjectOut]:
    """Return the projects that somebody sees by name: analysts their own."""
    with context.database.read() as connection:
        members_by_project = users.all_projects(connection)
    return [
        ProjectOut(name=name, members=members)
        for name, members in members_by_project.items()
        if who.role is not Role.ANALYST or who.name in members
    ]


def set_members(context: Context, who: Principal, project: str, body: MembersIn) -> ProjectOut:
    """Make a project, or change who belongs to it."""
    with context.database.write() as connection:
        users.set_members(connection, project, body.members)
        audit.record(connection, who.name, "set members", project, members=body.members[:50])
        return ProjectOut(name=project, members=users.members_of(connection, project))


def make_key(context: Context, who: Principal, body: KeyIn, admit_again: AdmitAgain | None = None) -> KeyOut:
    """Make a key of one's own, which is shown this once, for who is admitted still when no key can change any more."""
    id_, secret = workflow.token(5), workflow.token()
    digest = keyed_digest(context.settings.secret, "key", id_, secret)
    with context.database.write() as connection:
        keys.lock_keys(connection)
        if admit_again is not None:
            admit_again(replace(context, database=context.database.joined(connection)))
        key = keys.add_key(connection, id_, who, body.label, digest, now(body.days * _DAY_S))
        audit.record(connection, who.name, "make key", id_)
    return KeyOut(**asdict(key), key=f"{KEY_PREFIX}_{id_}_{secret}")


def list_keys(context: Context, who: Principal) -> list[KeyOut]:
    """Return one's keys without their secrets; an admin's are everybody's."""
    with context.database.read() as connection:
        return [KeyOut(**asdict(key)) for key in keys.keys_of(connection, _whose(who))]


def revoke_key(context: Context, who: Principal, id_: str) -> KeyOut:
    """Revoke a key of one's own; an admin may revoke any."""
    with context.database.write() as connection:
        key = keys.revoke(connection, id_, _whose(who))
        audit.record(connection, who.name, "revoke key", id_)
    return KeyOut(**asdict(key))


def _whose(who: Principal) -> str | None:
    return None if who.role is Role.ADMIN else who.name
