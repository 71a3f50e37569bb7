"""The ledger's database: its place, its tables, and the error when it cannot be used."""

import os
import shlex
from pathlib import Path

import platformdirs

from discreet.database import Database, Migrations
from discreet.errors import UnreachableError
from discreet.ledger.schema import metadata

ENVIRONMENT = "DISCREET_LEDGER"
"""Environment variable that names the default ledger."""

FILE_NAME = "discreet.sqlite"
"""Name of the default ledger in the user's data folder."""

MIGRATIONS = Migrations(
    Path(__file__).with_name("migrations"), "ledger_version", "0004", 0x64697363, ("ledger_version", *metadata.tables)
)
"""The tables of the ledger."""


class Store(Database):
    """An open ledger database.

    Parameters
    ----------
    location : str, Path or None
        As `Ledger` takes it.
    pooled : bool
        As `Ledger` takes it.

    Raises
    ------
    BudgetError
        When no ledger can be opened or created there.
    """

    called = "ledger"

    def __init__(self, location: str | Path | None, *, pooled: bool = False) -> None:
        self.is_default = location is None
        if location is None:
            location = os.environ.get(ENVIRONMENT) or _default_file()
        super().__init__(location, MIGRATIONS, unreachable=unreachable, pooled=pooled)

    def command(self, *words: str) -> str:
        """Return a command on this ledger, as a shell takes it."""
        named = () if self.is_default else ("--ledger", self.shown)
        return shlex.join(["discreet", "budget", *words, *named])


LOCKED = "database is locked"
"""What SQLite says where another program holds the file for longer than a writer waits."""


def unreachable(shown: str, reason: str) -> UnreachableError:
    """Return the error for a ledger that cannot be used, in one line of text."""
    if reason == LOCKED:
        return UnreachableError(
            f"The ledger {shown[:300]!r} is in use: another program kept it locked for a minute. Wait until that "
            "program has ended, then ask again; another ledger would be a second budget."
        )
    return UnreachableError(
        f"The ledger {shown[:300]} cannot be opened: {reason}. "
        "Nothing is computed without a ledger; give another place with --ledger."
    )


def _default_file() -> Path:
    folder = Path(platformdirs.user_data_dir("discreet"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or "it cannot be made").lower()
        raise unreachable(str(folder / FILE_NAME), reason) from None
    return folder / FILE_NAME
