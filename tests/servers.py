"""Servers of the tests' own: started for them alone, and gone with them."""

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.programs import need, path_of

USER = "discreet"
SETTINGS = {"listen_addresses": "", "max_connections": "200", "shared_buffers": "16MB"}
MEMORY = Path("/dev/shm")  # noqa: S108


class Postgres:
    """A PostgreSQL server: call it for a database.

    Parameters
    ----------
    folder : Path
        Holds its files and its socket.
    settings : mapping
        What differs from the server's own, by name.
    """

    def __init__(self, folder: Path, settings: Mapping[str, object]) -> None:
        self._folder = folder
        chosen = {**SETTINGS, **settings, "unix_socket_directories": folder}
        options = [f"--{name}={value}" for name, value in chosen.items()]
        self._command = _command("postgres", "-D", folder / "data", *options)
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

    def start(self) -> None:
        """Run it, and wait until it answers."""
        with (self._folder / "log").open("ab") as log:
            self._server = subprocess.Popen(self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        for _ in range(3000):
            assert self._server.poll() is None, (self._folder / "log").read_text()
            if subprocess.run(_command("pg_isready", "-q", "-h", self._folder), check=False).returncode == 0:
                return
            time.sleep(0.02)
        pytest.fail((self._folder / "log").read_text())

    def stop(self) -> None:
        """End it."""
        self._server.send_signal(signal.SIGQUIT)
        self._server.wait(timeout=60)

    def crash(self) -> None:
        """Kill all of its processes at once, as a crash does: what they have not written is lost."""
        pid = self._server.pid
        processes = [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._server.wait(timeout=60)
        while any(_is_alive(process) for process in processes):  # a new server waits for the old one's memory
            time.sleep(0.001)

    def _run(self, command: str, *words: str) -> None:
        _run(command, "-h", self._folder, "-U", USER, *words)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Start PostgreSQL on a socket of its own, its files in memory where there is room: a ledger refuses one that does
    not wait for the disk, and this disk is quick.
    """
    with running_postgres(on_disk=False) as server:
        yield server


@contextmanager
def running_postgres(*, on_disk: bool, **settings: object) -> Iterator[Postgres]:
    """Run PostgreSQL on a socket of its own until the end of the block, or of this process."""
    need("initdb")
    in_memory = not on_disk and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 2**31
    folder = Path(tempfile.mkdtemp(prefix="postgres-", dir=MEMORY if in_memory else None))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, _other_user().pw_name)
        _run("initdb", "-D", folder / "data", "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        server = Postgres(folder, settings)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def _is_alive(process: int) -> bool:
    """Tell whether a process still holds anything."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def _run(command: str, *words: str | Path) -> None:
    done = subprocess.run(
        _command(command, *words), capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd="/", check=False
    )
    assert done.returncode == 0, done.stderr


def _command(command: str, *words: str | Path) -> list[str | Path]:
    """Return one of the server's programs, run as the user that owns its files, and no longer than this process."""
    user, other = _other_user(), []
    if os.geteuid() == 0:
        other = ["--reuid", user.pw_name, "--regid", str(user.pw_gid), "--clear-groups"]
    return ["setpriv", *other, "--pdeathsig", "QUIT", path_of(command) or command, *words]


def _other_user() -> pwd.struct_passwd:
    """Find whom the server runs as in place of root, which it refuses."""
    users = {user.pw_name: user for user in pwd.getpwall()}
    return users["postgres" if "postgres" in users else "nobody"]
