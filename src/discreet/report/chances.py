"""Chances that a report tells of, from public facts: what a guarantee bounds, how often noise misleads."""

import math

from discreet.accounting.guarantee import MAX_EPSILON, Guarantee, exact
from discreet.accounting.neighbors import NeighboringRelation

SELDOM = 0.05
"""How often a swap of two models still counts as seldom: once in twenty draws."""


def worst_posterior(epsilon: float, prior: float) -> float:
    """Return the worst belief after a release of this epsilon, for a belief before it.

    In [0, 1].
    """
    exact_value = exact(min(epsilon, float(MAX_EPSILON)), "epsilon")
    return Guarantee(exact_value, exact(0, "delta"), NeighboringRelation.REPLACE_ONE).worst_posterior(prior)


def is_weak(epsilon: float) -> bool:
    """Tell whether a belief of 1% can become more likely than not."""
    return worst_posterior(epsilon, 0.01) > 0.5


def swap_chance(law: str, gap: float) -> float | None:
    """Return the chance that noise puts the worse of two models first.

    A probability; None when the law is not known here.
    """
    if law == "exponential":
        return math.exp(-gap) / 2
    if law == "gumbel":
        return 1 / (1 + math.exp(gap))
    if law == "laplace":
        return (1 / 2 + gap / 4) * math.exp(-gap)
    return None


def seldom_gap(law: str, n_rivals: int = 1) -> float | None:
    """Return the gap from which on a model loses to `n_rivals` worse ones seldom, by adding up their chances.

    In noise scales; None when the law is not known here.
    """
    if swap_chance(law, 0.0) is None:
        return None
    target = SELDOM / max(n_rivals, 1)
    low, high = 0.0, 700.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if (swap_chance(law, middle) or 0.0) > target else (low, middle)
    return high
