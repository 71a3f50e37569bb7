"""Coefficients of a linear model from noisy moments, with intervals that contain the noise."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from discreet.kernels.linear_combinations import ends_of_combinations
from discreet.kernels.sufficient_statistics.cleaning import CleanGram, cleaned
from discreet.kernels.sufficient_statistics.gram import NoisyGram, known_error
from discreet.kernels.sufficient_statistics.regression_score import Score, gram_noise, intervals
from discreet.kernels.sufficient_statistics.regression_shrink import Shrunken, shrunken_coefficients
from discreet.kernels.sufficient_statistics.shares import Relation, Shares
from discreet.kernels.sufficient_statistics.unit_sampling import LikelyUnitRows
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


class NoisyMatrix(NamedTuple):
    """A symmetric matrix with noise, whose standard deviation is `sd` on the diagonal and less by sqrt(2) beside it."""

    value: Floats
    sd: float


LEAST_INFLATION, MOST_INFLATION = 0.5, 3.0
"""Of the squared scores beside what equal variances make them, in the mean; the latter times the rows of a unit."""

LEVEL_ERROR = 0.01
"""Least standard error of a level, in half ranges of the target: a median is not a mean."""

NEAR_BOUND = 0.99
"""An end beyond so much of what the bounds allow is theirs: it is sought by steps, and may stop just short of them."""

LEAST_EIGENVALUE = 0.3
"""Of the squared scores in any direction, beside what equal variances and their mean inflation make them."""


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
    rows_per_unit: int = 1,
) -> Coefficients:
    """Return the coefficients of a model, or linear combinations of them, with intervals.

    Post-processing of `moments`. Estimates are finite whatever the noise. The intervals invert the score
    (`regression_score`), so they are not centered at the shrunken estimates; an end at the box is infinite. Rows of one
    unit may be as alike as can be: the sampling variance is that of `rows_per_unit` equal ones.
    Cost: O(k p^3), about 20 ms for k = p = 4.
    Source: Guggenberger, Kleibergen, Mavroeidis and Chen 2012; privacy specification 6.1.
    Shapes: box (len(columns),), combinations (k, len(columns)), offset (k,), dummies (n_categories, p).
    """
    model = noisy_model(moments, columns, box, constant=constant, dummies=dummies, rows_per_unit=rows_per_unit)
    rows = np.eye(len(columns)) if combinations is None else np.asarray(combinations, dtype=np.float64)
    return model.combinations(rows.reshape(-1, len(columns)), offset, level)


def noisy_model(
    moments: NoisyGram,
    columns: Sequence[int],
    box: float | Floats,
    *,
    constant: int | None = None,
    dummies: Bools | None = None,
    rows_per_unit: int = 1,
    level: tuple[float, float] | None = None,
    likely: LikelyUnitRows | None = None,
) -> "NoisyModel":
    """Return what the moments tell of a model; the parameters are those of `coefficients`.

    `level`: what the target is about in the middle of the rows, and the error of that. The estimates then take from the
    moments how the columns change it alone; the intervals do not use it. `likely`: of rows divided by their length.
    """
    part, at, groups = _part(moments, columns, constant, dummies)
    p = len(columns)
    limits = np.maximum(np.broadcast_to(np.asarray(box, dtype=np.float64), (p,)), 1e-9)
    shrunken = shrunken_coefficients(part, at, groups)
    of_gram = known_error(part, _as_large_as_can_be(part, shrunken.coef))
    sigma2 = _error_variance(part, shrunken, _privacy(part, shrunken) + of_gram)
    spread = shrunken.gram if likely is None else likely.sampling(shrunken.gram, list(columns))
    sampling = sigma2 * spread * rows_per_unit + of_gram
    estimate = shrunken.coef if level is None or at is None else _leveled(part, at, groups, level)
    return NoisyModel(part, shrunken, sampling, sigma2, limits, np.eye(p), np.zeros(p), limits, estimate)


def _as_large_as_can_be(part: NoisyGram, coef: Floats) -> Floats:
    """Return shrunken coefficients made to explain what unshrunken ones do, and no more than there is to explain.

    An error of X'X meets the coefficients as they are, not as far as noise lets them be seen.
    """
    if part.known is None:
        return coef
    whole = float(part.xty @ np.linalg.pinv(part.gram, hermitian=True) @ part.xty)
    explained = max(float(coef @ part.gram @ coef), 1e-12 * part.n_rows)
    enlarged: Floats = coef * max(1.0, (min(whole, max(part.yty, 0.0)) / explained) ** 0.5)
    return enlarged


def _leveled(part: NoisyGram, constant: int, groups: Bools | None, level: tuple[float, float]) -> Floats:
    """Return the shrunken coefficients where the target's sum is known from elsewhere."""
    xty, variance = part.xty.copy(), part.xty_variance.copy()
    about, error = level
    xty[constant] = about * part.n_rows
    variance[constant] = (error**2 + LEVEL_ERROR**2) * part.n_rows**2
    return shrunken_coefficients(part._replace(xty=xty, xty_variance=variance), constant, groups).coef


