"""What a private computation did to the data, as values: a mechanism never computes an epsilon.

An event's meaning never changes; a new analysis is a new event.
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Event:
    """One use of private data."""


@dataclass(frozen=True)
class SelectionEvent(Event):
    """One draw of the selection theorem, its noise calibrated to the range sensitivity of the scores.

    Parameters
    ----------
    epsilon : Fraction
        The slope of the noise, in nats per range sensitivity.
    noise : str
        The noise's law: "exponential", "gumbel" or "laplace".
    """

    epsilon: Fraction
    noise: str


@dataclass(frozen=True)
class ComposedEvent(Event):
    """Several events on the same units, chosen adaptively or not.

    Parameters
    ----------
    events : tuple of Event
        The parts.
    """

    events: tuple[Event, ...]
