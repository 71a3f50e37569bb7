"""The same question is answered once and paid for once; another question, or another draw, is paid for."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import discreet as dc
from discreet import workflow
from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.kernels.moments.moments import GRID
from discreet.ledger import Ledger
from discreet.release import READ, STATED
from tests.acceptance.conftest import METADATA, N_ROWS, people
from tests.effort import either

STORED = "The same request had been answered before: this is the stored release, and nothing was charged."


def test_same_request_is_free(place):
    """The same request is served from the store: the same release to the byte, no charge, and it says so."""
    first = place.select(out="first.json")
    assert first.err == "Release written to first.json. `discreet report first.json` explains it.\n"
    for _ in range(5):
        again = place.select(out="again.json")
        assert again.out == first.out
        assert again.err.startswith(STORED)
        assert Path("again.json").read_bytes() == Path("first.json").read_bytes()
    assert place.spent() == 1


def test_same_request_said_differently(place, monkeypatch):
    """Other words for the same request are the same request: another path, a default named, an order of flags."""
    first = place.select()
    monkeypatch.setenv("DISCREET_LEDGER", str(place.ledger))
    Path("link.parquet").symlink_to(place.data)
    variants = [
        place.words(data="people.parquet"),
        place.words(data="temporary/../people.parquet"),
        place.words(candidates="age,income,site"),
        place.words(candidates='"age", income,site'),
        [*place.words(candidates="age,income"), "--candidates", "site"],
        place.words(epsilon="1.0"),
        place.words(delta="0", mechanism="permute_and_flip", y_center="private", method="pcls"),
        place.words("--quiet", "--yes"),
        place.words(data="link.parquet"),
        place.words(ledger=None),
    ]
    for words in variants:
        done = place.run(*words)
        assert (done.code, done.out) == (0, first.out), words
    assert place.spent() == 1


def test_fresh(place):
    """--fresh draws again and charges again; after that the newest release is the stored one."""
    place.select()
    fresh = place.select("--fresh", out="fresh.json")
    assert fresh.code == 0
    assert STORED not in fresh.err
    assert place.spent() == 2
    place.select(out="again.json")
    assert Path("again.json").read_bytes() == Path("fresh.json").read_bytes()
    assert place.spent() == 2


def test_a_copy_of_rows_in_memory_is_stated_and_never_the_same(place):
    """A file made for one request says so: charged each time, as a frame in Python is."""
    asked = [place.select("--stated", "--json"), place.select("--stated", "--json")]
    origins = [json.loads(done.out)["provenance"]["rows_origin"] for done in asked]
    assert origins == [STATED, STATED]
    assert place.spent() == 2
    assert json.loads(place.select("--json").out)["provenance"]["rows_origin"] == READ
    assert place.spent() == 3
    lacking = place.write_metadata(lambda value: value["columns"].update(shoe=value["columns"]["age"]))
    assert "shoe" in place.select("--stated", "--candidates", "age", metadata=lacking).refused(5)
    assert place.spent() == 3


def test_a_copy_and_a_frame_are_the_same_question(place):
    """The digest says nothing of where the rows were."""
    of_copy = json.loads(place.select("--stated", "--json").out)["provenance"]["request_sha256"]
    table = open_table(people().to_pandas(), Metadata.read(place.metadata))
    of_frame = dc.PCLS(epsilon=1.0).fit(table, target="visits").release_.provenance.request_sha256
    of_file = json.loads(place.select("--json").out)["provenance"]["request_sha256"]
    assert of_copy == of_frame
    assert of_copy != of_file


OTHERS = {
    "epsilon": {"epsilon": "0.5"},
    "a little more epsilon": {"epsilon": "1.000000001"},
    "candidates": {"candidates": "age,income"},
    "target": {"target": "age"},
    "mechanism": {"mechanism": "laplace"},
    "radius": {"l1_radius": "5"},
    "penalty": {"model_penalty": "0"},
    "size": {"max_size": "1"},
    "forced": {"forced": "age"},
    "group": {"group": "age,income"},
    "center": {"y_center": "5"},
    "bound": {"y_bound": "5"},
    "file": {"data": "people.csv"},
}


@pytest.mark.parametrize("other", OTHERS)
def test_another_request_is_charged(place, other):
    """Whatever is asked differently is another request, charged in full."""
    place.select()
    done = place.select(**OTHERS[other])
    assert (done.code, done.err) == (0, "")
    assert place.spent() == 1 + float(OTHERS[other].get("epsilon", 1))


def test_another_intercept_or_metadata_is_charged(place):
    """Models without a constant, other bounds, another description: each is another request."""
    place.select()
    place.select("--no-intercept")
    assert place.spent() == 2
    place.select(metadata=place.write_metadata(lambda value: value["columns"]["age"].update(upper=100)))
    assert place.spent() == 3
    place.select(metadata=place.write_metadata(description="newer"))
    assert place.spent() == 4


def test_another_data_set_has_its_own_budget(place):
    """The same file under another key is another data set, without a cap until it is given one."""
    place.select()
    other = place.write_metadata(dataset="clinic-2")
    assert "Data set 'clinic-2' has no lifetime cap" in place.select(metadata=other).refused(4)
    assert place.spent() == 1


def test_frames_are_never_stored_answers(place):
    """A frame in memory has no address, so the same question of it is drawn and charged each time."""
    metadata = Metadata.read(place.metadata)
    with Ledger(place.ledger) as ledger:
        for _ in range(2):
            table = workflow.open_table(people(), metadata)
            answer = workflow.answer(workflow.method_of("pcls", epsilon=1.0), table, "visits", ledger=ledger)
            assert not answer.stored
    assert place.spent() == 2


def test_stored_answer_that_was_changed(place):
    """A stored release that somebody changed is not served."""
    place.select()
    with closing(sqlite3.connect(place.ledger, isolation_level=None)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in names:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE releases SET text = replace(text, 'age', 'income')")
    assert "must be the one that was recorded" in place.select().refused(8)
    assert place.run("budget", "verify", "--ledger", place.ledger).code == 8


@pytest.mark.processes
@pytest.mark.parametrize("n_processes", either([3], [2, 3]))
def test_race_for_the_last_budget(place, n_processes):
    """Processes at once on a ledger with budget for one: exactly one succeeds, and the others say why not."""
    place.run("budget", "grant", "clinic", "--epsilon", "1", "--ledger", place.ledger)
    command = [sys.executable, "-m", "discreet", *place.words("--fresh")]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
        for _ in range(n_processes)
    ]
    ends = [(*process.communicate(timeout=600), process.returncode) for process in processes]
    assert sorted(code for _, _, code in ends) == [0, *[4] * (n_processes - 1)]
    for out, err, code in ends:
        assert (out != "", err == "") == (code == 0,) * 2
        assert code == 0 or "epsilon 1 is requested, and 0 of 1 is left" in err
    assert place.spent() == 1


# ---- one person's rows

K = 3
"""Rows that one person may own."""


def _with_hoarder(n_own: int, order: np.ndarray) -> pa.Table:
    """Rows of many people, and one who has `n_own` extreme rows, in some order."""
    own = {
        "age": [110.0, 0.0] * 25,
        "income": [100.0] * 50,
        "site": ["west"] * 50,
        "visits": [20] * 50,
        "person": [7] * 50,
    }
    others = people().set_column(0, "age", pa.array(people()["age"].to_pylist(), pa.float64()))
    others = others.append_column("person", pa.array(range(100, 100 + N_ROWS)))
    return pa.concat_tables([others, pa.table(own)]).take(pa.array(order[order < N_ROWS + n_own]))


def _orders(n_rows: int) -> list[np.ndarray]:
    forward = np.arange(n_rows)
    return [forward, forward[::-1], np.argsort(forward * 7919 % 10007)]


def _moments(table: pa.Table, metadata: Metadata) -> list[np.ndarray]:
    """Return the moments of the same rows, however they are stored."""
    design = Design.plan(metadata, "visits")
    pyarrow.csv.write_csv(table, "units.csv")
    pyarrow.parquet.write_table(table, "units.parquet", row_group_size=50)
    pyarrow.feather.write_feather(table, "units.arrow")
    text = table.set_column(4, "person", table["person"].cast(pa.string()))
    sources = ["units.csv", "units.parquet", "units.arrow", table, text, table.to_pandas(), pl.from_arrow(table)]
    return [open_table(source, metadata).moments(design) for source in sources]


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_unit_truncation(place, relation):
    """A person with 50 rows counts as K of them, whichever order the rows are in and however they are stored."""
    fields = {"neighboring": relation, "n_rows": None if relation == "add_or_remove_one" else N_ROWS + 50}
    metadata = Metadata.read(place.write_metadata(unit_id="person", rows_per_unit=K, **fields))
    found = []
    for order in _orders(N_ROWS + 50):
        found += _moments(_with_hoarder(50, order), metadata)
    assert all((moments == found[0]).all() for moments in found)
    assert found[0][0, 0] == (N_ROWS + K) * GRID**2
    (without, *_) = _moments(_with_hoarder(0, np.arange(N_ROWS)), metadata)
    assert np.abs(found[0] - without).max() <= K * GRID**2


def test_unit_truncation_of_copies(place):
    """The same row 50 times counts K times; people below the limit keep all their rows."""
    metadata = Metadata.read(
        place.write_metadata(unit_id="person", rows_per_unit=K, neighboring="add_or_remove_one", n_rows=None)
    )
    row = people(1).append_column("person", pa.array([7]))
    table = pa.concat_tables([row] * 50 + [people(K).append_column("person", pa.array([8] * K))])
    for moments in _moments(table, metadata):
        assert moments[0, 0] == 2 * K * GRID**2


def test_rows_without_a_person(place):
    """Rows that name nobody could be anybody's: they contribute nothing."""
    metadata = Metadata.read(
        place.write_metadata(unit_id="person", rows_per_unit=K, neighboring="add_or_remove_one", n_rows=None)
    )
    table = people().append_column("person", pa.nulls(N_ROWS, pa.int64()))
    for moments in _moments(table, metadata):
        assert moments[0, 0] == 0


