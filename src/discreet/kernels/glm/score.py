"""Point estimates and intervals from a noisy score whose slope is noisy too.

At the true coefficients the score has mean zero and a covariance that is known up to the sampling part. With t the
point where it was taken, m the curve that says how it bends (`curve`), R what the noisy slope at t is above the
curve's, and d(theta) = theta - t, shortened where it is far,

    u(theta) = a - [m(theta) - m(t)] - R d(theta),
    V(theta) = J + N + Cov(E f) + tau^2 b b' + kappa w s^2 H,
    b = m(theta) - m(t) - m'(t) d(theta),    s = d(theta)'H d(theta) / w,

where N is the noise of a, E that of R, symmetric and of independent entries, f is d plus a constant, and tau b stands
for what the curve is wrong by in that direction, kappa for what it is wrong by in any (`curvature`). So Q(theta) =
u'V^-1 u is about chi-squared with p degrees of freedom at the truth, whatever the slope turned out to be; minimized
over all coefficients but one it is at most chi-squared with one. The values that Q does not reject are the interval
(Fieller 1954; Anderson and Rubin 1949).
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.kernels.glm.curve import Curve
from discreet.typing import Bools, Floats

TINY = 1e-12
"""Ridge of a covariance relative to its trace: it stays regular without noise."""

FAR = 1.0
"""A slope's error counts no further than this root mean square change of linear predictors: a mean is bounded."""

WIDENINGS, NARROWINGS = 12, 10
"""An interval's end is sought outward by doubling steps, then in between by halves."""

PRECISION = 0.01
"""Of an end's distance from the center."""

BEYOND = np.array([1.2, 1.5, 2.0, 3.0, 4.5, 7.0, 11.0, 20.0])
"""Times an end's distance from the center, where it is looked for values that the score does not reject either."""


@dataclass(frozen=True)
class NoiseTerm:
    """A noisy matrix's part of the score's noise.

    Parameters
    ----------
    variance : ndarray of float, shape (p, p)
        Of the matrix's entries, symmetric.
    slope : float
        alpha: the matrix meets ``slope * theta + offset``.
    offset : ndarray of float, shape (p,)
        beta.
    basis : ndarray of float, shape (p, p), optional
        Orthonormal columns in which the matrix's entries have these variances.
    """

    variance: Floats
    slope: float
    offset: Floats
    basis: Floats | None = None

    def covariance(self, theta: Floats) -> Floats:
        """Return the covariance of E f, for E the matrix's noise and f = slope theta + offset.

        Shapes: theta (..., p); returns (..., p, p).
        """
        # Cov_ik = S_ik f_i f_k, and Cov_ii = sum_j S_ij f_j^2: an entry and its mirror share one draw.
        f = self.slope * theta + self.offset
        f = f if self.basis is None else f @ self.basis
        covariance = self.variance * (f[..., :, None] * f[..., None, :])
        place = np.arange(f.shape[-1])
        covariance[..., place, place] = (f * f) @ self.variance
        return covariance if self.basis is None else self.basis @ covariance @ self.basis.T

    def slope_of(self, theta: Floats, z: Floats) -> Floats:
        """Return the gradient of z'covariance(theta) z by theta, at fixed z.

        Shapes: theta, z (..., p); returns (..., p).
        """
        f = self.slope * theta + self.offset
        if self.basis is not None:
            f, z = f @ self.basis, z @ self.basis
        squares = z * z
        own = np.diagonal(self.variance)
        half_gradient = f * (squares @ self.variance) + z * ((z * f) @ self.variance) - own * squares * f
        result: Floats = 2.0 * self.slope * half_gradient
        return result if self.basis is None else result @ self.basis.T


