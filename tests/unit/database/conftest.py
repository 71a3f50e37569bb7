"""A set of tables of the tests' own, on a file and on a server."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.servers import Postgres

from discreet.database import Database, Migrations, Unreachable
from discreet.errors import PolicyError

STEP = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "{revision}", {before!r}


def upgrade():
    op.create_table("desk_{revision}", sa.Column("word", sa.String(20), unique=True))
"""
ENVIRONMENT = """
from discreet.database.environment import run

if __name__ == "env_py":
    run()
"""


def unreachable(shown: str, reason: str) -> PolicyError:
    """Make the error of these tests' databases."""
    return PolicyError(f"The desk must be open, but desk={shown!r}: {reason}.")


@pytest.fixture(name="unreachable")
def _unreachable() -> Unreachable:
    """Give the tests that error."""
    return unreachable


@pytest.fixture
def desks(tmp_path: Path) -> Callable[[int], Migrations]:
    """Tables with so many revisions."""

    def migrations(count: int) -> Migrations:
        folder = tmp_path / f"100% of {count}"
        (folder / "versions").mkdir(parents=True)
        (folder / "env.py").write_text(ENVIRONMENT)
        revisions = [f"{number:04}" for number in range(1, count + 1)]
        for before, revision in zip([None, *revisions], revisions, strict=False):
            step = STEP.format(revision=revision, before=before)
            (folder / "versions" / f"{revision}.py").write_text(step)
        tables = tuple(f"desk_{revision}" for revision in revisions)
        return Migrations(folder, "service_version", revisions[-1], 1, ("service_version", *tables))

    return migrations


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """Where a database can be: a file, and then a server."""
    if request.param == "sqlite":
        yield tmp_path / "desk.sqlite"
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    url = postgres()
    yield url
    postgres.drop(url)


@pytest.fixture
def open_at() -> Iterator[Callable[..., Database]]:
    """Open a database anywhere; it is closed with the test."""
    made: list[Database] = []

    def open_database(place: Path | str, migrations: Migrations, *, pooled: bool = False) -> Database:
        made.append(Database(place, migrations, unreachable=unreachable, pooled=pooled))
        return made[-1]

    yield open_database
    for database in made:
        database.close()


@pytest.fixture
def opened(
    place: Path | str, desks: Callable[[int], Migrations], open_at: Callable[..., Database]
) -> Callable[..., Database]:
    """Open the database of the test, with one table."""
    return functools.partial(open_at, place, desks(1))
