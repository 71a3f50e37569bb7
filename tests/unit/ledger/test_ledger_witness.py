"""The witness: every entry is in it before its method returns, and an older copy of the ledger is known by it."""

import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetError, InvalidParameterError, VerificationError
from discreet.ledger import Ledger, chain, known_witness
from discreet.ledger.witness import Witness
from discreet.ledger.witnesses import Witnesses


@pytest.fixture
def witness(tmp_path):
    """Where the witness is."""
    return tmp_path / "ledger.witness"


@pytest.fixture
def witnessed(path, witness):
    """A ledger that a witness sees, with a cap of 1."""
    with Ledger(path, witness=witness) as ledger:
        ledger.grant("rand-hie", 1)
        yield ledger


def test_no_file_stays_open(tmp_path):
    """New witnesses, lines and looks at them leave no file of the process open."""
    opened = []
    for number in range(3):
        witness = Witness(tmp_path / f"{number}.witness")
        witness.prepare()
        witness.check()
        assert witness.lines() == []
        opened.append(len(os.listdir("/proc/self/fd")))
    assert len(set(opened)) == 1


def lines_of(witness):
    """Read what a witness holds."""
    return [json.loads(line) for line in witness.read_text().splitlines()]


def test_every_entry_is_seen(witnessed, witness, ask):
    """Each line holds the entry's hash, its amounts in grains and its terms, and only the owner can read it."""
    witnessed.allot("rand-hie", "thesis", "0.5")
    done, back = ask(witnessed, "0.2", project="thesis"), ask(witnessed, "0.1")
    done.touch()
    done.release("text")
    back.cancel()
    found = {line["seq"]: line for line in lines_of(witness)}
    assert {seq: (line["hash"], line["kind"]) for seq, line in found.items()} == {
        entry.seq: (entry.hash, entry.kind) for entry in witnessed.history()
    }
    assert found[3] == {
        "seq": 3,
        "hash": done.head,
        "kind": "reserve",
        "dataset": "rand-hie",
        "project": "thesis",
        "request": witnessed.history()[2].request,
        "unit": "person",
        "neighboring": "replace_one",
        "epsilon": 200_000_000,
        "delta": 0,
        "rho": None,
        "failure": None,
        "charge": done.head,
        "charge_seq": 3,
    }
    assert [found[seq]["charge_seq"] for seq in (1, 2, 5, 6, 7)] == [None, None, 3, 3, 4]
    assert stat.S_IMODE(witness.stat().st_mode) == 0o600
    witnessed.check_witness()


