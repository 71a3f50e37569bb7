"""Logistic and Poisson regression from a few noisy sums, with intervals that count the noise.

Each pass asks for the sums of one row map under Gaussian noise and moves to a better point. The first pass takes
X'(y - middle) and X'X, which give a linear model and from it a start. Later passes take the score and the information
at the current point, less a public share of what the first pass already tells of them: the rest of a curve after its
tangent is small, and small sums need little noise. The last pass and the first make the estimate.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.kernels.glm import (
    Family,
    Groups,
    Line,
    RowMap,
    linear_map,
    predictor_bounds,
    score_map,
    squared_norm,
)
from discreet.kernels.glm import GRID
from discreet.kernels.glm_score import NoiseTerm, ScoreModel, intervals, minimize
from discreet.kernels.glm_sensitivity import joint_sensitivity

Floats = npt.NDArray[np.float64]

PRIOR_SD = 2.5
"""Of a slope per half range, for the point estimate alone: Gelman et al. 2008's scale, with Gaussian tails."""

LARGEST_SPREAD = 4.0
NUIS = 1.0
BOX = 10.0
"""Largest absolute coefficient per half range."""

REACH = 8.0
"""No expansion is made where a row's linear predictor could be larger than this, or than REACH from the mean's."""

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the linear approximation that a pass may leave out."""

TYPICAL = 5.0
"""Squared norm of the coefficients that the first pass is tuned for."""


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
        Columns that are dummies of one category, less its reference level.
    mu : float
        The whole Gaussian differential privacy parameter; infinite for no noise.
    replace : bool
        Neighbors differ by a record's content, else by its presence.
    n_rows : int
        Public number of rows under `replace`; else a public guess, which only sets the passes.
    level : float
        Of the intervals.
    box : float
        Largest absolute coefficient.
    """

    family: Family
    n_coefficients: int
    groups: Groups
    mu: float
    replace: bool
    n_rows: int
    level: float = 0.95
    box: float = BOX

    @property
    def squared_norm(self) -> float:
        """Largest squared norm of a row with its constant."""
        return squared_norm(self.n_coefficients, self.groups)


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


@dataclass(frozen=True)
class Fit:
    """Estimates with two kinds of uncertainty, per half range of each column.

    Parameters
    ----------
    coef : ndarray of float, shape (p,)
        Coefficient 0 is the constant's.
    low, high : ndarray of float, shape (p,)
        Ends of the intervals; plus or minus the box where the data say nothing.
    covariance_sampling, covariance_privacy : ndarray of float, shape (p, p)
        Their sum is the estimate's covariance to first order.
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
    """Sums that came back, in natural units, and the variances of their noise."""

    gradient: Floats
    gram: Floats
    variance: float
    variances: Floats


def passes(problem: Problem) -> tuple[float, ...]:
    """Return the share of mu^2 of each pass.

    Parameters
    ----------
    problem : Problem
        Public facts.

    Returns
    -------
    tuple of float
        With sum 1.
    """
    information = problem.n_rows * problem.mu
    if information < 4000:
        return 0.5, 0.5
    return 0.35, 0.1, 0.55


def noisy_newton(problem: Problem) -> Generator[Request, Floats, Fit]:
    """Estimate coefficients from noisy sums that the caller provides.

    Parameters
    ----------
    problem : Problem
        Public facts.

    Yields
    ------
    Request
        To be answered with ``request.row_map.sums`` of all rows plus noise.

    Returns
    -------
    Fit
        A function of the answers and of public facts.
    """
    p = problem.n_coefficients
    shares = passes(problem)
    quadratic = problem.family.weight(np.array([problem.family.link(np.array([problem.family.middle]))[0]]))[0] ** 2
    row_map = linear_map(problem.family, p)
    request = _requested(problem, row_map, shares[0], TYPICAL * quadratic * (1.0 + 1.0 / p) / 2.0)
    first = _answered(problem, request, (yield request), known=problem.replace)
    line = _line(problem, first)
    model = _first_model(problem, first, line)
    for share in shares[1:]:
        theta = _estimate(problem, model)
        theta = _within_reach(problem, theta)
        request, kept = _best_request(problem, model, first, theta, line, share)
        current = _answered(problem, request, (yield request))
        model = _combined(problem, first, current, request.row_map.theta, kept, line)
    return _fit(problem, model)


def _requested(problem: Problem, row_map: RowMap, share: float, weight: float) -> Request:
    """Return the request whose noise is least, a matrix's variance counting as much as `weight` says."""
    return min(_requests(problem, row_map, share), key=lambda request: _loss(request, weight))


