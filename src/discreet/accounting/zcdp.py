"""Zero-concentrated differential privacy: rho adds up, and is converted once, at the end."""

import math
from fractions import Fraction

from discreet.accounting.events import Event, ParallelEvent
from discreet.accounting.guarantee import Number, exact, exact_delta
from discreet.accounting.totals import rho_of_pure, totals_of
from discreet.digits import plain
from discreet.errors import InvalidParameterError

STEP = Fraction(1, 10**9)
"""Converted epsilons are whole multiples of this, rounded up, in nats."""

NEVER = 10**13
"""Stands for infinity: more steps than any epsilon up to 1000."""

MOST_DELTA = Fraction(1, 2)
"""A larger delta counts as this: it gives no guarantee worth the name, and near 1 logarithms lose their digits."""

LARGEST_RHO = 5000
"""A rho above this converts to no epsilon below 1000 at any delta of at most 1/2."""

_ROUNDING = 2.0**-49
"""Each term below has at most four roundings of 2^-53, and numpy's and C's logarithms err by less than 2^-52."""


def rho_of(event: Event) -> tuple[Fraction, Fraction]:
    """Return the zero-concentrated privacy cost of an event: rho, and the probability of failure.

    Parameters
    ----------
    event : Event
        What was, or will be, done to the data.

    Returns
    -------
    tuple of Fraction
        Rho, rounded up, and the failure's delta.

    Raises
    ------
    UnsupportedEventError
        When the event, or a part of it, has no analysis.
    InvalidParameterError
        When a number of a part is out of its range.

    References
    ----------
    Bun and Steinke 2016, Definition 8.1 (approximate zCDP, whose two numbers add up); Canonne, Kamath, Steinke 2020,
    Theorem 4 (the discrete Gaussian has the rho of the continuous one); privacy specification 7.1.

    Examples
    --------
    >>> from discreet.accounting.events import SelectionEvent
    >>> rho_of(SelectionEvent(Fraction(1, 2), "gumbel"))
    (Fraction(1, 32), Fraction(0, 1))
    """
    if type(event) is ParallelEvent and event.events:
        # Divergences are quasi-convex: of coins, then one group of two, no more than the larger.
        costs = [rho_of(group) for group in event.events]
        return max(rho for rho, _ in costs), max(failure for _, failure in costs)
    totals = totals_of(event)
    return totals.rho, totals.failure


def epsilon_of_rho(rho: Number, delta: Number) -> Fraction:
    """Return an epsilon that rho-zCDP gives at delta.

    Parameters
    ----------
    rho : float, int, str, Decimal or Fraction
        The cost, positive.
    delta : float, int, str, Decimal or Fraction
        In (0, 1).

    Returns
    -------
    Fraction
        In nats, rounded up to a multiple of 1e-9.

    Raises
    ------
    InvalidParameterError
        When a number is out of its range, or rho gives no epsilon below 1000.

    References
    ----------
    Canonne, Kamath, Steinke 2020, Corollary 13; privacy specification 7.1.

    Examples
    --------
    >>> float(epsilon_of_rho("0.0625", 1e-6))
    1.65997905
    """
    steps = steps_of_rho(_positive(rho, "rho"), exact_delta(delta))
    if steps >= NEVER:
        raise InvalidParameterError(
            f"rho must convert to an epsilon of at most 1000, but rho={plain(float(exact(rho, 'rho')))} at "
            f"delta={plain(float(exact_delta(delta)))} does not. Choose a smaller rho or a larger delta."
        )
    return steps * STEP


def rho_of_epsilon(epsilon: Number, delta: Number) -> Fraction:
    """Return the largest rho whose epsilon at delta is at most `epsilon`.

    Parameters
    ----------
    epsilon : float, int, str, Decimal or Fraction
        In nats, at least 1e-9 and at most 1000.
    delta : float, int, str, Decimal or Fraction
        In (0, 1).

    Returns
    -------
    Fraction
        Rounded down: `epsilon_of_rho` of it is at most `epsilon`, and less than 2e-9 below.

    Raises
    ------
    InvalidParameterError
        When a number is out of its range.

    Examples
    --------
    >>> round(float(rho_of_epsilon(1, 1e-6)), 6)
    0.024356
    """
    epsilon_value, delta_value = _positive(epsilon, "epsilon"), exact_delta(delta)
    if not delta_value or not STEP <= epsilon_value <= 1000:
        raise InvalidParameterError(
            "A rho needs epsilon in [0.000000001, 1000] and delta in (0, 1), but "
            f"epsilon={plain(float(epsilon_value))} and delta={plain(float(delta_value))}."
        )
    steps = epsilon_value // STEP
    best, shrink = _best_rho(float(steps * STEP), -log_of(min(delta_value, MOST_DELTA))), 2.0**-46
    # Floats came near the largest; what is returned is lowered until it has passed the test that a charge will meet.
    while shrink < 1 and steps_of_rho(Fraction(best * (1.0 - shrink)), delta_value) > steps:
        shrink *= 2.0
    return Fraction(best * (1.0 - shrink))


