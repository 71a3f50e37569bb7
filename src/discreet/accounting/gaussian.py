r"""The guarantee of discrete Gaussian noise: the analytic Gaussian condition, shifted by the lattice term.

Claim: let X have independent discrete Gaussian coordinates with scales s_i, and let v be the integer change of the true
values between two neighbors. Put ``mu^2 = sum v_i^2 / s_i^2`` and ``l = sum |v_i| / s_i^2``, and let d(epsilon; mu) be
the delta of continuous Gaussian noise. Then the released sum has ``delta(epsilon) <= d(epsilon - l; mu)``, for every
real epsilon, and for an adaptive composition this holds with the sums of mu^2 and of l.

Proof, one coordinate of scale s. Let Y be the continuous Gaussian, ``f(y) = exp(-y^2 / 2s^2)``, and Z the sum of f over
the integers. By Poisson's summation ``Z = s sqrt(2 pi) (1 + 2 sum_j exp(-2 pi^2 s^2 j^2)) >= s sqrt(2 pi)``.

1. For integers k >= 1, f falls on [k - 1, oo), so ``P(X = j) = f(j) / Z <= P(j - 1 <= Y <= j)`` for j >= k, and
   ``P(X >= k) <= P(Y >= k - 1)``.
2. For integers m >= 1, ``P(X >= m) >= P(Y >= m)``. The ratio of P(X = j) to ``P(j <= Y < j + 1)`` grows with j >= 1, as
   its inverse is a constant times the integral over u in [0, 1] of ``exp(-(2 j u + u^2) / 2s^2)``. So X given X >= 1
   lies stochastically above the floor of Y given Y >= 1, and it is enough that ``P(X >= 1) >= P(Y >= 1)``, that is
   ``1 / Z <= P(|Y| <= 1)``. If s^2 >= 1/3: ``P(|Y| <= 1) = 2 / (s sqrt(2 pi))`` times the integral of f over [0, 1],
   which is at least ``1 - 1 / (6 s^2) >= 1/2``. If s^2 < 1/3, with ``q = f(1) < 0.23``: ``1 - 1/Z >= 2q / (1 + 2q)
   >= 1.3 q``, and ``P(|Y| > 1) <= 2 s q / sqrt(2 pi) <= 0.47 q``.
3. For integers k <= 0, put m = 1 - k >= 1: ``P(X >= k) = 1 - P(X >= m) <= 1 - P(Y >= m) = P(Y >= k - 1)``.

So X lies stochastically below Y + 1, and by symmetry -X below -Y + 1. A sum of independent terms keeps such an order:
``-<v/s^2, X>`` lies below ``-<v/s^2, Y> + l``. As v is whole, both laws of the release have the same constant, and
the privacy loss is ``mu^2/2 - sum v_i X_i / s_i^2``: it lies below that of the continuous Gaussian plus l, and
delta(epsilon) is the mean of its increasing function ``max(0, 1 - exp(epsilon - loss))``. This is the claim for one
release; a smaller mu or l only lowers the right side.

Composition. d(epsilon - l; mu) is, for every real epsilon, the divergence of the pair (P, e^-l Q plus an atom where P
has none), with (P, Q) the continuous pair. So this pair dominates the release, dominating pairs compose adaptively
(Zhu, Dong, Wang 2022, Theorem 10), and the losses of the product are normal with the sums of mu^2, moved by the sum of
l. A part with pure epsilon has a loss of at most epsilon: it is dominated in the same way, with mu = 0 and l = epsilon.
QED
"""

import functools
import math
from collections.abc import Callable
from fractions import Fraction

from discreet.accounting.events import Event
from discreet.accounting.guarantee import exact_delta, exact_epsilon
from discreet.accounting.totals import totals_of
from discreet.accounting.zcdp import MOST_DELTA, NEVER, STEP, log_of, rho_of_epsilon, rounded_up, steps_of_rho
from discreet.digits import plain
from discreet.errors import InvalidParameterError

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_ROUNDING = 2.0**-53
_MILLS_ERROR = 256 * _ROUNDING
"""Of two values of Mills' ratio above -5, relative to the larger: 20 roundings as measured against 50 digits."""


