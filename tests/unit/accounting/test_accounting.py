"""Values of accounting: exact numbers, refusals, sums."""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, Event, GaussianEvent, SelectionEvent, event_record
from discreet.accounting.guarantee import Guarantee, exact, exact_delta, exact_epsilon
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import InvalidParameterError, UnsupportedEventError

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (Decimal("1e-3"), Fraction(1, 1000)),
        (Fraction(1, 3), Fraction(1, 3)),
        (7, Fraction(7)),
        (5e-324, Fraction(5, 10**324)),
    ],
)
def test_a_number_is_the_one_a_person_wrote(written, meant):
    """Floats stand for the shortest decimal that prints them."""
    assert exact(written, "x") == meant


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_float_keeps_its_value(value):
    """Nothing is rounded: the fraction is the same float again."""
    assert float(exact(value, "x")) == value


@pytest.mark.parametrize(
    "value", ["nan", "inf", float("nan"), -math.inf, True, "one", "", None, "1e999", "1e-99999999", [1]]
)
def test_what_is_no_number_is_refused(value):
    """Not a number, infinite, a truth value, or too large to write down: refused by name, in one line."""
    with pytest.raises(InvalidParameterError, match=r"^x must") as refused:
        exact(value, "x")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", [0, -0.1, 1000.1, 1e9, float("nan")])
def test_epsilon_out_of_range(value):
    """Epsilon lies in (0, 1000]."""
    with pytest.raises(InvalidParameterError, match="epsilon"):
        exact_epsilon(value)


@pytest.mark.parametrize("value", [-1e-9, 1, 2, float("inf")])
def test_delta_out_of_range(value):
    """Delta lies in [0, 1)."""
    with pytest.raises(InvalidParameterError, match="delta"):
        exact_delta(value)


def test_guarantees_compare_under_one_relation_alone():
    """A guarantee implies weaker ones of its own relation, never one of another."""
    strong, weak = Guarantee(Fraction(1), Fraction(0), REPLACE), Guarantee(Fraction(2), Fraction(1, 10), REPLACE)
    assert strong.implies(weak)
    assert strong.implies(strong)
    assert not weak.implies(strong)
    assert not strong.implies(Guarantee(Fraction(9), Fraction(0), ADD))
    assert not Guarantee(Fraction(1), Fraction(1, 2), REPLACE).implies(Guarantee(Fraction(2), Fraction(0), REPLACE))


@given(st.floats(0.001, 1000), st.floats(0.0, 1.0))
def test_worst_posterior_multiplies_the_odds(epsilon, prior):
    """Odds grow by e^epsilon at most; a probability stays one."""
    posterior = Guarantee(exact(epsilon, "e"), Fraction(0), REPLACE).worst_posterior(prior)
    assert prior - 1e-12 <= posterior <= 1.0
    if epsilon < 20 and 0.01 < prior < 0.99:
        odds = prior / (1 - prior) * math.exp(epsilon)
        assert posterior == pytest.approx(odds / (1 + odds), rel=1e-9)


def test_costs_add_up_exactly():
    """Ten tenths are one, nested or not."""
    tenth = SelectionEvent(exact(0.1, "e"), "gumbel")
    nested = ComposedEvent((ComposedEvent((tenth,) * 4), *(tenth,) * 6))
    assert guarantee_of(nested, ADD) == Guarantee(Fraction(1), Fraction(0), ADD)


def test_unknown_events_are_refused():
    """An event without an analysis has no cost; a subclass of a known one is not the known one."""

    @dataclass(frozen=True)
    class OtherSelectionEvent(SelectionEvent):
        """May mean anything."""

    @dataclass(frozen=True)
    class CheaperEvent(ComposedEvent):
        """May mean anything."""

    one = SelectionEvent(Fraction(1), "gumbel")
    for event in (Event(), OtherSelectionEvent(Fraction(1), "gumbel"), CheaperEvent((one,)), ComposedEvent(())):
        with pytest.raises(UnsupportedEventError):
            guarantee_of(event, REPLACE)
        with pytest.raises(UnsupportedEventError):
            guarantee_of(ComposedEvent((event,)), REPLACE)


def test_a_record_has_words_as_words_and_numbers_as_floats():
    """Whatever reads a release or a ledger gets JSON's own types, of parts as well."""
    parts = (SelectionEvent(Fraction(1, 4), "gumbel"), GaussianEvent(Fraction(1, 8), Fraction(0)))
    record = event_record(ComposedEvent(parts))
    assert record["events"][0] == {"type": "SelectionEvent", "epsilon": 0.25, "noise": "gumbel"}
    assert {type(value) for part in record["events"] for value in part.values()} == {str, float}
