"""Without noise the estimate is the maximum likelihood one with Wald intervals; with noise its intervals cover."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from glm_problems import THETA, fitted, logistic_cells, natural, poisson_cells
from tests.effort import either

from discreet.kernels.glm import noisy_newton
from discreet.kernels.glm.families import LOGISTIC, poisson
from discreet.kernels.glm.noisy_newton import ALMOST_ALL, MOST_PASSES
from discreet.kernels.glm.problem import BOX, START, Problem
from discreet.kernels.glm.requests import STEP, attainable_sd
from discreet.kernels.glm.score_looks import LookRequest
from discreet.kernels.glm.sensitivity import joint_sensitivity
from discreet.kernels.moments.moments import GRID

COUNTS = poisson(20.0)


def generator(seed: int) -> Any:
    return np.random.default_rng(seed)  # noqa: TID251 - simulated data and noise


@pytest.mark.parametrize(("family", "model"), [(LOGISTIC, sm.families.Binomial()), (COUNTS, sm.families.Poisson())])
def test_without_noise_it_is_maximum_likelihood(family: object, model: object) -> None:
    """Coefficients, covariance and intervals are those of statsmodels, to first order."""
    rng = generator(1)
    family = LOGISTIC if family is LOGISTIC else COUNTS
    cells = logistic_cells(20_000, rng) if family is LOGISTIC else poisson_cells(20_000, rng)
    x, y = natural(cells, family)
    wald = sm.GLM(y, x, family=model).fit()
    fit, _ = fitted(Problem(family, 4, (), np.inf, True, len(cells)), cells)
    assert fit.coef == pytest.approx(wald.params, abs=0.05 * wald.bse.min())
    assert fit.covariance_sampling == pytest.approx(wald.cov_params(), abs=0.03 * wald.bse.max() ** 2)
    assert np.allclose(fit.covariance_privacy, 0.0)
    ends = wald.conf_int()
    assert fit.low == pytest.approx(ends[:, 0], abs=0.1 * wald.bse.max())
    assert fit.high == pytest.approx(ends[:, 1], abs=0.1 * wald.bse.max())


@pytest.mark.parametrize(("mu", "is_capped"), [(0.02, True), (20.0, False)])
def test_the_score_is_that_of_the_likelihood_with_long_rows_weighted(mu: float, is_capped: bool) -> None:
    """Where noise matters long rows count less, and where it does not the estimate is maximum likelihood."""
    cells = logistic_cells(20_000, generator(11))
    x, y = natural(cells, LOGISTIC)
    problem = Problem(LOGISTIC, 4, (), mu, True, len(cells))
    fit, requests = fitted(problem, cells)
    later = [request.row_map for request in requests[1:] if not isinstance(request, LookRequest)]
    assert {np.isfinite(row_map.cap) for row_map in later} == {is_capped}
    shares = np.minimum(1.0, problem.cap / (x * x).sum(axis=1)) if is_capped else np.ones(len(x))
    weighted = sm.GLM(y, x, family=sm.families.Binomial(), var_weights=shares).fit()
    assert fit.score.coef == pytest.approx(weighted.params, abs=0.05 * weighted.bse.min())


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("n", [500, 50_000])
def test_requests_spend_the_budget_and_no_more(replace: bool, n: int) -> None:
    """Each request's noise is what its sensitivity asks for, and the squares of mu add up."""
    rng = generator(2)
    problem = Problem(LOGISTIC, 4, (), 0.5, replace, n)
    _, requests = fitted(problem, logistic_cells(n, rng), rng)
    assert 3 <= len(requests) <= MOST_PASSES
    assert sum(request.mu**2 for request in requests) == pytest.approx(0.25)
    for request in requests:
        row_map = request.row_map
        if isinstance(request, LookRequest):
            assert request.sd * request.mu == pytest.approx((2.0 if replace else 1.0) * GRID * STEP)
            continue
        sd = request.sd_gradient * row_map.units[0]
        ratios = np.array([request.sd_diagonal * row_map.units[1] / sd])
        norm = min(row_map.cap, 4.0) if row_map.turn is None else row_map.turn.length**2
        moved = joint_sensitivity(row_map, norm, ratios, replace, longest=norm if row_map.turn else 4.0)[0]
        assert moved / sd == pytest.approx(request.mu)
        assert request.sd_above == pytest.approx(request.sd_diagonal / 2**0.5)


