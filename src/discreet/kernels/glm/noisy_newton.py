"""Logistic and Poisson regression from two or three noisy sums, with intervals that count the noise.

The first pass takes X'(y - middle) and X'X: a linear model, and from it a start and a straight line for the mean. A
later pass takes the score and the information at the current point, less a public share of their linear part, which
the first pass has estimated already. The curve's difference from its line is small, and a small sum needs little noise.
The estimate solves the last score, which uses the first and the last pass. All passes are Gaussian releases.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from discreet.kernels.glm.families import (
    Family,
    Groups,
    Line,
    RowMap,
    linear_map,
    predictor_bounds,
    score_map,
    squared_norm,
)
from discreet.kernels.glm.line import fitted_line
from discreet.kernels.glm.score import NoiseTerm, ScoreModel, intervals, minimize
from discreet.kernels.glm.sensitivity import attainable_sensitivity, joint_sensitivity
from discreet.kernels.moments.moments import GRID
from discreet.typing import Floats

PRIOR_SD = 2.5
"""Prior standard deviation of a slope per half range, for point estimates: Gelman et al. 2008's, Gaussian here."""

BOX = 10.0
"""Largest absolute coefficient per half range."""

REACH = 8.0
"""No score is taken where a row's linear predictor could be further than this from the constant."""

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the linear part that a pass may leave out."""

TYPICAL = 5.0
"""Squared norm of the coefficients that the first pass is tuned for."""

LARGE = 4000.0
"""Rows times mu from which on a third pass pays for its share of the budget."""

RATIOS = 2.0 ** np.arange(-3.0, 6.5, 0.5)
"""Of the noise on the weighted products to that on the residuals, where 1 moves both as far."""


@dataclass(frozen=True)
class Problem:
    """What is public about a regression.

    Parameters
    ----------
    family : Family
        The response's law.
    n_coefficients : int
        With the constant.
    groups : tuple of tuple of int
        Columns that are dummies of one category, its reference level left out.
    mu : float
        The whole Gaussian differential privacy parameter; infinite for no noise.
    replace : bool
        Neighbors differ by a record's content, else by its presence.
    n_rows : int
        Public number of rows under `replace`; else a public guess, which only sets the number of passes.
    level : float
        Of the intervals.
    box : float
        Largest absolute coefficient per half range.
    largest_sd : float
        No noise may have a larger standard deviation, in the integers' units; at least `attainable_sd`.
    """

    family: Family
    n_coefficients: int
    groups: Groups
    mu: float
    replace: bool
    n_rows: int
    level: float = 0.95
    box: float = BOX
    largest_sd: float = math.inf

    @property
    def squared_norm(self) -> float:
        """Largest squared norm of a row with its constant."""
        return squared_norm(self.n_coefficients, self.groups)

    @property
    def precision(self) -> Floats:
        """Of the weak prior."""
        precision = np.full(self.n_coefficients, PRIOR_SD**-2.0)
        precision[0] = self.box**-2.0
        return precision


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
        units = self.row_map.residual_unit / GRID**2, self.row_map.weight_unit / GRID**2
        return (self.sd_gradient * units[0]) ** 2, (self.sd_diagonal * units[1]) ** 2

    def loss(self, weight: float) -> float:
        """Return the noise's variance on the gradient plus `weight` times that on the diagonal, in natural units."""
        gradient, diagonal = self.variances
        return gradient + weight * diagonal


@dataclass(frozen=True)
class Fit:
    """Estimates with two kinds of uncertainty, per half range of each column.

    Parameters
    ----------
    coef : ndarray of float, shape (p,)
        Posterior mode; coefficient 0 is the constant's.
    low, high : ndarray of float, shape (p,)
        Ends of the intervals; an end at the box is no end.
    covariance_sampling, covariance_privacy : ndarray of float, shape (p, p)
        H^-1 J H^-1 and H^-1 N H^-1 with N the noise's covariance: to first order their sum is the estimate's.
    level : float
        Of the intervals.
    """

    coef: Floats
    low: Floats
    high: Floats
    covariance_sampling: Floats
    covariance_privacy: Floats
    level: float


@dataclass(frozen=True)
class _Pass:
    """Noisy sums of one pass in natural units, and the variances of their noise."""

    gradient: Floats
    gram: Floats
    variance: float
    variances: Floats


def passes(problem: Problem) -> tuple[float, ...]:
    """Return the share of mu^2 of each pass; the shares add up to 1."""
    # A middle pass pays only where its small share of the budget finds a better point than the line did.
    return (0.5, 0.5) if problem.n_rows * problem.mu < LARGE else (0.35, 0.1, 0.55)


