"""What the parts of a composition add up to, before any conversion."""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.events import (
    ComposedEvent,
    Event,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    SelectionEvent,
)
from discreet.accounting.guarantee import exact_delta, exact_epsilon
from discreet.errors import InvalidParameterError, UnsupportedEventError

ZERO = Fraction(0)

_SMALL = Fraction(1, 10**6)
"""Below it epsilon^2/2 and epsilon tanh(epsilon/2) are one number to twelve digits, and no float underflows."""


@dataclass(frozen=True)
class Totals:
    """Sums over the parts of a composition.

    Parameters
    ----------
    pure : Fraction
        Epsilon of the parts that have one without delta, in nats.
    pure_rho : Fraction
        The same parts under zero-concentrated accounting.
    gaussian_rho : Fraction
        Rho of the Gaussian parts.
    lattice : Fraction
        What the lattice adds to the epsilon of the Gaussian parts, in nats.
    failure : Fraction
        Probability that a bound fails.
    """

    pure: Fraction = ZERO
    pure_rho: Fraction = ZERO
    gaussian_rho: Fraction = ZERO
    lattice: Fraction = ZERO
    failure: Fraction = ZERO

    def __add__(self, other: "Totals") -> "Totals":
        return Totals(
            self.pure + other.pure,
            self.pure_rho + other.pure_rho,
            self.gaussian_rho + other.gaussian_rho,
            self.lattice + other.lattice,
            self.failure + other.failure,
        )

    @property
    def rho(self) -> Fraction:
        """Rho of all parts."""
        return self.pure_rho + self.gaussian_rho


def totals_of(event: Event) -> Totals:
    """Return what an event, or the parts of a composition, add up to.

    Parameters
    ----------
    event : Event
        What was, or will be, done to the data.

    Returns
    -------
    Totals
        Exact sums; rho of pure parts is rounded up.

    Raises
    ------
    UnsupportedEventError
        When the event, or a part of it, is of a kind that has no analysis here, or a composition is empty.
    InvalidParameterError
        When a number of a part is out of its range.
    """
    # A subclass may mean something else, so types are compared exactly.
    if type(event) is ComposedEvent:
        if not event.events:
            raise UnsupportedEventError("An event must have at least one part. An empty composition has no cost.")
        return sum((totals_of(part) for part in event.events), Totals())
    if type(event) is SelectionEvent:
        return _selection(event)
    if type(event) is LaplaceEvent:
        epsilon = exact_epsilon(event.epsilon)
        return Totals(pure=epsilon, pure_rho=rho_of_pure(epsilon))
    if type(event) is GaussianEvent:
        return _gaussian(event)
    if type(event) is FailureEvent:
        return Totals(failure=_probability(event.delta))
    raise UnsupportedEventError(
        f"Accounting must know every event, but event={type(event).__name__}. Add its analysis to accounting/totals.py."
    )


def rho_of_pure(epsilon: Fraction) -> Fraction:
    """Return a rho that every mechanism with this pure epsilon satisfies, rounded up.

    Parameters
    ----------
    epsilon : Fraction
        In nats, positive.

    Returns
    -------
    Fraction
        epsilon tanh(epsilon/2), and never more than epsilon^2/2.

    Notes
    -----
    Randomized response R, which answers truly with probability 1/(1 + e^-epsilon), dominates every such mechanism, and
    ``D_a = (g(a - 1/2) - g(1/2)) / (a - 1)`` with ``g(s) = log cosh(s epsilon)``. This is the mean of
    ``g'(s) = epsilon tanh(s epsilon)`` over [1/2, a - 1/2]. tanh is concave on the positive numbers and 0 at 0, so the
    mean is at most ``epsilon tanh(a epsilon/2) <= a epsilon tanh(epsilon/2)``.

    References
    ----------
    Bun and Steinke 2016, Proposition 3.3; Kairouz, Oh, Viswanath 2015 (domination); privacy specification 7.1.

    Examples
    --------
    >>> round(float(rho_of_pure(Fraction(1))), 6)
    0.462117
    """
    half = epsilon * epsilon / 2
    if epsilon < _SMALL:
        return half
    # Two roundings, each below 2^-52: 2^-50 covers them.
    slope = Fraction(math.tanh(float(epsilon / 2))) * (1 + Fraction(1, 2**50))
    return min(half, epsilon * slope)


def _selection(event: SelectionEvent) -> Totals:
    epsilon = exact_epsilon(event.epsilon)
    # Gumbel noise is the exponential mechanism: its privacy loss lies in an interval of length epsilon, so Hoeffding's
    # lemma gives epsilon^2/8 (Dong, Durfee, Rogers 2020; Cesar, Rogers 2021). This is false for the other two noises.
    rho = rho_of_pure(epsilon)
    return Totals(pure=epsilon, pure_rho=min(rho, epsilon**2 / 8) if event.noise == "gumbel" else rho)


def _gaussian(event: GaussianEvent) -> Totals:
    rho, lattice = Fraction(event.rho), Fraction(event.lattice)
    if rho <= 0 or lattice < 0:
        raise InvalidParameterError(
            f"A Gaussian's rho must be positive and its lattice 0 or more, but rho={rho} and lattice={lattice}."
        )
    return Totals(gaussian_rho=rho, lattice=lattice)


def _probability(delta: Fraction) -> Fraction:
    found = exact_delta(delta)
    if not found:
        raise InvalidParameterError(
            "The probability of a failure must lie in (0, 1), but delta=0. Leave the event out."
        )
    return found