@pytest.mark.slow
@pytest.mark.parametrize("family", [LOGISTIC, COUNTS], ids=lambda family: family.name)
@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize(("n", "mu"), [(500, 1e-5), (500, 5.0), (50_000, 0.5)])
def test_every_pass_can_keep_to_the_attainable_noise(family: Any, replace: bool, n: int, mu: float) -> None:
    """With a limit there, each pass finds a request within it; with less, the first one of these may not."""
    rng = generator(7)
    cells = logistic_cells(500, rng)
    problem = Problem(family, 4, ((2, 3),), mu, replace, n)
    limited = dataclasses.replace(problem, largest_sd=attainable_sd(problem))
    for _ in range(5):
        _, requests = fitted(limited, cells, rng)
        looks = [one for one in requests if isinstance(one, LookRequest)]
        others = [one for one in requests if one not in looks]
        assert max(max(one.sd_gradient, one.sd_diagonal) for one in others) <= limited.largest_sd
        assert all(one.sd <= limited.largest_sd for one in looks)
    with pytest.raises(ValueError, match="empty"):
        fitted(dataclasses.replace(problem, largest_sd=0.15 * limited.largest_sd), cells, rng)


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("n", "mu", "tables"), [(500, 0.84, either(25, 60)), (5000, 0.24, either(25, 60)), (50_000, 0.24, either(8, 15))]
)
def test_intervals_cover(n: int, mu: float, tables: int) -> None:
    """Over seeded tables, nearly all intervals hold the truth and both parts of the variance are in them."""
    hits, scores = [], []
    for seed in range(tables):
        rng = generator(seed)
        fit, _ = fitted(Problem(LOGISTIC, 4, (), mu, True, n), logistic_cells(n, rng), rng)
        hits.append((fit.low <= THETA) & (fit.high >= THETA))
        sd = np.sqrt(np.diag(fit.covariance_sampling + fit.covariance_privacy))
        scores.append((fit.coef - THETA) / sd)
    assert 0.9 <= np.mean(hits) <= 0.995
    assert 0.8 <= np.std(scores) <= 1.2


def test_a_first_pass_that_would_hide_the_rest_has_nearly_all() -> None:
    """The histogram of counts tells it; the passes spend the budget and no more."""
    for n, mu, expected in ((500, 0.03, ALMOST_ALL), (20_000, 0.3, START)):
        rng = generator(12)
        problem = Problem(COUNTS, 4, (), mu, False, 10_000, finds_bound=True, robust=True)
        _, requests = fitted(problem, poisson_cells(n, rng))
        histogram, first, *_ = requests
        assert first.mu**2 / (mu**2 - histogram.mu**2) == pytest.approx(expected)
        assert sum(request.mu**2 for request in requests) == pytest.approx(mu**2)


