"""Passes pool to one score: exact without noise, and trusted as far as their noise allows."""

import numpy as np
import pytest

from discreet.kernels.glm.families import LOGISTIC, Line, clipped_poisson
from discreet.kernels.glm.pooled_score import Pool, Sums
from discreet.kernels.glm.shrinkage import MISMATCH, shrunk

P, ROWS = 4, 20_000
TRUTH = np.array([-0.4, 1.2, -0.8, 0.5])


def rows():
    rng = np.random.default_rng(2)  # noqa: TID251 - simulated rows
    x = np.column_stack([np.ones(ROWS), rng.uniform(-1, 1, (ROWS, P - 1))])
    return x, (rng.random(ROWS) < LOGISTIC.mean(x @ TRUTH)).astype(float)


def sums_at(x, y, theta, linear_share, line, variance=0.0):
    """What a pass adds up, without noise; its stated variance is another thing."""
    eta = x @ theta
    residual = y - LOGISTIC.mean(eta) - linear_share * (y - line.constant - line.slope * eta)
    weight = LOGISTIC.weight(eta) - linear_share * line.slope
    return Sums(x.T @ residual, (x * weight[:, None]).T @ x, variance, np.zeros((P, P)))


def pool_of(points, variances, x, y):
    pool = Pool(LOGISTIC, Sums(x.T @ (y - 0.5), x.T @ x, 0.0, np.zeros((P, P))))
    for (theta, share), variance in zip(points, variances, strict=True):
        pool.add(theta, sums_at(x, y, theta, share, pool.line, variance), share)
    return pool


def test_one_pass_is_its_own_score():
    """At its point the pooled score and slope are those of the likelihood, whatever share of the line was left out."""
    x, y = rows()
    for share in (0.0, 0.5, 1.0):
        theta = np.array([0.1, 0.7, -0.2, 0.9])
        model = pool_of([(theta, share)], [0.0], x, y).model()
        eta = x @ theta
        assert model.constant == pytest.approx(x.T @ (y - LOGISTIC.mean(eta)), abs=1e-6 * ROWS)
        assert model.slope(theta) == pytest.approx((x * LOGISTIC.weight(eta)[:, None]).T @ x, rel=1e-6)


def test_an_earlier_pass_is_carried_to_the_last_point():
    """With all trust in the earlier pass the score there is within a thousandth of what changed on the way."""
    x, y = rows()
    early, late = np.array([0.0, 0.5, -0.3, 0.2]), np.array([-0.3, 1.1, -0.7, 0.4])
    model = pool_of([(early, 0.5), (late, 0.0)], [0.0, 1e12], x, y).model()

    def score(theta):
        return x.T @ (y - LOGISTIC.mean(x @ theta))

    error = np.abs(model.constant - score(late)).max()
    assert error < 5e-3 * np.abs(score(early) - score(late)).max()


def test_noise_is_shrunk_and_a_mismatch_seen():
    """Without noise all of a slope counts; with much noise none; a curve that is wrong by half is found to be."""
    slope = np.diag([4.0, 3.0, 2.0, 1.0])
    above = 0.1 * slope
    rests, errors, _, mismatch = shrunk([above], [np.zeros((P, P))], slope)
    assert rests[0] == pytest.approx(above)
    assert np.allclose(errors[0], 0.0)
    assert mismatch == MISMATCH
    rests, errors, _, _ = shrunk([above], [np.full((P, P), 1e12)], slope)
    assert np.abs(rests[0]).max() < 1e-9
    assert errors[0][0, 0] == pytest.approx(MISMATCH**2 * 1.0, rel=1e-6)  # eigenvalues ascend
    wrong = np.full((P, P), 0.9) * np.sqrt(np.outer(np.diag(slope), np.diag(slope)))
    assert shrunk([wrong], [np.zeros((P, P))], slope)[3] == pytest.approx(0.9)


def test_what_is_shrunk_away_is_not_known_where_the_curve_is_noise():
    """Of a curve that has noise of its own a slope is known no better than both; without it it was thought to be."""
    slope, noise = np.diag([1e-3, 1.0, 2.0, 3.0]) * ROWS, np.full((P, P), 50.0**2)
    _, errors, _, _ = shrunk([np.zeros((P, P))], [noise], slope, noise)
    assert errors[0][0, 0] == pytest.approx(50.0**2, rel=0.05)
    _, too_small, _, _ = shrunk([np.zeros((P, P))], [noise], slope)
    assert too_small[0][0, 0] < 0.02 * 50.0**2


def test_the_line_serves_a_response_of_one_class():
    """Its mean stays where the link can take it."""
    x, _ = rows()
    pool = Pool(LOGISTIC, Sums(x.T @ np.full(ROWS, 0.5), x.T @ x, 0.0, np.zeros((P, P))))
    assert isinstance(pool.line, Line)
    assert np.isfinite([pool.line.constant, pool.line.slope]).all()


@pytest.mark.parametrize("n_rows", [ROWS, None])
def test_rows_that_counted_less_leave_the_mean_of_rare_counts(n_rows):
    """What capped rows add up to is scaled by what they count, if that is known: else 2 in 100 became 13."""
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated rows
    common = 2.0 * rng.random((ROWS, 1)) - 1.0
    x = np.column_stack([np.ones(ROWS), np.clip(common + 0.05 * rng.normal(size=(ROWS, P - 1)), -1.0, 1.0)])
    y = np.minimum(rng.poisson(0.02, ROWS), 2.0)
    parts = np.minimum(1.0, 2.0 / (x**2).sum(axis=1))
    sums = Sums(x.T @ (parts * (y - 1.0)), (x * parts[:, None]).T @ x, 0.0, np.zeros((P, P)))
    pool = Pool(clipped_poisson(2.0), sums, cap=2.0).uncapped(n_rows)
    assert np.exp(pool.model().point[0]) == pytest.approx(0.04, rel=0.05)  # the least mean that is taken
