"""The minimizer is certified for every table, and its law on small tables keeps the promise."""

from collections.abc import Callable

import numpy as np
import pytest
from glm_problems import logistic_cells, natural

from discreet.kernels.glm.families import LOGISTIC, clipped_poisson
from discreet.kernels.glm.objective_perturbation import (
    GRADIENT_SHARE,
    LEAST_RIDGE,
    LEAST_RIDGE_EACH,
    MOST_ROWS,
    SHARES,
    Change,
    Perturbation,
    information_share,
    log_density,
    minimized,
    perturbation,
)
from discreet.kernels.glm.precise_sums import LOGISTIC_LOSS, Loss
from discreet.kernels.glm.precise_sums import precise_sums as sums_of
from discreet.kernels.moments.moments import GRID

RNG = np.random.default_rng(8)  # noqa: TID251 - simulated data, not noise

MOST_PASSES = {"logistic": 60, "poisson": 100}
"""Of the tables here; the worst ones seen took 40 and 110."""


COUNTS = Loss(clipped_poisson(6))
LOSSES = [LOGISTIC_LOSS, COUNTS]

KINDS = ("one class", "separable", "separable by all", "no pattern", "narrow", "nearly equal")


def precise_sums(
    cells: np.ndarray, lattice: object, numbers: tuple[int, ...], loss: Loss = LOGISTIC_LOSS
) -> np.ndarray:
    """Of logistic rows, unless said."""
    return sums_of(cells, loss, lattice, numbers)


def change_of(p: int, replaces: bool, loss: Loss = LOGISTIC_LOSS, n_rows: int = 1) -> Change:
    """Of rows at corners: all cells are 1 or -1."""
    return Change(p**0.5, p, replaces, loss.weight, n_rows)


class Counted:
    """Sums of rows, each there as many times as stated, and how often they were asked for."""

    def __init__(self, cells: np.ndarray, copies: np.ndarray, chosen: Perturbation, loss: Loss = LOGISTIC_LOSS) -> None:
        self.rows, self.copies, self.chosen, self.loss, self.passes = cells, copies, chosen, loss, 0

    def __call__(self, numbers: tuple[int, ...]) -> np.ndarray:
        self.passes += 1
        parts = [precise_sums(row[None], self.chosen.lattice, numbers, self.loss) for row in self.rows]
        return sum(int(n) * part for n, part in zip(self.copies, parts, strict=True))


