"""Coefficients of a linear model from noisy moments, with intervals that contain the noise."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from discreet.kernels.sufficient_statistics.gram import NoisyGram
from discreet.kernels.sufficient_statistics.regression_score import Score, gram_noise, intervals
from discreet.kernels.sufficient_statistics.regression_shrink import Shrunken, shrunken_coefficients
from discreet.kernels.sufficient_statistics.shares import Relation, Shares
from discreet.typing import Bools, Floats


class Coefficients(NamedTuple):
    """Estimates of linear combinations of coefficients, by default of each coefficient.

    Parameters
    ----------
    coef : ndarray of float, shape (k,)
        Estimates, shrunk by as much as their noise asks; each lies in its interval.
    covariance_sampling : ndarray of float, shape (k, k)
        Variance of the estimates from the choice of rows.
    covariance_privacy : ndarray of float, shape (k, k)
        Variance of the estimates from the noise.
    low, high : ndarray of float, shape (k,)
        Ends of the intervals, infinite where they would be the limits' doing.
    sigma2 : float
        Variance of one row's error, in [0, 1].
    """

    coef: Floats
    covariance_sampling: Floats
    covariance_privacy: Floats
    low: Floats
    high: Floats
    sigma2: float


def coefficients(
    moments: NoisyGram,
    columns: Sequence[int],
    level: float = 0.95,
    box: float | Floats = 2.0,
    *,
    combinations: Floats | None = None,
    offset: Floats | None = None,
    constant: int | None = None,
    dummies: Bools | None = None,
) -> Coefficients:
    """Return the coefficients of a model, or linear combinations of them, with intervals.

    Post-processing of `moments`. Estimates are finite whatever the noise. The intervals invert the score
    (`regression_score`), so they are not centered at the shrunken estimates; an end at the box is infinite.
    Cost: O(k p^3), about 20 ms for k = p = 4.
    Source: Guggenberger, Kleibergen, Mavroeidis and Chen 2012; privacy specification 6.1.
    Shapes: box (len(columns),), combinations (k, len(columns)), offset (k,), dummies (n_categories, p).
    """
    part, at, groups = _part(moments, columns, constant, dummies)
    p = len(columns)
    rows = np.eye(p) if combinations is None else np.asarray(combinations, dtype=np.float64).reshape(-1, p)
    limits = np.maximum(np.broadcast_to(np.asarray(box, dtype=np.float64), (p,)), 1e-9)
    shrunken = shrunken_coefficients(part, at, groups)
    privacy = gram_noise(part.gram_variance, shrunken.coef[None])[0] + np.diag(part.xty_variance)
    sigma2 = _error_variance(part, shrunken, privacy)
    sampling = sigma2 * shrunken.gram
    score = Score(part.gram, part.xty, part.gram_variance, sampling + np.diag(part.xty_variance), limits)
    quantiles = _quantiles(shrunken, rows, sampling, privacy, max(part.n_rows - p, 1.0), level)
    widest = np.abs(rows) @ limits
    low, high = intervals(score, rows, widest, quantiles**2)
    no_low, no_high = _open_ends(rows, low <= -widest, high >= widest)
    linear = rows @ shrunken.map  # coefficients are this times X'y
    shift = np.zeros(len(rows)) if offset is None else np.asarray(offset, dtype=np.float64)
    return Coefficients(
        coef=np.clip(rows @ shrunken.coef, low, high) + shift,
        covariance_sampling=linear @ sampling @ linear.T,
        covariance_privacy=linear @ privacy @ linear.T,
        low=np.where(no_low, -np.inf, low + shift),
        high=np.where(no_high, np.inf, high + shift),
        sigma2=sigma2,
    )


def score_of(
    moments: NoisyGram, columns: Sequence[int], box: float, constant: int | None = None, dummies: Bools | None = None
) -> tuple[Score, float]:
    """Return the score that the intervals of `coefficients` invert, and the residual degrees of freedom."""
    part, at, groups = _part(moments, columns, constant, dummies)
    shrunken = shrunken_coefficients(part, at, groups)
    privacy = gram_noise(part.gram_variance, shrunken.coef[None])[0] + np.diag(part.xty_variance)
    sampling = _error_variance(part, shrunken, privacy) * shrunken.gram
    limits = np.full(len(columns), max(box, 1e-9))
    score = Score(part.gram, part.xty, part.gram_variance, sampling + np.diag(part.xty_variance), limits)
    return score, max(part.n_rows - len(columns), 1.0)


def own_units(
    half_widths: Floats, middles: Floats, y_half_width: float, y_middle: float, constant: int | None = None
) -> tuple[Floats, Floats]:
    """Return the combinations and the offset that put coefficients into the columns' own units, for `coefficients`.

    The constant's combination is the prediction where all columns are zero, less `y_middle`, its offset.
    Shapes: half_widths, middles (p,); returns (p, p), (p,).

    Examples
    --------
    >>> matrix, offset = own_units(np.array([1.0, 5.0]), np.array([0.0, 5.0]), 10.0, 20.0, constant=0)
    >>> matrix @ np.array([0.1, 0.3]) + offset
    array([18. ,  0.6])
    """
    # y = y_middle + y_half_width (b_0 + sum_j b_j (x_j - middle_j) / half_j). The intercept is one combination of all
    # coefficients, so that its interval counts how their errors are correlated.
    slopes = y_half_width / np.asarray(half_widths, dtype=np.float64)
    offset = np.zeros(len(slopes))
    if constant is None:
        return np.diag(slopes), offset
    slopes[constant] = y_half_width
    matrix: Floats = np.diag(slopes)
    beside = np.arange(len(slopes)) != constant
    matrix[constant, beside] = -(slopes * middles)[beside]
    offset[constant] = y_middle
    return matrix, offset


def coefficient_shares(relation: Relation) -> Shares:
    """Return the shares of a budget that make the intervals of coefficients short.

    Examples
    --------
    >>> coefficient_shares("add_or_remove_one")
    Shares(xty=0.45, gram=0.52, yty=0.03, rows=0.0)
    """
    # An interval needs X'X more than a selection does: the score's noise is that of X'y plus b'b times that of X'X, and
    # where the latter hides an eigenvalue of X'X an interval is the box.
    return Shares(0.45, 0.52, 0.03) if relation == "add_or_remove_one" else Shares(0.7, 0.595, 0.2)


def _part(
    moments: NoisyGram, columns: Sequence[int], constant: int | None, dummies: Bools | None
) -> tuple[NoisyGram, int | None, Bools | None]:
    """Return the moments of a model's columns, the constant's place among them, and their whole categories."""
    chosen = np.asarray(columns, dtype=np.intp)
    block = np.ix_(chosen, chosen)
    part = moments._replace(
        gram=(moments.gram[block] + moments.gram[block].T) / 2.0,
        xty=moments.xty[chosen],
        gram_variance=moments.gram_variance[block],
        xty_variance=moments.xty_variance[chosen],
        n_rows=max(moments.n_rows, len(chosen) + 1.0),
    )
    place = int(np.flatnonzero(chosen == constant)[0]) if constant is not None and constant in chosen else None
    if dummies is None:
        return part, place, None
    return part, place, dummies[:, chosen] & (dummies[:, chosen].sum(axis=1) == dummies.sum(axis=1))[:, None]


def _error_variance(part: NoisyGram, shrunken: Shrunken, privacy: Floats) -> float:
    """Return the residual variance, corrected for the noise in X'y and clipped to [0, 1]."""
    coef, linear, gram = shrunken
    plain = part.yty - 2.0 * coef @ part.xty + coef @ gram @ coef
    # y'y - 2 c'v + c'Gc with c = H v is quadratic in the noise of v, of variance P: its mean is too large by
    # tr(H'GH P) - 2 tr(H P).
    excess = np.sum((linear.T @ gram @ linear) * privacy) - 2.0 * np.sum(linear * privacy)
    return float(np.clip((plain - excess) / max(part.n_rows - len(coef), 1.0), 0.0, 1.0))


