"""Turns: one process at a time, held by the system or the server, which end them with the process."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

_TRY_S = 0.1
"""Between two looks at a turn that another one has, in seconds."""


@contextmanager
def file_turn(path: str, say_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold an empty file, of which nothing is left; `told` is called once where it is another's."""
    handle = None
    try:
        with suppress(OSError):  # a folder without locks, or that of somebody else: everybody enters
            handle = _wait(lambda: _try_file(path), say_waiting)
        yield
    finally:
        if handle is not None:
            with suppress(OSError):
                os.unlink(path)
            os.close(handle)


@contextmanager
def server_turn(connection: Connection, name: str, say_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a lock of PostgreSQL for as long as a connection lives; `told` is called once where it is another's."""
    key = int.from_bytes(bytes.fromhex(name)[:8], signed=True)
    _wait(lambda: connection.execute(select(func.pg_try_advisory_lock(key))).scalar() or None, say_waiting)
    try:
        yield
    finally:
        with suppress(SQLAlchemyError):  # a connection that is gone holds nothing
            connection.execute(select(func.pg_advisory_unlock(key)))


def _wait(look: Callable[[], int | None], say_waiting: Callable[[], None]) -> int:
    held = look()
    if held is None:
        say_waiting()
    while held is None:
        time.sleep(_TRY_S)
        held = look()
    return held


def _try_file(path: str) -> int | None:
    """Return a handle on the locked file, or None while another one has it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.stat(path)):
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass  # whoever had it has removed it: then this is a file that nobody else will find
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None
