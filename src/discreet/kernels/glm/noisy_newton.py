"""Logistic and Poisson regression from a few noisy sums, with intervals that count the noise.

Counts are clipped where a small pass before all says (`count_bound`). The first pass takes X'(y - middle) and X'X:
means and covariance of the columns, a start, and a straight line for the mean. Each later pass takes the score and the
information at the current point, less a public share of their linear part, which the first pass has estimated already:
the difference is small, and a small sum needs little noise. Passes go on until a step changes nothing that matters, and
the last one spends what is left; it comes at once where noise hides what the first pass tells. Where columns are narrow
or alike, and where noise is not most of the error, the later passes see rows in coordinates in which they are neither
(`coordinates`) and cut long scores; before the last one a look at these tells where, and what is cut off
(`score_looks`). The estimate solves the score that all passes make up together (`pooled_score`). All passes are
Gaussian releases.
"""

import math
from collections.abc import Generator
from dataclasses import replace

import numpy as np

from discreet.kernels.glm.coordinates import in_best_coordinates, in_even_coordinates
from discreet.kernels.glm.count_bound import CountBound, HistogramRequest, chosen_bound
from discreet.kernels.glm.families import (
    clipped_poisson,
    linear_map,
    poisson,
    predictor_bounds,
    score_map,
    whole_counts,
)
from discreet.kernels.glm.open_ways import OpenWays
from discreet.kernels.glm.pooled_score import Pool
from discreet.kernels.glm.problem import LOOK, SEARCH, Problem
from discreet.kernels.glm.requests import (
    Request,
    best_request,
    least_noise,
    natural_sums,
    per_entry,
    spread_mu,
    with_histogram,
)
from discreet.kernels.glm.sandwich import (
    EARLY_SPREAD,
    LONG_LENGTHS,
    SPREAD,
    TYPICAL_LENGTHS,
    Reliability,
    Spread,
    SpreadRequest,
    Units,
    spread_pass,
)
from discreet.kernels.glm.score import ScoreModel, Turned, minimize
from discreet.kernels.glm.score_fit import Fit, ScoreFit, symmetric
from discreet.kernels.glm.score_looks import LookRequest, look, seen_scores
from discreet.kernels.glm.separation import separating_sums
from discreet.kernels.glm.undetermined import undetermined
from discreet.typing import Floats

REACH = 500.0
"""No score is taken where a row's linear predictor could be further than this from the constant: tables end before."""

CONSTANT_SD = 2.5
"""Prior standard deviation of the constant for estimates: odds of 1 to 150, and counts of a twentieth to 20 times."""

TYPICAL_COUNT = math.exp(-2.0)
"""Of a count's upper bound: where the constant is before anything is known."""

BESIDE_MEAN = 0.5
"""How far the constant may be from the logarithm of the mean count, as effects and columns make it."""

PRIOR_SHARES = np.geomspace(8e-4, 1.0, 15)
"""Of the weak prior's standard deviation: those of slopes that are tried."""

TYPICAL_SLOPE, LOG_SPREAD = 0.5, 0.7
"""Median of the prior standard deviation of slopes, per half range, and the deviation of its logarithm: few noisy
slopes tell little of it."""

TINY_SHARE = 1e-6
"""Of the sampling variance, beside the noise's: an estimate without noise needs some variance."""

TYPICAL = 5.0
"""Squared norm of the coefficients that the first pass is tuned for."""

HIDDEN_TYPICAL = 2.0
"""The same where noise is expected to hide a better point: they are shrunk."""

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

MOST_SEARCHES = 5

MOST_PASSES = MOST_SEARCHES + 5

BEFORE_EVEN = 2
"""Passes after the first one in coordinates in which columns vary alike, but scores of counts may not."""

SETTLED = 0.1
"""A step that changes linear predictors less than this is the last."""

NEAR_ENOUGH = 1.0
"""Of the estimate's error."""

LOST, ASTRAY, BEYOND_NOISE = 5.0, 1.0, 5.0
"""Nothing is told where the step after the last pass changes linear predictors more than the first, or more than the
second and so many times what noise does: no score is carried so far."""

