"""One of several pure events, chosen by what was released before: the largest of each cost."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import (
    AlternativeEvent,
    ComposedEvent,
    CubeEvent,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    SelectionEvent,
    event_of,
    event_record,
)
from discreet.accounting.neighbors import NeighboringRelation
from discreet.accounting.totals import totals_of
from discreet.errors import UnsupportedEventError
from discreet.report.price import price

RELATION = NeighboringRelation.REPLACE_ONE
LOOK = CubeEvent(Fraction(1, 20))
DEAR = ComposedEvent((LaplaceEvent(Fraction(1, 2)), SelectionEvent(Fraction(1, 4), "exponential")))
CHEAP = LaplaceEvent(Fraction(1, 3))


def charged(first, second):
    """Epsilon of a look and one of two events."""
    return guarantee_of(ComposedEvent((LOOK, AlternativeEvent((first, second)))), RELATION).epsilon


def test_the_dearer_one_is_charged_whichever_is_done():
    """Beside what was before; order means nothing; as rho too, and in a release."""
    assert charged(DEAR, CHEAP) == charged(CHEAP, DEAR) == Fraction(4, 5)
    alone = [totals_of(each) for each in (DEAR, CHEAP)]
    both = totals_of(AlternativeEvent((DEAR, CHEAP)))
    assert both.pure == max(each.pure for each in alone)
    assert both.rho == max(each.rho for each in alone)
    record = event_record(ComposedEvent((LOOK, AlternativeEvent((DEAR, CHEAP)))))
    assert event_of(record).events[1].events[1].epsilon == pytest.approx(1 / 3)
    assert price(record).epsilon == pytest.approx(0.8)


@pytest.mark.parametrize(
    "event",
    [
        AlternativeEvent(()),
        AlternativeEvent((CHEAP, GaussianEvent(Fraction(1, 9), Fraction(0)))),
        AlternativeEvent((CHEAP, ComposedEvent((CHEAP, FailureEvent(Fraction(1, 9)))))),
    ],
)
def test_what_has_a_delta_is_refused(event):
    """Its guarantee would not be a pair of largest costs."""
    with pytest.raises(UnsupportedEventError, match="An alternative must"):
        guarantee_of(ComposedEvent((LOOK, event)), RELATION, Fraction(1, 10**6))


def answers(epsilon, bit):
    """Law of randomized response to a bit."""
    truth = 1.0 / (1.0 + np.exp(-epsilon))
    return np.array([truth, 1.0 - truth] if bit else [1.0 - truth, truth])


def loss(look, first, second):
    """The largest log-ratio of a look by randomized response, and one of two others by what it said."""
    laws = [
        np.outer(answers(look, bit), np.ones(2)) * np.array([answers(first, bit), answers(second, bit)])
        for bit in (0, 1)
    ]
    return float(np.abs(np.log(laws[0] / laws[1])).max())


@pytest.mark.parametrize(("first", "second"), [(0.75, 0.25), (0.25, 0.75), (0.5, 0.5)])
def test_the_worst_pair_of_two_alternatives_spends_what_is_charged(first, second):
    """Answers of randomized response, which dominates every pure mechanism, to the same bit."""
    stated = charged(LaplaceEvent(Fraction(first)), LaplaceEvent(Fraction(second)))
    assert loss(0.05, first, second) == pytest.approx(float(stated))


def test_the_cheaper_alternative_as_a_price_is_flagged():
    """Control: the price of the one that is cheaper, or of either's mean, is less than what is lost."""
    assert loss(0.05, 0.75, 0.25) > 0.05 + (0.75 + 0.25) / 2 > 0.05 + 0.25
