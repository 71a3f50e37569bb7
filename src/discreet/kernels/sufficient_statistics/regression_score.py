"""Intervals by inverting the score of least squares when X'X and X'y carry noise of known variance.

At the true coefficients b the score U(b) = X'y - (X'X) b of noisy moments has mean zero and a variance S(b) that is
known but for the variance of one row's error, however small X'X is beside its noise. So Q(b) = U' S^-1 U tests b, and
Q minimized over all b with a'b = t tests the single number a'b = t by one degree of freedom. It is the test of Anderson
and Rubin for a part of the coefficients: its level holds when the rest is poorly known, and where nothing is known it
rejects nothing. Q has a penalty outside a public box of coefficients. The true ones are inside and have none, so the
level holds as before; but implausible coefficients cannot explain everything as noise.

References
----------
Fieller 1954; Anderson and Rubin 1949; Kleibergen 2005 (the derivative made independent of the score);
Guggenberger, Kleibergen, Mavroeidis and Chen 2012 (level of the minimized test).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.typing import Floats

STEPS = (1.0, 0.4, 0.1, 0.02)
ITERATIONS = 12
WIDENINGS = 16
ROOT_STEPS = 12
TOLERANCE = 1e-7

MOST_WORK = 2e9
"""Steps times p^3, a step's cost, for all intervals of a model: a bound of their work for any p."""
LEAST_STEPS = 12
"""Steps for each interval that are needed at least: the center, one step outward and the limits."""

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
        """Return the score's variance S(b), positive definite.

        Shapes: coef (batch, p); returns (batch, p, p).
        """
        variance = gram_noise(self.gram_variance, coef) + self.base
        diagonal = np.arange(len(self.xty))
        largest = variance[:, diagonal, diagonal].max(axis=1, keepdims=True)
        variance[:, diagonal, diagonal] += 1e-15 * largest + 1e-24 * (1.0 + np.abs(self.gram).max())
        return variance

    def at(self, coef: Floats) -> tuple[Floats, Floats, Floats]:
        """Return Q with its penalty, the score's variance S, and S^-1 U.

        Shapes: coef (batch, p); returns (batch,), (batch, p, p), (batch, p).
        """
        score, variance = self.xty - coef @ self.gram, self.variance(coef)
        weight: Floats = np.linalg.solve(variance, score[:, :, None])[:, :, 0].astype(np.float64)
        beyond = np.maximum(np.abs(coef) / self.limits - 1.0, 0.0)
        return np.sum(score * weight, axis=1) + PENALTY * np.sum(beyond**2, axis=1), variance, weight

    def step(self, coef: Floats, variance: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return the Gauss-Newton step down from some coefficients, and the inverse of its matrix.

        Shapes: coef (batch, p); returns (batch, p), (batch, p, p).
        """
        # D = E[X'X | U], the derivative made independent of the score: half the gradient of Q is minus D' S^-1 U
        # exactly (Kleibergen 2005), and half its second derivative near enough D' S^-1 D.
        cross = weight[:, :, None] * coef[:, None, :]
        mirrored = np.swapaxes(cross, 1, 2) * (1.0 - np.eye(len(self.xty)))
        derivative = self.gram + self.gram_variance * (cross + mirrored)
        turned = np.swapaxes(derivative, 1, 2)
        curvature = turned @ np.linalg.solve(variance, derivative)
        outside = np.abs(coef) > self.limits
        diagonal = np.arange(len(self.xty))
        # The little that is added everywhere keeps two equal columns from stopping the work.
        largest = curvature[:, diagonal, diagonal].max(axis=1, keepdims=True)
        curvature[:, diagonal, diagonal] += (PENALTY * outside + 1e-9) / self.limits**2 + 1e-13 * largest
        down = (turned @ weight[:, :, None])[:, :, 0]
        down -= PENALTY * np.where(outside, coef - np.copysign(self.limits, coef), 0.0) / self.limits**2
        inverse = np.linalg.inv(curvature)
        return (inverse @ down[:, :, None])[:, :, 0], inverse


@dataclass
class Effort:
    """A limit on the number of steps; once a step is refused, all are.

    Parameters
    ----------
    left : float
        Steps of one row of a batch each.
    """

    left: float
    is_spent: bool = False

    def affords(self, n_steps: int) -> bool:
        """Tell whether so many steps are left; False once steps were refused."""
        return not self.is_spent and n_steps <= self.left

    def take(self, n_steps: int) -> bool:
        """Count steps, or none where fewer are left; return whether they may be done."""
        self.is_spent = not self.affords(n_steps)
        self.left -= 0 if self.is_spent else n_steps
        return not self.is_spent


def gram_noise(gram_variance: Floats, coef: Floats) -> Floats:
    """Return the variance of E b, E the noise in X'X.

    Shapes: gram_variance (p, p), coef (batch, p); returns (batch, p, p).
    """
    # (i, j): v_ij b_i b_j, as E_ij meets b_j in row i and b_i in row j; (i, i): sum_j v_ij b_j^2.
    variance = gram_variance * coef[:, :, None] * coef[:, None, :]
    diagonal = np.arange(coef.shape[1])
    variance[:, diagonal, diagonal] = coef**2 @ gram_variance
    return variance


def profile(
    score: Score,
    directions: Floats,
    values: Floats,
    start: Floats,
    effort: Effort | None = None,
    enough: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return Q minimized over the coefficients b with a'b = t, and where it is attained, for several a and t at once.

    Cost: a few p by p factorizations a row of the batch.
    Shapes: directions (batch, p), values (batch,), start (batch, p), enough (batch,); returns (batch,), (batch, p).
    """
    coef, least, active = start.copy(), np.full(len(start), np.inf), np.arange(len(start))
    aim = np.full(len(start), -np.inf) if enough is None else enough
    for iteration in range(ITERATIONS):
        if not len(active) or (effort is not None and not effort.take(len(active))):
            break
        point, direction = coef[active], directions[active]
        before, variance, weight = score.at(point)
        full, inverse = score.step(point, variance, weight)
        # Least squares with one constraint: the step less its part along C^-1 a / (a'C^-1 a), so that a'b stays t.
        pull = (inverse @ direction[:, :, None])[:, :, 0]
        pull /= np.maximum(np.sum(direction * pull, axis=1), 1e-300)[:, None]
        if iteration == 0:  # onto the plane a'b = t first, that Q may be compared from then on
            coef = point + pull * (values - np.sum(direction * point, axis=1))[:, None]
            least = score.at(coef)[0]
            active = active[least > aim]
            continue
        step = full - pull * np.sum(direction * full, axis=1)[:, None]
        longest = np.maximum((np.abs(step) / score.limits).max(axis=1), 1.0)
        coef[active], after = descend(score, point, before, step / longest[:, None])
        least[active] = after
        active = active[(before - after > TOLERANCE * (1.0 + after)) & (after > aim[active])]
    return least, coef


def descend(score: Score, coef: Floats, value: Floats, step: Floats) -> tuple[Floats, Floats]:
    """Return coefficients and Q after the longest of a few steps that lowers Q, or unchanged."""
    coef, value = coef.copy(), value.copy()
    waiting = np.ones(len(coef), dtype=np.bool_)
    for length in STEPS:
        trial = coef[waiting] + length * step[waiting]
        trial_value = score.at(trial)[0]
        lower = trial_value < value[waiting]
        places = np.flatnonzero(waiting)[lower]
        coef[places], value[places] = trial[lower], trial_value[lower]
        waiting[places] = False
        if not waiting.any():
            break
    return coef, value


def intervals(score: Score, combinations: Floats, limits: Floats, critical: Floats) -> tuple[Floats, Floats]:
    """Return the ends of {t in [-limit, limit]: Q(t) <= critical}, filled up to an interval.

    Where every t within the limits is rejected, data and limits contradict each other: the whole range is returned.
    Cost: about 15 calls of `profile`, or `MOST_WORK`. Shapes: combinations (k, p), limits (k,), critical (k,); returns
    (k,).
    """
    k, p = combinations.shape
    effort = Effort(MOST_WORK / p**3)
    batch, sign = np.vstack([combinations, combinations]), np.repeat([-1.0, 1.0], k)
    limit, root = np.tile(limits, 2), np.sqrt(np.tile(critical, 2))
    if not effort.affords(LEAST_STEPS * k):  # too few steps for any interval shorter than the limits
        return -limits, limits
    start, width = _center(score, batch)
    center = np.clip(np.sum(batch * start, axis=1), -limit, limit)
    value, coef = profile(score, combinations, center[:k], start[:k], effort, critical)
    height, coef = np.tile(np.sqrt(value) - root[:k], 2), np.tile(coef, (2, 1))
    at_limit, _ = profile(score, batch, sign * limit, coef, effort, root**2)
    if effort.is_spent:
        return -limits, limits
    is_empty, reached = height > 0, at_limit <= root**2
    # A limit that is not rejected is an end at once. The other ends are sought together: outward by widening steps
    # until rejected, then by regula falsi on the square root of Q, a straight line where the moments have no noise.
    bracket = Bracket(center, height, coef, center.copy(), np.full(2 * k, np.nan), ~is_empty & ~reached)
    last = _widen(score, batch, sign, limit, root, width, bracket, effort)
    ends = _roots(score, batch, root, bracket, effort)
    # An end never reached, or a limit that is not rejected (Fieller's sets have holes): the interval goes on to it.
    reached |= bracket.searching
    ongoing = np.flatnonzero(~is_empty & ~reached)
    at_limit, _ = profile(score, batch[ongoing], (sign * limit)[ongoing], last[ongoing], effort, root[ongoing] ** 2)
    reached[ongoing] = at_limit <= root[ongoing] ** 2
    ends = np.where(reached, sign * limit, ends)
    low, high = np.minimum(ends[:k], ends[k:]), np.maximum(ends[:k], ends[k:])
    return np.where(is_empty[:k], -limits, low), np.where(is_empty[:k], limits, high)


@dataclass
class Bracket:
    """Of each end: an accepted value, a rejected one, and how far the root of Q is from its critical value at each."""

    inside: Floats
    low: Floats
    coef: Floats
    outside: Floats
    high: Floats
    searching: npt.NDArray[np.bool_]


def _widen(
    score: Score,
    batch: Floats,
    sign: Floats,
    limit: Floats,
    root: Floats,
    width: Floats,
    bracket: Bracket,
    effort: Effort,
) -> Floats:
    """Step outward until rejected, and return the last step's coefficients; other ends are still `searching`."""
    last_coef, above = bracket.coef.copy(), np.zeros(len(batch))
    t, walking = bracket.inside.copy(), np.flatnonzero(bracket.searching)
    for _ in range(WIDENINGS):
        if not bracket.searching.any():
            break
        t = np.clip(t + sign * width, -limit, limit)
        value, last_coef[walking] = profile(score, batch[walking], t[walking], last_coef[walking], effort)
        if effort.is_spent:
            break
        above[walking] = np.sqrt(value) - root[walking]
        accepted, rejected = bracket.searching & (above <= 0), bracket.searching & (above > 0)
        bracket.inside[accepted], bracket.low[accepted], bracket.coef[accepted] = (
            t[accepted],
            above[accepted],
            last_coef[accepted],
        )
        bracket.outside[rejected], bracket.high[rejected] = t[rejected], above[rejected]
        bracket.searching[rejected] = False
        bracket.searching &= np.abs(t) < limit
        width = width * 1.6
    return last_coef


def _center(score: Score, batch: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients of least Q for each row of the batch, and the standard error of a'b there."""
    zeros = np.zeros((1, len(score.xty)))
    value, variance, weight = score.at(zeros)
    start, _ = score.step(zeros, variance, weight)  # U = 0 there, if there is a solution within reason
    if value[0] < score.at(start)[0][0]:
        start = np.clip(start, -score.limits, score.limits)
    _, coef = profile(score, zeros, np.zeros(1), start)
    _, variance, weight = score.at(coef)
    _, inverse = score.step(coef, variance, weight)
    width = np.sqrt(np.maximum(np.einsum("bi,ij,bj->b", batch, inverse[0], batch), 1e-24))
    return np.repeat(coef, len(batch), axis=0), width


def _roots(score: Score, batch: Floats, root: Floats, bracket: Bracket, effort: Effort) -> Floats:
    """Return the t between inside and outside where the square root of Q meets `root`, by the Illinois rule.

    Without effort left, the nearest t known to be rejected: no interval is shorter for want of work.
    """
    inside, low, coef = bracket.inside.copy(), bracket.low.copy(), bracket.coef.copy()
    outside, high = bracket.outside.copy(), bracket.high.copy()
    open_: npt.NDArray[np.bool_] = ~np.isnan(high) & (low <= 0)
    side = np.zeros(len(inside))
    for _ in range(ROOT_STEPS):
        places = np.flatnonzero(open_)
        if len(places) == 0:
            break
        t = inside[places] - low[places] * (outside - inside)[places] / (high - low)[places]
        value, trial_coef = profile(score, batch[places], t, coef[places], effort)
        if effort.is_spent:
            return np.where(open_, outside, inside)
        above = np.sqrt(value) - root[places]
        is_root = np.abs(above) <= TOLERANCE
        below = (above <= 0) | is_root
        accepted, rejected = places[below], places[~below]
        inside[accepted], low[accepted], coef[accepted] = t[below], above[below], trial_coef[below]
        outside[rejected], high[rejected] = t[~below], above[~below]
        high[accepted] *= np.where(side[accepted] == -1, 0.5, 1.0)
        low[rejected] *= np.where(side[rejected] == 1, 0.5, 1.0)
        side[accepted], side[rejected] = -1, 1
        open_[places] = ~is_root
    return inside
