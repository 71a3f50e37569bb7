"""Which sums the next pass of a logistic or Poisson regression asks for, and with how much noise."""

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.kernels.glm.count_bound import SHARE as BOUND_SHARE
from discreet.kernels.glm.count_bound import HistogramRequest
from discreet.kernels.glm.families import RowMap, predictor_bounds, score_map
from discreet.kernels.glm.pooled_score import Pool, Sums
from discreet.kernels.glm.problem import LOOK, SEARCH, Problem
from discreet.kernels.glm.sandwich import EARLY_SPREAD, spread_sds
from discreet.kernels.glm.score import FAR, ScoreModel
from discreet.kernels.glm.sensitivity import attainable_sensitivity, joint_sensitivity
from discreet.kernels.glm.shrinkage import MISMATCH
from discreet.kernels.moments.moments import GRID
from discreet.typing import Floats

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the linear part that a pass may leave out."""

STEP = 2**14
"""What a step of a direction of length GRID adds: 2^33 rows fit in 64 bits."""

RATIOS = 2.0 ** np.arange(-3.0, 6.5, 0.5)
"""Of the noise on the weighted products to that on the residuals, where 1 moves both as far."""


@dataclass(frozen=True)
class Request:
    """Sums to be released with independent Gaussian noise.

    Parameters
    ----------
    row_map : RowMap
        Its `sums` are the integers.
    mu : float
        What the release costs, as Gaussian differential privacy.
    sd_gradient, sd_diagonal, sd_above : float
        Standard deviations, in the integers' units, on the last column, on the diagonal, and above it; what is below
        mirrors what is above.
    """

    row_map: RowMap
    mu: float
    sd_gradient: float
    sd_diagonal: float
    sd_above: float

    @property
    def variances(self) -> tuple[float, float]:
        """The noise's variances on the gradient and on the diagonal, in natural units."""
        units = self.row_map.units
        return (self.sd_gradient * units[0]) ** 2, (self.sd_diagonal * units[1]) ** 2

    def loss(self, weight: float, most: float) -> float:
        """Return the noise's variance on the gradient plus `weight` times that on the diagonal, in natural units.

        A diagonal of which more is known beforehand, a variance of `most`, is not much worse for more noise.
        """
        gradient, diagonal = self.variances
        return gradient + weight * diagonal / (1.0 + diagonal / most)


def attainable_sd(problem: Problem) -> float:
    """Bound the noise's standard deviation that each pass needs at most, whatever the earlier passes return.

    In the integers' units; no smaller for more columns or less mu.
    """
    if problem.finds_bound:
        histogram, remaining = with_histogram(problem)
        return max(histogram.sd, attainable_sd(remaining))
    unit = attainable_sensitivity(problem.first_norm, problem.n_first, RATIOS, problem.replace)
    of_spread = max(spread_sds(spread_mu(problem, EARLY_SPREAD), problem.replace)) if problem.robust else 0.0
    return max(unit / (problem.mu * math.sqrt(SEARCH)), look_sd(problem), of_spread)


def look_sd(problem: Problem) -> float:
    """Return the noise's standard deviation on directions of scores: a row that is replaced changes two of them."""
    return (2.0 if problem.replace else 1.0) * GRID * STEP / (problem.mu * math.sqrt(LOOK))


def spread_mu(problem: Problem, share: float) -> float:
    """Return the mu of one unit in a pass that tells the sampling variance."""
    return problem.mu * problem.rows_per_unit * math.sqrt(share)


def with_histogram(problem: Problem) -> tuple[HistogramRequest, Problem]:
    """Return the pass that finds where counts are clipped, and what is left for the fit."""
    histogram = HistogramRequest.of(problem.family, problem.mu, problem.replace)
    return histogram, replace(problem, mu=problem.mu * math.sqrt(1.0 - BOUND_SHARE), finds_bound=False)


