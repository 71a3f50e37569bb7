"""Lazy expressions: known without their libraries, streamed, and silent about cells."""

import subprocess
import sys

import duckdb
import ibis
import narwhals as nw
import polars as pl
import pyarrow as pa
import pytest
from sqlalchemy import make_url
from tests.warehouse import run

from discreet.data.engines import lazy
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table, table_at
from discreet.errors import DataMismatchError, InvalidParameterError

NUMBER = {"type": "real", "lower": 0, "upper": 10}
METADATA = Metadata.from_value(
    {
        "dataset": "d",
        "unit": "person",
        "neighboring": "add_or_remove_one",
        "columns": {"x": NUMBER, "X y": NUMBER, "s": {"type": "category", "levels": ["a", "b"]}},
    }
)
ROWS = {"x": [1, 2, 3], "X y": [0.5, None, 2.5], "s": ["a", None, "b"]}

EXPRESSIONS = {
    "polars": lambda: pl.LazyFrame(ROWS),
    "polars by narwhals": lambda: nw.from_native(pl.LazyFrame(ROWS)),
    "duckdb": lambda: duckdb.connect().from_arrow(pa.table(ROWS)),
    "duckdb by narwhals": lambda: nw.from_native(duckdb.connect().from_arrow(pa.table(ROWS))),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_is_a_table(name):
    """Header and rows, any columns in any order; no count, no locator, as asking again could find other rows."""
    table = open_table(EXPRESSIONS[name](), METADATA)
    assert table.header() == [("x", "BIGINT"), ("X y", "DOUBLE"), ("s", "VARCHAR")]
    table.check(("x", "s"))
    found = pa.Table.from_batches(table.batches(("s", "x"))).to_pydict()
    assert {name: sorted(map(str, column)) for name, column in found.items()} == {
        "s": ["None", "a", "b"],
        "x": ["1", "2", "3"],
    }
    assert (table.row_count(), table.locator, table.name) == (None, None, f"{name.partition(' ')[0]} expression")


def test_a_warehouse_is_read_through_ibis(postgres):
    """Of a server: the expression is computed there, and its rows come batch by batch."""
    url = postgres()
    run(url, "CREATE TABLE t AS SELECT g AS x, g + 0.25::float8 AS \"X y\", 'a' AS s FROM generate_series(1, 5000) g")
    place = make_url(url)
    backend = ibis.postgres.connect(host=place.query["host"], user=place.username, database=place.database)
    try:
        expression = backend.table("t")
        table = open_table(expression.filter(expression.x > 4000), METADATA)
        assert table.header() == [("x", "BIGINT"), ("X y", "DOUBLE"), ("s", "VARCHAR")]
        found = pa.Table.from_batches(table.batches(("X y",)))
        assert sorted(found["X y"].to_pylist()) == [n + 0.25 for n in range(4001, 5001)]
    finally:
        backend.disconnect()


def test_batches_are_no_larger_than_asked(monkeypatch):
    """Whatever the library gathers."""
    monkeypatch.setattr(lazy, "BATCH_ROWS", 700)
    monkeypatch.setattr("discreet.data.engines.frame.BATCH_ROWS", 700)
    many = pl.DataFrame({"x": range(5000)})
    for expression in (many.lazy(), duckdb.connect().from_arrow(many.to_arrow())):
        batches = list(table_at(expression, METADATA).batches(("x",)))
        assert max(batch.num_rows for batch in batches) <= 700
        assert sum(batch.num_rows for batch in batches) == 5000


def test_opening_computes_nothing():
    """The header comes from the expression's schema; a step that would run is not run."""
    ran = []
    expression = pl.LazyFrame(ROWS).map_batches(lambda frame: ran.append(1) or frame, schema=None)
    table = open_table(expression, METADATA)
    table.check(("x",))
    assert ran == []
    list(table.batches(("x",)))
    assert ran == [1]


def test_names_that_differ_in_case_alone():
    """To DuckDB they are one name, to a table they are two."""
    connection = duckdb.connect()
    connection.register("given", pa.table({"a": [1]}))
    relation = connection.sql('SELECT a AS "x", 7 AS "X y", 8 AS "x Y" FROM given')
    table = table_at(relation, METADATA)
    assert pa.Table.from_batches(table.batches(("x Y", "x"))).to_pydict() == {"x Y": [8], "x": [1]}


@pytest.mark.parametrize(
    "expression",
    [
        lambda: pl.LazyFrame({"x": ["31415926"]}).with_columns(pl.col("x").str.to_date("%Y").cast(pl.Int64)),
        lambda: duckdb.connect().sql("SELECT CAST(v AS INTEGER) AS x FROM (VALUES ('31415926x')) AS t(v)"),
    ],
)
def test_no_cell_is_in_an_error(expression):
    """What the library says of a cell that it cannot compute stays with it."""
    table = table_at(expression(), METADATA)
    with pytest.raises(DataMismatchError) as error:
        list(table.batches(("x",)))
    assert "3141592" not in str(error.value)
    assert error.value.__suppress_context__


def test_types_that_are_neither_number_nor_text_are_refused():
    """From the schema alone."""
    day = pl.LazyFrame({"x": ["2020-01-01"]}).with_columns(pl.col("x").str.to_date())
    for expression in (day, duckdb.connect().sql("SELECT DATE '2020-01-01' AS x"), ibis.table({"x": "date"}, name="t")):
        with pytest.raises(DataMismatchError, match="must hold numbers or text"):
            table_at(expression, METADATA).check(("x",))


def test_what_has_no_schema_is_refused(tmp_path):
    """As when the file that it is made of is gone."""
    with pytest.raises(DataMismatchError, match="name its columns"):
        open_table(pl.scan_parquet(tmp_path / "gone.parquet"), METADATA)


def test_what_is_no_table_is_refused():
    """A single column, or anything else, is a frame's matter."""
    for source in (ibis.table({"x": "int64"}, name="t").x, pl.col("x"), 7):
        with pytest.raises(InvalidParameterError):
            open_table(source, METADATA)


@pytest.mark.processes
def test_no_library_is_imported():
    """Whoever has none of them pays for none of them."""
    code = """
import sys
from discreet.data.engines.lazy import is_lazy
assert not is_lazy({}) and not is_lazy("x.parquet")
print(sorted({"polars", "ibis", "adbc_driver_postgresql", "psycopg"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
