"""Nothing of a cell is found in what a command prints, writes, records or leaves behind."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from discreet.data.design import Design
from discreet.ledger import Ledger
from tests.acceptance.conftest import METADATA, N_ROWS, Done, Place, in_process_of_its_own, people

CANARIES = ("zqcanary", "48151.62342", "4815162342", "3.0517578125e-08")
"""A name and three numbers, as they would be printed; no hash or time holds them by chance."""

WORDS = pa.array(["zqcanary"] * N_ROWS)


def planted() -> pa.Table:
    """A table whose cells hold the canaries: in bounds and out, and where levels belong."""
    return pa.table(
        {
            "age": pa.array([48151.62342, 4815162342.0, 3.0517578125e-08, *range(N_ROWS - 3)]),
            "income": pa.array([48151.62342] * N_ROWS),
            "site": pa.array(["zqcanary", "4815162342", *["north"] * (N_ROWS - 2)]),
            "visits": people()["visits"],
            "name": WORDS,
            "person": pa.array([f"zqcanary{i}" for i in range(N_ROWS)]),
        }
    )


@pytest.fixture
def files(place: Place) -> dict[str, Path]:
    """The planted table in every kind of file, in a folder of its own; in CSV also where numbers belong."""
    folder = place.folder / "private"
    folder.mkdir()
    found = {ending: folder / f"people.{ending}" for ending in ("csv", "parquet", "arrow", "duckdb")}
    pyarrow.csv.write_csv(planted().set_column(1, "income", WORDS), found["csv"])
    pyarrow.parquet.write_table(planted(), found["parquet"])
    pyarrow.feather.write_feather(planted(), found["arrow"])
    with duckdb.connect(str(found["duckdb"])) as connection:
        connection.register("planted", planted())
        connection.execute("CREATE TABLE people AS SELECT * FROM planted")
    return found


def assert_clean(place: Place, *endings: Done) -> None:
    """Look for the canaries in what was printed, in every file, its name and the ledger's bytes."""
    texts = {f"output {i}": done.out + done.err for i, done in enumerate(endings)}
    for path in place.folder.rglob("*"):
        if path.is_file() and "private" not in path.relative_to(place.folder).parts:
            texts[str(path)] = f"{path.name}\n{path.read_bytes().decode('latin-1')}"
    for name, text in texts.items():
        for canary in CANARIES:
            assert canary not in text.lower(), (name, canary)


def test_the_search_finds(place, files):
    """The canaries are in the files, and the search would find them in the output or beside them."""
    for path in files.values():
        assert b"zqcanary" in path.read_bytes()
    with pytest.raises(AssertionError):
        assert_clean(place, Done(0, "", "Could not convert ZQCANARY"))
    (place.folder / "temporary" / "spill").write_bytes(b"\0zqcanary\0")
    with pytest.raises(AssertionError):
        assert_clean(place)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "duckdb"])
def test_canary_in_a_release(place, files, ending):
    """A selection, its plan, its report in each form, the history: no cell in any of them."""
    data = files[ending]
    endings = [
        place.select("--dry-run", data=data),
        place.select(data=data, out="release.json"),
        place.select("--json", data=data),
        place.select("--json", "--fresh", data=data),
        place.run("budget", "history", "--json", "--ledger", place.ledger),
        place.run("budget", "show", "--ledger", place.ledger),
        place.run("budget", "verify", "release.json", "--ledger", place.ledger),
        *(place.run("report", "release.json", "--format", form) for form in ("text", "markdown", "json")),
        place.run("report", "release.json", "--audience", "analyst", "--out", "report.html"),
        place.run("metadata", "new", data),
    ]
    assert [done.code for done in endings] == [0] * len(endings)
    assert_clean(place, *endings)


def test_canary_of_units(place, files):
    """Identifiers by which rows are cut leave no trace either, in memory spilled to disk neither."""
    other = place.write_metadata(unit_id="person", rows_per_unit=1)
    endings = [place.select("--json", data=data, metadata=other) for data in files.values()]
    assert [done.code for done in endings] == [0] * len(endings)
    assert_clean(place, *endings)


FAILURES = {
    "a library's words": lambda: ValueError("could not convert string to float: 'zqcanary'"),
    "a cause behind the cause": lambda: _chained(),
    "an engine's words": lambda: duckdb.ConversionException("Could not convert 'zqcanary' to INT64, 48151.62342"),
    "a name of a type": lambda: type("zqcanary", (Exception,), {})("4815162342"),
}


def _chained() -> Exception:
    try:
        raise KeyError("zqcanary")
    except KeyError as error:
        found = RuntimeError("48151.62342")
        found.__cause__ = error
        found.add_note("zqcanary")
        return found


@pytest.mark.parametrize("failure", FAILURES)
def test_canary_in_a_failure(place, files, monkeypatch, failure):
    """A computation that fails in the middle of the rows says and leaves nothing of them."""

    def fail(*_, **__):
        raise FAILURES[failure]()

    monkeypatch.setattr(Design, "encode", fail)
    endings = [place.select("--json", data=data, out="release.json") for data in files.values()]
    assert [done.code for done in endings] == [5] * len(endings)
    assert len({done.err for done in endings}) == 1
    endings.append(place.run("budget", "history", "--json", "--ledger", place.ledger))
    assert_clean(place, *endings)


