"""Tables in PostgreSQL: which one is meant, what may be read, what every cell means, and what is never said."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from sqlalchemy import make_url
from tests.warehouse import plain, run

from discreet.data.design import Design
from discreet.data.engines import sql, sql_session
from discreet.data.engines.sql_session import Address
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.data.unit_keys import unit_keys
from discreet.errors import DataMismatchError, InvalidParameterError

NUMBER = {"type": "real", "lower": 0, "upper": 10}


def declared(*names, **facts):
    usual = {"dataset": "d", "unit": "person", "neighboring": "add_or_remove_one"}
    return Metadata.from_value(usual | {"columns": dict.fromkeys(names, NUMBER)} | facts)


@pytest.fixture(scope="module")
def url(postgres):
    """A database of this module's own."""
    return postgres()


@pytest.fixture
def schema(url, request):
    """A schema of the test's own, alone in the search path of the URL that is returned with its name."""
    name = request.node.name.partition("[")[0][:40]
    run(url, f"DROP SCHEMA IF EXISTS {name} CASCADE", f"CREATE SCHEMA {name}")
    found = make_url(url).update_query_dict({"options": f"-csearch_path={name}"})
    return name, found.render_as_string(hide_password=False)


def cells(table, *names):
    return pa.Table.from_batches(table.batches(names)).to_pydict()


def test_names_mean_what_they_say(schema):
    """Quotes, blanks, capitals, letters of any script, dots and percent signs, in tables and columns."""
    name, url = schema
    run(
        url,
        f'CREATE TABLE {name}."Odd "" %s. Täble" ("A b" int, "a B" int, "x""y" int, "größe" int, "%" int)',
        f'INSERT INTO {name}."Odd "" %s. Täble" VALUES (1, 2, 3, 4, 5)',
    )
    table = open_table(url, declared("A b"))
    assert table.name == 'Odd " %s. Täble'
    names = ["A b", "a B", 'x"y', "größe", "%"]
    assert [column for column, _ in table.header()] == names
    assert cells(table, *reversed(names)) == dict(zip(reversed(names), [[5], [4], [3], [2], [1]], strict=True))
    assert open_table(url, declared("A b"), f'{name}.Odd " %s. Täble').locator == table.locator


def test_only_the_asked_columns_are_selected(schema):
    """A column that this role may not read is not in the header, and does not keep it from reading the others."""
    name, url = schema
    run(
        url,
        f"CREATE TABLE {name}.t (a int, secret int)",
        "DROP ROLE IF EXISTS some_columns",
        "CREATE ROLE some_columns LOGIN",
        f"GRANT USAGE ON SCHEMA {name} TO some_columns",
        f"GRANT SELECT (a) ON {name}.t TO some_columns",
        f"INSERT INTO {name}.t VALUES (7, 8)",
    )
    table = open_table(url.replace("discreet@", "some_columns@"), declared("a", neighboring="replace_one", n_rows=1))
    assert table.header() == [("a", "INTEGER")]
    assert (cells(table, "a"), table.row_count()) == ({"a": [7]}, 1)
    with pytest.raises(DataMismatchError, match="secret"):
        table.check(("secret",))
    run(url, f"DROP TABLE {name}.t", f"REVOKE ALL ON SCHEMA {name} FROM some_columns", "DROP ROLE some_columns")


KINDS = {
    "boolean": "BOOLEAN",
    "int2": "SMALLINT",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "float8": "DOUBLE",
    "numeric": "DECIMAL",
    "numeric(9,2)": "DECIMAL",
    "text": "VARCHAR",
    "varchar(4)": "VARCHAR",
    "char(4)": "VARCHAR",
    "uuid": "UUID",
    "json": "JSON",
    "jsonb": "JSON",
    "mood": "ENUM",
    "positive": "INTEGER",
    "tiny": "INTEGER",
    "price": "DECIMAL",
}
REFUSED = (
    "date",
    "timestamp",
    "timestamptz",
    "interval",
    "bytea",
    "money",
    "int[]",
    "text[]",
    "xml",
    "oid",
    "int4range",
)


