"""Accounts under zCDP: rho adds up, the cap alone converts, and failures have a part of delta of their own."""

import shutil
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, FailureEvent, GaussianEvent, LaplaceEvent, SelectionEvent
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.neighbors import NeighboringRelation
from discreet.accounting.totals import rho_of_pure
from discreet.accounting.zcdp import epsilon_of_rho, rho_of
from discreet.errors import (
    BudgetError,
    BudgetExceededError,
    InvalidParameterError,
    UnsupportedEventError,
    VerificationError,
)
from discreet.ledger import Accounting, Ledger

REPLACE = NeighboringRelation.REPLACE_ONE
MILLIONTH = Fraction(1, 10**6)
GRAIN = Fraction(1, 10**12)
TENTH = Fraction(1, 10)


@pytest.fixture
def zcdp(path):
    """A ledger with a cap of epsilon 1 at delta 1e-6, kept in zCDP."""
    with Ledger(path) as opened:
        opened.grant("rand-hie", 1, MILLIONTH, accounting="zcdp")
        yield opened


def pay(ask, ledger, event, delta=Fraction(0), **changes):
    """Reserve an event with its own guarantee."""
    return ask(ledger, guarantee=guarantee_of(event, REPLACE, delta), event=event, **changes)


def test_the_cap_is_the_rho_that_converts(zcdp):
    """At nine tenths of delta it gives the epsilon, to the grain, and the other tenth is for failures."""
    account = zcdp.account("rand-hie")
    assert account.accounting is Accounting.ZCDP
    assert (account.epsilon_cap, account.delta_cap, account.failure_cap) == (1, MILLIONTH, MILLIONTH / 10)
    left = MILLIONTH * 9 / 10
    assert epsilon_of_rho(account.rho_cap, left) == 1 < epsilon_of_rho(account.rho_cap + 100 * GRAIN, left)


def test_gumbel_selections_cost_an_eighth(zcdp, ask):
    """Nineteen selections of 0.1 fit where pure sums would allow ten."""
    event = SelectionEvent(TENTH, "gumbel")
    for number in range(19):
        assert pay(ask, zcdp, event).account.rho_spent == (number + 1) * Fraction(1, 800)
    with pytest.raises(BudgetExceededError, match=r"rho 0\.00125 is requested, and 0\.000379622344 of 0\.024129622344"):
        pay(ask, zcdp, event)
    account = zcdp.account("rand-hie")
    assert (account.epsilon_spent, account.epsilon_left) == (1, Fraction(27_555_266, 10**9))
    assert account.share_spent == account.rho_spent / account.rho_cap
    zcdp.verify()


def test_gaussian_noise_spends_no_delta(zcdp, ask):
    """Its rho adds up; the delta of its guarantee is only recorded."""
    event = GaussianEvent(Fraction(1, 500), Fraction(0))
    for _ in range(12):
        account = pay(ask, zcdp, event, MILLIONTH).account
    assert (account.rho_spent, account.failure_spent, account.delta_left) == (Fraction(12, 500), 0, MILLIONTH / 10)
    entry = zcdp.history()[-1]
    assert (entry.rho, entry.failure, entry.delta) == (Decimal("0.002"), 0, Decimal("0.000001"))
    # Twelve guarantees added up exceed the cap, which is then the bound that is told, with its delta.
    assert (account.epsilon_spent, account.delta_spent) == (1, MILLIONTH)
    with pytest.raises(BudgetExceededError, match=r"rho 0\.002 is requested"):
        pay(ask, zcdp, event, MILLIONTH)


