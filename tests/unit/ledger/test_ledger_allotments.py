"""Allotments: a ceiling for each project inside the cap, charged together with it or not at all."""

import shlex
from fractions import Fraction

import pytest

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, FailureEvent, SelectionEvent
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetError, BudgetExceededError, InvalidParameterError, VerificationError
from discreet.ledger import Accounting

TENTH = Fraction(1, 10)


@pytest.fixture
def shared(ledger):
    """A ledger with a cap of 1, of which the thesis may spend 0.5."""
    ledger.allot("rand-hie", "thesis", "0.5")
    return ledger


def test_a_project_is_charged_with_its_data_set(shared, ask):
    """Both sums grow by the same; others who ask leave the project's alone."""
    ask(shared, "0.2", project="thesis")
    ask(shared, "0.3")
    (allotment,) = shared.allotments("rand-hie")
    assert (allotment.dataset, allotment.project, allotment.accounting) == ("rand-hie", "thesis", Accounting.BASIC)
    assert (allotment.epsilon_cap, allotment.epsilon_spent) == (TENTH * 5, TENTH * 2)
    assert (allotment.epsilon_left, allotment.delta_left, allotment.share_spent) == (TENTH * 3, 0, TENTH * 4)
    assert shared.account("rand-hie").epsilon_spent == TENTH * 5
    assert [entry.project for entry in shared.history()] == [None, "thesis", "thesis", None]
    shared.verify()


def test_a_project_without_allotment_is_refused(ledger, ask):
    """The message is the command that allots; nothing is charged."""
    with pytest.raises(
        BudgetError,
        match=r"Project 'thesis' has no allotment of data set 'rand-hie'.*`discreet budget allot rand-hie thesis",
    ):
        ask(ledger, project="thesis")
    assert ledger.account("rand-hie").epsilon_spent == 0


def test_the_ceiling_holds(shared, ask):
    """Too much for the project is refused in its numbers, though the cap would allow it."""
    ask(shared, "0.2", project="thesis")
    head = shared.head
    with pytest.raises(BudgetExceededError) as refused:
        ask(shared, "0.4", project="thesis")
    assert (refused.value.requested, refused.value.remaining) == (TENTH * 4, TENTH * 3)
    assert str(refused.value) == (
        "The request exceeds what is left of the allotment of project 'thesis' of data set 'rand-hie': "
        "epsilon 0.4 is requested, and 0.3 of 0.5 is left. Ask for less; only the owner of the data may raise the "
        f"allotment: `discreet budget allot rand-hie thesis --epsilon 0.6 --ledger {shlex.quote(shared.location)}`."
    )
    assert (shared.head, shared.account("rand-hie").epsilon_spent) == (head, TENTH * 2)


def test_the_cap_holds_inside_the_ceiling(shared, ask):
    """The ceilings may add up to more than the cap, which is what is left then."""
    shared.allot("rand-hie", "survey", 1)
    ask(shared, "0.7", project="survey")
    with pytest.raises(BudgetExceededError, match="lifetime cap of data set 'rand-hie'"):
        ask(shared, "0.4", project="thesis")
    assert [allotment.epsilon_spent for allotment in shared.allotments("rand-hie")] == [TENTH * 7, 0]
    shared.verify()


def test_cancelling_gives_back_to_both(shared, ask):
    """A lost computation stays charged to both."""
    cancelled, lost = ask(shared, "0.2", project="thesis"), ask(shared, "0.1", project="thesis")
    cancelled.cancel()
    lost.touch()
    lost.lose()
    assert shared.allotments("rand-hie")[0].epsilon_spent == shared.account("rand-hie").epsilon_spent == TENTH
    assert shared.verify().n_entries == 7


def test_each_change_is_an_entry(shared, ask):
    """A new ceiling is one, the same again is none, and one below what was spent is refused."""
    ask(shared, "0.2", project="thesis")
    assert shared.allot("rand-hie", "thesis", "0.2").epsilon_left == 0
    shared.allot("rand-hie", "thesis", "0.20")
    with pytest.raises(InvalidParameterError, match=r"allotment of project 'thesis' .* must cover what is spent"):
        shared.allot("rand-hie", "thesis", "0.1")
    assert [entry.kind for entry in shared.history()] == ["grant", "allot", "reserve", "allot"]
    shared.verify()


@pytest.mark.parametrize(("epsilon", "delta"), [("1.1", 0), ("0.1", "1e-9")])
def test_a_ceiling_is_within_the_cap(ledger, epsilon, delta):
    """In epsilon and in delta."""
    with pytest.raises(InvalidParameterError, match="exceeds the lifetime cap of data set 'rand-hie', epsilon 1"):
        ledger.allot("rand-hie", "thesis", epsilon, delta)
    assert ledger.allotments("rand-hie") == []


def test_a_lower_cap_leaves_the_ceiling(shared, ask):
    """The lesser of the two holds from then on."""
    shared.grant("rand-hie", "0.3")
    with pytest.raises(BudgetExceededError, match="lifetime cap"):
        ask(shared, "0.4", project="thesis")
    shared.verify()


def test_a_data_set_without_cap_has_nothing_to_allot(ledger):
    """The message is the command that grants."""
    with pytest.raises(BudgetError, match="discreet budget grant other --epsilon 1"):
        ledger.allot("other", "thesis", 1)


