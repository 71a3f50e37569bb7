"""Cells in PostgreSQL that its server would end a statement at: each is a missing one, and takes no other with it."""

import pyarrow as pa
import pytest
from sqlalchemy import make_url
from tests.warehouse import run

from discreet.data.design import Design
from discreet.data.engines.sql_session import Address, session
from discreet.data.engines.text_cells import MOST_BYTES
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.errors import DataMismatchError

LEVELS = {"type": "category", "levels": ["a", "b"]}
NUMBER = {"type": "real", "lower": 0, "upper": 10}


def declared(*names, **facts):
    usual = {"dataset": "d", "unit": "person", "neighboring": "add_or_remove_one"}
    return Metadata.from_value(usual | {"columns": {"y": NUMBER} | dict.fromkeys(names, LEVELS)} | facts)


@pytest.fixture(scope="module")
def url(postgres):
    """A database of this module's own."""
    return postgres()


def cells(table, name):
    return pa.Table.from_batches(table.batches((name,))).column(0).to_pylist()


LONG = {
    "text": ("text", "repeat('x', 600000000)"),
    "jsonb": ("jsonb", r"to_jsonb(repeat(E'\x01', 200000000))"),
    "numbers": ("jsonb", "(SELECT jsonb_agg('1e131071'::jsonb) FROM generate_series(1, 9000))"),
}
"""Types, and a cell that takes little room where it is stored: two of them, or what is written of it, are too long."""


@pytest.mark.parametrize("name", LONG)
def test_a_long_cell_is_a_missing_one(url, name):
    """It ended the pass, so that one row decided whether there was an answer, and took gigabytes of memory."""
    kind, long = LONG[name]
    run(
        url,
        f"CREATE TABLE {name}_long (y int, a {kind}, b {kind})",
        f"""INSERT INTO {name}_long VALUES (1, '"a"', '"b"'), (2, {long}, NULL)""",
        f"UPDATE {name}_long SET b = a WHERE y = 2",
    )
    table = open_table(url, declared("a", "b"), f"{name}_long")
    assert (cells(table, "a"), cells(table, "b")) == (['"a"', None], ['"b"', None])
    moments = table.moments(Design.plan(declared("a", "b"), "y", center=0.0))
    assert moments[0, 0] == 2 * 32767**2


DEEP = 6000
"""Brackets within brackets: as deep as a server takes them, and no deeper than it can look at."""


def test_text_is_whole_up_to_its_limit(url):
    """In bytes, of JSON as it is written."""
    run(
        url,
        "CREATE TABLE whole (a text, j jsonb)",
        f"INSERT INTO whole VALUES (repeat('é', {MOST_BYTES // 2}), to_jsonb(repeat('x', {MOST_BYTES - 2}))), "
        f"(repeat('é', {MOST_BYTES // 2}) || 'x', to_jsonb(repeat('x', {MOST_BYTES - 1})))",
        f"INSERT INTO whole(j) SELECT jsonb_agg(1) FROM generate_series(1, {MOST_BYTES // 3})",  # "[1, 1, ..., 1]"
        f"INSERT INTO whole(j) SELECT (repeat('[', {DEEP}) || repeat(']', {DEEP}))::jsonb",
        f"INSERT INTO whole(j) SELECT jsonb_build_object('a', jsonb_agg(1)) FROM generate_series(4, {MOST_BYTES // 3})",
    )
    table = open_table(url, declared("a"), "whole")
    assert [len(cell or "") for cell in cells(table, "a")] == [MOST_BYTES // 2, 0, 0, 0, 0]
    ones = MOST_BYTES // 3 * 3
    assert [len(cell or "") for cell in cells(table, "j")] == [MOST_BYTES, 0, ones, 2 * DEEP, ones - 9 + len('{"a": }')]


UNKNOWN = {"WIN1252": r"\x41819d", "WIN1251": r"\x98", "WIN874": r"\xdb", "ISO_8859_8": r"\xa1", "EUC_JP": r"\x8ffefe"}
"""Bytes that a database of an encoding may hold, and that no letter stands for."""


@pytest.mark.parametrize("encoding", UNKNOWN)
def test_a_cell_of_no_letters_is_a_missing_one(url, encoding):
    """The server cannot convert it, and ended the pass."""
    name = f"stored_as_{encoding.lower()}"
    run(url, f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    there = make_url(url).set(database=name).update_query_dict({"client_encoding": "UTF8"})
    place = there.render_as_string(hide_password=False)
    run(
        place,
        "CREATE TABLE t (y int, c text)",
        f"INSERT INTO t VALUES (1, 'a'), (2, convert_from('{UNKNOWN[encoding]}', '{encoding}')), (3, 'b'), (4, NULL)",
    )
    table = open_table(place, declared("c"))
    assert cells(table, "c") == ["a", None, "b", None]
    assert table.moments(Design.plan(declared("c"), "y", center=0.0))[0, 0] == 4 * 32767**2


def test_an_encoding_that_is_not_known_is_refused(url):
    """Before a row is read."""
    run(url, "CREATE DATABASE other_encoding ENCODING 'EUC_TW' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    there = make_url(url).set(database="other_encoding").update_query_dict({"client_encoding": "UTF8"})
    place = there.render_as_string(hide_password=False)
    run(place, "CREATE TABLE t (y int)")
    with pytest.raises(DataMismatchError, match="encoding"):
        open_table(place, declared())


def test_a_limit_on_time_ends_no_pass(url):
    """Of the role's or the server's: how many rows one unit has, or how long they are, would decide whether it does."""
    limits = ("statement_timeout", "idle_in_transaction_session_timeout")
    there = make_url(url).update_query_dict({"options": " ".join(f"-c{limit}=60s" for limit in limits)})
    address = Address(there.render_as_string(hide_password=False).replace("+", "%20"))
    with session(address) as opened:
        assert [opened.rows(f"SELECT current_setting('{limit}')") for limit in limits] == [[("0",)]] * 2


UNITS = {"text that ignores capitals": "text COLLATE ci", "JSON": "jsonb", "a domain": "word"}


@pytest.mark.parametrize("name", UNITS)
def test_identifiers_that_the_server_takes_as_equal_are_refused(url, name):
    """They would be several units here, each with as many rows as count: one column of them is refused as a unit_id."""
    run(
        url,
        "CREATE COLLATION IF NOT EXISTS ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "DROP TABLE IF EXISTS owned; DROP DOMAIN IF EXISTS word; CREATE DOMAIN word AS text COLLATE ci",
        f"CREATE TABLE owned (who {UNITS[name]}, plain text, y int)",
    )
    with pytest.raises(DataMismatchError, match="Equal identifiers"):
        open_table(url, declared(unit_id="who", rows_per_unit=1), "owned")
    assert open_table(url, declared(unit_id="plain", rows_per_unit=1), "owned").header()
    assert open_table(url, declared(), "owned").header()
