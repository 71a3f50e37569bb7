"""Logistic and Poisson regression from a few noisy sums, with intervals that count the noise.

Counts are clipped where a small pass before all says (`count_bound`). The first pass takes X'(y - middle) and X'X:
means and covariance of the columns, a start, and a straight line for the mean. Each later pass takes the score and the
information at the current point, less a public share of their linear part, which the first pass has estimated already:
the difference is small, and a small sum needs little noise. Passes go on until a step changes nothing that matters, and
the last one spends what is left; it comes at once where noise hides what the first pass tells. The estimate solves the
score that all passes make up together (`pooled_score`). All passes are Gaussian releases.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from discreet.kernels.glm.count_bound import SHARE as BOUND_SHARE
from discreet.kernels.glm.count_bound import CountBound, HistogramRequest, chosen_bound
from discreet.kernels.glm.families import (
    Family,
    Groups,
    RowMap,
    clipped_poisson,
    linear_map,
    predictor_bounds,
    score_map,
    squared_norm,
)
from discreet.kernels.glm.pooled_score import MISMATCH, TYPICAL_SQUARE, Pool, Sums
from discreet.kernels.glm.sandwich import SPREAD, Reliability, SpreadRequest, Units, spread_pass, spread_sds
from discreet.kernels.glm.score import FAR, ScoreModel, minimize
from discreet.kernels.glm.score_fit import Fit, ScoreFit, symmetric
from discreet.kernels.glm.sensitivity import attainable_sensitivity, joint_sensitivity
from discreet.kernels.moments.moments import GRID
from discreet.typing import Floats

BOX = 50.0
"""Largest absolute coefficient per half range; an interval that reaches it has no end there."""

REACH = 29.0
"""No score is taken where a row's linear predictor could be further than this from the constant."""

CONSTANT_SD = 2.5
"""Prior standard deviation of the constant for estimates: odds of 1 to 150, and counts of a twentieth to 20 times."""

TYPICAL_COUNT = math.exp(-2.0)
"""Of a count's upper bound: where the constant is before anything is known."""

PRIOR_SHARES = np.geomspace(8e-4, 1.0, 15)
"""Of the weak prior's standard deviation: those of slopes that are tried."""

TINY_SHARE = 1e-6
"""Of the sampling variance, beside the noise's: an estimate without noise needs some variance."""

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the linear part that a pass may leave out."""

TYPICAL = 5.0
"""Squared norm of the coefficients that the first pass is tuned for."""

START, SEARCH = 0.45, 0.06
"""Shares of mu^2: of the first pass, and of each one that looks for a better point."""

ALMOST_ALL = 0.85
"""Of mu^2, for the first pass where its noise is expected to hide a better point."""

OF_GRADIENT, TYPICAL_PART = 0.5, 0.5
"""Of the first pass's noise were all of it on the gradient; mean square of what a row counts for."""

STEP_NOISE = 1.0
"""A step that changes linear predictors by no more than so many times what noise does is the last, too."""

BLIND = 0.5
"""Where the first pass's noise moves linear predictors further than this, no pass looks for a better point."""

PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the slopes that the first pass suggests: points where the last pass may look, if it comes at once."""

LITTLE_NOISE = 0.02
"""Beside the sampling variance of a score: where all rows count alike, noise is no more than this."""

MOST_SEARCHES = 6

MOST_PASSES = MOST_SEARCHES + 4

SETTLED = 0.1
"""A step that changes linear predictors less than this is the last."""

LOST, ASTRAY, BEYOND_NOISE = 5.0, 1.0, 5.0
"""Nothing is told where the step after the last pass changes linear predictors more than the first, or more than the
second and so many times what noise does: no score is carried so far."""

LONGEST_STEP = 1.5
"""The most that a step changes linear predictors, in the weighted root mean square."""

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
        Public number of rows where `count_is_public`; else a public guess, which only sets the number of passes.
    level : float
        Of the intervals.
    box : float
        Largest absolute coefficient per half range.
    largest_sd : float
        No noise may have a larger standard deviation, in the integers' units; at least `attainable_sd`.
    constant : tuple of float
        The first interval is that of this combination of the coefficients; default the constant's own.
    offset : float, optional
        Half the range of an offset in the linear predictor. The first pass has it as its last column.
    weighted : bool
        Whether rows have weights from 0 to 1.
    count_is_public : bool, optional
        Default under `replace`, where no unit may own more rows than another.
    robust : bool
        Whether a last pass tells the sampling variance by units, in place of the family's.
    rows_per_unit : int
        The most rows of one unit, which costs so many times the mu of a row.
    n_units : int, optional
        Public number of units; default as few as the rows can be of.
    finds_bound : bool
        Whether a pass before all finds where counts are clipped.
    is_capped : bool
        Long rows count less: as much less as makes up for their length.
    start : float
        Share of mu^2 of the first pass.
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
    constant: tuple[float, ...] = ()
    offset: float | None = None
    weighted: bool = False
    count_is_public: bool | None = None
    robust: bool = False
    rows_per_unit: int = 1
    n_units: int | None = None
    finds_bound: bool = False
    is_capped: bool = True
    start: float = START

    @property
    def knows_count(self) -> bool:
        """Whether the number of rows, of their weights where they have some, is public."""
        is_public = self.replace if self.count_is_public is None else self.count_is_public
        return is_public and not self.weighted and not self.is_capped

    @property
    def squared_norm(self) -> float:
        """Largest squared norm of a row with its constant."""
        return squared_norm(self.n_coefficients, self.groups)

    @property
    def n_first(self) -> int:
        """Columns of the first pass."""
        return self.n_coefficients + (self.offset is not None)

    @property
    def first_norm(self) -> float:
        """Largest squared norm of a row in the first pass."""
        return squared_norm(self.n_first, self.groups)

    @property
    def cap(self) -> float:
        """Squared norm from which on a row counts less: a typical one."""
        return 1.0 + TYPICAL_SQUARE * (self.squared_norm - 1.0) if self.is_capped else math.inf

    @property
    def longest(self) -> float:
        """Largest squared norm of what a row counts for."""
        return min(self.squared_norm, self.cap)

    @property
    def precision(self) -> Floats:
        """Of the weak prior."""
        return np.full(self.n_coefficients, (self.box / 2.0) ** -2.0)


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
        histogram, remaining = _with_histogram(problem)
        return max(histogram.sd, attainable_sd(remaining))
    unit = attainable_sensitivity(problem.first_norm, problem.n_first, RATIOS, problem.replace)
    of_spread = max(spread_sds(_spread_mu(problem), problem.replace)) if problem.robust else 0.0
    return max(unit / (problem.mu * math.sqrt(SEARCH)), of_spread)


def _spread_mu(problem: Problem) -> float:
    """Return the mu of one unit in the pass that tells the sampling variance."""
    return problem.mu * problem.rows_per_unit * math.sqrt(SPREAD)


AnyRequest = HistogramRequest | Request | SpreadRequest


def noisy_newton(problem: Problem) -> Generator[AnyRequest, Floats, Fit]:
    """Estimate coefficients from noisy sums that the caller sends in answer to each yielded request.

    An answer is ``request.row_map.sums`` of all rows plus noise, shape (p, p + 1). The squared mu of all requests add
    up to that of the problem, whatever the answers are. Cost: two to eight passes, one more where robust, one more
    where counts are clipped, and O(p^5). Source: privacy specification 6.2, with pooled Newton steps for gradient
    steps.
    """
    if problem.finds_bound:
        histogram, remaining = _with_histogram(problem)
        chosen = chosen_bound(histogram, (yield histogram), _score_noise(remaining))
        if _first_noise(remaining, chosen) > BLIND:
            remaining = replace(remaining, start=ALMOST_ALL)
        if chosen.bound < problem.family.high:
            remaining = replace(remaining, family=clipped_poisson(chosen.bound, problem.family.high))
        fit = yield from noisy_newton(remaining)
        return replace(fit, clipped=chosen)
    family, left = problem.family, 1.0 - problem.start - (SPREAD if problem.robust else 0.0)
    steepest = float(family.weight(family.link(np.array([family.middle])))[0])
    typical = TYPICAL * steepest**2 * _per_entry(problem.n_coefficients)
    row_map = linear_map(family, problem.n_first, problem.cap, problem.n_coefficients)
    request = _least_noise(problem, row_map, problem.start, typical)
    first = _natural_sums(problem, request, (yield request), problem.knows_count)
    pool = Pool(family, first, offset=problem.offset, cap=problem.cap)
    model = pool.model()
    if _noise_ratio(problem, model) < LITTLE_NOISE:
        problem = replace(problem, is_capped=False)
        pool = pool.uncapped(float(problem.n_rows) if problem.knows_count else None)
        model = pool.model()
    theta, is_settled = _shrunken(problem, model), _hides_a_search(model)
    while left > 0.0:
        theta = _within_reach(problem, theta)
        is_last = is_settled or left < 2.0 * SEARCH or len(pool.scores) == MOST_SEARCHES
        share = left if is_last else SEARCH
        points = [_nearer(pool, theta, part) for part in (PARTS if is_last and not pool.scores else (1.0,))]
        request, linear_share, _ = min(
            (_best_request(problem, model, pool, at, share) for at in points), key=lambda best: best[2]
        )
        sums = _natural_sums(problem, request, (yield request))
        pool.add(request.row_map.theta, sums, linear_share)
        model, left = pool.model(), 0.0 if is_last else left - share
        step = _shrunken(problem, model) - theta
        is_settled = model.change(step) < max(SETTLED, STEP_NOISE * _noise(model))
        theta = theta + step * min(1.0, LONGEST_STEP / max(model.change(step), 1e-300))
    is_told = model.change(step) <= min(LOST, max(ASTRAY, BEYOND_NOISE * _noise(model)))
    if not problem.robust:
        return _fit(problem, model, is_told=is_told)
    theta = _within_reach(problem, _shrunken(problem, model))
    offset = problem.offset or 0.0
    row_map = score_map(family, theta, predictor_bounds(theta, problem.groups, offset), offset=offset, cap=problem.cap)
    count = problem.n_units or max(pool.n_rows / problem.rows_per_unit, 1.0)
    units = Units(count, problem.rows_per_unit, problem.longest**0.5, problem.replace)
    spread = spread_pass(model, theta, row_map, _spread_mu(problem), units, pool.dispersion(theta))
    return _fit(problem, *spread.robust(model, (yield spread.request())), is_told=is_told)


def _with_histogram(problem: Problem) -> tuple[HistogramRequest, Problem]:
    """Return the pass that finds where counts are clipped, and what is left for the fit."""
    histogram = HistogramRequest.of(problem.family, problem.mu, problem.replace)
    return histogram, replace(problem, mu=problem.mu * math.sqrt(1.0 - BOUND_SHARE), finds_bound=False)


def _first_noise(problem: Problem, counts: CountBound) -> float:
    """Return about how far the first pass's noise will move linear predictors, by what the histogram tells."""
    noise = _score_noise(problem) * counts.bound / 2.0 / (OF_GRADIENT * problem.start**0.5)
    weight = counts.n_rows * float(clipped_poisson(counts.bound).weight(np.log(np.array([counts.mean])))[0])
    return float(noise * problem.n_coefficients**0.5 / max(weight * TYPICAL_PART, 1e-300))


