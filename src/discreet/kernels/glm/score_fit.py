"""What a noisy score tells of coefficients: the intervals of a fit, of every linear combination, and joint regions.

At the truth Q, minimized over all coefficients but those that are tested, is at most chi-squared. Where the score's
covariance is estimated by units, it is Student's law and Hotelling's; where a part of the noise is a spherical Laplace
vector, a mixture of chi-squared laws. So a fit's own intervals and later answers are one function of one score.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import chdtr, chdtri, fdtri, gammaincinv, stdtrit

from discreet.kernels.glm.count_bound import CountBound
from discreet.kernels.glm.open_ways import OpenWays
from discreet.kernels.glm.sandwich import Reliability
from discreet.kernels.glm.score import ScoreModel, Turned, intervals, minimize
from discreet.kernels.linear_combinations import ends_of_combinations
from discreet.typing import Bools, Floats

WEAKER = 10.0
"""Times the width of the weak prior, and of the box, with which it is told whether an end is theirs."""

MOVED = 0.1
"""Of an end's distance from the estimate, by which a weaker prior moves it where it rests on the prior."""

NEAR, MOST_SECANTS = 1e-11, 14
"""Of a quantile: where it is by secants, of which there are no more."""

MIXTURE = 2_000
"""Scales that stand for the law of a spherical Laplace vector's length."""


@dataclass(frozen=True)
class Fit:
    """Estimates with two kinds of uncertainty, per half range of each column.

    Parameters
    ----------
    coef : ndarray of float, shape (p,)
        The estimate, within the intervals; coefficient 0 is the constant's.
    low, high : ndarray of float, shape (p,)
        Ends of the intervals, the first that of the constant where all columns are zero; infinite where none can be
        told.
    covariance_sampling, covariance_privacy : ndarray of float, shape (p, p)
        H^-1 J H^-1 and H^-1 N H^-1 with N the noise's covariance: to first order their sum is the estimate's.
    level : float
        Of the intervals.
    score : ScoreFit
        What they follow from.
    clipped : CountBound, optional
        Where counts were clipped, if that was to be found.
    """

    coef: Floats
    low: Floats
    high: Floats
    covariance_sampling: Floats
    covariance_privacy: Floats
    level: float
    score: "ScoreFit"
    clipped: CountBound | None = None