FURTHEST_OF_COUNTS = 2.0
"""Nothing is told of counts where the estimate is further than this from the last pass, in root mean square linear
predictors: how exp bends on the way is not known. There 13 % of ends were wrong, nearer 2 %."""

LONGEST_STEP = 1.5
"""The most that a step changes linear predictors, in the weighted root mean square."""


AnyRequest = HistogramRequest | Request | LookRequest | SpreadRequest


def noisy_newton(problem: Problem) -> Generator[AnyRequest, Floats, Fit]:
    """Estimate coefficients from noisy sums that the caller sends in answer to each yielded request.

    An answer is ``request.row_map.sums`` of all rows plus noise, shape (p, p + 1). The squared mu of all requests add
    up to that of the problem, whatever the answers are. Cost: two to eight passes, one more where robust, one more
    where counts are clipped, one more where scores are cut, and O(p^5). Source: privacy specification 6.2, with pooled
    Newton steps for gradient steps.
    """
    if problem.finds_bound:
        histogram, remaining = with_histogram(problem)
        chosen = chosen_bound(histogram, (yield histogram), _score_noise(remaining))
        if _first_noise(remaining, chosen) > BLIND:
            remaining = replace(remaining, start=ALMOST_ALL)
        remaining = replace(remaining, usual=(chosen.mean, chosen.log_sd))
        if chosen.bound < problem.family.high:
            remaining = replace(remaining, family=clipped_poisson(chosen.bound, problem.family.high))
        fit = yield from noisy_newton(remaining)
        return replace(fit, clipped=chosen)
    family, left = problem.family, 1.0 - problem.start - (SPREAD if problem.robust else 0.0)
    steepest = float(family.weight(family.link(np.array([family.middle])))[0])
    typical = (TYPICAL if problem.start < ALMOST_ALL else HIDDEN_TYPICAL) * steepest**2
    row_map = linear_map(family, problem.n_first, problem.cap, problem.n_coefficients)
    request = least_noise(problem, row_map, problem.start, typical * per_entry(problem.n_coefficients))
    first = natural_sums(problem, request, (yield request), problem.knows_count)
    pool = Pool(family, first, offset=problem.offset, cap=problem.cap, two_valued=problem.two_valued)
    model = pool.model()
    if _noise_ratio(problem, model) < LITTLE_NOISE:
        problem = replace(problem, is_capped=False)
        pool = pool.uncapped(float(problem.n_rows) if problem.knows_count else None)
        model = pool.model()
    theta, is_settled = _shrunken(problem, model), _hides_a_search(model)
    is_hidden, first_model = is_settled, model
    if not is_settled:
        pool = in_best_coordinates(problem, model, pool, _within_reach(problem, theta))
        if pool.turned is not None and family.counts:
            problem = replace(problem, family=whole_counts(family))
            # Columns are bounded, the curve's are not: its mean is level where hardly any row's is.
            pool = replace(pool, family=poisson(family.high), first_family=family)
    before, n_searches, is_even = np.zeros_like(theta), 0, not _is_evened(problem, pool)
    while left > 0.0:
        theta = _within_reach(problem, theta)
        if not is_even and (is_settled or n_searches == BEFORE_EVEN):
            spread = _spread(problem, model, pool, theta, EARLY_SPREAD)
            varied, _ = spread.robust(model, (yield spread.request()))
            pool, left, is_even = in_even_coordinates(problem, varied, pool, theta), left - EARLY_SPREAD, True
            is_settled = is_settled and bool(pool.scores)
        to_come = LOOK if pool.turned is not None and pool.limit is None else 0.0
        is_last = is_settled or n_searches == MOST_SEARCHES
        is_last = is_last or left < 2.0 * SEARCH + to_come + (0.0 if is_even else EARLY_SPREAD)
        if is_last and to_come and pool.scores:
            seen = look(problem, pool, theta)
            left -= LOOK
            pool = seen_scores(problem, model, pool, seen, (yield seen), theta, left)
        else:
            share = left if is_last else SEARCH
            points = [_nearer(pool, theta, part) for part in (PARTS if is_last and not pool.scores else (1.0,))]
            request, linear_share, _ = min(
                (best_request(problem, model, pool, at, share) for at in points), key=lambda best: best[2]
            )
            sums = natural_sums(problem, request, (yield request))
            pool.add(request.row_map.theta, sums, linear_share)
            left, n_searches = 0.0 if is_last else left - share, n_searches + 1
        model = pool.model()
        best = _shrunken(problem, model)
        step = best - theta
        is_settled = _is_settled(model, best, step, pool.turned is not None)
        before = _step(model, step, before)
        theta = theta + before
    first, information = pool.first_of_columns, pool.information()
    open_ways = OpenWays(separating_sums(family, first, problem.groups), undetermined(*information))
    is_told = model.change(step) <= min(LOST, max(ASTRAY, BEYOND_NOISE * _noise(model)))
    reliability = None
    if problem.robust:
        spread = _spread(problem, model, pool, _within_reach(problem, best), SPREAD)
        model, reliability = spread.robust(model, (yield spread.request()))
    # An estimate may rest on what is supposed of the columns' law: an interval does not.
    least_noisy = min(first_model, model, key=_noise) if is_hidden else model
    return _fit(problem, model, least_noisy, open_ways, reliability, is_told)


