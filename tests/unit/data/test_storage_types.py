"""What is declared of a column is compared with its storage type, as the header tells it, before a row is read."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from tests.spark import spark
from tests.warehouse import TYPES, load

from discreet import workflow
from discreet.data.cells import level_codes
from discreet.data.columns import CategoryColumn, NumericColumn
from discreet.data.engine import Table
from discreet.data.header import shown_type
from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicRecords
from discreet.data.sources import open_table
from discreet.data.storage_types import compared, misfit
from discreet.errors import DataMismatchError

NUMBER = NumericColumn(type="real", lower=0, upper=9)
WORDS = ["VARCHAR", "ENUM('secret', 'labels')", "UUID", "JSON"]
WHOLE = ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"]
REAL = ["FLOAT", "DOUBLE", "DECIMAL", "DECIMAL(9,2)", "DECIMAL128(9, 2)"]
OF_NO_TYPE = ["NULL", "UNKNOWN"]
OTHER = ["DATE", "DATE32[DAY]", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIME", "BLOB", "INTERVAL", "INTEGER[]"]
OTHER += ["STRUCT(a INTEGER)", "LIST(INT64)", "USER-DEFINED", "MAP(VARCHAR, INTEGER)"]


def category(*levels: str, **more: Any) -> CategoryColumn:
    """A category of some levels."""
    return CategoryColumn(type="category", levels=levels, **more)


FIT = [
    *((NUMBER, kind) for kind in (*WHOLE, *REAL, "BOOLEAN", *OF_NO_TYPE)),
    *((category("no", "yes"), kind) for kind in (*WORDS, *OF_NO_TYPE)),
    *((category("0", "1"), kind) for kind in (*WORDS, *WHOLE, *REAL, "BOOLEAN", "BOOL", *OF_NO_TYPE)),
    *((category("false", "true"), kind) for kind in ("BOOLEAN", "BOOL", *WHOLE, *REAL, *WORDS)),
    *((category("-1", "1.0", "2e2", "other", unknown="other"), kind) for kind in (*WHOLE, *REAL)),
    *((category("1.5", "2.25"), kind) for kind in ("FLOAT", "DOUBLE", "DECIMAL", "DECIMAL(9,2)", "VARCHAR")),
    (category("0.1", "0.2"), "DOUBLE"),
    (category("0.07", "1.10"), "DECIMAL(9,2)"),
    (category("3", "17000000000000000001"), "HUGEINT"),
    (category("1", "1.0", "01", unknown="1.0"), "VARCHAR"),
    (CategoryColumn(type="category"), "BIGINT"),
]
MISFIT = [
    *((NUMBER, kind) for kind in (*WORDS, *OTHER)),
    *((category("no", "yes"), kind) for kind in (*WHOLE, *REAL, "BOOLEAN", *OTHER)),
    *((category("1", "NA"), kind) for kind in (*WHOLE, *REAL)),
    *((category("1", "1.5"), kind) for kind in (*WHOLE, "DECIMAL(9,0)", "DECIMAL128(9, 0)")),
    *((category("1", "1.0"), kind) for kind in ("DOUBLE", "DECIMAL")),
    *((category("0", "1", "2"), kind) for kind in ("BOOLEAN", "BOOL")),
    *((category("1", text), "DOUBLE") for text in ("nan", "inf", "1e999", "")),
    (category("false", "true", "unknown"), "BOOLEAN"),
    (category("0.1", "0.2"), "FLOAT"),
    (category("1.555", "2"), "DECIMAL(9,2)"),
]


@pytest.mark.parametrize(("column", "kind"), FIT)
def test_what_fits_has_no_complaint(column: NumericColumn | CategoryColumn, kind: str) -> None:
    """In whichever case the type is written."""
    assert misfit(column, kind) is None
    assert misfit(column, kind.lower()) is None


@pytest.mark.parametrize(("column", "kind"), MISFIT)
def test_what_does_not_fit_is_said_in_one_line_that_says_what_to_do(
    column: NumericColumn | CategoryColumn, kind: str
) -> None:
    """A declared level may be shown; labels of an enumeration and what else is inside a type may not."""
    problem = misfit(column, kind)
    assert problem is not None
    assert problem.isprintable()
    assert len(problem) < 300
    assert "onvert" in problem
    assert not {"secret", "labels", "STRUCT(", "LIST(", "MAP("} & set(problem.replace("'", " ").split())


STORED = {
    "BIGINT": pa.int64(),
    "TINYINT": pa.int8(),
    "DOUBLE": pa.float64(),
    "FLOAT": pa.float32(),
    "BOOLEAN": pa.bool_(),
    "DECIMAL(9, 2)": pa.decimal128(9, 2),
}
CELLS = st.one_of(
    st.integers(-99, 99).map(str),
    st.decimals(-9, 9, places=2).map(str),
    st.sampled_from(["true", "False", "yes", "1.0", "1e1", "0.1", "", "nan", "007", "-0"]),
)


@given(st.lists(CELLS, min_size=2, max_size=5, unique=True), st.sampled_from(sorted(STORED)), st.data())
def test_a_level_that_a_cell_is_read_as_is_never_refused(levels: list[str], kind: str, data: st.DataObject) -> None:
    """Whatever can be stored: where every level is the level of some cell, the row map and the header's check agree."""
    column = category(*levels)
    whole = st.integers(-99, 99)
    own = {
        "BIGINT": whole,
        "TINYINT": whole,
        "BOOLEAN": st.booleans(),
        "DECIMAL(9, 2)": st.decimals(-99, 99, places=2),
    }
    drawn = data.draw(st.lists(own.get(kind, st.floats(-99, 99, width=32)), max_size=20))
    near = pa.array(np.arange(-99, 100)).cast(pa.decimal128(21, 2) if kind.startswith("DEC") else STORED[kind])
    read = set(level_codes(pa.array(drawn, STORED[kind]), column)) | set(level_codes(near, column))
    if read >= set(range(len(levels))):
        assert misfit(column, kind) is None
    problem = misfit(column, kind)
    if problem is not None:
        lacking = levels.index(next(level for level in levels if f"level {level!r}," in problem))
        assert lacking not in read


