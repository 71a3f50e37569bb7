"""From events to a guarantee: sums without rounding, and nothing that is not known."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, SelectionEvent
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import InvalidParameterError

costs = st.lists(st.fractions(Fraction(1, 1000), 9), min_size=1, max_size=6)


@given(costs, st.sampled_from(list(NeighboringRelation)), st.integers(0, 6))
def test_the_cost_is_the_sum_however_it_is_nested(epsilons, relation, at):
    """Parts side by side, in a nest, and in another order cost the same sum, under the relation that was asked."""
    parts = tuple(SelectionEvent(epsilon, "gumbel") for epsilon in epsilons)
    rest = (ComposedEvent(parts[at:]),) if parts[at:] else ()
    expected = Guarantee(sum(epsilons, Fraction(0)), Fraction(0), relation)
    for event in (ComposedEvent(parts), ComposedEvent(parts[::-1]), ComposedEvent((*parts[:at], *rest))):
        assert guarantee_of(event, relation) == expected


@pytest.mark.parametrize("epsilon", [0, -1, 1001])
def test_no_part_can_make_the_sum_smaller(epsilon):
    """A part whose own cost is out of range is refused, even where the sum would be in it."""
    parts = (SelectionEvent(Fraction(2), "gumbel"), SelectionEvent(Fraction(epsilon), "gumbel"))
    with pytest.raises(InvalidParameterError, match="epsilon"):
        guarantee_of(ComposedEvent(parts), NeighboringRelation.REPLACE_ONE)


def test_a_sum_beyond_the_range_is_refused():
    """Two halves of more than 1000 are no guarantee."""
    part = SelectionEvent(Fraction(501), "gumbel")
    with pytest.raises(InvalidParameterError, match="epsilon"):
        guarantee_of(ComposedEvent((part, part)), NeighboringRelation.REPLACE_ONE)
