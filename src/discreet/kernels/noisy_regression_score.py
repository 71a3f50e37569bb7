"""Intervals by inverting the score of least squares when X'X and X'y carry noise of known variance.

At the true coefficients b the score U(b) = X'y - (X'X) b of noisy moments has mean zero and a variance S(b) that is
known but for the variance of one row's error, however small X'X is beside its noise. So Q(b) = U' S^-1 U tests b, and
Q minimized over all b with a'b = t tests the single number a'b = t by one degree of freedom. It is the test of Anderson
and Rubin for a part of the coefficients: its level holds when the rest is poorly known, and where nothing is known it
rejects nothing. Q has a penalty outside a public box of coefficients. The true ones are inside and pay none, so the
level holds as before; but noise cannot explain everything by coefficients that nobody believes in.

References
----------
Fieller 1954; Anderson and Rubin 1949; Kleibergen 2005 (the derivative made independent of the score);
Guggenberger, Kleibergen, Mavroeidis and Chen 2012 (level of the minimized test).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.kernels.noisy_gram import Floats

STEPS = (1.0, 0.4, 0.1, 0.02)
ITERATIONS = 12
WIDENINGS = 16
ROOT_STEPS = 12
TOLERANCE = 1e-7

PENALTY = 100.0
"""Of a coefficient that is twice its limit, in units of Q."""


@dataclass(frozen=True)
class Score:
    """The score of a model and its variance.

    Parameters
    ----------
    gram : ndarray of float, shape (p, p)
        X'X plus noise.
    xty : ndarray of float, shape (p,)
        X'y plus noise.
    gram_variance : ndarray of float, shape (p, p)
        Variance of the noise in X'X; an entry and its mirror share one draw.
    base : ndarray of float, shape (p, p)
        The part of the score's variance that does not depend on the coefficients: sampling, and the noise in X'y.
    limits : ndarray of float, shape (p,)
        Largest absolute coefficients, positive.
    """

    gram: Floats
    xty: Floats
    gram_variance: Floats
    base: Floats
    limits: Floats

    def variance(self, coef: Floats) -> Floats:
        """Return the score's variance.

        Parameters
        ----------
        coef : ndarray of float, shape (batch, p)
            Coefficients.

        Returns
        -------
        ndarray of float, shape (batch, p, p)
            Positive definite.
        """
        found = gram_noise(self.gram_variance, coef) + self.base
        diagonal = np.arange(len(self.xty))
        largest = found[:, diagonal, diagonal].max(axis=1, keepdims=True)
        found[:, diagonal, diagonal] += 1e-15 * largest + 1e-24 * (1.0 + np.abs(self.gram).max())
        return found

    def at(self, coef: Floats) -> tuple[Floats, Floats, Floats]:
        """Return Q with its penalty, the score's variance S, and S^-1 U.

        Parameters
        ----------
        coef : ndarray of float, shape (batch, p)
            Coefficients.

        Returns
        -------
        tuple of ndarray
            Shapes (batch,), (batch, p, p), (batch, p).
        """
        score, variance = self.xty - coef @ self.gram, self.variance(coef)
        weight: Floats = np.linalg.solve(variance, score[:, :, None])[:, :, 0].astype(np.float64)
        beyond = np.maximum(np.abs(coef) / self.limits - 1.0, 0.0)
        return np.sum(score * weight, axis=1) + PENALTY * np.sum(beyond**2, axis=1), variance, weight

    def step(self, coef: Floats, variance: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return the Gauss-Newton step down from some coefficients, and the inverse of its matrix.

        Parameters
        ----------
        coef : ndarray of float, shape (batch, p)
            Coefficients.
        variance, weight : ndarray of float, shapes (batch, p, p) and (batch, p)
            From `at` there.

        Returns
        -------
        tuple of ndarray
            Shapes (batch, p) and (batch, p, p).

        Notes
        -----
        With D = E[X'X | U], the derivative freed of the score's own noise, half the gradient of Q is minus D' S^-1 U
        exactly (Kleibergen 2005), and half the second derivative near enough D' S^-1 D.
        """
        cross = weight[:, :, None] * coef[:, None, :]
        mirrored = np.swapaxes(cross, 1, 2) * (1.0 - np.eye(len(self.xty)))
        derivative = self.gram + self.gram_variance * (cross + mirrored)
        turned = np.swapaxes(derivative, 1, 2)
        curvature = turned @ np.linalg.solve(variance, derivative)
        outside = np.abs(coef) > self.limits
        diagonal = np.arange(len(self.xty))
        # The little that is added everywhere keeps two equal columns from stopping the work.
        curvature[:, diagonal, diagonal] += (PENALTY * outside + 1e-9) / self.limits**2
        down = (turned @ weight[:, :, None])[:, :, 0]
        down -= PENALTY * np.where(outside, coef - np.copysign(self.limits, coef), 0.0) / self.limits**2
        inverse = np.linalg.inv(curvature)
        return (inverse @ down[:, :, None])[:, :, 0], inverse


