"""Whatever is wrong with the input: one clear line, the right exit code, nothing shown, written or spent."""

import ctypes
import datetime
import json
import os
import re
import resource
import shlex
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.errors import ComputationFailedError, DataMismatchError
from discreet.ledger import Ledger
from discreet.mechanisms import subset_search
from tests.acceptance.conftest import METADATA, N_ROWS, Place, in_process_of_its_own, people

CELL = "zqcell"
"""Stands in cells of private tables: no message may show it."""

COLUMNS = METADATA["columns"]
FAILED = f"Error: {ComputationFailedError.MESSAGE}\n"


def refused(place: Place, code: int, hint: str, *words: object, **options: object) -> None:
    """Check that a `select` is refused before the data are opened, with a hint in its one line."""
    before = place.files()
    line = place.select(*words, **options).refused(code)
    assert re.search(hint, line), line
    assert CELL not in line
    assert place.files() == before
    assert place.spent() == 0


# ---- the request


@pytest.mark.parametrize(
    ("options", "code", "hint"),
    [
        ({"target": "height"}, 3, "is not declared in the metadata. Declared columns: visits, age, income, site"),
        ({"target": "site"}, 3, "must be numeric, but 'site' is a category"),
        ({"candidates": "age,height"}, 3, "Column 'height' is not declared"),
        ({"candidates": "age,age"}, 2, "must not repeat"),
        ({"candidates": "age,visits"}, 2, "target cannot be a candidate"),
        ({"candidates": ","}, 2, "At least one candidate"),
        ({"epsilon": "nan"}, 2, r"epsilon must lie in \[0\.000000001, 1000\]"),
        ({"epsilon": "inf"}, 2, r"epsilon must lie in \[0\.000000001, 1000\]"),
        ({"epsilon": "-1"}, 2, r"epsilon must lie in \[0\.000000001, 1000\]"),
        ({"epsilon": "0"}, 2, r"epsilon must lie in \[0\.000000001, 1000\]"),
        ({"epsilon": "1e9"}, 2, r"epsilon must lie in \[0\.000000001, 1000\]"),
        ({"epsilon": "1e-400"}, 2, "epsilon"),
        ({"epsilon": "much"}, 2, "--epsilon.*number"),
        ({"delta": "1"}, 2, r"delta must lie in \[0, 0\.999999999\]"),
        ({"delta": "2"}, 2, r"delta must lie in \[0, 0\.999999999\]"),
        ({"delta": "-1"}, 2, r"delta must lie in \[0, 0\.999999999\]"),
        ({"delta": "nan"}, 2, r"delta must lie in \[0, 0\.999999999\]"),
        ({"method": "magic"}, 2, "method must be one of pcls, pcpl, moments, .*, but method='magic'"),
        ({"mechanism": "magic"}, 2, "permute_and_flip.*exponential.*laplace.*mechanism='magic'"),
        ({"model_penalty": "dear"}, 2, "model_penalty.*number.*'dear'"),
        ({"share": "l1_radius=2"}, 2, "shares must lie in"),
        ({"share": "l1_radius"}, 2, "--share NAME=NUMBER"),
        ({"l1_radius": "narrow"}, 2, "l1_radius must be a number above 0 or private, but"),
        ({"set": "colour=1"}, 2, "colour"),
        ({"model_penalty": "nan"}, 2, "model_penalty"),
        ({"model_penalty": "-1"}, 2, "model_penalty"),
        ({"model_penalty": "1e300"}, 2, "model_penalty must be 0 or lie in"),
        ({"model_penalty": "1e200"}, 2, "model_penalty must be at most"),
        ({"epsilon": "5e-324"}, 2, "epsilon must lie in"),
        ({"l1_radius": "1e200"}, 2, "l1_radius must lie in"),
        ({"l1_radius": "1e99"}, 2, "l1_radius must be within a factor of"),
        ({"l1_radius": "0"}, 2, "l1_radius must be above 0, but l1_radius=0"),
        ({"l1_radius": "inf"}, 2, "l1_radius must lie in"),
        ({"y_bound": "1e9"}, 2, "y_bound must be positive and at most the target's range 20"),
        ({"y_center": "-5"}, 2, "y_center must lie within the target's bounds 0 .. 20"),
        ({"max_size": "-1"}, 2, "max_size"),
        ({"max_size": "two"}, 2, "--max-size"),
        ({"forced": "age,age"}, 2, "forced must name candidates, each once"),
        ({"forced": "height"}, 2, "forced must name candidates.*'height'"),
        ({"forced": "incme"}, 2, r"'incme' is not one\. Did you mean income\?"),
        ({"method": "sis", "n_features": 9}, 2, "n_features_to_select=9 and there are 3 candidates: lower it"),
        ({"group": "age,height"}, 2, "groups must name candidates.*'height'"),
        ({"group": "age,age"}, 2, "groups must name candidates, each once"),
        ({"group": "age,income", "forced": "age"}, 2, "forced column cannot be in a group"),
        ({"data": None}, 2, "give --data FILE, or --dry-run"),
        ({"target": None}, 2, "'--target'.*select --help"),
        ({"metadata": None}, 2, "'--metadata'.*select --help"),
        ({"colour": "red"}, 2, "No such option: --colour.*select --help"),
    ],
    ids=str,
)
def test_bad_request(place, options, code, hint):
    """A parameter out of range is named, with what it may be; the data are not opened."""
    refused(place, code, hint, **options)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["slect"], "No such command 'slect'.*--help"),
        (["budget", "borrow"], "No such command 'borrow'"),
        (["select", "--target"], "'--target' requires an argument"),
        (["report"], "Missing argument"),
        (["dummy", "--metadata", "people.yaml", "--out", "x.csv", "--rows", "0"], "--rows"),
        (["dummy", "--metadata", "people.yaml", "--out", "x.docx"], "must end in one of .csv, .parquet, .arrow"),
        (["metadata", "convert", "people.yaml", "--to", "docx"], "discreet, csvw or smartnoise"),
        (["metadata", "new", "people.docx"], "was not found"),
        (["metadata", "new", "people.csv", "--neighboring", "nearby"], "replace_one or add_or_remove_one"),
        (["metadata", "new", "people.csv", "--out", "people.csv"], "would replace"),
        (["metadata", "new", "people.csv", "--out", "people.yaml"], "people.yaml exists, and a skeleton would replace"),
        (["fit", "--family", "cox"], "family must be one of linear, logistic, poisson, but family='cox'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_command(place, words, hint):
    """A command that does not exist or lacks something is a usage error in one line."""
    before = place.files()
    line = place.run(*words).refused(2)
    assert re.search(hint, line), line
    assert place.files() == before


@pytest.mark.parametrize("words", [[], ["budget"], ["metadata"]], ids=str)
def test_no_command(place, words):
    """Without a command the help is shown; the exit code still says that nothing was done."""
    done = place.run(*words)
    assert done.code == 2
    assert "Usage" in done.out + done.err
    assert "Error" not in done.err


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("nonsense", "must be JSON, a list of lists"),
        ("{}", "models"),
        ("[]", "models"),
        ("[1]", "models"),
        ("[[1]]", "models"),
        ('[["age"], ["age"]]', "Listed models must differ"),
        ('[["height"]]', "must hold candidates"),
        ('[["age"' + "[" * 10_000, "must be JSON"),
    ],
    ids=lambda text: text[:20],
)
def test_bad_models_file(place, text, hint):
    """A models file that is no list of lists of candidates is refused."""
    (place.folder / "models.json").write_text(text)
    refused(place, 2, hint, models="models.json")


