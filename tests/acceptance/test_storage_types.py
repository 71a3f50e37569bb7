"""What is declared is compared with the stored types before a charge: one line, nothing spent, in every path."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import discreet as dc
from discreet.errors import DataMismatchError
from discreet.workflow import open_table
from tests.acceptance.conftest import METADATA, N_ROWS, Place, people

SMOKER = {"type": "category", "levels": ["no", "yes"], "source": "form, question 3"}
PLAN = """
schema: discreet/run@1
data: DATA
metadata: other.json
target: visits
epsilon: 2
delta: 1e-4
select: {method: pcls, epsilon: 0.5}
fit: {family: linear}
"""
MISFIT = {
    "words of whole numbers": ({"smoker": SMOKER}, [0, 1], "'smoker' must hold its level 'no', but"),
    "words of reals": ({"smoker": SMOKER}, [0.5, 1.5], "'smoker' must hold its level 'no', but"),
    "words of truth values": ({"smoker": SMOKER}, [True, False], "'smoker' must hold its level 'no', but"),
    "a number of text": ({"smoker": {**METADATA["columns"]["age"]}}, ["zq7731", "9"], "is declared as a number"),
}
FILES = ("t.parquet", "t.arrow", "t.duckdb", "t.sqlite")


@pytest.fixture
def paid(place: Place) -> Place:
    """A place whose ledger allows a delta, too."""
    assert place.run("budget", "grant", "clinic", "--epsilon", 10, "--delta", 0.01, "--ledger", place.ledger).code == 0
    return place


def write(cells: list[Any]) -> None:
    """Write the people, and one more column, as files of every kind that has types; and as a CSV file."""
    table = people().append_column("smoker", pa.array(cells * (N_ROWS // len(cells))))
    pyarrow.parquet.write_table(table, "t.parquet")
    pyarrow.feather.write_feather(table, "t.arrow")
    pyarrow.csv.write_csv(table, "t.csv")
    with duckdb.connect("t.duckdb") as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    kind = "TEXT" if isinstance(cells[0], str) else "REAL" if isinstance(cells[0], float) else "INTEGER"
    with closing(sqlite3.connect("t.sqlite")) as connection, connection:
        connection.execute(f"CREATE TABLE t (age INTEGER, income REAL, site TEXT, visits INTEGER, smoker {kind})")
        rows = zip(*table.to_pydict().values(), strict=True)
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)


@pytest.mark.parametrize("case", MISFIT)
def test_nothing_is_charged_for_a_type_that_cannot_hold_what_is_declared(paid: Place, case: str) -> None:
    """By `select`, `fit` and `run`, whatever the file; the same question about the other columns is answered."""
    more, cells, hint = MISFIT[case]
    write(cells)
    metadata = paid.write_metadata(lambda value: value["columns"].update(more))
    for data in FILES:
        plan = paid.folder / "plan.yaml"
        plan.write_text(PLAN.replace("DATA", data))
        files = paid.files()
        given = ("--data", data, "--metadata", metadata, "--ledger", paid.ledger, "--yes")
        fit = ("fit", "--target", "visits", "--columns", "age,smoker", "--epsilon", 1, "--delta", 1e-4, *given)
        for done in (
            paid.select("--yes", data=data, metadata=metadata),
            paid.select("--yes", data=data, metadata=metadata, method="moments", delta=1e-4),
            paid.run(*fit),
            paid.run("run", plan, "--ledger", paid.ledger, "--yes"),
        ):
            line = done.refused(5)
            assert "Column 'smoker' " in line
            assert hint in line
            assert "zq7731" not in line
        assert paid.files() == files
    assert paid.spent() == 0
    assert paid.select("--yes", data="t.parquet", metadata=metadata, candidates="age,income").code == 0
    assert paid.select("--yes", data="t.csv", metadata=metadata).code == 0  # which has no types
    assert paid.spent() == 2


def test_estimators_refuse_it_too(place: Place) -> None:
    """With a ledger and without: an opened table in memory, and X and y."""
    columns = METADATA["columns"] | {"smoker": SMOKER}
    metadata = dc.Metadata.from_value(METADATA | {"columns": columns})
    table = people().append_column("smoker", pa.array([0, 1] * (N_ROWS // 2)))
    frame = table.to_pandas()
    for source in (table, frame, (frame.drop(columns="visits"), frame["visits"])):
        for estimator in (dc.PCLS(epsilon=1.0), dc.LinearRegression(epsilon=1.0, delta=1e-5)):
            with dc.Ledger(place.ledger) as ledger, pytest.raises(DataMismatchError, match="its level 'no'"):
                estimator.fit(open_table(source, metadata), target="visits", ledger=ledger)
    assert place.spent() == 0


# ---- metadata check --data


def test_the_check_says_of_each_column_whether_it_fits(place: Place) -> None:
    """A line a column, then an error a misfit; nothing is charged, and the table's other columns are not named."""
    write([0, 1])
    good = place.run("metadata", "check", "people.yaml", "--data", "t.parquet")
    assert (good.code, good.err) == (0, "")
    assert good.out == (
        "visits: integer, stored as BIGINT: fits\n"
        "age: integer, stored as BIGINT: fits\n"
        "income: real, stored as DOUBLE: fits\n"
        "site: category, stored as VARCHAR: fits\n"
        "people.yaml is ready: 4 columns, 0 warnings.\n"
    )
    place.write_metadata(lambda value: value["columns"].update(smoker=SMOKER, shoe=SMOKER))
    bad = place.run("metadata", "check", "other.json", "--data", "t.parquet")
    assert bad.code == 3
    assert "smoker: category, stored as BIGINT: does not fit\n" in bad.out
    assert "error: columns.smoker: Column 'smoker' must hold its level 'no'" in bad.out
    assert "shoe: category: not in the table\n" in bad.out
    assert "error: columns.shoe: Column 'shoe' is declared, but is not in the table." in bad.out
    assert bad.err == "Error: other.json has 2 errors. Correct them and check again.\n"
    assert place.spent() == 0


