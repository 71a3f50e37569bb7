"""Tables that somebody writes to while they are open: all passes of a request read the table that was opened."""

import os
import sqlite3
from contextlib import closing

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.data.design import Design
from discreet.data.halves import KEY_WORDS, halves_of
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.errors import ComputationFailedError, DataMismatchError, DiscreetError
from discreet.ledger import Ledger
from discreet.mechanisms.rng import Source

NUMBER = {"type": "real", "lower": 0, "upper": 10, "source": "by design"}
METADATA = Metadata.from_value(
    {"dataset": "d", "unit": "person", "neighboring": "add_or_remove_one", "columns": dict.fromkeys("xzy", NUMBER)}
)
N = 500


def rows(names="xzy", n=N):
    return pa.table({name: [float((i * (3 + place)) % 10) for i in range(n)] for place, name in enumerate(names)})


def to_arrow(table, path):
    pyarrow.feather.write_feather(table, str(path), compression="uncompressed")


def to_duckdb(table, path):
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute("CREATE OR REPLACE TABLE t AS SELECT * FROM given")


def to_sqlite(table, path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute(f"CREATE TABLE t({', '.join(f'{name} REAL' for name in table.column_names)})")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", zip(*table.to_pydict().values(), strict=True))
        connection.commit()


WRITERS = {
    "csv": pyarrow.csv.write_csv,
    "parquet": pq.write_table,
    "arrow": to_arrow,
    "duckdb": to_duckdb,
    "sqlite": to_sqlite,
}
FILES = ("csv", "parquet", "arrow")
DATABASES = ("duckdb", "sqlite")


@pytest.fixture
def path(request, tmp_path):
    """A table of three columns in one storage."""
    path = tmp_path / f"t.{request.param}"
    WRITERS[request.param](rows(), path)
    return path


def write(path, table):
    WRITERS[path.suffix[1:]](table, path)


@pytest.mark.parametrize("path", WRITERS, indirect=True)
def test_columns_that_change_places_are_not_read_for_others(path):
    """Neither a footer nor a header of before says what is where now."""
    table = open_table(path, METADATA)
    write(path, rows("zxy"))
    with pytest.raises(DataMismatchError, match="somebody has written"):
        table.check(("x", "y"))
    with pytest.raises(DataMismatchError, match="somebody has written"):
        list(table.batches(("x", "y")))


@pytest.mark.parametrize("path", DATABASES, indirect=True)
def test_a_view_in_the_place_of_a_table_is_not_read(path):
    """It may compute: here one row decides all others."""
    table = open_table(path, METADATA)
    statements = ("ALTER TABLE t RENAME TO u", "CREATE VIEW t AS SELECT max(x) OVER () AS x, z, y FROM u")
    with closing((duckdb if path.suffix == ".duckdb" else sqlite3).connect(str(path))) as connection:
        for statement in statements:
            connection.execute(statement)
    with pytest.raises(DiscreetError):
        list(table.batches(("x", "y")))


@pytest.mark.parametrize("path", FILES, indirect=True)
@pytest.mark.parametrize("is_renamed", [True, False])
def test_a_file_that_is_written_again_costs_nothing_before_the_charge(path, is_renamed, tmp_path):
    """Whether it is written over or another is put in its place; what is opened anew is read."""
    table = open_table(path, METADATA)
    new = tmp_path / f"new{path.suffix}" if is_renamed else path
    write(new, rows(n=2 * N))
    os.replace(new, path)
    method = dc.DPSIS(epsilon=1.0, n_features_to_select=1)
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("d", 2)
        with pytest.raises(DataMismatchError, match="Open it again"):
            method.fit(table, target="y", ledger=ledger)
        assert ledger.account("d").epsilon_spent == 0
        method.fit(open_table(path, METADATA), target="y", ledger=ledger)


@pytest.mark.parametrize("path", FILES, indirect=True)
def test_a_file_that_is_written_between_two_passes_gives_nothing_more(path, tmp_path):
    """The first pass finds the target's center, the second would be of other rows: the charge stands."""
    table = open_table(path, METADATA)

    passes = []

    def changing(design, *more, **named):
        passes.append(design.columns)
        if len(passes) == 2:
            write(path, rows(n=N + 1))
        return type(table).map_reduce(table, design, *more, **named)

    table.map_reduce = changing
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("d", 2)
        with pytest.raises(ComputationFailedError):
            dc.DPSIS(epsilon=1.0, n_features_to_select=1, y_center="private").fit(table, target="y", ledger=ledger)
        assert len(passes) == 2
        assert ledger.account("d").epsilon_spent == 1


@pytest.mark.parametrize("path", FILES, indirect=True)
def test_a_file_that_is_written_while_it_is_read_gives_nothing(path):
    """Rows before those that were read would be read twice: the end of the pass refuses."""
    table = open_table(path, METADATA)
    batches = table.batches(("x", "y"))
    next(batches)
    with path.open("ab") as file:
        file.write(b"1,1,1\n")
    with pytest.raises(DataMismatchError):
        list(batches)


def test_a_row_that_goes_moves_nobody_to_the_other_half(tmp_path):
    """Each unit is in one half of a database file, too, to which somebody may write between two passes."""
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t(place INTEGER PRIMARY KEY, x REAL, y REAL)")
        connection.executemany("INSERT INTO t VALUES (?, ?, 0)", ((10 * i, i / 100) for i in range(1000)))
        connection.commit()
        public = METADATA.model_copy(update={"columns": {name: METADATA.columns[name] for name in "xy"}})
        halves = halves_of(open_table(path, public), Source.seeded(1).words(KEY_WORDS), ("x", "y"))
        design = Design.plan(halves[0].metadata, "y")
        before, after = [], []
        for cells in (before, after):
            cells += [{int(cell) for block in half.encoded(design) for cell in block[:, 1]} for half in halves]
            connection.execute("DELETE FROM t WHERE place = 0")  # all others are one place earlier
            connection.commit()
    assert before == after
    assert not before[0] & before[1]


@pytest.mark.parametrize("path", DATABASES, indirect=True)
def test_a_public_number_of_rows_is_compared_before_the_charge(path, tmp_path):
    """Where n_rows is public another number is refused, and costs nothing; a private one is not counted by SQLite."""
    public = {**METADATA.to_dict(), "neighboring": "replace_one"}
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("d", 2)
        method = dc.DPSIS(epsilon=1.0, n_features_to_select=1)
        with pytest.raises(DataMismatchError, match=f"n_rows={N + 1}"):
            method.fit(open_table(path, Metadata.from_value(public | {"n_rows": N + 1})), target="y", ledger=ledger)
        assert ledger.account("d").epsilon_spent == 0
        method.fit(open_table(path, Metadata.from_value(public | {"n_rows": N})), target="y", ledger=ledger)
    assert path.suffix == ".duckdb" or open_table(path, METADATA).row_count() is None
