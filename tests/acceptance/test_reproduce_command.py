"""`discreet reproduce`: what there is, one table on real data, what is absent, and going on after an interruption."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from benchmarks.tables import SHARED

from tests.effort import either

pytestmark = pytest.mark.processes

NAMES = [
    *(f"lei-{one}" for one in ("figure-1", "figure-2", "table-3", "table-4", "table-5", "table-6")),
    *(f"swope-figure-{number}" for number in range(1, 8)),
    "swope-table-1",
    *(f"wang-{one}" for one in ("figure-4", "figure-5", "figure-6", "gusto", "example")),
]


def reproduce(place, *words):
    return place.run("reproduce", *words, "--quiet", "--processes", 1)


@pytest.fixture
def men():
    """The folder with the prostate table."""
    if not (SHARED / "prostate.parquet").is_file():
        pytest.skip("prostate.parquet is not there: set DISCREET_SHARED to the folder that holds data/")
    return SHARED


def test_list(place):
    """Without a name all tables and figures are listed, one a line; nothing is computed."""
    done = place.run("reproduce")
    assert (done.code, done.err) == (0, "")
    assert [line.split()[0] for line in done.out.splitlines()[: len(NAMES)]] == NAMES
    listed = json.loads(place.run("reproduce", "--json").out)
    assert [one["name"] for one in listed["studies"]] == NAMES
    assert not (place.folder / "reproduced").exists()


def test_a_table_of_real_data(place, men):
    """Table 4 in its three ways: as printed, as published and ours, as CSV, Markdown, SVG and a page."""
    out, repeats = place.folder / "out", either(10, 30)
    done = reproduce(place, "lei-table-4", "--data", men, "--out", out, "--repeats", repeats)
    assert done.code == 0, done
    assert done.out.startswith("## Prostate cancer: how often each column is selected\n")
    names = {path.name for path in out.iterdir()}
    assert names == {"lei-table-4.html", "parts", "lei-table-4.csv", "lei-table-4.md", "lei-table-4-table-4.svg"}
    with (out / "lei-table-4.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ways = {row["way"]: row["is_private"] for row in rows}
    assert ways["as printed"] == "False"
    assert ways["Discreet, auto"] == "True"
    printed = {(row["phi"], row["variable"]): float(row["value"]) for row in rows if row["way"] == "as printed"}
    assert printed["1", "lcavol"] == 0.85
    page = (out / "lei-table-4.html").read_text(encoding="utf-8")
    assert "<svg " in page
    again = reproduce(place, "lei-table-4", "--data", men, "--out", out, "--repeats", repeats, "--json")
    told = json.loads(again.out)["studies"][0]
    assert len(told["figures"]) == len(rows)
    assert told["repeats"] == repeats


def test_no_ledger_is_touched(place, men):
    """A reproduction spends nothing and asks no ledger."""
    before = place.spent()
    assert reproduce(place, "lei-table-4", "--data", men, "--out", place.folder / "out", "--repeats", 2).code == 0
    assert place.spent() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["no-such-figure"], "`discreet reproduce` lists them"),
        (["lei-table-3"], "needs the public table prostate.parquet"),
        (["lei-table-3", "--data", "no/such/folder"], "must be a folder"),
        (["lei-table-3", "--repeats", "0"], "--repeats"),
    ],
)
def test_wrong_words(place, words, told, monkeypatch):
    """A clear line, and nothing written."""
    monkeypatch.chdir(place.folder)
    done = place.run("reproduce", *words)
    assert done.code == 2
    assert told in done.err
    assert not list(place.folder.glob("reproduced/*.html"))


def test_an_interrupted_command_goes_on(place, men):
    """Ctrl-C ends it with one line; parts that are done stay, and the same command finishes with them."""
    out = place.folder / "out"
    words = [sys.executable, "-m", "discreet", "reproduce", "lei-table-4", "--data", str(men), "--out", str(out)]
    words += ["--repeats", str(either(8, 100)), "--processes", "2"]
    started = subprocess.Popen(
        words, stderr=subprocess.PIPE, text=True, start_new_session=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    end = time.monotonic() + 120
    while not list(out.glob("parts/*.json")) and time.monotonic() < end:
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGINT)
    told = started.communicate(timeout=60)[1]
    assert "Traceback" not in told
    kept = {path.name: path.stat().st_mtime_ns for path in out.glob("parts/*.json")}
    assert kept
    if started.returncode:  # it was not done before the signal came
        assert "the same command goes on from there" in told
        assert not (out / "lei-table-4.html").exists()
    done = place.run(*words[3:])
    assert done.code == 0, done
    assert {name: (out / "parts" / name).stat().st_mtime_ns for name in kept} == kept
    assert (out / "lei-table-4.html").is_file()
