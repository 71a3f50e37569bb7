"""What noisy moments say once their noise, whose size is known, is taken out by shrinkage."""

from typing import NamedTuple

import numpy as np

from discreet.kernels.noisy_gram import Floats, NoisyGram

PRIOR_VARIANCES = np.concatenate([[0.0], np.geomspace(1e-5, 1e1, 60)])
CONSTANT_PRIOR_VARIANCE = 1.0  # the intercept of a response in [-1, 1]
SMALLEST_EIGENVALUE = 0.01  # of a shrunken correlation matrix, unless the noise is smaller still


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


def shrunken_gram(gram: Floats, variance: Floats, constant: int | None = None) -> Floats:
    """Return the Gram matrix that noisy entries and the size of their noise suggest.

    Parameters
    ----------
    gram : ndarray of float, shape (p, p)
        X'X plus noise.
    variance : ndarray of float, shape (p, p)
        Variance of the noise in each entry.
    constant : int, optional
        Index of the column of ones.

    Returns
    -------
    ndarray of float, shape (p, p)
        Symmetric with no negative eigenvalue; entries without noise are as given.

    Notes
    -----
    Entries of one kind (diagonal; constant times column; column times column) are shrunk by one factor, the diagonal
    to its mean and the others to zero: the factor of James and Stein for noise of known variance, which is near one
    unless the noise hides what there is. What is left of the noise may make an eigenvalue negative; then the noisy
    entries off the diagonal are shrunk further. Cost: one eigenvalue problem, O(p^3).

    References
    ----------
    Efron and Morris 1973 (Stein's rule as empirical Bayes); Ledoit and Wolf 2004 (linear shrinkage of covariances).
    """
    noisy = variance > 0
    np.fill_diagonal(noisy, False)
    diagonal = _shrunken_diagonal(np.diag(gram), np.diag(variance))
    scales = np.sqrt(np.outer(diagonal, diagonal))
    correlations, noise = gram / scales, np.where(noisy, variance, 0.0) / scales**2
    np.fill_diagonal(correlations, 0.0)
    beside = np.ones(len(gram), dtype=np.bool_)
    if constant is not None:
        beside[constant] = False
    inner = np.outer(beside, beside)
    for kind in (noisy & inner, noisy & ~inner):
        total = float(np.sum(correlations[kind] ** 2))
        if total > 0:
            correlations[kind] *= max(0.0, 1.0 - float(noise[kind].sum()) / total)
    lowest = -float(np.linalg.eigvalsh(correlations)[0])
    floor = min(SMALLEST_EIGENVALUE, float(np.sqrt(noise.max())))
    if lowest > 1.0 - floor and noisy.any():
        correlations[noisy] *= (1.0 - floor) / lowest
    np.fill_diagonal(correlations, 1.0)
    found = correlations * scales
    return np.where(noisy | np.eye(len(gram), dtype=np.bool_), found, gram)


def _shrunken_diagonal(diagonal: Floats, variance: Floats) -> Floats:
    """Return positive sums of squares, the noisy ones pulled to their mean."""
    noisy = variance > 0
    found = diagonal.astype(np.float64)
    if np.count_nonzero(noisy) > 2:
        mean = max(float(found[noisy].mean()), 0.0)
        spread = float(np.sum((found[noisy] - mean) ** 2))
        kept = max(0.0, 1.0 - float(variance[noisy].sum()) / spread) if spread > 0 else 0.0
        found[noisy] = mean + kept * (found[noisy] - mean)
    # A sum of squares below its own noise is one that the noise has eaten.
    least = np.maximum(np.sqrt(variance), 1e-12 * max(1.0, float(np.abs(diagonal).max(initial=0.0))))
    return np.maximum(found, least)


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