def pilot(
    moments: NoisyGram, columns: Sequence[int], constant: int | None = None, dummies: Bools | None = None
) -> tuple[NoisyGram, CleanGram, Floats]:
    """Return the moments of a model's columns, those that some table can have, and its coefficients: without intervals.

    Shapes: dummies (n_categories, p); returns moments of len(columns), coefficients (len(columns),).
    """
    part, at, groups = _part(moments, columns, constant, dummies)
    return part, cleaned(part, at, groups), shrunken_coefficients(part, at, groups).coef


def whitened_model(
    moments: NoisyGram,
    scores: NoisyMatrix | None,
    matrix: Floats,
    start: Floats,
    box: float,
    rows_per_unit: int = 1,
    prior_variance: float = 10.0,
) -> "NoisyModel":
    """Return what the moments of whitened columns and residuals tell of a model.

    Post-processing. The coefficients are start + matrix' g, g those of the residuals on the whitened columns.
    `scores` is the sum over units of the squared scores of each, the variance of X'y by the choice of units; without it
    that is the errors' variance times X'X. The estimates are shrunk to `start` by the prior of g where noise is large.
    Shapes: moments of p columns; scores, matrix (p, p); start (p,).
    """
    bounds = np.full(len(start), box)
    # Not the likeliest variance: where sampling hides the pilot's error, the estimate would stay at the pilot.
    shrunken = shrunken_coefficients(moments, prior_variance=prior_variance)
    sigma2 = _error_variance(moments, shrunken, _privacy(moments, shrunken))
    sampling = sigma2 * shrunken.gram * rows_per_unit
    if scores is not None:
        sampling = covariance_of_scores(scores, sampling / rows_per_unit, rows_per_unit)
    # g = W^-T (b - b0), for every b within the box.
    limits = np.abs(np.linalg.inv(matrix).T) @ (bounds + np.abs(start))
    return NoisyModel(moments, shrunken, sampling, sigma2, limits, matrix, start, bounds)


def covariance_of_scores(scores: NoisyMatrix, homoskedastic: Floats, rows_per_unit: int) -> Floats:
    """Return the scores' covariance from its noisy estimate, shrunk to that of equal variances as its noise asks.

    Source: White 1980; Liang and Zeger 1986 (scores summed by unit); Efron and Morris 1973 (the shrinkage).
    Shapes: homoskedastic (p, p), returns (p, p).
    """
    p = len(homoskedastic)
    values, vectors = np.linalg.eigh(homoskedastic)
    size = float(np.abs(scores.value).max()) + scores.sd  # errors of variance zero leave the scores' own size
    root = vectors / np.sqrt(np.maximum(values, max(1e-12 * float(values[-1]), 1e-6 * size, 1e-24)))
    relative = root.T @ scores.value @ root  # the identity where variances are equal
    sd = scores.sd * float(np.mean(np.sum(root * root, axis=0)))
    inflation = float(np.trace(relative)) / p
    inflation += 0.5 * sd / p**0.5  # its own noise: none where it matters little, a wider interval where it is large
    inflation = float(np.clip(inflation, LEAST_INFLATION, MOST_INFLATION * rows_per_unit))
    beside = relative - inflation * np.eye(p)
    noise = sd**2 * (p + p * (p - 1) / 2.0)
    shrinkage = max(1.0 - noise / max(float(np.sum(beside**2)), 1e-300), 0.0)
    spread, turned = np.linalg.eigh(inflation * np.eye(p) + shrinkage * beside)
    axes = np.linalg.inv(root).T @ turned
    covariance: Floats = (axes * np.maximum(spread, LEAST_EIGENVALUE * inflation)) @ axes.T
    return covariance


def _privacy(part: NoisyGram, shrunken: Shrunken) -> Floats:
    """Return the covariance of the noise in X'y - X'X b at the estimate."""
    noise: Floats = gram_noise(part.gram_variance, shrunken.coef[None])[0] + np.diag(part.xty_variance)
    return noise


