"""Transactions: whole or not at all, one moment when reading, and one line when something is wrong."""

import os
import sqlite3
import subprocess
import threading
import warnings
from contextlib import closing

import pytest
from sqlalchemy import event, text

from discreet.database import resolve, transactions
from discreet.errors import PolicyError

WORDS = "SELECT word FROM desk_0001 ORDER BY word"


def write(database, word, then=lambda: None):
    """Add a word."""
    with database.write() as connection:
        connection.execute(text("INSERT INTO desk_0001 VALUES (:word)"), {"word": word})
        then()


def words(database):
    """Read all words."""
    with database.read() as connection:
        return list(connection.execute(text(WORDS)).scalars())


@pytest.mark.parametrize("pooled", [False, True])
def test_what_is_written_stands(opened, pooled):
    """Another connection sees it, and an exception undoes the whole."""
    database = opened(pooled=pooled)
    write(database, "one")
    with pytest.raises(ZeroDivisionError):
        write(database, "two", then=lambda: 1 // 0)
    assert words(opened()) == words(database) == ["one"]


def test_reading_sees_one_moment(opened):
    """What is committed meanwhile is seen by the next transaction."""
    database = opened()
    write(database, "one")
    with database.read() as connection:
        before = list(connection.execute(text(WORDS)).scalars())
        write(opened(), "two")
        assert list(connection.execute(text(WORDS)).scalars()) == before == ["one"]
    assert words(database) == ["one", "two"]


@pytest.mark.parametrize("pooled", [False, True])
def test_many_threads_share_it(opened, pooled):
    """All that they write is there."""
    database = opened(pooled=pooled)
    workers = [threading.Thread(target=write, args=(database, f"{number:02}")) for number in range(40)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert words(database) == [f"{number:02}" for number in range(40)]


def test_a_savepoint_is_undone_alone(opened):
    """A refusal that is expected does not cost the rest of the transaction."""
    database = opened()
    write(database, "one")
    with database.write() as connection:
        connection.execute(text("INSERT INTO desk_0001 VALUES ('two')"))
        with pytest.raises(Exception, match=r"(?i)unique"), connection.begin_nested():
            connection.execute(text("INSERT INTO desk_0001 VALUES ('one')"))
    assert words(database) == ["one", "two"]


def test_errors_are_the_callers(opened, place):
    """The driver's becomes one line of the caller's own type, without a cause."""
    database = opened()
    write(database, "one")
    with pytest.raises(PolicyError, match=r"(?i)The desk must be open, but desk=.*unique") as refused:
        write(database, "one")
    assert "\n" not in str(refused.value)
    assert refused.value.__cause__ is None
    with pytest.raises(PolicyError, match="a row that it needs is missing"), database.read() as connection:
        connection.execute(text("SELECT 1 WHERE 1 = 0")).one()


def test_a_pool_keeps_its_connections(opened, place):
    """The same one is used again, with the settings that it began with."""
    database = opened(pooled=True)
    seen = set()
    for _ in range(3):
        with database.read() as connection:
            seen.add(id(connection.connection.dbapi_connection))
            if connection.dialect.name == "sqlite":
                assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3
                assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
            else:
                assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "repeatable read"
        with database.write() as connection:
            if connection.dialect.name != "sqlite":
                assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"
    assert len(seen) == 1


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_pool_outlives_its_server(opened):
    """Connections that the server closed are replaced."""
    database = opened(pooled=True)
    write(database, "one")
    with opened().write() as connection:
        mine = "datname = current_database() AND pid <> pg_backend_pid()"
        ended = connection.exec_driver_sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {mine}")
        assert ended.all() == [(True,)]
    assert words(database) == ["one"]


def test_a_pool_that_is_used_up_is_an_error(opened, monkeypatch):
    """Whoever waits too long for a connection is told so."""
    monkeypatch.setitem(transactions._POOLS[True], "pool_timeout", 0.01)
    monkeypatch.setitem(transactions._POOLS[True], "pool_size", 1)
    monkeypatch.setitem(transactions._POOLS[True], "max_overflow", 0)
    database = opened(pooled=True)
    with database.read(), pytest.raises(PolicyError, match="QueuePool limit"):
        words(database)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_who_waits_too_long_for_a_file_is_told(opened, monkeypatch):
    """A writer that never ends does not hold others for ever."""
    monkeypatch.setattr(transactions, "BUSY_S", 0.05)
    monkeypatch.setitem(transactions._OPTIONS[True], "connect_args", {"timeout": 0.05})
    database = opened()
    with database.write(), pytest.raises(PolicyError, match="database is locked"):
        write(database, "one")


def test_a_missing_driver_is_named(open_at, desks, monkeypatch):
    """The message is the command that installs it."""

    def fail(*_, **__):
        raise ImportError

    monkeypatch.setattr(transactions, "create_engine", fail)
    with pytest.raises(PolicyError, match=r"pip install 'discreet\[postgres\]'"):
        open_at("postgresql://me@host/name", desks(1))


def test_a_server_that_is_away_is_an_error(tmp_path, open_at, desks):
    """One line, that shows no password."""
    url = f"postgresql://me:secret@/name?host={tmp_path}"
    with pytest.raises(PolicyError) as refused:
        open_at(url, desks(1))
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_place_that_is_none_is_the_callers_error(tmp_path, unreachable):
    """Before anything is opened."""
    for place in (tmp_path, tmp_path / "no" / "x.sqlite", "mysql://host/name", "sqlite://", ":memory:"):
        with pytest.raises(PolicyError, match="The desk must be open"):
            resolve(place, unreachable)


def test_closing_leaves_no_connection_open(tmp_path, open_at, desks):
    """Also of a pool: the file can be removed, and nothing warns."""
    database = open_at(tmp_path / "desk.sqlite", desks(1), pooled=True)
    write(database, "one")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        database.close()
    with closing(sqlite3.connect(tmp_path / "desk.sqlite")) as connection:
        assert connection.execute(WORDS).fetchall() == [("one",)]


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("chosen", "effective"),
    [("off", "on"), ("local", "on"), ("remote_write", "on"), ("on", "on"), ("remote_apply", "remote_apply")],
)
@pytest.mark.parametrize("pooled", [False, True])
def test_a_writer_waits_for_the_disk(opened, chosen, effective, pooled):
    """Whatever the database's owner chose, and no less than that; what is read need not wait."""
    with opened().write() as connection:
        name = connection.exec_driver_sql("SELECT current_database()").scalar()
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET synchronous_commit = {chosen}")
    database = opened(pooled=pooled)
    for _ in range(2):
        with database.write() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == effective
        with database.read() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == chosen


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_table_that_a_crash_would_empty_is_refused(opened):
    """Before anything is written; another program's table is its own affair."""
    database = opened()
    with database.write() as connection:
        connection.execute(text("CREATE UNLOGGED TABLE cache (word text)"))
    write(database, "one")
    with database.write() as connection:
        connection.execute(text("ALTER TABLE desk_0001 SET UNLOGGED"))
    with pytest.raises(PolicyError, match="a crash would empty the unlogged desk_0001: have ALTER TABLE"):
        write(database, "two")
    assert words(database) == ["one"]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("pragma", "reason"),
    [("synchronous=NORMAL", "does not wait for the disk"), ("journal_mode=MEMORY", "journal_mode")],
)
def test_a_file_that_does_not_wait_for_the_disk_is_refused(opened, place, pragma, reason):
    """Whatever set it so, on the connection that writes."""
    with closing(sqlite3.connect(place)) as connection:
        opened()
        connection.execute("PRAGMA journal_mode=DELETE")
    database = opened()
    write(database, "one")
    event.listen(database._engine, "connect", lambda connection, _: connection.execute(f"PRAGMA {pragma}"))
    with pytest.raises(PolicyError, match=reason):
        write(database, "two")
    assert words(database) == ["one"]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_file_waits_for_the_disk_in_either_mode(opened, place, journal):
    """Also where there is no write-ahead log: then the removal of the journal is waited for as well."""
    opened()
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute(f"PRAGMA journal_mode={journal}").fetchone() == (journal,)
    with opened().write() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == journal
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_file_with_two_names_is_not_written(opened, open_at, place):
    """SQLite's write-ahead log has the name of the file: by another name what it holds is not seen."""
    one = opened(pooled=True)
    write(one, "one")
    other = place.with_name("other.sqlite")
    os.link(place, other)
    with pytest.raises(PolicyError, match="has a hard link"):
        write(one, "two")
    with pytest.raises(PolicyError, match="has a hard link"):
        write(open_at(other, opened.args[1]), "three")
    other.unlink()
    write(one, "two")
    assert words(one) == ["one", "two"]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_file_that_is_mounted_by_itself_is_not_written(opened, open_at, place):
    """As into a container: its log would be elsewhere than the file."""
    write(opened(), "one")
    alone = place.with_name("a b.sqlite")
    alone.touch()
    if subprocess.run(["mount", "--bind", place, alone], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("this account may mount nothing")
    try:
        with pytest.raises(PolicyError, match="is mounted by itself"):
            write(open_at(alone, opened.args[1]), "two")
    finally:
        subprocess.run(["umount", alone], check=True)
    assert words(opened()) == ["one"]