def _requests(problem: Problem, row_map: RowMap, share: float) -> list[Request]:
    mu = problem.mu * share**0.5
    base = problem.squared_norm**0.5 * row_map.weight_unit / row_map.residual_unit
    ratios = base * 2.0 ** np.arange(-3.0, 6.5, 0.5)
    sd = joint_sensitivity(row_map, problem.squared_norm, ratios, problem.replace) / mu
    gradient, diagonal = sd * GRID**2 / row_map.residual_unit, ratios * sd * GRID**2 / row_map.weight_unit
    return [
        Request(row_map, mu, float(g), float(d), float(d) / 2**0.5) for g, d in zip(gradient, diagonal, strict=True)
    ]


def _variances(request: Request) -> tuple[float, float]:
    """Return the noise's variances on the gradient and on the diagonal, in natural units."""
    units = request.row_map.residual_unit / GRID**2, request.row_map.weight_unit / GRID**2
    return (request.sd_gradient * units[0]) ** 2, (request.sd_diagonal * units[1]) ** 2


def _loss(request: Request, weight: float) -> float:
    gradient, diagonal = _variances(request)
    return gradient + weight * diagonal


def _answered(problem: Problem, request: Request, sums: Floats, known: bool = False) -> _Pass:
    gradient, gram = request.row_map.real(sums)
    variance, diagonal = _variances(request)
    p = len(gradient)
    variances = np.full((p, p), diagonal / 2.0)
    np.fill_diagonal(variances, diagonal)
    if known:
        gram[0, 0], variances[0, 0] = problem.n_rows, 0.0
    return _Pass(gradient, gram, variance, variances)


def _line(problem: Problem, first: _Pass) -> Line:
    """Return the line that fits the mean best if linear predictors were Gaussian, from the linear model of the rows.

    With beta the linear model's slopes and theta the family's, Cov(x, y) = Cov(x) theta E mu'(eta) = Cov(x) beta for a
    Gaussian x, so theta = beta / slope where slope = E mu'(eta) (Brillinger 1982).
    """
    family, p = problem.family, problem.n_coefficients
    n = max(float(first.gram[0, 0]), float(first.variances.max()) ** 0.5, first.variance**0.5, 1.0)
    scale = np.full(p, PRIOR_SD * family.half / 2.0)
    scale[0] = family.half / 2.0
    sampling = (family.half**2 / 2.0) * _positive(first.gram)
    linear = ScoreModel(
        first.gradient, first.gram, sampling, first.variance, (NoiseTerm(first.variances, 1.0, np.zeros(p)),)
    )
    beta = minimize(linear, np.zeros((1, p)), scale**-2.0, 2.0 * family.half)[0][0]
    moments = _positive(first.gram) / n
    center = np.append(1.0, np.clip(moments[0, 1:], -1.0, 1.0))
    mean = float(
        np.clip(family.middle + center @ beta, family.low + 0.04 * family.half, family.high - 0.04 * family.half)
    )
    spread = np.clip(float(beta[1:] @ (moments - np.outer(center, center))[1:, 1:] @ beta[1:]), 0.0, None) ** 0.5
    at, slope = _matched(family, mean, spread)
    return Line(mean - slope * at, slope)


def _matched(family: Family, mean: float, spread: float) -> tuple[float, float]:
    """Return the mean of a Gaussian linear predictor and E mu' such that the means are spread as the linear model's."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(31)
    weights = weights / weights.sum()
    middle = float(family.link(np.array([mean]))[0])

    def at_of(sd: float) -> float:
        low, high = middle - 3.0 * sd * (1.0 + sd), middle + 3.0 * sd * (1.0 + sd)
        for _ in range(24):
            at = (low + high) / 2.0
            low, high = (at, high) if weights @ family.mean(at + sd * nodes) < mean else (low, at)
        return (low + high) / 2.0

    low, high = 0.0, LARGEST_SPREAD
    for _ in range(16):
        sd = (low + high) / 2.0
        slope = float(weights @ family.weight(at_of(sd) + sd * nodes))
        low, high = (sd, high) if sd * slope < spread else (low, sd)
    sd = (low + high) / 2.0
    at = at_of(sd)
    return at, float(weights @ family.weight(at + sd * nodes))


def _offset(problem: Problem, line: Line) -> Floats:
    """Return beta of f = slope theta + beta: the linear score is X'(y - middle) - X'X f."""
    offset = np.zeros(problem.n_coefficients)
    offset[0] = line.constant - problem.family.middle
    return offset


def _first_model(problem: Problem, first: _Pass, line: Line) -> ScoreModel:
    offset, slope = _offset(problem, line), line.slope * first.gram
    term = NoiseTerm(first.variances, line.slope, offset)
    return ScoreModel(first.gradient - first.gram @ offset, slope, _positive(slope), first.variance, (term,))


def _combined(problem: Problem, first: _Pass, current: _Pass, theta: Floats, kept: float, line: Line) -> ScoreModel:
    """Return the score at theta and its slope: this pass's sums and the share of the first's that they leave out."""
    v, offset = line.slope, _offset(problem, line)
    slope = current.gram + kept * v * first.gram
    constant = current.gradient + current.gram @ theta + kept * (first.gradient - first.gram @ offset)
    terms = (NoiseTerm(current.variances, 1.0, -theta), NoiseTerm(kept**2 * first.variances, v, offset))
    return ScoreModel(constant, slope, _positive(slope), current.variance + kept**2 * first.variance, terms)


def _positive(matrix: Floats) -> Floats:
    """Return the nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    found: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return found


