"""What a commit survives: a crash of the machine, and other names of the file, whatever the database's settings say."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection, text

_EXTRA = 3
_JOURNALS = ("wal", "delete", "truncate", "persist")
"""Where SQLite keeps a journal on disk."""

_SERVER = text("""
SELECT
  set_config('synchronous_commit',
    CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true),
  current_setting('fsync') AS fsync,
  current_setting('full_page_writes') AS full_page_writes,
  (SELECT string_agg(relname, ', ' ORDER BY relname) FROM pg_class
    WHERE relpersistence <> 'p' AND oid IN (SELECT to_regclass(name) FROM unnest(CAST(:tables AS text[])) AS name)
  ) AS unlogged
""")
# Weaker values come from the owner of a database or role, and an answer would be out before its charge is on disk;
# with 'local' and 'remote_write' a standby that takes over may lack it. Only remote_apply is stronger than on.


def prepare_sqlite(connection: sqlite3.Connection) -> None:
    """Have SQLite wait for the disk at each commit; a connection keeps no such setting from an earlier one."""
    # FULL is not enough without a write-ahead log: if the machine dies, the removal of the journal is undone, and the
    # journal then undoes the commit.
    connection.execute("PRAGMA synchronous=EXTRA")


def make_durable(connection: Connection, tables: Sequence[str]) -> str | None:
    """Have the current transaction wait for the disk when it commits; return why that cannot be, with the remedy."""
    return _sqlite_problem(connection) if connection.dialect.name == "sqlite" else _server_problem(connection, tables)


def _sqlite_problem(connection: Connection) -> str | None:
    if (shared := _shared_by(str(connection.engine.url.database))) is not None:
        return f"it {shared}, and what is written by one name may not be seen by another"
    if connection.exec_driver_sql("PRAGMA synchronous").scalar() != _EXTRA:
        return "SQLite does not wait for the disk, so a crash would undo what was written"
    journal = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
    if journal not in _JOURNALS:
        return f"it has journal_mode={journal}, so a crash would damage it: use another file system, or PostgreSQL"
    return None


def _shared_by(path: str) -> str | None:
    """Return how a file has a further name, under which SQLite keeps a write-ahead log of its own; None if it has none.

    Where a file alone is mounted, its log lies elsewhere than the file, and may be gone with a container.
    """
    with suppress(OSError):
        if os.stat(path).st_nlink > 1:
            return "has a hard link: remove it, or keep a copy in its place"
    with suppress(OSError):  # elsewhere than on Linux
        place = os.fsencode(os.path.realpath(path)).replace(b"\\", rb"\134").replace(b" ", rb"\040")
        if place in (line.split()[4] for line in Path("/proc/self/mountinfo").read_bytes().splitlines()):
            return "is mounted by itself: mount the folder that it is in"
    return None


def _server_problem(connection: Connection, tables: Sequence[str]) -> str | None:
    row = connection.execute(_SERVER, {"tables": list(tables)}).one()
    for name in ("fsync", "full_page_writes"):
        if getattr(row, name) != "on":
            return f"its server has {name}=off, so a crash would undo what was written: have {name}=on set there"
    if row.unlogged is not None:
        return f"a crash would empty the unlogged {row.unlogged}: have ALTER TABLE ... SET LOGGED done there"
    return None
