"""Uses of private data as values, one class for each mechanism: a mechanism never computes an epsilon.

An event's meaning never changes; a new analysis is a new event.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import UnsupportedEventError


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
class LaplaceEvent(Event):
    """One addition of discrete Laplace noise to a vector of integers.

    Parameters
    ----------
    epsilon : Fraction
        The vector's l1 sensitivity over the noise's scale, in nats.
    """

    epsilon: Fraction


@dataclass(frozen=True)
class CubeEvent(Event):
    """One addition of noise to a vector of integers, its weight falling with the largest coordinate.

    Parameters
    ----------
    epsilon : Fraction
        The most that any number of the vector changes, over the noise's scale, in nats.
    """

    epsilon: Fraction


@dataclass(frozen=True)
class EllipsoidEvent(Event):
    """One addition of noise to a vector of integers, its weight falling with the vector's length in units of scales.

    Parameters
    ----------
    epsilon : Fraction
        The largest Euclidean length of a change, each coordinate over its scale, in nats.
    """

    epsilon: Fraction


@dataclass(frozen=True)
class GaussianEvent(Event):
    """One addition of discrete Gaussian noise to a vector of integers, coordinates independent.

    Parameters
    ----------
    rho : Fraction
        The largest sum, over coordinates, of squared change over twice the squared scale: its zero-concentrated cost,
        and half the squared mu of Gaussian differential privacy.
    lattice : Fraction
        The largest sum, over coordinates, of absolute change over squared scale: what the lattice adds to the epsilon
        of the continuous Gaussian, in nats.

    References
    ----------
    Privacy specification 6.1; Canonne, Kamath, Steinke 2020; Balle and Wang 2018.
    """

    rho: Fraction
    lattice: Fraction


@dataclass(frozen=True)
class ObjectivePerturbationEvent(Event):
    """The exact minimizer of an objective with a random linear term.

    Parameters
    ----------
    epsilon : Fraction
        Of the linear term and the determinant together, in nats.

    References
    ----------
    Privacy specification 6.2; Chaudhuri, Monteleoni, Sarwate 2011.
    """

    epsilon: Fraction


@dataclass(frozen=True)
class FailureEvent(Event):
    """A bound that other parts need, and that fails with at most this probability.

    Parameters
    ----------
    delta : Fraction
        The probability, in (0, 1).
    """

    delta: Fraction


@dataclass(frozen=True)
class ComposedEvent(Event):
    """Several events on the same units, chosen adaptively or not.

    Parameters
    ----------
    events : tuple of Event
        The parts.
    """

    events: tuple[Event, ...]


@dataclass(frozen=True)
class ParallelEvent(Event):
    """Events on disjoint groups of the units, each of which is thrown into its group by coins that nobody sees.

    The coins do not depend on the rows, and of two neighboring tables, for coins of one law, the rows of a single group
    differ, by what the neighboring relation allows. What is done to a group may depend on the releases of the others.

    Parameters
    ----------
    events : tuple of Event
        What is done to each group.

    References
    ----------
    McSherry 2009, Theorem 4 (parallel composition); the coins: ``data/halves.privacy.md``.
    """

    events: tuple[Event, ...]


@dataclass(frozen=True)
class AlternativeEvent(Event):
    """One of several events without a delta: which one, the releases before it tell, and nothing else of the rows.

    Parameters
    ----------
    events : tuple of Event
        What may be done; just one of them is.
    """

    events: tuple[Event, ...]


def event_record(event: Event) -> dict[str, Any]:
    """Return an event as a JSON value, for a release.

    Parameters
    ----------
    event : Event
        The event.

    Returns
    -------
    dict
        Its type's name, and its fields: numbers as floats, parts as records.

    Examples
    --------
    >>> event_record(LaplaceEvent(Fraction(1, 2)))
    {'type': 'LaplaceEvent', 'epsilon': 0.5}
    """
    return {"type": type(event).__name__, **{name: _plain(value) for name, value in vars(event).items()}}


def event_of(record: dict[str, Any]) -> Event:
    """Return the event of a record, its numbers as exact as floats are.

    Parameters
    ----------
    record : dict
        As `event_record` makes it.

    Returns
    -------
    Event
        Of the same kind.

    Raises
    ------
    UnsupportedEventError
        When the record is of no event of this kind.
    """
    kind_by_name = {kind.__name__: kind for kind in _kinds(Event)}
    fields = {name: _read(value) for name, value in record.items() if name != "type"}
    try:
        return kind_by_name[record["type"]](**fields)
    except (KeyError, TypeError):
        raise UnsupportedEventError(
            "A record must be of an event that is analyzed here, but this one is not."
        ) from None


def _kinds(kind: type[Event]) -> list[type[Event]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _kinds(below))]


def _read(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(event_of, value))
    return value if isinstance(value, str) else Fraction(value)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [event_record(part) for part in value]
    return value if isinstance(value, str) else float(value)