def attainable_sd(problem: Problem) -> float:
    """Bound the noise's standard deviation that each pass needs at most, whatever the earlier passes return.

    In the integers' units; no smaller for more columns or less mu.
    """
    unit = attainable_sensitivity(problem.squared_norm, problem.n_coefficients, RATIOS, problem.replace)
    return unit / (problem.mu * math.sqrt(min(passes(problem))))


def noisy_newton(problem: Problem) -> Generator[Request, Floats, Fit]:
    """Estimate coefficients from noisy sums that the caller sends in answer to each yielded request.

    An answer is ``request.row_map.sums`` of all rows plus noise, shape (p, p + 1). With theta_0 the last point, S, W
    its sums, b, G the first pass's, line(eta) = a + s eta, k the share of the linear part that is left out and
    f(theta) = s theta + (a - middle) e_0, the score and its slope are

        u(theta) = S - W (theta - theta_0) + k (b - G f(theta)),    H = W + k s G,

    with the noise e_S - E_W (theta - theta_0) + k (e_b - E_G f(theta)), of known covariance at every theta; the
    sampling part is J = H, made positive semidefinite. Cost: two or three passes and O(p^5). Source: privacy
    specification 6.2.
    """
    shares, p, family = passes(problem), problem.n_coefficients, problem.family
    steepest = float(family.weight(family.link(np.array([family.middle])))[0])
    request = _least_noise(problem, linear_map(family, p), shares[0], TYPICAL * steepest**2 * _per_entry(p))
    first = _natural_sums(problem, request, (yield request), count_is_public=problem.replace)
    line = _line(problem, first)
    model, theta = _first_model(problem, first, line), np.zeros(p)
    for share in shares[1:]:
        theta = _within_reach(problem, _estimate(problem, model, theta))
        request, linear_share = _best_request(problem, model, first, theta, line, share)
        current = _natural_sums(problem, request, (yield request))
        model = _combined(problem, first, current, request.row_map.theta, linear_share, line)
    return _fit(problem, model, theta)


# ---- requests


def _per_entry(p: int) -> float:
    """Return the mean variance of a coordinate of E f, for |f| = 1 and E of variance 1 on the diagonal, 1/2 off it."""
    return (1.0 + 1.0 / p) / 2.0


def _least_noise(problem: Problem, row_map: RowMap, share: float, weight: float) -> Request:
    """Return the request of least noise, where a matrix's variance counts `weight` times."""
    mu = problem.mu * share**0.5  # mu^2 adds up under composition
    ratios = RATIOS * (problem.squared_norm**0.5 * row_map.weight_unit / row_map.residual_unit)
    sd = joint_sensitivity(row_map, problem.squared_norm, ratios, problem.replace) / mu
    gradient, diagonal = sd * GRID**2 / row_map.residual_unit, ratios * sd * GRID**2 / row_map.weight_unit
    every = (
        Request(row_map, mu, float(g), float(d), float(d) / 2**0.5)
        for g, d in zip(gradient, diagonal, strict=True)
        if max(g, d) <= problem.largest_sd
    )
    return min(every, key=lambda request: request.loss(weight))


def _best_request(
    problem: Problem, model: ScoreModel, first: _Pass, theta: Floats, line: Line, share: float
) -> tuple[Request, float]:
    """Choose the share of the linear part to leave out, by the noise that the score would have."""
    p = problem.n_coefficients
    spread = float(np.trace(np.linalg.inv(model.distance(theta[None])[2][0] + np.diag(problem.precision))))
    weight = 2.0 * spread * _per_entry(p)  # twice, so that the slope is known well too
    term = NoiseTerm(first.variances, line.slope, _offset(problem, line))
    linear = first.variance + float(np.trace(term.covariance(theta))) / p
    bounds = predictor_bounds(theta, problem.groups)
    requests = [
        (
            _least_noise(problem, score_map(problem.family, theta, bounds, linear_share, line), share, weight),
            linear_share,
        )
        for linear_share in SHARES
    ]
    return min(requests, key=lambda pair: pair[0].loss(weight) + pair[1] ** 2 * linear)


def _natural_sums(problem: Problem, request: Request, sums: Floats, count_is_public: bool = False) -> _Pass:
    """Return the sums in natural units; the count on the first diagonal entry may be public."""
    gradient, gram = request.row_map.real(sums)
    variance, diagonal = request.variances
    variances = (diagonal / 2.0) * (1.0 + np.eye(len(gradient)))  # `sd_above` is sd_diagonal / sqrt(2)
    if count_is_public:
        gram[0, 0], variances[0, 0] = problem.n_rows, 0.0
    return _Pass(gradient, gram, variance, variances)