@dataclass(frozen=True)
class NoisyModel:
    """What noisy moments tell of a model: every interval and every joint test of its coefficients comes from here.

    The coefficients are b = start + matrix' g, where g are those that the moments are of, by default b itself.

    Parameters
    ----------
    part : NoisyGram
        The moments that g follows from.
    shrunken : Shrunken
        The estimate of g.
    sampling : ndarray of float, shape (p, p)
        Variance of X'y by the choice of rows.
    sigma2 : float
        Variance of one row's error.
    limits : ndarray of float, shape (p,)
        Largest absolute values of g.
    matrix : ndarray of float, shape (p, p)
        From b to g, transposed.
    start : ndarray of float, shape (p,)
        b where g is zero.
    bounds : ndarray of float, shape (p,)
        Largest absolute values of b.
    estimate : ndarray of float, shape (p,), optional
        Of g, default that of `shrunken`: where more is known of it than intervals can use.
    """

    part: NoisyGram
    shrunken: Shrunken
    sampling: Floats
    sigma2: float
    limits: Floats
    matrix: Floats
    start: Floats
    bounds: Floats
    estimate: Floats | None = None
    _alone: dict[float, tuple[Floats, Floats]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def score(self) -> Score:
        """The score of g, which all intervals invert."""
        part = self.part
        base = self.sampling + np.diag(part.xty_variance)
        return Score(part.gram, part.xty, part.gram_variance, base, self.limits)

    def combinations(self, rows: Floats, offset: Floats | None, level: float) -> Coefficients:
        """Return linear combinations of b with intervals; an end that the bounds make is infinite.

        Shapes: rows (k, p), offset (k,), which is added.
        """
        shift = np.zeros(len(rows)) if offset is None else np.asarray(offset, dtype=np.float64)
        low, high = self._ends(rows, level)
        linear = rows @ self.matrix.T @ self.shrunken.map  # of X'y
        widest = np.abs(rows) @ self.bounds
        estimate = self.shrunken.coef if self.estimate is None else self.estimate
        coef = rows @ self.matrix.T @ estimate + rows @ self.start
        return Coefficients(
            coef=np.clip(np.clip(coef, -widest, widest), low, high) + shift,
            covariance_sampling=linear @ self.sampling @ linear.T,
            covariance_privacy=linear @ _privacy(self.part, self.shrunken) @ linear.T,
            low=low + shift,
            high=high + shift,
            sigma2=self.sigma2,
        )

    def degrees(self, rows: Floats) -> Floats:
        """Return Student's degrees of freedom for each combination: only the sampling part's variance is estimated.

        Shapes: rows (k, p); returns (k,).
        """
        linear = rows @ self.matrix.T @ self.shrunken.map
        sampled = np.sum((linear @ self.sampling) * linear, axis=1)
        whole = sampled + np.sum((linear @ _privacy(self.part, self.shrunken)) * linear, axis=1)
        share = np.divide(sampled, whole, out=np.ones(len(rows)), where=whole > 0)
        # Satterthwaite 1946: n - p degrees of freedom over the squared share of the variance that is estimated.
        residual = max(self.part.n_rows - len(self.limits), 1.0)
        return np.asarray(residual / np.maximum(share, 1e-3) ** 2, dtype=np.float64)

    def _ends(self, rows: Floats, level: float) -> tuple[Floats, Floats]:
        """The ends of each combination. One with a coefficient that has no end has none there either."""
        return ends_of_combinations(rows, self._ends_alone(level), lambda some: self._inverted(some, level))

    def _ends_alone(self, level: float) -> tuple[Floats, Floats]:
        """The ends of each coefficient, kept for the next question."""
        if level not in self._alone:
            self._alone[level] = self._inverted(np.eye(len(self.bounds)), level)
        return self._alone[level]

    def _inverted(self, rows: Floats, level: float) -> tuple[Floats, Floats]:
        """The values that the score does not reject, infinite where the bounds end them."""
        from scipy.special import stdtrit  # slow to load

        quantiles = stdtrit(self.degrees(rows), (1.0 + level) / 2.0)
        center, widest = rows @ self.start, np.abs(rows) @ self.bounds
        low, high = intervals(self.score, rows @ self.matrix.T, widest + np.abs(center), quantiles**2)
        low, high = low + center, high + center
        furthest = NEAR_BOUND * widest
        return np.where(low <= -furthest, -np.inf, low), np.where(high >= furthest, np.inf, high)


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
        known=None if moments.known is None else moments.known.part(chosen),
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
