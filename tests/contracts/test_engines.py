"""One suite that every engine passes: the same integers from every storage, in every order, by every split."""

import contextlib
import itertools
import sqlite3
import subprocess
import sys
from functools import partial

import duckdb
import ibis
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from benchmarks.tables import FREMTPL_METADATA, SHARED

from discreet.data import engine
from discreet.data.design import Design
from discreet.data.dummy import dummy_table
from discreet.data.engines import csv_file, file_table, lazy, sql
from discreet.data.engines import duckdb as duckdb_files
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.data.sources import open_table
from discreet.errors import DataMismatchError, InvalidParameterError
from discreet.kernels.glm.families import Columns, poisson, score_map
from discreet.kernels.glm.unit_scores import UnitScores
from discreet.mechanisms.rng import Source
from tests.effort import either
from tests.spark import spark_parquet
from tests.warehouse import PADDED, TYPES, load

METADATA = Metadata.from_text(FREMTPL_METADATA.replace("n_rows: 677991", "n_rows: 3000"))
DESIGN = Design.plan(METADATA, "ClaimNb", center=0.0)


def small() -> pa.Table:
    """Rows of the declared shape with everything that may go wrong in a cell."""
    table = dummy_table(METADATA, 3000, Source.seeded(4).words).to_pydict()
    table["Density"][5], table["Exposure"][6], table["Area"][7] = None, None, None
    table["Region"][8], table["VehAge"][9], table["Exposure"][10] = "Atlantis", 10**9, -3.5
    table["VehBrand"][11] = ""
    return pa.table(table)


def to_csv(table, folder):
    pyarrow.csv.write_csv(table, folder / "t.csv")
    return folder / "t.csv"


def to_tsv(table, folder):
    pyarrow.csv.write_csv(table, folder / "t.tsv", pyarrow.csv.WriteOptions(delimiter="\t"))
    return folder / "t.tsv"


def to_parquet(table, folder):
    pq.write_table(table, folder / "t.parquet", row_group_size=700)
    return folder / "t.parquet"


def to_arrow_file(table, folder):
    pyarrow.feather.write_feather(table, folder / "t.arrow", chunksize=900)
    return folder / "t.arrow"


