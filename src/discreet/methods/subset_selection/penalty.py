"""Penalties that weigh the error of sampling and the noise of the selection together."""

import math

import numpy as np

POINTS = 4001
"""Of the sum over a standard normal variable; more of them change no digit that matters."""


def covering_penalty(variance: float, scale: float, n_units: int, n_rows: int) -> float:
    """Return the larger of sigma^2 log n and of phi with P(sigma^2 chi^2_1 + scale logistic > phi) = 1 / (1 + 2 d).

    It keeps columns without effect out. Source: Lei et al. 2018, section 3.3; privacy specification 1.7 and 3.3.

    Examples
    --------
    >>> round(covering_penalty(0.0, 2.0, 5, 100) / 2.0, 6) == round(math.log(10), 6)
    True
    """
    # The difference of two Gumbel variables is logistic: under a penalty of scale log(2 d) noise alone brings a column
    # in with probability 1 / (1 + 2 d), half a column on average.
    level = 1.0 / (1.0 + 2.0 * max(n_units, 1))
    z = np.linspace(-9.0, 9.0, POINTS)
    weights = np.exp(-0.5 * z * z)
    weights /= weights.sum()
    squares = variance * z * z

    low, high = 0.0, scale * math.log(2.0 * max(n_units, 1)) + 81.0 * variance
    for _ in range(100):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        excess = np.clip((middle - squares) / scale, -700.0, 700.0)
        chance = float(weights @ (1.0 / (1.0 + np.exp(excess))))  # P(sigma^2 chi^2 + scale logistic > middle)
        low, high = (middle, high) if chance > level else (low, middle)
    return max(high, variance * math.log(max(n_rows, 2)))