def test_few_noisy_slopes_are_shrunk_as_usual_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where noise hides how large slopes are, they are nearer to the truth than by the likeliest size alone."""

    def error() -> float:
        errors = []
        for seed in range(40):
            rng = generator(seed)
            fit, _ = fitted(Problem(LOGISTIC, 4, (), 0.12, True, 300), logistic_cells(300, rng), rng)
            errors.append(((fit.coef - THETA)[1:] ** 2).sum())
        return float(np.mean(errors))

    usual = error()
    monkeypatch.setattr(noisy_newton, "LOG_SPREAD", 1e9)
    assert usual < 0.8 * error()


def test_little_budget_says_nothing_rather_than_something_wrong() -> None:
    """At a mu of a hundredth the intervals are most of the box."""
    rng = generator(5)
    fit, _ = fitted(Problem(LOGISTIC, 4, (), 0.01, True, 500), logistic_cells(500, rng), rng)
    assert (fit.high - fit.low)[1:].mean() > 10.0


@pytest.mark.slow
@pytest.mark.parametrize("mu", [np.inf, 0.84, 0.05])
@pytest.mark.parametrize("kind", ["separable", "constant", "one class", "empty columns", "doubled column"])
def test_degenerate_tables_give_finite_estimates(mu: float, kind: str) -> None:
    """No error and no warning; every estimate finite and in its interval, every end in the box or none."""
    rng = generator(6)
    cells = logistic_cells(500, rng)
    if kind == "separable":
        cells[:, -1] = np.where(cells[:, 1] > 0, GRID, -GRID)
    elif kind == "constant":
        cells[:, 2] = GRID
    elif kind == "one class":
        cells[:, -1] = GRID
    elif kind == "empty columns":
        cells[:, 1:4] = 0
    else:
        cells[:, 2] = cells[:, 1]
    fit, _ = fitted(Problem(LOGISTIC, 4, (), mu, True, 500), cells, None if np.isinf(mu) else rng)
    for part in (fit.coef, fit.covariance_sampling, fit.covariance_privacy):
        assert np.isfinite(part).all()
    assert (fit.low <= fit.coef).all()
    assert (fit.coef <= fit.high).all()
    ends = np.abs([fit.low, fit.high])
    assert ((ends <= BOX) | np.isinf(ends)).all()


def test_dummies_and_hidden_count() -> None:
    """Groups of dummies, and add or remove where the count is private, run and cover on a large table."""
    rng = generator(7)
    theta = np.array([-0.5, 1.0, 0.5, -0.5])
    cells = logistic_cells(50_000, rng, theta)
    level = rng.integers(0, 3, len(cells))
    cells[:, 2:4] = GRID * (level[:, None] == [1, 2])
    chance = LOGISTIC.mean(cells[:, :-1] @ theta / GRID)
    cells[:, -1] = np.where(rng.random(len(cells)) < chance, GRID, -GRID)
    problem = Problem(LOGISTIC, 4, ((2, 3),), 0.5, False, 10_000)
    assert problem.squared_norm == 3.0
    fit, _ = fitted(problem, cells, rng)
    assert (np.abs(fit.coef - theta) < 0.15).all()


def test_counts_that_differ_by_orders_of_magnitude_are_fitted():
    """Where many means are near the largest count a step is right too: the mean is level there, and so is its slope."""
    rng = np.random.default_rng(1)  # noqa: TID251 - simulated rows, not noise
    theta, largest = np.array([-0.6, 0.5, -0.6, 3.4]), 60.0
    cells = np.full((40_000, 5), GRID, dtype=np.int16, order="F")
    cells[:, 1:4] = np.rint(rng.uniform(-1, 1, (40_000, 3)) * GRID)
    counts = np.minimum(rng.poisson(np.exp(cells[:, :4] @ theta / GRID)), largest)
    cells[:, 4] = np.rint((2.0 * counts / largest - 1.0) * GRID)
    fit, _ = fitted(Problem(poisson(largest), 4, (), 1e4, True, 40_000), cells)
    assert fit.coef == pytest.approx(theta, abs=0.04)
    assert np.all((fit.low < theta + 0.02) & (fit.high > theta - 0.02))


@pytest.mark.statistics
@pytest.mark.parametrize("family", [LOGISTIC, poisson(20.0)])
def test_estimates_are_shrunk_where_noise_hides_them(family: Any) -> None:
    """Nearly no budget: slopes near zero and a level that some table can have, each within its interval."""
    cells = (poisson_cells if family.counts else logistic_cells)(300, generator(3))
    for seed in range(5):
        fit, _ = fitted(Problem(family, len(THETA), (), 0.05, False, 300), cells, generator(seed))
        assert np.all((fit.low <= fit.coef) & (fit.coef <= fit.high))
        predictor = cells[:, :-1] / GRID @ fit.coef
        level = family.link(np.array([np.exp(-2.0) * family.high if family.counts else family.middle]))
        assert np.abs(predictor - level).max() < 6.0
