"""A record of an event gives the event back."""

from fractions import Fraction

import pytest

from discreet.accounting.events import (
    ComposedEvent,
    EllipsoidEvent,
    GaussianEvent,
    LaplaceEvent,
    SelectionEvent,
    event_of,
    event_record,
)
from discreet.errors import UnsupportedEventError


def test_every_kind_comes_back_with_its_parts():
    """Numbers that floats hold."""
    parts = (
        SelectionEvent(Fraction(1, 2), "gumbel"),
        GaussianEvent(Fraction(1, 4), Fraction(1, 8)),
        EllipsoidEvent(Fraction(3)),
    )
    whole = ComposedEvent((*parts, ComposedEvent((LaplaceEvent(Fraction(1)),))))
    assert event_of(event_record(whole)) == whole


@pytest.mark.parametrize(
    "record", [{}, {"type": "Nothing"}, {"type": "LaplaceEvent"}, {"type": "LaplaceEvent", "b": 1}]
)
def test_what_is_no_event_is_refused(record):
    """By name, or by its fields."""
    with pytest.raises(UnsupportedEventError, match="must be of an event"):
        event_of(record)
