"""Model selection from noisy moments, with the noise in the likelihood; all of it is post-processing.

X'y with noise is a regression of its own: its mean is X'X b, its variance known. Weighted by that variance it gives
moments of the same shape as before, to which the exact search for the best subsets applies.
"""

import importlib
import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from discreet.kernels.subsets.best_subsets import search_subsets
from discreet.kernels.subsets.bits import mask_of
from discreet.kernels.subsets.perspective import best_model, bounds_of_sizes
from discreet.kernels.sufficient_statistics.cleaning import CleanGram
from discreet.kernels.sufficient_statistics.gram import NoisyGram, known_error
from discreet.typing import Bools, Floats

Penalty = Literal["auto", "aic", "bic"] | float

FALSE_ENTRY = 0.025
"""Penalty "auto": how often, at most, a column enters the best model when none of them matters."""

MOST_FALSE = 0.1
"""The same where the noise is large beside the rows, by default."""

ROWS_OF_NOISE = 10.0
"""Times the standard deviation of the noise of X'y, over the rows: the default chance where that is less."""

LEAST_RESIDUAL = 1e-10
"""Smallest residual variance, as a share of the mean square of y: a perfect fit has none."""

SINGULAR = 1e-15
"""An eigenvalue below this share of the largest counts as zero."""

ROUNDING = 1e-12
"""Share by which two ways to add up a criterion may differ."""

MODELS_OF_SIZE = (1, 4, 16, 64, 256)
"""Models listed of each size, more of them until the best one is proven, where units have different penalties."""

MOST_WORK = 1e9
"""Multiplications after which a search ends, one or two seconds."""

SHARE_OF_SIZES = 0.4
"""Of the work, for the best models of each size; the rest is for the best of all."""


class WeightedMoments(NamedTuple):
    """Moments in which noise and residuals have one common unit.

    Parameters
    ----------
    gram : ndarray of float, shape (p, p)
        s^2 G V^-1 G: G the cleaned X'X, V the variance of X'y given the coefficients, s^2 that of a residual.
    xty : ndarray of float, shape (p,)
        s^2 G V^-1 X'y.
    yty : float
        As for a residual sum of squares: with both, positive semidefinite.
    residual_variance : float
        s^2: a model that holds every effect has a residual sum of squares of s^2 times a chi-squared number, but for a
        constant that is the same for all models.
    variance : ndarray of float, shape (p, p)
        The part of V that noise and the uncertainty of G make.
    n_rows : float
        Number of rows, at least 1.
    """

    gram: Floats
    xty: Floats
    yty: float
    residual_variance: float
    variance: Floats
    n_rows: float


class Spectrum(NamedTuple):
    """The eigenvalues of a symmetric matrix, increasing, shape (p,), and its eigenvectors, shape (p, p)."""

    values: Floats
    vectors: Floats

    def inverse(self) -> Floats:
        """Return the pseudoinverse of the matrix."""
        sizes = np.abs(self.values)
        is_large = sizes > SINGULAR * sizes.max(initial=0.0)
        vectors = self.vectors[:, is_large]
        return np.asarray((vectors / self.values[is_large]) @ vectors.T)


class BestModels(NamedTuple):
    """The best models of each size, and the best of all.

    Parameters
    ----------
    mask : int
        Best model: bit j is set when unit j is in it.
    criterion : float
        Its criterion, in units of chi-squared.
    masks : tuple of int, length max_size + 1
        Model with the smallest residual sum of squares of each number of units.
    criteria : ndarray of float, shape (max_size + 1,)
        Their criteria.
    least : ndarray of float, shape (max_size + 1,)
        Where the search was not finished, no model of that size has a smaller criterion; else infinite: the model of
        that size is proven, and none of that size is better than the best of all.
    """

    mask: int
    criterion: float
    masks: tuple[int, ...]
    criteria: Floats
    least: Floats


