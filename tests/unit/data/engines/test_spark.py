"""Spark gives the integers of the other engines, whatever the partitions, the order of rows and the types."""

import datetime
import os
import signal
import subprocess
import sys
import traceback
import warnings
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.effort import either
from tests.spark import spark

from discreet import workflow
from discreet.data.contribution_bound import ContributionBound
from discreet.data.design import Design
from discreet.data.engines import spark as spark_table
from discreet.data.engines import spark_source, spark_worker
from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.data.row_pass import RowPass
from discreet.data.score_design import ScoreDesign
from discreet.data.sources import open_table
from discreet.errors import DataMismatchError, InvalidParameterError
from discreet.kernels.moments.moments import exact_moments
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of

LEVELS = [f"level {place}" for place in range(100)]
COLUMNS = {
    "x": {"type": "real", "lower": -1, "upper": 1},
    "n": {"type": "integer", "lower": 0, "upper": 9},
    "site": {"type": "category", "levels": LEVELS},
    "y": {"type": "real", "lower": -1, "upper": 1},
}
N = 2000


def declared(unit_id=None, **fields):
    """Metadata of `rows`; with a unit, three rows of one count."""
    cut = {} if unit_id is None else {"unit_id": unit_id, "rows_per_unit": 3}
    facts = {"dataset": "t", "unit": "person", "neighboring": "add_or_remove_one", "columns": COLUMNS}
    return Metadata.from_value(facts | cut | fields)


def rows():
    """Cells of every kind, and people with up to fifteen rows each, some with none."""
    words = Source.seeded(3).words(5 * N).reshape(5, N)
    x, y = (words[:2] % 2001).astype(float) / 1000 - 1
    who = (words[4] % 300).astype(int)
    return pa.table(
        {
            "x": [None if cell > 0.99 else float(cell) for cell in x],
            "n": (words[2] % 11).astype(int),
            "site": [f"level {place}" for place in words[3] % 101],
            "y": y + 0.5 * x,
            "who": pa.array([None if cell == 7 else int(cell) for cell in who]),
        }
    )


@pytest.fixture(scope="module", autouse=True)
def _session():
    """Started before a refused address starts another, of other settings."""
    spark()


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The rows as Parquet."""
    path = tmp_path_factory.mktemp("spark") / "rows.parquet"
    pq.write_table(rows(), path, row_group_size=300)
    return path


MANY = either(16, 64)
SPLITS = {
    "one partition": (None, lambda frame: frame.repartition(1)),
    "seven partitions": ("who", lambda frame: frame.repartition(7)),
    "many partitions, turned": (None, lambda frame: frame.sort("y").repartition(MANY)),
    "all in one of seven": (None, lambda frame: frame.selectExpr("*", "1 as one").repartition(7, "one")),
    "all people in one of seven": ("who", lambda frame: frame.selectExpr("*", "1 as one").repartition(7, "one")),
}
"""Whether people's rows are cut, and how the rows lie."""


# ---- the same integers


@pytest.mark.parametrize(("unit_id", "split"), SPLITS.values(), ids=SPLITS)
def test_partitions_do_not_matter(stored, unit_id, split, monkeypatch):
    """Moments of 103 columns, added up on the cluster and at the driver; scores; counts of people's rows."""
    frame, metadata = split(spark().read.parquet(str(stored))), declared(unit_id)
    design, scores = Design.plan(metadata, "y"), ScoreDesign.plan(metadata, "y", ["x", "n"])
    table, local = open_table(frame, metadata), open_table(rows(), metadata)
    table.check(design.columns)
    expected = local.moments(design)
    assert expected.size > spark_worker.PIECE
    assert expected.nbytes > spark_table.DIRECT_BYTES
    np.testing.assert_array_equal(table.moments(design), expected)
    with monkeypatch.context() as patch:
        patch.setattr(spark_table, "DIRECT_BYTES", 2**30)
        np.testing.assert_array_equal(table.moments(design), expected)
    np.testing.assert_array_equal(table.products(scores), local.products(scores))
    assert table.target_sum(scores) == local.target_sum(scores)