def test_the_check_gives_its_comparison_as_json(place: Place) -> None:
    """Beside the findings; without a table there is none."""
    write([0, 1])
    place.write_metadata(lambda value: value["columns"].update(smoker=SMOKER))
    done = place.run("metadata", "check", "other.json", "--data", "t.parquet", "--json")
    told = json.loads(done.out)
    assert done.code == 3
    assert told["schema"] == "discreet/findings@1"
    assert [finding["place"] for finding in told["findings"]] == ["columns.smoker"]
    by_name = {column["name"]: column for column in told["columns"]}
    assert by_name["age"] == {"name": "age", "declared": "integer", "stored": "BIGINT", "problem": None}
    assert by_name["smoker"]["problem"] in told["findings"][0]["message"]
    alone = json.loads(place.run("metadata", "check", "other.json", "--json").out)
    assert "columns" not in alone
    assert dc.Metadata.from_value(alone["metadata"]) == dc.Metadata.read(place.folder / "other.json")


def test_the_check_reads_the_header_alone(place: Place) -> None:
    """Of a CSV file its first line, with no row behind it; labels of an enumeration are not shown."""
    Path("head.csv").write_text("visits,age,income,site\n")
    done = place.run("metadata", "check", "people.yaml", "--data", "head.csv")
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        "The table stores no type of 4 columns, so only the names were compared.",
    )
    with duckdb.connect("labels.duckdb") as connection:
        labels = "ENUM('zq7731', 'north')"
        connection.execute(f"CREATE TABLE a (visits INTEGER, age {labels}, income DECIMAL(9, 2), site {labels})")
        connection.execute("CREATE TABLE b (visits DATE)")
    done = place.run("metadata", "check", "people.yaml", "--data", "labels.duckdb", "--table", "a")
    assert done.code == 3
    assert "age: integer, stored as ENUM: does not fit" in done.out
    assert "site: category, stored as ENUM: fits" in done.out
    assert "zq7731" not in done.out + done.err
    for words, code in ((("--data", "labels.duckdb"), 2), (("--table", "a"), 2), (("--data", "nowhere.csv"), 2)):
        place.run("metadata", "check", "people.yaml", *words).refused(code)


def test_the_check_of_a_long_table_needs_its_targets(place: Place) -> None:
    """The values are compared in one table, the target in the other."""
    value = {
        "dataset": "genes",
        "unit": "person",
        "neighboring": "add_or_remove_one",
        "columns": {"y": {"type": "integer", "lower": 0, "upper": 1, "source": "by design"}},
        "features": {"type": "real", "lower": 0, "upper": 9, "count": 4, "source": "by design"},
        "layout": {"row": "who", "feature": "what", "value": "level"},
    }
    Path("genes.json").write_text(json.dumps(value))
    pyarrow.parquet.write_table(pa.table({"who": [1], "what": [0], "level": ["high"]}), "values.parquet")
    pyarrow.parquet.write_table(pa.table({"who": [1], "y": [1]}), "people_of_them.parquet")
    words = ("metadata", "check", "genes.json", "--data", "values.parquet")
    place.run(*words).refused(2)
    done = place.run(*words, "--targets", "people_of_them.parquet")
    assert done.code == 3
    assert "y: integer, stored as BIGINT: fits" in done.out
    assert "level: real, stored as VARCHAR: does not fit" in done.out