# ---- every engine

TABLE = pa.table(
    {
        "smoker": pa.array([0, 1, 1]),
        "said": pa.array([True, False, None]),
        "site": pa.array(["1", "2", "1"]),
        "dose": pa.array([1.5, 2.0, None]),
        "y": pa.array([0.5, 0.25, 1.0]),
    }
)
BOX = {"type": "real", "lower": 0, "upper": 9}


def levels(*names: str) -> dict[str, Any]:
    """A category as metadata declare it."""
    return {"type": "category", "levels": list(names)}


GOOD = {
    "smoker": levels("0", "1"),
    "said": levels("false", "true"),
    "site": levels("1", "2"),
    "dose": levels("1.5", "2"),
    "y": BOX,
}
ALSO_GOOD = {**GOOD, "smoker": BOX, "said": BOX, "dose": BOX}
BAD = {
    "smoker": levels("no", "yes"),
    "said": levels("no", "yes"),
    "site": BOX,
    "dose": levels("low", "high"),
    "y": levels("low", "high"),
}


def declared(columns: dict[str, Any], **more: Any) -> Metadata:
    """Metadata of some columns."""
    facts = {"dataset": "clinic", "unit": "person", "neighboring": "add_or_remove_one"}
    return Metadata.from_value({**facts, **more, "columns": columns})


def in_arrow(folder: Path) -> Any:
    """A file of Arrow."""
    pyarrow.feather.write_feather(TABLE, folder / "t.arrow")
    return folder / "t.arrow"


def in_parquet(folder: Path) -> Any:
    """A file of Parquet."""
    pq.write_table(TABLE, folder / "t.parquet")
    return folder / "t.parquet"


def in_folder(folder: Path) -> Any:
    """Two files of Parquet, of other widths of numbers."""
    (folder / "parts").mkdir()
    pq.write_table(TABLE, folder / "parts" / "1.parquet")
    wide = TABLE.set_column(0, "smoker", TABLE["smoker"].cast(pa.int8())).set_column(
        3, "dose", TABLE["dose"].cast(pa.decimal128(5, 2))
    )
    pq.write_table(wide, folder / "parts" / "2.parquet")
    return folder / "parts"


def in_duckdb(folder: Path) -> Any:
    """A file of DuckDB."""
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("given", TABLE)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    return folder / "t.duckdb"