@pytest.mark.parametrize("unit_id", [None, "who"])
def test_rows_that_come_to_the_driver(stored, unit_id):
    """For methods that look at all rows together: the same rows, the cut by unit enforced."""
    metadata = declared(unit_id)
    design = Design.plan(metadata, "y", ["x", "n"])
    found, expected = (
        np.concatenate(list(table.encoded(design)))
        for table in (open_table(f"spark:{stored}", metadata), open_table(rows(), metadata))
    )
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, expected.tolist()))


IDENTIFIERS = {
    "int": (pa.int32(), int),
    "long": (pa.int64(), lambda who: 2**60 + who),
    "float": (pa.float32(), float),
    "double": (pa.float64(), lambda who: float(who // 2) + 0.5 * (who % 2)),
    "decimal": (pa.decimal128(25, 2), lambda who: Decimal(10**19 + who) / 4),
    "text": (pa.string(), lambda who: f"{who:03d}é"),
    "boolean": (pa.bool_(), lambda who: who % 2 == 0),
}


@pytest.mark.parametrize("kind", IDENTIFIERS)
def test_identifiers_of_every_type(kind, tmp_path):
    """All rows of a person meet, as on the other engines."""
    storage, made = IDENTIFIERS[kind]
    owners = [None if who is None else made(who) for who in rows()["who"].to_pylist()]
    table = rows().drop_columns("who").append_column("who", pa.array(owners, storage))
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    design = Design.plan(declared("who"), "y", ["x", "n"])
    spark()
    found = open_table(f"spark:{tmp_path}/t.parquet", declared("who")).moments(design)
    np.testing.assert_array_equal(found, open_table(tmp_path / "t.parquet", declared("who")).moments(design))


@pytest.mark.parametrize("kind", ["long", "text"])
def test_identifiers_with_wide_ends(stored, kind, tmp_path):
    """A session may hand bytes and text on with ends of 64 bits."""
    owners = [None if who is None else IDENTIFIERS[kind][1](who) for who in rows()["who"].to_pylist()]
    table = rows().drop_columns("who").append_column("who", pa.array(owners, IDENTIFIERS[kind][0]))
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    design, metadata = Design.plan(declared("who"), "y", ["x", "site"]), declared("who")
    expected = open_table(table, metadata)
    session, setting = spark(), "spark.sql.execution.arrow.useLargeVarTypes"
    session.conf.set(setting, "true")
    try:
        found = open_table(f"spark:{tmp_path}/t.parquet", metadata)
        np.testing.assert_array_equal(found.moments(design), expected.moments(design))
        kept = [np.concatenate(list(one.encoded(design))) for one in (found, expected)]
    finally:
        session.conf.unset(setting)
    assert sorted(map(tuple, kept[0].tolist())) == sorted(map(tuple, kept[1].tolist()))


@pytest.mark.parametrize(
    ("method", "parameters"),
    [("pcls", {"epsilon": 2.0}), ("sis", {"epsilon": 2.0, "n_features_to_select": 1})],
)
def test_a_seeded_release_is_the_same(stored, method, parameters):
    """The same columns, steps and noise as from a frame in memory."""
    releases = [
        workflow.answer(
            method_of(method, **parameters), open_table(source, declared()), "y", ["x", "n"], rng=Source.seeded(1)
        ).release
        for source in (spark().read.parquet(str(stored)).repartition(7), rows())
    ]
    first, second = releases
    assert (first.selected, first.steps) == (second.selected, second.steps)


# ---- header, names and addresses


def test_types_in_the_words_of_all_engines():
    """Numbers and text of every width may be read; dates, binary and nested columns are refused."""
    text = (
        "a tinyint, b smallint, c int, d bigint, e float, f double, g decimal(9,2), h string, k boolean,"
        "l void, m date, o timestamp, p binary, q array<int>, r struct<s:string>"
    )
    names = {name: {"type": "category", "levels": ["0", "1"]} for name in "abcdefghklmopqr"}
    table = open_table(spark().createDataFrame([], text), declared(columns=names))
    plain = ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "BOOLEAN"]
    assert [kind for _, kind in table.header()][:10] == [*plain, "NULL"]
    table.check(list("abcdefghkl"))
    session = spark()
    session.sql("CREATE TABLE IF NOT EXISTS coded (i varchar(3), j char(2)) USING parquet")
    open_table("spark:coded", declared(columns=dict.fromkeys("ij", names["a"]))).check(["i", "j"])
    for name in "mopqr":
        with pytest.raises(DataMismatchError, match="must hold numbers or text"):
            table.check([name])


def test_odd_names():
    """Dots, backticks, quotes and case are part of a name; a name that is there twice is refused."""
    names = ["a.b", "`a`", "x", "X", 'q"', "ü ", "y", "z", "z"]
    frame = spark().createDataFrame([tuple(map(float, range(9)))], ", ".join(f"c{i} double" for i in range(9)))
    box = {"type": "real", "lower": 0, "upper": 10}
    metadata = declared(columns=dict.fromkeys(names, box))
    table = open_table(frame.toDF(*names), metadata)
    table.check(names[:7])
    (batch,) = table.batches(names[:7])
    assert batch.to_pydict() == {name: [float(place)] for place, name in enumerate(names[:7])}
    with pytest.raises(DataMismatchError, match="olumn 'z' is declared, but the table has it more than once"):
        table.check(["z"])
    with pytest.raises(DataMismatchError, match="olumn 'Y' is declared, but is not in the table, though 'y' is"):
        table.check(["Y"])


def test_tables_of_the_catalog(stored):
    """A table has its full name; views of every kind are refused, as are names of nothing."""
    session = spark()
    session.sql(f"CREATE TABLE IF NOT EXISTS people USING parquet LOCATION '{stored.parent}'")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT * FROM people")
    session.sql("CREATE OR REPLACE GLOBAL TEMPORARY VIEW seen AS SELECT * FROM people")
    session.sql("CREATE OR REPLACE VIEW kept AS SELECT * FROM people")
    table = open_table("spark:default.people", declared())
    assert table.locator == "spark:spark_catalog.default.people"
    assert table.name == "spark_catalog.default.people"
    design = Design.plan(declared(), "y", ["x"])
    np.testing.assert_array_equal(table.moments(design), open_table(rows(), declared()).moments(design))
    for name in ("seen", "global_temp.seen", "kept", "default.kept"):
        with pytest.raises(InvalidParameterError, match="it is a view"):
            open_table(f"spark:{name}", declared())
    for name in ("nothing", "no.such.schema", "", "a b; drop table x"):
        with pytest.raises(InvalidParameterError, match="is none there"):
            open_table(f"spark:{name}", declared())


@pytest.mark.parametrize("provider", ["csv", "json"])
def test_tables_of_the_catalog_that_are_text(tmp_path, provider):
    """A cell that is no number ends the reading of such a table, and so decides whether there is an answer."""
    (tmp_path / f"rows.{provider}").write_text({"csv": "0.5\nzqcanary\n", "json": '{"x": "zqcanary"}\n'}[provider])
    spark().sql(
        f"CREATE TABLE text_{provider} (x DOUBLE, Provider STRING) USING {provider} "
        f"OPTIONS (path '{tmp_path}', mode 'FAILFAST') COMMENT 'Provider parquet'"
    )
    with pytest.raises(InvalidParameterError, match="must be stored as one of"):
        open_table(f"spark:text_{provider}", declared())


@pytest.mark.parametrize(
    ("place", "hint"),
    [
        ("folder/rows.parquet", "must be absolute"),
        ("/data/*.parquet", "must be without"),
        ("s3a://key:secret@bucket/x", "without a password"),
        ("s3a://key:se/secret@bucket/x", "without a password"),
        ("s3a://key%3Ase%2Fsecret@bucket/x", "without a password"),
        ("s3a:/key:secret@bucket/x", "without a password"),
        ("key:se/secret@bucket", "without a password"),
        ("key:secret@bucket", "without a password"),
        ("//server/folder", "must be absolute"),
        ("/no/such/folder", "cannot be read"),
    ],
)
def test_paths_that_are_refused(place, hint):
    """Relative paths, patterns, passwords and places of nothing; a password is not shown."""
    spark()
    with pytest.raises((InvalidParameterError, DataMismatchError), match=hint) as caught:
        open_table(f"spark:{place}", declared())
    assert "secret" not in str(caught.value)


def test_names_of_folders_are_no_cells(tmp_path):
    """A folder named x=1 gives no column: what another is called would decide its type."""
    for name in ("x=1", "x=a"):
        (tmp_path / name).mkdir()
        pq.write_table(rows().select(["y"]), tmp_path / name / "part.parquet")
    spark()
    table = open_table(f"spark:{tmp_path}/", declared())
    assert table.header() == [("y", "DOUBLE")]
    assert table.locator == f"spark:{tmp_path}"
    assert sum(batch.num_rows for batch in table.batches(["y"])) == 2 * N


# ---- folders


def folder_of(folder, **files):
    """Store tables as Parquet files of a folder, and return its address."""
    spark()
    for name, table in files.items():
        place = folder / name.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, f"{place}.parquet")
    return f"spark:{folder}"


