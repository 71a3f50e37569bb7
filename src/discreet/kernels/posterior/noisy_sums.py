"""What noisy sums X'X, X'y and y'y tell of coefficients: the noise of each is known, that of a row's error is not.

X'y + noise = G b + X'e + noise - E b, G being the cleaned X'X and E its error. Given b this is normal about G b with

    V = s^2 c G + D + N(b),   N_ij = v_ij b_i b_j,   N_ii = sum_j v_ij b_j^2,

D the variance of the noise of X'y, v that of the entries of E, and c = 1, or the most rows of a unit, whose errors may
be alike. N asks for b b', which is its mean under the posterior, found in a few rounds: noise in X'X that meets no
coefficient costs nothing, and one that meets a large coefficient is not taken for an effect of another column. V is the
same for all models, so the evidence is that of a normal observation with information G V^-1 G and shift G V^-1 X'y.

The variance of errors s^2 is a mixture over a grid, uniform on the logarithm. It is told by X'y, and by y'y: given X'y,

    y'y = t' G^-1 t + s^2 chi^2(n - p) + noise,   t = X'y without noise,

where t given what was released is normal with mean K X'y + (I - K) G b and variance s^2 G - K s^2 G, K = s^2 G V^-1.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from discreet.kernels.posterior.clipped_target import squared_shrinkage
from discreet.kernels.posterior.models import MOST_EXACT, Evidence, Layout, Posterior, Prior, posterior
from discreet.kernels.sufficient_statistics.cleaning import CleanGram
from discreet.kernels.sufficient_statistics.gram import NoisyGram
from discreet.typing import Floats

N_GRID, N_FINER, SMALLEST = 25, 4, 1e-3
"""Variances of errors that are tried at once, how often between the likely ones, and from which share of the target's
largest mean square on."""

MOST_NODES, LEAST_WEIGHT = 5, 0.02
"""Variances of errors that are kept, and the weight beside the likeliest below which one is not."""

ENOUGH = 8
"""Likely variances among those tried: the grid is fine enough."""

PILOT_SCALE = 0.5
"""Of effects, before the models are looked at."""

WORTH_TWO_ROUNDS = 12
"""Units up to which the first round looks at all models, too."""

RIDGE = 1e-12
"""Of the mean diagonal: columns that add up to others have no inverse."""


class CoefMoments(NamedTuple):
    """What is known of the coefficients b before the evidence: the means of b (g, p) and b b' (g, p, p), at g nodes."""

    mean: Floats
    square: Floats


class Turn(NamedTuple):
    """Sums of other columns and of residuals: they tell of g, where b = start + matrix' g. Shapes (p, p), (p,)."""

    matrix: Floats
    start: Floats


class NodeEvidence(NamedTuple):
    """Evidence at g nodes: information (g, p, p), shift (g, p), information of one row (g, p)."""

    information: Floats
    shift: Floats
    unit: Floats