def gradient(x: np.ndarray, y: np.ndarray, copies: np.ndarray, theta: np.ndarray, ridge: float) -> np.ndarray:
    """Of the objective without its linear term, in plain floating point."""
    return ridge * theta + x.T @ (copies * (LOGISTIC_LOSS.curve(x @ theta)[0] - y))


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 8.0, 1000.0])
@pytest.mark.parametrize("p", [1, 4, 129])
@pytest.mark.parametrize("n_rows", [1, 3, 200])
@pytest.mark.parametrize("loss", LOSSES)
def test_parameters_spend_epsilon(epsilon: float, replace: bool, p: int, n_rows: int, loss: Loss) -> None:
    """Linear term, determinant and output add up to the budget and no more; the ridge has its floor."""
    change = change_of(p, replace, loss, n_rows)
    chosen = perturbation(epsilon, change, loss)
    total = change.spent(chosen.ridge, chosen.beta) + chosen.output_epsilon
    assert epsilon * (1 - 1e-8) <= total <= epsilon
    assert chosen.ridge >= max(LEAST_RIDGE / loss.family.high, LEAST_RIDGE_EACH * p)
    assert chosen.beta > 0.0


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 8.0, 1000.0])
def test_the_information_gets_less_where_there_is_more(epsilon: float) -> None:
    """Its share is one of the list, falls with the rows, and is the least where nothing can be told."""
    change = change_of(5, True)
    shares = [information_share(epsilon, change, LOGISTIC_LOSS, 26.0, n) for n in (10, 1_000, 100_000, 10**8)]
    assert set(shares) <= set(SHARES)
    told = shares[next((k for k, share in enumerate(shares) if share > SHARES[0]), 0) :]
    assert told == sorted(told, reverse=True)
    assert shares[-1] == SHARES[0] or epsilon < 1e-3


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1.0, 1000.0])
@pytest.mark.parametrize("p", [1, 10, 129, 3000])
@pytest.mark.parametrize("loss", [LOGISTIC_LOSS, COUNTS, Loss(clipped_poisson(50_000))])
def test_the_preconditions_of_the_proof_of_convergence_hold(epsilon: float, replace: bool, p: int, loss: Loss) -> None:
    """Errors are below the certificate for every table, and steps that are tried are far above the lattice's."""
    chosen = perturbation(epsilon, change_of(p, replace, loss), loss)
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
    chosen = perturbation(1.0, change_of(4, True))
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
@pytest.mark.parametrize("loss", LOSSES)
def test_every_table_is_minimized_in_a_few_passes(epsilon: float, kind: str, n: int, loss: Loss) -> None:
    """Ten columns, rows at corners, up to as many as there may be: no table fails, and none takes long."""
    p, count = 10, min(n, 16)
    chosen = perturbation(epsilon, change_of(p, False, loss), loss)
    copies = np.array([n // count + (i < n % count) for i in range(count)], dtype=np.int64)
    for times in (0.0, 1.0, 30.0):
        sums: Callable = Counted(corners(kind, count, p), copies, chosen, loss) if n else _no_rows(chosen)
        linear = RNG.normal(size=p)
        linear *= times * p / chosen.beta / np.linalg.norm(linear)
        theta, certified = minimized(sums, linear, chosen)
        assert np.isfinite(theta).all()
        assert certified <= chosen.gradient
        assert getattr(sums, "passes", 0) <= MOST_PASSES[loss.family.name]


def _no_rows(chosen: Perturbation) -> Callable:
    cells = np.empty((0, chosen.n_coefficients + 1), dtype=np.int16)
    return lambda numbers: precise_sums(cells, chosen.lattice, numbers)


def test_newton_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where floating point finds no direction, the gradient's own leads to the certificate: slower, but always."""
    cells, copies = corners("separable", 8, 2), np.ones(8, dtype=np.int64)
    chosen = perturbation(1.0, change_of(2, False))

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
    cells, chosen = logistic_cells(50, RNG), perturbation(1.0, change_of(4, True))
    for length in (chosen.longest, 1e12, 1e300):
        linear = length * np.array([1.0, 0.0, 0.0, 0.0])
        theta, _ = minimized(lambda at: precise_sums(cells, chosen.lattice, at), linear, chosen)
        assert theta[0] == pytest.approx(-chosen.longest / chosen.ridge, rel=0.1)


def rows_at_corners(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the box with responses at both ends: alike ones, which pull and weigh most, or any."""
    x = np.column_stack([np.ones(n), RNG.choice([-1.0, 1.0], (n, p - 1))])
    y = RNG.choice([0.0, 1.0], n)
    return (x, y) if RNG.random() < 0.5 or not n else (np.repeat(x[:1], n, axis=0), np.repeat(y[:1], n))


def worst_ratio(change: Change, ridge: float, beta: float, loss: Loss, tries: int = 600) -> float:
    """Largest log ratio of densities of one minimizer, where a unit's rows are at corners beside up to two others."""
    worst, p, c = 0.0, change.n_coefficients, change.n_rows
    for _ in range(tries):
        (x, y), (mine, own) = rows_at_corners(int(RNG.integers(0, 3)), p), rows_at_corners(c, p)
        theirs, other = rows_at_corners(int(RNG.integers(0, c + 1)) if change.replaces else 0, p)
        tables = [(np.vstack([x, part]), np.append(y, responses)) for part, responses in ((mine, own), (theirs, other))]
        direction = RNG.normal(size=p)
        for size in (0.0, 0.02, 0.3, 1.0, 4.0, 20.0):  # a grid of minimizers, near the curve's steepest point too
            theta = size * direction + STEEPEST[loss.family.name] * np.eye(p)[0]
            ratio = np.diff([log_density(theta, *table, ridge, beta, loss) for table in tables])[0]
            worst = max(worst, abs(float(ratio)))
    return worst


STEEPEST = {"logistic": 0.0, "poisson": 1.6}
"""The linear predictor where the curve of these losses is steepest, or near it."""

CHANGES = [
    pytest.param(p, replaces, loss, c, id=f"p{p}-{'replace' if replaces else 'add'}-{loss.family.name}-{c}")
    for p in (1, 2, 4)
    for replaces in (True, False)
    for loss in LOSSES
    for c in (1, 3)
]


@pytest.mark.slow
@pytest.mark.parametrize(("p", "replaces", "loss", "c"), CHANGES)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_neighbors_have_densities_within_epsilon(p: int, replaces: bool, loss: Loss, c: int, epsilon: float) -> None:
    """Over corners, responses and a grid of minimizers, the log ratio stays within the cost of the exact minimizer."""
    change = change_of(p, replaces, loss, c)
    chosen = perturbation(epsilon, change, loss)
    assert (
        0.25 * epsilon
        <= worst_ratio(change, chosen.ridge, chosen.beta, loss, 100)
        <= change.spent(chosen.ridge, chosen.beta)
    )


@pytest.mark.slow
@pytest.mark.parametrize(("p", "replaces", "loss", "c"), CHANGES)
def test_what_is_left_out_of_the_price_is_noticed(p: int, replaces: bool, loss: Loss, c: int) -> None:
    """Controls: the pull alone, the determinant alone, a price without the curvature, and one of a single row."""
    change = change_of(p, replaces, loss, c)
    for ridge, beta in ((0.05, 1e-4), (1e5, 1.0)):  # the determinant, or the pull, spends nearly all
        worst, price = worst_ratio(change, ridge, beta, loss, 200), change.spent(ridge, beta)
        assert 0.4 * price <= worst <= price
        if ridge == 0.05:
            assert worst > beta * change.pull  # the curvature forgotten
            assert worst > change_of(p, replaces, loss).spent(ridge, beta) or min(c, p) == 1 or p == 4
        else:
            assert worst > float(change.stretch(ridge)) + 0.4 * beta * change.pull
            assert worst > change_of(p, replaces, loss).spent(ridge, beta) or c == 1  # the rows of a unit forgotten


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_of_a_unit_stretch_the_determinant_as_far_as_they_may(loss: Loss) -> None:
    """Orthogonal rows at the steepest point reach the bound of the determinant; one of one row is passed (control)."""
    hadamard = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    eta = np.linspace(-3.0, 3.0, 600_001)
    steepest = float(eta[np.argmax(loss.curve(eta)[1])])
    for c in (1, 3):
        theta = np.linalg.lstsq(hadamard[:c], np.full(c, steepest), rcond=None)[0]
        pair = [log_density(theta, hadamard[:n], np.zeros(n), 0.05, 1e-6, loss) for n in (c, 0)]
        price = change_of(4, False, loss, c).spent(0.05, 1e-6)
        assert 0.999 * price <= abs(pair[0] - pair[1]) <= price
        assert c == 1 or abs(pair[0] - pair[1]) > 2.0 * change_of(4, False, loss).spent(0.05, 1e-6)


def test_the_worst_pair_spends_nearly_all() -> None:
    """One row against none: where its weight is a quarter and its pull adds to the linear term's, both parts show."""
    ridge, beta, one = 0.25, 1e-3, np.ones((1, 1))
    ratio = log_density(np.zeros(1), one, np.ones(1), ridge, beta) - log_density(
        np.zeros(1), one[:0], np.ones(0), ridge, beta
    )
    assert ratio == pytest.approx(np.log(2.0) - 0.5 * beta, abs=1e-6)
    assert abs(ratio) <= change_of(1, False).spent(ridge, beta)
    ridge, beta = 1e4, 2.0  # a label flipped, far out: twice the bound
    far = np.array([-1e-2])
    ratio = log_density(far, one, np.zeros(1), ridge, beta) - log_density(far, one, np.ones(1), ridge, beta)
    assert 0.49 * 2.0 * beta <= abs(ratio) <= change_of(1, True).spent(ridge, beta)


def weight_ratio(ridge: float, beta: float, replace: bool) -> float:
    """Log ratio where one row weighs a quarter, the other one nothing or not being there."""
    x, theta = np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([8.0, 8.0])
    other = x[1:] if replace else x[:0]
    return abs(
        log_density(theta, x[:1], np.ones(1), ridge, beta) - log_density(theta, other, np.ones(len(other)), ridge, beta)
    )


@pytest.mark.parametrize("replace", [True, False])
def test_too_small_a_ridge_or_too_fast_a_rate_is_noticed(replace: bool) -> None:
    """Control: a tenth of the ridge, or three times the rate, breaks what was paid for."""
    ridge, beta = 0.25, 1e-3
    cost = change_of(2, replace).spent(ridge, beta)
    assert 0.98 * cost <= weight_ratio(ridge, beta, replace) <= cost < weight_ratio(ridge / 10.0, beta, replace)
    ridge, beta, change = 100.0, 2.0, change_of(1, replace)
    cost = change.spent(ridge, beta)
    assert worst_ratio(change, ridge, beta, LOGISTIC_LOSS, 50) <= cost
    assert worst_ratio(change, ridge, 3.0 * beta, LOGISTIC_LOSS, 50) > cost


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
    cells, chosen = corners("separable", 4, 4), perturbation(1.0, change_of(4, False))
    too_many = Counted(cells, np.full(4, 1), chosen)

    def sums(numbers: tuple[int, ...]) -> np.ndarray:
        found = too_many(numbers)
        found[-1] = 2**62
        return found

    with pytest.raises(ArithmeticError, match="certificate"):
        minimized(sums, np.ones(4), chosen)
