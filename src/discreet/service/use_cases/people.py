"""Accounts, projects and keys."""

from dataclasses import asdict

from discreet import workflow
from discreet.errors import ForbiddenError
from discreet.service.access.digests import hash_password, sealed
from discreet.service.access.roles import Principal, Role
from discreet.service.clock import now
from discreet.service.context import Context
from discreet.service.schemas import KeyIn, KeyOut, MembersIn, MeOut, ProjectOut, UserChange, UserIn, UserOut
from discreet.service.store import audit, keys, users

KEY_PREFIX = "dk"
_DAY_S = 86_400


def me(context: Context, who: Principal) -> MeOut:
    """Return who is asking.

    With their projects.
    """
    with context.database.read() as connection:
        return MeOut(name=who.name, role=who.role, projects=users.projects_of(connection, who.name))


def accounts(context: Context) -> list[UserOut]:
    """Return all accounts.

    By name.
    """
    with context.database.read() as connection:
        return [UserOut(**asdict(one)) for one in users.every(connection)]


def add_account(context: Context, by: str, given: UserIn) -> UserOut:
    """Make an account.

    With its password, when it was made here: it is shown this once.
    """
    made = None if given.password or given.subject else workflow.token(10)
    password = given.password or made
    hashed = None if password is None else hash_password(password)
    with context.database.write() as connection:
        user = users.add(connection, given.name, given.role, given.shown or given.name, hashed, given.subject)
        audit.note(connection, by, "add user", user.name, role=user.role.value)
    return UserOut(**asdict(user), password=made)


def change_account(context: Context, who: Principal, name: str, change: UserChange) -> UserOut:
    """Change an account; its sessions end, and its keys with a new role or password.

    As it stands.
    """
    if name == who.name and (change.disabled or change.role not in (None, Role.ADMIN)):
        raise ForbiddenError("An admin must be left, so nobody may disable or demote themselves. Ask another admin.")
    password = None if change.password is None else hash_password(change.password)
    with context.database.write() as connection:
        user = users.change(connection, name, disabled=change.disabled, role=change.role, password=password)
        told = {"disabled": change.disabled, "role": change.role, "password": change.password is not None or None}
        audit.note(connection, who.name, "change user", name, **{k: v for k, v in told.items() if v is not None})
    return UserOut(**asdict(user))


def projects(context: Context, who: Principal) -> list[ProjectOut]:
    """Return the projects that somebody sees: analysts their own.

    By name.
    """
    with context.database.read() as connection:
        found = users.all_projects(connection)
    return [ProjectOut(name=n, members=m) for n, m in found.items() if who.role is not Role.ANALYST or who.name in m]


def set_members(context: Context, who: Principal, project: str, given: MembersIn) -> ProjectOut:
    """Make a project, or change who belongs to it.

    As it stands.
    """
    with context.database.write() as connection:
        users.set_members(connection, project, given.members)
        audit.note(connection, who.name, "set members", project, members=given.members[:50])
        return ProjectOut(name=project, members=users.project(connection, project))


def make_key(context: Context, who: Principal, given: KeyIn) -> KeyOut:
    """Make a key of one's own; one that a key makes ends with it at the latest.

    With the key itself: it is shown this once, and kept as a digest.
    """
    id_, secret = workflow.token(5), workflow.token()
    digest = sealed(context.settings.secret, "key", id_, secret)
    ends = now(given.days * _DAY_S)
    with context.database.write() as connection:
        made = keys.add_key(connection, id_, who.name, given.label, digest, min(ends, who.until or ends))
        audit.note(connection, who.name, "make key", id_)
    return KeyOut(**asdict(made), key=f"{KEY_PREFIX}_{id_}_{secret}")


def listed_keys(context: Context, who: Principal) -> list[KeyOut]:
    """Return one's keys; an admin's are everybody's.

    Without the keys themselves.
    """
    with context.database.read() as connection:
        return [KeyOut(**asdict(one)) for one in keys.keys_of(connection, _whose(who))]


def revoke_key(context: Context, who: Principal, id_: str) -> KeyOut:
    """Revoke a key of one's own; an admin may revoke any.

    As it stands.
    """
    with context.database.write() as connection:
        found = keys.revoke(connection, id_, _whose(who))
        audit.note(connection, who.name, "revoke key", id_)
    return KeyOut(**asdict(found))


def _whose(who: Principal) -> str | None:
    return None if who.role is Role.ADMIN else who.name
