"""From events to the guarantee they give; what is not known here is refused."""

from fractions import Fraction

from discreet.accounting.events import ComposedEvent, Event, SelectionEvent
from discreet.accounting.guarantee import Guarantee, exact_epsilon
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import UnsupportedEventError


def guarantee_of(event: Event, neighboring: NeighboringRelation) -> Guarantee:
    """Return the guarantee of an event by basic composition.

    Parameters
    ----------
    event : Event
        What was, or will be, done to the data; its sensitivities hold under `neighboring`.
    neighboring : NeighboringRelation
        The relation that all parts share.

    Returns
    -------
    Guarantee
        The sum of the parts' epsilon and delta.

    Raises
    ------
    UnsupportedEventError
        When the event, or a part of it, is of a kind that has no analysis here.

    Examples
    --------
    >>> one = SelectionEvent(Fraction(1, 2), "gumbel")
    >>> guarantee_of(ComposedEvent((one, one)), NeighboringRelation.REPLACE_ONE).epsilon
    Fraction(1, 1)
    """
    parts = [_pure_cost(part) for part in _flatten(event)]
    if not parts:
        raise UnsupportedEventError("An event must have at least one part. An empty composition has no cost to state.")
    return Guarantee(sum(parts, Fraction(0)), Fraction(0), neighboring)


def _flatten(event: Event) -> list[Event]:
    if type(event) is ComposedEvent:  # a subclass may mean something else
        return [leaf for part in event.events for leaf in _flatten(part)]
    return [event]


def _pure_cost(event: Event) -> Fraction:
    if type(event) is SelectionEvent:
        return exact_epsilon(event.epsilon)
    raise UnsupportedEventError(
        f"Accounting must know every event, but event={type(event).__name__}. "
        "Add its analysis to accounting/compose.py."
    )