def weighted(moments: NoisyGram, clean: CleanGram) -> WeightedMoments:
    """Return the moments on which models are compared; without noise, X'X, X'y and y'y themselves. Cost: O(p^3).

    Source: Aitken 1935 (weighted least squares); Fuller 1987, Measurement Error Models, section 2.2 (errors in X'X).
    """
    # X'y + noise = G b + X'e + noise - (error of G) b. Its variance is V = s^2 G + diag(noise) + that of the last term,
    # for which b is the least squares solution less its own noise. Models are compared by weighted least squares.
    noisy = moments.xty_variance.any() or clean.error.any() or moments.yty_variance > 0.0
    total = _total(moments, clean.n_rows) if noisy else max(moments.yty, 0.0)
    least = LEAST_RESIDUAL * total / clean.n_rows
    spectrum = Spectrum(*np.linalg.eigh(clean.gram))
    variance = _noise_variance(moments, clean, total, spectrum)
    explained, df = _explained(moments.xty, spectrum, variance, max(total / clean.n_rows, least))
    residual = min(max(total - explained, 0.5 * moments.yty_variance**0.5), total)
    s2 = max(residual / max(clean.n_rows - df, 1.0), least, np.finfo(float).tiny ** 0.5)
    if not variance.any():
        return WeightedMoments(clean.gram, moments.xty, total, s2, variance, clean.n_rows)
    inverse = np.linalg.pinv(clean.gram + variance / s2, hermitian=True)  # of V / s^2
    pulled = clean.gram @ inverse
    gram = pulled @ clean.gram
    yty = float(moments.xty @ inverse @ moments.xty) + residual
    return WeightedMoments((gram + gram.T) / 2.0, pulled @ moments.xty, yty, s2, variance, clean.n_rows)


def default_max_false(xty_variance: float, n_rows: float) -> float:
    """Return how often a column enters when none of them matters: seldom, and more so as rows outnumber the noise.

    `xty_variance` is that of the noise in X'y, on scaled columns.
    """
    return min(MOST_FALSE, max(ROWS_OF_NOISE * math.sqrt(xty_variance), 1.0) / max(n_rows, 1.0))


def unit_penalties(penalty: Penalty, units: Bools, n_rows: float, max_false: float = FALSE_ENTRY) -> Floats:
    """Return the model penalty of each unit: what it must gain to enter, in units of chi-squared.

    Source: Akaike 1974; Schwarz 1978; Foster and George 1994, The risk inflation criterion; Wilson and Hilferty 1931.
    Shapes: units (d, p); returns (d,).

    Examples
    --------
    >>> unit_penalties("auto", np.eye(6, dtype=bool), 1000.0).round(1).tolist()
    [8.2, 8.2, 8.2, 8.2, 8.2, 8.2]
    """
    sizes = units.sum(axis=1).astype(np.float64)
    if penalty == "auto":
        # The chi-squared quantile at 1 - max_false / d (Bonferroni), by Wilson and Hilferty: an error below 1% there.
        z = NormalDist().inv_cdf(1.0 - max_false / (2.0 * max(len(units), 1)))
        shape = 2.0 / (9.0 * sizes)
        upper = NormalDist().inv_cdf(1.0 - max_false / max(len(units), 1))
        return np.where(sizes == 1.0, z**2, sizes * (1.0 - shape + upper * np.sqrt(shape)) ** 3)
    each = {"aic": 2.0, "bic": float(np.log(n_rows))}.get(penalty) if isinstance(penalty, str) else float(penalty)
    penalties: Floats = sizes * each
    return penalties