def _spread(problem: Problem, model: ScoreModel, pool: Pool, theta: Floats, share: float) -> Spread:
    """Return the pass that tells how much scores vary, of whole ones."""
    offset, turn = problem.offset or 0.0, None if pool.turned is None else pool.turned.turn
    turn = None if turn is None else turn.to(turn.length, math.inf)
    bounds = predictor_bounds(theta, problem.groups, offset)
    row_map = score_map(problem.family, theta, bounds, offset=offset, cap=problem.cap, turn=turn)
    count = problem.n_units or max(pool.n_rows / problem.rows_per_unit, 1.0)
    norm = (problem.longest if turn is None else problem.squared_norm) ** 0.5
    units = Units(count, problem.rows_per_unit, norm, problem.replace)
    lengths = LONG_LENGTHS if problem.family.counts and turn is not None else TYPICAL_LENGTHS
    return spread_pass(model, theta, row_map, spread_mu(problem, share), units, pool.dispersion(theta), lengths)


def _is_evened(problem: Problem, pool: Pool) -> bool:
    """Tell whether a pass is to find in which coordinates scores vary alike."""
    return pool.turned is not None and problem.robust and problem.family.counts


def _is_settled(model: ScoreModel, best: Floats, step: Floats, is_turned: bool) -> bool:
    """Tell whether a step changes nothing that matters."""
    if is_turned:
        return model.change(step) < SETTLED and _beside_error(model, best, step) < NEAR_ENOUGH
    return model.change(step) < max(SETTLED, STEP_NOISE * _noise(model))


def _beside_error(model: ScoreModel, coef: Floats, step: Floats) -> float:
    """Return how long a step is beside the estimate's error, in the root mean square over directions."""
    square = float(step @ model.distance(coef[None])[2][0] @ step)
    return float((max(square, 0.0) / len(step)) ** 0.5)


def _step(model: ScoreModel, step: Floats, before: Floats) -> Floats:
    """Return a step, no longer than is wise; and shorter where it turns back, as weights of long rows are told too low.

    If a step is too long by some factor, so is the next one, in the other direction: the point is between.
    """
    step = step * min(1.0, LONGEST_STEP / max(model.change(step), 1e-300))
    if float(before @ model.information @ step) < 0.0:
        step = step / (1.0 + model.change(step) / max(model.change(before), 1e-300))
    return step


def _first_noise(problem: Problem, counts: CountBound) -> float:
    """Return about how far the first pass's noise will move linear predictors, by what the histogram tells."""
    noise = _score_noise(problem) * counts.bound / 2.0 / (OF_GRADIENT * problem.start**0.5)
    weight = counts.n_rows * float(clipped_poisson(counts.bound).weight(np.log(np.array([counts.mean])))[0])
    return float(noise * problem.n_coefficients**0.5 / max(weight * TYPICAL_PART, 1e-300))