def numbered(*cells, kind=None):
    """A small table of one column and the target."""
    return pa.table({"x": pa.array(cells, kind or pa.float64()), "y": pa.array([0.5] * len(cells))})


def test_only_parquet_is_data(tmp_path):
    """Other endings and hidden names are left out, as on the laptop, whatever they hold."""
    address = folder_of(tmp_path, a=numbered(0.1), b__c=numbered(0.2), _d=numbered(0.3), _e__f=numbered(0.4))
    folder_of(tmp_path, _metadata=numbered(0.5), **{"_p=1": numbered(0.6), ".g__h": numbered(0.7)})
    pq.write_table(numbered(0.8), tmp_path / "d.PQ")
    pq.write_table(numbered(0.9), tmp_path / "e.parquet.old")
    for name in ("_SUCCESS", "notes.txt", "z.txt"):
        (tmp_path / name).write_text("no Parquet")
    local = open_table(tmp_path, declared())
    found, expected = (
        sorted(cell for batch in table.batches(["x"]) for cell in batch.column(0).to_pylist())
        for table in (open_table(address, declared()), local)
    )
    assert found == expected == [0.1, 0.2, 0.8]


@pytest.mark.parametrize("name", ["_p=1", "_metadata_old"])
def test_folders_that_are_hidden_from_the_laptop_alone(tmp_path, name):
    """Spark reads some folders that begin with an underscore: refused where they hold data."""
    address = folder_of(tmp_path, a=numbered(0.1), **{f"{name}__b": numbered(0.2)})
    with pytest.raises(InvalidParameterError, match="begin with _ must hold no data") as caught:
        open_table(address, declared())
    assert name not in str(caught.value)