@functools.lru_cache(maxsize=4096)
def steps_of_gaussian(rho: Fraction, delta: Fraction, shift: Fraction) -> int:
    """Return the epsilon of Gaussian noise at delta plus a shift, in steps of 1e-9, rounded up.

    Parameters
    ----------
    rho : Fraction
        Half the squared mu, positive.
    delta : Fraction
        Delta; `NEVER` when it is 0 or less.
    shift : Fraction
        Epsilon of pure parts, plus the lattice term, in nats.

    Returns
    -------
    int
        At least 1; `NEVER` when no epsilon serves.

    Notes
    -----
    The returned number has itself passed the test with its margin for rounding, whatever the search did. Cost: forty
    evaluations, about 0.1 ms.

    References
    ----------
    Balle and Wang 2018, Theorem 8; privacy specification 6.1.
    """
    if delta <= 0 or rho > 10**6:
        return NEVER
    mu, log_delta = _mu(rho), log_of(min(delta, MOST_DELTA))
    first = max(0, math.ceil(shift / STEP))

    def holds(steps: int) -> bool:
        return _holds(_below(steps * STEP - shift), mu, log_delta)

    # delta(epsilon) <= exp(-(epsilon/mu - mu/2)^2 / 2), the tail of the loss.
    reach = 0.5 * mu * mu + mu * math.sqrt(-2.0 * log_delta)
    low, high = first - 1, first + math.ceil(Fraction(reach) / STEP) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    while not holds(high):
        high += 1
    return max(1, high)


def gaussian_rho(
    epsilon: Fraction, delta: Fraction, others: tuple[Event, ...] = (), lattice: Fraction = Fraction(0)
) -> Fraction:
    """Return the largest rho of Gaussian noise that a privacy budget allows beside other events.

    Parameters
    ----------
    epsilon : Fraction
        The privacy cost of the whole composition, in nats.
    delta : Fraction
        Its delta, from which the failures of `others` are taken.
    others : tuple of Event
        The other parts of the composition.
    lattice : Fraction
        A bound on the lattice term of the Gaussian event, in nats. It grows with rho: take twice the l1 sensitivity
        over the squared l2 sensitivity, times the rho that this function returns for lattice 0.

    Returns
    -------
    Fraction
        Rho, rounded down. ``guarantee_of(ComposedEvent((*others, GaussianEvent(rho, lattice))), relation, delta)`` has
        an epsilon of at most `epsilon`, and of `epsilon` itself where this is a multiple of 1e-9.

    Raises
    ------
    InvalidParameterError
        When a number is out of range, or the others take the whole budget.
    UnsupportedEventError
        When one of the others has no analysis.

    Examples
    --------
    >>> round(float(gaussian_rho(Fraction(1), Fraction(1, 10**6))), 6)
    0.028014
    """
    if lattice < 0:
        raise InvalidParameterError(f"lattice must be 0 or more, but lattice={lattice}. It is a sum of sizes.")
    others_sum = totals_of(*others)
    steps, remaining_delta = exact_epsilon(epsilon) // STEP, exact_delta(delta) - others_sum.failure
    if remaining_delta <= 0:
        raise InvalidParameterError(
            "Gaussian noise needs delta above what the other parts may fail with, "
            f"{plain(float(others_sum.failure))}, but delta={plain(float(delta))}. Give a larger delta."
        )
    shift = others_sum.pure + others_sum.lattice + lattice
    candidates = [_concentrated_rho(steps, remaining_delta, *split) for split in others_sum.splits()]
    rho = max(_analytic_rho(steps, remaining_delta, shift, others_sum.gaussian_rho), *candidates)
    if not rho:
        raise InvalidParameterError(
            f"Other parts of the request must leave something for Gaussian noise, but of epsilon={float(epsilon):g} "
            f"they take {float(shift):g}, and rho={float(others_sum.rho):g}. Give a larger epsilon."
        )
    return rho


