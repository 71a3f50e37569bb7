"""A backup of the ledger is put back: what was charged since is charged again, from a witness or from releases."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from discreet.ledger import Ledger


@pytest.fixture
def restored(place, monkeypatch):
    """A place whose ledger is older than two releases that it made; the witness saw them."""
    monkeypatch.setenv("DISCREET_LEDGER", str(place.ledger))
    shutil.copy(place.ledger, "backup.sqlite")
    place.select(out="first.json")
    place.select(out="second.json", epsilon="0.25", method="pcls")
    assert place.run("budget", "witness", "ledger.witness").code == 0
    assert place.spent() == 1.25
    shutil.copy("backup.sqlite", place.ledger)
    assert place.spent() == 0
    return place


def test_a_witness_brings_the_charges_back(restored):
    """The old copy is refused, the charges return once, and it verifies from then on."""
    witness = ("--witness", "ledger.witness")
    assert restored.run("budget", "verify").code == 0
    told = restored.run("budget", "verify", *witness)
    assert (told.code, told.out) == (8, "")
    assert f"discreet budget reconcile --witness {Path('ledger.witness').absolute()}`" in told.err
    done = restored.run("budget", "reconcile", *witness)
    assert [line.split()[2:6] for line in done.out.splitlines()[:2]] == [
        ["reconcile", "clinic", "epsilon", "1"],
        ["reconcile", "clinic", "epsilon", "0.25"],
    ]
    assert restored.spent() == 1.25
    again = restored.run("budget", "reconcile", *witness)
    assert (again.out, again.err) == ("", "Nothing was lost: the ledger holds all of it.\n")
    assert restored.run("budget", "verify", *witness).code == 0


def test_releases_bring_their_charges_back(restored):
    """Each release shows what it was charged; one that stands already is not charged again."""
    done = restored.run("budget", "reconcile", "--release", "first.json")
    assert (done.code, done.err, restored.spent()) == (0, "", 1)
    files = ("--release", "first.json", "--release", "second.json")
    made = json.loads(restored.run("budget", "reconcile", *files, "--json").out)["entries"]
    assert [(entry["kind"], entry["epsilon"]) for entry in made] == [("reconcile", 0.25)]
    assert made[0]["facts"]["lost_hash"] == json.loads(Path("second.json").read_text())["provenance"]["ledger"]["head"]
    assert restored.spent() == 1.25
    assert restored.run("budget", "reconcile", "--witness", "ledger.witness").code == 0
    assert restored.spent() == 1.25


def test_a_release_whose_charge_came_back_cannot_be_compared(restored):
    """Its text was lost with the ledger: the refusal says so, and is another one before its charge came back."""
    before = restored.run("budget", "verify", "first.json").refused(8)
    assert restored.run("budget", "reconcile", "--release", "first.json", "--release", "second.json").code == 0
    after = restored.run("budget", "verify", "first.json").refused(8)
    assert "made again by `discreet budget reconcile`" in after
    assert "made again" not in before


def test_releases_under_zcdp_bring_their_rho_back(place, monkeypatch):
    """With the failures of their bounds."""
    monkeypatch.setenv("DISCREET_LEDGER", str(place.ledger))
    place.run("budget", "grant", "clinic", "--epsilon", "10", "--delta", "1e-5", "--accounting", "zcdp")
    shutil.copy(place.ledger, "backup.sqlite")
    place.select(out="first.json", method="pcpl", delta="1e-7")
    before = _account(place)
    shutil.copy("backup.sqlite", place.ledger)
    place.run("budget", "reconcile", "--release", "first.json")
    assert before == _account(place)
    assert before.failure_spent > 0


def _account(place):
    """Read the account; releases themselves do not come back."""
    with Ledger(place.ledger) as ledger:
        ledger.verify()
        return dataclasses.replace(ledger.account("clinic"), n_releases=0)


def test_a_cap_that_was_set_since_is_told(place, monkeypatch):
    """It stays as in the backup, as caps are the owner's."""
    monkeypatch.setenv("DISCREET_LEDGER", str(place.ledger))
    shutil.copy(place.ledger, "backup.sqlite")
    place.run("budget", "grant", "clinic", "--epsilon", "2")
    assert place.run("budget", "witness", "ledger.witness").code == 0
    shutil.copy("backup.sqlite", place.ledger)
    done = place.run("budget", "reconcile", "--witness", "ledger.witness")
    assert done.err == "clinic: its cap or an allotment was set since. It is as in the backup; set it again.\n"


def test_nothing_to_reconcile_from(restored):
    """Neither file, a file that is missing, and a release that was charged to no ledger."""
    assert "Give --witness or --release" in restored.run("budget", "reconcile").refused(2)
    assert "The witness must be a file" in restored.run("budget", "reconcile", "--witness", "no").refused(2)
    assert not Path("no").exists()
    free = json.loads(Path("first.json").read_text())
    free["provenance"]["ledger"] = None
    Path("free.json").write_text(json.dumps(free))
    assert "charged to no ledger" in restored.run("budget", "reconcile", "--release", "free.json").refused(2)
    assert restored.spent() == 0
