"""Where a ledger lives: a file or a database server."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from discreet.errors import BudgetError

ENVIRONMENT = "DISCREET_LEDGER"
"""Environment variable that names the default ledger."""

FILE_NAME = "discreet.sqlite"
"""Name of the default ledger in the user's data folder."""


@dataclass(frozen=True)
class Location:
    """A resolved location.

    Parameters
    ----------
    url : URL
        What SQLAlchemy opens; a file's path is absolute.
    shown : str
        As messages call it, without a password.
    is_default : bool
        Whether it was left out, so that commands need not name it.
    """

    url: URL
    shown: str
    is_default: bool


def resolve(location: str | Path | None) -> Location:
    """Find out where a ledger is, and that it can be there.

    Parameters
    ----------
    location : str, Path or None
        A path, an SQLAlchemy URL of SQLite or PostgreSQL, or None for the default.

    Returns
    -------
    Location
        Where it is.

    Raises
    ------
    BudgetError
        When no ledger can be there.
    """
    is_default = location is None
    if location is None:
        location = os.environ.get(ENVIRONMENT) or _default_file()
    if isinstance(location, str) and re.match(r"[A-Za-z][A-Za-z0-9+]*://", location):
        return _from_url(location, is_default)
    return _from_path(Path(location), str(location), is_default)


def unreachable(shown: str, reason: str) -> BudgetError:
    """Return the error that a ledger which cannot be used raises.

    Parameters
    ----------
    shown : str
        The location, for people.
    reason : str
        What is wrong, in a few words.

    Returns
    -------
    BudgetError
        With one line of text.
    """
    return BudgetError(
        f"The ledger must be readable and writable, but ledger={shown[:300]!r}: {reason}. "
        "Nothing is computed without a ledger; give another place with --ledger."
    )


def _default_file() -> Path:
    folder = Path(platformdirs.user_data_dir("discreet"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unreachable(str(folder / FILE_NAME), _reason(error)) from None
    return folder / FILE_NAME


def _from_url(text: str, is_default: bool) -> Location:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise unreachable("...", "it is no URL of the form postgresql://user@host/name") from None
    shown = url.render_as_string(hide_password=True)
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:" or url.database.startswith("file:") or url.query:
            raise unreachable(shown, "it must be a plain file on disk, such as sqlite:///ledger.sqlite")
        return _from_path(Path(url.database), shown, is_default)
    if url.get_backend_name() == "postgresql":
        if url.drivername == "postgresql":
            url = url.set(drivername="postgresql+psycopg")
        return Location(url, shown, is_default)
    raise unreachable(shown, "it must be a path, or a URL that begins with sqlite:// or postgresql://")


def _from_path(path: Path, shown: str, is_default: bool) -> Location:
    try:
        reason = _file_problem(path)
        absolute = path.absolute()
    except (OSError, ValueError) as error:
        reason = _reason(error)
    if reason:
        raise unreachable(shown, reason)
    return Location(URL.create("sqlite", database=str(absolute)), shown, is_default)


def _file_problem(path: Path) -> str | None:
    # Looks without opening: closing a second handle on the file would drop the locks that SQLite holds for
    # other threads of this process.
    if "\0" in str(path) or path.name in ("", ".."):
        return "it must be the path of a file"
    if path.exists():
        if not path.is_file():
            return "it is not a regular file"
        return None if os.access(path, os.R_OK | os.W_OK) else "permission denied"
    if not path.parent.is_dir():
        return "its folder does not exist"
    return None if os.access(path.parent, os.W_OK) else "its folder cannot be written"


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or "it is no path").lower()