OTHERS = {
    "another type": numbered(1, kind=pa.int64()),
    "text": numbered("1", kind=pa.string()),
    "a column less": numbered(1.0).select(["y"]),
    "a column more": numbered(1.0).append_column("z", pa.array([1.0])),
    "another case": numbered(1.0).rename_columns(["X", "y"]),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("place", ["a", "zqfolder=1__z"])
def test_files_of_other_columns(tmp_path, other, place):
    """Refused at opening, by the file's own name; what it holds and where it lies are not told."""
    address = folder_of(tmp_path, b=numbered(0.1), c=numbered(0.2), **{place: other})
    with pytest.raises(DataMismatchError, match=r"of the same types, but '[abcz]\.parquet'") as caught:
        open_table(address, declared())
    assert "zqfolder" not in str(caught.value)


def test_columns_in_another_order(tmp_path):
    """The order of columns is the file's own."""
    address = folder_of(tmp_path, **{"a b": numbered(0.1), "a%20b": numbered(0.2).select(["y", "x"])})
    design = Design.plan(declared(), "y", ["x"])
    expected = open_table(tmp_path, declared()).moments(design)
    np.testing.assert_array_equal(open_table(address, declared()).moments(design), expected)


def test_a_file_that_is_no_parquet(tmp_path):
    """Its name says what it is not: seen at opening."""
    address = folder_of(tmp_path, a=numbered(0.1), c=numbered(0.2))
    (tmp_path / "b.parquet").write_text("zqcanary")
    with pytest.raises(DataMismatchError, match="header") as caught:
        open_table(address, declared())
    assert "zqcanary" not in str(caught.value)
    with pytest.raises(DataMismatchError, match=r"in files that end in \.parquet or \.pq"):
        open_table(f"{address}/b.txt", declared())


def test_a_file_whose_name_is_a_pattern(tmp_path):
    """To Spark, its name alone would mean others."""
    address = folder_of(tmp_path, **{"b[1]": numbered(0.1), "b1": numbered(0.2)})
    with pytest.raises(InvalidParameterError, match="Names of files and folders must be without"):
        open_table(address, declared())


def test_many_files_belong_into_the_catalog(tmp_path, monkeypatch):
    """Beyond a number of files, not all footers are looked at one by one."""
    monkeypatch.setattr(spark_source, "MOST_FILES", 2)
    address = folder_of(tmp_path, a=numbered(0.1), b=numbered(0.2))
    (tmp_path / "notes.txt").write_text("no data")
    open_table(address, declared())
    folder_of(tmp_path, c=numbered(0.3))
    with pytest.raises(InvalidParameterError, match=r"at most 2 files.*Register the table"):
        open_table(address, declared())


LINKS = {
    "to a file": lambda folder: (folder / "latest.parquet").symlink_to("a.parquet"),
    "to a file elsewhere": lambda folder: (folder / "b.parquet").symlink_to(folder.parent / "b.parquet"),
    "of one file": lambda folder: (folder / "b.parquet").hardlink_to(folder / "a.parquet"),
    "to itself": lambda folder: [(folder / name).symlink_to(".") for name in ("again", "and-again")],
}


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize("scheme", ["", "file:", "file://", "FILE:"])
def test_links_in_a_folder(tmp_path, link, scheme):
    """Spark would count the same rows again."""
    folder_of(tmp_path / "folder", a=numbered(0.1))
    link(tmp_path / "folder")
    with pytest.raises(InvalidParameterError, match="must be without links"):
        open_table(f"spark:{scheme}{tmp_path}/folder", declared())


def test_a_link_that_is_named(tmp_path):
    """A path may lead over a link: its rows are there once."""
    folder_of(tmp_path / "folder", a=numbered(0.1))
    (tmp_path / "link").symlink_to("folder")
    (table,) = open_table(f"spark:{tmp_path}/link", declared()).batches(["x"])
    assert table.num_rows == 1


@pytest.fixture(params=["here", "elsewhere"])
def address_of(request, tmp_path):
    """Spark's address of a folder: its path, or in a store that only Spark can list."""
    session = spark()
    name = f"fs.viewfs.mounttable.{tmp_path.name}.link./data"
    session.conf.set(name, f"file://{tmp_path}")
    root = str(tmp_path) if request.param == "here" else f"viewfs://{tmp_path.name}/data"
    yield lambda folder: f"spark:{root}/{folder.relative_to(tmp_path)}"
    session.conf.unset(name)


@pytest.mark.parametrize("mark", ["_delta_log/0.json", ".hoodie/hoodie.properties", "metadata/v1.metadata.json"])
@pytest.mark.parametrize("below", ["", "year=1/"])
def test_tables_of_other_formats(tmp_path, address_of, mark, below):
    """Their folders hold rows that are no longer in the table, the folders of their data too."""
    folder_of(tmp_path / "lake", a=numbered(0.1), data__b=numbered(0.2), **{"year=1__c": numbered(0.3)})
    open_table(address_of(tmp_path / "lake"), declared())
    (tmp_path / "lake" / below / mark).parent.mkdir()
    (tmp_path / "lake" / below / mark).write_text("{}")
    for folder in ("lake", "lake/data" if not below else "lake/year=1"):
        with pytest.raises(InvalidParameterError, match="Delta, Hudi or Iceberg"):
            open_table(address_of(tmp_path / folder), declared())


def test_a_store_that_only_spark_can_list(tmp_path, address_of, monkeypatch):
    """The number of files and hidden folders are looked at there too; one file is a table."""
    folder_of(tmp_path / "lake", a=numbered(0.1), b=numbered(0.2))
    (table,) = open_table(f"{address_of(tmp_path / 'lake')}/a.parquet", declared()).batches(["x"])
    assert table.num_rows == 1
    folder_of(tmp_path / "lake", **{"_p=1__c": numbered(0.3)})
    with pytest.raises(InvalidParameterError, match="begin with _ must hold no data"):
        open_table(address_of(tmp_path / "lake"), declared())
    monkeypatch.setattr(spark_source, "MOST_FILES", 1)
    with pytest.raises(InvalidParameterError, match="at most 1 files"):
        open_table(address_of(tmp_path / "lake"), declared())


def test_a_stream_is_refused():
    """Rows that come without end are no table."""
    with pytest.raises(InvalidParameterError, match="is a stream"):
        open_table(spark().readStream.format("rate").load(), declared())


OF_MANY_ROWS = {
    "Join": lambda frame: frame.crossJoin(frame.selectExpr("who as other")),
    "Aggregate": lambda frame: frame.groupBy("who").count(),
    "Deduplicate": lambda frame: frame.distinct(),
    "Limit": lambda frame: frame.limit(3),
    "Sample": lambda frame: frame.sample(0.5, seed=1),
    "Window": lambda frame: frame.selectExpr("x", "avg(y) over () as y"),
    "Generate": lambda frame: frame.selectExpr("x", "explode(array(y, y)) as y"),
    "Union": lambda frame: frame.union(frame.filter("y > 0")),
    "of a query in a cell": lambda frame: frame.selectExpr("x", "(select max(y) from rows) as y"),
    "of a view": lambda frame: spark().sql("SELECT * FROM (SELECT x, max(y) AS y FROM rows GROUP BY x)"),
}


@pytest.mark.parametrize("query", OF_MANY_ROWS.values(), ids=OF_MANY_ROWS)
def test_a_query_in_which_rows_depend_on_others_is_refused(stored, query):
    """As its plan says, before a row is read."""
    frame = spark().read.parquet(str(stored))
    frame.createOrReplaceTempView("rows")
    with pytest.raises(InvalidParameterError, match="must be made of one row"):
        open_table(query(frame), declared())


def test_two_tables_one_after_the_other_are_one(stored, tmp_path):
    """Each row comes once, so a union of different files is a table."""
    pq.write_table(rows(), tmp_path / "more.parquet")
    both = spark().read.parquet(str(stored)).union(spark().read.parquet(str(tmp_path)))
    table = open_table(both.union(spark().createDataFrame([(0.5, 1, "level 1", 0.5, 1)], both.schema)), declared())
    assert table.moments(Design.plan(declared(), "y", ["x"]))[0, 0] == (2 * N + 1) * 32767**2


@pytest.mark.parametrize("word", ["rand()", "uuid()", "monotonically_increasing_id()"])
def test_a_query_that_draws_is_refused(stored, word):
    """Each pass, and each trial of a task, would have other rows."""
    frame = spark().read.parquet(str(stored)).selectExpr("x", f"{word} as y")
    with pytest.raises(InvalidParameterError, match="must give the same rows each time"):
        open_table(frame, declared())


def test_a_filter_counts_where_the_number_of_rows_is_public(stored):
    """Whether there are as many rows as declared would tell of the cells that it looks at, before the charge."""
    frame = spark().read.parquet(str(stored)).filter("y > 0")
    open_table(frame, declared())
    with pytest.raises(InvalidParameterError, match="'Filter'"):
        open_table(frame, declared(neighboring="replace_one", n_rows=N))


@pytest.mark.parametrize("is_small", [False, True])
@pytest.mark.parametrize("cell", ["1", "zqcanary"])
def test_a_cell_that_ends_a_count_is_told_by_nobody(cell, is_small, capfd):
    """A cast that fails must not decide between a refusal for free and a charge, nor show its cell."""
    frame = spark().createDataFrame([("1", 0.5), (cell, 0.5)], "a string, y double")
    if is_small:  # Spark computes it while it plans
        frame = spark().sql(f"SELECT * FROM VALUES ('1', 0.5D), ('{cell}', 0.5D) AS t(a, y)")
    # A sort by places reads the cast's column where a count would not.
    frame = frame.selectExpr("cast(a as int) as x", "y").sort("x").repartition(2, "x")
    columns = {name: COLUMNS[name] for name in "xy"}
    table = open_table(frame, declared(neighboring="replace_one", n_rows=2, columns=columns))
    table.check(["x", "y"])
    if cell != "1":
        with pytest.raises(Exception):  # noqa: B017, PT011 - whatever Spark says, the request says one constant
            table.moments(Design.plan(table.metadata, "y", ["x"]))
    assert "zqcanary" not in "".join(capfd.readouterr())


def test_text_that_is_too_long_is_missing():
    """As in every storage: a worker that was sent much of it at once would end the pass."""
    cells = ["a", "b" * 2**14, "c" * (2**14 + 1)]
    frame = spark().createDataFrame([(cell, 0.5, 0.5) for cell in cells], "who string, x double, y double")
    table = open_table(frame, declared("who", columns={name: COLUMNS[name] for name in "xy"}))
    assert table.moments(Design.plan(table.metadata, "y", ["x"]))[0, 0] == 2 * 32767**2
    found = [cell for batch in table.batches(["who"]) for cell in batch.column(0).to_pylist()]
    assert [cell is None for cell in found] == [False, False, True]


@pytest.mark.parametrize("kind", ["a path", "a table", "a frame"])
def test_files_that_are_written_meanwhile_end_the_request(tmp_path, kind):
    """A later pass would have other rows, and no guarantee: before the charge it is refused, and after it ends."""
    path = tmp_path / "rows.parquet"
    pq.write_table(rows(), path)
    if kind == "a table":
        spark().sql(f"CREATE TABLE written USING parquet LOCATION '{tmp_path}'")
    frame = spark().read.parquet(str(tmp_path)).selectExpr("*", "x + y as z")
    table = open_table({"a path": f"spark:{tmp_path}", "a table": "spark:written"}.get(kind, frame), declared())
    design = Design.plan(declared(), "y", ["x"])
    table.check(design.columns)
    assert table.moments(design)[0, 0] == N * 32767**2
    pq.write_table(pa.concat_tables([rows(), rows()]), path)
    with pytest.raises(DataMismatchError, match="stay as it was"):
        table.check(design.columns)
    for read in (lambda: table.moments(design), lambda: list(table.encoded(design)), lambda: list(table.batches("x"))):
        with pytest.raises(Exception):  # noqa: B017, PT011 - Spark's own, or ours
            read()


def test_rows_are_counted_where_their_number_is_public(stored):
    """Another number is refused at the check; where it is private, no row is counted."""
    frame = spark().read.parquet(str(stored))
    assert open_table(frame, declared()).row_count() is None
    for n_rows in (N, N + 1):
        table = open_table(frame, declared(neighboring="replace_one", n_rows=n_rows))
        if n_rows == N:
            table.check(["x"])
        else:
            with pytest.raises(DataMismatchError, match=f"n_rows={N + 1}"):
                table.check(["x"])


@pytest.mark.processes
def test_spark_is_not_loaded_for_other_tables():
    """Neither to open a frame, nor to tell that it is none of Spark's; and the workers' module loads little."""
    code = (
        "import sys, pyarrow as pa, discreet as dc\n"
        "box = {'type': 'real', 'lower': 0, 'upper': 1}\n"
        "facts = {'dataset': 'd', 'unit': 'p', 'neighboring': 'add_or_remove_one', 'columns': {'y': box}}\n"
        "dc.open_table(pa.table({'y': [1.0]}), dc.Metadata.from_value(facts))\n"
        "print('pyspark' in sys.modules)\n"
    )
    light = (
        "import sys, discreet.data.engines.spark_worker\n"
        "slow = {'duckdb', 'narwhals', 'numba', 'opendp', 'pandas', 'pyspark', 'scipy', 'sklearn', 'sqlalchemy'}\n"
        "print(bool(slow & set(sys.modules)))\n"
    )
    for text in (code, light):
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "False"


def test_a_missing_spark_is_told(monkeypatch):
    """An address without pyspark says what to install."""
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(InvalidParameterError, match=r"pip install 'discreet\[spark\]'"):
        open_table("spark:claims", declared())


# ---- what workers do


def travelled(work, cut=None):
    """A pass as a worker gets it."""
    start = np.zeros((4, 4), dtype=np.int64)
    return spark_table._pickled(RowPass(Design.plan(declared(), "y", ["x", "n"]), work, start, cut))


def batches(size):
    """The rows as Spark hands them over: columns by place, in batches."""
    found = rows().select(["x", "n", "y"]).combine_chunks().to_batches(size)
    return iter([pa.RecordBatch.from_arrays(batch.columns, ["c0", "c1", "c2"]) for batch in found])


def test_what_goes_wrong_on_a_worker_is_not_told():
    """One text without a cause, and no warning: Spark writes both to its logs."""

    def fails(cells):
        warnings.warn("zqcanary", stacklevel=1)
        raise ValueError(f"zqcanary {cells[0, 1]}")

    with pytest.raises(RuntimeError) as caught:
        list(spark_worker.guarded(spark_worker.sums, travelled(fails), batches(100)))
    shown = "".join(traceback.format_exception(caught.value, chain=True))
    assert str(caught.value) == spark_worker.FAILED
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert "zqcanary" not in shown


def sorted_rows(chunk):
    """Owners and encoded rows, sorted by owner, in batches of so many."""
    row_pass = RowPass(Design.plan(declared("who"), "y", ["x", "n"]), exact_moments, np.zeros((4, 4), np.int64))
    row_pass = RowPass(row_pass.design, row_pass.work, row_pass.start, ContributionBound("who", 3))
    whole = rows().select(["x", "n", "y", "who"]).combine_chunks().to_batches()
    (found,) = spark_worker.rows_of_units(row_pass, iter(whole))
    found = pa.table(found).sort_by("key").combine_chunks()
    return row_pass, found.to_batches(chunk)


@pytest.mark.parametrize("held", [1, 100, 10**4, 2**26])
@pytest.mark.parametrize("chunk", [1, 7, 500])
def test_a_worker_holds_few_rows_and_whole_units(held, chunk, monkeypatch):
    """However little it may hold, all rows of a unit are cut together."""
    monkeypatch.setattr(spark_worker, "HELD_BYTES", held)
    row_pass, found = sorted_rows(chunk)
    totals, _ = spark_worker.joined(spark_worker.sums_of_units(row_pass, iter(found)))
    expected = open_table(rows(), declared("who")).moments(row_pass.design)
    np.testing.assert_array_equal(totals[0].value().reshape(4, 4), expected)
    parts = len(list(spark_worker._whole_units(4, iter(found))))
    assert parts == 1 if held == 2**26 else parts > 1


def test_units_out_of_order_are_refused():
    """A plan that lost its sort would let a unit keep rows twice."""
    row_pass, found = sorted_rows(500)
    with pytest.raises(ValueError, match="failed"):
        list(spark_worker.sums_of_units(row_pass, iter([found[1], found[0]])))


def test_sums_travel_in_pieces_and_cannot_overflow():
    """Pieces of several partitions come together in any order; beyond 64 bits a sum stays at the end."""
    total = np.arange(3 * spark_worker.PIECE + 5, dtype=np.int64)
    total[-1] = 2**62
    found = [piece for _ in range(3) for piece in spark_worker.pieces(total, 10)][::-1]
    totals, n_rows = spark_worker.joined(spark_worker.added(None, iter(found)))
    whole = spark_table._whole(np.zeros_like(total), totals)
    np.testing.assert_array_equal(whole[:-1], 3 * total[:-1])
    assert (whole[-1], n_rows) == (2**63 - 1, 30)


# ---- workers that die


def test_a_worker_that_dies_once_changes_nothing(stored, tmp_path):
    """Spark tries the task again; no row counts twice."""
    marker = str(tmp_path / "died")

    def dies_once(cells):
        if not os.path.exists(marker):
            with open(marker, "w"):
                os.kill(os.getpid(), signal.SIGKILL)
        return exact_moments(cells)

    design, start = Design.plan(declared(), "y", ["x", "n"]), np.zeros((4, 4), dtype=np.int64)
    table = open_table(spark().read.parquet(str(stored)).repartition(5), declared())
    found = table.map_reduce(design, dies_once, start)
    np.testing.assert_array_equal(found, FrameTable(rows(), declared()).moments(design))
    assert os.path.exists(marker)


def test_an_hour_is_no_number():
    """A cell that is neither number nor text is refused by the header, before a row is read."""
    frame = spark().createDataFrame(
        [(datetime.date(2020, 1, 1), 1, "level 1", 0.5)], "x date, n int, site string, y double"
    )
    with pytest.raises(DataMismatchError, match="storage type is DATE"):
        open_table(frame, declared()).check(["x"])
