"""The choice among candidates whose scores have different sensitivities: the generalized exponential mechanism."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.accounting.guarantee import Number, exact, exact_epsilon
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import Noise, noisy_min

FAILURE = 0.05
"""Beta of Raskhodnikova and Smith: the probability that noise makes a candidate look better than its guard."""

ROUNDING = 2.0**-49
"""Bounds the relative error of the few operations behind a normalized score."""

LARGEST = 2.0**36
"""Scores are clipped at this many sensitivities, far beyond any that a table gives."""


def noisy_min_scaled(
    scores: npt.ArrayLike,
    sensitivities: Sequence[Number],
    epsilon: Number,
    rng: Source,
    noise: Noise = "exponential",
) -> int:
    """Return the index of a small score where each has its own sensitivity, epsilon-differentially private.

    Parameters
    ----------
    scores : array_like of float, shape (n_candidates,)
        Smaller is better; finite.
    sensitivities : sequence of float or Fraction
        The largest change of each score between neighbors, positive and public.
    epsilon : float or Fraction
        In nats, in (0, 1000].
    rng : Source
        Where the noise comes from.
    noise : {"exponential", "gumbel", "laplace"}
        Law of the noise.

    Returns
    -------
    int
        Index of the winner. Its score exceeds another's by no more than both sensitivities and the noise explain.

    Raises
    ------
    InvalidParameterError
        When a parameter is out of range; never because of the values of finite scores.

    Notes
    -----
    Claim: ``generalized_exponential.privacy.md``.

    References
    ----------
    Raskhodnikova and Smith 2016; privacy specification 3.2 (c).

    Examples
    --------
    >>> noisy_min_scaled([50.0, 0.0, 900.0], [1, 2, 400], 100, Source())
    1
    """
    sizes = [exact(size, "sensitivities") for size in sensitivities]
    values = np.asarray(scores, dtype=np.float64)
    if len(sizes) != values.size or not sizes or min(sizes) <= 0:
        raise InvalidParameterError("sensitivities must be positive, one for each score. Give as many as scores.")
    normalized, largest = normalized_scores(values, sizes, exact_epsilon(epsilon))
    # Twice the bound of the rounding error either way, by Theorem 2 of the privacy specification.
    gamma = 2 + 4 * Fraction(ROUNDING * largest)
    return noisy_min(normalized, gamma, epsilon, rng, noise)


def normalized_scores(
    scores: npt.NDArray[np.float64], sensitivities: Sequence[Fraction], epsilon: Fraction
) -> tuple[npt.NDArray[np.float64], float]:
    """Return normalized scores of sensitivity one, and a public bound of their size.

    Parameters
    ----------
    scores : ndarray of float
        Of the candidates, clipped to between 0 and 2^36 times its sensitivity.
    sensitivities : sequence of Fraction
        D of each.
    epsilon : Fraction
        In nats.

    Returns
    -------
    ndarray of float
        max_i ((e_j + t D_j) - (e_i + t D_i)) / (D_i + D_j).
    float
        A public bound of the guarded scores, in sensitivities: rounding errors are relative to it.
    """
    sizes = np.array([float(size) for size in sensitivities])
    # t = (2 / epsilon) log(m / beta), and s_j = max_i ((e_j + t D_j) - (e_i + t D_i)) / (D_i + D_j).
    guard = 2.0 / float(epsilon) * math.log(len(sizes) / FAILURE)
    # A cut to [0, 2^36 D_j] is 1-Lipschitz, and t is public: the sensitivities are still D_j.
    guarded = np.clip(scores, 0.0, LARGEST * sizes) + guard * sizes
    differences = (guarded[:, None] - guarded[None, :]) / (sizes[:, None] + sizes[None, :])
    normalized: npt.NDArray[np.float64] = differences.max(axis=1)
    return normalized, LARGEST + guard