def test_types_are_told_in_the_words_of_all_engines(schema):
    """Domains are told by what they are made of; what is neither number nor text is refused before a row is read."""
    name, url = schema
    run(
        url,
        f"SET search_path = {name}; CREATE TYPE mood AS ENUM ('x'); CREATE DOMAIN positive AS int CHECK (value > 0); "
        'CREATE DOMAIN tiny AS positive; CREATE DOMAIN price AS numeric(9,2); CREATE TYPE "double" AS (a int); '
        "CREATE TABLE t (" + ", ".join(f'"{i}" {kind}' for i, kind in enumerate([*KINDS, *REFUSED, '"double"'])) + ")",
    )
    table = open_table(url, declared("0"))
    assert [kind for _, kind in table.header()][: len(KINDS)] == list(KINDS.values())
    for place in range(len(KINDS)):
        table.check((str(place),))
    for place in range(len(KINDS), len(KINDS) + len(REFUSED) + 1):
        with pytest.raises(DataMismatchError, match="must hold numbers or text"):
            table.check((str(place),))


def test_numerics_keep_their_meaning(schema):
    """Equal numbers are one unit and one level; what is not finite is missing; none is too large to be read."""
    name, url = schema
    run(
        url,
        f"CREATE TABLE {name}.t (n numeric, w char(5), f float8)",
        f"INSERT INTO {name}.t SELECT v::numeric, '1.5', 0 FROM unnest(ARRAY['7', '7.00', '1e3', '1000', 'NaN', "
        "'Infinity', '-Infinity', NULL, '0.50', '-0.0', '9007199254740993', '1e400', '1e-400']) v",
    )
    table = open_table(url, declared("n"))
    found = cells(table, "n", "w")
    big, small = "1" + "0" * 400, "0." + "0" * 399 + "1"
    expected = ["7", "7", "1000", "1000", None, None, None, None, "0.5", "0", "9007199254740993", big, small]
    assert found == {"n": expected, "w": ["1.5"] * 13}
    keys = unit_keys(next(table.batches(("n",))).column(0))
    assert keys.drop_null().unique().to_pylist() == ["7", "1000", "0.5", "0", "9007199254740993", big, small]
    design = Design.plan(declared("n", "f"), "f", ["n"])
    encoded = [int(row[1]) for batch in table.batches(design.columns) for row in design.encode(batch)]
    assert encoded[:4] == [round(0.4 * 32767)] * 2 + [32767] * 2
    assert encoded[4:8] == [0] * 4  # as missing cells
    assert encoded[8:11] == [round(-0.9 * 32767), -32767, 32767]


NOBODY = "00000000-0000-0000-0000-00000000000a"


def test_a_cast_that_somebody_made_is_not_called(url):
    """It could look at all rows for each cell: of an enum by its owner, of other types by a superuser."""
    run(url, "CREATE DATABASE with_casts")  # in all of which a cast holds
    there = make_url(url).set(database="with_casts").render_as_string(hide_password=False)
    peeks = [
        f"CREATE FUNCTION peek({kind}) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT 'peeked'::text$$; "
        f"CREATE CAST ({kind} AS text) WITH FUNCTION peek({kind}) AS IMPLICIT"
        for kind in ("mood", "uuid", "json", "jsonb", "numeric")
    ]
    run(
        there,
        "CREATE TYPE mood AS ENUM ('low', 'high')",
        "CREATE DOMAIN calm AS mood; CREATE DOMAIN code AS uuid; CREATE DOMAIN price AS numeric; "
        "CREATE DOMAIN place AS char(5)",
        "CREATE TABLE t (a mood, b calm, c uuid, d code, e json, f jsonb, g numeric, h price, i place)",
        f"INSERT INTO t VALUES ('low', 'high', '{NOBODY}', '{NOBODY}', '[1]', '[1]', 1.50, 'NaN', 'x')",
        *peeks,
    )
    table = open_table(there, declared("a"))
    kinds = ["ENUM", "ENUM", "UUID", "UUID", "JSON", "JSON", "DECIMAL", "DECIMAL", "VARCHAR"]
    assert [kind for _, kind in table.header()] == kinds
    found = [values[0] for values in cells(table, *"abcdefghi").values()]
    assert found == ["low", "high", NOBODY, NOBODY, "[1]", "[1]", "1.5", None, "x"]