def test_while_the_sums_are_below_the_cap_they_are_told(zcdp, ask):
    """Pure guarantees that add up to less than the cap are the better bound."""
    account = pay(ask, zcdp, SelectionEvent(TENTH, "exponential")).account
    assert (account.epsilon_spent, account.delta_spent, account.rho_spent) == (
        TENTH,
        0,
        -(-rho_of_pure(TENTH) // GRAIN) * GRAIN,
    )


def test_failures_have_a_tenth_of_delta(zcdp, ask):
    """They add up on their own, and the message names them."""
    event = ComposedEvent((LaplaceEvent(Fraction(1, 100)), FailureEvent(Fraction(4, 10**8))))
    pay(ask, zcdp, event)
    assert pay(ask, zcdp, event).account.delta_left == Fraction(2, 10**8)
    with pytest.raises(BudgetExceededError, match=r": delta of failure 0\.00000004 is requested, and 0\.00000002 of"):
        pay(ask, zcdp, event)


def test_the_suggested_command_converts_nothing(zcdp, ask, path):
    """The epsilon is left to the owner: what the running rho would convert to is not shown."""
    with pytest.raises(BudgetExceededError, match=r"grant rand-hie --epsilon E --delta 0\.000001 --ledger") as refused:
        pay(ask, zcdp, SelectionEvent(Fraction(1), "exponential"))
    assert refused.value.requested == 1
    assert refused.value.remaining == zcdp.account("rand-hie").epsilon_left == Fraction(220_122_579, 10**9)
    pay(ask, zcdp, SelectionEvent(refused.value.remaining, "laplace"))


def test_without_an_event_the_worst_is_charged(zcdp, ask):
    """A pure guarantee costs what randomized response does; one with delta is refused, and nothing is charged."""
    spent = ask(zcdp, TENTH).account.rho_spent
    assert 0 <= spent - rho_of_pure(TENTH) < GRAIN
    with pytest.raises(InvalidParameterError, match="must come with its event"):
        ask(zcdp, TENTH, delta="1e-9")
    assert zcdp.account("rand-hie").rho_spent == spent


def test_an_unknown_event_is_refused(zcdp, ask):
    """What has no analysis cannot be charged."""
    with pytest.raises(UnsupportedEventError):
        ask(zcdp, TENTH, event=ComposedEvent(()))
    assert zcdp.account("rand-hie").rho_spent == 0


def test_a_basic_account_ignores_the_event(ledger, ask):
    """There the guarantee is charged, as it was before."""
    account = pay(ask, ledger, SelectionEvent(TENTH, "gumbel")).account
    assert (account.epsilon_spent, account.rho_spent, account.rho_cap, account.share_spent) == (TENTH, 0, 0, TENTH)
    assert ledger.history()[-1].rho is None
    assert account.accounting is Accounting.BASIC


def test_cancelling_gives_all_of_it_back(zcdp, ask):
    """Rho and failures return with epsilon and delta; a lost computation keeps them."""
    event = ComposedEvent((SelectionEvent(TENTH, "gumbel"), FailureEvent(Fraction(1, 10**8))))
    before = zcdp.account("rand-hie")
    lost, cancelled = pay(ask, zcdp, event), pay(ask, zcdp, event)
    lost.touch()
    lost.lose()
    cancelled.cancel()
    account = zcdp.account("rand-hie")
    assert (account.rho_spent, account.failure_spent) == (Fraction(1, 800), Fraction(1, 10**8))
    assert (account.epsilon_spent, account.delta_spent) == (TENTH, Fraction(1, 10**8))
    assert account.rho_cap == before.rho_cap
    zcdp.verify()


def test_a_cap_can_be_changed_as_far_as_what_is_spent(zcdp, ask):
    """Without its accounting the cap keeps it; below what is spent it is refused in rho."""
    pay(ask, zcdp, ComposedEvent((LaplaceEvent(TENTH), FailureEvent(Fraction(5, 10**8)))))
    assert zcdp.grant("rand-hie", 2, MILLIONTH).accounting is Accounting.ZCDP
    for epsilon, delta in ((Fraction(1, 4), MILLIONTH), (2, MILLIONTH / 10)):
        with pytest.raises(InvalidParameterError, match=r"must cover what is spent, rho 0\.00499.*it converts to rho "):
            zcdp.grant("rand-hie", epsilon, delta)
    assert [entry.kind for entry in zcdp.history()] == ["grant", "reserve", "grant"]
    zcdp.verify()


def test_the_accounting_can_change_while_nothing_is_spent(ledger, ask):
    """Back and forth, and not once something is spent: the two sums do not convert."""
    assert ledger.grant("rand-hie", 1, MILLIONTH, accounting="zcdp").accounting is Accounting.ZCDP
    ask(ledger).cancel()
    assert ledger.grant("rand-hie", 1, MILLIONTH, accounting="basic").rho_cap == 0
    ask(ledger)
    with pytest.raises(BudgetError, match=r"keeps basic, but zcdp is requested"):
        ledger.grant("rand-hie", 1, MILLIONTH, accounting=Accounting.ZCDP)
    ledger.verify()


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, 0), (1, "9e-18"), (1000.1, 0.1), (0, 0.1), (1, 1), ("1e-9", "1e-17")]
)
def test_caps_that_no_rho_gives(ledger, epsilon, delta):
    """There must be a delta, an epsilon of at most 1000, and at least a grain of rho."""
    with pytest.raises(InvalidParameterError, match=r"epsilon|delta"):
        ledger.grant("toy", epsilon, delta, accounting="zcdp")
    assert len(ledger.accounts()) == 1


@pytest.mark.parametrize("accounting", ["rho", "", 3, "ZCDP"])
def test_unknown_accountings(ledger, accounting):
    """The message names the two that there are."""
    with pytest.raises(InvalidParameterError, match="basic or zcdp"):
        ledger.grant("toy", 1, accounting=accounting)