def gram_noise(gram_variance: Floats, coef: Floats) -> Floats:
    """Return the variance of E b, E the noise in X'X.

    Parameters
    ----------
    gram_variance : ndarray of float, shape (p, p)
        Variance of each entry of E; an entry and its mirror share one draw.
    coef : ndarray of float, shape (batch, p)
        Coefficients b.

    Returns
    -------
    ndarray of float, shape (batch, p, p)
        Entry (i, i) is sum_j v_ij b_j^2; entry (i, j) is v_ij b_i b_j, as E_ij meets b_j in row i and b_i in row j.
    """
    found = gram_variance * coef[:, :, None] * coef[:, None, :]
    diagonal = np.arange(coef.shape[1])
    found[:, diagonal, diagonal] = coef**2 @ gram_variance
    return found


def profile(score: Score, directions: Floats, values: Floats, start: Floats) -> tuple[Floats, Floats]:
    """Return Q minimized over the coefficients b with a'b = t, for several a and t at once.

    Parameters
    ----------
    score : Score
        The model.
    directions : ndarray of float, shape (batch, p)
        Each row an a; one of zeros, with t = 0, asks for the least Q of all.
    values : ndarray of float, shape (batch,)
        Each a t.
    start : ndarray of float, shape (batch, p)
        Coefficients to start from; they need not fulfil a'b = t.

    Returns
    -------
    tuple of ndarray
        Q, shape (batch,), and the coefficients where it is attained, shape (batch, p).

    Notes
    -----
    Gauss-Newton: with D = E[X'X | U] in place of X'X, the step is the solution of a linear problem with one
    constraint; it is shortened until Q falls. Cost: a few p by p factorizations a row of the batch.
    """
    coef = start
    found, variance, weight = score.at(coef)
    for iteration in range(ITERATIONS):
        full, inverse = score.step(coef, variance, weight)
        pull = (inverse @ directions[:, :, None])[:, :, 0]
        pull /= np.maximum(np.sum(directions * pull, axis=1), 1e-300)[:, None]
        if iteration == 0:  # onto the plane a'b = t first, that Q may be compared from then on
            coef = coef + pull * (values - np.sum(directions * coef, axis=1))[:, None]
            found, variance, weight = score.at(coef)
            continue
        step = full - pull * np.sum(directions * full, axis=1)[:, None]
        longest = np.maximum((np.abs(step) / score.limits).max(axis=1), 1.0)
        before = found
        coef, found = _descend(score, coef, found, step / longest[:, None])
        if np.max(before - found) <= TOLERANCE * (1.0 + np.max(found)):
            break
        found, variance, weight = score.at(coef)
    return found, coef


def _descend(score: Score, coef: Floats, value: Floats, step: Floats) -> tuple[Floats, Floats]:
    """Return coefficients and Q after the longest of a few steps that lowers Q, or where they were."""
    coef, value = coef.copy(), value.copy()
    waiting = np.ones(len(coef), dtype=np.bool_)
    for length in STEPS:
        tried = coef[waiting] + length * step[waiting]
        found = score.at(tried)[0]
        lower = found < value[waiting]
        places = np.flatnonzero(waiting)[lower]
        coef[places], value[places] = tried[lower], found[lower]
        waiting[places] = False
        if not waiting.any():
            break
    return coef, value