def _score_noise(problem: Problem) -> float:
    """Return the standard deviation of the noise on a score, were all spent on it, where residuals are at most 1."""
    return float((2.0 if problem.replace else 1.0) * problem.longest**0.5 / problem.mu)


def _nearer(pool: Pool, theta: Floats, part: float) -> Floats:
    """Return coefficients with a part of the slopes, and the same linear predictor where columns have their means."""
    nearer = theta * part
    nearer[0] = theta[0] + (1.0 - part) * float(pool.center[1 : len(theta)] @ theta[1:])
    return nearer


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

    Their prior variance is the likeliest one (Laplace's approximation), where slopes of a half are usual. Sampling
    makes an estimate without noise differ from them, and nothing is shrunk beside what noise hides of that. Source:
    Efron and Morris 1973; MacKay 1992.
    """
    family, settled = problem.family, model.settled(model.point)
    level = TYPICAL_COUNT * min(family.high, family.weight_bound) if family.counts else family.middle
    prior, constant_sd = np.zeros(problem.n_coefficients), CONSTANT_SD
    if problem.usual is not None and problem.offset is None:
        level, of_mean = problem.usual
        constant_sd = min(math.hypot(of_mean, BESIDE_MEAN), CONSTANT_SD)
    prior[0] = float(family.link(np.array([level]))[0])
    of_slopes = PRIOR_SHARES * float(problem.precision[0]) ** -0.5
    sds = np.tile(of_slopes[:, None], problem.n_coefficients)
    sds[:, 0] = constant_sd
    # From no effect: a start far out would stay in the level part of the score.
    modes, values = minimize(settled, np.tile(prior, (len(sds), 1)), sds**-2.0, problem.box, prior=prior)
    # -2 log p(score | T) = min(Q + theta' T^-1 theta) + log det(I + T^1/2 H' V^-1 H T^1/2)
    inner = np.eye(len(prior)) + sds[:, :, None] * settled.distance(modes)[2] * sds[:, None, :]
    unusual = (np.log(of_slopes / TYPICAL_SLOPE) / LOG_SPREAD) ** 2
    best = int(np.argmin(values + np.linalg.slogdet(inner)[1] + unusual))
    noise = model.privacy(model.point) + TINY_SHARE * model.sampling
    quiet = replace(settled, sampling=noise)
    # What is estimated is the estimate without noise: it varies as the slopes do, and as sampling makes it.
    inverse = np.linalg.inv(model.information + np.diag(problem.precision))
    values, vectors = np.linalg.eigh(np.diag(sds[best] ** 2) + inverse @ model.sampling @ inverse)
    root = vectors * np.sqrt(np.maximum(values, float(sds[best].min()) ** 2))
    start, center = np.linalg.solve(root, np.column_stack([modes[best], prior])).T
    coef: Floats = root @ minimize(Turned(quiet, root), start[None], np.ones_like(center), np.inf, prior=center)[0][0]
    return np.clip(coef, -problem.box, problem.box)


def _fit(
    problem: Problem,
    model: ScoreModel,
    least_noisy: ScoreModel,
    ways: OpenWays,
    known: Reliability | None = None,
    is_told: bool = True,
) -> Fit:
    """Return estimates, intervals and the two covariances."""
    model = symmetric(model)
    coef = _estimate(model, problem.precision, problem.box)
    is_told = is_told and not (problem.family.counts and model.carried(coef) > FURTHEST_OF_COUNTS)
    rows = np.eye(len(coef))
    rows[0] = problem.constant or rows[0]
    score = ScoreFit(model, coef, problem.box, known, is_told=is_told, ways=ways)
    estimates = np.clip(rows @ _shrunken(problem, least_noisy), *score.intervals(rows, problem.level))
    estimate: Floats = np.linalg.solve(rows, estimates).astype(np.float64)
    return replace(score, told=estimate).fit(rows, problem.level)
