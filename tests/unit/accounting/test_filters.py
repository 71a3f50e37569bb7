"""Filters: a cap holds whatever was asked before, and nothing is charged for what is refused."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, FailureEvent, GaussianEvent, LaplaceEvent, SelectionEvent
from discreet.accounting.filters import ApproximateFilter, PureFilter, ZCDPFilter
from discreet.accounting.neighbors import NeighboringRelation
from discreet.accounting.zcdp import rho_of_epsilon
from discreet.errors import BudgetExceededError, InvalidParameterError

RELATION = NeighboringRelation.REPLACE_ONE
MILLIONTH = Fraction(1, 10**6)

epsilons = st.fractions(Fraction(1, 100), Fraction(1, 2), max_denominator=100)
pure = st.one_of(st.builds(LaplaceEvent, epsilons), st.builds(SelectionEvent, epsilons, st.just("gumbel")))
gaussian = st.builds(GaussianEvent, st.fractions(Fraction(1, 1000), Fraction(1, 20)), st.just(Fraction(0)))
failure = st.builds(FailureEvent, st.just(Fraction(1, 10**8)))


def admitted(budget, events):
    """Spend whatever fits, and check that what does not is refused and costs nothing."""
    taken = []
    for event in events:
        before = budget.spent
        if budget.admits(event):
            budget.spend(event)
            taken.append(event)
        else:
            with pytest.raises(BudgetExceededError, match="must fit below the cap"):
                budget.spend(event)
            assert budget.spent == before
    return taken


@given(st.lists(pure, min_size=1, max_size=30))
def test_a_pure_cap_holds(events):
    """What was admitted composes to at most the cap, and one more of what was refused would not."""
    budget = PureFilter(1)
    taken = admitted(budget, events)
    assert guarantee_of(ComposedEvent(tuple(taken)), RELATION).epsilon == budget.spent[0] <= 1


@given(st.lists(st.one_of(pure, gaussian, failure), min_size=1, max_size=30))
def test_a_concentrated_cap_holds(events):
    """What was admitted converts to at most the epsilon of the cap."""
    budget = ZCDPFilter(rho_of_epsilon(1, MILLIONTH * 9 / 10), MILLIONTH / 10)
    taken = admitted(budget, events)
    assert budget.epsilon_at(MILLIONTH) == 1
    if any(not isinstance(event, FailureEvent) for event in taken):
        assert guarantee_of(ComposedEvent(tuple(taken)), RELATION, MILLIONTH).epsilon <= 1


@given(st.lists(st.one_of(pure, gaussian), min_size=1, max_size=30))
def test_approximate_caps_hold(events):
    """Both sums stay below their caps, and the composition's own guarantee is no worse."""
    budget = ApproximateFilter(2, 10 * MILLIONTH, MILLIONTH)
    taken = admitted(budget, events)
    epsilon, delta = budget.spent
    assert delta == len(taken) * MILLIONTH <= 10 * MILLIONTH
    if taken:
        assert guarantee_of(ComposedEvent(tuple(taken)), RELATION, delta).epsilon <= epsilon <= 2


def test_exactly_the_cap_fits():
    """Ten tenths fill a cap of one, to the last digit."""
    budget = PureFilter(1)
    for _ in range(10):
        budget.spend(LaplaceEvent(Fraction(1, 10)))
    assert budget.spent == (1, 0)
    assert not budget.admits(LaplaceEvent(Fraction(1, 10**30)))


def test_a_refusal_says_what_is_asked_and_what_is_left():
    """Both numbers in the unit of the first cap, whichever of the caps was too small."""
    budget = ApproximateFilter(2, 3 * MILLIONTH, MILLIONTH)
    budget.spend(LaplaceEvent(Fraction(1, 2)))
    with pytest.raises(
        BudgetExceededError, match=r"costs epsilon=1\.75 and delta=1e-06, and 1\.5 and 2e-06 are"
    ) as refused:
        budget.spend(LaplaceEvent(Fraction(7, 4)))
    assert (refused.value.requested, refused.value.remaining) == (Fraction(7, 4), Fraction(3, 2))
    budget = ZCDPFilter(1, MILLIONTH)
    with pytest.raises(BudgetExceededError) as refused:
        budget.spend(ComposedEvent((SelectionEvent(Fraction(2), "gumbel"), FailureEvent(2 * MILLIONTH))))
    assert (refused.value.requested, refused.value.remaining) == (Fraction(1, 2), 1)


@pytest.mark.parametrize("event", [GaussianEvent(Fraction(1, 9), Fraction(0)), FailureEvent(MILLIONTH)])
def test_a_pure_cap_takes_nothing_else(event):
    """An event with a delta has no pure epsilon."""
    with pytest.raises(InvalidParameterError, match="without delta"):
        PureFilter(1).admits(event)


def test_the_running_rho_is_not_converted():
    """Only the cap converts: what was spent does not change the epsilon that is told."""
    budget = ZCDPFilter("0.05", 1e-8)
    whole = budget.epsilon_at(1e-6)
    budget.spend(SelectionEvent(Fraction(1, 10), "gumbel"))
    assert (budget.epsilon_at(1e-6), budget.spent) == (whole, (Fraction(1, 800), 0))
    with pytest.raises(InvalidParameterError, match="above the cap on failures"):
        budget.epsilon_at(1e-8)


@pytest.mark.parametrize("cap", [0, -1, "nan"])
def test_a_cap_is_positive(cap):
    """Nothing fits below a cap of zero."""
    for make in (PureFilter, ZCDPFilter, lambda value: ApproximateFilter(value, 0)):
        with pytest.raises(InvalidParameterError):
            make(cap)
