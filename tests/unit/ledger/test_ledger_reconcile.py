"""After a backup was put back, what was charged since is charged again, once, and nothing else."""

import json
from fractions import Fraction
from types import SimpleNamespace

import pytest

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import SelectionEvent
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetError, InvalidParameterError, VerificationError
from discreet.ledger import Ledger
from discreet.ledger.charges import charge_of

TENTH = Fraction(1, 10)
RELATION = NeighboringRelation.REPLACE_ONE


class Restored:
    """A ledger with a witness, and the copy of it that will be put back."""

    def __init__(self, path, copied, witness):
        self.path, self.witness = path, witness
        self._copied = copied
        self.lost = self.copy = None

    def backup(self):
        """Copy the ledger as it is now."""
        self.copy = self._copied(self.path)

    def open(self):
        """Open what was put back."""
        return Ledger(self.copy, witness=self.witness, is_restored=True)


@pytest.fixture
def case(path, copied, tmp_path):
    """A ledger with a cap of 1 and an allotment of 0.5."""
    found = Restored(path, copied, tmp_path / "ledger.witness")
    with Ledger(path, witness=found.witness) as found.lost:
        found.lost.grant("rand-hie", 1)
        found.lost.allot("rand-hie", "thesis", "0.5")
        yield found


def released(reservation):
    """Take a reservation to its end."""
    reservation.touch()
    reservation.release("text")


def spent(ledger):
    """What is charged, to the data set and to the project."""
    return ledger.account("rand-hie").epsilon_spent, ledger.allotments("rand-hie")[0].epsilon_spent


def test_what_was_charged_since_is_charged_again(case, ask):
    """Released, lost and open charges return, also to the project; afterwards the witness has no more to say."""
    before = ask(case.lost, "0.1")
    case.backup()
    released(ask(case.lost, "0.2", project="thesis", question=1))
    open_ = ask(case.lost, "0.3", question=2)
    with case.open() as ledger:
        made = ledger.reconcile(case.witness)
        assert [(entry.kind, entry.project, entry.epsilon) for entry in made[:2]] == [
            ("reconcile", "thesis", Fraction(1, 5)),
            ("reconcile", None, Fraction(3, 10)),
        ]
        assert made[1].facts == {"lost_seq": open_.entry, "lost_hash": open_.head}
        assert spent(ledger) == spent(case.lost) == (TENTH * 6, TENTH * 2)
        assert ledger.state(before.entry) == "reserved"
        ledger.check_witness()
        ledger.verify([open_.head, before.head])


def test_twice_is_once(case, ask):
    """The second time nothing is lost any more."""
    case.backup()
    released(ask(case.lost, "0.2"))
    with case.open() as ledger:
        assert len(ledger.reconcile(case.witness)) == 2
        head = ledger.head
        assert ledger.reconcile(case.witness) == []
        assert (ledger.head, spent(ledger)[0]) == (head, TENTH * 2)


def test_nothing_lost_is_nothing_made(case, ask):
    """A ledger that is the newest stays as it is."""
    released(ask(case.lost))
    head = case.lost.head
    assert case.lost.reconcile(case.witness) == []
    assert case.lost.head == head


def test_what_was_given_back_is_not_charged(case, ask):
    """No row had been read."""
    case.backup()
    ask(case.lost, "0.2").cancel()
    with case.open() as ledger:
        (named,) = ledger.reconcile(case.witness)
        assert (named.request, named.epsilon) == (None, 0)
        assert [lost["kind"] for lost in named.facts["lost"]] == ["reserve", "cancel"]
        assert spent(ledger)[0] == 0
        ledger.check_witness()
        ledger.verify()


def test_a_reservation_that_was_touched_since_cannot_be_given_back(case, ask):
    """It stands in the copy as reserved; its rows were read all the same."""
    touched, idle = ask(case.lost, "0.2"), ask(case.lost, "0.1")
    case.backup()
    released(touched)
    with case.open() as ledger:
        ledger.reconcile(case.witness)
        assert (ledger.state(touched.entry), ledger.state(idle.entry)) == ("touched", "reserved")
        with pytest.raises(BudgetError, match="must follow"):
            ledger.reservation(touched.entry).cancel()
        ledger.reservation(idle.entry).cancel()
        assert ledger.recover(None) == [touched.entry]
        assert spent(ledger)[0] == TENTH * 2
        ledger.verify()