def to_arrow_stream(table, folder):
    with pa.OSFile(str(folder / "t.arrows"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, 500)
    return folder / "t.arrows"


def to_duckdb(table, folder):
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE policies AS SELECT * FROM given")
    return folder / "t.duckdb"


def to_sqlite(table, folder):
    with contextlib.closing(sqlite3.connect(folder / "t.sqlite")) as connection, connection:
        names = ", ".join(file_table.quoted(name) for name in table.column_names)
        connection.execute(f"CREATE TABLE policies ({names})")
        marks = ", ".join("?" for _ in table.column_names)
        connection.executemany(f"INSERT INTO policies VALUES ({marks})", zip(*table.to_pydict().values(), strict=True))
    return folder / "t.sqlite"


class Server:
    """The server's database for this module; set once a test needs it."""

    url = ""
    numbers = itertools.count()


@pytest.fixture(autouse=True)
def _server(request):
    given = getattr(request.node, "callspec", None)
    if given is not None and not Server.url and any("postgres" in str(value) for value in given.params.values()):
        Server.url = request.getfixturevalue("postgres")()


def to_postgres(table, _, types=TYPES):
    return load(Server.url, table, f"t{next(Server.numbers)}", types)


ENGINES = {
    "csv": to_csv,
    "tsv": to_tsv,
    "parquet": to_parquet,
    "arrow file": to_arrow_file,
    "arrow stream": to_arrow_stream,
    "duckdb": to_duckdb,
    "sqlite": to_sqlite,
    "spark": lambda table, folder: spark_parquet(table, folder, to_parquet),
    "pandas": lambda table, _: table.to_pandas(),
    "pandas untyped": lambda table, _: table.to_pandas().astype(object),
    "pandas categories": lambda table, _: table.to_pandas().astype("category"),
    "polars": lambda table, _: pl.from_arrow(table),
    "arrow": lambda table, _: table,
    "postgres": to_postgres,
    "postgres numeric": lambda table, _: to_postgres(table, _, PADDED),
    "polars lazy": lambda table, folder: pl.scan_parquet(to_parquet(table, folder)),
    "duckdb relation": lambda table, folder: duckdb.connect().from_parquet(str(to_parquet(table, folder))),
    "ibis": lambda table, folder: ibis.polars.connect().read_parquet(to_parquet(table, folder)),
}


@pytest.fixture(params=ENGINES, ids=lambda name: name.replace(" ", "_"))
def stored(request, tmp_path):
    """The small table in one storage."""
    return ENGINES[request.param](small(), tmp_path)


@pytest.fixture(scope="module")
def expected():
    """Moments of the small table by plain int64 arithmetic."""
    cells = DESIGN.encode(small().combine_chunks().to_batches()[0]).astype(np.int64)
    return cells.T @ cells


def test_header_names_the_columns_and_opens_no_row(stored):
    """The header holds the names in order; the check against the metadata passes."""
    table = open_table(stored, METADATA)
    assert [name for name, _ in table.header()] == small().column_names
    table.check(DESIGN.columns)
    assert table.row_count() in (None, 3000)


@pytest.mark.slow
@pytest.mark.parametrize(("batch_rows", "workers"), either([(97, 1), (1000, 4)], [(65536, 2), (97, 1), (1000, 4)]))
def test_moments_are_the_same_integers(stored, expected, batch_rows, workers, monkeypatch):
    """Whatever the storage, the batches and the threads."""
    for module in (engine, csv_file, duckdb_files, file_table, sql, lazy):
        monkeypatch.setattr(module, "BATCH_ROWS", batch_rows)
    monkeypatch.setattr("discreet.data.engines.frame.BATCH_ROWS", batch_rows)
    monkeypatch.setattr("discreet.data.engines.each.WORKERS", workers)
    np.testing.assert_array_equal(open_table(stored, METADATA).moments(DESIGN), expected)


def encoded():
    """The small table's cells of the scores' design."""
    return SCORES.encode(small().combine_chunks().select(list(SCORES.columns)).to_batches()[0])


def signs(cells):
    """How many targets lie below their center, at it and above it."""
    return np.bincount(np.sign(cells[:, -1]).astype(np.int64) + 1, minlength=3)


NUMERIC = [name for name in DESIGN.candidates if METADATA.is_number(name)]
SCORES = ScoreDesign.plan(METADATA, "ClaimNb", NUMERIC, center=0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("batch_rows", "workers", "group"),
    either([(97, 1, 1), (1000, 4, 2)], [(65536, 2, 1024), (97, 1, 1), (1000, 4, 2)]),
)
def test_scores_are_the_same_integers(stored, expected, batch_rows, workers, group, monkeypatch):
    """Sums of products with the target, column by column, are those of the moments."""
    for module in (engine, csv_file, duckdb_files, file_table, sql, lazy):
        monkeypatch.setattr(module, "BATCH_ROWS", batch_rows)
    monkeypatch.setattr("discreet.data.engines.each.WORKERS", workers)
    monkeypatch.setattr(engine, "GROUP", group)
    table = open_table(stored, METADATA)
    places = np.cumsum([1, *DESIGN.widths])[[DESIGN.candidates.index(name) for name in NUMERIC]]
    np.testing.assert_array_equal(table.products(SCORES), expected[places, -1])
    assert table.target_sum(SCORES) == (expected[0, -1] // 32767, 3000)
    np.testing.assert_array_equal(table.target_counts(SCORES, signs, 3), signs(encoded()))


OF_DRIVERS = METADATA.model_copy(update={"unit_id": "driver", "rows_per_unit": 2})
"""The same rows, of drivers with several policies each."""


def of_drivers() -> pa.Table:
    """The small table with identifiers: some drivers have one row, some five, two rows have none."""
    words = Source.seeded(9).words(3000)
    drivers = [None if row in (20, 21) else int(words[row] % 1100) for row in range(3000)]
    return small().append_column("driver", pa.array(drivers, pa.int64()))


def squared_scores(table):
    """Squares of each driver's score, which needs the rows of one together."""
    p = DESIGN.n_columns - 1
    row_map = score_map(poisson(4.0), np.zeros(p), (0.0, 0.0))
    scores = UnitScores(row_map, np.eye(p) * 1024, 2.0**9, 1e-3, 16)
    start = np.zeros((p, p + 1), dtype=np.int64)
    of_units = partial(scores.sums_of_units, columns=Columns(np.arange(p + 1)))
    return table.map_reduce(DESIGN, scores.sums, start, of_units=of_units)


@pytest.fixture(scope="module")
def of_two_rows():
    """What remains of the drivers' rows, by the frame's own engine: the reference of the others."""
    table = open_table(of_drivers(), OF_DRIVERS)
    return table.moments(DESIGN), table.products(SCORES), table.target_sum(SCORES), squared_scores(table)


@pytest.mark.parametrize("storage", ENGINES)
def test_people_are_cut_alike_in_every_storage(storage, of_two_rows, expected, tmp_path):
    """At most two rows of a driver, the same ones: moments, scores, the target's sum, squares of drivers' sums."""
    table = open_table(ENGINES[storage](of_drivers(), tmp_path), OF_DRIVERS)
    moments, products, total, squares = of_two_rows
    np.testing.assert_array_equal(table.moments(DESIGN), moments)
    np.testing.assert_array_equal(table.products(SCORES), products)
    assert table.target_sum(SCORES) == total
    assert table.target_counts(SCORES, signs, 3).sum() == total[1]
    np.testing.assert_array_equal(squared_scores(table), squares)
    assert squares[0, 0] > 0
    counts = np.unique(
        [driver for driver in of_drivers()["driver"].to_pylist() if driver is not None], return_counts=True
    )
    assert total[1] == np.minimum(counts[1], 2).sum() < 3000
    assert not np.array_equal(moments, expected)  # control: without the cut it would be another sum


NAMES = [
    "",
    " ",
    "7",
    "7.0",
    "07",
    "-0",
    "1e5",
    "a,b",
    'q"q',
    "two\nlines",
    "tab\t",
    "é",
    "e\u0301",
    "٣",
    "nan",
    "x" * 40,
]
PEOPLE = METADATA.model_copy(update={"unit_id": "who", "rows_per_unit": 1})


def of_people() -> pa.Table:
    """The small table of people whose names no storage may confuse, and none takes for a missing cell."""
    words = Source.seeded(10).words(3000).tolist()
    names = [f"{NAMES[word % 16]}{word // 2**32 % 23}{('', '.50', chr(39))[word // 2**16 % 3]}" for word in words]
    return small().append_column("who", pa.array(names))


@pytest.mark.parametrize("storage", ENGINES)
def test_samples_of_people_with_odd_names_are_alike_in_every_storage(storage, tmp_path):
    """One row of each, the same one, whatever the name is."""
    reference = open_table(of_people(), PEOPLE)
    table = open_table(ENGINES[storage](of_people(), tmp_path), PEOPLE)
    np.testing.assert_array_equal(table.moments(DESIGN), reference.moments(DESIGN))
    np.testing.assert_array_equal(table.products(SCORES), reference.products(SCORES))
    assert table.target_sum(SCORES) == reference.target_sum(SCORES)


LONG = Metadata.from_value(
    {
        "dataset": "long",
        "unit": "person",
        "neighboring": "add_or_remove_one",
        "columns": {"y": {"type": "integer", "lower": 0, "upper": 1}},
        "features": {"type": "real", "lower": 0, "upper": 9, "count": 40},
        "layout": {"row": "who", "feature": "what", "value": "how much"},
    }
)


@pytest.mark.parametrize("storage", ENGINES)
def test_long_tables_are_the_same_in_every_storage(storage, tmp_path):
    """Values and targets, in any order, with people, features and cells that count for nothing."""
    words = Source.seeded(6).words(5 * 900).reshape(5, -1)
    who, what, value, turned = (words[0] % 70).astype(int), (words[1] % 42).astype(int), words[2] % 12, words[3]
    values = pa.table({"who": who, "what": what, "how much": [None if v == 11 else float(v) for v in value]})
    people = pa.table({"y": (words[4, :60] % 2).astype(int), "who": np.arange(60)})
    folders = [tmp_path / name for name in ("first", "values", "people")]
    for folder in folders:
        folder.mkdir()
    opened = open_table(values, LONG, targets=people)
    design = ScoreDesign.plan(LONG, "y", opened.feature_names("y"))
    shuffled = values.take(pa.array(np.argsort(turned)))
    table = open_table(ENGINES[storage](shuffled, folders[1]), LONG, targets=ENGINES[storage](people, folders[2]))
    table.check(("y",))
    np.testing.assert_array_equal(table.products(design), opened.products(design))
    assert table.target_sum(design) == opened.target_sum(design)
    np.testing.assert_array_equal(table.target_counts(design, signs, 3), opened.target_counts(design, signs, 3))
    assert table.target_counts(design, signs, 3).sum() == table.target_sum(design)[1]
    assert len(list(folders[1].iterdir())) <= 1


ORDERS = {
    "as it is": np.arange,
    "reversed": lambda n: np.arange(n)[::-1],
    "shuffled": lambda n: np.argsort(Source.seeded(2).words(n)),
}


@pytest.mark.parametrize("order", ["reversed", "shuffled"])
@pytest.mark.parametrize("storage", ENGINES)
def test_order_of_rows_does_not_matter(storage, order, expected, tmp_path):
    """Whatever the storage, rows in another order add up to the same integers."""
    table = small().take(pa.array(ORDERS[order](3000)))
    found = open_table(ENGINES[storage](table, tmp_path), METADATA).moments(DESIGN)
    np.testing.assert_array_equal(found, expected)


KINDS = Metadata.from_value(
    {
        "dataset": "kinds",
        "unit": "person",
        "neighboring": "add_or_remove_one",
        "columns": {
            "flag": {"type": "integer", "lower": 0, "upper": 1},
            "said": {"type": "category", "levels": ["true", "false"]},
            "code": {"type": "category", "levels": ["1", "2", "other"], "unknown": "other"},
            "grade": {"type": "category", "levels": ["1", "1.5", "2"]},
            "large": {"type": "integer", "lower": 0, "upper": 2**62},
            "typed": {"type": "real", "lower": -5, "upper": 5, "missing": 1},
            "y": {"type": "real", "lower": 0, "upper": 1, "out_of_bounds": "missing"},
        },
    }
)


UNTYPED = {"csv", "tsv", "sqlite", "pandas untyped"}
"""Where each cell has its own type; the table of SQLite is made without any."""


@pytest.mark.parametrize("storage", ENGINES)
def test_cells_mean_the_same_in_every_storage(storage, tmp_path):
    """Booleans, codes among words, numbers as levels, large integers and text that is a number: row for row."""
    cells = {
        "flag": pa.array([True, False, None, True, False]),
        "said": pa.array([True, False, None, False, True]),
        "code": pa.array([1, 2, 3, None, 1]),
        "grade": pa.array([1.0, 1.5, 2.0, 2.5, None]),
        "large": pa.array([0, 2**62, 2**61 + 1, None, -1]),
        "typed": pa.array(["1.5", " -2 ", "x", None, "1e400"]),
        "y": pa.array([0.25, 1e308, float("nan"), None, -1e-9]),
    }
    design = Design.plan(KINDS, "y")
    table = open_table(ENGINES[storage](pa.table(cells), tmp_path), KINDS)
    table.check([name for name in design.columns if name != "typed"])
    if storage in UNTYPED:
        table.check(design.columns)
    else:
        with pytest.raises(DataMismatchError, match="'typed' is declared as a number, but its storage type is"):
            table.check(design.columns)
    found = np.concatenate([design.encode(batch) for batch in table.batches(design.columns)]) / 32767
    expected = np.array(
        [
            [1, 1, 1, 0, 1, 0, 0, 1, 0, 0, -1, 0.3, -0.5],
            [1, -1, 0, 1, 0, 1, 0, 0, 1, 0, 1, -0.4, 0],
            [1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0.2, 0],
            [1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0.2, 0],
            [1, -1, 1, 0, 1, 0, 0, 0, 0, 0, -1, 0.2, 0],
        ]
    )
    np.testing.assert_allclose(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)], atol=2e-5)


