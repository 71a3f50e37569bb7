"""Sampling variances by units: those of statsmodels without noise, and intervals that hold with it."""

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit
from tests.unit.kernels.glm.glm_problems import THETA, natural, with_noise

from discreet.kernels.glm.families import LOGISTIC, Columns, poisson
from discreet.kernels.glm.noisy_newton import noisy_newton
from discreet.kernels.glm.problem import Problem
from discreet.kernels.glm.requests import attainable_sd
from discreet.kernels.glm.sandwich import SpreadRequest
from discreet.kernels.glm.score_looks import LookRequest
from discreet.kernels.moments.moments import GRID

SAMPLE_SIZE = 50
P_THRESHOLD = 1e-3
"""Of a coverage this low when it is right, in that many tables."""
LEAST_COVERAGE = 0.84

ROWS = 4


def columns(n, rng):
    """Two columns of the unit and one of the row, with a constant."""
    x = np.full((n * ROWS, len(THETA)), 1.0)
    x[:, 1] = np.repeat(rng.choice([-1.0, 1.0], n), ROWS)
    x[:, 2:] = rng.uniform(-1.0, 1.0, (n * ROWS, 2))
    return x


def alike(n, rng):
    """Rows of units whose responses share a draw half of the time, so that their correlation is a half."""
    x = columns(n, rng)
    shares = rng.random(n * ROWS) < 0.5**0.5
    draws = np.where(shares, np.repeat(rng.random(n), ROWS), rng.random(n * ROWS))
    return encoded(x, np.where(draws < expit(x @ THETA), 1.0, -1.0))


def spread_out(n, rng, largest=30):
    """Counts of three times the variance of Poisson's law."""
    x = columns(n // ROWS, rng)
    counts = rng.poisson(rng.gamma(np.exp(0.5 + x @ THETA) / 2.0, 2.0))
    return encoded(x, 2.0 * np.minimum(counts, largest) / largest - 1.0)


def encoded(x, y):
    return np.asfortranarray(np.rint(np.column_stack([x, y]) * GRID).astype(np.int16))


def fitted(problem, cells, rng=None):
    """Run all passes, the last one by units."""
    steps, places = noisy_newton(problem), Columns(np.arange(cells.shape[1]))
    request, most = next(steps), problem.rows_per_unit
    starts, words = np.arange(0, len(cells) + 1, most), np.zeros(len(cells) // most, dtype=np.uint64)
    while True:
        sums = with_noise(request, cells, rng)
        if isinstance(request, SpreadRequest) and most > 1:
            by_rows = request.row_map.sums(cells)
            sums += request.row_map.sums_of_units(cells, starts, words, most, places) - by_rows
        try:
            request = steps.send(sums)
        except StopIteration as done:
            return done.value


@pytest.mark.parametrize("rows_per_unit", [1, ROWS])
def test_without_noise_it_is_the_sandwich_of_statsmodels(rows_per_unit):
    """Clustered by units; a unit of one row is White's. What differs is what shrinking leaves."""
    rng = np.random.default_rng(1)  # noqa: TID251 - simulated rows, not noise
    family = LOGISTIC if rows_per_unit > 1 else poisson(30.0)
    cells = alike(5000, rng) if rows_per_unit > 1 else spread_out(20_000, rng)
    problem = Problem(family, 4, (), np.inf, True, len(cells), robust=True, rows_per_unit=rows_per_unit)
    fit = fitted(problem, cells)
    x, y = natural(cells, family)
    model = sm.GLM(np.rint(y), x, family=sm.families.Binomial() if rows_per_unit > 1 else sm.families.Poisson())
    owners = np.repeat(np.arange(len(y) // rows_per_unit), rows_per_unit)
    found = model.fit(cov_type="cluster", cov_kwds={"groups": owners})
    sd = np.sqrt(np.diag(fit.covariance_sampling))
    np.testing.assert_allclose(fit.coef, found.params, atol=0.1 * sd.min())
    np.testing.assert_allclose(sd, found.bse, rtol=0.04)
    plain = np.sqrt(np.diag(model.fit().cov_params()))
    assert (sd / plain).max() > 1.4  # a control: the family's own variance is another one


@pytest.mark.statistics
@pytest.mark.parametrize(("rows_per_unit", "mu"), [(1, 1.0), (ROWS, 4.0)])
def test_intervals_hold_the_truth(rows_per_unit, mu):
    """Counts that vary more, and rows that are alike, with noise; a fit that is not robust is a control."""
    rng = np.random.default_rng(2)  # noqa: TID251 - simulated rows and noise
    family = LOGISTIC if rows_per_unit > 1 else poisson(30.0)
    truth = THETA if rows_per_unit > 1 else THETA + np.array([0.5, 0.0, 0.0, 0.0])
    held = {True: np.zeros(4), False: np.zeros(4)}
    for _ in range(SAMPLE_SIZE):
        cells = alike(1000, rng) if rows_per_unit > 1 else spread_out(2000, rng)
        for robust in held:
            facts = {"robust": robust, "rows_per_unit": rows_per_unit}
            problem = Problem(family, 4, (), 20.0 * mu / rows_per_unit, True, len(cells), **facts)
            fit = fitted(problem, cells, rng)
            held[robust] += (fit.low <= truth) & (truth <= fit.high)
    assert min(held[True]) / SAMPLE_SIZE > LEAST_COVERAGE
    assert held[False].sum() < held[True].sum() - 8


@pytest.mark.parametrize("mu", [0.01, 0.3, 50.0])
def test_each_pass_keeps_to_the_noise_that_was_checked(mu):
    """The last pass, too, needs no more than what a refusal was decided by."""
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated rows, not noise
    problem = Problem(LOGISTIC, 4, (), mu / ROWS, True, 800, robust=True, rows_per_unit=ROWS)
    problem, cells, spent = replace(problem, largest_sd=attainable_sd(problem)), alike(200, rng), 0.0
    steps = noisy_newton(problem)
    request = next(steps)
    while True:
        sds = (request.sd,) if isinstance(request, LookRequest) else (request.sd_gradient, request.sd_diagonal)
        assert max(sds) <= problem.largest_sd * (1 + 1e-9)
        spent += request.mu**2
        try:
            request = steps.send(with_noise(request, cells, rng))
        except StopIteration:
            break
    assert spent == pytest.approx(problem.mu**2, rel=1e-9)


def test_little_rows_under_much_noise_still_give_a_fit():
    """No failure once rows are open: coefficients are finite, ends ordered, whatever the noise."""
    rng = np.random.default_rng(4)  # noqa: TID251 - simulated rows and noise
    for mu in (1e-4, 1e-2, 1.0):
        for cells in (alike(2, rng), np.zeros_like(alike(2, rng))):
            fit = fitted(Problem(LOGISTIC, 4, (), mu, False, 8, robust=True), cells, rng)
            assert np.isfinite(fit.coef).all()
            assert (fit.low <= fit.high).all()