def best_models(
    moments: WeightedMoments,
    units: Bools,
    always: Bools,
    penalties: Floats,
    max_size: int | None = None,
    most_work: float = MOST_WORK,
) -> BestModels:
    """Return the best model under a penalty, and the best of each size: exactly, or the best within the work allowed.

    A function of the arguments alone. Ties go to any of them. Source: Furnival and Wilson 1974, Regressions by leaps
    and bounds. Shapes: units (d, p), always (p,), penalties (d,).
    """
    d = len(units)
    size = d if max_size is None else min(max_size, d)
    gram, xty, yty, s2, _, _ = moments
    empty = max(yty - _gain(gram, xty, always), 0.0) / s2
    if size == 0:
        return BestModels(0, empty, (0,), np.array([empty]), np.array([np.inf]))
    cheapest = np.cumsum(np.sort(penalties))[:size]
    best, chosen = empty, np.zeros(d, dtype=np.bool_)
    first, criteria, proven = np.zeros((size, d), np.bool_), np.zeros(size), np.zeros(size, np.bool_)
    scaled, left = (gram / s2, xty / s2, yty / s2), most_work
    bound = -np.inf
    # With equal penalties one search finds all, if it ends. Otherwise the best of all is proven by itself; where that
    # fails, more and more models of each size are listed, until the last of a size, with the smallest penalties of that
    # many units, cannot win.
    for n_best in MODELS_OF_SIZE:
        search = search_subsets(gram, xty, yty, units, always, size, n_best, SHARE_OF_SIZES * most_work)
        values = search.rss / s2 + search.models @ penalties
        row, column = np.unravel_index(int(values.argmin()), values.shape)
        if values[row, column] < best:
            best, chosen = float(values[row, column]), search.models[row, column]
        if n_best == 1:
            first, criteria, proven = search.models[:, 0].copy(), values[:, 0].copy(), search.is_proven
            least = search.least / s2
            if np.ptp(penalties) == 0.0 and proven.all():
                bound = best
                break
            better = best_model(scaled, units, always, penalties, size, (chosen, best), left)
            if better.value < best:
                best, chosen = better.value, better.model
            bound = better.bound
            if bound >= best:
                break
        elif (search.least / s2 + cheapest >= best * (1.0 - ROUNDING)).all():
            bound = best
        if bound >= best or np.ptp(penalties) == 0.0 or not search.is_proven.all():
            break
    place = int(chosen.sum()) - 1
    if place >= 0 and np.ptp(penalties) == 0.0 and best < criteria[place]:
        first[place], criteria[place] = chosen, best
    if not proven.all():
        least = np.maximum(least, bounds_of_sizes(scaled, units, always, size))
    least = np.maximum(least + cheapest, bound)
    proven = proven | (least >= criteria)
    masks = (0, *(mask_of(model.view(np.uint8)) for model in first))
    return BestModels(
        mask_of(chosen.view(np.uint8)),
        best,
        masks,
        np.append(empty, criteria),
        np.append(np.inf, np.where(proven & (least >= best), np.inf, np.minimum(least, criteria))),
    )


def lasso_path(moments: WeightedMoments, always: Bools) -> tuple[Floats, Floats]:
    """Return the decreasing penalties where a column enters or leaves the lasso, and its coefficients there.

    Of 1/2 RSS + penalty sum |b|, linear in between. Source: Efron, Hastie, Johnstone and Tibshirani 2004, Least angle
    regression. Shapes: always (p,); returns (n_knots,), (n_knots, p).
    """
    gram, xty = moments.gram, moments.xty
    forced = np.flatnonzero(always)
    free = np.flatnonzero(~always)
    free = free[gram.diagonal()[free] > 0.0]
    inverse = np.linalg.pinv(gram[np.ix_(forced, forced)], hermitian=True)
    link = inverse @ gram[np.ix_(forced, free)]
    partial = gram[np.ix_(free, free)] - gram[np.ix_(free, forced)] @ link
    target = xty[free] - link.T @ xty[forced]
    knots, path = np.zeros(1), np.zeros((len(free), 1))
    if np.abs(target).max(initial=0.0) > 0.0:
        solver = importlib.import_module("sklearn.linear_model").lars_path_gram  # loading it takes a second
        knots, _, path = solver(target, (partial + partial.T) / 2.0, n_samples=1, method="lasso", copy_Gram=True)
    coefficients = np.zeros((len(knots), len(xty)))
    coefficients[:, free] = path.T
    coefficients[:, forced] = (inverse @ xty[forced])[None, :] - path.T @ link.T
    return knots, coefficients