def test_functions_in_the_search_path_are_not_called(schema):
    """Nor operators, even where the path names their schema before the server's own."""
    name, url = schema
    types = {"!~": ("name", "text"), "<>": ("name", "name"), "~~": ("text", "text"), "||": ("text", "text")}
    types |= {"=": ("text", "text"), "= ": ("oid", "oid"), " =": ('"char"', '"char"')}
    made = [
        f"CREATE FUNCTION f{place}({left}, {right}) RETURNS bool LANGUAGE plpgsql AS "
        "$$BEGIN RAISE EXCEPTION 'called'; END$$; "
        f"CREATE OPERATOR {name}.{sign} (FUNCTION = f{place}, LEFTARG = {left}, RIGHTARG = {right})"
        for place, (sign, (left, right)) in enumerate(types.items())
    ]
    shadowed = [
        f"CREATE FUNCTION {function} RETURNS {result} LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'called'; END$$"
        for function, result in {"trim_scale(numeric)": "numeric", "has_schema_privilege(oid, text)": "bool"}.items()
    ]
    run(
        url,
        f"CREATE TABLE {name}.t (x numeric)",
        f"INSERT INTO {name}.t VALUES (2.50), ('NaN')",
        *(f"SET search_path = {name}; {statement}" for statement in [*made, *shadowed]),
    )
    before = make_url(url).update_query_dict({"options": f"-csearch_path={name},pg_catalog"})
    for wanted in (None, "t", f"{name}.t"):
        table = open_table(before.render_as_string(hide_password=False), declared("x"), wanted)
        assert cells(table, "x") == {"x": ["2.5", None]}


