"""The minimizer is certified, and its law on small tables keeps the promise."""

import numpy as np
import pytest
from glm_problems import logistic_cells, natural
from scipy.special import expit

from discreet.kernels.glm import LOGISTIC
from discreet.kernels.moments import GRID
from discreet.kernels.objective_perturbation import (
    Perturbation,
    log_density,
    minimized,
    perturbation,
    precise_sums,
    residual_error,
    spent,
)

RNG = np.random.default_rng(8)  # noqa: TID251 - simulated data, not noise


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_parameters_spend_epsilon(epsilon: float, replace: bool) -> None:
    """Linear term, determinant and output add up to the budget and no more."""
    chosen = perturbation(epsilon, 2.0, 4, replace)
    total = spent(chosen.ridge, chosen.beta, 2.0, replace) + chosen.output_epsilon
    assert epsilon * (1 - 1e-9) <= total <= epsilon


def test_sums_are_precise_and_do_not_depend_on_blocks() -> None:
    """Residuals are summed to the stated error, rows counted, and parts add up to the whole."""
    cells, theta = logistic_cells(9000, RNG), np.array([-0.2, 1.0, 0.3, -4.0])
    found = precise_sums(cells, theta)
    x, y = natural(cells, LOGISTIC)
    digits = found[4:7].astype(float) * 2.0 ** (-15.0 * np.arange(1, 4))[:, None]
    assert digits.sum(axis=0) / GRID == pytest.approx(x.T @ (y - expit(x @ theta)), abs=9000 * residual_error(theta))
    assert (found[-1] == 9000).all()
    assert np.array_equal(found, sum(precise_sums(part, theta) for part in np.array_split(cells, 5)))


@pytest.mark.parametrize("kind", ["plain", "separable", "one class", "constant"])
@pytest.mark.parametrize("size", [0.0, 5.0, 500.0])
def test_the_certificate_holds(kind: str, size: float) -> None:
    """The gradient in plain float arithmetic is within the certificate, for linear terms of any size."""
    cells = logistic_cells(800, RNG)
    if kind == "separable":
        cells[:, -1] = np.where(cells[:, 1] > 0, GRID, -GRID)
    elif kind == "one class":
        cells[:, -1] = GRID
    elif kind == "constant":
        cells[:, 1] = GRID
    chosen = perturbation(1.0, 2.0, 4, True)
    linear = size * np.array([0.5, -0.5, 0.5, 0.5])
    theta, gradient = minimized(lambda at: precise_sums(cells, at), linear, chosen, 2.0)
    x, y = natural(cells, LOGISTIC)
    found = chosen.ridge * theta + linear - x.T @ (y - expit(x @ theta))
    assert np.linalg.norm(found) <= gradient <= chosen.gradient


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("p", [1, 2])
def test_neighbors_have_densities_within_epsilon(p: int, epsilon: float, replace: bool) -> None:
    """Over corners, labels and minimizers, the log ratio stays within the cost of the exact minimizer."""
    bound = p**0.5
    chosen = perturbation(epsilon, bound, p, replace)
    worst = 0.0
    for _ in range(1500):
        x = np.column_stack([np.ones(3), RNG.choice([-1.0, 1.0], (3, p - 1))])[RNG.integers(0, 3) :]
        y = RNG.integers(0, 2, len(x)).astype(float)
        other, label = x.copy(), y.copy()
        other[-1, 1:], label[-1] = RNG.choice([-1.0, 1.0], p - 1), RNG.integers(0, 2)
        neighbor = (other, label) if replace else (x[:-1], y[:-1])
        theta = RNG.normal(size=p) * RNG.choice([0.1, 1.0, 5.0])
        worst = max(worst, abs(log_density(theta, x, y, chosen) - log_density(theta, *neighbor, chosen)))
    assert 0.3 * epsilon <= worst <= spent(chosen.ridge, chosen.beta, bound, replace)


def test_densities_of_one_dimension_integrate_to_one_constant() -> None:
    """The density is that of the noise, moved by a bijection: its integral does not depend on the table."""
    chosen = Perturbation(0.5, 0.8, 1e-5, 0.01)
    grid = np.linspace(-40, 40, 200_001)[:, None]

    def integral(y: np.ndarray) -> float:
        x = np.ones((len(y), 1))
        values = [log_density(theta, x, y, chosen) for theta in grid[::100]]
        return float(np.exp(values).sum() * 0.04)

    assert integral(np.array([1.0, 0.0])) == pytest.approx(2.0 / 0.8, rel=1e-3)
    assert integral(np.array([1.0, 1.0, 1.0])) == pytest.approx(2.0 / 0.8, rel=1e-3)


def test_what_does_not_converge_is_an_error() -> None:
    """A certificate below float arithmetic's reach is refused, not passed over."""
    cells = logistic_cells(50, RNG)
    with pytest.raises(ArithmeticError, match="certificate"):
        minimized(lambda at: precise_sums(cells, at), np.ones(4), Perturbation(1.0, 1.0, 1e-30, 0.01), 2.0)