def test_unit_truncation_in_a_release(place):
    """The release says how many rows of one person count, and its noise is for as many."""
    declared = {"y_center": "middle", "y_bound": "furthest"}
    one = json.loads(place.select("--dry-run", "--json", **declared).out)["noise"]["sensitivity"]
    other = place.write_metadata(unit_id="person", rows_per_unit=K, n_rows=N_ROWS + 50)
    pyarrow.parquet.write_table(_with_hoarder(50, np.arange(N_ROWS + 50)), "units.parquet")
    release = json.loads(place.select("--json", data="units.parquet", metadata=other, **declared).out)
    assert release["guarantee"]["rows_per_unit"] == K
    assert release["noise"]["sensitivity"] == pytest.approx(K * one)
    assert METADATA["unit"] == release["guarantee"]["unit"]


def test_a_choice_by_plan_is_recorded_and_asked_again_is_free(place):
    """The same public facts choose the same method, so that the question is the same one; its tuning is its own."""
    auto = {"method": "auto", "out": "first.json", "candidates": "age,income"}
    first = place.select(**auto)
    assert first.code == 0, first.err
    chosen = json.loads(Path("first.json").read_text())["request"]["chosen"]
    assert chosen["by"] == "plan"
    assert chosen["among"] > 5
    spent = place.spent()
    again = place.select(**auto | {"out": "again.json"})
    assert STORED in again.err
    assert place.spent() == spent
    assert "Leave that out, or name a method" in place.select(**auto | {"l1_radius": 2}).refused(2)
    assert place.spent() == spent