@dataclass(frozen=True)
class ScoreFit:
    """A noisy score with its estimate, and the law of its error.

    Parameters
    ----------
    model : ScoreModel
        The score.
    coef : ndarray of float, shape (p,)
        Where the score is zero, or as near to it as it gets: what the intervals are about.
    box : float
        Largest absolute coefficient; an interval that reaches it has no end there.
    known : Reliability, optional
        How well the sampling variance is known, where units told it.
    is_laplace : bool
        Whether the noise is mostly one spherical Laplace vector; else it is Gaussian.
    is_told : bool
        False where noise hides so much that nothing is told.
    told : ndarray of float, shape (p,), optional
        The estimate, shrunk by as much as the noise asks; default `coef`.
    ways : OpenWays
        Directions along which nothing tells that coefficients end.
    """

    model: ScoreModel
    coef: Floats
    box: float
    known: Reliability | None = None
    is_laplace: bool = False
    is_told: bool = True
    told: Floats | None = None
    ways: OpenWays = field(default_factory=OpenWays)
    _alone: dict[float, tuple[Floats, Floats]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def estimate(self) -> Floats:
        """The estimate of the coefficients."""
        return self.coef if self.told is None else self.told

    @cached_property
    def precision(self) -> Floats:
        """Of the weak prior of the coefficients that are not asked for."""
        return np.full(len(self.coef), (self.box / 2.0) ** -2.0)

    @cached_property
    def covariances(self) -> tuple[Floats, Floats]:
        """The estimate's covariance by sampling and by noise, the sandwich H^-1 (J + N) H^-1."""
        inverse = self._inverse_slope
        return inverse @ self.model.sampling @ inverse, inverse @ self.model.privacy(self.coef) @ inverse

    @cached_property
    def _inverse_slope(self) -> Floats:
        """The inverse slope, its eigenvalues raised to the level of their noise, and to what the box lets matter."""
        model = self.model
        noise = 0.0 if model.rest_error is None else float(model.rest_error.variance.mean())
        values, vectors = np.linalg.eigh(model.slope(self.coef))
        floor = max((len(values) * noise) ** 0.5, 1e-9 * float(np.abs(values).max()), self.box**-2.0)
        raised: Floats = (vectors * np.maximum(values, floor)) @ vectors.T
        return np.asarray(np.linalg.inv(raised), dtype=np.float64)

    def fit(self, rows: Floats, level: float) -> Fit:
        """Return the estimates with the intervals of these combinations. Shapes: rows (p, p)."""
        low, high = self.intervals(rows, level)
        return Fit(self.estimate, low, high, *self.covariances, level, self)

    def intervals(self, rows: Floats, level: float) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of combinations of the coefficients, infinite where none can be told.

        A combination with a coefficient that has no end has none there either. Cost: about 40 minimizations in p - 1
        unknowns for each row with several coefficients. Shapes: rows (k, p); returns (k,), (k,).
        """
        if not self.is_told:
            return np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
        low, high = ends_of_combinations(rows, self._ends_alone(level), lambda some: self._ends(some, level))
        no_low, no_high = self._without_ends(rows, level, low, high)
        return np.where(no_low, -np.inf, low), np.where(no_high, np.inf, high)

    def _without_ends(self, rows: Floats, level: float, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        """Return which of these ends are not told: of separated rows, or in a direction without information.

        Without a delta the score is of one point, with all of its noise: in such a direction ends are found again with
        a prior and a box that are `WEAKER` times as wide, and those that move rest on them. Passes pool scores of
        several points, whose errors there may add up to an end: none is told.
        """
        no_low, no_high = self.ways.without_ends(rows)
        hidden = self.ways.hidden(rows)
        if not self.is_laplace:
            return no_low | hidden, no_high | hidden
        if hidden.any():
            wide = replace(self, box=WEAKER * self.box, ways=OpenWays(), _alone={})
            further = wide.intervals(rows[hidden], level)
            center = rows[hidden] @ self.coef
            for no_end, end, far in ((no_low, low, further[0]), (no_high, high, further[1])):
                with np.errstate(invalid="ignore"):
                    no_end[hidden] |= ~(np.abs(far - end[hidden]) <= MOVED * np.abs(end[hidden] - center))
        return no_low, no_high

    def joint(self, tested: Bools, level: float) -> tuple[float, float, float | None]:
        """Return how far zero is from the coefficients at some places, how far their region reaches, and the degrees of
        freedom of the variance; None where it is known.

        Q with those coefficients at zero, less Q with them at the estimate; the others are as near as they can be. For
        one coefficient zero is inside where it is in the interval; one without an end on the side of zero is not held
        there. Cost: five minimizations in p unknowns. Shapes: tested (p,).
        """
        limit, residual = self._limit(np.eye(len(self.coef))[tested], level)
        no_low, no_high = self._without_ends(np.eye(len(self.coef)), level, *self._ends_alone(level))
        tested = tested & ~np.where(self.coef > 0.0, no_low, no_high)
        if not tested.any():
            return 0.0, limit, residual
        precision = self.precision * ~tested
        held = np.where(tested, 0.0, self.coef)
        # Q need not be convex: the least of several descents, so that zero is not ruled out for want of a better start.
        starts = np.array([held + self._following(tested), held, np.where(tested, 0.0, self.model.point), 0.0 * held])
        at_zero = minimize(self.model, starts, precision, self.box, np.tile(tested, (4, 1)))[1].min()
        at_estimate = minimize(self.model, self.coef[None], precision, self.box, tested[None])[1][0]
        return max(float(at_zero - at_estimate), 0.0), limit, residual

    def _following(self, tested: Bools) -> Floats:
        """How far the other coefficients move where these are brought to zero, by the quadratic approximation."""
        curvature = self.model.distance(self.coef[None])[2][0] + np.diag(self.precision)
        moved, free = np.zeros(len(self.coef)), ~tested
        cross = curvature[np.ix_(free, tested)] @ self.coef[tested]
        moved[free] = np.linalg.lstsq(curvature[np.ix_(free, free)], cross, rcond=1e-9)[0]
        return moved

    def _ends_alone(self, level: float) -> tuple[Floats, Floats]:
        """The ends of each coefficient, kept for the next question."""
        if level not in self._alone:
            p = len(self.coef)
            thresholds = np.array([self._limit(row[None], level)[0] for row in np.eye(p)])
            sd = np.sqrt(np.maximum(np.diagonal(sum(self.covariances)), 0.0))
            box, one_point = np.full(p, self.box), self.is_laplace
            self._alone[level] = intervals(
                self.model, self.coef, sd, self.precision, box, thresholds, np.arange(p), is_of_one_point=one_point
            )
        return self._alone[level]

    def _ends(self, rows: Floats, level: float) -> tuple[Floats, Floats]:
        """The ends of combinations, each of which takes the place of its largest coefficient."""
        ends = np.zeros((2, len(rows)))
        for k, row in enumerate(rows):
            turn, place = np.eye(len(row)), int(np.abs(row).argmax())
            turn[place] = row
            turned = Turned(self.model, np.linalg.inv(turn).astype(np.float64))
            sd = max(float(row @ sum(self.covariances) @ row), 0.0) ** 0.5
            reach = np.abs(turn) @ np.full(len(row), self.box)
            limit, places = self._limit(row[None], level)[0], np.array([place])
            sds = np.full(len(row), sd)
            at, one_point = turn @ self.coef, self.is_laplace
            low, high = intervals(turned, at, sds, self.precision, reach, limit, places, is_of_one_point=one_point)
            ends[:, k] = low[0], high[0]
        return ends[0], ends[1]

    def _limit(self, rows: Floats, level: float) -> tuple[float, float | None]:
        """What Q is below at the truth, as often as the level says, for some combinations together.

        And the degrees of freedom that are left of the variance's. Shapes: rows (k, p).
        """
        k = len(rows)
        normal = float(chdtri(k, 1.0 - level))
        limit = critical(level, self._share(rows), len(self.coef), k) if self.is_laplace else normal
        if self.known is None:
            return limit, None
        degrees = min(self.known.degrees(row) for row in rows @ self._inverse_slope)
        residual = max(degrees - k + 1.0, 1.0)
        # Hotelling 1931: T^2 is k (residual + k - 1) / residual times F; for k = 1 that is Student's t squared. With a
        # Laplace vector both are longer than normal, one for the noise and one for what is not known of the variance.
        student = float(stdtrit(residual, (1.0 + level) / 2.0)) ** 2 if k == 1 else float(fdtri(k, residual, level))
        longer = k * (residual + k - 1.0) / residual * student if k > 1 else student
        return longer * (limit / normal), residual

    def _share(self, rows: Floats) -> float:
        """The largest share of noise in the variance of a combination of these combinations."""
        sampling, privacy = (rows @ covariance @ rows.T for covariance in self.covariances)
        if len(rows) == 1:
            return float(privacy[0, 0]) / max(float(sampling[0, 0] + privacy[0, 0]), 1e-300)
        values = np.linalg.eigvals(np.linalg.pinv(sampling + privacy, hermitian=True) @ privacy)
        return float(np.clip(np.real(values).max(), 0.0, 1.0))


def symmetric(model: ScoreModel) -> ScoreModel:
    """Return a score whose matrices are symmetric to the last bit: a release that holds them tells the same ends."""
    curve, error = model.curve, model.rest_error
    return replace(
        model,
        rest=_even(model.rest),
        information=_even(model.information),
        sampling=_even(model.sampling),
        noise=_even(model.noise),
        curve=replace(curve, spread=_even(curve.spread)),
        rest_error=None if error is None else replace(error, variance=_even(error.variance)),
    )


def _even(matrix: Floats) -> Floats:
    even: Floats = (matrix + matrix.T) / 2.0
    return even


def critical(level: float, share: float, p: int, k: int = 1) -> float:
    """Return the quantile of the squared length of a normal vector plus k coordinates of a spherical Laplace vector.

    The sum has the identity's covariance, of which `share` is the vector's part; the vector has p coordinates. 1.96^2
    for k = 1, a level of .95 and no share, 2.12^2 for p = 1 and all.
    """
    # exp(-|z|) in p dimensions is a mixture of normal laws whose variances are Gamma((p + 1) / 2) distributed.
    shape = (p + 1) / 2.0
    scales = gammaincinv(shape, (np.arange(MIXTURE) + 0.5) / MIXTURE)
    variances = 1.0 - share + share * scales / scales.mean()

    def held(length: float) -> float:
        return float(np.mean(chdtr(k, length / variances)))

    def excess(length: float) -> float:
        return math.log(max(1.0 - held(length), 1e-300) / (1.0 - level))

    # Secants bring the end near: halves of which that decides are not evaluated.
    before, last = float(k), 4.0 * k
    above, below = excess(before), excess(last)
    for _ in range(MOST_SECANTS):
        step = below * (last - before) / ((below - above) or 1.0)
        before, last, above = last, min(max(last - step, last / 4.0), last * 4.0), below
        below = excess(last)
        if abs(last - before) <= NEAR * last:
            break
    low, high, width = 0.0, 2500.0 * k, NEAR * last
    if not held(last - width) < level <= held(last + width):
        width = math.inf
    for _ in range(60):
        middle = (low + high) / 2.0
        is_below = held(middle) < level if abs(middle - last) <= width else middle < last
        low, high = (middle, high) if is_below else (low, middle)
    return high