def _within_reach(problem: Problem, theta: Floats) -> Floats:
    """Shrink slopes until no row's linear predictor is further than `REACH` from the constant."""
    slopes = np.append(0.0, theta[1:])
    low, high = predictor_bounds(slopes, problem.groups)
    slopes *= min(1.0, REACH / max(high, -low, 1e-300))
    slopes[0] = theta[0]
    return slopes


# ---- scores


def _line(problem: Problem, first: _Pass) -> Line:
    """Return the line for the mean that the first pass suggests."""
    family, p = problem.family, problem.n_coefficients
    n = max(float(first.gram[0, 0]), float(first.variances.max()) ** 0.5, first.variance**0.5, 1.0)
    scale = np.full(p, PRIOR_SD * family.half / 2.0)
    scale[0] = family.half / 2.0
    gram = _positive(first.gram)
    noise = (NoiseTerm(first.variances, 1.0, np.zeros(p)),)
    linear = ScoreModel(first.gradient, first.gram, family.half**2 / 2.0 * gram, first.variance, noise)
    beta = minimize(linear, np.zeros((1, p)), scale**-2.0, 2.0 * family.half)[0][0]
    center = np.append(1.0, np.clip(gram[0, 1:] / n, -1.0, 1.0))
    spread = float(beta[1:] @ (gram / n - np.outer(center, center))[1:, 1:] @ beta[1:])
    margin = 0.04 * family.half
    mean = float(np.clip(family.middle + center @ beta, family.low + margin, family.high - margin))
    return fitted_line(family, mean, max(spread, 0.0) ** 0.5)


def _offset(problem: Problem, line: Line) -> Floats:
    """Return f(0)."""
    offset = np.zeros(problem.n_coefficients)
    offset[0] = line.constant - problem.family.middle
    return offset


def _first_model(problem: Problem, first: _Pass, line: Line) -> ScoreModel:
    """Return the linear score, b - G f(theta)."""
    offset, slope = _offset(problem, line), line.slope * first.gram
    term = NoiseTerm(first.variances, line.slope, offset)
    return ScoreModel(first.gradient - first.gram @ offset, slope, _positive(slope), first.variance, (term,))


def _combined(problem: Problem, first: _Pass, current: _Pass, theta: Floats, share: float, line: Line) -> ScoreModel:
    """Return the score u(theta) of `noisy_newton`, with `share` its k and `theta` its theta_0."""
    offset = _offset(problem, line)
    slope = current.gram + share * line.slope * first.gram  # H = W + k s G
    # u(0) = S + W theta_0 + k (b - G f(0))
    constant = current.gradient + current.gram @ theta + share * (first.gradient - first.gram @ offset)
    # Of E_W (theta - theta_0), and of k E_G f(theta): a variance takes k^2.
    terms = (NoiseTerm(current.variances, 1.0, -theta), NoiseTerm(share**2 * first.variances, line.slope, offset))
    return ScoreModel(constant, slope, _positive(slope), current.variance + share**2 * first.variance, terms)


def _positive(matrix: Floats) -> Floats:
    """Return the nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    projected: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return projected


# ---- estimates


def _estimate(problem: Problem, model: ScoreModel, start: Floats) -> Floats:
    """Return the mode under the weak prior, the one downhill from where the score was taken."""
    mode: Floats = minimize(model, start[None], problem.precision, problem.box)[0][0]
    return mode


def _fit(problem: Problem, model: ScoreModel, start: Floats) -> Fit:
    """Return estimates, intervals and the two covariances."""
    coef = _estimate(problem, model, start)
    inverse = np.linalg.inv(_regular(problem, model))  # the sandwich H^-1 (J + N) H^-1
    sampling = inverse @ model.sampling @ inverse
    privacy = inverse @ model.privacy(coef) @ inverse
    sd = np.sqrt(np.diag(sampling) + np.diag(privacy))
    center = minimize(model, coef[None], np.zeros(len(coef)), problem.box)[0][0]
    threshold = float(ndtri((1.0 + problem.level) / 2.0)) ** 2  # chi-squared with one degree of freedom
    low, high = intervals(model, center, sd, problem.precision, problem.box, threshold)
    return Fit(np.clip(coef, low, high), low, high, sampling, privacy, problem.level)


def _regular(problem: Problem, model: ScoreModel) -> Floats:
    """Return the slope with its eigenvalues raised to the level of its noise, and to what the box lets matter."""
    noise = sum(term.slope**2 * float(term.variance.mean()) for term in model.terms)
    values, vectors = np.linalg.eigh(model.slope)
    floor = max((len(values) * noise) ** 0.5, 1e-9 * float(np.abs(values).max()), problem.box**-2.0)
    raised: Floats = (vectors * np.maximum(values, floor)) @ vectors.T
    return raised
