"""Servers of the tests' own: started for them alone, and gone with them."""

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import make_url

USER = "discreet"
SETTINGS = {"listen_addresses": "''", "max_connections": "200", "shared_buffers": "16MB"}


class Postgres:
    """A running PostgreSQL server: call it for a database.

    Parameters
    ----------
    folder : Path
        Holds its files and its socket.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()

    def __call__(self, like: str | None = None) -> str:
        """Make a database, empty or the copy of one that nobody has open, and return its URL."""
        name = f"tests_{next(self._numbers)}"
        template = "template0" if like is None else make_url(like).database
        self._run("createdb", "-T", template, name)
        return f"postgresql+psycopg://{USER}@/{name}?host={self._folder}"

    def drop(self, url: str) -> None:
        """Remove a database, whoever has it open: each takes 8 megabytes."""
        self._run("dropdb", "--force", make_url(url).database)

    def _run(self, command: str, *words: str) -> None:
        _run(command, "-h", self._folder, "-U", USER, *words)


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """Start PostgreSQL on a socket of its own.

    The fixture's parameter is the server's ``fsync``: tests in which the machine itself might die need it, all others
    are quicker without.
    """
    with running_postgres(fsync=bool(getattr(request, "param", False))) as found:
        yield found


@contextmanager
def running_postgres(*, fsync: bool) -> Iterator[Postgres]:
    """Run PostgreSQL on a socket of its own until the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    chosen = {**SETTINGS, "fsync": "on" if fsync else "off"}
    settings = " ".join(f"-c {name}={value}" for name, value in chosen.items())
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, _other_user())
        _run("initdb", "-D", folder / "data", "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        _run("pg_ctl", "-D", folder / "data", "-l", folder / "log", "-o", f"-k {folder} {settings}", "-w", "start")
        try:
            yield Postgres(folder)
        finally:
            _run("pg_ctl", "-D", folder / "data", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _run(command: str, *words: str | Path) -> None:
    """Run one of the server's programs as the user that owns its files."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{command}")) or [shutil.which(command)]
    if found[-1] is None:
        pytest.fail(f"These tests need PostgreSQL's server, but {command} is missing: apt-get install postgresql")
    other = ["runuser", "-u", _other_user(), "--"] if os.geteuid() == 0 else []
    # With a pipe instead of a file the server that it leaves behind would keep it open.
    with tempfile.TemporaryFile() as said:
        done = subprocess.run(
            [*other, found[-1], *words], stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd="/", check=False
        )
        said.seek(0)
        assert done.returncode == 0, said.read().decode()


def _other_user() -> str:
    """Name whom the server runs as in place of root, which it refuses."""
    names = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"
