"""Reservations: charged exactly, moved only along their states, stored with their release."""

import shlex
from fractions import Fraction

import pytest

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetError, BudgetExceededError, InvalidParameterError, VerificationError
from discreet.ledger import Ledger


def test_ten_tenths_are_one(ledger, ask):
    """0.1 fits ten times into 1, whatever floats think."""
    for _ in range(10):
        ask(ledger, 0.1)
    with pytest.raises(BudgetExceededError):
        ask(ledger, 1e-9)
    assert ledger.account("rand-hie").epsilon_left == 0


def test_a_reservation_of_epsilon_has_no_rho(ledger, ask):
    """Where epsilon adds up, the handle says so, fresh and read again."""
    reservation = ask(ledger)
    assert (reservation.rho, ledger.reservation(reservation.entry).rho) == (0, 0)


def test_costs_are_rounded_up(ledger, ask):
    """Three thirds are more than one, and the least cost is a grain."""
    assert ask(ledger, Fraction(1, 3)).account.epsilon_spent == Fraction(333_333_334, 10**9)
    assert ask(ledger, "1e-300").account.epsilon_spent == Fraction(333_333_335, 10**9)
    ask(ledger, Fraction(1, 3))
    with pytest.raises(BudgetExceededError):
        ask(ledger, Fraction(1, 3))


def test_a_delta_below_a_grain_costs_a_grain(ledger, ask):
    """However small, a delta is never free."""
    ledger.grant("toy", 1, 1e-9)
    assert ask(ledger, dataset="toy", delta="1e-30").account.delta_spent == Fraction(1, 10**18)


def test_a_reservation_tells_where_it_stands(ledger, ask):
    """Entry, head and account are those right after it."""
    reservation = ask(ledger, "0.25")
    assert (reservation.entry, reservation.head) == (2, ledger.head)
    assert reservation.account == ledger.account("rand-hie")
    assert reservation.account.epsilon_spent == Fraction(1, 4)


def test_too_much_is_refused_in_numbers(ledger, ask):
    """The error tells what was asked, what is left, the cap, and the command; nothing is charged."""
    ask(ledger, "0.7")
    head = ledger.head
    with pytest.raises(BudgetExceededError) as refused:
        ask(ledger, 0.5)
    assert (refused.value.requested, refused.value.remaining) == (Fraction(1, 2), Fraction(3, 10))
    assert str(refused.value) == (
        "The request exceeds what is left of the lifetime cap of data set 'rand-hie': epsilon 0.5 is "
        "requested, and 0.3 of 1 is left. Ask for less; only the owner of the data may raise the cap: "
        f"`discreet budget grant rand-hie --epsilon 1.2 --ledger {shlex.quote(ledger.location)}`."
    )
    assert ledger.head == head


def test_too_much_delta_is_refused(ledger, ask):
    """A cap without delta allows no delta; the command names one."""
    with pytest.raises(BudgetExceededError, match=r"0\.000001 is requested, and 0 of 0 is left.*--delta 0\.000001"):
        ask(ledger, delta=1e-6)
    assert ledger.account("rand-hie").epsilon_spent == 0


def test_the_suggested_command_is_enough(ledger, ask):
    """After the cap that the message names, the request fits."""
    ask(ledger, "0.7")
    with pytest.raises(BudgetExceededError, match=r"--epsilon 1\.200000001 --delta 0\.00001 "):
        ask(ledger, "0.500000001", delta=1e-5)
    ledger.grant("rand-hie", "1.200000001", "0.00001")
    assert ask(ledger, "0.500000001", delta=1e-5).account.epsilon_left == 0


def test_a_data_set_without_cap_is_refused(tmp_path, ask):
    """The message is the command that sets one, quoted for a shell."""
    place = tmp_path / "my ledger.sqlite"
    with Ledger(place) as ledger, pytest.raises(BudgetError) as refused:
        ask(ledger, 1)
    assert str(refused.value) == (
        "Data set 'rand-hie' has no lifetime cap in the ledger. "
        f"The owner of the data sets it with `discreet budget grant rand-hie --epsilon 1 --ledger '{place}'`."
    )


def test_the_command_leaves_the_default_ledger_out(tmp_path, ask, monkeypatch):
    """What need not be said is not said; the cap covers the request."""
    monkeypatch.setenv("DISCREET_LEDGER", str(tmp_path / "l.sqlite"))
    with (
        Ledger() as ledger,
        pytest.raises(BudgetError, match=r"grant rand-hie --epsilon 2\.5 --delta 0\.01`\."),
    ):
        ask(ledger, 2.5, delta=0.01)


def test_an_account_that_is_missing_is_refused(ledger):
    """Looking one up gives the same command."""
    with pytest.raises(BudgetError, match="discreet budget grant other --epsilon 1"):
        ledger.account("other")


@pytest.mark.parametrize("request_", ["", "A" * 64, "a" * 63, "a" * 64 + "\n", None])
def test_bad_requests_are_refused(ledger, ask, request_):
    """A request is a SHA-256."""
    with pytest.raises(InvalidParameterError, match="request must be"):
        ask(ledger, request=request_)
    with pytest.raises(InvalidParameterError, match="request must be"):
        ledger.stored(request_)


@pytest.mark.parametrize("facts", [{"x": float("nan")}, {"x": object()}, [1], None, {"x": {1, 2}}])
def test_bad_facts_are_refused(ledger, ask, facts):
    """Facts are what JSON can hold."""
    with pytest.raises(InvalidParameterError, match="facts must be"):
        ask(ledger, facts=facts)


