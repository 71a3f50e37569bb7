"""Coefficients from noisy moments, shrunk by the known variance of the noise."""

from typing import NamedTuple

import numpy as np

from discreet.kernels.sufficient_statistics.cleaning import CleanGram, cleaned
from discreet.kernels.sufficient_statistics.gram import NoisyGram
from discreet.typing import Bools, Floats

PRIOR_VARIANCES = np.concatenate([[0.0], np.geomspace(1e-5, 1e1, 40)])
PRIOR_WEIGHTS = np.concatenate([[0.2], 0.8 * np.minimum(1.0, 0.1 / PRIOR_VARIANCES[1:]) / 40.0])
"""A fifth for no slope at all; squares of slopes above a tenth of a half range are the rarer the larger they are."""

LEAST_WEIGHT = 0.01
"""Of a prior variance beside the likeliest one: those below are left out."""

CONSTANT_PRIOR_VARIANCE = 0.1  # the mean of a response in [-1, 1] is seldom near an end


class Shrunken(NamedTuple):
    """A linear estimate of coefficients, with its matrices.

    Parameters
    ----------
    coef : ndarray of float, shape (p,)
        `map @ xty`.
    map : ndarray of float, shape (p, p)
        From X'y to coefficients; the inverse of `gram` where there is no noise.
    gram : ndarray of float, shape (p, p)
        The shrunken X'X, positive semidefinite.
    """

    coef: Floats
    map: Floats
    gram: Floats


def shrunken_coefficients(
    moments: NoisyGram,
    constant: int | None = None,
    dummies: Bools | None = None,
    prior_variance: float | None = None,
) -> Shrunken:
    """Return coefficients shrunk by as much as the noise asks for; least squares where the moments have no noise.

    Unless their prior variance is given, the estimate is the mean over the likely ones: the likeliest alone takes noise
    for slopes now and then.

    Cost: one p by p eigenvalue problem for each of 41 prior variances. Source: Efron and Morris 1973 (the size of the
    shrinkage from the data); Bernstein and Sheldon 2019 (noisy moments). Shapes: dummies (n_categories, p).
    """
    clean = cleaned(moments, constant, dummies)
    if not (moments.gram_variance.any() or moments.xty_variance.any()):
        inverse = np.linalg.pinv(clean.gram, rcond=1e-13, hermitian=True).astype(np.float64)
        return Shrunken(inverse @ moments.xty, inverse, clean.gram)
    # With G the cleaned Gram matrix, coefficients b ~ N(0, T), T = diag(tau^2), and X'y = G b + sampling + noise, the
    # estimate is T G (G T G + N)^-1 X'y. N is the variance of the noise in X'y and of what cleaning left in G b; the
    # sampling part, which least squares bears without shrinkage, is not in it.
    weights = {prior_variance: 1.0} if prior_variance is not None else _weights(moments, clean, constant)
    linear = np.zeros_like(clean.gram)
    for tau2, weight in weights.items():
        prior, noise = _prior(moments, clean, tau2, constant)
        inner = (clean.gram * prior) @ clean.gram + noise
        linear += weight * (prior[:, None] * clean.gram) @ np.linalg.pinv(inner, rcond=1e-15, hermitian=True)
    return Shrunken(linear @ moments.xty, linear, clean.gram)


def _weights(moments: NoisyGram, clean: CleanGram, constant: int | None) -> dict[float, float]:
    """Return the posterior weights of the prior variances, X'y ~ N(0, G T G + N + sampling), but those near zero."""
    mean_square = float(np.clip(moments.yty / clean.n_rows, 0.0, 1.0))
    size, p = float(np.trace(clean.gram)) / clean.n_rows, len(clean.gram)
    totals = np.empty((len(PRIOR_VARIANCES), p, p))
    for at, tau2 in enumerate(PRIOR_VARIANCES.tolist()):
        prior, noise = _prior(moments, clean, tau2, constant)
        # What the coefficients do not explain of y'y / n is the variance of one row's error.
        error = max(mean_square - tau2 * size, 0.02 * mean_square)
        totals[at] = (clean.gram * prior) @ clean.gram + noise + error * clean.gram
    values, vectors = np.linalg.eigh(totals)
    values = np.maximum(values, np.maximum(1e-14 * values[:, -1:], 1e-300))
    likelihoods = -0.5 * np.sum(np.log(values) + (moments.xty @ vectors) ** 2 / values, axis=1)
    posterior = PRIOR_WEIGHTS * np.exp(likelihoods - likelihoods.max())
    posterior = np.where(posterior < LEAST_WEIGHT * posterior.max(), 0.0, posterior)
    posterior /= posterior.sum()
    return {float(tau2): float(weight) for tau2, weight in zip(PRIOR_VARIANCES, posterior, strict=True) if weight}


def _prior(moments: NoisyGram, clean: CleanGram, tau2: float, constant: int | None) -> tuple[Floats, Floats]:
    """Return the coefficients' prior variances, and the noise in X'y - G b that goes with them."""
    prior = np.full(len(moments.xty), tau2)
    if constant is not None:
        prior[constant] = CONSTANT_PRIOR_VARIANCE
    # The intercept is smaller than its prior allows, and its column's noise with it.
    return prior, np.diag(moments.xty_variance + clean.error @ np.minimum(prior, tau2))
