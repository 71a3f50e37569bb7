"""Text that is longer than what an array of Arrow holds, a few cells of it: missing, in every storage alike."""

import sqlite3
from contextlib import closing

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from tests.effort import either

from discreet.data.design import Design
from discreet.data.engines import parquet
from discreet.data.engines.text_cells import MOST_BYTES, short
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table

NUMBER = {"type": "real", "lower": 0, "upper": 10}
COLUMNS = {"y": NUMBER, "c": {"type": "category", "levels": ["a", "z" * 60]}}
TEXT = ["a", "x" * MOST_BYTES, "x" * (MOST_BYTES + 1), None, "a"]


def declared(**facts):
    usual = {"dataset": "d", "unit": "person", "neighboring": "add_or_remove_one", "columns": COLUMNS}
    return Metadata.from_value(usual | facts)


def stored(kind, path):
    """The cells in a storage."""
    table = pa.table({"y": [1.0] * len(TEXT), "c": pa.array(TEXT, pa.string())})
    path.mkdir(exist_ok=True)
    place = path / f"t.{kind}"
    if kind == "parquet":
        pq.write_table(table, place)
    elif kind == "csv":
        pyarrow.csv.write_csv(table, place)
    elif kind == "arrow":
        pyarrow.feather.write_feather(table, str(place), compression="uncompressed")
    elif kind == "duckdb":
        with duckdb.connect(str(place)) as connection:
            connection.register("given", table)
            connection.execute("CREATE TABLE t AS SELECT * FROM given")
    elif kind == "sqlite":
        with closing(sqlite3.connect(place)) as connection:
            connection.execute("CREATE TABLE t(y REAL, c TEXT)")
            connection.executemany("INSERT INTO t VALUES (1, ?)", [(cell,) for cell in TEXT])
            connection.commit()
    else:
        return table.to_pandas() if kind == "pandas" else table
    return place


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "duckdb", "sqlite", "pandas", "table"])
def test_a_long_cell_is_missing_in_every_storage(kind, tmp_path):
    """One byte more than the limit: as a cell, and as an identifier, whose row is nobody's."""
    batches = open_table(stored(kind, tmp_path), declared()).batches(("c",))
    found = [cell for batch in batches for cell in batch.column(0).to_pylist()]
    assert [len(cell) if cell else None for cell in found] == [1, MOST_BYTES, None, None, 1]
    metadata = declared(unit_id="c", rows_per_unit=1, columns={"y": NUMBER})
    units = open_table(stored(kind, tmp_path / "of-units"), metadata)._units(Design.plan(declared(), "y", ["c"]))
    assert sum(len(each.side_by_side(9)[1]) - 1 for each in units) == 2


@pytest.mark.skipif(not either(False, True), reason="two gigabytes take a while")
def test_two_gigabytes_of_text_end_no_pass_of_a_parquet_file(tmp_path):
    """They ended it: whether there was an answer told of two rows. In 100 kilobytes of a file; all rows come once."""
    path, schema = tmp_path / "t.parquet", pa.schema({"y": pa.float64(), "c": pa.string()})
    gigabyte = "x" * 2**30
    cells = [["a"] * 100, [gigabyte], ["a"] * 20, [gigabyte], ["a"] * 50]
    batches = [pa.record_batch([pa.array([1.0] * len(some)), pa.array(some)], schema=schema) for some in cells]
    pq.write_table(pa.Table.from_batches(batches), path, use_dictionary=["c"], write_statistics=False)
    del batches
    assert open_table(path, declared()).moments(Design.plan(declared(), "y", center=0.0))[0, 0] == 172 * 32767**2


def test_rows_that_were_read_before_come_once(tmp_path, monkeypatch):
    """Batches begin again from where one was too long, and give each row once, in its order."""
    pq.write_table(pa.table({"y": [float(place) for place in range(1000)]}), tmp_path / "t.parquet")
    opened = parquet.ParquetTable._opened

    class Failing:
        def __init__(self, file):
            self._file = file

        def iter_batches(self, most, **options):
            for place, batch in enumerate(self._file.iter_batches(most, **options)):
                if most > 1 and place == 3:
                    raise pa.lib.ArrowCapacityError
                yield batch

    monkeypatch.setattr(parquet, "BATCH_ROWS", 70)
    monkeypatch.setattr(parquet.ParquetTable, "_opened", lambda *words: Failing(opened(*words)))
    batches = open_table(tmp_path / "t.parquet", declared(columns={"y": NUMBER, "x": NUMBER})).batches(("y",))
    assert [cell for batch in batches for cell in batch.column(0).to_pylist()] == [float(at) for at in range(1000)]


def test_chunks_are_looked_at_one_by_one():
    """Together they may be longer than an array; numbers are as they were."""
    chunks = pa.chunked_array([["a", "x" * (MOST_BYTES + 1)], ["b"]])
    assert short(chunks).to_pylist() == ["a", None, "b"]
    assert short(pa.array([1, None])).to_pylist() == [1, None]


@pytest.mark.parametrize("kind", [pa.string_view(), pa.large_string(), pa.dictionary(pa.int8(), pa.large_string())])
def test_long_text_is_missing_in_every_type(kind):
    """Of views Arrow tells no lengths, and a batch of long ones could not be made text: it ended the pass."""
    cells = pa.array(TEXT, kind)
    for found in (short(cells), short(pa.chunked_array([cells]))):
        assert [len(cell) if cell else None for cell in found.to_pylist()] == [1, MOST_BYTES, None, None, 1]