def test_a_reservation_that_the_copy_gave_back_is_charged_again(case, forgotten, ask):
    """Its rows had been read before the copy was put back and went on."""
    touched = ask(case.lost, "0.2")
    case.backup()
    touched.touch()
    with Ledger(forgotten(case.copy)) as blind:
        blind.reservation(touched.entry).cancel()
    with case.open() as ledger:
        assert spent(ledger)[0] == 0
        (again, _) = ledger.reconcile(case.witness)
        assert (again.facts["lost_hash"], spent(ledger)[0]) == (touched.head, TENTH * 2)
        assert ledger.reconcile(case.witness) == []
        ledger.check_witness()
        ledger.verify()


def test_what_the_copy_gave_back_unread_stays_given_back(case, ask):
    """Its witness need not have seen that, as long as it saw no touch."""
    reservation = ask(case.lost, "0.2")
    case.backup()
    with Ledger(case.copy) as blind:
        blind.reservation(reservation.entry).cancel()
    with case.open() as ledger:
        assert ledger.reconcile(case.witness) == []
        assert spent(ledger)[0] == 0


def test_a_reconciled_charge_is_remembered_as_one(case, ask, tmp_path):
    """Another witness that saw nothing but the reconciling brings the charge back, under its first name."""
    case.backup()
    reservation = ask(case.lost, "0.2")
    second, other = case._copied(case.copy), tmp_path / "other.witness"
    with Ledger(case.copy, witness=other, new_witness=True, is_restored=True) as ledger:
        ledger.reconcile(case.witness)
    with Ledger(second, witness=other, is_restored=True) as ledger:
        again = ledger.reconcile(other)[0]
        assert again.facts == {"lost_seq": reservation.entry, "lost_hash": reservation.head}
        assert spent(ledger)[0] == TENTH * 2
        for witness in (other, case.witness):
            ledger.reconcile(witness)
            ledger.check_witness(witness)
        assert spent(ledger)[0] == TENTH * 2


def test_a_second_loss(case, ask):
    """What a reconciled copy forgets again is charged again, once."""
    case.backup()
    released(ask(case.lost, "0.2"))
    second = case._copied(case.copy)
    with case.open() as ledger:
        ledger.reconcile(case.witness)
        ask(ledger, "0.1", question="later")
    with Ledger(second, witness=case.witness, is_restored=True) as ledger:
        ledger.reconcile(case.witness)
        assert spent(ledger)[0] == TENTH * 3
        assert ledger.reconcile(case.witness) == []
        ledger.check_witness()
        ledger.verify()


def test_the_cap_must_hold_what_was_lost(case, ask):
    """Refused whole, with the cap that the witness saw last; after it all is charged."""
    case.backup()
    case.lost.grant("rand-hie", 3, "1e-6")
    for number in range(2):
        ask(case.lost, "0.8", question=number)
    with case.open() as ledger:
        with pytest.raises(
            BudgetError, match=r"epsilon 1\.6 is requested, and 1 of 1 is left\. Nothing .*reconcile"
        ) as told:
            ledger.reconcile(case.witness)
        assert "discreet budget grant rand-hie --epsilon 3 --delta 0.000001 --accounting basic" in str(told.value)
        assert spent(ledger)[0] == 0
        ledger.grant("rand-hie", 3, "1e-6")
        ledger.reconcile(case.witness)
        assert spent(ledger)[0] == TENTH * 16


def test_what_the_copy_spent_needs_room_too(case, forgotten, ask):
    """Then the least cap that holds both is named."""
    case.backup()
    ask(case.lost, "0.8")
    with Ledger(forgotten(case.copy)) as blind:
        ask(blind, "0.5", question="meanwhile")
    with case.open() as ledger:
        with pytest.raises(BudgetError, match=r"0\.8 is requested, and 0\.5 of 1 is left.* rand-hie --epsilon 1\.3 "):
            ledger.reconcile(case.witness)
        ledger.grant("rand-hie", "1.3")
        ledger.reconcile(case.witness)
        assert ledger.account("rand-hie").epsilon_left == 0