def pure_of_rho(rho: Fraction) -> Fraction:
    """Return the largest pure epsilon of which every mechanism satisfies rho.

    Parameters
    ----------
    rho : Fraction
        The budget, 0 or more.

    Returns
    -------
    Fraction
        In nats, rounded down to a multiple of 1e-9, at most 1000; 0 when each costs more.

    Examples
    --------
    >>> float(pure_of_rho(Fraction(1, 50)))
    0.200333945
    """
    low, high = 0, 1000 * STEP.denominator + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if rho_of_pure(middle * STEP) <= rho else (low, middle)
    return low * STEP


def steps_of_rho(rho: Fraction, delta: Fraction, shift: Fraction = Fraction(0)) -> int:
    """Return the epsilon of rho at delta plus a shift, in steps of 1e-9, rounded up; `NEVER` when there is none.

    Parameters
    ----------
    rho : Fraction
        The cost, positive.
    delta : Fraction
        Delta; `NEVER` when it is 0 or less.
    shift : Fraction
        Epsilon of the pure parts that are not in rho, in nats.

    Returns
    -------
    int
        At least 1.
    """
    if delta <= 0 or rho > LARGEST_RHO:
        return NEVER
    cost, log_delta = rounded_up(rho), log_of(min(delta, MOST_DELTA))
    # Every order alpha > 1 gives a valid epsilon, so a float near the best one serves; only the evaluation there must
    # not err downwards: its terms get a margin of their size times 2^-49.
    excess = _best_excess(cost, -log_delta)
    alpha = 1.0 + excess
    if alpha == 1.0:
        return NEVER
    excess = alpha - 1.0  # exact, of the rounded alpha
    # epsilon = alpha rho + log(1 / (alpha delta)) / (alpha - 1) + log(1 - 1 / alpha): Canonne et al. 2020, Corollary
    # 13.
    terms = (alpha * cost, (-log_delta - math.log(alpha)) / excess, math.log1p(-1.0 / alpha))
    size = alpha * cost + (abs(log_delta) + math.log(alpha)) / excess + abs(terms[2])
    epsilon = sum(terms) + size * _ROUNDING
    return max(1, math.ceil((Fraction(epsilon) + shift) / STEP))


def rounded_up(value: Fraction) -> float:
    """Return a float that is no smaller than a positive number.

    Parameters
    ----------
    value : Fraction
        The number.

    Returns
    -------
    float
        The least such float, or the next.
    """
    nearest = float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def log_of(value: Fraction) -> float:
    """Return the natural logarithm of a positive number that may be too small for a float.

    Parameters
    ----------
    value : Fraction
        The number.

    Returns
    -------
    float
        With an error below 2^-51 times the larger of 1 and its size.
    """
    # log(value 2^shift) - shift log 2, with value 2^shift in [1/2, 2].
    shift = value.denominator.bit_length() - value.numerator.bit_length()
    return math.log(value * Fraction(2) ** shift) - shift * math.log(2.0)


def _best_excess(rho: float, log_inverse_delta: float) -> float:
    """Return alpha - 1 at the least epsilon, where its derivative is 0: rho (alpha - 1)^2 = log(1 / (alpha delta))."""
    low, high = 0.0, math.sqrt(log_inverse_delta / rho)
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = rho * middle * middle > log_inverse_delta - math.log1p(middle)
        low, high = (low, middle) if above else (middle, high)
    return high


def _best_rho(epsilon: float, log_inverse_delta: float) -> float:
    """Return about the largest rho whose least epsilon over all orders is at most `epsilon`."""

    # At the best order rho = log(1 / (alpha delta)) / (alpha - 1)^2, which falls with the order; so does its epsilon.
    def rho(excess: float) -> float:
        return (log_inverse_delta - math.log1p(excess)) / excess / excess

    low, high = 1e-6, math.exp(min(log_inverse_delta, 600.0))
    for _ in range(200):
        middle = math.sqrt(low) * math.sqrt(high)
        # epsilon = rho (2 alpha - 1) + log(1 - 1 / alpha), that rho put into Corollary 13.
        too_much = rho(middle) * (1.0 + 2.0 * middle) - math.log1p(1.0 / middle) > epsilon
        low, high = (middle, high) if too_much else (low, middle)
    return max(rho(high), 5e-324)


def _positive(value: Number, name: str) -> Fraction:
    number = exact(value, name)
    if number <= 0:
        raise InvalidParameterError(f"{name} must be positive, but {name}={value}.")
    return number