def test_a_guarantee_under_another_relation_is_refused(ledger, ask):
    """A request and its guarantee share one relation."""
    other = Guarantee(Fraction(1, 10), Fraction(0), NeighboringRelation.ADD_OR_REMOVE_ONE)
    with pytest.raises(InvalidParameterError, match="under the relation of its request"):
        ask(ledger, guarantee=other)


def test_a_release_is_stored_and_free(ledger, ask):
    """The same question gives the same text, and the newest of several."""
    first, second = ask(ledger, question=1), ask(ledger, question=1)
    request = ledger.history()[1].request
    assert ledger.stored(request) is None
    first.touch()
    assert ledger.stored(request) is None
    first.release('{"größe": 1}')
    assert ledger.stored(request) == '{"größe": 1}'
    second.touch()
    second.release("newer")
    assert ledger.stored(request) == "newer"
    assert (ledger.account("rand-hie").n_releases, ledger.account("rand-hie").epsilon_spent) == (
        2,
        Fraction(1, 5),
    )


def test_text_that_utf8_cannot_hold_is_refused(ledger, ask):
    """Such a release changes nothing: its reservation can still be lost."""
    reservation = ask(ledger)
    reservation.touch()
    with pytest.raises(InvalidParameterError, match="UTF-8"):
        reservation.release("\ud800")
    reservation.lose()


def test_cancelling_gives_all_back(ledger, ask):
    """Before the data are touched nothing need stay charged."""
    ask(ledger, Fraction(1, 3)).cancel()
    account = ledger.account("rand-hie")
    assert (account.epsilon_spent, account.delta_spent) == (0, 0)
    assert [entry.epsilon for entry in ledger.history()][1:] == [
        -entry for entry in [ledger.history()[2].epsilon, ledger.history()[1].epsilon]
    ]


def test_a_loss_stays_charged(ledger, ask):
    """Whatever ends the computation, the cost stands."""
    reservation = ask(ledger)
    reservation.touch()
    reservation.lose()
    assert ledger.account("rand-hie").epsilon_spent == Fraction(1, 10)


STEPS = {
    "touch": lambda reservation: reservation.touch(),
    "release": lambda reservation: reservation.release("text"),
    "lose": lambda reservation: reservation.lose(),
    "cancel": lambda reservation: reservation.cancel(),
}
PATHS = {"": {"touch", "cancel"}, "touch": {"release", "lose"}}
PATHS |= {"touch release": set(), "touch lose": set(), "cancel": set()}


@pytest.mark.slow
@pytest.mark.parametrize("before", PATHS)
@pytest.mark.parametrize("step", STEPS)
def test_only_the_states_steps_are_allowed(ledger, ask, before, step):
    """Every step that the states do not have raises, and leaves no trace."""
    reservation = ask(ledger)
    for name in before.split():
        STEPS[name](reservation)
    head, account = ledger.head, ledger.account("rand-hie")
    if step in PATHS[before]:
        STEPS[step](reservation)
        assert ledger.head != head
    else:
        with pytest.raises(BudgetError, match="must follow state="):
            STEPS[step](reservation)
        assert (ledger.head, ledger.account("rand-hie")) == (head, account)
    ledger.verify()


def test_history_tells_what_happened(ledger, ask):
    """Entries are in order, with facts, exact decimals and the state of each reservation."""
    ledger.grant("toy", 1)
    reservation = ask(ledger, 0.1, facts={"b": [1, 2.5], "a": "é"})
    reservation.touch()
    ask(ledger, dataset="toy")
    entries = ledger.history()
    assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5]
    assert [entry.kind for entry in entries] == ["grant", "grant", "reserve", "touch", "reserve"]
    assert [entry.state for entry in entries] == [None, None, "touched", None, "reserved"]
    assert entries[2].facts == {"a": "é", "b": [1, 2.5]}
    assert (str(entries[2].epsilon), entries[3].reservation, entries[4].hash) == ("0.1", 3, ledger.head)
    assert [entry.seq for entry in ledger.history("toy")] == [2, 5]
    assert len(entries[0].time) == 20


def test_recover_takes_only_what_was_touched(ledger, ask):
    """Open computations become lost and stay charged; those only reserved stay as they are."""
    reserved, touched, done = (ask(ledger, question=n) for n in range(3))
    touched.touch()
    done.touch()
    done.release("text")
    assert ledger.recover(3600) == []
    assert ledger.recover(float("inf")) == []
    assert ledger.recover(None) == [touched.entry]
    assert ledger.recover(None) == []
    assert [entry.state for entry in ledger.history() if entry.state] == ["reserved", "lost", "released"]
    assert ledger.account("rand-hie").epsilon_spent == Fraction(3, 10)
    with pytest.raises(BudgetError, match="must follow"):
        touched.release("too late")
    reserved.cancel()
    ledger.verify()


@pytest.mark.parametrize("age", [-1, float("nan")])
def test_recover_refuses_a_bad_age(ledger, age):
    """An age is zero or more seconds."""
    with pytest.raises(InvalidParameterError, match="older_than_s"):
        ledger.recover(age)


def test_recover_goes_by_age(ledger, ask):
    """An age of zero takes what was touched up to now."""
    reservation = ask(ledger)
    reservation.touch()
    assert ledger.recover(0) == [reservation.entry]


def test_a_stored_text_that_was_changed_is_not_given_out(ledger, ask, path, tamper):
    """What is served free is what was recorded, or an error."""
    reservation = ask(ledger)
    reservation.touch()
    reservation.release("text")
    tamper(path, "UPDATE releases SET text = 'other'")
    with pytest.raises(VerificationError, match="discreet budget verify"):
        ledger.stored(ledger.history()[1].request)