def test_a_wrong_public_count_is_refused(stored):
    """Where the storage states its number of rows, another n_rows is refused before a row is read."""
    other = Metadata.from_value({**METADATA.to_dict(), "n_rows": 2999})
    table = open_table(stored, other)
    if table.row_count() is not None:
        with pytest.raises(DataMismatchError, match="n_rows=2999"):
            table.check(DESIGN.columns)


def test_progress_adds_up_to_the_rows(stored):
    """Rows told are rows read."""
    told = []
    open_table(stored, METADATA).moments(DESIGN, told.append)
    assert sum(told) == 3000


@pytest.fixture(scope="module")
def policies():
    """The real table of 677,991 policies, or some of them; without the shared data, 50,000 rows of its shape."""
    path = SHARED / "fremtpl2freq.parquet"
    if path.is_file():
        table = pq.read_table(path)
        return table.take(pa.array(np.arange(0, table.num_rows, either(41, 1))))
    return dummy_table(METADATA, 50_000, Source.seeded(9).words)


def test_real_table_in_three_orders_from_five_storages(policies, tmp_path):
    """Parquet as it is, reversed and shuffled; CSV, DuckDB, pandas and polars shuffled: one matrix of integers."""
    metadata = Metadata.from_text(FREMTPL_METADATA.replace("677991", str(policies.num_rows)))
    design = Design.plan(metadata, "ClaimNb", center=0.0)
    n = policies.num_rows
    found = []
    for order in ORDERS.values():
        table = policies.take(pa.array(order(n)))
        found.append(open_table(to_parquet(table, tmp_path), metadata).moments(design))
    for source in (to_csv(table, tmp_path), to_duckdb(table, tmp_path), table.to_pandas(), pl.from_arrow(table)):
        found.append(open_table(source, metadata).moments(design))
    assert found[0][0, 0] == n * 32767**2
    for moments in found[1:]:
        np.testing.assert_array_equal(moments, found[0])


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_parquet('{other}')",
        "SELECT * FROM read_csv('{other}')",
        "SELECT * FROM read_text('{other}')",
        "COPY (SELECT 1) TO '{other}.out'",
        "ATTACH '{other}.db' AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM read_csv('https://localhost/x.csv')",
        "SET enable_external_access = true",
        "SET allowed_paths = ['{other}']",
        "SET temp_directory = '{other}.tmp'",
        "EXPORT DATABASE '{other}.export'",
    ],
)
def test_engine_is_locked_to_its_file(statement, tmp_path):
    """No other file, no network, no writing, no way to lift the lock."""
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir(), other.mkdir()
    secret = to_parquet(small(), other)
    table = open_table(to_duckdb(small(), home), METADATA)
    with table._connect() as connection, pytest.raises(duckdb.Error):
        connection.execute(statement.format(other=secret)).fetchall()
    assert [path.name for path in other.iterdir()] == ["t.parquet"]