@pytest.mark.parametrize("encoding", ["UTF8", "LATIN1"])
def test_text_is_text_in_every_encoding(url, encoding, monkeypatch):
    """Whatever the server stores, and whatever this machine's clients usually ask for."""
    name = f"stored_as_{encoding.lower()}"
    run(url, f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    there = make_url(url).set(database=name).render_as_string(hide_password=False)
    run(there, 'CREATE TABLE t ("größe" text)', "INSERT INTO t VALUES ('é')")
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    assert cells(open_table(there, declared("größe")), "größe") == {"größe": ["é"]}


def test_text_without_an_encoding_is_refused(url):
    """Its bytes could be anything."""
    run(url, "CREATE DATABASE no_encoding ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    there = make_url(url).set(database="no_encoding").render_as_string(hide_password=False)
    run(there, "CREATE TABLE t (x int)")
    with pytest.raises(DataMismatchError, match="encoding"):
        open_table(there, declared("x"))


@pytest.mark.parametrize("unit_bytes", [2**28, 2000])
def test_units_are_cut_as_anywhere(schema, unit_bytes, monkeypatch):
    """By identifiers of any type, in one part or in many, as the server's estimate of the rows says."""
    name, url = schema
    run(
        url,
        f"CREATE TABLE {name}.t AS SELECT CASE WHEN g % 2 = 0 THEN (g % 90)::numeric(9, 2) ELSE g % 90 END AS who, "
        "(g * 37 % 11)::float8 AS x, (g * 53 % 10)::int AS y FROM generate_series(1, 900) g",
        f"ANALYZE {name}.t",
    )
    metadata = declared("x", "y", unit_id="who", rows_per_unit=2)
    design = Design.plan(metadata, "y")
    numbers = np.arange(1, 901)
    frame = pa.table({"who": numbers % 90, "x": (numbers * 37 % 11).astype(float), "y": numbers * 53 % 10})
    expected = open_table(frame, metadata).moments(design)
    monkeypatch.setattr("discreet.data.engine.UNIT_BYTES", unit_bytes)
    np.testing.assert_array_equal(open_table(url, metadata).moments(design), expected)
    assert expected[0, 0] == 180 * 32767**2


def test_a_table_must_be_named_where_there_are_several(schema):
    """The tables that the role can read are listed, partitions and others' left out; views are no tables."""
    name, url = schema
    run(
        url,
        f"CREATE TABLE {name}.a (x int)",
        f"CREATE TABLE {name}.p (x int) PARTITION BY RANGE (x)",
        f"CREATE TABLE {name}.p1 PARTITION OF {name}.p FOR VALUES FROM (0) TO (10)",
        f"CREATE VIEW {name}.v AS SELECT * FROM {name}.a",
        f"CREATE MATERIALIZED VIEW {name}.m AS SELECT * FROM {name}.a",
        f"INSERT INTO {name}.p VALUES (3), (4)",
    )
    for wanted in (None, "nothing", "pg_catalog.pg_class", "information_schema.tables"):
        with pytest.raises(InvalidParameterError) as error:
            open_table(url, declared("x"), wanted)
        assert (f"'{name}.a', '{name}.p'." in str(error.value)) == (wanted is None)
    for wanted in ("v", f"{name}.m"):
        with pytest.raises(InvalidParameterError, match="view"):
            open_table(url, declared("x"), wanted)
    assert cells(open_table(url, declared("x"), "p"), "x") == {"x": [3, 4]}
    assert open_table(url, declared("x"), "p1").name == "p1"


def test_parts_that_lie_elsewhere_are_refused(schema):
    """A partition, or a child, that is a foreign table could compute."""
    name, url = schema
    run(
        url,
        "CREATE EXTENSION IF NOT EXISTS file_fdw",
        "DROP SERVER IF EXISTS files CASCADE",
        "CREATE SERVER files FOREIGN DATA WRAPPER file_fdw",
        f"CREATE TABLE {name}.p (x int) PARTITION BY RANGE (x)",
        f"CREATE FOREIGN TABLE {name}.p1 PARTITION OF {name}.p FOR VALUES FROM (0) TO (10) SERVER files "
        "OPTIONS (program 'echo 1')",
    )
    for wanted in ("p", "p1"):
        with pytest.raises(InvalidParameterError, match="foreign table"):
            open_table(url, declared("x"), wanted)


def test_row_level_security_refuses_and_never_filters(schema):
    """Where a policy holds for the role the table is refused, before a pass and in it; who is above it reads all."""
    name, url = schema
    run(
        url,
        "DROP ROLE IF EXISTS under_policy",
        "CREATE ROLE under_policy LOGIN",
        f"CREATE TABLE {name}.t (x int)",
        f"INSERT INTO {name}.t VALUES (1), (2)",
        f"GRANT USAGE ON SCHEMA {name} TO under_policy",
        f"GRANT SELECT ON {name}.t TO under_policy",
    )
    theirs = url.replace("discreet@", "under_policy@")
    opened = open_table(theirs, declared("x"))
    assert cells(opened, "x") == {"x": [1, 2]}
    run(url, f"CREATE POLICY one ON {name}.t USING (x = 1)", f"ALTER TABLE {name}.t ENABLE ROW LEVEL SECURITY")
    with pytest.raises(DataMismatchError):
        cells(opened, "x")
    with pytest.raises(DataMismatchError, match="row-level security"):
        open_table(theirs, declared("x"))
    assert cells(open_table(url, declared("x")), "x") == {"x": [1, 2]}
    run(url, f"DROP TABLE {name}.t", f"REVOKE ALL ON SCHEMA {name} FROM under_policy", "DROP ROLE under_policy")


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE t ALTER x TYPE text",
        "ALTER TABLE t RENAME x TO z",
        "ALTER TABLE t DROP x",
        "DROP TABLE t",
        "ALTER TABLE t RENAME TO s; CREATE VIEW t AS SELECT * FROM s",
        "DROP TABLE t; CREATE TABLE t (x date)",
    ],
)
def test_a_table_that_changed_after_it_was_opened_is_not_read(schema, change):
    """Its columns must be those of the header that was checked; what it was replaced by is not looked at."""
    name, url = schema
    run(url, f"CREATE TABLE {name}.t (x int, y int)", f"INSERT INTO {name}.t VALUES (123456, 1)")
    table = open_table(url, declared("x", "y"))
    run(url, f"SET search_path = {name}; {change}")
    with pytest.raises((DataMismatchError, InvalidParameterError)) as error:
        cells(table, "x")
    assert "123456" not in str(error.value)


