"""Penalties that weigh the error of sampling and the noise of the selection together."""

import math
from functools import lru_cache

import numpy as np

POINTS = 4001
"""Of the sum over a standard normal variable; more of them change no digit that matters."""

MOST_FALSE = 0.5
"""By default, of the chance of a false column, however few the rows."""

LEAST_FALSE = 1e-6

WEAK_SHARE = 0.04
"""Of the target's variance: what the weakest column explains that should be found where the noise is large."""

WORTH = 20.0
"""Rows for one scale of the noise, over the chance of a false column, where weaker columns can be found, too."""


def default_max_false(scale: float, n_rows: float, n_units: int, variance: float) -> float:
    """Return the chance of a false column that a penalty is set for: it falls as rows and epsilon grow.

    `variance` is that of the target, in the unit of the scores.

    Examples
    --------
    >>> [round(default_max_false(scale, 1000, 6, 0.5), 4) for scale in (12.5, 2.5, 1.25)]
    [0.5, 0.1099, 0.025]
    """
    rows, d = max(n_rows, 2.0), max(n_units, 1)
    # The penalty is half of what the weakest column gains: then e^(-gain / 2 scale) is both the chance that a column
    # without effect enters and that this one stays out.
    gain = WEAK_SHARE * variance * rows
    by_noise = d * math.exp(-gain / (2.0 * scale)) if scale > 0.0 else 0.0
    # Effects of all sizes, equally likely: those below a penalty of scale log(d / m) are a part of scale / rows times
    # it, and m plus a multiple of that is least at a multiple of scale / rows.
    of_all_sizes = WORTH * scale / rows
    # Without noise: sigma^2 chi^2_1 beyond a quarter of the gain, where a null and a weak effect are told apart by the
    # roots of what they explain; within the penalties log n and 2 log n of consistent criteria.
    quarter, log_rows = WEAK_SHARE * rows / 4.0, math.log(rows)
    by_sampling = d * math.erfc(math.sqrt(min(max(quarter, log_rows), 2.0 * log_rows) / 2.0))
    return min(max(by_noise, of_all_sizes, by_sampling, LEAST_FALSE), MOST_FALSE)


def noise_penalty(scale: float, n_units: int, max_false: float) -> float:
    """Return the penalty under which noise alone selects a column without effect in `max_false` of releases at most."""
    # Gumbel noise: P(logistic > log(d / max_false)) = 1 / (1 + d / max_false) for each of d columns without effect.
    return scale * math.log(max(n_units, 1) / max_false)


@lru_cache(4096)
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
