"""Penalties that weigh the error of sampling and the noise of the selection together."""

import math

import numpy as np

POINTS = 4001
"""Of the sum over a standard normal variable; more of them change no digit that matters."""

MOST_FALSE = 0.5
"""By default, of the chance of a false column, however few the rows."""

LEAST_FALSE = 1e-6

WORTH = 20.0
"""Rows for one scale of the noise, over the default chance of a false column.

A penalty of scale log(d / max_false) has the scale as its unit, and what a column explains grows with the rows: the
more of them a scale, the less such a penalty takes of it. On tables of three equal or unequal effects, chances of half
and of twice as much find fewer of the right models.
"""


def default_max_false(scale: float, n_rows: float) -> float:
    """Return the chance of a false column that a penalty is set for: it falls as rows and epsilon grow.

    Examples
    --------
    >>> default_max_false(12.5, 100), default_max_false(12.5, 1000), default_max_false(1.25, 10_000)
    (0.5, 0.25, 0.0025)
    """
    return min(max(WORTH * scale / max(n_rows, 1.0), LEAST_FALSE), MOST_FALSE)


def noise_penalty(scale: float, n_units: int, max_false: float) -> float:
    """Return the penalty under which noise alone selects a column without effect in `max_false` of releases at most."""
    # Gumbel noise: P(logistic > log(d / max_false)) = 1 / (1 + d / max_false) for each of d columns without effect.
    return scale * math.log(max(n_units, 1) / max_false)


def covering_penalty(variance: float, scale: float, n_units: int, n_rows: float, max_false: float) -> float:
    """Return the larger of sigma^2 log n and of phi with P(sigma^2 chi^2_1 + scale logistic > phi) = 1 / (1 + d / m).

    m is `max_false`. It keeps columns without effect out. Source: Lei et al. 2018, section 3.3; privacy specification
    1.7 and 3.3.

    Examples
    --------
    >>> round(covering_penalty(0.0, 2.0, 5, 100, 0.5) / 2.0, 6) == round(math.log(10), 6)
    True
    """
    # The difference of two Gumbel variables is logistic.
    noise = noise_penalty(scale, n_units, max_false)
    level = 1.0 / (1.0 + max(n_units, 1) / max_false)
    z = np.linspace(-9.0, 9.0, POINTS)
    weights = np.exp(-0.5 * z * z)
    weights /= weights.sum()
    squares = variance * z * z

    low, high = 0.0, noise + 81.0 * variance
    for _ in range(100):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        excess = np.clip((middle - squares) / scale, -700.0, 700.0)
        chance = float(weights @ (1.0 / (1.0 + np.exp(excess))))  # P(sigma^2 chi^2 + scale logistic > middle)
        low, high = (middle, high) if chance > level else (low, middle)
    return max(high, variance * math.log(max(n_rows, 2.0)))
