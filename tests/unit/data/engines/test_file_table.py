"""Tables in files: how many rows there may be, and that a file of one table has no other."""

import sqlite3
from contextlib import closing

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pytest

from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.errors import DataMismatchError, InvalidParameterError

WRITERS = {
    "csv": pyarrow.csv.write_csv,
    "arrow": lambda table, path: pyarrow.feather.write_feather(table, str(path), compression="uncompressed"),
}


def declared(**facts):
    number = {"type": "real", "lower": 0, "upper": 10}
    usual = {
        "dataset": "d",
        "unit": "person",
        "neighboring": "add_or_remove_one",
        "columns": {"x": number, "y": number},
    }
    return Metadata.from_value(usual | facts)


@pytest.fixture(params=WRITERS)
def path(request, tmp_path):
    """A file of 3000 rows that does not say so."""
    table = pa.table({name: [float(i % 10) for i in range(3000)] for name in ("x", "y", "who")})
    WRITERS[request.param](table, tmp_path / f"t.{request.param}")
    return tmp_path / f"t.{request.param}"


def test_a_file_of_one_table_has_no_other(path):
    """A name that changes nothing would make the same question another one, and charge it again."""
    with pytest.raises(InvalidParameterError, match="leave --table out"):
        open_table(path, declared(), "t")


def test_the_size_tells_about_how_many_rows_there_are(path, monkeypatch):
    """So that memory holds the rows of units, in as many parts as it takes; where a number is public, that is it."""
    table = open_table(path, declared(unit_id="who"))
    assert 300 < table.about_rows() < 30_000
    assert open_table(path, declared(neighboring="replace_one", n_rows=7)).about_rows() == 7
    monkeypatch.setattr("discreet.data.engine.UNIT_BYTES", 10_000)
    design = Design.plan(table.metadata, "y")
    assert len(list(table._units(design))) > 1
    assert table.moments(design)[0, 0] == 10 * 32767**2


@pytest.mark.parametrize("use", ["column", "unit"])
def test_a_column_that_duckdb_computes_is_refused(tmp_path, use):
    """An update does not check the expression: a row that it fails on would end a pass. Undeclared, it is not read."""
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t(who INTEGER, x DOUBLE, y DOUBLE, z INTEGER AS (who * who))")
        connection.execute("INSERT INTO t(who, x, y) VALUES (1, 1, 1), (2, 2, 2)")
        connection.execute("UPDATE t SET who = 100000 WHERE x = 2")
    number = {"type": "real", "lower": 0, "upper": 10}
    declares = {"columns": {"x": number, "z": number, "y": number}} if use == "column" else {"unit_id": "z"}
    with pytest.raises(DataMismatchError, match="must be stored"):
        open_table(tmp_path / "t.duckdb", declared(**declares))
    batches = open_table(tmp_path / "t.duckdb", declared()).batches(("x", "y"))
    assert sum(len(batch) for batch in batches) == 2


@pytest.mark.parametrize("view", ["t", "T"])
def test_a_view_of_a_table_s_name_is_not_read(tmp_path, view):
    """Beside a table of another schema of DuckDB: its name alone means the view, which may compute."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE SCHEMA s; CREATE TABLE s.t(x DOUBLE, y DOUBLE); INSERT INTO s.t VALUES (1, 1), (2, 2)"
        )
        connection.execute(f"CREATE VIEW {view} AS SELECT max(x) AS x, max(y) AS y FROM s.t")
    for name in (None, "t", view):
        with pytest.raises(InvalidParameterError, match="must be named"):
            open_table(path, declared(), name)


def test_a_table_that_sqlite_computes_is_refused(tmp_path):
    """A module gives the rows of a virtual table, from another one or from anywhere."""
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE stored(x, y)")
        connection.execute("CREATE VIRTUAL TABLE computed USING rtree(id, x, y)")
        connection.commit()
    with pytest.raises(InvalidParameterError, match="must be named"):
        open_table(path, declared(), "computed")
    assert open_table(path, declared(), "stored").header()
