"""Caps and costs in grains at the edges of what they may be."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.events import ComposedEvent, FailureEvent, GaussianEvent, LaplaceEvent, SelectionEvent
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.neighbors import NeighboringRelation
from discreet.accounting.totals import rho_of_pure
from discreet.accounting.zcdp import epsilon_of_rho
from discreet.errors import InvalidParameterError
from discreet.ledger.costs import accounting_of, cap_of, cost_of, follows, numbers
from discreet.ledger.grains import EPSILON_GRAIN
from discreet.ledger.records import Account, Accounting
from discreet.ledger.reservation import Reservation
from discreet.ledger.terms import check_cap, check_dataset, check_project, check_unit

RELATION = NeighboringRelation.REPLACE_ONE
MILLIONTH = Fraction(1, 10**6)
BASIC, ZCDP = Accounting.BASIC, Accounting.ZCDP


def promise(epsilon, delta=0):
    """Epsilon and delta, for any event."""
    return Guarantee(Fraction(epsilon), Fraction(delta), RELATION)


def test_names_of_100_characters_are_taken():
    """And those of one."""
    for name in ("x" * 100, "x"):
        assert [check(name) for check in (check_dataset, check_project, check_unit)] == [name] * 3
    for check in (check_dataset, check_project, check_unit):
        with pytest.raises(InvalidParameterError, match="100"):
            check("x" * 101)


def test_the_least_and_the_largest_caps():
    """Zero, a grain and a million are caps, in whole grains."""
    assert check_cap(0, 0) == (0, 0)
    assert check_cap(Fraction(1, 10**9), 0) == (1, 0)
    assert check_cap(10**6, MILLIONTH) == (10**15, 10**12)
    for epsilon in (Fraction(999, 10**12), 10**6 + EPSILON_GRAIN):
        with pytest.raises(InvalidParameterError, match="lifetime cap must be 0 or lie between"):
            check_cap(epsilon, 0)


def test_a_basic_cap_has_no_rho():
    """Epsilon and delta are all that adds up."""
    cap = cap_of(BASIC, Fraction(3, 2), MILLIONTH)
    assert cap == {"epsilon": 1_500_000_000, "delta": 10**12, "rho": None, "failure": None}
    assert numbers(cap) == {"epsilon": Fraction(3, 2), "delta": MILLIONTH, "rho": 0, "failure": 0}
    assert accounting_of(cap) is BASIC


@given(st.fractions(Fraction(1, 10), 1000, max_denominator=10**9), st.integers(10, 10**17))
def test_a_cap_under_zcdp_keeps_a_tenth_of_delta(epsilon, grains):
    """Rho converts at the other nine tenths to no more than epsilon, and the check of the books agrees."""
    cap = cap_of(ZCDP, epsilon, Fraction(grains, 10**18))
    found_epsilon, delta, rho, failure = numbers(cap).values()
    assert cap["failure"] == grains // 10
    assert epsilon - EPSILON_GRAIN < found_epsilon <= epsilon
    assert epsilon_of_rho(rho, delta - failure) <= found_epsilon
    assert follows(cap)
    assert accounting_of(cap) is ZCDP


def test_caps_under_zcdp_at_the_ends():
    """Ten grains of delta leave one for failures; an epsilon of 1000 is the largest."""
    assert cap_of(ZCDP, 1000, Fraction(10, 10**18))["failure"] == 1
    for epsilon, delta in ((1000 + EPSILON_GRAIN, MILLIONTH), (1, Fraction(9, 10**18))):
        with pytest.raises(InvalidParameterError, match="at most 1000 and delta of at least"):
            cap_of(ZCDP, epsilon, delta)


def test_a_cap_that_does_not_follow():
    """Ten steps are left to another machine's logarithms, and no more; failures may not take more than their tenth."""
    cap = cap_of(ZCDP, 1, MILLIONTH)
    _, delta, rho, failure = numbers(cap).values()
    exact = int(epsilon_of_rho(rho, delta - failure) / EPSILON_GRAIN)
    assert follows(cap | {"epsilon": exact - 10})
    assert not follows(cap | {"epsilon": exact - 11})
    assert not follows(cap | {"failure": cap["failure"] + 1})
    for name in ("failure", "rho"):
        assert not follows(cap | {name: 0})
        assert not follows(cap | {name: -1})
    assert follows(cap | {"rho": 1})