def test_rows_are_counted_only_where_their_number_is_public(schema):
    """Under add_or_remove_one nothing is counted; under replace_one another number is refused, each time anew."""
    name, url = schema
    run(url, f"CREATE TABLE {name}.t (x int)", f"INSERT INTO {name}.t VALUES (1), (2)", f"ANALYZE {name}.t")
    assert open_table(url, declared("x")).row_count() is None
    public = open_table(url, declared("x", neighboring="replace_one", n_rows=2))
    public.check(("x",))
    assert public.about_rows() == 2
    run(url, f"INSERT INTO {name}.t VALUES (3)")
    with pytest.raises(DataMismatchError, match="n_rows=2"):
        public.check(("x",))


def test_the_session_cannot_write(schema):
    """Neither a statement nor a function that one calls changes anything."""
    name, url = schema
    run(url, f"CREATE TABLE {name}.t (x int)")
    for statement in (f"INSERT INTO {name}.t VALUES (1)", "CREATE TABLE other (x int)", "SELECT nextval('s')"):
        with pytest.raises(DataMismatchError), sql_session.session(Address(url)) as opened:
            opened.rows(statement)


def test_batches_are_no_larger_than_asked(schema, monkeypatch):
    """Whatever the driver gathers, a batch has at most so many rows, and all rows come once."""
    name, url = schema
    run(url, f"CREATE TABLE {name}.t AS SELECT g AS x FROM generate_series(1, 5000) g")
    monkeypatch.setattr(sql, "BATCH_ROWS", 700)
    batches = list(open_table(url, declared("x")).batches(("x",)))
    assert max(batch.num_rows for batch in batches) <= 700
    assert sorted(np.concatenate([batch.column(0).to_numpy() for batch in batches])) == list(range(1, 5001))


def test_a_pass_that_is_left_closes_its_connection(schema):
    """Whoever stops reading in the middle leaves nothing open at the server."""
    name, url = schema
    run(url, f"CREATE TABLE {name}.t AS SELECT g AS x FROM generate_series(1, 300000) g")
    table = open_table(url, declared("x"))
    for _ in range(3):
        next(table.batches(("x",)))
        streams = table.streams(("x",))
        next(streams)
        streams.close()
    others = (
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'discreet' AND datname = current_database() "
        "AND pid <> pg_backend_pid()"
    )
    with sql_session.session(Address(url)) as opened:
        for _ in range(200):  # the server takes its time
            if opened.rows(others) == [(0,)]:
                break
            time.sleep(0.05)
        assert opened.rows(others) == [(0,)]


INTERRUPTED = """
import signal, sys, threading, time
import psycopg
from discreet.data.engines import sql_session
from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
sql_session._BEGIN = tuple(line for line in sql_session._BEGIN if "lock_timeout" not in line)
url, other = sys.argv[1:]
box = {"type": "real", "lower": 0, "upper": 1}
metadata = Metadata.from_value({"dataset": "d", "unit": "p", "neighboring": "add_or_remove_one",
                                "columns": {"x": box, "y": box}})
table = open_table(url, metadata)
with psycopg.connect(other) as connection, psycopg.connect(other, autocommit=True) as watch:
    connection.execute("LOCK TABLE interrupted IN ACCESS EXCLUSIVE MODE")
    def interrupt():
        while not watch.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()[0]:
            time.sleep(0.05)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    for read in (lambda: table.moments(Design.plan(metadata, "y")), lambda: next(table.batches(("x",)))):
        threading.Thread(target=interrupt).start()
        try:
            read()
        except KeyboardInterrupt:
            print("interrupted")
"""


@pytest.mark.processes
def test_an_interruption_ends_a_pass_that_waits_for_the_server(url):
    """The statement is cancelled: the lock that it waits for is never given."""
    run(url, "CREATE TABLE IF NOT EXISTS interrupted (x int, y int)")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, f"{plain(url)}&options=-csearch_path%3Dpublic", plain(url)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (done.stdout, done.returncode) == ("interrupted\n" * 2, 0), done.stderr
