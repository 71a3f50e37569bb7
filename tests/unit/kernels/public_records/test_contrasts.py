"""Weighted M-estimates are those of independent solvers, and there is one however little the weights leave."""

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from tests.effort import either, pairwise
from tests.unit.kernels.kernel_problems import simulated

from discreet.kernels.public_records.contrasts import Huber, LeastSquares, Logistic, Mean, Median, Poisson, Quantile
from discreet.kernels.public_records.linear_minima import standardized
from discreet.kernels.public_records.m_estimates import ContrastError, m_estimate, quasi_newton

Floats = npt.NDArray[np.float64]

LINEAR = [LeastSquares(), Huber(0.7), Logistic(), Poisson()]
"""Losses of a linear predictor."""

SMOOTH = [Mean(), *LINEAR, *(type(c)(**(vars(c) | {"fit_intercept": False})) for c in LINEAR)]
ALL = [*SMOOTH, Median(), Quantile(0.9)]
KINDS = {"ids": repr}


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """Nothing here may warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def problem(contrast: Any, seed: int, m: int = 300, p: int = 4) -> tuple[Floats, Floats, Floats]:
    """Points, a response that the contrast can have, and weights of which a third are zero."""
    rng = simulated(seed)
    X = rng.uniform(-1.0, 1.0, (m, p))
    eta = 0.3 + X @ rng.normal(size=p)
    if isinstance(contrast, Logistic):
        y = (rng.random(m) < 1.0 / (1.0 + np.exp(-eta))).astype(np.float64)
    elif isinstance(contrast, Poisson):
        y = rng.poisson(np.exp(eta)).astype(np.float64)
    else:
        y = eta + rng.standard_t(2, m)
    return X, y, np.where(rng.random(m) < 1.0 / 3.0, 0.0, rng.exponential(size=m))


def average(contrast: Any, theta: Floats, X: Floats, y: Floats, weights: Floats, penalty: Any = 0.0) -> float:
    """What is minimized."""
    values, _ = contrast.value_and_gradient(theta, X, y)
    return float(np.average(values, weights=weights) + np.sum(penalty * theta**2) / 2.0)


def slope(contrast: Any, theta: Floats, X: Floats, y: Floats, weights: Floats, penalty: Any = 0.0) -> Floats:
    """Gradient of what is minimized."""
    _, gradients = contrast.value_and_gradient(theta, X, y)
    found: Floats = np.average(gradients, axis=0, weights=weights) + penalty * theta
    return found


# Against independent solvers


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ridge", [1e-3, 0.3])
def test_logistic_is_that_of_scikit_learn(fit_intercept: bool, ridge: float) -> None:
    """C is one over ridge times the total weight."""
    X, y, weights = problem(Logistic(), 1)
    total = weights.sum()
    model = LogisticRegression(C=1.0 / (ridge * total), fit_intercept=fit_intercept, tol=1e-12, max_iter=1000)
    model.set_params(solver="newton-cholesky").fit(X, y, sample_weight=weights)
    theta = m_estimate(Logistic(fit_intercept), X, y, weights, ridge=ridge)
    expected = np.concatenate([model.intercept_, model.coef_[0]]) if fit_intercept else model.coef_[0]
    assert theta == pytest.approx(expected, abs=2e-5)
    assert Logistic(fit_intercept).predict(theta, X) == pytest.approx(model.predict_proba(X)[:, 1], abs=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_poisson_is_that_of_scikit_learn(fit_intercept: bool, ridge: float) -> None:
    """Its penalty is the same half of a square."""
    X, y, weights = problem(Poisson(), 2)
    model = PoissonRegressor(alpha=ridge, fit_intercept=fit_intercept, solver="newton-cholesky", tol=1e-12)
    model.fit(X, y, sample_weight=weights)
    theta = m_estimate(Poisson(fit_intercept), X, y, weights, ridge=ridge)
    expected = np.concatenate([[model.intercept_], model.coef_]) if fit_intercept else model.coef_
    assert theta == pytest.approx(expected, abs=2e-5)
    assert Poisson(fit_intercept).predict(theta, X) == pytest.approx(model.predict(X), rel=1e-4)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_least_squares_is_that_of_scikit_learn(fit_intercept: bool, ridge: float) -> None:
    """Ridge's alpha is ridge times the total weight."""
    X, y, weights = problem(LeastSquares(), 3)
    model = Ridge(alpha=ridge * weights.sum(), fit_intercept=fit_intercept, solver="cholesky", tol=1e-12)
    model.fit(X, y, sample_weight=weights)
    theta = m_estimate(LeastSquares(fit_intercept), X, y, weights, ridge=ridge)
    expected = np.concatenate([[model.intercept_], model.coef_]) if fit_intercept else model.coef_
    assert theta == pytest.approx(expected, abs=1e-10)
    assert LeastSquares(fit_intercept).predict(theta, X) == pytest.approx(model.predict(X), abs=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("delta", [0.05, 0.7, 1e3])
def test_huber_is_that_of_a_general_minimizer(delta: float, ridge: float) -> None:
    """The objective written out here once more, by Powell's line searches from the answer and BFGS from zero."""
    X, y, weights = problem(Huber(delta), 4, p=2)

    def objective(theta: Floats) -> float:
        r = np.abs(y - theta[0] - X @ theta[1:])
        loss = np.where(r <= delta, r**2 / 2.0, delta * r - delta**2 / 2.0)
        return float(weights @ loss / weights.sum() + ridge * theta[1:] @ theta[1:] / 2.0)

    theta = m_estimate(Huber(delta), X, y, weights, ridge=ridge)
    found = minimize(objective, np.zeros(3), method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    polished = minimize(objective, found.x, method="Powell", options={"xtol": 1e-10, "ftol": 1e-15})
    assert objective(theta) <= polished.fun + 1e-9
    assert theta == pytest.approx(polished.x, abs=2e-4)


def test_mean_is_the_weighted_average() -> None:
    """Of each column."""
    X, _, weights = problem(Mean(), 5)
    assert m_estimate(Mean(), X, None, weights) == pytest.approx(np.average(X, axis=0, weights=weights), abs=1e-14)


@pytest.mark.parametrize("tau", [0.01, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(5))
def test_quantile_is_the_lowest_point_of_least_loss(tau: float, seed: int) -> None:
    """Ties among values and whole weights: intervals occur."""
    rng = simulated(seed)
    X = rng.integers(-5, 6, (12, 3)).astype(np.float64)
    weights = rng.integers(0, 4, 12).astype(np.float64)
    theta = m_estimate(Quantile(tau), X, None, weights)
    for column, found in zip(X.T, theta, strict=True):
        points = np.unique(column[weights > 0.0])
        away = column - points[:, None]
        losses = np.maximum(tau * away, (tau - 1.0) * away) @ weights
        assert found == points[losses <= losses.min() + 1e-9][0]
    if tau == 0.5:
        assert (m_estimate(Median(), X, None, weights) == theta).all()


def test_even_weights_give_the_lower_median_whatever_their_unit() -> None:
    """Sums of tenths round; the answer does not."""
    X = np.arange(10.0)[:, None]
    for unit in (1.0, 0.1, 1e-9, 1.0 / 3.0, 1e300, 1e-300):
        assert m_estimate(Median(), X, None, np.full(10, unit)) == 4.0


@pytest.mark.parametrize("ridge", [0.01, 0.2, 5.0])
@pytest.mark.parametrize("tau", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("shift", [-3.0, 0.0, 3.0])
def test_quantile_with_a_ridge_is_least_on_a_grid(tau: float, ridge: float, shift: float) -> None:
    """A location can be penalized, and then it may lie between points."""
    X, y, weights = problem(Median(), 6, m=15, p=2)
    X = X + shift
    theta = m_estimate(Quantile(tau), X, None, weights, ridge=ridge, penalized=np.ones(2, dtype=bool))
    least = average(Quantile(tau), theta, X, y, weights, ridge)
    for column in range(2):
        for value in np.linspace(-5.0, 5.0, either(401, 2001)):
            other = theta.copy()
            other[column] = value
            assert least <= average(Quantile(tau), other, X, y, weights, ridge) + 1e-9


# Properties of every contrast


@pytest.mark.parametrize("contrast", SMOOTH, **KINDS)
def test_gradients_are_derivatives(contrast: Any) -> None:
    """By central differences."""
    X, y, _ = problem(contrast, 7, m=20)
    theta = simulated(8).normal(size=contrast.n_parameters(4)) / 2.0
    _, gradients = contrast.value_and_gradient(theta, X, y)
    for j, unit in enumerate(np.eye(len(theta)) * 1e-6):
        above, _ = contrast.value_and_gradient(theta + unit, X, y)
        below, _ = contrast.value_and_gradient(theta - unit, X, y)
        # A residual within the difference of delta has a kink in its derivative: an error of the step's size.
        assert gradients[:, j] == pytest.approx((above - below) / 2e-6, abs=5e-6)


@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("contrast", SMOOTH, **KINDS)
def test_the_gradient_vanishes(contrast: Any, seed: int, ridge: float) -> None:
    """But for the floor, whose pull is below 1e-5 here."""
    X, y, weights = problem(contrast, seed)
    theta = m_estimate(contrast, X, y, weights, ridge=ridge)
    held = contrast._penalized(len(theta))
    assert slope(contrast, theta, X, y, weights, ridge * held) == pytest.approx(np.zeros(len(theta)), abs=1e-5)


@pytest.mark.parametrize("contrast", SMOOTH, **KINDS)
def test_the_general_solver_agrees(contrast: Any) -> None:
    """L-BFGS on the same contrast, every parameter penalized, columns in unlike units."""
    X, y, weights = problem(contrast, 9)
    X = X * [1.0, 10.0, 0.1, 1.0]
    q = contrast.n_parameters(4)
    penalized = np.ones(q, dtype=bool)
    theta = m_estimate(contrast, X, y, weights, ridge=1e-3, penalized=penalized)
    used = weights > 0.0
    shares = weights[used] / weights.sum()
    found = quasi_newton(contrast, X[used], y[used], shares, np.full(q, 1e-3), np.zeros(q))
    assert found == pytest.approx(theta, rel=2e-3, abs=2e-3)
    at = [average(contrast, point, X, y, weights, 1e-3) for point in (theta, found)]
    assert at[0] == pytest.approx(at[1], abs=1e-8)


@pytest.mark.parametrize("contrast", ALL, **KINDS)
def test_weights_are_repetitions(contrast: Any) -> None:
    """A point of weight 3 is three points, one of weight 0 none, and the total does not matter."""
    X, y, _ = problem(contrast, 10)
    weights = simulated(11).integers(0, 4, len(X))
    theta = m_estimate(contrast, X, y, weights.astype(np.float64), ridge=0.01)
    rows = np.repeat(np.arange(len(X)), weights)
    assert m_estimate(contrast, X[rows], y[rows], np.ones(len(rows)), ridge=0.01) == pytest.approx(theta, abs=1e-8)
    for unit in (1e-310, 1e-9, 7.0, 1e305):
        assert m_estimate(contrast, X, y, weights * unit, ridge=0.01) == pytest.approx(theta, abs=1e-8)


@pytest.mark.parametrize("contrast", ALL, **KINDS)
def test_the_start_does_not_matter(contrast: Any) -> None:
    """Warm, wild or none."""
    X, y, weights = problem(contrast, 12)
    theta = m_estimate(contrast, X, y, weights)
    for start in (theta, theta + 1.0, np.full(len(theta), -300.0), np.full(len(theta), 1e5)):
        assert m_estimate(contrast, X, y, weights, start=start) == pytest.approx(theta, abs=1e-7)


@pytest.mark.parametrize("contrast", LINEAR, **KINDS)
def test_units_of_columns_do_not_matter(contrast: Any) -> None:
    """Slopes change as they should, without a ridge, however far apart the units and the origin are."""
    X, y, weights = problem(contrast, 13)
    theta = m_estimate(contrast, X, y, weights)
    unit, origin = np.array([1e-6, 1.0, 1e3, 1e6]), np.array([0.0, 50.0, 0.0, -1e7])
    moved = m_estimate(contrast, X * unit + origin, y, weights)
    assert moved[1:] * unit == pytest.approx(theta[1:], abs=1e-6)
    assert contrast.predict(moved, X * unit + origin) == pytest.approx(contrast.predict(theta, X), abs=1e-5)


def test_huber_follows_the_unit_of_the_response() -> None:
    """With delta in the same unit."""
    X, y, weights = problem(Huber(1.0), 14)
    theta = m_estimate(Huber(0.5), X, y, weights)
    for unit in (1e-12, 1e-3, 1e9):
        assert m_estimate(Huber(0.5 * unit), X, y * unit, weights) / unit == pytest.approx(theta, abs=1e-8)


@pytest.mark.parametrize("delta", [1e-4, 1e-2, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_huber_ends_where_few_residuals_curve(delta: float, seed: int) -> None:
    """More parameters than points, weights of several orders: steps of Newton alone would crawl."""
    rng = simulated(seed)
    X = rng.normal(size=(25, 30)) * (rng.random((25, 30)) < 0.2)
    y, weights = rng.standard_cauchy(25), np.exp(5.0 * rng.normal(size=25))
    theta = m_estimate(Huber(delta), X, y, weights)
    assert slope(Huber(delta), theta, X, y, weights) == pytest.approx(np.zeros(31), abs=1e-4 * delta + 5e-7)


@pytest.mark.parametrize("contrast", LINEAR, **KINDS)
def test_an_intercept_can_be_penalized(contrast: Any) -> None:
    """Columns far from the origin then take its part."""
    X, y, weights = problem(contrast, 22)
    X = X + np.array([0.0, 3.0, -2.0, 0.0])
    theta = m_estimate(contrast, X, y, weights, ridge=0.1, penalized=np.array([True, False, False, True, True]))
    penalty = 0.1 * np.array([1.0, 0.0, 0.0, 1.0, 1.0])
    assert slope(contrast, theta, X, y, weights, penalty) == pytest.approx(np.zeros(5), abs=1e-4)


# What the weights may leave


def degenerate() -> dict[str, tuple[Floats, Floats]]:
    """Points and weights that leave something open."""
    rng = simulated(15)
    X = rng.uniform(-1.0, 1.0, (50, 4))
    some = rng.exponential(size=50)
    group = rng.integers(0, 3, 50)
    few = np.where(np.arange(50) < 3, some, 0.0)
    return {
        "dummies": (np.column_stack([np.eye(3)[group], X[:, 0]]), some),
        "one group is left": (np.column_stack([np.eye(3)[group], X[:, 0]]), some * (group == 1)),
        "constant columns": (np.column_stack([np.zeros(50), np.ones(50), np.full(50, 1 / 3), X[:, 0]]), some),
        "twice the same": (X[:, [0, 1, 0, 1]], some),
        "few points": (X, few),
        "one point": (X, np.where(np.arange(50) == 7, 2.0, 0.0)),
        "only one point": (X[:1], some[:1]),
        "nearly one point": (X, np.where(np.arange(50) == 7, 1.0, 1e-12)),
        "weights of all sizes": (X, np.exp(rng.uniform(-300.0, 300.0, 50))),
        "no weight": (X, np.zeros(50)),
        "no points": (X[:0], some[:0]),
        "no columns": (X[:, :0], some),
        "large": (X * 1e90, some),
        "small": (X * 1e-90, some),
    }


RESPONSES = {
    "zeros": lambda X: np.zeros(len(X)),
    "ones": lambda X: np.ones(len(X)),
    "separated": lambda X: (X[:, :1].sum(axis=1) > 0.0).astype(np.float64),
    "one of them": lambda X: (np.arange(len(X)) == 7).astype(np.float64),
    "alternating": lambda X: np.arange(len(X)) % 2.0,
}


@pytest.mark.parametrize(
    ("kind", "case", "response"), pairwise(itertools.product(range(len(ALL)), degenerate(), RESPONSES))
)
def test_there_is_always_an_answer(kind: int, case: str, response: str) -> None:
    """Finite, without a warning, the same twice and from another start, and no worse than nothing."""
    contrast = ALL[kind]
    X, weights = degenerate()[case]
    y = RESPONSES[response](X)
    theta = m_estimate(contrast, X, y, weights)
    q = contrast.n_parameters(X.shape[1])
    assert theta.shape == (q,)
    assert np.isfinite(theta).all()
    assert (m_estimate(contrast, X, y, weights) == theta).all()
    if not weights.any():
        assert (theta == 0.0).all()
        return
    if case not in ("large", "small"):
        again = m_estimate(contrast, X, y, weights, start=theta + 0.5)
        assert again == pytest.approx(theta, rel=1e-6, abs=1e-6)
        least = average(contrast, theta, X, y, weights)
        assert least <= average(contrast, np.zeros(q), X, y, weights) + 1e-9
        assert slope(contrast, theta, X, y, weights) == pytest.approx(np.zeros(q), abs=3e-5) or q == X.shape[1]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("case", ["dummies", "constant columns", "twice the same", "few points", "one point"])
def test_least_squares_takes_the_shortest_slopes(case: str, fit_intercept: bool) -> None:
    """As scikit-learn does by singular values, with columns in unlike units."""
    X, weights = degenerate()[case]
    X = X * [1.0, 3.0, 0.2, 1.0]
    y = simulated(16).normal(size=len(X))
    used = weights > 0.0
    model = LinearRegression(fit_intercept=fit_intercept).fit(X[used], y[used], sample_weight=weights[used])
    theta = m_estimate(LeastSquares(fit_intercept), X, y, weights)
    expected = np.concatenate([[model.intercept_], model.coef_]) if fit_intercept else model.coef_
    assert theta == pytest.approx(expected, abs=1e-9)


def test_separated_points_get_large_but_moderate_predictors() -> None:
    """The floor stops the predictors where probabilities are certain for every purpose."""
    X = np.linspace(-1.0, 1.0, 40)[:, None]
    theta = m_estimate(Logistic(), X, (X[:, 0] > 0.0).astype(np.float64), np.ones(40))
    eta = theta[0] + X[:, 0] * theta[1]
    assert (np.sign(eta) == np.sign(X[:, 0])).all()
    assert 10.0 < np.abs(eta).max() < 1000.0


@pytest.mark.parametrize(("contrast", "y"), [(Logistic(), 0.0), (Logistic(), 1.0), (Poisson(), 0.0)])
def test_equal_responses_give_a_rate_near_them(contrast: Any, y: float) -> None:
    """Within a millionth, at every point, though no finite parameter fits them."""
    X = simulated(17).uniform(-1.0, 1.0, (30, 3))
    theta = m_estimate(contrast, X, np.full(30, y), np.ones(30))
    assert contrast.predict(theta, X) == pytest.approx(np.full(30, y), abs=1e-6)
    assert abs(theta[0]) < 25.0


def test_a_column_that_is_constant_where_there_is_weight_has_no_slope() -> None:
    """And a warm start along it is forgotten."""
    X, y, weights = problem(Logistic(), 18)
    X[weights > 0.0, 1] = 0.7
    theta = m_estimate(Logistic(), X, y, weights, start=np.full(5, 3.0))
    assert theta[2] == 0.0
    columns = standardized(X[weights > 0.0], weights[weights > 0.0] / weights.sum(), np.zeros(5))
    assert (columns.Z[:, 2] == 0.0).all()


@pytest.mark.parametrize("contrast", ALL, **KINDS)
def test_without_weight_the_start_is_kept(contrast: Any) -> None:
    """Nothing is known: the answer is what was thought before."""
    X, y, _ = problem(contrast, 19)
    start = np.arange(1.0, contrast.n_parameters(4) + 1.0)
    assert (m_estimate(contrast, X, y, np.zeros(len(X)), start=start) == start).all()


# Contrasts of a user's own


@dataclass
class Expectile:
    """Asymmetric squares around a line through the origin."""

    tau: float
    name: str = "expectile"

    def n_parameters(self, n_features: int) -> int:
        return n_features

    def value_and_gradient(self, theta: Floats, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        r = y - X @ theta
        share = np.where(r > 0.0, self.tau, 1.0 - self.tau)
        return share * r**2, -2.0 * (share * r)[:, None] * X


class Cauchy(Expectile):
    """A loss that descends again, around a line through the origin."""

    def value_and_gradient(self, theta: Floats, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        r = y - X @ theta
        return np.log1p(r**2), (-2.0 * r / (1.0 + r**2))[:, None] * X


@pytest.mark.parametrize("contrast", [Expectile(0.5), Expectile(0.8), Cauchy(0.0)], **KINDS)
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_a_contrast_of_ones_own_is_minimized(contrast: Any, ridge: float) -> None:
    """Its gradient vanishes, and weights of zero, units of weight and starts nearby change nothing."""
    X, y, weights = problem(contrast, 20)
    theta = m_estimate(contrast, X, y, weights, ridge=ridge)
    assert slope(contrast, theta, X, y, weights, ridge) == pytest.approx(np.zeros(4), abs=1e-5)
    used = weights > 0.0
    assert m_estimate(contrast, X[used], y[used], 3.0 * weights[used], ridge=ridge) == pytest.approx(theta, abs=1e-5)
    assert m_estimate(contrast, X, y, weights, ridge=ridge, start=theta + 0.05) == pytest.approx(theta, abs=1e-4)
    if contrast.tau == 0.5:
        known = m_estimate(LeastSquares(False), X, y, weights, ridge=ridge)
        assert theta == pytest.approx(known, abs=1e-5)


@pytest.mark.parametrize("case", degenerate())
def test_a_contrast_of_ones_own_survives_what_the_weights_leave(case: str) -> None:
    """Where a minimum exists, there is an answer."""
    X, weights = degenerate()[case]
    theta = m_estimate(Expectile(0.3), X, np.ones(len(X)), weights)
    assert theta.shape == (X.shape[1],)
    assert np.isfinite(theta).all()


class Broken(Expectile):
    """Returns what it was told to."""

    def __init__(self, *returned: Any) -> None:
        super().__init__(0.5, "broken")
        self.returned = returned

    def value_and_gradient(self, theta: Floats, X: Floats, y: Floats) -> Any:
        return self.returned


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ((np.zeros(5), np.zeros((5, 1))), "must return values of shape"),
        ((np.zeros((5, 1)), np.zeros((5, 2))), "must return values of shape"),
        ((0.0, np.zeros(2)), "must return values of shape"),
        ((np.zeros(5),), "must return values of shape"),
        (("text", [[1.0], [1.0, 2.0]]), "must return values of shape"),
        ((np.full(5, np.nan), np.ones((5, 2))), "must be finite"),
        ((np.zeros(5), np.full((5, 2), np.inf)), "must be finite"),
        ((np.zeros(5), np.ones((5, 2))), "must have a minimum"),
    ],
)
def test_a_broken_contrast_is_named(returned: Any, message: str) -> None:
    """Wrong shapes, numbers that are not, gradients that never vanish."""
    with pytest.raises(ContrastError, match=message) as raised:
        m_estimate(Broken(*returned), np.ones((5, 2)), np.ones(5), np.ones(5))
    assert "'broken'" in str(raised.value)


def test_a_wrong_gradient_is_noticed() -> None:
    """One of the other sign leads nowhere."""

    class Uphill(Expectile):
        def value_and_gradient(self, theta: Floats, X: Floats, y: Floats) -> tuple[Floats, Floats]:
            values, gradients = super().value_and_gradient(theta, X, y)
            return values, -gradients

    X, y, weights = problem(Expectile(0.5), 21)
    with pytest.raises(ContrastError, match="must have a minimum"):
        m_estimate(Uphill(0.5), X, y, weights)


def test_an_average_without_a_minimum_is_noticed() -> None:
    """A linear contrast falls for ever."""

    class Downhill(Expectile):
        def value_and_gradient(self, theta: Floats, X: Floats, y: Floats) -> tuple[Floats, Floats]:
            return X @ theta, X.copy()

    with pytest.raises(ContrastError, match=r"must have a minimum|must be finite"):
        m_estimate(Downhill(0.5), np.ones((4, 2)), np.ones(4), np.ones(4))


# Arguments


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weights": -np.ones(6)}, "weights must be nonnegative"),
        ({"weights": np.full(6, np.nan)}, "weights must be nonnegative"),
        ({"weights": np.ones(5)}, "shapes"),
        ({"weights": np.float64(1.0)}, "shapes"),
        ({"X": np.ones(6)}, "shapes"),
        ({"y": np.ones((6, 1))}, "shapes"),
        ({"X": np.full((6, 2), np.nan)}, "X must be finite"),
        ({"X": np.full((6, 2), 1e101)}, "X must be finite"),
        ({"y": np.full(6, np.inf)}, "y must be finite"),
        ({"y": np.full(6, 2.0)}, "y must lie in"),
        ({"contrast": Poisson(), "y": -np.ones(6)}, "y must be nonnegative"),
        ({"ridge": -1.0}, "ridge must be"),
        ({"ridge": np.nan}, "ridge must be"),
        ({"penalized": [True]}, "penalized must hold 3"),
        ({"start": np.zeros(2)}, "start must hold 3"),
        ({"start": np.full(3, np.nan)}, "start must hold 3"),
    ],
)
def test_arguments_are_checked(changed: dict[str, Any], message: str) -> None:
    """Each with a sentence of its own."""
    given: dict[str, Any] = {"contrast": Logistic(), "X": np.ones((6, 2)), "y": np.ones(6), "weights": np.ones(6)}
    given |= changed
    with pytest.raises(ContrastError, match=message):
        m_estimate(given.pop("contrast"), given.pop("X"), given.pop("y"), given.pop("weights"), **given)


@pytest.mark.parametrize("tau", [0.0, 1.0, np.nan])
def test_quantiles_lie_inside(tau: float) -> None:
    """The ends are not quantiles of a share."""
    with pytest.raises(ContrastError, match="tau must lie"):
        Quantile(tau)


@pytest.mark.parametrize("delta", [0.0, -1.0, np.inf, np.nan])
def test_huber_needs_a_residual(delta: float) -> None:
    """Infinity would be least squares."""
    with pytest.raises(ContrastError, match="delta must be positive"):
        Huber(delta)
