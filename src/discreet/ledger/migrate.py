"""Brings a ledger's tables to the revision that this version knows."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, column, func, inspect, select, table

from discreet.errors import BudgetError

HEAD = "0002"
"""The newest revision; compared first, so that Alembic is imported only when there is something to do."""

VERSION_TABLE = "ledger_version"
"""Not Alembic's usual name: a server's database may hold other programs' tables."""

MIGRATIONS = Path(__file__).with_name("migrations")
"""Folder of the migrations."""

_LOCK = 0x64697363

# Alembic keeps the migration under way in a global.
_ONE_AT_A_TIME = threading.Lock()


def revision_of(connection: Connection) -> str | None:
    """Return the revision that a database holds.

    Parameters
    ----------
    connection : Connection
        Any connection to it.

    Returns
    -------
    str or None
        None when it holds no ledger.
    """
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(select(column("version_num")).select_from(table(VERSION_TABLE))).scalar()


def upgrade(connection: Connection) -> None:
    """Create or migrate the tables inside the caller's transaction; do nothing when they are current.

    Parameters
    ----------
    connection : Connection
        In a writing transaction: another process that creates the same ledger waits for it.

    Raises
    ------
    BudgetError
        When the database belongs to something else, or to a newer version.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    found = revision_of(connection)
    if found == HEAD:
        return
    if found is None and connection.dialect.name == "sqlite" and inspect(connection).get_table_names():
        raise BudgetError(
            "A ledger must have a database file of its own, but this one holds other tables. "
            "Give another path; a new ledger is created there."
        )
    _run(connection, found)


def _run(connection: Connection, found: str | None) -> None:
    with _ONE_AT_A_TIME, _quiet():
        # Costly to import, and needed once in a ledger's life.
        from alembic import command
        from alembic.config import Config
        from alembic.util import CommandError

        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        try:
            command.upgrade(config, "head")
        except CommandError:
            raise BudgetError(
                f"A ledger must be of revision {HEAD} or older, but its revision={str(found)[:40]!r}. "
                "A newer Discreet wrote it: upgrade this one."
            ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("alembic")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