def test_a_data_set_and_a_project_that_are_gone(case, ask):
    """Both are named in turn; what is lost of them stays lost until they are there."""
    case.backup()
    case.lost.grant("toy", 2)
    case.lost.allot("toy", "survey", 1)
    ask(case.lost, "0.4", dataset="toy", project="survey")
    with case.open() as ledger:
        with pytest.raises(
            BudgetError, match=r"lifetime cap of data set 'toy', but there is none.* grant toy --epsilon 2 "
        ):
            ledger.reconcile(case.witness)
        ledger.grant("toy", 2)
        with pytest.raises(
            BudgetError, match=r"project 'survey' of data set 'toy', but there is none.*allot toy survey"
        ):
            ledger.reconcile(case.witness)
        ledger.allot("toy", "survey", 1)
        ledger.reconcile(case.witness)
        assert ledger.allotments("toy")[0].epsilon_spent == ledger.account("toy").epsilon_spent == TENTH * 4
        ledger.check_witness()


def test_a_cap_alone_is_named(case):
    """Nothing was spent of a data set that the copy does not know; that it was there is in the chain."""
    case.backup()
    case.lost.grant("toy", 2)
    with case.open() as ledger:
        (named,) = ledger.reconcile(case.witness)
        assert (named.dataset, [lost["kind"] for lost in named.facts["lost"]]) == ("toy", ["grant"])
        assert [account.dataset for account in ledger.accounts()] == ["rand-hie"]
        ledger.check_witness()
        ledger.verify()


def test_another_unit_is_refused(case, forgotten, ask):
    """The copy was spent from under another unit: the two do not add."""
    case.backup()
    ask(case.lost, "0.1")
    with Ledger(forgotten(case.copy)) as blind:
        ask(blind, "0.1", unit="household")
    with case.open() as ledger:
        with pytest.raises(BudgetError, match="do not add"):
            ledger.reconcile(case.witness)
        assert spent(ledger)[0] == TENTH


def test_rho_is_charged_again(case, ask):
    """Under zcdp what adds up is what returns; an account kept otherwise is refused."""
    case.backup()
    case.lost.grant("rand-hie", 1, "1e-6", accounting="zcdp")
    event = SelectionEvent(TENTH, "gumbel")
    asked = {"event": event, "guarantee": guarantee_of(event, NeighboringRelation.REPLACE_ONE)}
    ask(case.lost, **asked).touch()
    with case.open() as ledger:
        with pytest.raises(BudgetError, match=r"kept in basic, and what was lost in zcdp.*--accounting zcdp"):
            ledger.reconcile(case.witness)
        ledger.grant("rand-hie", "0.1", "1e-6", accounting="zcdp")
        with pytest.raises(BudgetError, match=r"but rho 0\.00125 is requested, .* --epsilon 1 --delta 0\.000001 --acc"):
            ledger.reconcile(case.witness)
        ledger.grant("rand-hie", 1, "1e-6", accounting="zcdp")
        ledger.reconcile(case.witness)
        assert ledger.account("rand-hie") == case.lost.account("rand-hie")
        ledger.verify()


def test_a_step_without_its_charge_is_refused(case, ask):
    """A witness that somebody cut does not make a charge look like one that never was."""
    case.backup()
    reservation = ask(case.lost)
    reservation.touch()
    lines = [json.loads(line) for line in case.witness.read_text().splitlines()]
    kept = [json.dumps(line) for line in lines if line["kind"] != "reserve"]
    case.witness.write_text("\n".join(kept) + "\n")
    with case.open() as ledger, pytest.raises(VerificationError, match=f"not {reservation.head}"):
        ledger.reconcile(case.witness)


def test_the_entries_are_seen_as_well(case, ask):
    """The witness sees what reconciling writes."""
    case.backup()
    ask(case.lost)
    with case.open() as ledger:
        made = ledger.reconcile(case.witness)
    known = {json.loads(line)["hash"] for line in case.witness.read_text().splitlines()}
    assert {entry.hash for entry in made} <= known


@pytest.mark.parametrize(
    ("seq", "changes", "text"),
    [
        (4, {"epsilon": 1}, "entry 4 charges without a request"),
        (3, {"facts": "{}"}, "another type than is written"),
        (3, {"epsilon": 1}, "differs from its entries in epsilon_spent"),
        (3, {"rho": 1, "failure": 0}, "entry 3 adds up another amount"),
        (3, {"epsilon": 2 * 10**9}, "entry 3 spends more than the cap"),
    ],
)
def test_forgeries_with_fitting_hashes_are_found(case, rewrite, ask, seq, changes, text):
    """A reconciled charge adds up as any other."""
    case.backup()
    ask(case.lost, "0.2").touch()
    with case.open() as ledger:
        ledger.reconcile(case.witness)
        rewrite(case.copy, seq, **changes)
        with pytest.raises(VerificationError, match=text):
            ledger.verify()