def test_too_many_columns(place):
    """More than 128 free columns are refused with what to do, whatever the largest size."""
    many = {f"x{i}": COLUMNS["age"] for i in range(129)}
    other = place.write_metadata(columns={"visits": COLUMNS["visits"], **many})
    hint = r"At most 128 columns .* 129\. Force or group columns, or name fewer candidates"
    refused(place, 2, hint, metadata=other)
    refused(place, 2, hint, metadata=other, max_size=2)


# ---- the metadata


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        ({"type": "integer"}, "'age' must have public bounds. Declare them, such as `lower: 0, upper: 30`"),
        ({"type": "integer", "lower": 0}, "'age' must have public bounds"),
        ({"type": "category"}, "'age' must have public levels"),
        ({"type": "integer", "lower": 9, "upper": 1}, "columns.age: lower must be less than upper"),
        ({"type": "integer", "lower": 1, "upper": 1}, "columns.age: lower must be less than upper"),
        ({"type": "real", "lower": -1e308, "upper": 1e308}, "columns.age.lower"),
        ({"type": "real", "lower": 0, "upper": float("inf")}, "columns.age.upper.*finite"),
        ({"type": "real", "lower": float("nan"), "upper": 1}, "columns.age.lower.*finite"),
        ({"type": "real", "lower": 1, "upper": 1.0000000000000002}, "further apart"),
        ({"type": "real", "lower": "low", "upper": 1}, "columns.age.lower.*number.*'low'"),
        ({"type": "colour"}, "columns.age.type: must be integer, real or category"),
        ({"lower": 0, "upper": 1}, "columns.age.*type"),
        ({"type": "category", "levels": ["a"]}, "at least two"),
        ({"type": "category", "levels": ["a", "a"]}, "must not repeat"),
        ({"type": "integer", "lower": 0, "upper": 1, "colour": "red"}, "columns.age.colour"),
    ],
    ids=str,
)
def test_bad_column(place, column, hint):
    """A column without usable bounds or levels is named, with what to declare."""
    other = place.write_metadata(lambda value: value["columns"].update(age=column))
    refused(place, 3, hint, metadata=other)


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"schema": "discreet/metadata@9"}, "discreet/metadata@1"),
        ({"n_rows": None}, "n_rows must be given under replace_one"),
        ({"neighboring": "add_or_remove_one"}, "n_rows must be absent"),
        ({"neighboring": "nearby"}, "neighboring"),
        ({"n_rows": -1}, "n_rows"),
        ({"n_rows": 10**30}, "n_rows"),
        ({"unit": None}, "unit: must be given"),
        ({"rows_per_unit": 3}, "rows_per_unit is more than 1, and unit_id is missing"),
        ({"unit_id": "age"}, "unit_id must not be one of the columns"),
        ({"dataset": "../people"}, "dataset"),
        ({"dataset": "=cmd()"}, "dataset"),
        ({"columns": {}}, "columns"),
    ],
    ids=str,
)
def test_bad_field(place, fields, hint):
    """A field that is missing or contradicts another one is named."""
    refused(place, 3, hint, metadata=place.write_metadata(**fields))


