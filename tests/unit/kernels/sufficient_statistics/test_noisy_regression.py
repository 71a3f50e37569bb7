"""Coefficients and intervals from noisy moments."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import ndtri

from discreet.kernels.linear_combinations import without_ends
from discreet.kernels.sufficient_statistics import regression_score as noisy_regression_score
from discreet.kernels.sufficient_statistics.gram import NoisyGram
from discreet.kernels.sufficient_statistics.regression import (
    Coefficients,
    coefficient_shares,
    coefficients,
    own_units,
)
from discreet.kernels.sufficient_statistics.regression_score import Score, gram_noise, intervals, profile
from discreet.kernels.sufficient_statistics.regression_shrink import shrunken_coefficients
from discreet.kernels.sufficient_statistics.shares import cost
from discreet.mechanisms.rng import Source

TRUE = np.array([0.1, 0.3, -0.2, 0.0])


def normals(seed, *shape):
    words = Source.seeded(seed).words(int(np.prod(shape)))
    return ndtri(((words >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53).reshape(shape)


def rows(n, seed=1):
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    X = np.column_stack([np.ones(n), rng.uniform(-1, 1, (n, 3))])
    return X, np.clip(X @ TRUE + 0.25 * rng.normal(size=n), -1, 1)


def moments(X, y, gram_noise=0.0, xty_noise=0.0, yty_noise=0.0, seed=0):
    p = X.shape[1]
    upper = np.triu(normals(seed, p, p))
    variance = np.full((p, p), gram_noise**2)
    variance[0, 0] = 0.0
    return NoisyGram(
        X.T @ X + np.sqrt(variance) * (upper + np.triu(upper, 1).T),
        X.T @ y + xty_noise * normals(seed + 1, p),
        float(y @ y + yty_noise * normals(seed + 2, 1)[0]),
        variance,
        np.full(p, xty_noise**2),
        yty_noise**2,
        len(y),
        0.0,
    )


def sensible(found: Coefficients, box=2.0):
    for values in (found.coef, found.covariance_sampling, found.covariance_privacy):
        assert np.isfinite(values).all()
    assert (found.low <= found.high).all()
    assert ((found.low <= found.coef) & (found.coef <= found.high)).all()
    for ends in (found.low, found.high):
        assert ((np.abs(ends) < box) | np.isinf(ends)).all()
    assert 0.0 <= found.sigma2 <= 1.0


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_without_noise_the_answer_is_least_squares_and_its_classical_intervals(level):
    """Estimates, standard errors and Student intervals are those of statsmodels."""
    X, y = rows(60)
    fit = sm.OLS(y, X).fit()
    found = coefficients(moments(X, y), range(4), level, constant=0)
    np.testing.assert_allclose(found.coef, fit.params, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.covariance_sampling, fit.cov_params(), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(np.column_stack([found.low, found.high]), fit.conf_int(1 - level), rtol=1e-6, atol=1e-9)
    assert found.sigma2 == pytest.approx(fit.mse_resid)
    assert not found.covariance_privacy.any()


def test_a_model_uses_its_own_columns_alone():
    """The answer for a subset is that of moments cut to it."""
    X, y = rows(2000)
    noisy = moments(X, y, 10.0, 10.0, 10.0)
    part = noisy._replace(
        gram=noisy.gram[:2, :2],
        xty=noisy.xty[:2],
        gram_variance=noisy.gram_variance[:2, :2],
        xty_variance=noisy.xty_variance[:2],
    )
    for one, other in zip(coefficients(noisy, [0, 1]), coefficients(part, [0, 1]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_public_entries_are_left_as_they_are():
    """The number of rows stays in the shrunken moments, and the moments that came in are not written to."""
    X, y = rows(500)
    noisy = moments(X, y, 60.0, 30.0, 30.0)
    before = [np.array(value) for value in noisy]
    assert shrunken_coefficients(noisy, 0).gram[0, 0] == 500.0
    coefficients(noisy, range(4), constant=0)
    for value, kept in zip(noisy, before, strict=True):
        np.testing.assert_array_equal(value, kept)


def test_combinations_agree_with_coefficients():
    """A row of the identity is the coefficient; a multiple of it scales the interval; a sign turns it round."""
    X, y = rows(2000)
    noisy = moments(X, y, 10.0, 10.0, 10.0)
    plain = coefficients(noisy, range(4), constant=0)
    turned = coefficients(noisy, range(4), combinations=-3.0 * np.eye(4), offset=np.ones(4), constant=0)
    np.testing.assert_allclose(turned.low, 1.0 - 3.0 * plain.high, atol=1e-5)
    np.testing.assert_allclose(turned.high, 1.0 - 3.0 * plain.low, atol=1e-5)
    np.testing.assert_allclose(turned.coef, 1.0 - 3.0 * plain.coef)
    np.testing.assert_allclose(turned.covariance_privacy, 9.0 * plain.covariance_privacy)


def test_own_units_are_those_of_a_regression_on_the_columns_as_they_were():
    """Without noise, estimates and intervals in own units are least squares on unscaled columns."""
    X, y = rows(80)
    half, middle = np.array([1.0, 5.0, 0.5, 20.0]), np.array([0.0, 5.0, -3.0, 100.0])
    matrix, offset = own_units(half, middle, 10.0, 40.0, constant=0)
    own = np.column_stack([np.ones(80), X[:, 1:] * half[1:] + middle[1:]])
    fit = sm.OLS(40.0 + 10.0 * y, own).fit()
    found = coefficients(moments(X, y), range(4), combinations=matrix, offset=offset, constant=0)
    np.testing.assert_allclose(found.coef, fit.params, rtol=1e-8)
    np.testing.assert_allclose(np.column_stack([found.low, found.high]), fit.conf_int(), rtol=1e-6)
    without, none = own_units(half[1:], np.zeros(3), 10.0, 0.0)
    np.testing.assert_array_equal(without, np.diag(10.0 / half[1:]))
    assert not none.any()


def degenerate():
    X, y = rows(300)
    twice = np.column_stack([X, np.ones(300)])
    still = moments(X, y, 20.0, 20.0, 20.0)
    return {
        "a constant beside the intercept": moments(twice, y),
        "a constant beside the intercept, noise": moments(twice, y, 10.0, 10.0, 10.0),
        "perfect fit": moments(X, X @ TRUE),
        "perfect fit, noise": moments(X, X @ TRUE, 10.0, 10.0, 10.0),
        "y all zero": moments(X, 0.0 * y),
        "y all one, noise": moments(X, 0.0 * y + 1.0, 10.0, 10.0, 10.0),
        "huge noise": moments(X, y, 1e6, 1e6, 1e6),
        "noise on one side alone": moments(X, y, 30.0, 0.0, 0.0),
        "noise on the other": moments(X, y, 0.0, 30.0, 0.0),
        "negative squares": still._replace(gram=still.gram - 2.0 * np.diag([0.0, 300.0, 300.0, 300.0])),
        "negative y'y": still._replace(yty=-50.0),
        "a noisy count below zero": still._replace(n_rows=-20.0, n_rows_variance=400.0),
        "a noisy count": still._replace(n_rows=310.5, n_rows_variance=400.0),
        "nothing at all": NoisyGram(np.zeros((4, 4)), np.zeros(4), 0.0, np.zeros((4, 4)), np.zeros(4), 0.0, 0.0, 0.0),
    }


@pytest.mark.parametrize("case", list(degenerate()))
def test_degenerate_moments_give_finite_answers(case):
    """No warning, each estimate in its interval, each end within its box or none."""
    found = degenerate()[case]
    sensible(coefficients(found, range(len(found.xty)), constant=0))
    sensible(coefficients(found, range(len(found.xty))))


def test_what_cannot_be_known_has_no_end():
    """Coefficients of two equal columns, and of anything under huge noise, are not told."""
    cases = degenerate()
    twins = coefficients(cases["a constant beside the intercept, noise"], range(5), constant=0)
    assert np.isfinite([twins.low[1:4], twins.high[1:4]]).all()
    assert twins.high[0] - twins.low[0] > 2.0
    assert twins.high[4] - twins.low[4] > 2.0
    nothing = coefficients(cases["huge noise"], range(4), box=np.full(4, 1.5), constant=0)
    assert set(nothing.low) == {-np.inf}
    assert set(nothing.high) == {np.inf}


def test_a_combination_of_what_has_no_end_has_none():
    """On the side that the coefficient moves; a combination without it keeps its ends."""
    rows = np.array([[1.0, 0.0, -3.0], [0.0, 2.0, 0.0], [0.0, -0.5, 1.0], [1.0, 0.0, 0.0]])
    no_low, no_high = np.array([False, True, False]), np.array([False, False, True])
    is_open = without_ends(rows, no_low, no_high)
    assert is_open[0].tolist() == [True, True, False, False]
    assert is_open[1].tolist() == [False, False, True, False]


def test_a_perfect_fit_without_noise_has_intervals_of_no_width():
    """What is known exactly is told exactly."""
    found = coefficients(degenerate()["perfect fit"], range(4), constant=0)
    np.testing.assert_allclose(found.low, TRUE, atol=1e-6)
    np.testing.assert_allclose(found.high, TRUE, atol=1e-6)


def test_the_score_knows_its_own_variance():
    """The formula for the noise in E b agrees with all draws of a symmetric E of two signs."""
    deviation = np.array([[1.0, 2.0, 0.0], [2.0, 0.5, 1.0], [0.0, 1.0, 3.0]])
    b, total = np.array([0.5, -1.0, 2.0]), np.zeros((3, 3))
    places = list(zip(*np.triu_indices(3), strict=True))
    for signs in range(2 ** len(places)):
        E = np.zeros((3, 3))
        for bit, (i, j) in enumerate(places):
            E[i, j] = E[j, i] = deviation[i, j] * (1.0 if signs >> bit & 1 else -1.0)
        total += np.outer(E @ b, E @ b)
    np.testing.assert_allclose(gram_noise(deviation**2, b[None])[0], total / 2 ** len(places), atol=1e-12)


def test_the_profile_is_a_minimum():
    """No coefficients near the ones found fit better at the same a'b, and a'b is what was asked for."""
    X, y = rows(500)
    noisy = moments(X, y, 20.0, 20.0)
    score = Score(noisy.gram, noisy.xty, noisy.gram_variance, np.diag(noisy.xty_variance), np.full(4, 2.0))
    a, t = np.array([[0.5, 1.0, 0.0, -1.0]]), np.array([0.6])
    value, coef = profile(score, a, t, np.zeros((1, 4)))
    assert (a @ coef[0])[0] == pytest.approx(0.6)
    flat = np.linalg.svd(a)[2][1:]
    for step in 1e-2 * np.vstack([flat, -flat]):
        assert score.at(coef + step)[0][0] >= value[0]


def test_the_ends_of_an_interval_are_where_the_test_turns():
    """At an end Q is the critical value; just beyond it is more."""
    X, y = rows(500)
    noisy = moments(X, y, 20.0, 20.0)
    score = Score(noisy.gram, noisy.xty, noisy.gram_variance, np.diag(noisy.xty_variance), np.full(4, 2.0))
    a = np.eye(4)
    ends = intervals(score, a, np.full(4, 2.0), np.full(4, 3.84))
    for end, sign in zip(ends, (-1.0, 1.0), strict=True):
        np.testing.assert_allclose(profile(score, a, end, np.tile(TRUE, (4, 1)))[0], 3.84, rtol=1e-4)
        assert (profile(score, a, end + 0.01 * sign, np.tile(TRUE, (4, 1)))[0] > 3.84).all()


def steps_and_ends(monkeypatch, most_work, p=12, n=4000):
    """The steps of all intervals of a model, and their ends."""
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated data, not noise
    X = np.column_stack([np.ones(n), rng.uniform(-1, 1, (n, p - 1))])
    coef = np.linspace(-0.3, 0.3, p)
    noise = np.full((p, p), 400.0)
    score = Score(X.T @ X, X.T @ X @ coef + 20 * normals(1, p), noise, 0.06 * X.T @ X + 400 * np.eye(p), np.full(p, 2))
    taken, step = [], Score.step
    with monkeypatch.context() as patch:
        patch.setattr(noisy_regression_score, "MOST_WORK", most_work)
        patch.setattr(Score, "step", lambda self, at, *more: (taken.append(len(at)), step(self, at, *more))[1])
        low, high = intervals(score, np.eye(p), np.full(p, 2.0), np.full(p, 3.84))
    return sum(taken), low, high


@pytest.mark.parametrize("n_steps", [100, 150, 200, 250, 300, 350, 400])
def test_the_work_of_intervals_has_an_end(monkeypatch, n_steps):
    """No more steps than allowed, besides those to the center; for want of them no interval is shorter."""
    needed, low, high = steps_and_ends(monkeypatch, np.inf)
    taken, lower, higher = steps_and_ends(monkeypatch, n_steps * 12**3)
    center = noisy_regression_score.ITERATIONS + 2
    assert taken <= n_steps + center
    assert needed > n_steps + center  # control: without a bound it takes more
    assert (lower <= low + 1e-9).all()
    assert (higher >= high - 1e-9).all()


def test_where_no_step_is_affordable_nothing_is_told(monkeypatch):
    """The intervals are all that the limits allow; control: with the usual bound they are not."""
    taken, low, high = steps_and_ends(monkeypatch, 12**3)
    assert (taken, set(low), set(high)) == (0, {-2.0}, {2.0})
    _, low, high = steps_and_ends(monkeypatch, noisy_regression_score.MOST_WORK)
    assert (high - low < 1.0).all()


def test_shares_are_affordable():
    """Neither relation is promised more than there is."""
    assert cost(coefficient_shares("add_or_remove_one"), "add_or_remove_one") <= 1.0
    assert cost(coefficient_shares("replace_one"), "replace_one") <= 1.0


@pytest.mark.statistics
def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """Of 240 seeded intervals with sampling and privacy noise of like size, 90 to 99% hold the coefficient."""
    held = 0
    for seed in range(60):
        X, y = rows(500, seed)
        found = coefficients(moments(X, y, 8.0, 6.0, 4.0, 3 * seed), range(4), constant=0)
        held += np.count_nonzero((found.low <= TRUE) & (found.high >= TRUE))
    assert 214 <= held <= 238