def intervals(score: Score, combinations: Floats, limits: Floats, critical: Floats) -> tuple[Floats, Floats]:
    """Return the ends of {t in [-limit, limit]: Q(t) <= critical}, filled up to an interval.

    Parameters
    ----------
    score : Score
        The model.
    combinations : ndarray of float, shape (k, p)
        Each row an a: the interval is for a'b.
    limits : ndarray of float, shape (k,)
        Largest absolute value of each a'b.
    critical : ndarray of float, shape (k,)
        Largest Q that is not rejected, for each a.

    Returns
    -------
    tuple of ndarray of float, shape (k,)
        Low and high ends. Where every t within the limits is rejected, data and limits contradict each other: the
        whole range is returned.

    Notes
    -----
    Both ends of all intervals are sought at once: outward by widening steps from the estimate until rejected, then by
    regula falsi on the square root of Q, which is a straight line where the moments have no noise. Cost: about 15
    calls of `profile`.
    """
    k = len(combinations)
    batch, sign = np.vstack([combinations, combinations]), np.repeat([-1.0, 1.0], k)
    limit, root = np.tile(limits, 2), np.sqrt(np.tile(critical, 2))
    start, width = _center(score, batch)
    center = np.clip(np.sum(batch * start, axis=1), -limit, limit)
    value, coef = profile(score, batch, center, start)
    inside, height, at = center.copy(), np.sqrt(value) - root, coef.copy()
    outside, beyond = center.copy(), np.full(2 * k, np.nan)
    searching = np.ones(2 * k, dtype=np.bool_)
    t = center
    for _ in range(WIDENINGS):
        t = np.clip(t + sign * width, -limit, limit)
        value, coef = profile(score, batch, t, coef)
        above = np.sqrt(value) - root
        accepted, rejected = searching & (above <= 0), searching & (above > 0) & (height <= 0)
        inside[accepted], height[accepted], at[accepted] = t[accepted], above[accepted], coef[accepted]
        outside[rejected], beyond[rejected] = t[rejected], above[rejected]
        searching &= ~rejected & (np.abs(t) < limit)
        if not searching.any():
            break
        width = width * 1.6
    ends = _roots(score, batch, root, inside, height, outside, beyond, at)
    # An end never reached, or a limit that is not rejected (Fieller's sets have holes): the interval goes on to it.
    value, _ = profile(score, batch, sign * limit, coef)
    ends = np.where(searching | (value <= root**2), sign * limit, ends)
    low, high = np.minimum(ends[:k], ends[k:]), np.maximum(ends[:k], ends[k:])
    lost = (height[:k] > 0) & (height[k:] > 0)
    return np.where(lost, -limits, low), np.where(lost, limits, high)


def _center(score: Score, batch: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients of least Q for each row of the batch, and the standard error of a'b there."""
    none = np.zeros((1, len(score.xty)))
    value, variance, weight = score.at(none)
    start, _ = score.step(none, variance, weight)  # U = 0 there, if there is a solution within reason
    if value[0] < score.at(start)[0][0]:
        start = np.clip(start, -score.limits, score.limits)
    _, coef = profile(score, none, np.zeros(1), start)
    _, variance, weight = score.at(coef)
    _, inverse = score.step(coef, variance, weight)
    width = np.sqrt(np.maximum(np.einsum("bi,ij,bj->b", batch, inverse[0], batch), 1e-24))
    return np.repeat(coef, len(batch), axis=0), width


def _roots(
    score: Score,
    batch: Floats,
    root: Floats,
    inside: Floats,
    low: Floats,
    outside: Floats,
    high: Floats,
    coef: Floats,
) -> Floats:
    """Return the t between inside and outside where the square root of Q meets `root`, by the Illinois rule."""
    inside, low, outside, high = inside.copy(), low.copy(), outside.copy(), high.copy()
    open_: npt.NDArray[np.bool_] = ~np.isnan(high) & (low <= 0)
    side = np.zeros(len(inside))
    for _ in range(ROOT_STEPS):
        places = np.flatnonzero(open_)
        if len(places) == 0:
            break
        t = inside[places] - low[places] * (outside - inside)[places] / (high - low)[places]
        value, found = profile(score, batch[places], t, coef[places])
        above = np.sqrt(value) - root[places]
        met = np.abs(above) <= TOLERANCE
        below = (above <= 0) | met
        kept, cut = places[below], places[~below]
        inside[kept], low[kept], coef[kept] = t[below], above[below], found[below]
        outside[cut], high[cut] = t[~below], above[~below]
        high[kept] *= np.where(side[kept] == -1, 0.5, 1.0)
        low[cut] *= np.where(side[cut] == 1, 0.5, 1.0)
        side[kept], side[cut] = -1, 1
        open_[places] = ~met
    return inside
