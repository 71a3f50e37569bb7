"""Databases that others write to during a request: all of its passes read one state, of the parts looked at alone."""

import sqlite3
from contextlib import closing, nullcontext

import numpy as np
import psycopg
import pyarrow as pa
import pytest
from sqlalchemy import make_url
from tests.warehouse import plain, run

from discreet import workflow
from discreet.data.design import Design
from discreet.data.engines import sql, sql_session
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.errors import DataMismatchError
from discreet.mechanisms.rng import Source

NUMBER = {"type": "real", "lower": -2, "upper": 2}
METADATA = Metadata.from_value(
    {
        "dataset": "d",
        "unit": "person",
        "neighboring": "add_or_remove_one",
        "columns": {"x": NUMBER, "y": {"type": "integer", "lower": 0, "upper": 1}},
    }
)
ROWS = [(float(np.sin(i)), int(i % 3 == 0)) for i in range(300)]
WRITE = "INSERT INTO t SELECT 2, 1 FROM t"


@pytest.fixture
def place(request):
    """A table in a database, where it is and how somebody writes to it."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def in_postgres(postgres):
    """A table alone in the search path of a schema of its own."""
    url = postgres()
    run(url, "DROP SCHEMA IF EXISTS one_state CASCADE", "CREATE SCHEMA one_state")
    own = make_url(url).update_query_dict({"options": "-csearch_path=one_state"}).render_as_string(hide_password=False)
    run(own, "CREATE TABLE t (x float8, y int)")
    with psycopg.connect(plain(own)) as connection:
        connection.cursor().executemany("INSERT INTO t VALUES (%s, %s)", ROWS)
    return own, lambda statement: run(own, statement)


@pytest.fixture
def in_sqlite(tmp_path):
    """A file whose readers keep nobody from writing."""
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("CREATE TABLE t (x REAL, y INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", ROWS)
        yield path, connection.execute


def coefficients(source, write=None):
    """Fit in several passes over a table that is too large to be held, and write before each but the first."""
    table = open_table(source, METADATA)
    passes = []

    def watched(*given, **named):
        if write is not None and passes:
            write(WRITE)
        passes.append(1)
        return type(table).map_reduce(table, *given, **named)

    table.map_reduce = watched
    release = workflow.answer(
        workflow.method_of("logistic", epsilon=10), table, "y", ["x"], rng=Source.seeded(7)
    ).release
    assert len(passes) > 2
    return dict(release.params)


@pytest.mark.parametrize("place", ["in_postgres", "in_sqlite"], indirect=True)
def test_a_fit_of_several_passes_is_of_one_state(place, monkeypatch):
    """The objective's noise rests on it: as a control, passes that each read the newest state give other numbers."""
    source, write = place
    monkeypatch.setattr("discreet.data.engine.HELD_BYTES", 0)
    undisturbed = coefficients(source)
    with monkeypatch.context() as patch:
        assert coefficients(source, write) == undisturbed
        write("DELETE FROM t WHERE x = 2")
        patch.setattr(type(open_table(source, METADATA)), "one_state", lambda _: nullcontext())
        assert coefficients(source, write) != undisturbed


CHILDREN = {
    "foreign": "CREATE FOREIGN TABLE child () INHERITS (t) SERVER files OPTIONS (program 'echo ,1', format 'csv')",
    "plain": "CREATE TABLE child () INHERITS (t)",
}


@pytest.mark.parametrize("kind", CHILDREN)
def test_a_part_that_is_attached_after_the_look_is_not_read(in_postgres, kind, monkeypatch):
    """What is attached is read at once, whatever state a transaction sees; a foreign table may compute its rows."""
    url, write = in_postgres
    run(url, "CREATE EXTENSION IF NOT EXISTS file_fdw", "DROP SERVER IF EXISTS files CASCADE")
    run(url, "CREATE SERVER files FOREIGN DATA WRAPPER file_fdw")
    table = open_table(url, METADATA)
    streamed = sql_session.Session.stream

    def attached(self, statement, batch_bytes):
        write(CHILDREN[kind])
        return streamed(self, statement, batch_bytes)

    monkeypatch.setattr(sql_session.Session, "stream", attached)
    with pytest.raises(DataMismatchError, match="stay as it was"):
        table.moments(Design.plan(METADATA, "y"))
    if kind == "foreign":  # without the look afterwards its rows count
        write("DROP FOREIGN TABLE child")
        monkeypatch.setattr(sql, "require_own_parts", lambda *_: None)
        assert sum(batch.num_rows for batch in table.batches(["y"])) == len(ROWS) + 1


def test_a_part_that_is_attached_between_two_passes_ends_the_request(in_postgres):
    """Its rows may be older than the state that is read, and only later passes would have them."""
    url, write = in_postgres
    write("CREATE TABLE other AS SELECT * FROM t")
    table = open_table(url, METADATA, "t")
    with table.one_state():
        table.moments(Design.plan(METADATA, "y"))
        write("ALTER TABLE other INHERIT t")
        with pytest.raises(DataMismatchError, match="stay as it was"):
            table.moments(Design.plan(METADATA, "y"))


def test_nobody_empties_a_table_that_is_read(in_postgres):
    """An emptied table is empty in every state: who wants to waits until the request is done."""
    url, _ = in_postgres
    table = open_table(url, METADATA)
    with table.one_state():
        before = table.moments(Design.plan(METADATA, "y"))
        with psycopg.connect(plain(url), autocommit=True) as connection:
            connection.execute("SET lock_timeout = '50ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                connection.execute("TRUNCATE t")
        np.testing.assert_array_equal(table.moments(Design.plan(METADATA, "y")), before)


def test_a_role_of_some_columns_reads_one_state_too(in_postgres):
    """It may not lock a table as such."""
    url, write = in_postgres
    write("DROP ROLE IF EXISTS of_some")
    write("CREATE ROLE of_some LOGIN")
    write("GRANT USAGE ON SCHEMA one_state TO of_some")
    write("GRANT SELECT (y) ON t TO of_some")
    try:
        table = open_table(url.replace("discreet@", "of_some@"), METADATA)
        with table.one_state():
            sizes = []
            for _ in range(2):
                sizes.append(pa.Table.from_batches(table.batches(["y"])).num_rows)
                write(WRITE)
        assert sizes == [len(ROWS)] * 2
    finally:
        write("DROP OWNED BY of_some")
        write("DROP ROLE of_some")


def test_a_pass_that_is_left_does_not_end_the_state(in_postgres):
    """Of a long table the first batch alone says what its identifiers are."""
    table = open_table(in_postgres[0], METADATA)
    with table.one_state():
        next(table.batches(["y"]))
        streams = table.streams(["y"])
        next(streams)
        streams.close()
        assert pa.Table.from_batches(table.batches(["y"])).num_rows == len(ROWS)