def test_canary_in_a_broken_file(place):
    """Files that break while they are read, or before, show nothing of what was in them."""
    private = place.folder / "private"
    private.mkdir()
    wide = planted()
    pyarrow.parquet.write_table(wide, private / "page.parquet", compression="none", use_dictionary=False)
    pyarrow.feather.write_feather(wide, private / "page.arrow", compression="uncompressed")
    (private / "headless.csv").write_text("zqcanary,4815162342,north,3\n" * 9)
    (private / "quote.csv").write_text('"age,income,site,visits\nzqcanary,4815162342,"north,3\n' * 9)
    (private / "bytes.csv").write_bytes(b"age,income,site,visits\n\xffzqcanary\xfe,2,north,3\n")
    (private / "zqcanary.csv").write_bytes(b"zqcanary")
    for name, step in (("page.parquet", 97), ("page.arrow", 1013)):
        content = bytearray((private / name).read_bytes())
        content[8 : len(content) // 2 : step] = b"\xab" * len(content[8 : len(content) // 2 : step])
        (private / name).write_bytes(content)
    names = ["page.parquet", "page.arrow", "headless.csv", "quote.csv", "bytes.csv"]
    endings = [place.select("--json", data=private / name) for name in names]
    assert {done.code for done in endings} <= {0, 5}
    assert_clean(place, *endings)


def test_canary_in_wrong_types(place):
    """A table refused for its types, its columns or its number of rows is refused without a cell."""
    private = place.folder / "private"
    private.mkdir()
    table = planted()
    shapes = {
        "list": table.set_column(0, "age", pa.array([["zqcanary"]] * N_ROWS)),
        "enum": table.set_column(0, "age", WORDS.dictionary_encode()),
        "labels": table.set_column(2, "site", WORDS.dictionary_encode()),
        "words": table.set_column(1, "income", WORDS),
        "levels": table.set_column(2, "site", pa.array([48151.62342] * N_ROWS)),
        "less": table.drop_columns("age"),
        "short": table.slice(0, 3),
    }
    endings = []
    for name, shape in shapes.items():
        pyarrow.parquet.write_table(shape, private / f"{name}.parquet")
        pyarrow.feather.write_feather(shape, private / f"{name}.arrow")
        endings += [place.select("--json", data=private / f"{name}.{ending}") for ending in ("parquet", "arrow")]
    refused = {name for name, done in zip(shapes, endings[::2], strict=True) if done.code}
    assert {done.code for done in endings} == {0, 5}
    assert refused >= {"list", "enum", "less", "words", "levels"}
    assert "labels" not in refused
    assert_clean(place, *endings)


def test_canary_in_enumeration_labels(place):
    """The labels of an enumeration may come from the rows: a skeleton leaves them out, and so does a refusal."""
    private = place.folder / "private"
    private.mkdir()
    endings = []
    for number, kind in enumerate(("label", "label[]", "STRUCT(a label)", "MAP(label, INTEGER)", "label[2]")):
        path = private / f"people{number}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TYPE label AS ENUM ('zqcanary', '4815162342')")
            connection.execute(f"CREATE TABLE people (age INTEGER, income DOUBLE, visits INTEGER, site {kind})")
        endings += [place.run("metadata", "new", path), place.select(data=path)]
    assert [done.code for done in endings] == [0, 5] * 5
    assert "storage type is ENUM[]" in endings[3].err
    assert_clean(place, *endings)


@pytest.mark.processes
def test_canary_in_progress(place, files, monkeypatch):
    """Bars on a terminal show how many rows and models, nothing else."""
    master, slave = os.openpty()
    command = [sys.executable, "-m", "discreet", *place.words("--yes", data=files["parquet"])]
    with subprocess.Popen(command, stdin=slave, stderr=slave, stdout=subprocess.PIPE, text=True) as process:
        os.close(slave)
        shown = _drained(master)
        out = process.stdout.read()
    os.close(master)
    assert process.returncode == 0
    assert "Reading rows" in shown
    assert_clean(place, Done(0, out, shown))


def _drained(master: int) -> str:
    found = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # how a terminal ends whose other side is closed
            return found.decode()
        found += part


@pytest.mark.processes
def test_canary_in_a_process(place, files, monkeypatch):
    """A process with every debugging variable set says no more than another."""
    for name in ("PYTHONDEVMODE", "RUST_BACKTRACE", "NARWHALS_DEBUG", "DUCKDB_DEBUG"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("PYTHONWARNINGS", "default")
    done = in_process_of_its_own(*place.words("--json", data=files["csv"]))
    assert done.code == 0
    assert_clean(place, done)


def test_ledger_keeps_public_facts_alone(place, files):
    """What the ledger holds of a request is its method, names and parameters."""
    assert place.select(data=files["parquet"]).code == 0
    with Ledger(place.ledger) as ledger:
        (entry,) = [entry for entry in ledger.history() if entry.kind == "reserve"]
    assert set(entry.facts) == {"method", "target", "candidates", "parameters", "discreet", "rows_origin"}
    assert set(entry.facts["candidates"]) == set(METADATA["columns"]) - {"visits"}