def test_costs_are_rounded_up_to_grains():
    """In each of the four amounts; rho only where it adds up, and never beyond what a database can add."""
    event = ComposedEvent((LaplaceEvent(Fraction(1, 3)), FailureEvent(Fraction(1, 3 * 10**9))))
    asked = promise(Fraction(1, 3), Fraction(1, 3 * 10**9))
    plain = {"epsilon": 333_333_334, "delta": 333_333_334, "rho": None, "failure": None}
    assert cost_of(BASIC, asked, event) == cost_of(BASIC, asked, None) == plain
    rho = -int(-rho_of_pure(Fraction(1, 3)) * 10**12 // 1)
    assert cost_of(ZCDP, asked, event) == plain | {"rho": rho, "failure": 333_333_334}
    assert cost_of(ZCDP, promise(Fraction(1, 3)), None)["rho"] == rho
    assert cost_of(ZCDP, promise(1), GaussianEvent(Fraction(10**7), Fraction(0)))["rho"] == 10**18
    with pytest.raises(InvalidParameterError, match="must come with its event"):
        cost_of(ZCDP, asked, None)


def reserved(accounting, guarantee, event):
    """A reservation of what this costs."""
    account = Account("d", "person", RELATION, *[Fraction(1)] * 4, n_releases=0, accounting=accounting)
    amounts = cost_of(accounting, guarantee, event)
    return Reservation(1, "", account, Fraction(0), amounts, lambda *_: None)


@pytest.mark.parametrize("accounting", [BASIC, ZCDP])
def test_what_was_reserved_covers_itself_and_less(accounting):
    """Not a grain more of any amount that the account adds up."""
    tenth = Fraction(1, 10)
    parts = (SelectionEvent(tenth, "gumbel"), FailureEvent(MILLIONTH))
    held = reserved(accounting, promise(tenth, MILLIONTH), ComposedEvent(parts))
    assert held.covers(promise(tenth, MILLIONTH), ComposedEvent(parts))
    assert held.covers(promise(tenth / 2, MILLIONTH), ComposedEvent(parts))
    assert not held.covers(promise(tenth + EPSILON_GRAIN, MILLIONTH), ComposedEvent(parts))
    assert not held.covers(promise(tenth, MILLIONTH + Fraction(1, 10**18)), ComposedEvent(parts))
    dearer = ComposedEvent((SelectionEvent(tenth, "laplace"), parts[1]))
    assert held.covers(promise(tenth, MILLIONTH), dearer) == (accounting is BASIC)
    riskier = ComposedEvent((parts[0], FailureEvent(2 * MILLIONTH)))
    assert held.covers(promise(tenth, MILLIONTH), riskier) == (accounting is BASIC)


def test_the_share_that_is_spent():
    """Of what adds up; nothing is left where there is no cap."""
    sums = [Fraction(4), Fraction(1), MILLIONTH, Fraction(0)]
    zcdp = {"rho_cap": Fraction(1, 2), "rho_spent": Fraction(1, 8), "failure_cap": MILLIONTH / 10}
    basic = Account("d", None, None, *sums, n_releases=0)
    concentrated = Account("d", None, None, *sums, n_releases=0, accounting=ZCDP, **zcdp)
    assert (basic.share_spent, basic.epsilon_left, basic.delta_left) == (Fraction(1, 4), 3, MILLIONTH)
    assert (basic.rho_cap, basic.rho_spent, basic.failure_cap, basic.failure_spent) == (0, 0, 0, 0)
    assert (concentrated.share_spent, concentrated.rho_left) == (Fraction(1, 4), Fraction(3, 8))
    assert concentrated.delta_left == MILLIONTH / 10
    assert (
        rho_of_pure(concentrated.epsilon_left)
        <= Fraction(3, 8)
        < rho_of_pure(concentrated.epsilon_left + EPSILON_GRAIN)
    )
    assert Account("d", None, None, *[Fraction(0)] * 4, n_releases=0).share_spent == 1
