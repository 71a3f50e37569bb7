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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from discreet.kernels.posterior.models import MOST_EXACT, Evidence, Layout, Posterior, Prior, posterior
from discreet.kernels.sufficient_statistics.cleaning import CleanGram
from discreet.kernels.sufficient_statistics.gram import NoisyGram
from discreet.typing import Floats

N_GRID, SMALLEST = 31, 1e-3
"""Variances of errors that are tried, from this share of the target's largest mean square on."""

MOST_NODES, LEAST_WEIGHT = 5, 0.02
"""Variances of errors that are kept, and the weight beside the likeliest below which one is not."""

PILOT_SCALE = 0.5
"""Of effects, before the models are looked at."""

WORTH_TWO_ROUNDS = 12
"""Units up to which the first round looks at all models, too."""


class Known(NamedTuple):
    """What is known of the coefficients b before the evidence: their mean (p,), and the mean of b b' (p, p)."""

    mean: Floats
    square: Floats


class Turn(NamedTuple):
    """Sums of other columns and of residuals: they tell of g, where b = start + matrix' g. Shapes (p, p), (p,)."""

    matrix: Floats
    start: Floats


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
    """

    moments: NoisyGram
    clean: CleanGram
    layout: Layout
    rows_per_unit: int = 1
    turn: Turn | None = None

    def posterior(self, prior: Prior, n_models: int = 10) -> Posterior:
        """Return the posterior of all models. Shapes: those of `layout`."""
        variances, priors, known = self._nodes
        d = len(self.layout.units)
        first = self._evidences(variances, priors, known)
        if d > WORTH_TWO_ROUNDS and d <= MOST_EXACT or not self.clean.error.any():
            return posterior(first, self.layout, prior, n_models)
        pilot = posterior(first, self.layout, prior, 1)
        told = [pilot.moments_at(at) for at in range(len(variances))]
        known = [old if new is None else Known(*new) for old, new in zip(known, told, strict=True)]
        return posterior(self._evidences(variances, priors, known), self.layout, prior, n_models)

    def _evidences(
        self, variances: Sequence[float], priors: Sequence[float], known: Sequence[Known]
    ) -> list[Evidence]:
        return [
            self.evidence(s2, at)._replace(offset=self._of_target(s2, at) + log_prior)
            for s2, log_prior, at in zip(variances, priors, known, strict=True)
        ]

    def evidence(self, s2: float, known: Known) -> Evidence:
        """Return what the sums tell of b, the variance of errors being given; without offset."""
        gram, pulled = self.clean.gram, self._pulled(s2, self._turned(known))
        told, shift, square = pulled @ gram, pulled @ self.moments.xty, gram
        if self.turn is not None:
            back = np.linalg.inv(self.turn.matrix)
            told, square = back @ told @ back.T, back @ gram @ back.T
            shift = back @ shift + told @ self.turn.start
        return Evidence(told, shift, beside_constant(square, self.layout) / (s2 * self.clean.n_rows), 0.0)

    def _turned(self, known: Known) -> Known:
        """What is known of the coefficients that the sums tell of."""
        if self.turn is None:
            return known
        back, (mean, square), start = np.linalg.inv(self.turn.matrix).T, known, self.turn.start
        moved = square - np.outer(start, mean) - np.outer(mean, start) + np.outer(start, start)
        return Known(back @ (mean - start), back @ moved @ back.T)

    def _variance(self, s2: float, known: Known) -> Floats:
        """V."""
        error = self.clean.error
        noise = error * known.square
        np.fill_diagonal(noise, error @ np.diagonal(known.square))
        variance: Floats = s2 * self.rows_per_unit * self.clean.gram + np.diag(self.moments.xty_variance) + noise
        return variance

    def _pulled(self, s2: float, known: Known) -> Floats:
        """G V^-1."""
        inverse = np.linalg.pinv(self._variance(s2, known), rcond=1e-13, hermitian=True)
        return np.asarray(self.clean.gram @ inverse, dtype=np.float64)

    # ---- the variance of errors

    @cached_property
    def _nodes(self) -> tuple[list[float], list[float], list[Known]]:
        """Variances of errors worth a look, the logarithm of each one's prior, and what is known of b at each."""
        n = self.clean.n_rows
        largest = max(self.moments.yty + 2.0 * self.moments.yty_variance**0.5, 0.0) / n
        largest = min(max(largest, 1e-9), 1.0)
        grid = np.geomspace(SMALLEST * largest, largest, N_GRID)
        known, logs = list[Known](), np.empty(N_GRID)
        for at, s2 in enumerate(grid.tolist()):
            pilot, marginal = self._pilot(s2)
            logs[at] = marginal + self._of_target(s2, pilot)
            known.append(pilot)
        weights = np.exp(logs - logsumexp(logs))
        likely = np.flatnonzero(weights >= LEAST_WEIGHT * weights.max())
        groups = np.array_split(likely, min(len(likely), MOST_NODES))
        variances, priors, of_groups = list[float](), list[float](), list[Known]()
        for group in groups:
            share = weights[group] / weights[group].sum()
            variances.append(float(np.exp(share @ np.log(grid[group]))))
            priors.append(float(np.log(len(group))))
            means, squares = (np.array([known[at][part] for at in group]) for part in (0, 1))
            of_groups.append(Known(share @ means, np.tensordot(share, squares, 1)))
        return variances, priors, of_groups

    def _pilot(self, s2: float) -> tuple[Known, float]:
        """What is known of b where every column has an effect, and the logarithm of the density of X'y but for V's part."""
        known = Known(np.zeros(len(self.clean.gram)), np.zeros_like(self.clean.gram))
        for _ in range(3):
            told = self.evidence(s2, known)
            prior = np.where(self.layout.always, 1e-12, told.unit / PILOT_SCALE**2)
            covariance = np.linalg.pinv(told.information + np.diag(prior), rcond=1e-14, hermitian=True)
            coef = covariance @ told.shift
            known = Known(coef, covariance + np.outer(coef, coef))
        _, of_prior = np.linalg.slogdet(np.diag(prior[~self.layout.always]))
        _, of_both = np.linalg.slogdet(told.information + np.diag(prior))
        return known, float(0.5 * (of_prior - of_both + told.shift @ coef))

    def _of_target(self, s2: float, known: Known) -> float:
        """The logarithm of V's part in the density of X'y, and of the density of y'y given X'y."""
        moments, gram, n, p = self.moments, self.clean.gram, self.clean.n_rows, len(self.clean.gram)
        known = self._turned(known)
        coef, second = known
        values, vectors = np.linalg.eigh(self._variance(s2, known))
        there = values > 1e-13 * max(float(values[-1]), 1e-300)
        turned = vectors[:, there].T @ moments.xty
        of_xty = -0.5 * float(np.log(values[there]).sum() + turned @ (turned / values[there]))
        sampling = s2 * self.rows_per_unit * gram
        kept = s2 * self.rows_per_unit * self._pulled(s2, known)  # K
        rest = (np.eye(p) - kept) @ gram
        middle = kept @ moments.xty + rest @ coef
        spread = sampling - kept @ sampling + rest @ (second - np.outer(coef, coef)) @ rest.T
        back = np.linalg.pinv(gram, rcond=1e-12, hermitian=True)
        slope = back @ middle
        explained = float(middle @ slope + np.trace(back @ spread))
        variance = moments.yty_variance + 2.0 * max(n - p, 1.0) * s2**2 + 4.0 * float(slope @ spread @ slope)
        gap = moments.yty - max(n - p, 1.0) * s2 - explained
        return of_xty - 0.5 * float(np.log(variance) + gap**2 / variance)


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