def per_entry(p: int) -> float:
    """Return the mean variance of a coordinate of E f, for |f| = 1 and E of variance 1 on the diagonal, 1/2 off it."""
    return (1.0 + 1.0 / p) / 2.0


def least_noise(
    problem: Problem,
    row_map: RowMap,
    share: float,
    weight: float,
    most: float = math.inf,
) -> Request:
    """Return the request of least loss (`Request.loss`)."""
    mu = problem.mu * share**0.5  # mu^2 adds up under composition
    has_offset = len(row_map.theta) > problem.n_coefficients  # it is no part of what a row is weighted by
    longest = problem.first_norm if has_offset else problem.squared_norm
    norm = min(longest, row_map.cap + has_offset)
    of_scores = norm**0.5 * row_map.residual_unit
    if row_map.turn is not None:
        norm = longest = row_map.turn.length**2
        of_scores = row_map.longest_score
    ratios = RATIOS * (norm * row_map.weight_unit / of_scores)
    sd = joint_sensitivity(row_map, norm, ratios, problem.replace, problem.weighted, longest) / mu
    gradient, diagonal = sd / row_map.units[0], ratios * sd / row_map.units[1]
    every = (
        Request(row_map, mu, float(g), float(d), float(d) / 2**0.5)
        for g, d in zip(gradient, diagonal, strict=True)
        if max(g, d) <= problem.largest_sd
    )
    return min(every, key=lambda request: request.loss(weight, most))


def best_request(
    problem: Problem, model: ScoreModel, pool: Pool, theta: Floats, share: float
) -> tuple[Request, float, float]:
    """Choose the share of the linear part to leave out, by the noise that the pooled score would have."""
    p, offset = problem.n_coefficients, problem.offset or 0.0
    turn = None if pool.turned is None else pool.turned.turn
    natural = np.eye(p) if turn is None else turn.natural
    bounds = predictor_bounds(theta, problem.groups, offset)
    nearby = model.information / max(float(np.trace(model.information)) / p * FAR**2, 1e-300)
    curvature = natural @ (model.distance(theta[None])[2][0] + nearby + np.diag(problem.precision)) @ natural.T
    # Twice, so that the slope is known well too.
    weight = 2.0 * float(np.trace(np.linalg.inv(curvature))) * per_entry(p)
    linear = pool.linear_variance(theta)
    # What the curve is wrong by is all that a noisy slope can tell.
    expected = natural @ pool.curve.sums(theta[None])[1][0] @ natural.T
    unknown = natural**2 @ pool.curve_noise(pool.curve.sums(theta[None])[1][0]) @ (natural**2).T
    most = (MISMATCH * float(np.trace(expected)) / p) ** 2 + float(np.trace(unknown)) / p + 1e-300
    maps = {
        k: score_map(problem.family, theta, bounds, k, pool.line, offset, problem.cap, turn)
        for k in (SHARES if problem.is_capped and turn is None else (0.0,))  # the first pass's rows are capped
    }
    # Passes pool and the first one's noise is in all of them: what counts is the noise of all their shares together.
    later = 1.0 - problem.start
    loss = {k: least_noise(problem, maps[k], later, weight, most=most).loss(weight, most) + k**2 * linear for k in maps}
    linear_share = min(maps, key=loss.__getitem__)
    return least_noise(problem, maps[linear_share], share, weight, most=most), linear_share, loss[linear_share]


def natural_sums(problem: Problem, request: Request, sums: Floats, count_is_public: bool = False) -> Sums:
    """Return the sums in natural units; the count on the first diagonal entry may be public."""
    gradient, gram = request.row_map.real(sums)
    variance, diagonal = request.variances
    variances = (diagonal / 2.0) * (1.0 + np.eye(len(gradient)))  # `sd_above` is sd_diagonal / sqrt(2)
    if count_is_public:
        gram[0, 0], variances[0, 0] = problem.n_rows, 0.0
    return Sums(gradient, gram, variance, variances)
