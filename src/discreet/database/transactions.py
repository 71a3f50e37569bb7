"""An open database: reading and writing transactions."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, NoResultFound, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from sqlalchemy.pool import NullPool, QueuePool

from discreet.database.durability import make_durable, prepare_sqlite
from discreet.database.location import Unreachable, resolve
from discreet.database.patience import Wait, waiting
from discreet.database.revisions import Migrations
from discreet.database.turns import file_turn, server_turn

BUSY_S = 60.0
"""How long a transaction waits for others before it gives up, in seconds."""

_TRY_S = 0.5
"""How long SQLite waits at a time for a lock: between two tries, an interruption is heard."""

_OPTIONS: dict[bool, dict[str, Any]] = {
    True: {"connect_args": {"timeout": BUSY_S}},
    # Each statement sees what was committed before it: enough, as every writer first locks what it decides on.
    False: {"isolation_level": "READ COMMITTED"},
}
_POOLS: dict[bool, dict[str, Any]] = {
    # Nothing is held open that a forked child could share.
    False: {"poolclass": NullPool},
    # As many as a web server has threads; a connection that the server closed meanwhile is replaced.
    True: {
        "poolclass": QueuePool,
        "pool_size": 8,
        "max_overflow": 56,
        "pool_timeout": BUSY_S,
        "pool_pre_ping": True,
    },
}


class Database:
    """An open database, its tables at the newest revision.

    Parameters
    ----------
    location : str or Path
        A path, or an SQLAlchemy URL of SQLite or PostgreSQL; tables are created where there are none.
    migrations : Migrations
        The tables.
    unreachable : callable
        Makes the error that a database which cannot be used raises: from its place and a reason.
    pooled : bool
        Keep connections open between transactions, for a process that serves for long and never forks.

    Raises
    ------
    DiscreetError
        What `unreachable` makes, here and in every transaction.

    Notes
    -----
    Threads may share it. A transaction may not open another one: on SQLite it would wait for itself.
    """

    called = "database"

    def __init__(
        self, location: str | Path, migrations: Migrations, *, unreachable: Unreachable, pooled: bool = False
    ) -> None:
        place = resolve(location, unreachable)
        self.shown = place.shown
        self._unreachable = unreachable
        self._tables = migrations.tables
        self._joined: Connection | None = None
        self.place = place.key
        self._is_sqlite = place.url.get_backend_name() == "sqlite"
        try:
            self._engine = create_engine(place.url, **_OPTIONS[self._is_sqlite], **_POOLS[pooled])
        except ImportError:
            raise unreachable(self.shown, "it needs `pip install 'discreet[postgres]'`") from None
        if self._is_sqlite:
            _prepare_sqlite(self._engine)
        self._bring_up_to_date(migrations)

    @property
    def awaited(self) -> str:
        """What whoever waits for a lock is told."""
        return f"Waiting for the {self.called} {self.shown}, which another program has locked."

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a reading transaction, which sees one moment of the database."""
        if self._joined is not None:
            yield self._joined
            return
        with self._transaction(write=False) as connection:
            yield connection

    def joined(self, connection: Connection) -> Self:
        """Return this database at the moment that a reading transaction sees: it reads there, and writes nothing.

        The connection may be that of another set of tables in the same place; it serves its own thread alone.
        """
        database = copy(self)
        database._joined = connection
        return database

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a writing transaction, committed to disk or undone by any exception; SQLite allows one at a time."""
        if self._joined is not None:
            raise RuntimeError("A reading transaction is open, so nothing can be written.")
        with self._transaction(write=True) as connection:
            yield connection

    @contextmanager
    def turn(self, name: str, say_waiting: Callable[[], None]) -> Iterator[None]:
        """Let one process or thread at a time into what bears a name, a SHA-256 in hexadecimal digits.

        The operating system or the server holds the turn, so that a process that dies lets go of it. Where neither can,
        as on some network folders, everybody enters.
        """
        turns = (
            file_turn(f"{self.place}.{name[:32]}.turn", say_waiting)
            if self._is_sqlite
            else self._server_turn(name, say_waiting)
        )
        with turns:
            yield

    @contextmanager
    def _server_turn(self, name: str, say_waiting: Callable[[], None]) -> Iterator[None]:
        with ExitStack() as stack:
            with suppress(SQLAlchemyError):  # whatever needs the server next says so
                options = self._engine.execution_options(isolation_level="AUTOCOMMIT")
                stack.enter_context(server_turn(stack.enter_context(options.connect()), name, say_waiting))
            yield

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[Connection]:
        try:
            with self._begin(write=write) as connection:
                if write and (problem := make_durable(connection, self._tables)):
                    raise self._unreachable(self.shown, problem)
                yield connection
                connection.commit()
        except (DBAPIError, NoResultFound, NoFreeConnection) as error:
            raise self._unreachable(self.shown, _reason(error)) from None

    def _begin(self, *, write: bool) -> Connection:
        options: dict[str, Any] = {"discreet_write": write}
        if not (write or self._is_sqlite):
            # SQLite does so by itself.
            options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        wait = Wait(self.awaited, BUSY_S)
        with waiting():
            while True:
                try:
                    return self._begun(options)
                except OperationalError as error:
                    # SQLite does not wait while another process recovers or removes the write-ahead log.
                    if "locked" not in str(error.orig) or not wait.goes_on():
                        raise
                    time.sleep(0.02)

    def _begun(self, options: dict[str, Any]) -> Connection:
        connection = self._engine.connect()
        try:
            connection.execution_options(**options).begin()
        except BaseException:
            connection.close()
            raise
        return connection

    def _bring_up_to_date(self, migrations: Migrations) -> None:
        with self.read() as connection:
            if migrations.revision_of(connection) == migrations.head:
                return
        with self.write() as connection:
            migrations.upgrade(connection, lambda reason: self._unreachable(self.shown, reason))
        self._prefer_write_ahead_log()

    def _prefer_write_ahead_log(self) -> None:
        if not self._is_sqlite:
            return
        # Without it, as on some network folders, readers wait for writers; nothing else changes.
        with suppress(SQLAlchemyError, sqlite3.Error), self._engine.connect() as connection:
            connection.connection.cursor().execute("PRAGMA journal_mode=WAL")


def _prepare_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        # The driver would begin transactions by its own rules, and too late.
        connection.isolation_level = None
        prepare_sqlite(connection)
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("discreet_write")
        connection.exec_driver_sql(f"PRAGMA query_only={'OFF' if writes else 'ON'}")
        connection.exec_driver_sql(f"PRAGMA busy_timeout={round(1000 * min(_TRY_S, BUSY_S))}")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
        if not writes:
            connection.exec_driver_sql("SELECT 1 FROM sqlite_master LIMIT 1")  # locks, which BEGIN alone does not
        connection.exec_driver_sql(f"PRAGMA busy_timeout={round(1000 * BUSY_S)}")


def _reason(error: SQLAlchemyError) -> str:
    if isinstance(error, NoResultFound):
        return "a row that it needs is missing"
    lines = str(getattr(error, "orig", None) or error).splitlines()
    return lines[0][:200].rstrip(".") if lines else "it failed"
