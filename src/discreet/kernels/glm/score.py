"""Point estimates and intervals from a noisy score that is linear in the coefficients, and whose slope is noisy too.

At the true coefficients the score has mean zero and a covariance that is known up to the sampling part:

    u(theta) = a - H theta,    V(theta) = J + s^2 I + sum over terms of Cov(E_k f_k),    f_k = alpha_k theta + beta_k,

where E_k is a symmetric matrix of independent noises. So Q(theta) = u'V^-1 u is chi-squared with p degrees of freedom
at the truth, whatever the slope H turned out to be; minimized over all coefficients but one it is at most chi-squared
with one. The values that Q does not reject are the interval (Fieller 1954; Anderson and Rubin 1949).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.typing import Floats

TINY = 1e-12
"""Ridge of a covariance relative to its trace: it stays regular without noise."""

ROUNDS, CUTS = 3, 8
"""An interval's end is exact to one part in CUTS^ROUNDS of its grid."""


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
    """

    variance: Floats
    slope: float
    offset: Floats

    def covariance(self, theta: Floats) -> Floats:
        """Return the covariance of E f, for E the matrix's noise and f = slope theta + offset.

        Shapes: theta (..., p); returns (..., p, p).
        """
        # Cov_ik = S_ik f_i f_k, and Cov_ii = sum_j S_ij f_j^2: an entry and its mirror share one draw.
        f = self.slope * theta + self.offset
        covariance = self.variance * (f[..., :, None] * f[..., None, :])
        place = np.arange(f.shape[-1])
        covariance[..., place, place] = (f * f) @ self.variance
        return covariance

    def slope_of(self, theta: Floats, z: Floats) -> Floats:
        """Return the gradient of z'covariance(theta) z by theta, at fixed z.

        Shapes: theta, z (..., p); returns (..., p).
        """
        f, squares = self.slope * theta + self.offset, z * z
        own = np.diagonal(self.variance)
        half_gradient = f * (squares @ self.variance) + z * ((z * f) @ self.variance) - own * squares * f
        result: Floats = 2.0 * self.slope * half_gradient
        return result


@dataclass(frozen=True)
class ScoreModel:
    """A noisy score u(theta) = a - H theta, and the covariance of its noise.

    Parameters
    ----------
    constant : ndarray of float, shape (p,)
        a.
    slope : ndarray of float, shape (p, p)
        H, symmetric, unbiased, of any signature.
    sampling : ndarray of float, shape (p, p)
        J, positive semidefinite.
    variance : float
        Of the noise added to each coordinate.
    terms : tuple of NoiseTerm
        The noisy matrices.
    """

    constant: Floats
    slope: Floats
    sampling: Floats
    variance: float
    terms: tuple[NoiseTerm, ...]

    def privacy(self, theta: Floats) -> Floats:
        """Return the covariance of the score's noise, without the sampling part.

        Shapes: theta (..., p); returns (..., p, p).
        """
        p = len(self.constant)
        covariance = np.broadcast_to(self.variance * np.eye(p), (*theta.shape[:-1], p, p)).copy()
        for term in self.terms:
            covariance += term.covariance(theta)
        return covariance

    def covariance(self, theta: Floats) -> Floats:
        """Return V(theta), with a ridge that keeps it regular.

        Shapes: theta (m, p); returns (m, p, p).
        """
        covariance = self.sampling + self.privacy(theta)
        place = np.arange(theta.shape[1])
        covariance[:, place, place] += TINY * np.einsum("mii->m", covariance)[:, None] + 1e-200
        return covariance

    def distance(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Return Q = u'V^-1 u, its gradient, and H V^-1 H, which stands for half its Hessian.

        Shapes: theta (m, p); returns (m,), (m, p), (m, p, p).
        """
        score = self.constant - theta @ self.slope
        covariance = self.covariance(theta)
        right = np.concatenate([score[:, :, None], np.broadcast_to(self.slope, covariance.shape)], axis=2)
        solved = np.linalg.solve(covariance, right)
        z = solved[:, :, 0]
        gradient = -2.0 * z @ self.slope
        for term in self.terms:
            gradient -= term.slope_of(theta, z)
        # dQ = -2 z'H dtheta - z'(dV) z with z = V^-1 u.
        return np.einsum("mi,mi->m", score, z), gradient, self.slope @ solved[:, :, 1:]


