"""After a run no cell is left on the disk: by whichever engine the rows were read, whichever method read them."""

import hashlib
import json
import os
import sqlite3
import struct
import time
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from discreet import workflow
from discreet.data.dummy import dummy_table
from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicRecords
from discreet.ledger import Ledger
from discreet.mechanisms.rng import Source
from discreet.methods.registry import _HOMES
from tests.acceptance.conftest import in_process_of_its_own
from tests.spark import words

N_ROWS = 60
REAL, WHOLE, TEXT = 7.7319052846137, 4815162342, "zqcanary"
MARKS = (b"7.7319052846", b"4815162342", TEXT.encode(), struct.pack("<d", REAL), struct.pack("<q", WHOLE))
"""The cells as they would be printed, and as they stand in memory."""

BOX = {"type": "real", "lower": -10, "upper": 10}
METADATA = {
    "schema": "discreet/metadata@1",
    "dataset": "clinic",
    "unit": "person",
    "unit_id": "person",
    "neighboring": "replace_one",
    "n_rows": N_ROWS,
    "columns": {
        "visits": {"type": "integer", "lower": 0, "upper": 1},
        "a": BOX,
        "b": {"type": "integer", "lower": 0, "upper": 5_000_000_000},
        "c": BOX,
        "site": {"type": "category", "levels": ["north", "south"]},
    },
}


def planted() -> pa.Table:
    """Rows that fit the metadata, with canaries in every column, as numbers, as text and as names of people."""
    at = np.arange(N_ROWS)
    return pa.table(
        {
            "visits": at % 2,
            "a": np.where(at % 2, REAL, at / 10),
            "b": np.where(at % 2, WHOLE, at),
            "c": np.where(at % 3, REAL, -at / 10),
            "site": [TEXT if i % 2 else "north" for i in at],
            "person": [f"{TEXT}{i}" for i in at],
        }
    )


def in_database(path: Path) -> None:
    """As a table of a DuckDB file."""
    with duckdb.connect(str(path)) as connection:
        connection.register("planted", planted())
        connection.execute("CREATE TABLE people AS SELECT * FROM planted")


def in_sqlite(path: Path) -> None:
    """As a table of an SQLite file."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE people (visits, a, b, c, site, person)")
        rows = zip(*planted().to_pydict().values(), strict=True)
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", rows)


def in_folder(path: Path) -> None:
    """As a folder of two Parquet files."""
    path.mkdir()
    for number in (0, 1):
        pyarrow.parquet.write_table(planted().slice(30 * number, 30), path / f"{number}.parquet")


FILES = {
    "people.csv": lambda path: pyarrow.csv.write_csv(planted(), path),
    "people.parquet": lambda path: pyarrow.parquet.write_table(planted(), path),
    "people": in_folder,
    "people.arrow": lambda path: pyarrow.feather.write_feather(planted(), path),
    "people.duckdb": in_database,
    "people.sqlite": in_sqlite,
}


def left(folder: Path) -> list[str]:
    """Files outside the folder of the private tables in which a cell stands, in content or name."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    found = [path for path in found if "private" not in path.relative_to(folder).parts]
    return [path.name for path in found if any(mark in path.name.encode() + path.read_bytes() for mark in MARKS)]


@pytest.fixture
def private(place):
    """The folder of the private tables; what a run writes besides lies beside it, temporary files too."""
    (place.folder / "clinic.json").write_text(json.dumps(METADATA))
    (place.folder / "private").mkdir()
    return place.folder / "private"


@pytest.mark.processes
@pytest.mark.parametrize("name", FILES)
def test_no_residue_of_an_engine(place, private, name):
    """A process that read a file and ended leaves no cell in its folder, among temporary files or in the ledger."""
    FILES[name](private / name)
    done = in_process_of_its_own(*place.words("--json", data=private / name, metadata="clinic.json"))
    assert (done.code, done.err) == (0, "")
    assert left(place.folder) == []


@pytest.mark.processes
def test_no_residue_of_spark(place, private, monkeypatch):
    """Spark shuffles rows by person through its temporary files, which are gone when the process has ended."""
    spilled = place.folder / "temporary" / "spark"
    spilled.mkdir()
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", words(spilled))
    in_folder(private / "people")
    data = f"spark:{private}/people"
    done = in_process_of_its_own(*place.words("--json", data=data, metadata="clinic.json"))
    assert (done.code, done.err) == (0, "")
    assert left(place.folder) == []
    ends = time.monotonic() + 60.0
    while remaining(spilled) and time.monotonic() < ends:  # Java may clean up a moment after its parent has ended
        time.sleep(0.2)
    assert remaining(spilled) == []


def remaining(folder):
    """Files below a folder that others may be deleting."""
    return [name for _, _, names in os.walk(folder) for name in names]


MORE = {
    "moments": {"delta": 1e-6},
    "pcpl": {"delta": 1e-3},
    "sis": {"n_features_to_select": 1},
    "two-stage": {"n_features_to_select": 1},
    "linear": {"delta": 1e-6},
    "logistic": {"delta": 1e-6},
    "poisson": {"delta": 1e-6},
    "run": {"select": {"method": "pcls"}, "fit": {"family": "linear"}, "delta": 1e-6},
}
"""What methods must be told."""
ON_PUBLIC_RECORDS = ("hybrid", "public-subset")


def declared(folder):
    """The metadata, and public records that they declare."""
    pyarrow.parquet.write_table(
        dummy_table(Metadata.from_value(METADATA), 200, Source.seeded(4).words), folder / "open"
    )
    public = {"sha256": hashlib.sha256((folder / "open").read_bytes()).hexdigest(), "source": "a census"}
    metadata = Metadata.from_value(METADATA | {"public": public})
    (folder / "open").rename(folder / "open.parquet")
    return metadata, PublicRecords(folder / "open.parquet", metadata)


@pytest.mark.parametrize("name", _HOMES)
def test_no_residue_of_a_method(place, private, name):
    """Rows that a method read are in no file that it wrote, nor in its release."""
    FILES["people.parquet"](private / "people.parquet")
    metadata, public = declared(place.folder)
    table = workflow.open_table(private / "people.parquet", metadata)
    more = {"public": public} if name in ON_PUBLIC_RECORDS else MORE.get(name, {})
    with Ledger(place.ledger) as ledger:
        ledger.grant("clinic", 10, 1e-2)
        method = workflow.method_of(name, epsilon=1.0, **more)
        answer = workflow.answer(method, table, "visits", ["a", "b", "c"], ledger=ledger)
    answer.release.save(place.folder / "release.json")
    assert left(place.folder) == []


def test_residue_is_found(place, private):
    """Control: a cell beside the private folder is found, in whichever form, and so is one in a file's name."""
    for name, write in FILES.items():
        write(private / name)
        assert any(mark in path.read_bytes() for path in private.rglob("*") if path.is_file() for mark in MARKS)
    assert left(place.folder) == []
    for number, mark in enumerate(MARKS):
        (place.folder / "temporary" / f"spill{number}").write_bytes(b"\0" + mark + b"\0")
    (place.folder / "temporary" / TEXT).write_bytes(b"")
    assert len(left(place.folder)) == len(MARKS) + 1