def r_squared(
    moments: NoisyGram, clean: CleanGram, weights: WeightedMoments, models: Sequence[Bools], always: Bools
) -> tuple[Floats, Floats]:
    """Return each model's R squared beyond the columns of every model, corrected for the noise, and its standard error.

    The error is from the noise alone, and neither knows that a model was chosen as the best of many. Source: Fuller
    1987, Measurement Error Models, section 2.2. Shapes: models (p,), always (p,); returns (n_models,), (n_models,).
    """
    total = _total(moments, clean.n_rows) if weights.variance.any() or moments.yty_variance > 0.0 else moments.yty
    base, base_slope = _unbiased_gain(moments.xty, clean.gram, weights.variance, always)
    spread = max(total - base, 0.0)
    values, errors = np.zeros(len(models)), np.zeros(len(models))
    if spread <= 0.0:
        return values, np.full(len(models), 1.0 if weights.variance.any() else 0.0)
    for k, model in enumerate(models):
        gain, slope = _unbiased_gain(moments.xty, clean.gram, weights.variance, model | always)
        values[k] = min(max((gain - base) / spread, 0.0), 1.0)
        # R^2 = (gain - base) / (total - base); the delta method, with 2 b the gradient of b'X'y by X'y.
        direction = 2.0 * (slope - (1.0 - values[k]) * base_slope)
        noise = float(direction @ weights.variance @ direction) + values[k] ** 2 * moments.yty_variance
        errors[k] = min(max(noise, 0.0) ** 0.5 / spread, 1.0)
    return values, errors


def _total(moments: NoisyGram, n_rows: float) -> float:
    """Return y'y in its public range (0, n], at least half its noise."""
    return float(min(max(moments.yty, 0.5 * moments.yty_variance**0.5, 1e-6 * n_rows), n_rows))


def _gain(gram: Floats, xty: Floats, columns: Bools) -> float:
    """Return how much of y'y the columns explain."""
    side = xty[columns]
    return float(side @ np.linalg.pinv(gram[np.ix_(columns, columns)], hermitian=True) @ side)


def _unbiased_gain(xty: Floats, gram: Floats, variance: Floats, columns: Bools) -> tuple[float, Floats]:
    """Return how much of y'y the columns explain, corrected for the noise, and their coefficients."""
    at = np.ix_(columns, columns)
    inverse = np.linalg.pinv(gram[at], hermitian=True)
    b = np.zeros(len(xty))
    b[columns] = inverse @ xty[columns]
    return float(b @ xty - (inverse * variance[at]).sum()), b  # noise of variance W adds tr(G^-1 W)


def _explained(xty: Floats, spectrum: Spectrum, variance: Floats, s2: float) -> tuple[float, float]:
    """Return how much of y'y all columns explain, and their degrees of freedom, the noise left out."""
    values, vectors = spectrum
    is_regular = values > 1e-12 * max(float(values[-1]), 0.0)
    values, vectors = values[is_regular], vectors[:, is_regular]
    noise = (vectors * (variance @ vectors)).sum(axis=0)
    reliable = s2 * values / (s2 * values + noise) if s2 > 0.0 else np.where(noise > 0.0, 0.0, 1.0)
    square = np.maximum((vectors.T @ xty) ** 2 - noise, 0.0)
    return float((reliable * square / values).sum()), float(reliable.sum())


def _noise_variance(moments: NoisyGram, clean: CleanGram, total: float, spectrum: Spectrum) -> Floats:
    """Variance of the noise in X'y and of (error of G) b."""
    noise = np.diag(moments.xty_variance).astype(np.float64)
    if not clean.error.any() and moments.known is None:
        return noise
    inverse = spectrum.inverse()
    b = inverse @ moments.xty
    square = np.maximum(b**2 - inverse**2 @ noise.diagonal(), 0.0)
    size = float(square @ clean.gram.diagonal())
    square *= min(1.0, total / size) if size > 0.0 else 1.0  # no more than there is to explain
    b = np.sign(b) * np.sqrt(square)
    if moments.known is not None:
        return noise + known_error(moments, b)
    # Entry i is the sum over j of e_ij b_j, and e_ij = e_ji is in entry j too, with b_i.
    shared = clean.error * np.outer(b, b)
    np.fill_diagonal(shared, 0.0)
    variance: Floats = noise + np.diag(clean.error @ square) + shared
    return variance
