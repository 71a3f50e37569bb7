"""The budget rule: a cap holds whatever was asked before, and the database follows it to the last grain."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Integer, MetaData, Table, create_engine, insert, select

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, FailureEvent, GaussianEvent, LaplaceEvent, SelectionEvent
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.neighbors import NeighboringRelation
from discreet.ledger import Accounting, costs, rule
from discreet.ledger.costs import AMOUNTS

RELATION = NeighboringRelation.REPLACE_ONE
MILLIONTH = Fraction(1, 10**6)

epsilons = st.fractions(Fraction(1, 100), Fraction(1, 2), max_denominator=100)
pure = st.one_of(st.builds(LaplaceEvent, epsilons), st.builds(SelectionEvent, epsilons, st.just("gumbel")))
gaussian = st.builds(GaussianEvent, st.fractions(Fraction(1, 1000), Fraction(1, 20)), st.just(Fraction(0)))
failure = st.builds(FailureEvent, st.just(Fraction(1, 10**8)))


def charged(accounting, cap, events):
    """Charge whatever fits below a cap; return what was charged."""
    sums = {f"{name}_cap": cap[name] or 0 for name in AMOUNTS} | {f"{name}_spent": 0 for name in AMOUNTS}
    taken = []
    for event, guarantee in events:
        cost = costs.cost_of(accounting, guarantee, event)
        if all(rule.conditions(accounting, sums, cost).values()):
            sums |= {f"{name}_spent": sums[f"{name}_spent"] + (cost[name] or 0) for name in AMOUNTS}
            taken.append(event)
    return taken


@pytest.mark.slow
@given(st.lists(st.one_of(pure, gaussian, failure), min_size=1, max_size=30))
def test_a_concentrated_cap_holds(events):
    """What was charged composes to a guarantee within the epsilon and delta of the cap."""
    cap = costs.cap_of(Accounting.ZCDP, 1, MILLIONTH)
    nothing = Guarantee(Fraction(1), Fraction(0), RELATION)  # epsilon is not what such a cap holds
    taken = charged(Accounting.ZCDP, cap, [(event, nothing) for event in events])
    if any(not isinstance(event, FailureEvent) for event in taken):
        assert guarantee_of(ComposedEvent(tuple(taken)), RELATION, MILLIONTH).epsilon <= 1


@pytest.mark.slow
@given(st.lists(pure, min_size=1, max_size=30))
def test_a_pure_cap_holds(events):
    """What was charged composes to at most the cap."""
    cap = costs.cap_of(Accounting.BASIC, 1, 0)
    taken = charged(Accounting.BASIC, cap, [(event, guarantee_of(event, RELATION)) for event in events])
    assert guarantee_of(ComposedEvent(tuple(taken)), RELATION).epsilon <= 1


def test_a_cap_that_holds_the_other_sums_is_flagged():
    """Control: a cap under zCDP that held epsilon in place of rho would let a guarantee through that is above it."""
    cap = costs.cap_of(Accounting.ZCDP, 1, MILLIONTH)
    events = [(LaplaceEvent(Fraction(1, 2)), Guarantee(Fraction(1, 100), Fraction(0), RELATION))] * 20
    taken = charged(Accounting.BASIC, cap, events)
    assert guarantee_of(ComposedEvent(tuple(taken)), RELATION, MILLIONTH).epsilon > 1


numbers = st.integers(0, 2**60)


@pytest.mark.slow
@pytest.mark.parametrize("accounting", Accounting)
@given(values=st.lists(numbers, min_size=8, max_size=8), nearly=st.lists(st.integers(-1, 1), min_size=4, max_size=4))
def test_the_database_follows_it(accounting, values, nearly):
    """The same expression over columns has the same truth as over numbers, also at a cap and one grain beside it."""
    names = [f"{name}_{of}" for name in AMOUNTS for of in ("cap", "spent")]
    sums = dict(zip(names, values, strict=True))
    cost = {
        name: max(0, sums[f"{name}_cap"] - sums[f"{name}_spent"] + more)
        for name, more in zip(AMOUNTS, nearly, strict=True)
    }
    table = Table("sums", MetaData(), *(Column(name, Integer) for name in names))
    with create_engine("sqlite://").begin() as connection:
        table.create(connection)
        connection.execute(insert(table).values(sums))
        conditions = rule.conditions(accounting, table.c, cost)
        row = connection.execute(select(*(fits.label(name) for name, fits in conditions.items()))).mappings().one()
    assert dict(row) == rule.conditions(accounting, sums, cost)
