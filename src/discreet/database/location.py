"""Where a database lives: a file or a server."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from discreet.errors import DiscreetError

Unreachable = Callable[[str, str], DiscreetError]
"""Makes the error of a database that cannot be used, from its place as people know it and a reason in a few words."""


@dataclass(frozen=True)
class Location:
    """A resolved location.

    Parameters
    ----------
    url : URL
        What SQLAlchemy opens; a file's path is absolute.
    shown : str
        As messages call it, without a password.
    """

    url: URL
    shown: str

    @property
    def key(self) -> str:
        """The same for all ways to write a file's path; without a password."""
        if self.url.get_backend_name() == "sqlite":
            return os.path.realpath(str(self.url.database))
        return self.url.render_as_string(hide_password=True)


def resolve(location: str | Path, unreachable: Unreachable) -> Location:
    """Return where a database is, or refuse a place where it cannot be."""
    if isinstance(location, str) and re.match(r"[A-Za-z][A-Za-z0-9+]*://", location):
        return _from_url(location, unreachable)
    return _from_path(Path(location), str(location), unreachable)


def _from_url(text: str, unreachable: Unreachable) -> Location:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise unreachable("...", "it is no URL of the form postgresql://user@host/name") from None
    shown = url.render_as_string(hide_password=True)
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:" or url.database.startswith("file:") or url.query:
            raise unreachable(shown, "it must be a plain file on disk, such as sqlite:///discreet.sqlite")
        return _from_path(Path(url.database), shown, unreachable)
    if url.get_backend_name() == "postgresql":
        if url.drivername == "postgresql":
            url = url.set(drivername="postgresql+psycopg")
        return Location(url, shown)
    raise unreachable(shown, "it must be a path, or a URL that begins with sqlite:// or postgresql://")


def _from_path(path: Path, shown: str, unreachable: Unreachable) -> Location:
    try:
        reason = _file_problem(path)
        absolute = path.absolute()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "it is no path").lower()
    if reason:
        raise unreachable(shown, reason)
    return Location(URL.create("sqlite", database=str(absolute)), shown)


def _file_problem(path: Path) -> str | None:
    # Looks without opening: closing a second handle on the file would drop the locks that SQLite holds for
    # other threads of this process.
    if "\0" in str(path) or path.name in ("", "..", ":memory:"):
        return "it must be the path of a file"
    if path.exists():
        if not path.is_file():
            return "it is not a regular file"
        return None if os.access(path, os.R_OK | os.W_OK) else "permission denied"
    if not path.parent.is_dir():
        return "its folder does not exist"
    return None if os.access(path.parent, os.W_OK) else "its folder cannot be written"