def test_engine_shows_no_progress(tmp_path):
    """The engine's own bar, which comes on in long reads and counts private rows, is off and stays off."""
    table = open_table(to_duckdb(small(), tmp_path), METADATA)
    with table._connect() as connection:
        assert connection.execute("SELECT current_setting('enable_progress_bar')").fetchone() == (False,)
        with pytest.raises(duckdb.Error):
            connection.execute("SET enable_progress_bar = true")


def spilled(table, monkeypatch):
    """Files beside the table while the engine sorts more than its memory holds, here 40 MB."""
    connect = duckdb.connect
    with monkeypatch.context() as patch:
        patch.setattr(duckdb, "connect", lambda path, **more: connect(path, config={"memory_limit": "40MB"}, **more))
        connection = table._connect()
    with connection:
        with contextlib.suppress(duckdb.OutOfMemoryException):
            connection.execute("SELECT range, repeat('x', 50) FROM range(1_000_000) ORDER BY hash(range)").fetchone()
        return {path.name for path in table.path.parent.rglob("*")} - {table.path.name}


def test_engine_writes_no_row_to_the_disk(tmp_path, monkeypatch):
    """Rows that do not fit into memory are an error; control: without one word of the lock they are on the disk."""
    table = open_table(to_duckdb(small(), tmp_path), METADATA)
    assert spilled(table, monkeypatch) == set()
    assert "SET temp_directory = '';" in duckdb_files.LOCK
    monkeypatch.setattr(duckdb_files, "LOCK", duckdb_files.LOCK.replace("SET temp_directory = '';", ""))
    assert spilled(table, monkeypatch)


