"""From events to a guarantee: sums without rounding, and nothing that is not known."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, FailureEvent, GaussianEvent, LaplaceEvent, SelectionEvent
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.neighbors import NeighboringRelation
from discreet.accounting.zcdp import epsilon_of_rho, rho_of
from discreet.errors import InvalidParameterError, UnsupportedEventError

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


MILLIONTH = Fraction(1, 10**6)
RELATION = NeighboringRelation.REPLACE_ONE
small = st.fractions(Fraction(1, 1000), Fraction(1, 2), max_denominator=1000)
noises = st.sampled_from(["gumbel", "exponential", "laplace"])
parts = st.one_of(
    st.builds(SelectionEvent, small, noises),
    st.builds(LaplaceEvent, small),
    st.builds(GaussianEvent, small.map(lambda rho: rho / 4), small.map(lambda lattice: lattice / 1000)),
)
events = st.lists(parts, min_size=1, max_size=8).map(tuple)


def epsilon_of(parts, delta=MILLIONTH):
    """State the epsilon of a composition."""
    return guarantee_of(ComposedEvent(tuple(parts)), RELATION, delta).epsilon


@pytest.mark.slow
@given(events, parts)
def test_another_part_never_makes_it_cheaper(events, part):
    """Epsilon grows with every part, and with a smaller delta."""
    assert epsilon_of(events) <= epsilon_of((*events, part))
    assert epsilon_of(events) <= epsilon_of(events, MILLIONTH / 1000)


@pytest.mark.slow
@given(events, events)
def test_composition_is_no_worse_than_adding_guarantees(first, second):
    """The whole at the sum of deltas costs no more than the halves' guarantees added up."""
    assert epsilon_of(first + second, 2 * MILLIONTH) <= epsilon_of(first) + epsilon_of(second)


@pytest.mark.slow
@given(events)
def test_order_and_nesting_do_not_matter(events):
    """Only the totals count."""
    found = epsilon_of(events)
    assert epsilon_of(events[::-1]) == epsilon_of((ComposedEvent(events),)) == found


@given(events)
def test_the_least_of_three_ways(events):
    """Never more than the sum of pure parts beside the Gaussian, never more than zero-concentrated accounting."""
    found = epsilon_of(events)
    rho, _ = rho_of(ComposedEvent(events))
    assert found <= epsilon_of_rho(rho, MILLIONTH)
    gaussian = tuple(part for part in events if isinstance(part, GaussianEvent))
    pure = sum((part.epsilon for part in events if not isinstance(part, GaussianEvent)), Fraction(0))
    bound = pure + epsilon_of(gaussian) if gaussian else pure
    assert found <= bound + Fraction(1, 10**9)


def test_the_published_numbers():
    """Privacy specification 7.1: fifty exponential mechanisms of 0.1 cost 5 pure, and 1.66 at delta 1e-6."""
    gumbel, other = ((SelectionEvent(Fraction(1, 10), noise),) * 50 for noise in ("gumbel", "exponential"))
    assert guarantee_of(ComposedEvent(gumbel), RELATION) == Guarantee(Fraction(5), Fraction(0), RELATION)
    assert round(float(epsilon_of(gumbel)), 2) == 1.66
    assert round(float(epsilon_of(other)), 2) == 3.54


def test_a_large_selection_beside_many_small_ones():
    """The large one is added up, the small ones are concentrated: neither way alone is near."""
    large, small = SelectionEvent(Fraction(3), "exponential"), SelectionEvent(Fraction(1, 10), "gumbel")
    assert epsilon_of((large, *(small,) * 50)) == 3 + epsilon_of((small,) * 50)
    noise = GaussianEvent(Fraction(1, 50), Fraction(1))  # its lattice term is worse than the conversion
    assert epsilon_of((large, noise)) == 3 + epsilon_of_rho(noise.rho, MILLIONTH)


def test_failures_take_their_part_of_delta():
    """What may fail is stated with the pure sum, and is taken from the delta asked for otherwise."""
    pure, failure = SelectionEvent(Fraction(1), "exponential"), FailureEvent(Fraction(1, 10**7))
    assert guarantee_of(ComposedEvent((pure, failure)), RELATION) == Guarantee(Fraction(1), failure.delta, RELATION)
    both = ComposedEvent((pure, failure, failure))
    assert guarantee_of(both, RELATION, MILLIONTH) == Guarantee(Fraction(1), MILLIONTH, RELATION)
    assert guarantee_of(both, RELATION, 2 * failure.delta).epsilon == 1
    with pytest.raises(InvalidParameterError, match=r"delta must cover what the parts may fail with, 0.0000002"):
        guarantee_of(both, RELATION, failure.delta)
    noisy = GaussianEvent(Fraction(1, 50), Fraction(0))
    assert epsilon_of((noisy, failure), MILLIONTH + failure.delta) == epsilon_of((noisy,))


@pytest.mark.parametrize("delta", [0, MILLIONTH / 2, MILLIONTH])
def test_gaussian_noise_needs_delta(delta):
    """The message says how much is taken already."""
    event = ComposedEvent((GaussianEvent(Fraction(1, 50), Fraction(0)), FailureEvent(MILLIONTH)))
    with pytest.raises(InvalidParameterError, match=r"needs delta above 0 and above .* 0\.000001, but delta="):
        guarantee_of(event, RELATION, Fraction(delta))


@pytest.mark.parametrize(
    "part",
    [
        GaussianEvent(Fraction(0), Fraction(0)),
        GaussianEvent(Fraction(1), Fraction(-1)),
        FailureEvent(Fraction(0)),
        FailureEvent(Fraction(1)),
        LaplaceEvent(Fraction(0)),
    ],
)
def test_parts_out_of_range(part):
    """No part can make the whole cheaper than it is."""
    with pytest.raises(InvalidParameterError):
        epsilon_of((SelectionEvent(Fraction(1), "gumbel"), part))


def test_failures_alone_are_no_release():
    """There is no epsilon to state."""
    with pytest.raises(UnsupportedEventError, match="noise"):
        epsilon_of((FailureEvent(MILLIONTH / 2),))


def test_noise_too_small_to_promise_anything():
    """An epsilon above 1000 is none."""
    with pytest.raises(InvalidParameterError, match="epsilon must lie"):
        epsilon_of((GaussianEvent(Fraction(10**9), Fraction(0)),))