@dataclass(frozen=True)
class ScoreModel:
    """A noisy score u(theta), and the covariance V(theta) of its noise; the symbols are the module's.

    Parameters
    ----------
    constant : ndarray of float, shape (p,)
        a.
    point : ndarray of float, shape (p,)
        t.
    rest : ndarray of float, shape (p, p)
        R, symmetric.
    curve : Curve
        m.
    information : ndarray of float, shape (p, p)
        Of the rows at t, positive semidefinite: the measure of what is far.
    sampling : ndarray of float, shape (p, p)
        J, positive semidefinite.
    noise : ndarray of float, shape (p, p)
        N, positive semidefinite.
    rest_error : NoiseTerm, optional
        What is not known of R; it meets d(theta), plus its offset.
    mismatch : float
        tau.
    curvature : float
        kappa. H is the information, w its first entry: of all rows together.
    """

    # How exp bends moves a score by r = sum w x g, g = e^delta - 1 - delta, delta = x'(theta - t). As a projection is
    # no longer than what is projected, r r' <= (sum w g^2) H, a matrix inequality: for small ones g is delta^2 / 2,
    # and sum w delta^4 about 3 w s^2. So kappa = 3 / 4 is all of it, as if at random in every direction.

    constant: Floats
    point: Floats
    rest: Floats
    curve: Curve
    information: Floats
    sampling: Floats
    noise: Floats
    rest_error: NoiseTerm | None = None
    mismatch: float = 0.0
    curvature: float = 0.0

    def settled(self, theta: Floats) -> "ScoreModel":
        """Return the same score with its covariance at one point: far away a score may look small beside its noise."""
        sampling = self._at(theta[None]).covariance[0]
        return replace(
            self, sampling=sampling, noise=np.zeros_like(sampling), rest_error=None, mismatch=0.0, curvature=0.0
        )

    def slope(self, theta: Floats) -> Floats:
        """Return -du/dtheta at one point, made symmetric."""
        slope: Floats = self._at(theta[None]).slope[0]
        return (slope + slope.T) / 2.0

    def privacy(self, theta: Floats) -> Floats:
        """Return the covariance of the score's noise at one point, without sampling and mismatch."""
        noise: Floats = self._noise(self._away(theta[None])[0])[0]
        return noise

    def change(self, step: Floats) -> float:
        """Return the root mean square change of linear predictors by a step, rows weighted as in the information."""
        return float(np.sqrt(max(float(step @ self.information @ step), 0.0) / self.weight))

    def is_near(self, theta: Floats) -> Bools:
        """Return at which points linear predictors have moved so little that the curve holds. Shapes: theta (m, p)."""
        return np.asarray(self._squares(theta - self.point) <= FAR**2, dtype=np.bool_)

    def carried(self, theta: Floats) -> float:
        """Return how far a point is from where the score was taken, in root mean square linear predictors."""
        return float(self._squares((theta - self.point)[None])[0] ** 0.5)

    def distance(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Return Q = u'V^-1 u, its gradient, and H V^-1 H, which stands for half its Hessian.

        Shapes: theta (m, p); returns (m,), (m, p), (m, p, p).
        """
        at = self._at(theta)
        solved = np.linalg.solve(at.covariance, np.concatenate([at.score[:, :, None], at.slope], axis=2))
        z = solved[:, :, 0]
        gradient = -2.0 * np.einsum("mi,mij->mj", z, at.slope)
        # dQ = -2 z'H dtheta - z'(dV) z with z = V^-1 u.
        if self.rest_error is not None:
            gradient -= np.einsum("mi,mij->mj", self.rest_error.slope_of(at.away, z), at.shortened)
        along = 2.0 * self.mismatch**2 * np.einsum("mi,mi->m", z, at.bend)
        gradient -= along[:, None] * np.einsum("mi,mij->mj", z, at.bending)
        if self.curvature:
            squares = self._squares(at.away) * np.einsum("mi,ij,mj->m", z, self.information, z)
            towards = np.einsum("mi,mij->mj", at.away @ self.information, at.shortened)
            gradient -= (4.0 * self.curvature * squares)[:, None] * towards
        return np.einsum("mi,mi->m", at.score, z), gradient, np.swapaxes(at.slope, 1, 2) @ solved[:, :, 1:]

    @property
    def weight(self) -> float:
        """Of all rows together, for columns of size 1."""
        return max(float(np.trace(self.information)) / len(self.point), 1e-300)

    @property
    def _total(self) -> float:
        return max(float(self.information[0, 0]), 1e-9 * self.weight)

    def _squares(self, away: Floats) -> Floats:
        """The mean square of how far linear predictors move: s."""
        squares: Floats = np.maximum(np.einsum("mi,ij,mj->m", away, self.information, away), 0.0) / self._total
        return squares

    def _away(self, theta: Floats) -> tuple[Floats, Floats]:
        """d(theta) and its derivative."""
        d = theta - self.point
        along = d @ self.information / (self.weight * FAR**2)
        short = 1.0 / np.sqrt(1.0 + np.maximum(np.einsum("mi,mi->m", d, along), 0.0))
        turned = (short**3)[:, None, None] * d[:, :, None] * along[:, None, :]
        return d * short[:, None], short[:, None, None] * np.eye(d.shape[1]) - turned

    def _noise(self, away: Floats) -> Floats:
        """The covariance of all noise."""
        of_rest = 0.0 if self.rest_error is None else self.rest_error.covariance(away)
        return np.broadcast_to(self.noise, (len(away), *self.noise.shape)) + of_rest

    def _at(self, theta: Floats) -> "_Values":
        sums, slopes = self.curve.sums(np.concatenate([theta, self.point[None]]))
        away, shortened = self._away(theta)
        moved = sums[:-1] - sums[-1]
        bend, bending = moved - away @ slopes[-1], slopes[:-1] - slopes[-1] @ shortened
        covariance = self.sampling + self._noise(away)
        covariance += self.mismatch**2 * bend[:, :, None] * bend[:, None, :]
        if self.curvature:
            bent = self.curvature * self._total * self._squares(away) ** 2
            covariance += bent[:, None, None] * self.information
        place = np.arange(theta.shape[1])
        covariance[:, place, place] += TINY * np.einsum("mii->m", covariance)[:, None] + 1e-200
        score, slope = self.constant - moved - away @ self.rest, slopes[:-1] + self.rest @ shortened
        return _Values(score, slope, covariance, away, shortened, bend, bending)


@dataclass(frozen=True)
class _Values:
    """A score at m points: u, -du/dtheta, V, d, its derivative, b and its derivative."""

    score: Floats
    slope: Floats
    covariance: Floats
    away: Floats
    shortened: Floats
    bend: Floats
    bending: Floats


@dataclass(frozen=True)
class Turned:
    """A score as a function of other coefficients: theta = matrix @ phi."""

    model: ScoreModel
    matrix: Floats

    def distance(self, phi: Floats) -> tuple[Floats, Floats, Floats]:
        """Return Q, its gradient and its curvature, as `ScoreModel.distance` does."""
        value, gradient, curvature = self.model.distance(phi @ self.matrix.T)
        return value, gradient @ self.matrix, self.matrix.T @ curvature @ self.matrix

    def is_near(self, phi: Floats) -> Bools:
        """Return at which points the curve holds, as `ScoreModel.is_near` does."""
        return self.model.is_near(phi @ self.matrix.T)


def minimize(
    model: ScoreModel | Turned,
    start: Floats,
    precision: Floats,
    box: float | Floats,
    fixed: npt.NDArray[np.intp] | Bools | None = None,
    prior: Floats | float = 0.0,
) -> tuple[Floats, Floats]:
    """Minimize Q(theta) + sum precision_j (theta_j - prior_j)^2 on a box, from several points, by damped Gauss-Newton.

    Returns the points and the objective there, no larger than at the start. Cost: at most 40 steps of m systems.
    `fixed` says which coefficients stay: a place for each point, or a mask.
    Shapes: start (m, p), precision (p,) or (m, p), fixed (m,) or (m, p), prior (p,); returns (m, p), (m,).
    """
    m, p = start.shape
    box = np.broadcast_to(np.asarray(box, dtype=np.float64), (m, p))
    theta = np.clip(start, -box, box)
    is_fixed = np.zeros((m, p), dtype=bool)
    if fixed is not None and fixed.dtype == np.bool_:
        is_fixed |= fixed
    elif fixed is not None:
        is_fixed[np.arange(m), fixed] = True
    precision = np.broadcast_to(precision, (m, p))
    value, gradient, curvature = _penalized(model, theta, precision, prior)
    damping = np.full(m, 1e-3)  # Q levels off far out, where its own Hessian is not positive
    is_active = np.ones(m, dtype=bool)
    for _ in range(40):
        rows = np.flatnonzero(is_active)
        if not len(rows):
            break
        stuck = is_fixed[rows] | ((np.abs(theta[rows]) >= box[rows]) & (gradient[rows] * theta[rows] < 0.0))
        step = _damped_step(gradient[rows], curvature[rows], damping[rows], stuck)
        trial = np.where(is_fixed[rows], theta[rows], np.clip(theta[rows] - step, -box[rows], box[rows]))
        new_value, new_gradient, new_curvature = _penalized(model, trial, precision[rows], prior)
        gain = value[rows] - new_value
        better = gain > 0.0
        moved = rows[better]
        theta[moved], value[moved] = trial[better], new_value[better]
        gradient[moved], curvature[moved] = new_gradient[better], new_curvature[better]
        damping[rows] = np.where(better, damping[rows] * 0.2, damping[rows] * 8.0)
        is_active[rows] = np.where(better, gain > 1e-5 * (1e-2 + new_value), damping[rows] < 1e6)
    return theta, value


def _penalized(
    model: ScoreModel | Turned, theta: Floats, precision: Floats, prior: Floats | float
) -> tuple[Floats, Floats, Floats]:
    value, gradient, curvature = model.distance(theta)
    place = np.arange(theta.shape[1])
    curvature[:, place, place] += precision
    beside = theta - prior
    return value + (beside * beside * precision).sum(axis=1), gradient + 2.0 * precision * beside, curvature


def _damped_step(gradient: Floats, curvature: Floats, damping: Floats, stuck: npt.NDArray[np.bool_]) -> Floats:
    """Solve the damped Newton equations with some coefficients fixed."""
    p = gradient.shape[1]
    scale = np.einsum("mii->mi", curvature)
    scale = np.maximum(scale, 1e-9 * scale.max(axis=1, keepdims=True) + 1e-300)
    free = ~stuck
    system = np.where(free[:, :, None] & free[:, None, :], curvature, 0.0)
    place = np.arange(p)
    system[:, place, place] += np.where(free, (damping[:, None] + 1e-10) * scale, scale)
    step = np.linalg.solve(system, np.where(free, 0.5 * gradient, 0.0)[:, :, None])[:, :, 0]
    result: Floats = step
    return result


def intervals(
    model: ScoreModel | Turned,
    center: Floats,
    sd: Floats,
    precision: Floats,
    box: Floats,
    threshold: Floats | float,
    places: npt.NDArray[np.intp] | None = None,
    *,
    is_of_one_point: bool = False,
) -> tuple[Floats, Floats]:
    """Return the ends of each coefficient's interval: the values around the center that the score does not reject.

    Of the coefficients at `places` alone, default all. An end that reaches the box is infinite. Of a score taken at one
    point, so is one beyond which values are not rejected again: where its slope may be zero, what is not rejected lies
    on both sides of what is. Cost: about 20 minimizations in p - 1 unknowns for each end, 30 of one point. Source:
    Fieller 1954; Guggenberger, Kleibergen, Mavroeidis and Chen 2012: one degree of freedom is enough, and conservative
    where the other coefficients are badly determined.
    Shapes: center (p,), sd (p,), precision (p,), box (p,), places (k,), threshold (k,) or one for
    all; returns low, high (k,).
    """
    p = len(center)
    places = np.arange(p) if places is None else places
    k = len(places)
    fixed, sign = np.tile(places, 2), np.repeat([-1.0, 1.0], k)
    penalties = (precision * (1.0 - np.eye(p)))[fixed]  # theta_j itself is not penalized
    at = np.tile(center, (2 * k, 1))
    limit = np.tile(np.broadcast_to(threshold, k), 2) + minimize(model, at, penalties, box, fixed)[1]
    along = _ridge(model, center, precision, places)[fixed] * sign[:, None]
    rows = np.arange(2 * k)
    inner, outer = np.zeros(2 * k), np.full(2 * k, np.nan)
    furthest = box[fixed] - sign * center[fixed]
    reach = np.minimum(np.maximum(1.5 * sd[fixed], 1e-12), furthest)
    going = np.ones(2 * k, dtype=np.bool_)
    for _ in range(WIDENINGS + NARROWINGS):
        start = at + along * (reach - inner)[:, None]
        start[rows, fixed] = center[fixed] + sign * reach
        point, value = minimize(model, start, penalties, box, fixed)
        # An end that is found is left alone: it does not depend on what else is asked.
        accepted, rejected = going & (value <= limit), going & (value > limit)
        at = np.where(accepted[:, None], point, at)
        inner, outer = np.where(accepted, reach, inner), np.where(rejected, reach, outer)
        widening = np.isnan(outer)
        going = np.where(widening, inner < furthest, outer - inner > PRECISION * outer)
        if not going.any():
            break
        reach = np.where(widening, np.minimum(2.0 * inner, furthest), (inner + outer) / 2.0)
    ends = np.where(np.isnan(outer), np.inf, (inner + outer) / 2.0)
    if is_of_one_point:
        # Probed further out all at once; where the curve no longer holds nothing follows from it.
        beyond = np.minimum(BEYOND[:, None] * np.nan_to_num(outer, nan=np.inf), furthest)
        start = at + along * (beyond - inner)[:, :, None]
        start[:, rows, fixed] = center[fixed] + sign * beyond
        each, n = np.tile(fixed, len(BEYOND)), len(BEYOND) * 2 * k
        point, value = minimize(model, start.reshape(n, p), np.tile(penalties, (len(BEYOND), 1)), box, each)
        again = (value.reshape(-1, 2 * k) <= limit) & model.is_near(point).reshape(-1, 2 * k)
        ends = np.where(again.any(axis=0), np.inf, ends)
    return center[places] - ends[:k], center[places] + ends[k:]


def _ridge(model: ScoreModel | Turned, center: Floats, precision: Floats, places: npt.NDArray[np.intp]) -> Floats:
    """Return how the other coefficients follow each one along the bottom of the quadratic approximation, which is 1."""
    p = len(center)
    curvature = model.distance(center[None])[2][0] + np.diag(precision)
    along = np.eye(p)
    for j in places:
        others = np.delete(np.arange(p), j)
        along[j, others] = -np.linalg.lstsq(curvature[np.ix_(others, others)], curvature[others, j], rcond=1e-9)[0]
    return along