def in_sqlite(folder: Path) -> Any:
    """A file of SQLite, with declared types that it keeps."""
    with contextlib.closing(sqlite3.connect(folder / "t.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE t (smoker INTEGER, said BOOLEAN, site TEXT, dose REAL, y NUMERIC)")
    return folder / "t.sqlite"


ENGINES: dict[str, Callable[[Path], Any]] = {
    "arrow file": in_arrow,
    "parquet": in_parquet,
    "folder": in_folder,
    "duckdb": in_duckdb,
    "sqlite": in_sqlite,
    "spark": lambda folder: spark().read.parquet(str(in_parquet(folder))),
    "pandas": lambda _: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas categories": lambda _: TABLE.to_pandas().astype("category"),
    "polars": lambda _: pl.from_arrow(TABLE),
    "polars categories": lambda _: pl.from_arrow(TABLE).with_columns(pl.col("site").cast(pl.Categorical)),
    "polars labels": lambda _: pl.from_arrow(TABLE).with_columns(pl.col("site").cast(pl.Enum(["1", "2"]))),
    "arrow": lambda _: TABLE,
    "dictionaries": lambda _: pa.table({name: TABLE[name].dictionary_encode() for name in TABLE.column_names}),
    "polars lazy": lambda folder: pl.scan_parquet(in_parquet(folder)),
    "relation": lambda folder: duckdb.connect().from_parquet(str(in_parquet(folder))),
    "ibis": lambda folder: ibis.polars.connect().read_parquet(in_parquet(folder)),
    "X and y": lambda _: (TABLE.drop_columns(["y"]).to_pandas(types_mapper=pd.ArrowDtype), np.array([0.5, 0.25, 1.0])),
}
UNTOLD = {"sqlite": {"said"}}
"""Columns without a storage type: SQLite keeps no truth values."""


def unread(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have any reading of rows fail."""
    for name in ("batches", "streams", "row_count"):
        monkeypatch.setattr(type(table), name, lambda *_: pytest.fail("rows were read"))


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_refuses_what_its_header_contradicts(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Column by column, and nothing else; no row is read."""
    source = ENGINES[engine](tmp_path)
    for columns in (GOOD, ALSO_GOOD):
        table = open_table(source, declared(columns))
        with monkeypatch.context() as patch:
            unread(table, patch)
            table.check(list(columns))
    for name in set(BAD) - UNTOLD.get(engine, set()):
        table = open_table(source, declared({**GOOD, name: BAD[name]}))
        with monkeypatch.context() as patch:
            unread(table, patch)
            table.check([other for other in GOOD if other != name])
            with pytest.raises(DataMismatchError, match=rf"^Column '{name}' .*storage type is [A-Z]+") as caught:
                table.check(list(GOOD))
        assert str(caught.value).isprintable()
    for name in UNTOLD.get(engine, set()):
        open_table(source, declared({**GOOD, name: BAD[name]})).check(list(GOOD))


def test_a_storage_without_types_refuses_nothing(tmp_path: Path) -> None:
    """Text of a CSV file may be anything, and so may objects, and the common type of an array of text."""
    pyarrow.csv.write_csv(TABLE, tmp_path / "t.csv")
    objects = TABLE.to_pandas().astype(object)
    for source in (tmp_path / "t.csv", objects, (np.array([["a"] * 4] * 3), np.array(["a"] * 3))):
        open_table(source, declared(BAD)).check(list(BAD))
    with contextlib.closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE t (smoker, said STRING, site DATE, dose BLOB, y BOOLEAN)")
    open_table(tmp_path / "t.sqlite", declared(BAD)).check(list(BAD))


@pytest.mark.parametrize("array", [np.zeros((3, 4)), np.zeros((3, 4), dtype=int), np.zeros((3, 4), dtype="M8[s]")])
def test_arrays_have_the_type_of_all_their_columns(array: np.ndarray[Any, Any]) -> None:
    """Numbers hold no words, and dates are neither."""
    columns = {**dict.fromkeys(GOOD, BOX), "smoker": levels("no", "yes")}
    with pytest.raises(DataMismatchError, match="'smoker'"):
        open_table((array, np.zeros(3)), declared(columns)).check(list(columns))


def test_a_sparse_matrix_holds_numbers() -> None:
    """Listed columns and the target are compared; features are numbers anyway."""
    matrix = scipy.sparse.eye_array(3, 4, format="csr")
    open_table((matrix, np.zeros(3)), declared({**dict.fromkeys(GOOD, BOX), "smoker": levels("0", "1")})).check(
        list(GOOD)
    )
    for name, target in (("smoker", np.zeros(3)), ("y", np.zeros(3)), ("y", np.zeros(3, dtype="M8[s]"))):
        columns = {**dict.fromkeys(GOOD, BOX), name: levels("no", "yes")}
        with pytest.raises(DataMismatchError, match=f"'{name}'"):
            open_table((matrix, target), declared(columns)).check(list(columns))


def test_sources_of_derived_columns_are_compared(tmp_path: Path) -> None:
    """They stand in the header, the derived ones do not."""
    derived = {"derived": "is(smoker, 'no') * y"}
    table = open_table(TABLE, declared({**GOOD, "smoker": levels("no", "yes"), "z": derived}))
    with pytest.raises(DataMismatchError, match="'smoker' must hold its level 'no'"):
        workflow.answer(workflow.method_of("pcls", epsilon=1.0), table, "y", ["z"])


def test_the_values_of_a_long_table_are_numbers(tmp_path: Path) -> None:
    """Stored as text they are not; the target is in the other table."""
    metadata = declared(
        {"y": BOX},
        features={"type": "real", "lower": 0, "upper": 9, "count": 4},
        layout={"row": "who", "feature": "what", "value": "how much"},
    )
    values = {"who": [1, 2], "what": [0, 1], "how much": [1.5, 2.5]}
    people = pa.table({"who": [1, 2], "y": [0.5, 1.0]})
    open_table(pa.table(values), metadata, targets=people).check(["y"])
    as_text = pa.table({**values, "how much": ["1.5", "2.5"]})
    with pytest.raises(DataMismatchError, match="'how much' is declared as a number"):
        open_table(as_text, metadata, targets=people).check(["y"])
    with pytest.raises(DataMismatchError, match="'y' is declared as a number"):
        open_table(pa.table(values), metadata, targets=pa.table({"who": [1], "y": ["a"]})).check(["y"])


def test_a_public_table_is_compared_too() -> None:
    """And the refusal says which of the two it is."""
    columns = {"smoker": levels("no", "yes"), "y": BOX}
    for ask in (lambda records: records.points(declared(columns), "y", None), PublicRecords.check_types):
        with pytest.raises(DataMismatchError, match=r"^In the public table: Column 'smoker' must hold"):
            ask(PublicRecords(TABLE.select(["smoker", "y"]), declared(columns)))


@pytest.mark.parametrize("kind", [pa.struct({"Miller": pa.int64()}), pa.map_(pa.string(), pa.struct({"Miller": "i4"}))])
def test_fields_of_a_structure_are_not_shown(tmp_path: Path, kind: pa.DataType) -> None:
    """Whoever turns records into columns may have found their names in the rows."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": pa.nulls(2, kind), "b": [1, 2]}), path)
    shown = [shown_type(stored) for _, stored in open_table(path, declared(GOOD)).header()]
    assert shown[0] in ("STRUCT", "MAP")
    assert shown[1] == "BIGINT"


def test_the_comparison_names_what_is_absent_doubled_or_derived() -> None:
    """A column a line, in the order of the metadata; nothing of the table's other columns, which may be a row."""
    columns = {"y": BOX, "gone": BOX, "Smoker": BOX, "twice": BOX, "z": {"derived": "y + 1"}}
    metadata = declared(columns, unit_id="who", features={"type": "real", "match": "g?", "count": 2})
    header = [("y", "DOUBLE"), ("smoker", "BIGINT"), ("twice", "BIGINT"), ("twice", "BIGINT"), ("z", "DOUBLE")]
    fits = compared(metadata, [*header, ("g1", "DOUBLE"), ("g2", "ENUM('Smith')"), ("Miller", "DOUBLE")], dict(header))
    assert [fit.name for fit in fits] == [*columns, "who", None]
    assert [fit.problem is None for fit in fits] == [True, False, False, False, False, False, True]
    text = " ".join(f"{fit} {fit.complaint}" for fit in fits)
    assert "though 'smoker' is" in text
    assert "more than once" in text
    assert "Miller" not in text
    assert "Smith" not in text


def test_postgres_refuses_what_its_catalog_contradicts(postgres: Any) -> None:
    """Labels of an enumeration are text; a decimal is a number."""
    url = postgres()
    source = load(url, TABLE, "typed", TYPES)
    open_table(source[0] if isinstance(source, tuple) else source, declared(GOOD), "typed").check(list(GOOD))
    for name, column in BAD.items():
        table = open_table(
            source[0] if isinstance(source, tuple) else source, declared({**GOOD, name: column}), "typed"
        )
        with pytest.raises(DataMismatchError, match=rf"^Column '{name}' .*storage type is [A-Z]+"):
            table.check(list(GOOD))
