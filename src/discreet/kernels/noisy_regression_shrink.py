"""What noisy moments say once their noise, whose size is known, is taken out by shrinkage."""

from typing import NamedTuple

import numpy as np

from discreet.kernels.noisy_cleaning import Bools, CleanGram, cleaned
from discreet.kernels.noisy_gram import Floats, NoisyGram

PRIOR_VARIANCES = np.concatenate([[0.0], np.geomspace(1e-5, 1e1, 60)])
CONSTANT_PRIOR_VARIANCE = 1.0  # the intercept of a response in [-1, 1]


class Shrunken(NamedTuple):
    """A linear estimate of coefficients and what it was made with.

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


def shrunken_coefficients(moments: NoisyGram, constant: int | None = None) -> Shrunken:
    """Return coefficients shrunk by as much as the noise asks for, and no more.

    Parameters
    ----------
    moments : NoisyGram
        Of the columns of the model alone.
    constant : int, optional
        Index of the column of ones, whose coefficient has a prior of its own.

    Returns
    -------
    Shrunken
        Least squares where the moments have no noise.

    Notes
    -----
    With G the shrunken Gram matrix, coefficients b ~ N(0, T), T = diag(tau^2), and X'y = G b + sampling + noise, the
    estimate is T G (G T G + N)^-1 X'y, N the variance of the noise; the sampling part, which least squares bears
    without shrinkage, is left out of it. tau^2 maximizes the likelihood of X'y. Cost: one p by p
    factorization for each of 61 values of tau^2.

    References
    ----------
    Efron and Morris 1973; Bernstein and Sheldon 2019 (Bayes from noisy moments).
    """
    gram = shrunken_gram(moments.gram, moments.gram_variance, constant)
    if not (moments.gram_variance.any() or moments.xty_variance.any()):
        inverse = np.linalg.pinv(gram, rcond=1e-13, hermitian=True)
        return Shrunken(inverse @ moments.xty, inverse, gram)
    n_rows = max(moments.n_rows, 1.0)
    mean_square = float(np.clip(moments.yty / n_rows, 0.0, 1.0))
    size = float(np.trace(gram)) / n_rows
    found, best = -np.inf, 0.0
    for tau2 in PRIOR_VARIANCES:
        prior, noise = _prior(moments, float(tau2), constant)
        # What the coefficients do not explain of y'y/n is the variance of one row's error.
        error = max(mean_square - tau2 * size, 0.02 * mean_square)
        total = gram * prior @ gram + noise + error * gram
        likelihood = _log_likelihood(moments.xty, total)
        if likelihood > found:
            found, best = likelihood, float(tau2)
    prior, noise = _prior(moments, best, constant)
    inner = gram * prior @ gram + noise
    linear = (prior[:, None] * gram) @ np.linalg.pinv(inner, rcond=1e-14, hermitian=True)
    return Shrunken(linear @ moments.xty, linear, gram)


def _prior(moments: NoisyGram, tau2: float, constant: int | None) -> tuple[Floats, Floats]:
    """Return the coefficients' prior variances and the noise in X'y - G b that goes with them."""
    prior = np.full(len(moments.xty), tau2)
    if constant is not None:
        prior[constant] = CONSTANT_PRIOR_VARIANCE
    return prior, np.diag(moments.xty_variance + moments.gram_variance @ np.minimum(prior, tau2))


def _log_likelihood(xty: Floats, total: Floats) -> float:
    """Return the Gaussian log likelihood of X'y up to a constant, or minus infinity where it has none."""
    values, vectors = np.linalg.eigh(total)
    values = np.maximum(values, 1e-14 * max(float(values[-1]), 1e-300))
    return -0.5 * float(np.sum(np.log(values) + (vectors.T @ xty) ** 2 / values))
