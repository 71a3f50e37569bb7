"""The curve is the expectation that it says it is, and its slope the derivative."""

import numpy as np
import pytest

from discreet.kernels.glm.curve import Curve
from discreet.kernels.glm.families import LOGISTIC, poisson

CENTER = np.array([1.0, 0.2, -0.3, 0.1])
ROOT = np.array([[0, 0, 0, 0], [0, 0.5, 0, 0], [0, 0.3, 0.4, 0], [0, -0.1, 0.2, 0.3]])
THETA = np.array([[-0.5, 2.0, -1.0, 0.5], [0.3, 0.0, 0.0, 0.0], [1.0, 6.0, -4.0, 3.0]])
ROWS = 400_000


@pytest.mark.parametrize("family", [LOGISTIC, poisson(30.0)], ids=lambda family: family.name)
def test_sums_are_those_of_gaussian_columns(family):
    """Means over simulated rows agree with the integrals within five standard errors."""
    rng = np.random.default_rng(1)  # noqa: TID251 - simulated rows
    x = CENTER + rng.normal(size=(ROWS, 4)) @ ROOT.T
    sums, slopes = Curve(family, ROWS, CENTER, ROOT @ ROOT.T).sums(THETA)
    for theta, total, slope in zip(THETA, sums, slopes, strict=True):
        eta = x @ theta
        products = x * family.mean(eta)[:, None]
        assert np.all(np.abs(products.sum(axis=0) - total) <= 5.0 * products.std(axis=0) * ROWS**0.5 + 1e-6 * ROWS)
        if family.name == "logistic":  # a capped mean's weight is not its derivative
            exact = (x * family.weight(eta)[:, None]).T @ x
            assert slope == pytest.approx(exact, abs=0.01 * np.abs(exact).max())


def test_slope_is_the_derivative():
    """Central differences of the sums, at a steep and at a flat point."""
    curve = Curve(LOGISTIC, 100.0, CENTER, ROOT @ ROOT.T)
    _, slopes = curve.sums(THETA)
    for theta, slope in zip(THETA, slopes, strict=True):
        steps = 1e-4 * np.eye(4)
        differences = (curve.sums(theta + steps)[0] - curve.sums(theta - steps)[0]) / 2e-4
        assert slope == pytest.approx(differences, abs=2e-3 * np.abs(slope).max())
