"""Caps: set, raised, never below what is spent, and under one unit and relation."""

from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetError, BudgetExceededError, InvalidParameterError


def test_a_grant_sets_the_cap(ledger):
    """The account has the cap and nothing spent."""
    account = ledger.grant("toy", "2.5", 1e-6)
    assert (account.epsilon_cap, account.epsilon_spent, account.epsilon_left) == (
        Fraction(5, 2),
        0,
        Fraction(5, 2),
    )
    assert (account.delta_cap, account.delta_left, account.n_releases) == (
        Fraction(1, 10**6),
        Fraction(1, 10**6),
        0,
    )


@pytest.mark.parametrize("epsilon", [0.3, "0.3", Decimal("0.3"), Fraction(3, 10)])
def test_a_cap_is_the_number_a_person_wrote(ledger, epsilon):
    """Every way to write 0.3 is three tenths."""
    assert ledger.grant("toy", epsilon).epsilon_cap == Fraction(3, 10)


def test_caps_are_rounded_down(ledger):
    """A third is less than a third in grains."""
    account = ledger.grant("toy", Fraction(1, 3), Fraction(1, 3))
    assert account.epsilon_cap == Fraction(333_333_333, 10**9)
    assert account.delta_cap == Fraction(333_333_333_333_333_333, 10**18)


def test_the_largest_caps_fit(ledger, ask):
    """A cap of a million nats, and a delta close to one, are held without overflow."""
    account = ledger.grant("toy", 10**6, Fraction(10**18 - 1, 10**18))
    assert account.epsilon_cap == 10**6
    assert ask(ledger, 1000, dataset="toy", delta="0.999").account.epsilon_left == 999_000


def test_raising_is_an_entry_of_its_own(ledger):
    """Each new cap is in the history."""
    ledger.grant("rand-hie", 2)
    assert [(entry.kind, entry.epsilon) for entry in ledger.history()] == [
        ("grant", Decimal(1)),
        ("grant", Decimal(2)),
    ]


def test_the_same_cap_again_changes_nothing(ledger):
    """Granting what stands already adds no entry."""
    head = ledger.head
    ledger.grant("rand-hie", "1.0")
    assert ledger.head == head


def test_a_cap_is_not_lowered_below_what_is_spent(ledger, ask):
    """The message tells what is spent; a lower cap that covers it is allowed."""
    ask(ledger, "0.4")
    with pytest.raises(InvalidParameterError, match=r"must cover what is spent, epsilon 0\.4 .* be epsilon 0\.3"):
        ledger.grant("rand-hie", 0.3)
    assert ledger.grant("rand-hie", 0.4).epsilon_left == 0


def test_a_delta_cap_is_not_lowered_below_what_is_spent(ledger, ask):
    """A delta of 0 does not take spent delta away."""
    ledger.grant("toy", 1, 1e-6)
    ask(ledger, dataset="toy", delta=1e-7)
    with pytest.raises(InvalidParameterError, match=r"delta 0\.0000001"):
        ledger.grant("toy", 1, 0)


def test_a_delta_that_is_left_out_stays(ledger):
    """A first cap and a first allotment have delta 0; later ones keep what they have."""
    assert ledger.grant("toy", 1).delta_cap == 0
    ledger.grant("toy", 1, 1e-6)
    assert ledger.grant("toy", 2).delta_cap == Fraction(1, 10**6)
    assert ledger.allot("toy", "thesis", 1).delta_cap == 0
    ledger.allot("toy", "thesis", 1, 1e-7)
    assert ledger.allot("toy", "thesis", 2).delta_cap == Fraction(1, 10**7)


def test_a_cap_without_delta_says_what_helps(ledger, ask):
    """To ask for less does not help a method that needs a delta."""
    ledger.grant("toy", 3)
    with pytest.raises(BudgetExceededError, match=r"has no delta: choose a method that needs none.*--delta 0\.000001"):
        ask(ledger, dataset="toy", delta=1e-6)


