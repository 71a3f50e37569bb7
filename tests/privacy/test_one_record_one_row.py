"""One record more is one encoded row more, in every storage; and the faults that break this are flagged."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from discreet.data import engine
from discreet.data.batch_sizes import MANY_COLUMNS
from discreet.data.cells import grid_cells
from discreet.data.columns import NumericColumn, half_width
from discreet.data.design import Design
from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.errors import MetadataError
from discreet.kernels.moments.moments import GRID
from tests.contracts.test_engines import to_arrow_file, to_csv, to_duckdb, to_parquet, to_sqlite

LEVELS = ["plain", "a,b", 'q"q', "two\nlines", "x\r\ny", ";\t"]
METADATA = Metadata.from_value(
    {
        "dataset": "odd",
        "unit": "person",
        "neighboring": "add_or_remove_one",
        "columns": {
            "x": {"type": "real", "lower": -1, "upper": 1},
            "g": {"type": "category", "levels": LEVELS},
            "y": {"type": "real", "lower": -2, "upper": 2},
        },
    }
)
DESIGN = Design.plan(METADATA, "y")
ROWS = [("0.5", "plain", "1"), ("-0.25", "two\nlines", "-1"), ("1", "a,b", "0.5")]
RECORDS = [
    *[("0.125", level, "-0.5") for level in LEVELS],
    *[(x, "plain", y) for x, y in (("1e999", "2"), ("nan", "-7"), ("no number", "1"), ("", ""), ("-.5", "٣"))],
    ("0.1", '"', "0.1"),
    ("0.1", '","\n"', "0.1"),
    ("0.1", "long " * 1000 + "\n" * 50, "0.1"),
]


def table_of(rows, n_more=0):
    """Rows as text, with columns that nobody asks for."""
    columns = dict(zip(("x", "g", "y"), map(list, zip(*rows, strict=True)), strict=True))
    return pa.table(columns | {f"more{i}": ["0"] * len(rows) for i in range(n_more)})


STORAGES = {
    "csv": to_csv,
    "wide csv": lambda table, folder: to_csv(table_of(rows_of(table), MANY_COLUMNS), folder),
    "parquet": to_parquet,
    "arrow": to_arrow_file,
    "duckdb": to_duckdb,
    "sqlite": to_sqlite,
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: pl.from_arrow(table),
    "lazy": lambda table, _: pl.from_arrow(table).lazy(),
}


def rows_of(table):
    return list(zip(*(table[name].to_pylist() for name in ("x", "g", "y")), strict=True))


def work(cells):
    """Number of rows, and sums of products."""
    wide = cells.astype(np.int64)
    return np.append(np.int64(len(cells)), (wide.T @ wide).reshape(-1))


def sums(table, design=DESIGN):
    return table.map_reduce(design, work, np.zeros(1 + design.n_columns**2, dtype=np.int64))


def is_one_row(before, after, record):
    """Tell whether the sums of a table with a record more are those before, and the work of that record alone."""
    alone = DESIGN.encode(table_of([record]).combine_chunks().to_batches()[0])
    return np.array_equal(after - before, work(alone))


@pytest.mark.parametrize("storage", STORAGES)
def test_one_record_more_is_one_encoded_row_more(storage, tmp_path):
    """Whatever the cells of the record hold, and of those beside it."""
    before = sums(open_table(STORAGES[storage](table_of(ROWS), tmp_path), METADATA))
    for place, record in enumerate(RECORDS):
        folder = tmp_path / str(place)
        folder.mkdir()
        rows = [*ROWS[:2], record, *ROWS[2:]]
        after = sums(open_table(STORAGES[storage](table_of(rows), folder), METADATA))
        assert is_one_row(before, after, record), record


class LineByLine(FrameTable):
    """A reader that goes on in the middle of a record: each line of a cell is a row."""

    def batches(self, columns):
        for batch in super().batches(columns):
            rows = [row for row in batch.to_pylist() for _ in (row["g"] or "").split("\n")]
            yield pa.RecordBatch.from_pylist(rows, schema=batch.schema)


def test_a_storage_that_reads_a_record_twice_is_flagged():
    """Control: a record with a line break is one row in the table, and two to such a reader."""
    record = ("0.1", "two\nlines", "0.1")
    before, after = (sums(LineByLine(table_of(rows), METADATA)) for rows in (ROWS, [*ROWS, record]))
    assert not is_one_row(before, after, record)
    before, after = (sums(FrameTable(table_of(rows), METADATA)) for rows in (ROWS, [*ROWS, record]))
    assert is_one_row(before, after, record)


class Centered:
    """A row map that takes the mean of the other rows of a batch away."""

    columns, n_columns = DESIGN.columns, DESIGN.n_columns

    def encode(self, batch):
        cells = DESIGN.encode(batch)
        return (cells - cells.mean(axis=0)).astype(np.int16)


def test_a_map_that_looks_at_other_rows_is_flagged():
    """Control: centering by what is in the table moves every row."""
    record = ("0.1", "plain", "0.1")
    before, after = (sums(FrameTable(table_of(rows), METADATA), Centered()) for rows in (ROWS, [*ROWS, record]))
    assert not is_one_row(before, after, record)


def rows_of_one(most):
    """Number of rows by which a sum changes when a person with five rows comes."""
    metadata = METADATA.model_copy(update={"unit_id": "who", "rows_per_unit": most})
    n_rows = []
    for more in (0, 5):
        who = pa.array([f"p{i}" for i in range(len(ROWS))] + ["new"] * more)
        frame = table_of([*ROWS, *[("0.1", "plain", "0.1")] * more]).append_column("who", who)
        n_rows.append(sums(FrameTable(frame, metadata))[0])
    return int(n_rows[1] - n_rows[0])


def test_a_cut_that_is_switched_off_is_flagged(monkeypatch):
    """Control: two rows of a person count, and all five where the cut is left out."""
    assert rows_of_one(2) == 2
    monkeypatch.setattr(engine, "ContributionBound", lambda *_: None)
    assert rows_of_one(2) > 2


def is_sound(column):
    """Tell whether the ends of a column become the ends of the grid, and what lies beyond them too."""
    try:
        center, half = half_width(column)
        cells = grid_cells(np.array([column.lower, column.upper, -1e300, 1e300, np.nan]), column, center, half)
    except (MetadataError, RuntimeWarning, TypeError):
        return False
    return cells.tolist() == [-GRID, GRID, -GRID, GRID, 0]


def test_bounds_that_were_not_checked_are_flagged():
    """Control: columns that went around the metadata's validators; a declared one is sound."""
    good = METADATA.columns["y"]
    assert is_sound(good)
    for lower, upper in ((1.0, -1.0), (1.0, 1.0), (float("nan"), 1.0), (-float("inf"), 1.0)):
        assert not is_sound(NumericColumn.model_construct(**(good.model_dump() | {"lower": lower, "upper": upper})))