@pytest.mark.parametrize(
    ("content", "code", "hint"),
    [
        (None, 2, "other.yaml cannot be read: no such file"),
        (b"\x00\x01\xff\xfe", 2, "is not UTF-8 text, so it is not a"),
        (b"", 3, "must be a mapping"),
        (b"- 1\n", 3, "must be a mapping"),
        (b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", 3, "aliases are not allowed"),
        (b"schema: &s discreet/metadata@1\nunit: *s\n", 3, "aliases are not allowed"),
        (b"!!python/object/apply:os.system ['touch pwned']\n", 3, "near line 1"),
        (b"[" * 10_000, 3, "nested more than"),
        (b"n_rows: " + b"9" * 5000, 3, "cannot be parsed"),
        (b"unit: a\nunit: b\n", 3, "'unit' repeats"),
        (b'{"unit": 1, "unit": 2}', 3, "'unit' repeats"),
        (b"---\nunit: a\n---\nunit: b\n", 3, "near line 3"),
        (b"a:\n\t- b", 3, "near line 2"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_metadata_file(place, content, code, hint):
    """A metadata file that is not there, not text or not harmless YAML is refused; none of it is run."""
    other = Path("other.yaml")
    if content is not None:
        other.write_bytes(content)
    refused(place, code, hint, metadata=other)


# ---- the data


@pytest.mark.parametrize(
    ("name", "content", "code", "hint"),
    [
        ("none.parquet", None, 2, "File none.parquet was not found"),
        ("temporary", None, 2, "must hold Parquet files"),
        ("~nobody-here/people.csv", None, 2, "was not found"),
        ("x" * 5000 + ".csv", None, 2, "was not found"),
        (
            "http://example.org/people.csv",
            None,
            2,
            "not supported. Copy the table to a file, or .*one of postgresql://",
        ),
        ("s3://bucket/people.parquet?nonsense=1", None, 2, "can be read, but 's3://bucket/people.parquet' cannot"),
        ("people.xlsx", b"x", 2, "must end in one of .csv, .*'people.xlsx'"),
        *((f"empty{ending}", b"", 5, "is not a readable") for ending in (".csv", ".parquet", ".arrow", ".duckdb")),
        ("empty.sqlite", b"", 2, "it holds: none"),
        *(
            (f"bad{ending}", b"\x93garbage\xff\x00" * 50, 5, "is not a readable")
            for ending in (".csv", ".parquet", ".arrow", ".duckdb", ".sqlite")
        ),
        ("open.csv", f'"age,income,site,visits\n1,2,{CELL},3\n'.encode(), 5, "readable CSV file: its header"),
        ("header.csv", b"age,inc\xffome,site,visits\n1,2,north,3\n", 5, "readable CSV file: its header"),
        ("wide.csv", "age,income,site,visits\n".encode("utf-16"), 5, "readable CSV file: its header"),
        ("nul.csv", b"age,inc\x00ome,site,visits\n1,2,north,3\n", 5, "'income' is declared, but is not in the table"),
        ("blank.csv", b"\n\nage,income,site,visits\n1,2,north,3\n", 5, "readable CSV file: its header"),
        (
            "headless.csv",
            f"77,{CELL},north,3\n1,2,{CELL},3\n".encode(),
            5,
            "'age' is declared, but is not in",
        ),
        (
            "double.csv",
            b"age,age,income,site,visits\n1,1,2,north,3\n",
            5,
            "'age' is declared, but .* more than once",
        ),
        (
            "spaced.csv",
            b"age, income,site,visits\n1,2,north,3\n",
            5,
            "but is not in the table, though ' income' is",
        ),
        (
            "case.csv",
            b"Age,income,site,visits\n1,2,north,3\n",
            5,
            "but is not in the table, though 'Age' is",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_file(place, name, content, code, hint):
    """A file that is not there, or is no table of the declared columns, is refused; no cell is shown."""
    if content is not None:
        Path(name).write_bytes(content)
    refused(place, code, hint, data=name)


def test_truncated_file(place):
    """A file that was cut short is refused before anything is spent."""
    for ending, write in (("parquet", pyarrow.parquet.write_table), ("arrow", pyarrow.feather.write_feather)):
        path = Path(f"cut.{ending}")
        write(people(), path)
        path.write_bytes(path.read_bytes()[:1200])
        refused(place, 5, f"readable {ending.title()} file", data=path)


STRANGE = {
    "date": pa.array([datetime.date(2020, 1, 1)] * N_ROWS),
    "time": pa.array([datetime.datetime(2020, 1, 1)] * N_ROWS),
    "list": pa.array([[CELL]] * N_ROWS),
    "large_list": pa.array([[CELL]] * N_ROWS, pa.large_list(pa.string())),
    "fixed_list": pa.array([[1, 2]] * N_ROWS, pa.list_(pa.int64(), 2)),
    "blob": pa.array([CELL.encode()] * N_ROWS),
    "large_blob": pa.array([CELL.encode()] * N_ROWS, pa.large_binary()),
    "fixed_blob": pa.array([CELL.encode()] * N_ROWS, pa.binary(len(CELL))),
    "struct": pa.array([{"a": CELL}] * N_ROWS),
    "map": pa.array([[(CELL, 1)]] * N_ROWS, pa.map_(pa.string(), pa.int64())),
}


@pytest.mark.parametrize("column", ["age", "site"])
@pytest.mark.parametrize("kind", STRANGE)
def test_strange_type(place, kind, column):
    """A column of dates, lists, blobs or structures is refused by its storage type, whatever the file's format."""
    names = people().column_names
    table = people().set_column(names.index(column), column, STRANGE[kind])
    pyarrow.parquet.write_table(table, "strange.parquet")
    pyarrow.feather.write_feather(table, "strange.arrow")
    for data in ("strange.parquet", "strange.arrow"):
        refused(place, 5, f"Column '{column}' must hold numbers or text", data=data)


def test_missing_column(place):
    """A declared column that the table lacks is named; so is the unit's column, and the other columns are not."""
    pyarrow.parquet.write_table(people().rename_columns(["age", CELL, "site", "visits"]), "other.parquet")
    refused(place, 5, "'income' is declared, but is not in the table. Correct the metadata", data="other.parquet")
    other = place.write_metadata(unit_id="person", rows_per_unit=2)
    refused(place, 5, "'person' is declared, but is not in the table", metadata=other)


def test_doubled_column(place):
    """A doubled column is refused in a file as in a frame, nested columns beside it or not."""
    table = people()
    double = pa.table([table["age"], *table.columns], names=["age", *table.column_names])
    for name, found in (("flat", double), ("nested", double.append_column("extra", STRANGE["struct"]))):
        pyarrow.parquet.write_table(found, f"{name}.parquet")
        refused(place, 5, "'age' is declared, but .* more than once", data=f"{name}.parquet")
    frame = table.to_pandas()
    frame = pd.concat([frame["age"], frame], axis=1)
    with pytest.raises(DataMismatchError, match="distinct names"):
        open_table(frame, Metadata.read(place.metadata))


def test_other_number_of_rows(place):
    """Under replace_one the number of rows is public, so another one is refused where the file states it."""
    for other in (0, 1, N_ROWS - 1):
        pyarrow.parquet.write_table(people(other), "other.parquet")
        refused(place, 5, f"n_rows={N_ROWS}, .* another number of rows", data="other.parquet")


def test_several_tables(place):
    """A database file with several tables, or a wrong name, lists the tables."""
    with closing(sqlite3.connect("people.sqlite")) as connection:
        connection.execute("CREATE TABLE first (age)")
        connection.execute("CREATE TABLE second (age)")
        connection.commit()
    for options in ({}, {"table": "third"}, {"table": "first; DROP TABLE second"}):
        refused(place, 2, "--table; it holds: 'first', 'second'", data="people.sqlite", **options)


# ---- odd cells are no error


def _csv(*lines: str | bytes) -> bytes:
    rows = pa.BufferOutputStream()
    pyarrow.csv.write_csv(people(), rows)
    return rows.getvalue().to_pybytes() + b"".join(x if isinstance(x, bytes) else x.encode() for x in lines)


HEADER = b"age,income,site,visits\n"
ODD_FILES = {
    "header alone": HEADER,
    "header without newline": HEADER.strip(),
    "one row": HEADER + b"30,2,north,3\n",
    "byte order mark": b"\xef\xbb\xbf" + HEADER + b"30,2,north,3\n",
    "carriage returns": (HEADER + b"30,2,north,3\n" * 9).replace(b"\n", b"\r\n"),
    "semicolons": (HEADER + b"30,2,north,3\n" * 9).replace(b",", b";"),
    "open quote": _csv(f'"{CELL},1,2,3\n'),
    "open quote in the middle": HEADER + f'1,2,"{CELL},3\n'.encode() + b"30,2,north,3\n" * 9,
    "no text in the first row": HEADER + b"30,2,\xff\xfe,3\n" * 9,
    "no text in the last row": _csv(b"30,2,\xff\xfe,3\n"),
    "NUL in a cell": _csv(b"30,2,no\x00rth,3\n"),
    "short and long rows": _csv("30\n", "30,2,north,3,4,5\n", "\n", ",,,\n"),
    "text for a number": _csv(f"{CELL},{CELL},north,3\n"),
    "huge cell": _csv(f"30,2,{CELL * 2_000_000},3\n"),
}


@pytest.mark.parametrize("name", ODD_FILES)
def test_odd_csv(place, name):
    """No row of a CSV file is an error: the command ends as ever, and shows nothing of it."""
    Path("odd.csv").write_bytes(ODD_FILES[name])
    done = place.select(data="odd.csv")
    assert (done.code, done.err) == (0, "")
    assert CELL not in done.out
    assert place.spent() == 1


ODD_COLUMNS = {
    "constant": pa.array([30] * N_ROWS),
    "all missing": pa.nulls(N_ROWS),
    "all missing numbers": pa.nulls(N_ROWS, pa.float64()),
    "NaN": pa.array([float("nan")] * N_ROWS),
    "infinite": pa.array([float("-inf"), float("inf")] * (N_ROWS // 2)),
    "huge numbers": pa.array([1e308, -1e308] * (N_ROWS // 2)),
    "huge integers": pa.array([2**64 - 1] * N_ROWS, pa.uint64()),
    "text": pa.array([CELL] * N_ROWS),
    "dictionary": pa.array([CELL, "30"] * (N_ROWS // 2)).dictionary_encode(),
    "huge cell": pa.array([CELL * 2_000_000, *["30"] * (N_ROWS - 1)]),
}


TEXTS = ("text", "dictionary", "huge cell")


@pytest.mark.parametrize("column", ["age", "site", "visits"])
@pytest.mark.parametrize("name", ODD_COLUMNS)
def test_odd_column(place, name, column):
    """No cell is an error, in a candidate or in the target: the command ends as ever, and shows nothing of it.

    A type that the header tells and that no declared cell can have is refused, and a file without types is not.
    """
    names = people().column_names
    table = people().set_column(names.index(column), column, ODD_COLUMNS[name])
    if name != "all missing" and (name in TEXTS) != (column == "site"):
        pyarrow.parquet.write_table(table, "odd.parquet")
        pyarrow.feather.write_feather(table, "odd.arrow")
        for data in ("odd.parquet", "odd.arrow"):
            refused(place, 5, f"Column '{column}' .* storage type is", data=data)
        if name != "huge cell":
            pyarrow.csv.write_csv(table.cast(pa.schema([(n, pa.string()) for n in names])), "odd.csv")
            done = place.select(data="odd.csv")
            assert (done.code, done.err, CELL in done.out) == (0, "", False)
        return
    pyarrow.parquet.write_table(table, "odd.parquet")
    pyarrow.feather.write_feather(table, "odd.arrow")
    for spent, data in enumerate(("odd.parquet", "odd.arrow"), 1):
        done = place.select(data=data)
        assert (done.code, done.err) == (0, ""), data
        assert CELL not in done.out
        assert place.spent() == spent


@pytest.mark.parametrize("n_rows", [0, 1])
def test_few_rows(place, n_rows):
    """A private number of rows may be none or one: that is no error, which would tell."""
    other = place.write_metadata(neighboring="add_or_remove_one", n_rows=None)
    writers = {
        "csv": pyarrow.csv.write_csv,
        "parquet": pyarrow.parquet.write_table,
        "arrow": pyarrow.feather.write_feather,
    }
    for ending, write in writers.items():
        write(people(n_rows), f"few.{ending}")
        done = place.select(data=f"few.{ending}", metadata=other)
        assert (done.code, done.err) == (0, ""), ending


# ---- names


SQL_NAMES = ['"; DROP TABLE people; --', "select", 'a "name", with a comma']


def test_names_like_sql(place):
    """Columns named like SQL, with quotes and commas, are read as any other, from every kind of file."""
    names = [*SQL_NAMES, "visits"]
    table = people().rename_columns(names)
    old = ["age", "income", "site", "visits"]
    other = place.write_metadata(columns={new: COLUMNS[was] for new, was in zip(names, old, strict=True)})
    metadata = Metadata.read(other)
    _write_everywhere(table)
    design = Design.plan(metadata, "visits")
    expected = open_table(table, metadata).moments(design)
    for ending in ("csv", "parquet", "arrow", "sqlite", "duckdb"):
        assert (open_table(f"sql.{ending}", metadata).moments(design) == expected).all(), ending
        done = place.select(data=f"sql.{ending}", metadata=other)
        assert (done.code, done.err) == (0, ""), ending


def _write_everywhere(table: pa.Table) -> None:
    pyarrow.csv.write_csv(table, "sql.csv")
    pyarrow.parquet.write_table(table, "sql.parquet")
    pyarrow.feather.write_feather(table, "sql.arrow")
    with duckdb.connect("sql.duckdb") as connection:
        connection.register("found", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM found")
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in table.column_names)
    with closing(sqlite3.connect("sql.sqlite")) as connection:
        connection.execute(f"CREATE TABLE people ({quoted})")
        rows = [tuple(row.values()) for row in table.to_pylist()]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
        connection.commit()


def test_names_that_differ_in_case(place):
    """Columns whose names differ in case alone are two columns."""
    table = people().append_column("AGE", pa.array([0] * N_ROWS))
    pyarrow.parquet.write_table(table, "case.parquet")
    metadata = Metadata.read(place.write_metadata(lambda value: value["columns"].update(AGE=COLUMNS["age"])))
    design = Design.plan(metadata, "visits")
    expected = open_table(table, metadata).moments(design)
    assert (open_table("case.parquet", metadata).moments(design) == expected).all()


def test_folder_named_like_a_column(place):
    """A folder called age=99 is a folder: its name is no cell."""
    folder = Path("age=99", "site=west")
    folder.mkdir(parents=True)
    metadata = Metadata.read(place.metadata)
    design = Design.plan(metadata, "visits")
    expected = open_table(people(), metadata).moments(design)
    pyarrow.parquet.write_table(people(), folder / "people.parquet")
    pyarrow.csv.write_csv(people(), folder / "people.csv")
    for name in ("people.parquet", "people.csv"):
        assert (open_table(folder / name, metadata).moments(design) == expected).all()


@pytest.mark.parametrize(
    "cell", [CELL, b"30", 10**5000, True, None, [30], 1j, "\ud800"], ids=lambda cell: str(type(cell))
)
def test_one_hostile_cell(place, cell):
    """In a column of mixed cells, one hostile cell changes nothing but its own row."""
    metadata = Metadata.read(place.metadata)
    design = Design.plan(metadata, "visits")
    for good in (30, 30.5, "30", True, people()["age"].to_numpy()[0]):
        frame = people().to_pandas()
        frame["age"] = pd.Series([good] * N_ROWS, dtype=object)
        before = _encoded(frame, metadata, design)
        frame["age"] = pd.Series([cell, *[good] * (N_ROWS - 1)], dtype=object)
        assert (_encoded(frame, metadata, design)[1:] == before[1:]).all()


def _encoded(frame, metadata, design):
    (batch,) = open_table(frame, metadata).batches(design.columns)
    return design.encode(batch)


# ---- after the data were opened


class Panic(BaseException):
    """What compiled libraries raise when they panic."""


CAUSES = {
    "a cell in the text": ValueError(f"could not convert string to float: {CELL!r}"),
    "an engine": duckdb.ConversionException(f"Could not convert string {CELL!r} to INT64"),
    "Arrow": pa.ArrowInvalid(f"Failed to parse string: {CELL!r}"),
    "no certificate": ArithmeticError(CELL),
    "memory": MemoryError(CELL),
    "recursion": RecursionError(CELL),
    "a file that went": FileNotFoundError(2, CELL),
    "an error of ours": DataMismatchError(CELL),
    "an exit": OSError(CELL),
    "a panic": Panic(CELL),
}


def _raise(error: BaseException):
    def instead(*_, **__):
        raise error

    return instead


def test_error_uniform(place, monkeypatch):
    """Whatever goes wrong with the rows open: the same bytes, exit code 5, and the charge stands."""
    places = [(subset_search, "score_blocks"), (subset_search, "noisy_min_of_blocks"), (Design, "encode")]
    for spent, error in enumerate(CAUSES.values(), 1):
        with monkeypatch.context() as patch:
            patch.setattr(*places[spent % 3], _raise(error))
            done = place.select("--fresh", epsilon="0.5")
        assert (done.code, done.out, done.err) == (5, "", FAILED)
        assert place.spent() == spent / 2


def test_error_uniform_of_files(place, monkeypatch):
    """A page that cannot be read, in any kind of file, gives the same bytes as any other failure."""
    _damage("people.parquet", 40, 400)
    pyarrow.feather.write_feather(people(), "people.arrow", compression="lz4")
    _damage("people.arrow", 700, 1200)
    for spent, data in enumerate(("people.parquet", "people.arrow"), 1):
        done = place.select(data=data)
        assert (done.code, done.out, done.err) == (5, "", FAILED), data
        assert place.spent() == spent
    states = [entry.state for entry in Ledger(place.ledger).history() if entry.kind == "reserve"]
    assert states == ["lost"] * 2


def _damage(name: str, start: int, stop: int) -> None:
    content = bytearray(Path(name).read_bytes())
    content[start:stop] = b"\xab" * (stop - start)
    Path(name).write_bytes(content)


def test_failure_does_not_answer(place, monkeypatch):
    """What failed is not stored: asking again computes again and is charged again; no release file is left."""
    before = place.files()
    with monkeypatch.context() as patch:
        patch.setattr(subset_search, "noisy_min_of_blocks", _raise(ValueError(CELL)))
        assert place.select(out="release.json").err == FAILED
    assert place.files() == before
    assert place.select(out="release.json").code == 0
    assert place.spent() == 2


def test_owner_log(place, monkeypatch):
    """The owner of the data, and nobody else, finds the cause where they asked for it; a bad place changes nothing."""
    monkeypatch.setattr(subset_search, "noisy_min_of_blocks", _raise(ValueError(CELL)))
    for log in ("owner.log", "nowhere/owner.log", ".", "/dev/full"):
        monkeypatch.setenv("DISCREET_OWNER_LOG", log)
        done = place.select()
        assert (done.code, done.out, done.err) == (5, "", FAILED), log
    assert CELL in Path("owner.log").read_text()
    assert Path("owner.log").stat().st_mode & 0o077 == 0


def test_cut_by_unit_fails_alike(place, monkeypatch):
    """Where rows are cut by unit, a failure looks the same."""
    table = people().append_column("person", pa.array([f"{CELL}{i // 2}" for i in range(N_ROWS)]))
    pyarrow.parquet.write_table(table, "units.parquet")
    monkeypatch.setattr("discreet.data.contribution_bound.kept_rows", _raise(ValueError(CELL)))
    other = place.write_metadata(unit_id="person", rows_per_unit=2)
    done = place.select(data="units.parquet", metadata=other)
    assert (done.code, done.out, done.err) == (5, "", FAILED)


# ---- the ledger


@pytest.mark.parametrize(
    ("ledger", "hint"),
    [
        ("nowhere/ledger.sqlite", "its folder does not exist"),
        (".", "it must be the path of a file"),
        ("people.yaml", "not a database"),
        ("people.sqlite", "a database file of its own"),
        ("/proc/ledger.sqlite", "The ledger /proc/ledger.sqlite cannot be opened"),
        ("/dev/null", "not a regular file"),
        ("http://example.org", "sqlite:// or postgresql://"),
        ("sqlite://", "plain file on disk"),
        ("", "the path of a file"),
        ("a\0b", "the path of a file"),
    ],
    ids=str,
)
def test_bad_ledger(place, ledger, hint):
    """Without a ledger that can be written nothing is computed, and a file that is none is left as it is."""
    with closing(sqlite3.connect("people.sqlite")) as connection:
        connection.execute("CREATE TABLE people (age)")
    before = place.files()
    line = place.select(ledger=ledger).refused(4)
    assert re.search(hint, line), line
    assert place.files() == before


CAP_DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24


def bound_by_permissions():
    """Take from root what lets it write anywhere; who is not root never had it."""
    if os.geteuid() == 0:
        assert ctypes.CDLL(None, use_errno=True).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) == 0


@pytest.mark.processes
def test_ledger_that_cannot_be_written(place):
    """A ledger for reading alone is refused; control: the same words, once it may be written, select."""
    place.ledger.chmod(0o400)
    done = in_process_of_its_own(*place.words(), preexec_fn=bound_by_permissions)
    assert "permission denied" in done.refused(4)
    place.ledger.chmod(0o600)
    assert in_process_of_its_own(*place.words(), preexec_fn=bound_by_permissions).code == 0


def test_no_cap(place):
    """A data set without a cap is refused with a command; that very command helps."""
    other = place.write_metadata(dataset="other")
    line = place.select(metadata=other, epsilon="2.5").refused(4)
    (command,) = re.findall("`(discreet .*)`", line)
    words = shlex.split(command)
    assert words[:4] == ["discreet", "budget", "grant", "other"]
    assert place.run(*words[1:]).code == 0
    assert place.select(metadata=other, epsilon="2.5").code == 0
    line = place.select("--fresh", metadata=other, epsilon="2.5").refused(4)
    assert "epsilon 2.5 is requested, and 0 of 2.5 is left" in line
    (command,) = re.findall("`(discreet .*)`", line)
    assert place.run(*shlex.split(command)[1:]).code == 0
    assert place.select("--fresh", metadata=other, epsilon="2.5").code == 0
    assert place.spent("other") == 5


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"unit": "household"}, "keeps unit='person', but unit='household'"),
        ({"neighboring": "add_or_remove_one", "n_rows": None}, "keeps neighboring='replace_one'"),
    ],
    ids=str,
)
def test_relation_types(place, fields, hint):
    """Two units or two relations on one data set do not add up, so the second one is refused."""
    assert place.select().code == 0
    line = place.select(metadata=place.write_metadata(**fields)).refused(4)
    assert re.search(hint, line), line
    assert place.spent() == 1


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        ([], 2, "Give both: `discreet budget grant rand-hie --epsilon 4`"),
        (["clinic"], 2, "name and --epsilon"),
        (["--epsilon", 1], 2, "data set's name and --epsilon"),
        (["clinic", "--dataset", "other", "--epsilon", 1], 2, "data set's name"),
        (["other", "--metadata", "people.yaml", "--epsilon", 1], 2, "data set's name"),
        (["clinic", "--epsilon", "-1"], 2, "lifetime cap must be 0 or lie between"),
        (["clinic", "--epsilon", "0"], 2, "must cover what is spent"),
        (["clinic", "--epsilon", "1e9"], 2, "lifetime cap must be 0 or lie between"),
        (["clinic", "--epsilon", "nan"], 2, "finite number"),
        (["clinic", "--epsilon", "inf"], 2, "finite number"),
        (["clinic", "--epsilon", "much"], 2, "finite number"),
        (["clinic", "--epsilon", "1e-999999999"], 2, "1e-400"),
        (["clinic", "--epsilon", "1", "--delta", "1"], 2, "delta must lie in"),
        (["clinic", "--epsilon", "1", "--delta", "nan"], 2, "delta must be"),
        (["clinic", "--epsilon", "0.5"], 2, "must cover what is spent, epsilon 1 and"),
        (["../clinic", "--epsilon", "1"], 2, "cannot be a data set's name. Use at most 100 letters"),
        (["=cmd()", "--epsilon", "1"], 2, "cannot be a data set's name. Use at most 100 letters"),
        (["clinic", "--epsilon", "9", "--unit", "household"], 4, "keeps unit='person'"),
        (["clinic", "--epsilon", "9", "--neighboring", "add_or_remove_one"], 4, "keeps neighboring='replace_one'"),
        (["clinic", "--epsilon", "9", "--neighboring", "nearby"], 2, "replace_one or add_or_remove_one"),
        (["clinic", "--epsilon", "9", "--metadata", "none.yaml"], 2, "none.yaml cannot be read"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_bad_grant(place, words, code, hint):
    """A cap that makes no sense is refused and changes nothing."""
    assert place.select().code == 0
    with Ledger(place.ledger) as ledger:
        before = (ledger.head, ledger.accounts())
    line = place.run("budget", "grant", *words, "--ledger", place.ledger).refused(code)
    assert re.search(hint, line), line
    with Ledger(place.ledger) as ledger:
        assert (ledger.head, ledger.accounts()) == before


# ---- what is written


@pytest.mark.parametrize(
    ("out", "hint"),
    [
        ("nowhere/release.json", "its folder does not exist"),
        (".", "is a folder"),
        ("", "is a folder"),
        ("people.parquet", "would replace"),
        ("people.yaml", "would replace"),
        ("temporary/../people.yaml", "would replace"),
        ("ledger.sqlite", "would replace"),
    ],
)
def test_bad_out(place, out, hint):
    """A release that could not be written, or would replace the data, is refused before anything is spent."""
    refused(place, 2, hint, out=out)


def test_out_that_fails_late(place, monkeypatch):
    """When the disk is full after all, the result is shown, nothing is half-written, and asking again is free."""
    before = place.files()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", _raise(OSError(28, "No space left on device")))
        done = place.select(out="release.json")
    assert done.code == 2
    assert (
        done.err
        == "Error: The output file release.json cannot be written: no space left on device. Choose another path.\n"
    )
    assert done.out.startswith("Selected for visits: ")
    assert place.files() == before
    assert place.select(out="release.json").code == 0
    assert place.spent() == 1


# ---- releases


@pytest.mark.parametrize(
    ("content", "code", "hint"),
    [
        (None, 2, "release.json cannot be read: no such file"),
        (b"\xff\xfe", 2, "is not UTF-8 text, so it is not a"),
        (b"", 8, "schema discreet/release@1"),
        (b"nonsense", 8, "schema discreet/release@1"),
        (b"{}", 8, "private: field required"),
        (b"[]", 8, "schema discreet/release@1"),
    ],
    ids=str,
)
def test_no_release(place, content, code, hint):
    """A file that is no release is neither reported nor verified."""
    if content is not None:
        Path("release.json").write_bytes(content)
    before = place.files()
    for words in (["report"], ["report", "--out", "report.html"], ["budget", "verify", "--ledger", place.ledger]):
        line = place.run(*words, "release.json").refused(code)
        assert re.search(hint, line), line
    assert place.files() == before


CHANGES = {
    "another schema": lambda value: value.update(schema="discreet/release@9"),
    "a field more": lambda value: value.update(score=1.5),
    "a field less": lambda value: value.pop("selected"),
    "negative epsilon": lambda value: value["guarantee"].update(epsilon=-1),
    "epsilon that is no number": lambda value: value["guarantee"].update(epsilon=float("nan")),
    "delta of one": lambda value: value["guarantee"].update(delta=1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_altered_schema(place, change):
    """A release of another schema, or with other fields, is refused."""
    _altered(place, CHANGES[change])
    for words in (["report"], ["budget", "verify", "--ledger", place.ledger]):
        assert "schema discreet/release@1" in place.run(*words, "altered.json").refused(8)


FORGERIES = {
    "a smaller epsilon": lambda value: value["guarantee"].update(epsilon=0.001),
    "another selection": lambda value: value.update(
        selected=[name for name in value["request"]["candidates"] if name not in value["selected"]]
    ),
    "another head": lambda value: value["provenance"]["ledger"].update(head="0" * 64),
    "another entry": lambda value: value["provenance"]["ledger"].update(entry=1),
    "never charged": lambda value: value["provenance"].update(ledger=None),
}


@pytest.mark.parametrize("change", FORGERIES)
def test_forged_release(place, change):
    """A release that says something else than what the ledger recorded does not verify; the true one does."""
    _altered(place, FORGERIES[change])
    verify = ["budget", "verify", "--ledger", place.ledger]
    assert "no record of it as it stands" in place.run(*verify, "altered.json").refused(8)
    assert "no record of it as it stands" in place.run(*verify, "release.json", "altered.json").refused(8)
    assert place.run(*verify, "release.json").code == 0


def _altered(place: Place, change) -> None:
    assert place.select(out="release.json").code == 0
    value = json.loads(Path("release.json").read_text())
    change(value)
    Path("altered.json").write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")  # as `save` writes it


def test_foreign_release(place):
    """A release that another ledger charged does not verify."""
    assert place.select(out="release.json").code == 0
    foreign = place.folder / "ledger.foreign"
    with Ledger(foreign) as ledger:
        ledger.grant("clinic", 1)
    line = place.run("budget", "verify", "release.json", "--ledger", foreign).refused(8)
    assert "If the release was charged to another ledger, name that one with --ledger" in line


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--format", "docx"], "format='docx'"),
        (["--audience", "king"], "audience='king'"),
        (["--out", "report"], "end --out in .html"),
        (["--out", "nowhere/report.html"], "its folder does not exist"),
        (["--out", ".", "--format", "html"], "a folder or a device"),
        (["--out", "release.json", "--format", "html"], "would replace"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_report(place, words, hint):
    """A report in an unknown form, or to a place that cannot be written, is refused and leaves nothing."""
    assert place.select(out="release.json").code == 0
    before = place.files()
    line = place.run("report", "release.json", *words).refused(2)
    assert re.search(hint, line), line
    assert place.files() == before


# ---- what nobody expected


def test_internal_error(place, monkeypatch):
    """An error that nobody expected shows its kind alone, and spends nothing before the data are opened."""
    monkeypatch.setattr("discreet.workflow.open_table", _raise(KeyError(CELL)))
    refused(place, 1, r"Internal error \(KeyError\)\. This is a fault of Discreet")


# ---- names that break lines


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31mb", "a\u202eb"], ids=ascii)
def test_one_line_whatever_the_name(place, name):
    """A newline, a color or a change of direction in a name does not reach the terminal."""
    for options in (
        {"data": f"{name}.csv"},
        {"metadata": name},
        {"target": name},
        {"candidates": name},
        {"ledger": f"{name}/x"},
    ):
        done = place.select(**options)
        line = done.refused(done.code)
        assert line[:-1].isprintable(), ascii(line)
    assert place.spent() == 0


@pytest.mark.processes
def test_a_file_that_unpacks_to_more_than_there_is(place):
    """Kilobytes on disk, gigabytes as text: a distinct cell is looked at once, and the answer needs no more memory."""
    table, memory = people(), 6 * 2**30
    huge = pa.array(["z" * 40_000_000])
    sites = pa.DictionaryArray.from_arrays(pa.array([0] * len(table), pa.int32()), huge)
    assert len(table) * huge.nbytes > memory
    table = table.set_column(table.column_names.index("site"), "site", sites)
    pyarrow.parquet.write_table(table, place.data, compression="zstd", use_dictionary=["site"])
    assert place.data.stat().st_size < 2**20
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (memory, memory))
    done = in_process_of_its_own(*place.words("--yes", "--quiet"), preexec_fn=limit)
    assert (done.code, done.err) == (0, "")
    assert place.spent() == 1