def _open_ends(rows: Floats, no_low: Bools, no_high: Bools) -> tuple[Bools, Bools]:
    """Return which combinations have no lower, no upper end: nor has one with a coefficient that has none there.

    Shapes: rows (k, p), no_low (k,), no_high (k,); returns (k,), (k,).
    """
    up, down = rows > 0, rows < 0
    alone = (rows != 0).sum(axis=1) == 1

    def meet(with_low: Bools, with_high: Bools) -> Bools:
        """Coefficients that stand alone in a row of which it is said."""
        is_met: Bools = ((up & with_low[:, None]) | (down & with_high[:, None]))[alone].any(axis=0)
        return is_met

    low_of, high_of = meet(no_low, no_high), meet(no_high, no_low)
    return (
        no_low | ((up & low_of) | (down & high_of)).any(axis=1),
        no_high | ((up & high_of) | (down & low_of)).any(axis=1),
    )


def _quantiles(
    shrunken: Shrunken, rows: Floats, sampling: Floats, privacy: Floats, residual: float, level: float
) -> Floats:
    """Return Student's quantile for each combination: only the sampling part's variance is estimated."""
    linear = rows @ shrunken.map
    sampled = np.sum((linear @ sampling) * linear, axis=1)
    noise = np.sum((linear @ privacy) * linear, axis=1)
    share = np.divide(
        sampled,
        sampled + noise,
        out=np.ones(len(rows)),
        where=sampled + noise > 0,
    )
    # Satterthwaite 1946: n - p degrees of freedom over the squared share of the variance that is estimated.
    quantiles: Floats = stdtrit(residual / np.maximum(share, 1e-3) ** 2, (1.0 + level) / 2.0)
    return quantiles
