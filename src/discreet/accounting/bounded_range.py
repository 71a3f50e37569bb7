"""A private choice that costs no more than Gaussian noise: what may follow Gaussian sums within one Gaussian event.

Claim: ``bounded_range.privacy.md``.
"""

import math
from fractions import Fraction

from scipy.special import log_ndtr

ROUNDING = Fraction(1, 2**40)
"""What the result is smaller by, relative to it: far more than a few float operations and `log_ndtr` err by."""

LARGEST = Fraction(100)
"""Of the result, in nats: no choice needs more."""


def epsilon_within_gaussian(rho: Fraction) -> Fraction:
    """Return the epsilon of an exponential mechanism that Gaussian noise of `rho` dominates.

    Parameters
    ----------
    rho : Fraction
        Half the squared mu of the Gaussian, positive.

    Returns
    -------
    Fraction
        In nats per range sensitivity, rounded down: 2 log(P / (1 - P)), P = Phi(mu / 2).

    Notes
    -----
    Claim: ``bounded_range.privacy.md``.

    References
    ----------
    Dong, Durfee, Rogers 2020 (bounded range); Dong, Roth, Su 2022 (domination).

    Examples
    --------
    >>> round(float(epsilon_within_gaussian(Fraction(1, 2))), 3)
    1.614
    """
    half = math.sqrt(2.0 * float(min(rho, Fraction(10**4)))) / 2.0
    if half < 1e-3:
        # Phi(h) - 1/2 = h (1 - h^2 / 6 + ..) / sqrt(2 pi), and the log odds are four times that or more.
        odds = 4.0 * half * (1.0 - half * half / 6.0) / math.sqrt(2.0 * math.pi)
    else:
        odds = float(log_ndtr(half) - log_ndtr(-half))
    return min(2 * Fraction(odds) * (1 - ROUNDING), LARGEST)
