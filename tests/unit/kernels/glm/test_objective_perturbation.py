"""The minimizer is certified for every table, and its law on small tables keeps the promise."""

from collections.abc import Callable

import numpy as np
import pytest
from glm_problems import logistic_cells, natural

from discreet.kernels.glm.families import LOGISTIC
from discreet.kernels.glm.logistic_sums import curve, precise_sums
from discreet.kernels.glm.objective_perturbation import (
    GRADIENT_SHARE,
    LEAST_RIDGE,
    MOST_ROWS,
    Perturbation,
    log_density,
    minimized,
    perturbation,
    spent,
)
from discreet.kernels.moments.moments import GRID

RNG = np.random.default_rng(8)  # noqa: TID251 - simulated data, not noise

MOST_PASSES = 60
"""Of the tables here; the worst one seen took 40."""


KINDS = ("one class", "separable", "separable by all", "no pattern", "narrow", "nearly equal")


class Counted:
    """Sums of rows, each there as many times as stated, and how often they were asked for."""

    def __init__(self, cells: np.ndarray, copies: np.ndarray, chosen: Perturbation) -> None:
        self.rows, self.copies, self.chosen, self.passes = cells, copies, chosen, 0

    def __call__(self, numbers: tuple[int, ...]) -> np.ndarray:
        self.passes += 1
        parts = [precise_sums(row[None], self.chosen.lattice, numbers) for row in self.rows]
        return sum(int(n) * part for n, part in zip(self.copies, parts, strict=True))


def gradient(x: np.ndarray, y: np.ndarray, copies: np.ndarray, theta: np.ndarray, ridge: float) -> np.ndarray:
    """Of the objective without its linear term, in plain floating point."""
    sign = 1.0 - 2.0 * y
    return ridge * theta + x.T @ (copies * sign * curve(sign * (x @ theta))[0])


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 8.0, 1000.0])
@pytest.mark.parametrize("p", [1, 4, 129])
def test_parameters_spend_epsilon(epsilon: float, replace: bool, p: int) -> None:
    """Linear term, determinant and output add up to the budget and no more; the ridge has its floor."""
    chosen = perturbation(epsilon, p**0.5, p, replace)
    total = spent(chosen.ridge, chosen.beta, p**0.5, replace) + chosen.output_epsilon
    assert epsilon * (1 - 1e-8) <= total <= epsilon
    assert chosen.ridge >= LEAST_RIDGE


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1.0, 1000.0])
@pytest.mark.parametrize("p", [1, 10, 129, 3000])
def test_the_preconditions_of_the_proof_of_convergence_hold(epsilon: float, replace: bool, p: int) -> None:
    """Errors are below the certificate for every table, and steps that are tried are far above the lattice's."""
    chosen = perturbation(epsilon, p**0.5, p, replace)
    assert chosen.error(MOST_ROWS) <= chosen.gradient / 16.0
    shortest = chosen.gradient / (64.0 * chosen.smoothness(MOST_ROWS))
    assert chosen.lattice.step * p**0.5 / 2.0 <= shortest / 16.0
    assert shortest <= min(0.9 * chosen.gradient, 2.0 * chosen.radius)
    if p <= 129:
        assert chosen.gradient == GRADIENT_SHARE * chosen.bound  # no more than is asked for the noise to be lost


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
    theta, certified = minimized(lambda at: precise_sums(cells, chosen.lattice, at), linear, chosen)
    x, y = natural(cells, LOGISTIC)
    found = gradient(x, y, np.ones(800), theta, chosen.ridge) + linear
    assert np.linalg.norm(found) <= certified + 1e-11
    assert certified <= chosen.gradient


