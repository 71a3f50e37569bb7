"""Brings a set of tables to the revision that this version knows."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, column, func, inspect, select, table

from discreet.errors import DiscreetError

VERSION_TABLES = frozenset({"ledger_version", "service_version"})
"""Of all sets of tables that may share one file. Not Alembic's usual name: a server may hold other programs' tables."""

# Alembic keeps the migration under way in a global.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Migrations:
    """A set of tables, and the steps that lead to its newest revision.

    Parameters
    ----------
    folder : Path
        Alembic's folder, whose env.py calls `discreet.database.environment.run`.
    version_table : str
        Table that holds the revision found; one of `VERSION_TABLES`.
    head : str
        The newest revision; compared first, so that Alembic is imported only when there is something to do.
    lock : int
        Number of the advisory lock that one migration at a time holds on PostgreSQL.
    tables : tuple of str
        Names of the tables.
    """

    folder: Path
    version_table: str
    head: str
    lock: int
    tables: tuple[str, ...]

    def revision_of(self, connection: Connection) -> str | None:
        """Return the revision that a database holds, or None when it holds no such tables."""
        if not inspect(connection).has_table(self.version_table):
            return None
        return connection.execute(select(column("version_num")).select_from(table(self.version_table))).scalar()

    def upgrade(self, connection: Connection, refuse: Callable[[str], DiscreetError]) -> None:
        """Create or migrate the tables inside the caller's transaction; do nothing when they are current."""
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(self.lock)))
        revision = self.revision_of(connection)
        if revision == self.head:
            return
        if revision is None and connection.dialect.name == "sqlite":
            held = set(inspect(connection).get_table_names())
            if held and not held & VERSION_TABLES:
                raise refuse("it must be a database file of its own, but this one holds other tables")
        self._run(connection, revision, refuse)

    def _run(self, connection: Connection, revision: str | None, refuse: Callable[[str], DiscreetError]) -> None:
        with _ONE_AT_A_TIME, _quiet():
            # Costly to import, and needed once in a database's life.
            from alembic import command
            from alembic.config import Config
            from alembic.util import CommandError

            config = Config(attributes={"connection": connection, "version_table": self.version_table})
            config.set_main_option("script_location", str(self.folder).replace("%", "%%"))
            try:
                command.upgrade(config, "head")
            except CommandError:
                raise refuse(
                    f"it must be of revision {self.head} or older, but its revision={str(revision)[:40]!r}: "
                    "a newer Discreet wrote it, so upgrade this one"
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