@dataclass(frozen=True)
class NoisySums:
    """Noisy sums of the columns that models may have.

    Parameters
    ----------
    moments : NoisyGram
        As released.
    clean : CleanGram
        X'X as some table can have it, with the variances of its errors.
    layout : Layout
        The constant, if it is a column, and the units.
    rows_per_unit : int
        c.
    turn : Turn, optional
        Where the sums tell of other coefficients than those asked for.
    is_clipped : bool
        Whether the target was clipped below its range, as a private bound does: its residual is then no smaller for
        effects that are strong, and the prior of effects is what a clip leaves of it. Not where they are turned.
    """

    moments: NoisyGram
    clean: CleanGram
    layout: Layout
    rows_per_unit: int = 1
    turn: Turn | None = None
    is_clipped: bool = False

    def posterior(self, prior: Prior, n_models: int = 10) -> Posterior:
        """Return the posterior of all models. Shapes: those of `layout`."""
        s2, log_priors, coef_moments = self._nodes
        d, first = len(self.layout.units), self._evidences(s2, log_priors, coef_moments)
        if WORTH_TWO_ROUNDS < d <= MOST_EXACT or not self.clean.error.any():
            return posterior(first, self.layout, prior, n_models)
        pilot = posterior(first, self.layout, prior, 1)
        for at in range(len(s2)):
            pilot_moments = pilot.moments_at(at)
            if pilot_moments is not None:
                coef_moments.mean[at], coef_moments.square[at] = pilot_moments
        return posterior(self._evidences(s2, log_priors, coef_moments), self.layout, prior, n_models)

    def _evidences(self, s2: Floats, log_priors: Floats, coef_moments: CoefMoments) -> list[Evidence]:
        evidence, offsets = self.evidence(s2, coef_moments), self._of_target(s2, coef_moments) + log_priors
        return [
            Evidence(evidence.information[at], evidence.shift[at], evidence.unit[at], float(offset))
            for at, offset in enumerate(offsets)
        ]

    def evidence(self, s2: Floats, coef_moments: CoefMoments) -> NodeEvidence:
        """Return what the sums tell of b at given variances of errors, shape (g,)."""
        pulled = self._pulled(s2, self._turned(coef_moments))
        information, shift = pulled @ self.clean.gram, pulled @ self.moments.xty
        if self.turn is not None:
            turn_inverse = np.linalg.inv(self.turn.matrix)
            information = turn_inverse @ information @ turn_inverse.T
            shift = shift @ turn_inverse.T + information @ self.turn.start
        return NodeEvidence(information, shift, self._of_row / (s2 * self._clip(s2)[0])[:, None])

    def _clip(self, s2: Floats) -> tuple[Floats, Floats]:
        """Return how much smaller squared effects are for a clip, and the density's part of it."""
        if not self.is_clipped or self.turn is not None:
            return np.ones_like(s2), np.zeros_like(s2)
        at, moments, n = np.flatnonzero(self.layout.always), self.moments, max(self.clean.n_rows, 1.0)
        of_mean = sum(moments.xty[j] ** 2 / max(self.clean.gram[j, j], 1.0) for j in at)
        return squared_shrinkage(s2, (moments.yty - of_mean) / n, moments.yty / n)

    @cached_property
    def _of_row(self) -> Floats:
        """Mean squares of the columns about their means."""
        gram = self.clean.gram
        if self.turn is not None:
            turn_inverse = np.linalg.inv(self.turn.matrix)
            gram = turn_inverse @ gram @ turn_inverse.T
        of_row: Floats = beside_constant(gram, self.layout) / self.clean.n_rows
        return of_row

    def _turned(self, coef_moments: CoefMoments) -> CoefMoments:
        """What is known of the coefficients that the sums tell of."""
        if self.turn is None:
            return coef_moments
        turn_inverse, (mean, square), start = np.linalg.inv(self.turn.matrix), coef_moments, self.turn.start
        across = mean[:, :, None] * start
        moved = square - across - np.swapaxes(across, 1, 2) + np.outer(start, start)
        return CoefMoments((mean - start) @ turn_inverse, turn_inverse.T @ moved @ turn_inverse)

    def _variance(self, s2: Floats, coef_moments: CoefMoments) -> Floats:
        """V, a little at least."""
        error, p = self.clean.error, len(self.clean.gram)
        variance = s2[:, None, None] * self.rows_per_unit * self.clean.gram + error * coef_moments.square
        at = np.arange(p)
        squares = np.diagonal(coef_moments.square, axis1=1, axis2=2)
        # N_ii counts v_ii b_i^2 once: what stands there is taken out before the sum goes in.
        variance[:, at, at] += self.moments.xty_variance + squares @ error - squares * np.diagonal(error)
        variance[:, at, at] += RIDGE * np.trace(variance, axis1=1, axis2=2)[:, None] / p
        return variance

    def _pulled(self, s2: Floats, coef_moments: CoefMoments) -> Floats:
        """G V^-1."""
        return np.swapaxes(np.linalg.solve(self._variance(s2, coef_moments), self.clean.gram), 1, 2)

    # ---- the variance of errors

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats, CoefMoments]:
        """Variances of errors worth a look, the logarithm of each one's prior, and what is known of b at each."""
        n = self.clean.n_rows
        largest = max(self.moments.yty + 2.0 * self.moments.yty_variance**0.5, 0.0) / n
        grid = np.geomspace(SMALLEST, 1.0, N_GRID) * min(max(largest, 1e-9), 1.0)
        for _ in range(N_FINER):
            coef_moments, logs = self._pilot(grid)
            weights = np.exp(logs - logsumexp(logs))
            likely = np.flatnonzero(weights >= LEAST_WEIGHT * weights.max())
            if len(likely) >= ENOUGH:
                break
            grid = np.geomspace(grid[max(likely[0] - 1, 0)], grid[min(likely[-1] + 1, N_GRID - 1)], N_GRID)
        coef_moments, logs = self._pilot(grid)
        weights = np.exp(logs - logsumexp(logs))
        likely = np.flatnonzero(weights >= LEAST_WEIGHT * weights.max())
        n_nodes = 1 if grid[likely[-1]] < 1.3 * grid[likely[0]] else MOST_NODES
        groups = np.array_split(likely, min(len(likely), n_nodes))
        shares = np.zeros((len(groups), N_GRID))
        for share, group in zip(shares, groups, strict=True):
            share[group] = weights[group] / weights[group].sum()
        of_groups = CoefMoments(shares @ coef_moments.mean, np.tensordot(shares, coef_moments.square, 1))
        return np.exp(shares @ np.log(grid)), np.log([float(len(group)) for group in groups]), of_groups

    def _pilot(self, s2: Floats) -> tuple[CoefMoments, Floats]:
        """What is known of b where every column has an effect, and the logarithm of each variance's density."""
        p = len(self.clean.gram)
        coef_moments = CoefMoments(np.zeros((len(s2), p)), np.zeros((len(s2), p, p)))
        for _ in range(3):
            evidence = self.evidence(s2, coef_moments)
            prior = np.where(self.layout.always, 1e-9 * evidence.unit, evidence.unit / PILOT_SCALE**2)
            whole = evidence.information + prior[:, :, None] * np.eye(p)
            covariance = np.linalg.inv(whole)
            coef = (covariance @ evidence.shift[:, :, None])[:, :, 0]
            coef_moments = CoefMoments(coef, covariance + coef[:, :, None] * coef[:, None, :])
        of_prior = np.log(prior[:, ~self.layout.always]).sum(axis=1)
        marginal = 0.5 * (of_prior - np.linalg.slogdet(whole)[1] + np.sum(evidence.shift * coef, axis=1))
        return coef_moments, marginal + self._of_target(s2, coef_moments)

    @cached_property
    def _inverse(self) -> Floats:
        """G^-1."""
        return np.asarray(np.linalg.pinv(self.clean.gram, rcond=1e-12, hermitian=True), dtype=np.float64)

    def _of_target(self, s2: Floats, coef_moments: CoefMoments) -> Floats:
        """The logarithm of V's part in the density of X'y, and of the density of y'y given X'y. Shape (g,)."""
        moments, gram, p = self.moments, self.clean.gram, len(self.clean.gram)
        coef_moments, left = self._turned(coef_moments), max(self.clean.n_rows - len(self.clean.gram), 1.0)
        coef, second = coef_moments
        variance = self._variance(s2, coef_moments)
        solved = np.linalg.solve(variance, np.broadcast_to(moments.xty[:, None], (len(s2), p, 1)))[:, :, 0]
        of_xty = -0.5 * (np.linalg.slogdet(variance)[1] + solved @ moments.xty)
        sampling = s2[:, None, None] * self.rows_per_unit * gram
        gain = s2[:, None, None] * self.rows_per_unit * self._pulled(s2, coef_moments)  # K
        rest = (np.eye(p) - gain) @ gram
        middle = gain @ moments.xty + (rest @ coef[:, :, None])[:, :, 0]
        of_coef = second - coef[:, :, None] * coef[:, None, :]
        spread = sampling - gain @ sampling + rest @ of_coef @ np.swapaxes(rest, 1, 2)
        slope = middle @ self._inverse
        explained = np.sum(middle * slope, axis=1) + np.sum(self._inverse * spread, axis=(1, 2))
        steep = np.einsum("gi,gij,gj->g", slope, spread, slope)
        of_yty = moments.yty_variance + 2.0 * left * s2**2 + 4.0 * np.maximum(steep, 0.0)
        gap = moments.yty - left * s2 - explained
        density: Floats = of_xty - 0.5 * (np.log(of_yty) + gap**2 / of_yty) + self._clip(s2)[1]
        return density


def beside_constant(square: Floats, layout: Layout) -> Floats:
    """Return the information on each column beside those that are always in, a little at least.

    Shapes: square (p, p); returns (p,).
    """
    at, own = np.flatnonzero(layout.always), square.diagonal().copy()
    if len(at):
        within = np.linalg.pinv(square[np.ix_(at, at)], hermitian=True)
        own -= np.einsum("ij,jk,ik->i", square[:, at], within, square[:, at])
    floor = 1e-4 * max(float(square.diagonal().mean()), 1e-300)
    return np.asarray(np.maximum(own, floor), dtype=np.float64)