def _precision(problem: Problem) -> Floats:
    precision = np.full(problem.n_coefficients, PRIOR_SD**-2)
    precision[0] = problem.box**-2
    return precision


def _estimate(problem: Problem, model: ScoreModel) -> Floats:
    """Return the posterior mode."""
    start = np.zeros((2, problem.n_coefficients))
    covariance = model.sampling + model.privacy(start)[0]
    curvature = model.slope @ np.linalg.solve(covariance + 1e-300 * np.eye(len(covariance)), model.slope)
    pull = model.slope @ np.linalg.solve(covariance, model.constant)
    start[1] = np.linalg.solve(curvature + np.diag(_precision(problem)), pull)
    theta, value = minimize(model, start, _precision(problem), problem.box)
    found: Floats = theta[int(np.argmin(value))]
    return found


def _spread(problem: Problem, model: ScoreModel, theta: Floats) -> Floats:
    """Return the posterior covariance to first order."""
    curvature = model.distance(theta[None])[2][0]
    found: Floats = np.linalg.inv(curvature + np.diag(_precision(problem)))
    return found


def _within_reach(problem: Problem, theta: Floats) -> Floats:
    """Draw a point's slopes towards zero until no row's linear predictor is far from the constant."""
    slopes = np.append(0.0, theta[1:])
    low, high = predictor_bounds(slopes, problem.groups)
    slopes *= min(1.0, REACH / max(high, -low, 1e-300))
    slopes[0] = theta[0]
    return slopes


def _best_request(
    problem: Problem, model: ScoreModel, first: _Pass, theta: Floats, line: Line, share: float
) -> tuple[Request, float]:
    """Choose how much of the first pass to rely on, by the noise that the estimate would have."""
    p = problem.n_coefficients
    v, offset = line.slope, _offset(problem, line)
    spread = float(np.trace(_spread(problem, model, theta)))
    own = 2.0 * spread * (1.0 + 1.0 / p) / 2.0
    kept_noise = first.variance + float(np.trace(NoiseTerm(first.variances, v, offset).covariance(theta))) / p
    best, least = None, np.inf
    for kept in SHARES:
        row_map = score_map(problem.family, theta, predictor_bounds(theta, problem.groups), kept, line)
        request = _requested(problem, row_map, share, own)
        loss = _loss(request, own) + kept**2 * kept_noise
        if loss < least:
            best, least = (request, kept), loss
    assert best is not None
    return best


def _fit(problem: Problem, model: ScoreModel) -> Fit:
    from scipy.special import ndtri

    coef = _estimate(problem, model)
    slope = _regular(model)
    inverse = np.linalg.inv(slope)
    sampling = inverse @ model.sampling @ inverse
    privacy = inverse @ model.privacy(coef) @ inverse
    sd = np.sqrt(np.diag(sampling) + np.diag(privacy))
    center = minimize(model, coef[None], np.zeros(len(coef)), problem.box)[0][0]
    threshold = float(ndtri((1.0 + problem.level) / 2.0)) ** 2
    low, high = intervals(model, center, sd, NUIS * _precision(problem), problem.box, threshold)
    coef = np.clip(coef, low, high)
    return Fit(coef, low, high, sampling, privacy, problem.level)


def _regular(model: ScoreModel) -> Floats:
    """Return the slope with eigenvalues no smaller than its noise."""
    noise = sum((term.slope**2 * float(term.variance.mean()) for term in model.terms), 0.0)
    values, vectors = np.linalg.eigh(model.slope)
    floor = max((len(values) * noise) ** 0.5, 1e-9 * float(np.abs(values).max()), 1e-9)
    found: Floats = (vectors * np.maximum(values, floor)) @ vectors.T
    return found
