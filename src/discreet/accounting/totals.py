"""Sums of privacy costs over the parts of a composition, before any conversion."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.events import (
    AlternativeEvent,
    ComposedEvent,
    CubeEvent,
    EllipsoidEvent,
    Event,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    ObjectivePerturbationEvent,
    SelectionEvent,
)
from discreet.accounting.guarantee import exact_delta, exact_epsilon
from discreet.errors import InvalidParameterError, UnsupportedEventError

ZERO = Fraction(0)

_PURE = (LaplaceEvent, CubeEvent, EllipsoidEvent, ObjectivePerturbationEvent)

_SMALL = Fraction(1, 10**6)
"""Below it epsilon^2/2 and epsilon tanh(epsilon/2) are one number to twelve digits, and no float underflows."""


@dataclass(frozen=True)
class Totals:
    """Sums over the parts of a composition.

    Parameters
    ----------
    pure_parts : tuple of tuple of Fraction
        Parts that have an epsilon without delta, as (epsilon in nats, rho): one pair for all parts of one ratio of the
        two, the least ratio first.
    gaussian_rho : Fraction
        Rho of the Gaussian parts.
    lattice : Fraction
        The lattice term of the Gaussian parts, added to their epsilon, in nats.
    failure : Fraction
        Probability that a bound fails.
    """

    pure_parts: tuple[tuple[Fraction, Fraction], ...] = ()
    gaussian_rho: Fraction = ZERO
    lattice: Fraction = ZERO
    failure: Fraction = ZERO

    @property
    def pure(self) -> Fraction:
        """Sum of the pure epsilons, in nats."""
        return sum((epsilon for epsilon, _ in self.pure_parts), ZERO)

    @property
    def rho(self) -> Fraction:
        """Rho of all parts."""
        return sum((rho for _, rho in self.pure_parts), self.gaussian_rho)

    def splits(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield the ways to charge some pure parts as epsilon and all others as rho, of which one is the best.

        Yields
        ------
        tuple of Fraction
            Epsilon and rho.
        """
        # At any order alpha a part's Renyi divergence is at most its epsilon, and at most alpha rho. Divergences add
        # up, so any choice between the two is valid, and the best one takes epsilon where epsilon / rho is below alpha.
        epsilon, rho = ZERO, self.rho
        yield epsilon, rho
        for part_epsilon, part_rho in self.pure_parts:
            epsilon, rho = epsilon + part_epsilon, rho - part_rho
            yield epsilon, rho


def totals_of(*events: Event) -> Totals:
    """Return the sums over events, and over the parts of compositions.

    Parameters
    ----------
    *events : Event
        What was, or will be, done to the data.

    Returns
    -------
    Totals
        Exact sums; rho of pure parts is rounded up.

    Raises
    ------
    UnsupportedEventError
        When an event, or a part of it, is of a kind that has no analysis here, or a composition is empty.
    InvalidParameterError
        When a number of a part is out of its range.
    """
    pure: dict[Fraction, tuple[Fraction, Fraction]] = {}
    gaussian_rho = lattice = failure = ZERO
    for leaf in (leaf for event in events for leaf in _leaves(event)):
        if type(leaf) is GaussianEvent:
            _check_gaussian(leaf)
            gaussian_rho, lattice = gaussian_rho + leaf.rho, lattice + leaf.lattice
        elif type(leaf) is FailureEvent:
            failure += _probability(leaf.delta)
        else:
            epsilon, rho = _pure_cost(leaf)
            before = pure.get(epsilon / rho, (ZERO, ZERO))
            pure[epsilon / rho] = (before[0] + epsilon, before[1] + rho)
    return Totals(tuple(pure[ratio] for ratio in sorted(pure)), gaussian_rho, lattice, failure)


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

    References
    ----------
    Bun and Steinke 2016, Proposition 3.3; Kairouz, Oh, Viswanath 2015 (domination); privacy specification 7.1.

    Examples
    --------
    >>> round(float(rho_of_pure(Fraction(1))), 6)
    0.462117
    """
    # Randomized response, which answers truly with probability 1 / (1 + e^-epsilon), dominates every such mechanism,
    # and D_a = (g(a - 1/2) - g(1/2)) / (a - 1) with g(s) = log cosh(s epsilon): the mean of g'(s) = epsilon tanh(s
    # epsilon) over [1/2, a - 1/2]. tanh is concave on the positive numbers and 0 at 0, so the mean is at most epsilon
    # tanh(a epsilon/2) <= a epsilon tanh(epsilon/2).
    half = epsilon * epsilon / 2
    if epsilon < _SMALL:
        return half
    # Two roundings, each below 2^-52: 2^-50 covers them.
    slope = Fraction(math.tanh(float(epsilon / 2))) * (1 + Fraction(1, 2**50))
    return min(half, epsilon * slope)


def _leaves(event: Event) -> list[Event]:
    # A subclass may mean something else, so types are compared exactly.
    if type(event) is not ComposedEvent:
        return [event]
    if not event.events:
        raise UnsupportedEventError("An event must have at least one part. An empty composition has no cost to state.")
    return [leaf for part in event.events for leaf in _leaves(part)]


def _pure_cost(event: Event) -> tuple[Fraction, Fraction]:
    if type(event) is AlternativeEvent:
        return _alternative_cost(event)
    if isinstance(event, _PURE) and type(event) in _PURE:
        epsilon = exact_epsilon(event.epsilon)
        return epsilon, rho_of_pure(epsilon)
    if type(event) is SelectionEvent:
        epsilon = exact_epsilon(event.epsilon)
        # Gumbel noise is the exponential mechanism: its privacy loss lies in an interval of length epsilon, so
        # Hoeffding's lemma gives epsilon^2/8 (Dong, Durfee, Rogers 2020; Cesar, Rogers 2021). This is false for the
        # other two noises.
        rho = rho_of_pure(epsilon)
        return epsilon, min(rho, epsilon**2 / 8) if event.noise == "gumbel" else rho
    raise UnsupportedEventError(
        f"Accounting must know every event, but event={type(event).__name__}. Add its analysis to accounting/totals.py."
    )


def _alternative_cost(event: AlternativeEvent) -> tuple[Fraction, Fraction]:
    """Return the largest epsilon and the largest rho of what may be done."""
    totals = [totals_of(each) for each in event.events]
    if not totals or any(each.gaussian_rho or each.lattice or each.failure for each in totals):
        raise UnsupportedEventError(
            "An alternative must be of events that have an epsilon without delta, but these are not. Compose them."
        )
    return max(each.pure for each in totals), max(each.rho for each in totals)


def _check_gaussian(event: GaussianEvent) -> None:
    if event.rho <= 0 or event.lattice < 0:
        raise InvalidParameterError(
            "A Gaussian's rho must be positive and its lattice 0 or more, but "
            f"rho={float(event.rho):g} and lattice={float(event.lattice):g}."
        )


def _probability(delta: Fraction) -> Fraction:
    probability = exact_delta(delta)
    if not probability:
        raise InvalidParameterError(
            "The probability of a failure must lie in (0, 1), but delta=0. Leave the event out."
        )
    return probability