def test_the_largest_rho_does_not_overflow(zcdp, ask):
    """An event of any rho is refused as too much."""
    event = GaussianEvent(Fraction(10**30), Fraction(0))
    with pytest.raises(BudgetExceededError, match="is requested"):
        ask(zcdp, guarantee=Guarantee(Fraction(1000), MILLIONTH, REPLACE), event=event)


small = st.fractions(Fraction(1, 100), Fraction(1, 3), max_denominator=200)
events = st.one_of(
    st.builds(SelectionEvent, small, st.sampled_from(["gumbel", "exponential"])),
    st.builds(LaplaceEvent, small),
    st.builds(GaussianEvent, small.map(lambda rho: rho / 20), st.just(Fraction(0))),
)


@pytest.mark.slow
@settings(max_examples=12)
@given(parts=st.lists(events, min_size=1, max_size=15))
def test_what_was_granted_keeps_the_cap(empty, ask, parts):
    """Exactly what fits is granted, and all of it together is within epsilon 1 at delta 1e-6."""
    with tempfile.TemporaryDirectory() as folder, Ledger(shutil.copy(empty, Path(folder, "l.sqlite"))) as ledger:
        left = ledger.grant("rand-hie", 1, MILLIONTH, accounting="zcdp").rho_cap
        granted = []
        for part in parts:
            cost = -(-rho_of(part)[0] // GRAIN) * GRAIN
            if cost <= left:
                assert pay(ask, ledger, part, MILLIONTH).account.rho_left == left - cost
                left, granted = left - cost, [*granted, part]
            else:
                with pytest.raises(BudgetExceededError):
                    pay(ask, ledger, part, MILLIONTH)
        ledger.verify()
    if granted:
        assert guarantee_of(ComposedEvent(tuple(granted)), REPLACE, MILLIONTH).epsilon <= 1


FORGERIES = {
    "UPDATE accounts SET rho_cap = rho_cap + 1": "differs from its entries in rho_cap",
    "UPDATE accounts SET rho_spent = 0": "differs from its entries in rho_spent",
    "UPDATE accounts SET failure_spent = 1": "differs from its entries in failure_spent",
    "UPDATE accounts SET failure_cap = failure_cap + 1": "differs from its entries in failure_cap",
    "UPDATE accounts SET accounting = 'basic', epsilon_cap = 9000000000": "differs from its entries in accounting",
    "UPDATE entries SET rho = 1 WHERE seq = 2": "entry 2 was changed",
    "UPDATE entries SET failure = 1 WHERE seq = 2": "entry 2 was changed",
    "UPDATE entries SET rho = NULL, failure = NULL WHERE seq = 2": "entry 2 was changed",
    "UPDATE entries SET rho = 0 WHERE seq = 3": "entry 3 was changed",
}


@pytest.mark.parametrize("change", FORGERIES)
def test_every_change_is_named(zcdp, ask, path, tamper, change):
    """The new columns are covered by the hashes and by the sums."""
    pay(ask, zcdp, SelectionEvent(TENTH, "gumbel")).touch()
    tamper(path, change)
    with pytest.raises(VerificationError, match=FORGERIES[change]):
        zcdp.verify()


@pytest.mark.parametrize(
    ("seq", "changes", "text"),
    [
        (1, {"rho": 10**12}, "entry 1 has a cap on rho that its epsilon and delta do not allow"),
        (1, {"failure": 10**12}, "entry 1 has a cap on rho that its epsilon and delta do not allow"),
        (1, {"failure": 0}, "entry 1 has a cap on rho that its epsilon and delta do not allow"),
        (1, {"rho": None, "failure": None}, "entry 2 adds up another amount than its data set"),
        (2, {"rho": None, "failure": None}, "entry 2 adds up another amount than its data set"),
        (2, {"rho": 10**12}, "entry 2 spends more than the cap"),
        (2, {"failure": 10**12}, "entry 2 spends more than the cap"),
        (4, {"rho": 0}, r"entry 4 \(cancel\) does not give back what was reserved"),
        (5, {"rho": None, "failure": None}, "entry 5 adds up another amount than its data set"),
    ],
)
def test_forgeries_with_fitting_hashes_are_found(zcdp, ask, path, rewrite, seq, changes, text):
    """A rewritten chain must still add up, in the unit of the account."""
    pay(ask, zcdp, SelectionEvent(TENTH, "gumbel"))
    pay(ask, zcdp, SelectionEvent(TENTH, "gumbel")).cancel()
    zcdp.grant("rand-hie", 2, MILLIONTH)
    rewrite(path, seq, **changes)
    with pytest.raises(VerificationError, match=text):
        zcdp.verify()
