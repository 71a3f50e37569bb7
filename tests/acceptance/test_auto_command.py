"""`discreet select --method auto`: what may be supposed, what the release tells of it, and what is refused."""

import hashlib
import json
import re
from pathlib import Path

import pyarrow.csv
import pytest

from discreet.simulation import choice
from tests.acceptance.conftest import people

AUTO = {"method": "auto", "candidates": "age,income"}


@pytest.fixture(autouse=True)
def few_tables(monkeypatch):
    """A quick plan: what it chooses does not matter here."""
    monkeypatch.setattr(choice, "ROUNDS", ((4, 2), (4, 1)))
    monkeypatch.setattr("discreet.workflow.auto._KNOWN", {})


def chosen(done, path="first.json"):
    assert done.code == 0, done
    return json.loads(Path(path).read_text())["request"]["chosen"]


def public(place, n_rows=300):
    """Records of other people, and metadata that declare them public."""
    path = place.folder / "census.csv"
    pyarrow.csv.write_csv(people(n_rows).slice(60), path)
    declared = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "source": "test"}
    return path, place.write_metadata(public=declared)


def test_what_is_supposed_stands_in_the_release(place):
    """The same options as of a plan; without them nothing is recorded."""
    effects = ("--effect", "age=4", "--effect", "income=-2")
    words = (*effects, "--noise-sd", 3, "--correlation", "0,0.9", "--times", "0.5,1")
    found = chosen(place.select(*words, **AUTO, out="first.json"))
    assert found["supposed"] == {
        "effects": {"age": 4.0, "income": -2.0},
        "noise_sd": 3.0,
        "correlation": [0.0, 0.9],
        "times": [0.5, 1.0],
    }
    assert "supposed" not in chosen(place.select("--fresh", **AUTO, out="second.json"), "second.json")
    counted = place.select("--fresh", "--n-true", 1, "--r-squared", "0.3", **AUTO, out="third.json")
    assert chosen(counted, "third.json")["supposed"] == {"n_true": 1, "r_squared": [0.3]}


def test_the_reason_is_told_before_the_charge_and_stands_in_release_and_report(place):
    """One sentence with the overlap that was found, in the dry run, the release and the report alike."""
    before = place.select("--dry-run", **AUTO)
    reason = chosen(place.select(**AUTO, out="first.json"))["reason"]
    assert "overlapped with the right ones by" in reason
    assert reason in before.err
    assert place.spent() > 0
    report = place.run("report", "first.json", "--format", "markdown")
    assert reason in " ".join(report.out.replace("\\", "").split())


def test_a_public_table_must_be_declared(place):
    """Where a ledger is charged the metadata say which file is public; the release tells its digest."""
    path, metadata = public(place)
    found = chosen(place.select("--like", path, **AUTO, metadata=metadata, out="first.json"))
    assert found["supposed"]["like"] == {
        "name": "census.csv",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "n_records": 240,
        "n_dropped": 0,
    }
    spent = place.spent()
    assert "Declare `public:" in place.select("--like", path, **AUTO).refused(3)
    for data in (place.data, None):  # a dry run needs no data, and the plan alone would tell what is in the table
        line = place.select("--like", place.folder / "people.csv", "--dry-run", **AUTO, data=data).refused(3)
        assert "Declare `public:" in line
    path.write_text(path.read_text() + "50,1.0,north,3\n")
    assert "sha256" in place.select("--like", path, **AUTO, metadata=metadata).refused(3)
    assert place.spent() == spent


def test_the_private_table_is_no_public_one(place):
    """Given as both, it is refused before anything is charged."""
    declared = {"sha256": hashlib.sha256(place.data.read_bytes()).hexdigest(), "source": "test"}
    metadata = place.write_metadata(public=declared)
    assert "must be two" in place.select("--like", place.data, **AUTO, metadata=metadata).refused(9)
    assert place.spent() == 0


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--correlation", "0.5", "--method", "pcls"), "for the method auto, but correlation"),
        (("--like", "people.csv"), "for the method auto, but like"),
        (("--effect", "age=1", "--n-true", "1", "--method", "auto"), "Leave out --n-true"),
        (("--effect", "height=1", "--method", "auto"), "height"),
        (("--times", "x", "--method", "auto"), "--times must be numbers"),
        (("--l1-radius", "2", "--method", "auto"), "Leave that out, or name a method"),
        (("--epsilon", "0", "--method", "auto"), "epsilon must"),
        (("--delta", "1", "--method", "auto"), "delta must"),
    ],
    ids=str,
)
def test_refused(place, words, hint):
    """Suppositions of a method that needs none, contradictions, and numbers out of range; nothing is charged."""
    assert re.search(hint, place.select(*words, candidates="age,income").refused(2))
    assert place.spent() == 0


def test_a_private_number_of_rows_needs_a_guess(place):
    """Told how to give one."""
    other = place.write_metadata(neighboring="add_or_remove_one", n_rows=None)
    assert "Give n0" in place.select(**AUTO, metadata=other).refused(2)
    done = place.select("--set", "n0=300", **AUTO, metadata=other, out="first.json")
    assert chosen(done)["by"] == "plan"