def test_reading_leaves_nothing_beside_the_file(stored, tmp_path):
    """No temporary file, no journal, no lock stays."""
    before = sorted(path.name for path in tmp_path.iterdir())
    open_table(stored, METADATA).moments(DESIGN)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_views_are_refused(tmp_path):
    """A view's definition could let one row change another: it is no table."""
    path = to_duckdb(small(), tmp_path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE VIEW seen AS SELECT * FROM policies")
    with pytest.raises(InvalidParameterError, match="--table"):
        open_table(path, METADATA, "seen")
    assert open_table(path, METADATA).locator.endswith("#policies")


@pytest.mark.processes
def test_a_large_file_is_streamed(tmp_path):
    """Three million rows more pass through less memory than they would fill; both files are large ones."""
    paths = [tmp_path / f"{millions}.parquet" for millions in (3, 6)]
    with duckdb.connect() as connection:
        for path in paths:
            connection.execute(
                "COPY (SELECT random() a, random() b, random() c, random() d, random() e, random() y "
                f"FROM range({path.stem}000000)) TO '{path}' (FORMAT parquet)"
            )
    # The kernel's mark of this very program: what getrusage tells begins with the peak of the program before it.
    code = """
import sys
from pathlib import Path
from discreet.data.design import Design
from discreet.data.sources import open_table
from discreet.data.metadata import Metadata
box = {"type": "real", "lower": 0, "upper": 1}
metadata = Metadata.from_value({"dataset": "d", "unit": "p", "neighboring": "add_or_remove_one",
                                "columns": dict.fromkeys("abcdey", box)})
for path in sys.argv[1:]:
    moments = open_table(path, metadata).moments(Design.plan(metadata, "y"))
    assert moments[0, 0] == int(Path(path).stem) * 1000000 * 32767**2
    print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True)
    first, second = map(int, done.stdout.split())
    assert second - first < 0.75 * 3_000_000 * 6 * 8 / 2**10