def test_a_line_is_there_before_the_method_returns(witnessed, witness, ask):
    """Also what recover writes, and nothing for what was refused or undone."""
    reservation = ask(witnessed)
    assert lines_of(witness)[-1]["hash"] == witnessed.head
    reservation.touch()
    witnessed.recover(None)
    assert lines_of(witness)[-1] | {"hash": witnessed.head, "kind": "lost"} == lines_of(witness)[-1]
    before = witness.read_bytes()
    with pytest.raises(BudgetError):
        ask(witnessed, 2)
    with pytest.raises(ZeroDivisionError):
        ask(witnessed, within=lambda connection: 1 // 0)
    assert witness.read_bytes() == before


def test_a_witness_that_comes_later_is_told_all(ledger, path, witness, ask):
    """A new file begins with what the ledger holds, when that is asked for; an old one is left as it is."""
    ask(ledger).touch()
    for is_new in (True, False):
        with Ledger(path, witness=witness, new_witness=is_new) as opened:
            opened.check_witness()
        assert [line["seq"] for line in lines_of(witness)] == [1, 2, 3]


def test_a_witness_that_is_missing_is_not_made_anew(witnessed, path, witness, copied, ask):
    """A witness on a disk that is not there would bless any old copy: empty or missing, it is refused each time."""
    backup = copied(path)
    ask(witnessed).touch()
    for empty in (witness.unlink, lambda: witness.write_bytes(b"")):
        empty()
        for place in (path, backup, backup):
            with pytest.raises(BudgetError, match="discreet budget witness"):
                Ledger(place, witness=witness)


def test_a_reservation_that_a_crash_hid_is_told_with_its_step(witnessed, witness, ask, monkeypatch):
    """Whoever takes the next step tells the witness of both."""
    with monkeypatch.context() as crash:
        crash.setattr(Witness, "add", lambda _self, _lines: None)
        entry = ask(witnessed).entry
    assert [line["seq"] for line in lines_of(witness)] == [1]
    witnessed.reservation(entry).touch()
    assert [(line["seq"], line["kind"]) for line in lines_of(witness)] == [(1, "grant"), (2, "reserve"), (3, "touch")]


def test_a_restored_backup_is_refused(witnessed, path, witness, copied, forgotten, ask):
    """The error names the first entry that is missing, and the command that charges again."""
    backup = copied(path)
    ask(witnessed)
    ask(witnessed)
    restored = r"entry 2 is not, of 2 in all\. .*discreet budget reconcile --wit"
    with pytest.raises(VerificationError, match=restored):
        Ledger(backup, witness=witness)
    with Ledger(forgotten(backup)) as blind:
        blind.verify()
        with pytest.raises(VerificationError, match=restored):
            blind.check_witness(witness)


def test_a_copy_that_went_on_is_refused(witnessed, path, witness, copied, forgotten, ask):
    """As many entries as before, or more, do not replace those that are missing."""
    backup = copied(path)
    ask(witnessed)
    with Ledger(forgotten(backup)) as blind:
        for number in range(3):
            ask(blind, question=f"other {number}")
    with pytest.raises(VerificationError, match="entry 2 is not, of 1 in all"):
        Ledger(backup, witness=witness)


def test_a_copy_put_back_is_known_without_its_witness_being_named(witnessed, path, witness, copied, ask):
    """The copy records where its witness lies, whoever opens it, and wherever it was put."""
    backup = copied(path)
    ask(witnessed)
    with pytest.raises(VerificationError, match="an older copy"):
        Ledger(backup)


def test_a_copy_from_before_its_witness_is_known(ledger, path, witness, copied, state, restore, ask):
    """It records no witness; this machine remembers one under its place, and under its first entry."""
    backup, elsewhere = copied(path), copied(path)
    with Ledger(path, witness=witness, new_witness=True) as witnessed:
        ask(witnessed)
    ledger.close()
    restore(path, backup)
    for place in (path, elsewhere):
        with pytest.raises(VerificationError, match="an older copy"):
            Ledger(place)
    shutil.rmtree(state)
    Ledger(path).close()  # control: nothing else knows of it


@pytest.mark.parametrize("path", ["sqlite"], indirect=True)
def test_a_ledger_that_begins_anew_in_its_place_is_refused(witnessed, path, tmp_path):
    """It has no entry to be known by, but its place is, however that is written; elsewhere a new ledger is new."""
    witnessed.close()
    (tmp_path / "link").symlink_to(path)
    path.unlink()
    for place in (path, tmp_path / "link"):
        with pytest.raises(VerificationError, match="entry 1 is not, of 1 in all"):
            Ledger(place)
    Ledger(tmp_path / "elsewhere.sqlite").close()


def test_a_witness_that_was_replaced_since_is_no_way_round(witnessed, path, witness, copied, tmp_path, ask):
    """The copy records a witness that saw no more than it, but this machine remembers the later one."""
    backup = copied(path)
    with Ledger(path, witness=tmp_path / "second.witness", new_witness=True) as later:
        ask(later)
    with pytest.raises(VerificationError, match=r"an older copy.*second\.witness"):
        Ledger(backup)


def test_a_ledger_that_is_replaced_while_it_is_open_spends_nothing(witnessed, path, witness, copied, restore, ask):
    """Inside the transaction that would charge: also for a step of what was reserved, but caps can be set."""
    reservation = ask(witnessed)
    backup = copied(path)
    ask(witnessed).touch()
    restore(path, backup)
    for step in (lambda: ask(witnessed), reservation.touch, reservation.cancel, lambda: witnessed.recover(None)):
        with pytest.raises(VerificationError, match="an older copy"):
            step()
    assert witnessed.grant("rand-hie", 2).epsilon_cap == 2
    assert witnessed.account("rand-hie").epsilon_spent == reservation.account.epsilon_spent


def test_many_lines_are_looked_at(witnessed, path, witness, copied, restore, ask, monkeypatch):
    """More than a look at the end: the ledger is refused however much was written after what it lacks."""
    monkeypatch.setattr("discreet.ledger.witness._NEWEST_BYTES", 900)
    backup = copied(path)
    ask(witnessed)
    restore(path, backup)
    for number in range(3):
        witnessed.grant("rand-hie", 2 + number)
    with pytest.raises(VerificationError, match="entry 2 is not, of 1 in all"):
        Ledger(path)


def test_a_restored_ledger_spends_once_it_is_reconciled(witnessed, path, witness, copied, ask):
    """Opened to be reconciled it charges nothing before, and then all that was lost."""
    backup = copied(path)
    ask(witnessed, "0.2")
    with Ledger(backup, is_restored=True) as ledger:
        with pytest.raises(VerificationError, match="an older copy"):
            ask(ledger)
        ledger.reconcile(ledger.witness)
        assert ask(ledger).account.epsilon_spent == Fraction(3, 10)
    with Ledger(backup) as ledger:
        assert ledger.witness == witness


def test_a_witness_that_began_since_is_kept(path, witness, ask):
    """A ledger that was opened without one does not charge past it."""
    with Ledger(path) as blind:
        blind.grant("rand-hie", 1)
        Ledger(path, witness=witness, new_witness=True).close()
        with pytest.raises(BudgetError, match="began after this ledger was opened"):
            ask(blind)
        assert blind.account("rand-hie").epsilon_spent == 0


def test_a_recorded_witness_that_is_missing_is_refused(witnessed, path, witness, tmp_path, ask):
    """With both remedies: its new place, or a new witness of a ledger that is trusted."""
    ask(witnessed)
    moved = witness.rename(tmp_path / "moved.witness")
    with pytest.raises(
        BudgetError, match=r"Put it back, or name where it lies with --witness.*discreet budget witness"
    ):
        Ledger(path)
    assert not witness.exists()
    with Ledger(path, witness=moved) as named:
        ask(named)
    with pytest.raises(BudgetError, match="discreet budget witness"):
        Ledger(path)
    Ledger(path, witness=moved, new_witness=True).close()
    with Ledger(path) as opened:
        assert opened.witness == moved
        opened.check_witness()
    assert [line["seq"] for line in lines_of(moved)] == [1, 2, 3]


@pytest.fixture
def moved(path, witness, tmp_path, copied, restore, ask):
    """A copy with 1 spent of 3, put back after the witness was moved and saw 2 more; its new disk is not there."""
    with Ledger(path, witness=witness) as ledger:
        ledger.grant("rand-hie", 3)
        ask(ledger, 1).touch()
    backup, later = copied(path), tmp_path / "disk" / "ledger.witness"
    later.parent.mkdir()
    with Ledger(path, witness=later, new_witness=True) as ledger:
        ask(ledger, 2).touch()
    later.parent.rename(tmp_path / "away")
    restore(path, backup)
    return later


def test_an_older_copy_does_not_spend_while_its_later_witness_is_away(moved, path, witness, tmp_path, ask):
    """Nor with the earlier witness or another one named; and nothing is forgotten meanwhile."""
    (tmp_path / "other.witness").write_bytes(witness.read_bytes())
    for named in (None, witness, tmp_path / "other.witness"):
        with pytest.raises(BudgetError, match="within reach") as refusal:
            Ledger(path, witness=named)
        assert str(moved) in str(refusal.value)
        assert "reconcile --release FILE" in str(refusal.value)
    (tmp_path / "away").rename(moved.parent)
    with pytest.raises(VerificationError, match="an older copy"):
        Ledger(path)


def test_what_is_reconciled_goes_on_without_the_witness_that_is_lost(moved, path, witness, ask):
    """Opened to be reconciled it takes no charge; a witness that is begun on purpose takes the place of the others."""
    with Ledger(path, is_restored=True) as ledger:
        ledger.grant("rand-hie", 4)
        with pytest.raises(BudgetError, match="within reach"):
            ask(ledger)
    Ledger(path, witness=witness, new_witness=True).close()
    with Ledger(path) as ledger:
        assert ask(ledger).account.epsilon_spent == Fraction("1.1")


@pytest.fixture
def note_of_the_last(monkeypatch):
    """For controls: a note holds the witness of whoever opened the ledger last, as if it alone had seen all."""
    remember = known_witness.remember
    return lambda: monkeypatch.setattr(known_witness, "remember", lambda *args, alone: remember(*args, alone=True))


def test_where_what_is_out_of_reach_is_passed_over_an_older_copy_spends(
    moved, note_of_the_last, path, tmp_path, witness, monkeypatch, ask
):
    """Control: 4.5 are spent under a cap of 3, and the later witness is forgotten for good."""
    note_of_the_last()
    monkeypatch.setattr(Witnesses, "_refuse_missing", lambda *_: None)
    with Ledger(path) as ledger:
        ask(ledger, 1.5).touch()  # another cost than was lost: the same in the same second would be one entry
    (tmp_path / "away").rename(moved.parent)
    Ledger(path).close()
    charges = {line["hash"]: line for file in (moved, witness) for line in lines_of(file) if line["kind"] == "reserve"}
    assert sum(line["epsilon"] for line in charges.values()) == 45 * 10**8


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_a_witness_that_was_named_once_is_remembered(
    witnessed, note_of_the_last, path, witness, copied, restore, tmp_path, ask, is_forgotten
):
    """What it alone saw is missed, although the ledger records another; control: a note of the last one forgets it."""
    second, backup = tmp_path / "second.witness", copied(path)
    second.write_bytes(witness.read_bytes())
    witnessed.close()
    if is_forgotten:
        note_of_the_last()
    with Ledger(path, witness=second) as ledger:
        ask(ledger)
    Ledger(path).close()
    restore(path, backup)
    if is_forgotten:
        with Ledger(path) as older:
            ask(older)
    else:
        with pytest.raises(VerificationError, match=r"an older copy.*second\.witness"):
            Ledger(path)


def test_a_witness_that_is_moved_stops_what_is_open(witnessed, path, tmp_path, ask):
    """Whoever opened the ledger before would write to the witness that no longer counts."""
    Ledger(path, witness=tmp_path / "second.witness", new_witness=True).close()
    with pytest.raises(BudgetError, match=r"second\.witness' began after this ledger was opened"):
        ask(witnessed)


@pytest.mark.parametrize("is_default", [True, False])
def test_a_ledger_has_the_witness_of_the_environment(path, witness, monkeypatch, copied, state, ask, is_default):
    """Whether or not the ledger is named; an older copy is refused by it where nothing else knows."""
    before, location = copied(path), None if is_default else path
    monkeypatch.setenv("DISCREET_WITNESS", str(witness))
    monkeypatch.setenv("DISCREET_LEDGER", str(path))
    with Ledger(location, is_restored=True) as ledger:
        ledger.grant("rand-hie", 1)
    with Ledger(location) as ledger:
        ask(ledger)
    assert [line["seq"] for line in lines_of(witness)] == [1, 2]
    shutil.rmtree(state)
    with pytest.raises(VerificationError, match="another ledger's, name this one's with --witness"):
        Ledger(before)
    monkeypatch.delenv("DISCREET_WITNESS")
    Ledger(before).close()  # control: it was the environment that knew


def test_a_witness_of_the_environment_can_be_begun(ledger, path, witness, monkeypatch, ask):
    """The ledger has entries, so it is refused at first; opened to be looked at, it takes no charge meanwhile."""
    monkeypatch.setenv("DISCREET_WITNESS", str(witness))
    with pytest.raises(BudgetError, match="discreet budget witness"):
        Ledger(path)
    with Ledger(path, is_restored=True) as restored, pytest.raises(BudgetError, match="within reach"):
        ask(restored)
    Ledger(path, witness=witness, new_witness=True).close()
    with Ledger(path) as opened:
        ask(opened)


def test_a_state_folder_that_cannot_be_written_is_no_matter(path, witness, state, ask):
    """The ledger itself knows."""
    state.write_text("a file")
    with Ledger(path, witness=witness) as ledger:
        ledger.grant("rand-hie", 1)
    with Ledger(path) as ledger:
        assert ledger.witness == witness


def test_without_a_witness_there_is_nothing_to_check(ledger):
    """A ledger that has none says nothing."""
    ledger.check_witness()


@pytest.mark.parametrize("cut", [1, 9, 60, -2])
def test_a_torn_line_is_skipped(witnessed, path, witness, ask, cut):
    """What a crash cut off belongs to a method that never returned; what follows is whole."""
    whole = witness.read_text()
    line = whole.splitlines()[0]
    witness.write_text(whole + line[:cut])
    witnessed.check_witness()
    ask(witnessed)
    assert witness.read_text().startswith(f"{whole}{line[:cut]}\n{{")
    witnessed.check_witness()
    with Ledger(path) as other:
        assert other.reconcile(witness) == []


def test_a_line_of_zeros_is_skipped(witnessed, witness, ask):
    """A disk may hold the length of what it never wrote."""
    with witness.open("ab") as file:
        file.write(b"\0" * 20)
    ask(witnessed)
    witnessed.check_witness()


def test_a_line_that_lost_its_end_alone_is_whole(witnessed, witness, ask):
    """Only its newline was cut off."""
    witness.write_text(witness.read_text().rstrip("\n"))
    ask(witnessed)
    assert [line["seq"] for line in lines_of(witness)] == [1, 2]


@pytest.mark.parametrize("line", ["{}", "[1]}", '{"seq": 1}', "a,b}", '{"seq": "1"}', '{"hash": null, "seq": 1.5}'])
def test_a_damaged_line_is_refused(witnessed, witness, line):
    """A whole line that no ledger wrote is not passed over."""
    witness.write_text(witness.read_text() + line + "\n")
    with pytest.raises(VerificationError, match=r"line 2 of .* is not"):
        witnessed.check_witness()


def test_a_file_that_is_none_is_refused(witnessed, tmp_path):
    """What cannot be read has a message of its own."""
    with pytest.raises(InvalidParameterError, match=r"witness file .* cannot be read"):
        witnessed.check_witness(tmp_path / "none")
    (tmp_path / "picture").write_bytes(b"\x89PNG\xff")
    with pytest.raises(InvalidParameterError, match="is not UTF-8 text, so it is not a witness file"):
        witnessed.check_witness(tmp_path / "picture")


def test_where_no_witness_can_be_nothing_is_opened(path, tmp_path):
    """A folder, a device and a folder that is missing."""
    for place in (tmp_path, "/dev/null", tmp_path / "no" / "w", "a\0b"):
        with pytest.raises(BudgetError, match="The ledger's witness must be writable"):
            Ledger(path, witness=place)


def test_without_its_witness_nothing_is_charged(witnessed, witness, ask):
    """A file that is gone or protected stops every step before the ledger is asked."""
    reservation = ask(witnessed)
    head = witnessed.head
    witness.unlink()
    for step in (
        lambda: ask(witnessed),
        reservation.touch,
        lambda: witnessed.grant("rand-hie", 2),
        lambda: witnessed.recover(None),
    ):
        with pytest.raises(BudgetError, match="Nothing is computed without it"):
            step()
    assert witnessed.head == head
    assert not witness.exists()


def test_a_witness_that_is_emptied_stops_what_is_open(witnessed, witness, ask):
    """Whatever is written to it next would look like a whole witness."""
    reservation = ask(witnessed)
    witness.write_bytes(b"")
    for step in (lambda: ask(witnessed), reservation.touch):
        with pytest.raises(BudgetError, match="is empty or was not there"):
            step()
    assert witnessed.history()[-1].kind == "reserve"


def test_a_full_disk_stops_before_a_row_is_read(witnessed, witness, ask, monkeypatch):
    """The charge stands, the method raises, and the next line is whole."""
    monkeypatch.setattr(os, "write", lambda handle, data: len(data) // 2)
    with pytest.raises(BudgetError, match="no space left"):
        ask(witnessed)
    monkeypatch.undo()
    assert witnessed.account("rand-hie").epsilon_spent > 0
    witnessed.reservation(2).touch()
    assert [line["seq"] for line in lines_of(witness)] == [1, 2, 3]


@pytest.mark.processes
def test_many_write_one_witness(path, witness, ask):
    """Threads with ledgers of their own leave whole lines, one for each entry."""

    def run():
        with Ledger(path, witness=witness) as ledger:
            for _ in range(5):
                ask(ledger, "0.001")

    with Ledger(path, witness=witness) as ledger:
        ledger.grant("rand-hie", 1)
        workers = [threading.Thread(target=run) for _ in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert sorted(line["hash"] for line in lines_of(witness)) == sorted(e.hash for e in ledger.history())


@pytest.mark.processes
@pytest.mark.parametrize("wait", [0, 3, 8])
def test_killed_from_outside(witnessed, path, witness, ask, wait):
    """Whatever a killed process had said is in its witness, which goes on."""
    command = [sys.executable, __file__, str(path), witness]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said = [process.stdout.readline().strip() for _ in range(3 + wait)]
        process.kill()
        said += process.stdout.read().split()
    witnessed.check_witness()
    ask(witnessed, "0.0001")
    witnessed.check_witness()
    known = {json.loads(line)["hash"] for line in witness.read_text().splitlines() if line.endswith("}")}
    assert set(said) <= known


def reserve_until_killed(place, witness):
    """Reserve, and say so, again and again."""
    ledger, relation = (
        Ledger(place if "://" in place else Path(place), witness=witness),
        NeighboringRelation.REPLACE_ONE,
    )
    while True:
        reservation = ledger.reserve(
            request="a" * 64,
            dataset="rand-hie",
            unit="person",
            neighboring=relation,
            guarantee=Guarantee(Fraction(1, 10**4), Fraction(0), relation),
            facts={},
        )
        print(reservation.head, flush=True)


if __name__ == "__main__":
    reserve_until_killed(*sys.argv[1:])


def test_two_ledgers_that_begin_alike_are_not_taken_for_copies(tmp_path, monkeypatch):
    """Of one cap, in one second: what one's witness saw is not missed in the other. Control: no token tells them."""
    monkeypatch.setattr(chain, "time_text", lambda *_: "2026-01-01T00:00:00Z")
    begin_alike(tmp_path, "own")
    Ledger(tmp_path / "own second.sqlite").close()
    monkeypatch.setattr(chain, "token", lambda: "same")
    begin_alike(tmp_path, "same")
    with pytest.raises(VerificationError, match="older copy"):
        Ledger(tmp_path / "same second.sqlite")


def begin_alike(folder, kind):
    for name, caps in (("first", (1, 2)), ("second", (1,))):
        with Ledger(folder / f"{kind} {name}.sqlite", witness=folder / f"{kind} {name}.witness") as ledger:
            for cap in caps:
                ledger.grant("toy", cap)
        if name == "first":
            Ledger(folder / f"{kind} {name}.sqlite").close()  # remembered by its first entry
