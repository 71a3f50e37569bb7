"""Transactions on the ledger's database: short, durable, and with errors in one line."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, NoResultFound, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from discreet.errors import BudgetError
from discreet.ledger import migrate
from discreet.ledger.location import resolve, unreachable

BUSY_S = 60.0
"""How long a transaction waits for others before it gives up, in seconds."""


_OPTIONS: dict[bool, dict[str, Any]] = {
    True: {"connect_args": {"timeout": BUSY_S}},
    # Each statement sees what was committed before it: enough, as every writer first locks the head.
    False: {"isolation_level": "READ COMMITTED"},
}


class Store:
    """An open ledger database.

    Parameters
    ----------
    location : str, Path or None
        As `Ledger` takes it.

    Raises
    ------
    BudgetError
        When no ledger can be opened or created there.
    """

    def __init__(self, location: str | Path | None) -> None:
        place = resolve(location)
        self.shown = place.shown
        self.is_default = place.is_default
        is_sqlite = place.url.get_backend_name() == "sqlite"
        try:
            # No pool: nothing is held open that a forked child could share.
            self._engine = create_engine(place.url, poolclass=NullPool, **_OPTIONS[is_sqlite])
        except ImportError:
            raise unreachable(self.shown, "it needs `pip install 'discreet[postgres]'`") from None
        if is_sqlite:
            _prepare_sqlite(self._engine)
        self._bring_up_to_date()

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a reading transaction.

        Yields
        ------
        Connection
            In a transaction.

        Raises
        ------
        BudgetError
            When the database cannot be read.
        """
        with self._transaction(write=False) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a writing transaction, committed to disk at the end or undone by any exception.

        Yields
        ------
        Connection
            In a transaction; on SQLite no other can write meanwhile.

        Raises
        ------
        BudgetError
            When the database cannot be written.
        """
        with self._transaction(write=True) as connection:
            yield connection

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[Connection]:
        try:
            with self._begin(write=write) as connection:
                yield connection
                connection.commit()
        except (DBAPIError, NoResultFound) as error:
            raise unreachable(self.shown, _reason(error)) from None

    def _begin(self, *, write: bool) -> Connection:
        deadline = time.monotonic() + BUSY_S
        while True:
            try:
                connection = self._engine.connect()
                try:
                    connection.execution_options(discreet_write=write).begin()
                except BaseException:
                    connection.close()
                    raise
            except OperationalError as error:
                # SQLite does not wait while another process recovers or removes the write-ahead log.
                if "locked" not in str(error.orig) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return connection

    def _bring_up_to_date(self) -> None:
        with self.read() as connection:
            if migrate.revision_of(connection) == migrate.HEAD:
                return
        with self.write() as connection:
            try:
                migrate.upgrade(connection)
            except BudgetError as error:
                raise BudgetError(f"{error} Found at ledger={self.shown!r}.") from None
        self._prefer_write_ahead_log()

    def _prefer_write_ahead_log(self) -> None:
        if self._engine.dialect.name != "sqlite":
            return
        # Without it, as on some network folders, readers wait for writers; nothing else changes.
        with suppress(SQLAlchemyError, sqlite3.Error), self._engine.connect() as connection:
            connection.connection.cursor().execute("PRAGMA journal_mode=WAL")


def _prepare_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        # The driver would begin transactions by its own rules, and too late.
        connection.isolation_level = None
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("discreet_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _reason(error: SQLAlchemyError) -> str:
    cause = getattr(error, "orig", None)
    lines = str(cause).splitlines() if cause is not None else []
    return lines[0][:200].rstrip(".") if lines else "a row that it needs is missing"
