"""Servers of the tests' own: started for them alone, and gone with them."""

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import make_url

USER = "discreet"
SETTINGS = {"listen_addresses": "", "max_connections": "200", "shared_buffers": "16MB"}


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
    """Run PostgreSQL on a socket of its own until the end of the block, or of this process."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    chosen = {**SETTINGS, "unix_socket_directories": folder, "fsync": "on" if fsync else "off"}
    settings = [f"--{name}={value}" for name, value in chosen.items()]
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, _other_user().pw_name)
        _run("initdb", "-D", folder / "data", "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                _command("postgres", "-D", folder / "data", *settings), stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        try:
            _wait_for(server, folder)
            yield Postgres(folder)
        finally:
            server.send_signal(signal.SIGQUIT)
            server.wait(timeout=60)
    finally:
        shutil.rmtree(folder)


def _wait_for(server: subprocess.Popen[bytes], folder: Path) -> None:
    for _ in range(600):
        assert server.poll() is None, (folder / "log").read_text()
        if subprocess.run(_command("pg_isready", "-q", "-h", folder), check=False).returncode == 0:
            return
        time.sleep(0.1)
    pytest.fail((folder / "log").read_text())


def _run(command: str, *words: str | Path) -> None:
    done = subprocess.run(
        _command(command, *words), capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd="/", check=False
    )
    assert done.returncode == 0, done.stderr


def _command(command: str, *words: str | Path) -> list[str | Path]:
    """Return one of the server's programs, run as the user that owns its files, and no longer than this process."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{command}")) or [shutil.which(command)]
    if found[-1] is None:
        pytest.fail(f"These tests need PostgreSQL's server, but {command} is missing: apt-get install postgresql")
    user, other = _other_user(), []
    if os.geteuid() == 0:
        other = ["--reuid", user.pw_name, "--regid", str(user.pw_gid), "--clear-groups"]
    return ["setpriv", *other, "--pdeathsig", "QUIT", found[-1], *words]


def _other_user() -> pwd.struct_passwd:
    """Find whom the server runs as in place of root, which it refuses."""
    users = {user.pw_name: user for user in pwd.getpwall()}
    return users["postgres" if "postgres" in users else "nobody"]