def _score_noise(problem: Problem) -> float:
    """Return the standard deviation of the noise on a score, were all spent on it, where residuals are at most 1."""
    return float((2.0 if problem.replace else 1.0) * problem.longest**0.5 / problem.mu)


# ---- requests


def _per_entry(p: int) -> float:
    """Return the mean variance of a coordinate of E f, for |f| = 1 and E of variance 1 on the diagonal, 1/2 off it."""
    return (1.0 + 1.0 / p) / 2.0


def _least_noise(
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
    ratios = RATIOS * (norm**0.5 * row_map.weight_unit / row_map.residual_unit)
    sd = joint_sensitivity(row_map, norm, ratios, problem.replace, problem.weighted, longest) / mu
    gradient, diagonal = sd * GRID**2 / row_map.residual_unit, ratios * sd * GRID**2 / row_map.weight_unit
    every = (
        Request(row_map, mu, float(g), float(d), float(d) / 2**0.5)
        for g, d in zip(gradient, diagonal, strict=True)
        if max(g, d) <= problem.largest_sd
    )
    return min(every, key=lambda request: request.loss(weight, most))


def _best_request(
    problem: Problem, model: ScoreModel, pool: Pool, theta: Floats, share: float
) -> tuple[Request, float, float]:
    """Choose the share of the linear part to leave out, by the noise that the pooled score would have."""
    p, offset = problem.n_coefficients, problem.offset or 0.0
    bounds = predictor_bounds(theta, problem.groups, offset)
    nearby = model.information / max(float(np.trace(model.information)) / p * FAR**2, 1e-300)
    curvature = model.distance(theta[None])[2][0] + nearby + np.diag(problem.precision)
    # Twice, so that the slope is known well too.
    weight = 2.0 * float(np.trace(np.linalg.inv(curvature))) * _per_entry(p)
    linear = pool.linear_variance(theta)
    # What the curve is wrong by is all that a noisy slope can tell.
    most = (MISMATCH * float(np.trace(pool.curve.sums(theta[None])[1][0])) / p) ** 2 + 1e-300
    maps = {
        k: score_map(problem.family, theta, bounds, k, pool.line, offset, problem.cap)
        for k in (SHARES if problem.is_capped else (0.0,))  # the first pass's rows are capped
    }
    # Passes pool and the first one's noise is in all of them: what counts is the noise of all their shares together.
    later = 1.0 - problem.start
    loss = {
        k: _least_noise(problem, maps[k], later, weight, most=most).loss(weight, most) + k**2 * linear for k in maps
    }
    linear_share = min(maps, key=loss.__getitem__)
    return _least_noise(problem, maps[linear_share], share, weight, most=most), linear_share, loss[linear_share]


def _nearer(pool: Pool, theta: Floats, part: float) -> Floats:
    """Return coefficients with a part of the slopes, and the same linear predictor where columns have their means."""
    nearer = theta * part
    nearer[0] = theta[0] + (1.0 - part) * float(pool.center[1 : len(theta)] @ theta[1:])
    return nearer


def _natural_sums(problem: Problem, request: Request, sums: Floats, count_is_public: bool = False) -> Sums:
    """Return the sums in natural units; the count on the first diagonal entry may be public."""
    gradient, gram = request.row_map.real(sums)
    variance, diagonal = request.variances
    variances = (diagonal / 2.0) * (1.0 + np.eye(len(gradient)))  # `sd_above` is sd_diagonal / sqrt(2)
    if count_is_public:
        gram[0, 0], variances[0, 0] = problem.n_rows, 0.0
    return Sums(gradient, gram, variance, variances)


def _within_reach(problem: Problem, theta: Floats) -> Floats:
    """Shrink slopes until no row's linear predictor is further than `REACH` from the constant."""
    slopes = np.append(0.0, theta[1:])
    low, high = predictor_bounds(slopes, problem.groups)
    slopes *= min(1.0, (REACH - (problem.offset or 0.0)) / max(high, -low, 1e-300))
    slopes[0] = theta[0]
    return slopes


def _hides_a_search(model: ScoreModel) -> bool:
    """Tell from the first pass whether noise hides where a better point is: then the last pass comes at once."""
    return _noise(model) > BLIND


def _noise_ratio(problem: Problem, model: ScoreModel) -> float:
    """Return the variance of the noise beside that of sampling, on a score of whole rows at the whole mu."""
    noise = (problem.family.residual_bound / problem.mu) ** 2 * problem.squared_norm
    return noise / model.weight


def _noise(model: ScoreModel) -> float:
    """Return about how far the score's noise moves linear predictors, of columns of size 1."""
    variance = max(float(np.trace(model.privacy(model.point))), 0.0)
    return float(variance**0.5 / model.weight)


# ---- estimates


def _estimate(model: ScoreModel, precision: Floats, box: float) -> Floats:
    """Return where the score is zero, or as near to it as a weak prior lets it be, downhill from where it was taken."""
    mode: Floats = minimize(model.settled(model.point), model.point[None], precision, box)[0][0]
    return mode


def _shrunken(problem: Problem, model: ScoreModel) -> Floats:
    """Return coefficients shrunk by as much as the score's noise asks, toward no effect and a public level.

    Their prior variance is the likeliest one (Laplace's approximation). Sampling counts there alone: without noise the
    estimate is that of the weak prior. Source: Efron and Morris 1973; MacKay 1992.
    """
    family, settled = problem.family, model.settled(model.point)
    level = TYPICAL_COUNT * family.high if family.counts else family.middle
    prior = np.zeros(problem.n_coefficients)
    prior[0] = float(family.link(np.array([level]))[0])
    sds = np.tile(problem.precision**-0.5, (len(PRIOR_SHARES), 1)) * PRIOR_SHARES[:, None]
    sds[:, 0] = CONSTANT_SD
    # From no effect: a start far out would stay in the level part of the score.
    modes, values = minimize(settled, np.tile(prior, (len(sds), 1)), sds**-2.0, problem.box, prior=prior)
    # -2 log p(score | T) = min(Q + theta' T^-1 theta) + log det(I + T^1/2 H' V^-1 H T^1/2)
    inner = np.eye(len(prior)) + sds[:, :, None] * settled.distance(modes)[2] * sds[:, None, :]
    best = int(np.argmin(values + np.linalg.slogdet(inner)[1]))
    noise = model.privacy(model.point) + TINY_SHARE * model.sampling
    quiet = replace(settled, sampling=noise)
    coef: Floats = minimize(quiet, modes[best][None], sds[best] ** -2.0, problem.box, prior=prior)[0][0]
    return coef


def _fit(problem: Problem, model: ScoreModel, known: Reliability | None = None, is_told: bool = True) -> Fit:
    """Return estimates, intervals and the two covariances."""
    model = symmetric(model)
    coef = _estimate(model, problem.precision, problem.box)
    rows = np.eye(len(coef))
    rows[0] = problem.constant or rows[0]
    score = ScoreFit(model, coef, problem.box, known, is_told=is_told)
    told = np.clip(rows @ _shrunken(problem, model), *score.intervals(rows, problem.level))
    estimate: Floats = np.linalg.solve(rows, told).astype(np.float64)
    return replace(score, told=estimate).fit(rows, problem.level)