def test_a_file_that_is_missing_is_refused(ledger, tmp_path):
    """The path is named."""
    with pytest.raises(InvalidParameterError, match=r"witness file .* cannot be read"):
        ledger.reconcile(tmp_path / "none")


def shown(reservation, epsilon, dataset="rand-hie", rho=None, event=None, delta=0.0):
    """What a release tells of its charge."""
    ledger = SimpleNamespace(entry=reservation.entry, head=reservation.head, rho=rho)
    provenance = SimpleNamespace(ledger=ledger, dataset=dataset, request_sha256="0" * 64)
    guarantee = SimpleNamespace(epsilon=epsilon, delta=delta, unit="person", neighboring=RELATION)
    return SimpleNamespace(provenance=provenance, guarantee=guarantee, event=event)


def test_a_release_tells_its_charge():
    """In grains, rounded up; of rho and failures only where rho adds up, failures of all parts together."""
    place = SimpleNamespace(entry=7, head="ab")
    plain = charge_of(shown(place, 0.1, delta=1e-6))
    assert (plain.seq, plain.hash, plain.is_touched, plain.is_cancelled) == (7, "ab", True, False)
    assert plain.values == {
        "dataset": "rand-hie",
        "project": None,
        "request": "0" * 64,
        "unit": "person",
        "neighboring": "replace_one",
        "epsilon": 10**8,
        "delta": 10**12,
        "rho": None,
        "failure": None,
    }
    inner = {"type": "ComposedEvent", "events": [{"type": "FailureEvent", "delta": 1e-8}, {"type": "LaplaceEvent"}]}
    event = {"type": "ComposedEvent", "events": [inner, {"type": "FailureEvent", "delta": 2e-8}]}
    found = charge_of(shown(place, Fraction(1, 3), rho=Fraction(1, 7), event=event)).values
    assert (found["epsilon"], found["rho"], found["failure"]) == (333_333_334, 142_857_142_858, 3 * 10**10)
    assert charge_of(shown(place, 1, rho=Fraction(1, 2))).values["failure"] == 0
    for part in ("guarantee", "provenance"):
        release = shown(place, 1)
        setattr(release, part, None if part == "guarantee" else SimpleNamespace(ledger=None))
        with pytest.raises(InvalidParameterError, match="charged to no ledger"):
            charge_of(release)


def test_what_a_release_shows_was_read(case, forgotten, ask):
    """Without a witness: a charge that is gone or was given back is made again, an open one cannot be given back."""
    open_, given_back = ask(case.lost, "0.1", question=1), ask(case.lost, "0.2", question=2)
    case.backup()
    gone = ask(case.lost, "0.3", question=3)
    releases = [shown(open_, "0.1"), shown(given_back, "0.2"), shown(gone, "0.3")]
    with Ledger(forgotten(case.copy)) as ledger:
        ledger.reservation(given_back.entry).cancel()
        made = ledger.reconcile(releases=releases)
        assert [entry.facts["lost_hash"] for entry in made] == [given_back.head, gone.head]
        assert ledger.state(open_.entry) == "touched"
        assert spent(ledger)[0] == TENTH * 6
        assert ledger.reconcile(releases=releases) == []
        ledger.verify()


def test_the_room_that_a_release_needs_is_named(case, forgotten, ask):
    """Of a data set that is gone, the sum of what is shown; of one that is there, with what it spent."""
    case.backup()
    case.lost.grant("toy", 2)
    gone = [ask(case.lost, part, dataset="toy", question=part) for part in ("0.3", "0.4")]
    releases = [shown(one, part, "toy") for one, part in zip(gone, ("0.3", "0.4"), strict=True)]
    with Ledger(forgotten(case.copy)) as ledger:
        with pytest.raises(BudgetError, match=r"there is none.* grant toy --epsilon 0\.7 --accounting basic"):
            ledger.reconcile(releases=releases)
        ledger.grant("toy", "0.5")
        ask(ledger, "0.2", dataset="toy")
        with pytest.raises(BudgetError, match=r"0\.7 is requested, and 0\.3 of 0\.5 is left.* toy --epsilon 0\.9 "):
            ledger.reconcile(releases=releases)
        ledger.grant("toy", "0.9")
        assert len(ledger.reconcile(releases=releases)) == 2
        assert ledger.account("toy").epsilon_left == 0