@functools.lru_cache(maxsize=4096)
def _analytic_rho(steps: int, delta: Fraction, shift: Fraction, other_rho: Fraction) -> Fraction:
    """Return the largest further rho under the analytic condition; 0 when there is none."""
    epsilon, log_delta = _below(steps * STEP - shift), log_of(min(delta, MOST_DELTA))
    if epsilon < 0:
        return Fraction(0)
    low, high = 0.0, 2.0 * math.sqrt(epsilon) + 3.0  # at high, epsilon/mu - mu/2 < -1: delta exceeds 1/2
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _holds(epsilon, middle, log_delta) else (low, middle)
    return _passing(Fraction(low) ** 2 / 2, other_rho, lambda rho: steps_of_gaussian(rho, delta, shift) <= steps)


def _concentrated_rho(steps: int, delta: Fraction, epsilon: Fraction, other_rho: Fraction) -> Fraction:
    """Return the largest further rho under zero-concentrated accounting, some pure parts as epsilon; 0 for none."""
    rest = steps * STEP - epsilon
    if rest < STEP:
        return Fraction(0)
    return _passing(rho_of_epsilon(rest, delta), other_rho, lambda rho: steps_of_rho(rho, delta, epsilon) <= steps)


def _passing(total: Fraction, other_rho: Fraction, fits: Callable[[Fraction], bool]) -> Fraction:
    """Subtract the others' rho from a total, then lower the rest until it passes the test of `guarantee_of` itself."""
    rho, shrink = total - other_rho, Fraction(1, 2**48)
    while rho > 0 and not fits(rho + other_rho):
        rho, shrink = Fraction(_below(rho * (1 - shrink))), shrink * 2
    return max(rho, Fraction(0))


def _holds(epsilon: float, mu: float, log_delta: float) -> bool:
    """Tell whether d(epsilon; mu) <= delta for certain, by Balle and Wang 2018, Theorem 8."""
    if epsilon < 0:
        return False
    # With a = epsilon/mu - mu/2, b = epsilon/mu + mu/2 and Mills' ratio R(x) = (1 - Phi(x)) / phi(x), the condition's
    # Phi(-a) - e^epsilon Phi(-b) is phi(a) (R(a) - R(b)): nothing overflows, and nothing cancels but this difference,
    # whose error is bounded below.
    mills = _mills()
    t, h = epsilon / mu, 0.5 * mu
    a, b = t - h, t + h
    if a < -5.0:
        return False  # then Phi(-a) > 0.999999 and e^epsilon Phi(-b) < phi(5) R(5) < 1e-6: delta exceeds 1/2
    if a > 1e8:
        return True  # below exp(-10^15)
    at_a, at_b = mills(a), mills(b)
    gap = at_a - at_b
    # a and b are off by at most two roundings of b; |R'(x)| / R(x), the hazard minus x, is below 1 + max(-x, 0).
    error = (_MILLS_ERROR + 4 * _ROUNDING * b * (1.0 + max(-a, 0.0))) * at_a
    # log(phi(a) (R(a) - R(b))), rounded up; log_delta is off by 2^-51 of the larger of 1 and its size.
    log_gap = math.log(gap + error) - 0.5 * a * a - _HALF_LOG_TWO_PI
    margin = _ROUNDING * (8.0 + 8.0 * abs(log_gap) + 2.0 * a * a + 4.0 * abs(a) * b)
    return log_gap + margin <= log_delta - 4 * _ROUNDING * (1.0 - log_delta)


@functools.cache
def _mills() -> Callable[[float], float]:
    from scipy.special import erfcx  # half a second to load, and requests without Gaussian noise never need it

    # R(x) = sqrt(pi / 2) erfcx(x / sqrt(2))
    return lambda x: math.sqrt(0.5 * math.pi) * float(erfcx(x / math.sqrt(2.0)))


def _mu(rho: Fraction) -> float:
    """Return the square root of 2 rho, rounded up."""
    mu = math.sqrt(rounded_up(2 * rho))
    return math.nextafter(mu, math.inf)


def _below(value: Fraction) -> float:
    """Return a float that is no larger."""
    nearest = float(value)
    return nearest if nearest <= value else math.nextafter(nearest, -math.inf)