@pytest.mark.parametrize("epsilon", [-1, "nan", float("inf"), 1e-10, 1_000_001, "one", True, None])
def test_bad_caps_are_refused(ledger, epsilon):
    """Only 0 and a finite cap from one grain to a million are caps."""
    with pytest.raises(InvalidParameterError, match="epsilon"):
        ledger.grant("toy", epsilon)
    assert len(ledger.accounts()) == 1


def test_a_cap_of_zero_closes_a_data_set(ledger, ask):
    """A mistyped cap of which nothing is spent can be taken back: then nothing can be spent, and all is in order."""
    ledger.grant("toy", 100)
    assert ledger.grant("toy", 0).epsilon_left == 0
    with pytest.raises(BudgetExceededError, match="is requested, and 0 of 0 is left"):
        ask(ledger, "0.1", dataset="toy")
    ledger.verify()
    assert ledger.grant("toy", 1).epsilon_left == 1


@pytest.mark.parametrize("delta", [-1e-9, 1, 2, "nan"])
def test_bad_deltas_are_refused(ledger, delta):
    """Delta is a probability below one."""
    with pytest.raises(InvalidParameterError, match="delta"):
        ledger.grant("toy", 1, delta)


@pytest.mark.parametrize("dataset", ["", "-x", "a b", "a/b", "a\n", "é", "x" * 101, None, "x; drop table entries"])
def test_bad_names_are_refused(ledger, dataset):
    """A name that metadata could not bear is none here."""
    with pytest.raises(InvalidParameterError, match="cannot be a data set's name"):
        ledger.grant(dataset, 1)


@pytest.mark.parametrize("unit", ["", "x" * 101, "per\nson", "\ud800", 3])
def test_bad_units_are_refused(ledger, unit):
    """A unit is one short line."""
    with pytest.raises(InvalidParameterError, match="unit must be"):
        ledger.grant("toy", 1, unit=unit)


def test_a_bad_relation_is_refused(ledger):
    """The message lists the relations that there are."""
    with pytest.raises(InvalidParameterError, match="replace_one or add_or_remove_one"):
        ledger.grant("toy", 1, neighboring="replace")


def test_a_grant_fixes_unit_and_relation(ledger, ask):
    """Another unit or relation is refused from then on, by grant and by reserve."""
    ledger.grant("toy", 1, unit="person", neighboring="replace_one")
    with pytest.raises(BudgetError, match=r"do not add, so data set 'toy' keeps unit='person', but unit='household'"):
        ledger.grant("toy", 1, unit="household")
    with pytest.raises(BudgetError, match=r"do not add, .* keeps unit='person'"):
        ask(ledger, dataset="toy", unit="household")
    with pytest.raises(BudgetError, match=r"do not add, .* keeps neighboring='replace_one'"):
        ask(ledger, dataset="toy", neighboring=NeighboringRelation.ADD_OR_REMOVE_ONE)


def test_the_first_reservation_fixes_unit_and_relation(ledger, ask):
    """A refused reservation fixes nothing; a granted one does, even when cancelled."""
    with pytest.raises(BudgetError):
        ask(ledger, 2, unit="household")
    assert ledger.account("rand-hie").unit is None
    ask(ledger).cancel()
    assert ledger.account("rand-hie").unit == "person"
    with pytest.raises(BudgetError, match="do not add"):
        ledger.grant("rand-hie", 2, neighboring="add_or_remove_one")
    assert ledger.grant("rand-hie", 2).neighboring is NeighboringRelation.REPLACE_ONE


def test_names_agree_with_the_metadata():
    """The ledger's pattern of names is the metadata's."""
    from discreet.data.metadata import Metadata
    from discreet.ledger.terms import DATASET_PATTERN

    assert any(getattr(rule, "pattern", None) == DATASET_PATTERN for rule in Metadata.model_fields["dataset"].metadata)
