"""Accounts, and the projects that they belong to."""

from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from discreet.errors import ConflictError, NotFoundError
from discreet_service.access.roles import Role
from discreet_service.clock import now
from discreet_service.store.names import fold_name, lock_table
from discreet_service.store.schema import keys, members, projects, sessions, users


@dataclass(frozen=True)
class User:
    """An account."""

    name: str  # what it signs in with
    role: Role
    shown: str  # the person's name
    subject: str | None  # what single sign-on calls the person
    disabled: bool
    created: str


_PROJECTS = select(members.c.project).where(members.c.user == bindparam("name")).order_by(members.c.project)


def find(connection: Connection, name: str) -> User:
    """Return an account."""
    row = connection.execute(select(users).where(users.c.name == name)).mappings().one_or_none()
    if row is None:
        raise NotFoundError(f"An account must exist, but there is none called {name[:100]!r}.")
    return _user(row)


def credentials(connection: Connection, name: str) -> tuple[User, str | None] | None:
    """Return an account that may sign in, with its password's hash; None when there is none."""
    row = connection.execute(select(users).where(users.c.name == name, ~users.c.disabled)).mappings().one_or_none()
    return None if row is None else (_user(row), row["password"])


def find_by_subject(connection: Connection, subject: str) -> User | None:
    """Return the account that single sign-on calls so, if it may sign in."""
    rows = connection.execute(select(users).where(users.c.subject == subject, ~users.c.disabled)).mappings()
    row = rows.one_or_none()
    return None if row is None else _user(row)


def find_all(connection: Connection) -> list[User]:
    """Return all accounts by name."""
    return [_user(row) for row in connection.execute(select(users).order_by(users.c.name)).mappings()]


def add(connection: Connection, name: str, role: Role, shown: str, password: str | None, subject: str | None) -> User:
    """Add an account."""
    lock_table(connection, users)
    similar = [
        other for other in connection.execute(select(users.c.name)).scalars() if fold_name(other) == fold_name(name)
    ]
    if similar and similar != [name]:
        raise ConflictError(
            f"The names of accounts must differ by more than case, but {name!r} is like {similar[0]!r}. Choose another."
        )
    row = {"name": name, "role": role.value, "shown": shown, "password": password, "subject": subject}
    try:
        connection.execute(insert(users).values(**row, disabled=False, created=now()))
    except IntegrityError:
        raise ConflictError(f"An account must be new, but the name or subject of {name!r} is taken.") from None
    return find(connection, name)


def change(
    connection: Connection,
    name: str,
    *,
    disabled: bool | None = None,
    role: Role | None = None,
    password: str | None = None,
) -> User:
    """Change an account, and end its sessions; a new role or password, or none, ends its keys too."""
    find(connection, name)
    changes = {"disabled": disabled, "role": None if role is None else role.value, "password": password}
    values = {column: value for column, value in changes.items() if value is not None}
    if values:
        connection.execute(update(users).where(users.c.name == name).values(**values))
    connection.execute(delete(sessions).where(sessions.c.user == name))
    if disabled or role is not None or password is not None:
        connection.execute(update(keys).where(keys.c.user == name, keys.c.revoked.is_(None)).values(revoked=now()))
    return find(connection, name)


def projects_of(connection: Connection, name: str) -> list[str]:
    """Return the projects that an account belongs to."""
    return list(connection.execute(_PROJECTS, {"name": name}).scalars())


def all_projects(connection: Connection) -> dict[str, list[str]]:
    """Return every project with its members."""
    names_by_project: dict[str, list[str]] = {
        name: [] for name in connection.execute(select(projects.c.name)).scalars()
    }
    for row in connection.execute(select(members).order_by(members.c.user)):
        names_by_project[row.project].append(row.user)
    return dict(sorted(names_by_project.items()))


def members_of(connection: Connection, name: str) -> list[str]:
    """Return the members of a project."""
    names = all_projects(connection).get(name)
    if names is None:
        raise NotFoundError(f"A project must exist, but there is none called {name[:100]!r}.")
    return names


def set_members(connection: Connection, project: str, names: list[str]) -> None:
    """Make a project, or change who belongs to it."""
    for name in names:
        find(connection, name)
    try:
        if connection.execute(select(projects).where(projects.c.name == project)).one_or_none() is None:
            connection.execute(insert(projects).values(name=project, created=now()))
        connection.execute(delete(members).where(members.c.project == project))
        if names:
            connection.execute(insert(members), [{"project": project, "user": name} for name in dict.fromkeys(names)])
    except IntegrityError:
        raise ConflictError(f"A project must be changed by one at a time, but {project!r} is not. Try again.") from None


def _user(row: RowMapping) -> User:
    columns = {name: row[name] for name in ("name", "shown", "subject", "disabled", "created")}
    return User(role=Role(row["role"]), **columns)
