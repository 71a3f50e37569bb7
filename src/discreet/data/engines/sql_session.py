"""A session on a PostgreSQL server: read-only, cancelled on request, and silent about what it reads."""

import os
import re
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode

import pyarrow as pa
from typing_extensions import override

from discreet.data.engines.each import interruptible
from discreet.errors import DataMismatchError, InvalidParameterError

SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")
DEFAULTS = {
    "connect_timeout": "10",  # seconds
    # A server that is gone is noticed within a minute.
    "keepalives_idle": "20",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "fallback_application_name": "discreet",
}
_BEGIN = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET LOCAL row_security = off",  # a policy is an error then, and no filter
    "SET LOCAL lock_timeout = '60s'",
    "SET LOCAL client_encoding = 'UTF8'",
    "SET LOCAL client_min_messages = 'error'",  # the library writes others to standard error
    "SET LOCAL jit = off",
)
"""No SELECT is among them: the first one fixes the state that the transaction sees, and must come after its locks."""
_TIMEOUTS = (
    "SELECT name FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) ANY "
    "('{statement_timeout,transaction_timeout,idle_in_transaction_session_timeout}'::pg_catalog.text[])"
)
"""One unit's rows, or a long cell, must not decide whether a limit of the role's ends a pass."""
_BATCH_BYTES = "adbc.postgresql.batch_size_hint_bytes"


@dataclass(frozen=True)
class Address:
    """Where a database is, and what opens it.

    Parameters
    ----------
    url : str
        ``postgresql://user:password@host:port/database?options``, also ``postgres://`` and ``postgresql+psycopg://``;
        what it leaves out comes from the environment, as for every client of PostgreSQL.

    Notes
    -----
    The address holds a secret: it is never shown, nor is what the library says of it.
    """

    url: str

    @override
    def __repr__(self) -> str:
        return "Address(...)"

    @property
    def libpq(self) -> str:
        """What the library opens."""
        after_user = self._after_user
        option_names = {name for name, _ in self._options()}
        defaults = {name: value for name, value in DEFAULTS.items() if name not in option_names}
        if os.environ.get("PGCONNECT_TIMEOUT"):
            defaults.pop("connect_timeout", None)
        separator = "?" if "?" not in after_user else "" if after_user.endswith(("?", "&")) else "&"
        return f"postgresql://{self._user}{after_user}{separator}{urlencode(defaults)}"

    @property
    def place(self) -> str:
        """Host and port, without user and password."""
        hosts = unquote(re.split(r"[/?]", self._after_user, maxsplit=1)[0]).lower()
        options = dict(self._options())
        host = options.get("host") or options.get("hostaddr") or hosts
        port = options.get("port")
        service = options.get("service") or os.environ.get("PGSERVICE")
        if not host and service:
            return f"service={service}"
        host = host or os.environ.get("PGHOST") or os.environ.get("PGHOSTADDR") or "localhost"
        if re.search(r":[0-9]+$", host) and port is None:
            return host
        return f"{host}:{port or os.environ.get('PGPORT') or '5432'}"

    @property
    def _user(self) -> str:
        """Return user and password, as the library splits them off: up to the first @, if no slash precedes it."""
        match = re.match(r"[^@/]*@", self.url.partition("://")[2])
        return match[0] if match else ""

    @property
    def _after_user(self) -> str:
        """Return host, port, database and options."""
        return self.url.partition("://")[2].removeprefix(self._user)

    def _options(self) -> list[tuple[str, str]]:
        return parse_qsl(self._after_user.partition("?")[2])


class Session:
    """An open read-only transaction: all statements see the database as it was at the first SELECT.

    Parameters
    ----------
    connection : adbc_driver_manager.dbapi.Connection
        With its transaction begun.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._is_open, self._ending = True, threading.Lock()

    def rows(self, statement: str, values: Sequence[str | int] = ()) -> list[tuple[Any, ...]]:
        """Run a statement, and return all rows of its result."""
        return interruptible(partial(self._rows, statement, tuple(values) or None), self.cancel)

    def _rows(self, statement: str, values: tuple[str | int, ...] | None) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall()) if cursor.description else []

    def stream(self, statement: str, batch_bytes: int) -> Generator[pa.RecordBatch]:
        """Run a statement, and yield its result in batches as they come."""
        with self._connection.cursor(adbc_stmt_kwargs={_BATCH_BYTES: str(batch_bytes)}) as cursor:
            interruptible(partial(cursor.execute, statement), self.cancel)
            reader = iter(cursor.fetch_record_batch())
            while (batch := interruptible(partial(next, reader, None), self.cancel)) is not None:
                yield batch

    def cancel(self) -> None:
        """End the statement that another thread runs; it raises an error there."""
        with self._ending, suppress(Exception):
            if self._is_open:
                self._connection.adbc_cancel()

    def close(self) -> None:
        """Close the connection, whatever it was doing; nothing can be cancelled from then on."""
        with self._ending, suppress(Exception):  # it may be lost
            self._is_open = False
            self._connection.close()


@contextmanager
def session(address: Address) -> Iterator[Session]:
    """Connect, and begin a read-only transaction that no policy filters; close it at the end of the block."""
    library = _library()
    opened = Session(_connected(library, address))
    try:
        timeouts = [f"SET LOCAL {name} = 0" for (name,) in opened.rows(_TIMEOUTS)]
        for statement in (*_BEGIN, *timeouts):
            opened.rows(statement)
        yield opened
    except (library.Error, OSError, pa.ArrowException):  # their texts could show a cell
        raise DataMismatchError(
            "PostgreSQL must answer to the end, but it refused a statement or the connection was lost. Check that the "
            "table is still there, that this role may read it, and the server's log."
        ) from None
    finally:
        opened.close()


def _library() -> Any:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise InvalidParameterError(
            "To read a table in PostgreSQL its driver must be installed, but it is not. "
            "Do: pip install 'discreet[postgres]'"
        ) from None
    return dbapi


def _connected(library: Any, address: Address) -> Any:
    try:
        return library.connect(address.libpq, autocommit=True)
    except (library.Error, OSError, ValueError) as error:
        reason = _reason(str(error))
    # Neither address nor error: both can hold the password.
    raise InvalidParameterError(f"PostgreSQL cannot be reached: {reason}")


def _reason(message: str) -> str:
    """Return the cause of the library's error, whose text is not shown."""
    for words, reason in _REASONS.items():
        if re.search(words, message):
            return reason
    return "no connection could be made. Check host, port, database, user and password of the address."


_REASONS = {
    "password|SCRAM|authentication|pg_hba": (
        "it refused the user or the password. Check the user in the address, and PGPASSWORD or ~/.pgpass."
    ),
    "database .* does not exist": "there is no such database. Check the address.",
    "role .* does not exist": "there is no such role. Check the user in the address.",
    "translate host name": "no host has the address's name. Check it.",
    "timeout expired|timed out": "the server did not answer in time. Check the address and the network.",
    "refused|No such file": "no server listens there. Check host and port of the address.",
}
