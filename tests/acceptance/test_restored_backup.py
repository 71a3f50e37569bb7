"""A backup of the ledger is put back: what was charged since is charged again, from a witness or from releases."""

import dataclasses
import json
import shlex
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import discreet
from discreet.errors import VerificationError
from discreet.ledger import Ledger
from tests.acceptance.test_hybrid_command import declared, volunteers


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
    return place


@pytest.fixture
def unwitnessed(restored):
    """The same where nobody knows of a witness."""
    shutil.rmtree(restored.folder / "temporary" / "discreet")
    return restored


PLAN = """
schema: discreet/run@1
target: visits
epsilon: 2
select: {method: pcls, epsilon: 0.5}
fit: {family: linear}
"""


@pytest.fixture
def commands(place):
    """All commands that spend, by name."""
    Path("plan.yaml").write_text(PLAN)
    pq.write_table(volunteers(), "public.parquet")
    Path("public.yaml").write_text(json.dumps(declared("public.parquet")))
    named = {"data": place.data, "metadata": place.metadata, "target": "visits", "epsilon": 1, "ledger": place.ledger}
    options = [word for name, value in named.items() for word in (f"--{name}", value)]
    return {
        "select": ["select", *options],
        "fit": ["fit", *options, "--columns", "age"],
        "hybrid": ["hybrid", *options, "--public", "public.parquet", "--metadata", "public.yaml", "--twins", 0],
        "run": ["run", "plan.yaml", *options[:4], *options[8:]],
    }


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("command", ["select", "fit", "hybrid", "run"])
def test_no_command_spends_from_an_old_copy(restored, commands, command, named):
    """Whether or not the witness is named, and whatever is asked: nothing is charged, and no row was read."""
    before = restored.ledger.read_bytes()
    witness = ("--witness", "ledger.witness") if named else ()
    message = restored.run(*commands[command], *witness).refused(8)
    assert "This ledger is an older copy: spend nothing from it" in message
    assert restored.ledger.read_bytes() == before
    if not named:
        with pytest.raises(VerificationError, match="older copy"):
            discreet.PCLS(epsilon=1.0).fit(
                discreet.open_table(restored.data, discreet.Metadata.read(restored.metadata)),
                target="visits",
                ledger=restored.ledger,
            )


def test_where_nobody_knows_of_the_witness_the_old_copy_spends(unwitnessed, commands):
    """Control: it is the witness that is missed, and nothing else about the copy."""
    assert unwitnessed.run(*commands["select"]).code == 0
    assert unwitnessed.spent() == 1


def test_each_command_writes_to_the_witness_that_is_named(place, commands):
    """And to the one that the ledger records, where none is named; no release is written over it."""
    named = ("--witness", "kept.witness")
    assert place.run("budget", "witness", "kept.witness", "--ledger", place.ledger).code == 0
    assert place.run(*commands["select"], *named).code == 0
    assert place.run(*commands["fit"]).code == 0
    with Ledger(place.ledger) as ledger:
        hashes = {entry.hash for entry in ledger.history()}
    assert {json.loads(line)["hash"] for line in Path("kept.witness").read_text().splitlines()} == hashes
    assert "would replace" in place.run(*commands["fit"], "--out", "kept.witness").refused(2)


def test_a_witness_that_is_missing_stops_every_command(place, commands):
    """With the remedy; a new one of a ledger that is trusted is begun by the command that the message names."""
    assert place.run("budget", "witness", "kept.witness", "--ledger", place.ledger).code == 0
    Path("kept.witness").rename("moved.witness")
    for words in commands.values():
        assert "Put it back, or name where it lies with --witness" in place.run(*words).refused(4)
    assert place.run("budget", "witness", "moved.witness", "--ledger", place.ledger).code == 0
    assert place.run(*commands["select"]).code == 0


@pytest.mark.parametrize("is_named", [False, True])
def test_no_command_spends_while_a_later_witness_is_away(place, commands, is_named):
    """An older copy records the one before: refused with the way out, which the message names and which works."""
    ledger = ("--ledger", place.ledger)
    assert place.run("budget", "witness", "first.witness", *ledger).code == 0
    shutil.copy(place.ledger, "backup.sqlite")
    assert place.run("budget", "witness", "later.witness", *ledger).code == 0
    place.select(out="first.json")
    Path("later.witness").rename("away")
    shutil.copy("backup.sqlite", place.ledger)
    witness = ("--witness", "first.witness") if is_named else ()
    for words in commands.values():
        message = place.run(*words, *witness).refused(4)
        assert f"{Path('later.witness').absolute()}' is not" in message
    assert place.run("budget", "reconcile", "--release", "first.json", *ledger).code == 0
    begin = shlex.split(message.partition("go on without it: ")[2])
    assert place.run(*begin[1:]).code == 0
    assert place.spent() == 1


def test_a_witness_brings_the_charges_back(restored):
    """The old copy is refused, the charges return once, and it verifies from then on."""
    witness = ("--witness", "ledger.witness")
    for words in (("verify", *witness), ("verify",), ("show",), ("history",)):
        refusal = restored.run("budget", *words)
        assert (refusal.code, refusal.out) == (8, "")
    assert f"discreet budget reconcile --witness {Path('ledger.witness').absolute()}`" in refusal.err
    done = restored.run("budget", "reconcile", *witness)
    assert [line.split()[2:7] for line in done.out.splitlines()[:2]] == [
        ["charged", "again", "clinic", "epsilon", "1"],
        ["charged", "again", "clinic", "epsilon", "0.25"],
    ]
    assert restored.spent() == 1.25
    again = restored.run("budget", "reconcile", *witness)
    assert (again.out, again.err) == ("", "Nothing was lost: the ledger holds all of it.\n")
    assert restored.run("budget", "verify", *witness).code == 0


def test_releases_bring_their_charges_back(unwitnessed):
    """Each release shows what it was charged; one that stands already is not charged again."""
    done = unwitnessed.run("budget", "reconcile", "--release", "first.json")
    assert (done.code, done.err, unwitnessed.spent()) == (0, "", 1)
    files = ("--release", "first.json", "--release", "second.json")
    made = json.loads(unwitnessed.run("budget", "reconcile", *files, "--json").out)["entries"]
    assert [(entry["kind"], entry["epsilon"]) for entry in made] == [("reconcile", 0.25)]
    assert made[0]["facts"]["lost_hash"] == json.loads(Path("second.json").read_text())["provenance"]["ledger"]["head"]
    assert unwitnessed.spent() == 1.25
    assert unwitnessed.run("budget", "reconcile", "--witness", "ledger.witness").code == 0
    assert unwitnessed.spent() == 1.25


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


def test_nothing_to_reconcile_from(unwitnessed):
    """Neither file, a file that is missing, and a release that was charged to no ledger."""
    assert "Give --witness or --release" in unwitnessed.run("budget", "reconcile").refused(2)
    assert "The witness must be a file" in unwitnessed.run("budget", "reconcile", "--witness", "no").refused(2)
    assert not Path("no").exists()
    free = json.loads(Path("first.json").read_text())
    free["provenance"]["ledger"] = None
    Path("free.json").write_text(json.dumps(free))
    assert "charged to no ledger" in unwitnessed.run("budget", "reconcile", "--release", "free.json").refused(2)
    assert unwitnessed.spent() == 0
