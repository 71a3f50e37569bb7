"""The sums beside the entries: whoever changes them by hand stops the ledger, before it is ever verified."""

import pytest

from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetError, BudgetExceededError, VerificationError
from discreet.ledger import Ledger, postings

CHANGES = {
    "epsilon_spent": "UPDATE accounts SET epsilon_spent = 0",
    "delta_spent": "UPDATE accounts SET delta_spent = delta_cap",
    "epsilon_cap": "UPDATE accounts SET epsilon_cap = 1000 * epsilon_cap",
    "delta_cap": "UPDATE accounts SET delta_cap = 1000 * delta_cap",
    "accounting, rho_cap, failure_cap": "UPDATE accounts SET accounting = 'zcdp', rho_cap = 1000, failure_cap = 1000",
    "unit": "UPDATE accounts SET unit = 'household'",
    "neighboring": "UPDATE accounts SET neighboring = 'add_or_remove_one'",
    "epsilon_spent, epsilon_cap": "UPDATE accounts SET epsilon_spent = 1, epsilon_cap = 7",
}


@pytest.fixture
def spent(ledger, ask):
    """A ledger of which nine tenths are spent, some by a project."""
    ledger.grant("rand-hie", 1, "1e-6")
    ledger.allot("rand-hie", "thesis", "0.5")
    ask(ledger, "0.5")
    ask(ledger, "0.4", project="thesis", question="p")
    ask(ledger, "0.05", question="back").cancel()
    return ledger


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.replace(", ", "+"))
def test_an_account_that_was_changed_spends_nothing(spent, path, tamper, ask, change):
    """Whatever column it is; the entries stay as they are."""
    tamper(path, CHANGES[change])
    head = spent.head
    terms = {"unit": {"unit": "household"}, "neighboring": {"neighboring": NeighboringRelation.ADD_OR_REMOVE_ONE}}
    with pytest.raises(
        VerificationError, match="account of data set 'rand-hie' differs from its entries in"
    ) as refused:
        ask(spent, "0.05", question="next", **terms.get(change, {}))
    assert set(change.split(", ")) <= set(str(refused.value).partition(" entries in ")[2].partition(".")[0].split(", "))
    assert spent.head == head


def test_the_sums_alone_do_not_stop_it(spent, path, tamper, ask, monkeypatch):
    """Control: a reservation that does not look spends what was spent before, until somebody verifies."""
    with pytest.raises(BudgetExceededError):
        ask(spent, "0.3", question="next")
    monkeypatch.setattr(postings.sums, "check_account", lambda _connection, _dataset: None)
    tamper(path, CHANGES["epsilon_spent"])
    assert ask(spent, "0.3", question="next").entry == 8
    with pytest.raises(VerificationError):
        spent.verify()


@pytest.mark.parametrize("change", ["epsilon_spent = 0", "epsilon_cap = 2 * epsilon_cap"])
def test_an_allotment_that_was_changed_spends_nothing(spent, path, tamper, ask, change):
    """The account is as it was, and others may go on."""
    tamper(path, f"UPDATE allotments SET {change}")
    with pytest.raises(VerificationError, match=r"allotment of project 'thesis' .* entries in epsilon_"):
        ask(spent, "0.05", question="next", project="thesis")
    ask(spent, "0.05", question="next")


@pytest.mark.parametrize("dataset", ["rand-hie", "toy"])
def test_entries_that_are_gone_stop_it(spent, path, tamper, ask, dataset):
    """The last of them, with the sums to match; or all of a data set's caps."""
    spent.grant("toy", 1)
    if dataset == "toy":
        tamper(path, "UPDATE entries SET dataset = 'other' WHERE dataset = 'toy'")
    else:
        tamper(path, "DELETE FROM entries WHERE seq = 8")
    with pytest.raises(VerificationError, match="last entry" if dataset == "rand-hie" else "grant entry"):
        ask(spent, "0.05", dataset=dataset)


@pytest.mark.parametrize("accounting", ["basic", "zcdp"])
def test_what_was_not_changed_goes_on(path, ask, accounting):
    """Caps that are raised and lowered, costs given back and costs of a project: all of it adds up."""
    with Ledger(path) as ledger:
        for cap in (1, 3, 2):
            ledger.grant("rand-hie", cap, "1e-6", accounting=accounting)
            ledger.allot("rand-hie", "thesis", 1, "1e-6")
            ask(ledger, "0.01", question=f"a{cap}", project="thesis").cancel()
            ask(ledger, "0.02", question=f"b{cap}").touch()
        ledger.verify()


def test_names_alike_but_for_case_are_one_account(ledger, ask):
    """A second budget for the same people is refused, with the name that has the first."""
    same = "'Rand-HIE' has no cap, but 'rand-hie' has one.* Use 'rand-hie'"
    with pytest.raises(BudgetError, match=same):
        ledger.grant("Rand-HIE", 1)
    with pytest.raises(BudgetError, match=same):
        ask(ledger, dataset="Rand-HIE")
    with pytest.raises(BudgetError, match=same):
        ledger.account("Rand-HIE")
    assert ledger.grant("rand-hie2", 1).epsilon_left == 1
    assert [account.dataset for account in ledger.accounts()] == ["rand-hie", "rand-hie2"]


def test_a_ledger_that_holds_both_names_keeps_both(ledger, ask, monkeypatch):
    """As an earlier version made them; no third is added."""
    with monkeypatch.context() as earlier:
        earlier.setattr("discreet.ledger.refusals.check_alone", lambda _dataset, _alike: None)
        ledger.grant("Rand-HIE", 2)
    for name, cap in (("rand-hie", 3), ("Rand-HIE", 4)):
        ask(ledger, "0.1", dataset=name, question=name)
        assert ledger.grant(name, cap).epsilon_cap == cap
    with pytest.raises(BudgetError, match="'RAND-HIE' has no cap, but 'Rand-HIE' has one"):
        ledger.grant("RAND-HIE", 1)
    ledger.verify()