def corners(kind: str, count: int, p: int) -> np.ndarray:
    """Rows whose cells are as large as can be, or nearly equal, and whose classes are as far apart as can be."""
    cells = np.full((count, p + 1), GRID, dtype=np.int16)
    cells[:, 1:p] = RNG.choice([-GRID, GRID], (count, p - 1))
    if kind == "separable":
        cells[:, -1] = np.where(cells[:, 1] > 0, GRID, -GRID)
    elif kind == "separable by all":
        cells[:, -1] = np.where(cells[:, 1:p] @ RNG.normal(size=p - 1) > 0, GRID, -GRID)
    elif kind == "no pattern":
        cells[:, -1] = RNG.choice([-GRID, GRID], count)
    elif kind == "narrow":
        cells[:, 1:p] = RNG.choice([-1, 1], (count, p - 1))
        cells[:, -1] = GRID * cells[:, 1]
    elif kind == "nearly equal":
        cells[:, 1:p] = GRID - RNG.integers(0, 3, (count, p - 1))
        cells[:, -1] = np.where(cells[:, 1] == GRID, GRID, -GRID)
    return cells


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 20, 10**6, MOST_ROWS])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.1, 20.0])
def test_every_table_is_minimized_in_a_few_passes(epsilon: float, kind: str, n: int) -> None:
    """Ten columns, rows at corners, up to as many as there may be: no table fails, and none takes long."""
    p, count = 10, min(n, 16)
    chosen = perturbation(epsilon, p**0.5, p, False)
    copies = np.array([n // count + (i < n % count) for i in range(count)], dtype=np.int64)
    for times in (0.0, 1.0, 30.0):
        sums: Callable = Counted(corners(kind, count, p), copies, chosen) if n else _no_rows(chosen)
        linear = RNG.normal(size=p)
        linear *= times * p / chosen.beta / np.linalg.norm(linear)
        theta, certified = minimized(sums, linear, chosen)
        assert np.isfinite(theta).all()
        assert certified <= chosen.gradient
        assert getattr(sums, "passes", 0) <= MOST_PASSES


def _no_rows(chosen: Perturbation) -> Callable:
    cells = np.empty((0, chosen.n_coefficients + 1), dtype=np.int16)
    return lambda numbers: precise_sums(cells, chosen.lattice, numbers)


def test_newton_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where floating point finds no direction, the gradient's own leads to the certificate: slower, but always."""
    cells, copies = corners("separable", 8, 2), np.ones(8, dtype=np.int64)
    chosen = perturbation(1.0, 2.0**0.5, 2, False)

    def singular(*_: object) -> None:
        raise np.linalg.LinAlgError

    monkeypatch.setattr(np.linalg, "solve", singular)
    theta, certified = minimized(Counted(cells, copies, chosen), np.array([1.0, -2.0]), chosen)
    assert certified <= chosen.gradient
    monkeypatch.undo()
    expected, _ = minimized(Counted(cells, copies, chosen), np.array([1.0, -2.0]), chosen)
    assert theta == pytest.approx(expected, abs=2 * chosen.gradient / chosen.ridge)


def test_a_linear_term_of_any_length_is_minimized() -> None:
    """A length that no noise has in this world's time is cut, and all else goes as it always does."""
    cells, chosen = logistic_cells(50, RNG), perturbation(1.0, 2.0, 4, True)
    for length in (chosen.longest, 1e12, 1e300):
        linear = length * np.array([1.0, 0.0, 0.0, 0.0])
        theta, _ = minimized(lambda at: precise_sums(cells, chosen.lattice, at), linear, chosen)
        assert theta[0] == pytest.approx(-chosen.longest / chosen.ridge, rel=0.1)


def worst_ratio(p: int, ridge: float, beta: float, replace: bool) -> float:
    """Largest log ratio of densities over corners, labels and minimizers of tables of at most three rows."""
    worst = 0.0
    for _ in range(1500):
        x = np.column_stack([np.ones(3), RNG.choice([-1.0, 1.0], (3, p - 1))])[RNG.integers(0, 3) :]
        y = RNG.integers(0, 2, len(x)).astype(float)
        other, label = x.copy(), y.copy()
        other[-1, 1:], label[-1] = RNG.choice([-1.0, 1.0], p - 1), RNG.integers(0, 2)
        neighbor = (other, label) if replace else (x[:-1], y[:-1])
        theta = RNG.normal(size=p) * RNG.choice([0.1, 1.0, 5.0])
        ratio = log_density(theta, x, y, ridge, beta) - log_density(theta, *neighbor, ridge, beta)
        worst = max(worst, abs(ratio))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("p", [1, 2])
def test_neighbors_have_densities_within_epsilon(p: int, epsilon: float, replace: bool) -> None:
    """Over corners, labels and minimizers, the log ratio stays within the cost of the exact minimizer."""
    chosen = perturbation(epsilon, p**0.5, p, replace)
    cost = spent(chosen.ridge, chosen.beta, chosen.bound, replace)
    assert 0.3 * epsilon <= worst_ratio(p, chosen.ridge, chosen.beta, replace) <= cost


def test_the_worst_pair_spends_nearly_all() -> None:
    """One row against none: where its weight is a quarter and its pull adds to the linear term's, both parts show."""
    ridge, beta, one = 0.25, 1e-3, np.ones((1, 1))
    ratio = log_density(np.zeros(1), one, np.ones(1), ridge, beta) - log_density(
        np.zeros(1), one[:0], np.ones(0), ridge, beta
    )
    assert ratio == pytest.approx(np.log(2.0) - 0.5 * beta, abs=1e-6)
    assert abs(ratio) <= spent(ridge, beta, 1.0, False)
    ridge, beta = 1e4, 2.0  # a label flipped, far out: twice the bound
    far = np.array([-1e-2])
    ratio = log_density(far, one, np.zeros(1), ridge, beta) - log_density(far, one, np.ones(1), ridge, beta)
    assert 0.49 * 2.0 * beta <= abs(ratio) <= spent(ridge, beta, 1.0, True)


def weight_ratio(ridge: float, beta: float, replace: bool) -> float:
    """Log ratio where one row weighs a quarter, the other one nothing or not being there."""
    x, theta = np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([8.0, 8.0])
    other = x[1:] if replace else x[:0]
    return abs(
        log_density(theta, x[:1], np.ones(1), ridge, beta) - log_density(theta, other, np.ones(len(other)), ridge, beta)
    )


@pytest.mark.slow
@pytest.mark.parametrize("replace", [True, False])
def test_too_small_a_ridge_or_too_fast_a_rate_is_noticed(replace: bool) -> None:
    """Control: a tenth of the ridge, or three times the rate, breaks what was paid for."""
    ridge, beta = 0.25, 1e-3
    cost = spent(ridge, beta, 2.0**0.5, replace)
    assert 0.98 * cost <= weight_ratio(ridge, beta, replace) <= cost < weight_ratio(ridge / 10.0, beta, replace)
    ridge, beta = 100.0, 2.0
    cost = spent(ridge, beta, 1.0, replace)
    assert worst_ratio(1, ridge, beta, replace) <= cost < worst_ratio(1, ridge, 3.0 * beta, replace)


def test_densities_of_one_dimension_integrate_to_one_constant() -> None:
    """The density is that of the noise, moved by a bijection: its integral does not depend on the table."""
    grid = np.linspace(-40, 40, 2001)[:, None]

    def integral(y: np.ndarray) -> float:
        x = np.ones((len(y), 1))
        return float(np.exp([log_density(theta, x, y, 0.5, 0.8) for theta in grid]).sum() * 0.04)

    assert integral(np.array([1.0, 0.0])) == pytest.approx(2.0 / 0.8, rel=1e-3)
    assert integral(np.array([1.0, 1.0, 1.0])) == pytest.approx(2.0 / 0.8, rel=1e-3)


def test_what_cannot_converge_is_an_error() -> None:
    """Control: an error above the certificate, which no table of `MOST_ROWS` rows has, is not passed over."""
    cells, chosen = corners("separable", 4, 4), perturbation(1.0, 2.0, 4, False)
    too_many = Counted(cells, np.full(4, 1), chosen)

    def sums(numbers: tuple[int, ...]) -> np.ndarray:
        found = too_many(numbers)
        found[-1] = 2**62
        return found

    with pytest.raises(ArithmeticError, match="certificate"):
        minimized(sums, np.ones(4), chosen)