@pytest.mark.parametrize("project", ["", "a b", "-x", "x" * 101, None, 3])
def test_bad_projects_are_refused(ledger, ask, project):
    """A project has a name such as a data set's."""
    with pytest.raises(InvalidParameterError, match="cannot be a project's name"):
        ledger.allot("rand-hie", project, 1)
    if project is not None:
        with pytest.raises(InvalidParameterError, match="cannot be a project's name"):
            ask(ledger, project=project)


def test_under_zcdp_a_ceiling_counts_rho(ledger, ask):
    """It converts as the cap does, and failures have their tenth of its delta."""
    ledger.grant("toy", 2, "1e-6", accounting="zcdp")
    event = ComposedEvent((SelectionEvent(TENTH, "gumbel"), FailureEvent(Fraction(1, 10**8))))
    asked = {
        "dataset": "toy",
        "project": "thesis",
        "event": event,
        "guarantee": guarantee_of(event, NeighboringRelation.REPLACE_ONE),
    }
    ceiling = ledger.allot("toy", "thesis", 1, "5e-7")
    assert (ceiling.accounting, ceiling.failure_cap) == (Accounting.ZCDP, Fraction(5, 10**8))
    assert 0 < ceiling.rho_cap < ledger.account("toy").rho_cap
    for _ in range(5):
        ask(ledger, **asked)
    with pytest.raises(BudgetExceededError, match=r"allotment .* delta of failure 0\.00000001 is requested, and 0 of"):
        ask(ledger, **asked)
    (spent,) = ledger.allotments("toy")
    assert (spent.rho_spent, spent.failure_spent) == (5 * Fraction(1, 800), Fraction(5, 10**8))
    assert spent.rho_spent == ledger.account("toy").rho_spent
    ledger.verify()


def test_after_another_accounting_the_ceiling_is_set_anew(shared, ask):
    """Epsilon and rho do not convert, so an allotment in the one does not allow the other."""
    shared.grant("rand-hie", 1, "1e-6", accounting="zcdp")
    with pytest.raises(
        BudgetError, match="Project 'thesis' has no allotment of data set 'rand-hie' under zcdp accounting"
    ):
        ask(shared, project="thesis")
    assert shared.allot("rand-hie", "thesis", "0.5", "1e-7").accounting is Accounting.ZCDP
    ask(shared, project="thesis")
    shared.verify()


def test_the_database_itself_holds_the_ceiling(shared):
    """Whoever writes past the ledger meets the checks of the table, and none can be deleted."""
    changes = ["epsilon_spent = epsilon_cap + 1", "epsilon_spent = -1", "delta_spent = 1", "rho_spent = 1"]
    changes += ["accounting = 'zcdp', failure_spent = 1", "accounting = 'other'"]
    for change in changes:
        with pytest.raises(BudgetError, match=r"CHECK|check constraint"), shared._store.write() as connection:
            connection.exec_driver_sql(f"UPDATE allotments SET {change}")
    with pytest.raises(BudgetError, match="append-only"), shared._store.write() as connection:
        connection.exec_driver_sql("DELETE FROM allotments")
    shared.verify()


CHANGES = {
    "UPDATE allotments SET epsilon_cap = epsilon_cap + 1": "allotment of project 'thesis' of data set 'rand-hie' diff",
    "UPDATE allotments SET epsilon_spent = 0": "allotment of project 'thesis' of data set 'rand-hie' differs",
    "UPDATE allotments SET accounting = 'zcdp'": "allotment of project 'thesis' of data set 'rand-hie' differs",
    "DELETE FROM allotments": "allotment of project 'thesis' of data set 'rand-hie' differs",
    "UPDATE allotments SET project = 'other'": "allotment of project 'other' of data set 'rand-hie' differs",
    "UPDATE entries SET project = NULL WHERE seq = 3": "entry 3 was changed",
    "UPDATE entries SET project = 'other' WHERE seq = 1": "entry 1 was changed",
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_named(shared, path, tamper, ask, change):
    """The project is covered by the hashes, and its sums by the replay."""
    ask(shared, project="thesis")
    tamper(path, change)
    with pytest.raises(VerificationError, match=CHANGES[change]):
        shared.verify()


@pytest.mark.parametrize(
    ("seq", "changes", "text"),
    [
        (2, {"epsilon": 10**10}, "entry 2 allots more than the cap"),
        (2, {"epsilon": 1}, "entry 3 spends more than the allotment"),
        (2, {"project": "other"}, "entry 3 spends from an allotment that was not made"),
        (2, {"rho": 1, "failure": 1}, "entry 2 adds up another amount than its data set"),
        (3, {"project": "other"}, "entry 3 spends from an allotment that was not made"),
        (4, {"project": None}, r"entry 4 \(cancel\) is no step that its reservation could take"),
    ],
)
def test_forgeries_with_fitting_hashes_are_found(shared, path, rewrite, ask, seq, changes, text):
    """A rewritten chain must still add up for the project."""
    ask(shared, project="thesis").cancel()
    rewrite(path, seq, **changes)
    with pytest.raises(VerificationError, match=text):
        shared.verify()