def minimize(
    model: ScoreModel, start: Floats, precision: Floats, box: float, fixed: npt.NDArray[np.intp] | None = None
) -> tuple[Floats, Floats]:
    """Minimize Q(theta) + sum precision_j theta_j^2 on a box, from several points at once, by damped Gauss-Newton.

    Returns the points and the objective there, no larger than at the start. Cost: at most 40 steps of m systems.
    Shapes: start (m, p), precision (p,), fixed (m,); returns (m, p), (m,).
    """
    m, p = start.shape
    theta = np.clip(start, -box, box)
    is_fixed = np.zeros((m, p), dtype=bool)
    if fixed is not None:
        is_fixed[np.arange(m), fixed] = True
    precision = np.broadcast_to(precision, (m, p))
    value, gradient, curvature = _penalized(model, theta, precision)
    damping = np.full(m, 1e-3)  # Q levels off far out, where its own Hessian is not positive
    is_active = np.ones(m, dtype=bool)
    for _ in range(40):
        rows = np.flatnonzero(is_active)
        if not len(rows):
            break
        stuck = is_fixed[rows] | ((np.abs(theta[rows]) >= box) & (gradient[rows] * theta[rows] < 0.0))
        step = _damped_step(gradient[rows], curvature[rows], damping[rows], stuck)
        trial = np.where(is_fixed[rows], theta[rows], np.clip(theta[rows] - step, -box, box))
        new_value, new_gradient, new_curvature = _penalized(model, trial, precision[rows])
        gain = value[rows] - new_value
        better = gain > 0.0
        moved = rows[better]
        theta[moved], value[moved] = trial[better], new_value[better]
        gradient[moved], curvature[moved] = new_gradient[better], new_curvature[better]
        damping[rows] = np.where(better, damping[rows] * 0.2, damping[rows] * 8.0)
        is_active[rows] = np.where(better, gain > 1e-5 * (1e-2 + new_value), damping[rows] < 1e6)
    return theta, value


def _penalized(model: ScoreModel, theta: Floats, precision: Floats) -> tuple[Floats, Floats, Floats]:
    value, gradient, curvature = model.distance(theta)
    place = np.arange(theta.shape[1])
    curvature[:, place, place] += precision
    return value + (theta * theta * precision).sum(axis=1), gradient + 2.0 * precision * theta, curvature


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
    model: ScoreModel, center: Floats, sd: Floats, precision: Floats, box: float, threshold: float
) -> tuple[Floats, Floats]:
    """Return the ends of each coefficient's interval: the values that the penalized score does not reject.

    Cost: about 80 p minimizations in p - 1 unknowns. Source: Fieller 1954; Guggenberger, Kleibergen, Mavroeidis and
    Chen 2012: one degree of freedom is enough, and conservative where the other coefficients are badly determined.
    Shapes: center (p,), sd (p,), precision (p,); returns low, high (p,).
    """
    p = len(center)
    columns = np.arange(p)
    penalties = precision * (1.0 - np.eye(p))  # theta_j itself is not penalized
    limit = threshold + minimize(model, np.tile(center, (p, 1)), penalties, box)[1]
    # A grid that is fine around the center and coarse over the box; then each end is narrowed in between.
    near = center[:, None] + np.linspace(-5.0, 5.0, 21) * np.clip(sd, 1e-12, box)[:, None]
    values = np.column_stack([near, np.tile(np.linspace(-box, box, 21), (p, 1))])
    values = np.sort(np.clip(values, -box, box), axis=1)
    along = _ridge(model, center, precision)

    def inside(fixed: npt.NDArray[np.intp], at: Floats) -> npt.NDArray[np.bool_]:
        start = center + along[fixed] * (at - center[fixed])[:, None]
        start[np.arange(len(at)), fixed] = at
        accepted: npt.NDArray[np.bool_] = minimize(model, start, penalties[fixed], box, fixed)[1] <= limit[fixed]
        return accepted

    accepted_values = inside(np.repeat(columns, values.shape[1]), values.ravel()).reshape(values.shape)
    mirrored = np.concatenate([values, values[:, ::-1]])  # for the lower ends, then for the upper ones
    order = np.concatenate([accepted_values, accepted_values[:, ::-1]])
    first, rows, fixed = order.argmax(axis=1), np.arange(2 * p), np.tile(columns, 2)
    inner = np.where(order.any(axis=1), mirrored[rows, first], center[fixed])
    outer = np.where(first > 0, mirrored[rows, np.maximum(first - 1, 0)], inner)
    for _ in range(ROUNDS):
        parts = outer[:, None] + (inner - outer)[:, None] * (np.arange(CUTS + 1) / CUTS)
        in_parts = inside(np.repeat(fixed, CUTS - 1), parts[:, 1:-1].ravel()).reshape(2 * p, CUTS - 1)
        place = np.where(in_parts.any(axis=1), in_parts.argmax(axis=1) + 1, CUTS)
        outer, inner = parts[rows, place - 1], parts[rows, place]
    ends = (inner + outer) / 2.0
    return ends[:p], ends[p:]


def _ridge(model: ScoreModel, center: Floats, precision: Floats) -> Floats:
    """Return how the other coefficients follow each one along the bottom of the quadratic approximation."""
    p = len(center)
    curvature = model.distance(center[None])[2][0] + np.diag(precision)
    along = np.zeros((p, p))
    for j in range(p):
        others = np.delete(np.arange(p), j)
        along[j, others] = -np.linalg.lstsq(curvature[np.ix_(others, others)], curvature[others, j], rcond=1e-9)[0]
    return along
