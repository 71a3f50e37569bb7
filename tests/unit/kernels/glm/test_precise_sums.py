"""Sums at a point are as precise as they say, and curves by pieces are nearly the families' own."""

from fractions import Fraction

import numpy as np
import pytest
from glm_problems import logistic_cells, natural, poisson_cells
from scipy import stats
from scipy.special import expit

from discreet.kernels.glm.families import LOGISTIC, clipped_poisson
from discreet.kernels.glm.precise_sums import (
    LOGISTIC_LOSS,
    N_CELLS,
    NODE,
    Lattice,
    Loss,
    information,
    precise_sums,
    residuals,
)
from discreet.kernels.moments.moments import GRID

RNG = np.random.default_rng(18)  # noqa: TID251 - simulated data, not noise
LATTICE = Lattice(4, 2.0**20)


COUNTS = Loss(clipped_poisson(7))
LOSSES = [LOGISTIC_LOSS, Loss(clipped_poisson(1)), COUNTS, Loss(clipped_poisson(50_000))]


def cells_of(loss: Loss, n: int) -> np.ndarray:
    """Rows with uniform columns and responses of the family."""
    return logistic_cells(n, RNG) if loss is LOGISTIC_LOSS else poisson_cells(n, RNG, 7)


def exact_mean(loss: Loss, eta: Fraction) -> Fraction:
    """The curve at a linear predictor, in rational numbers."""
    starts, rises = loss.pieces
    piece = eta * GRID / Fraction(NODE) // 1
    at = min(max(int(piece) + N_CELLS // 2 + 1, 0), N_CELLS + 1)
    return Fraction(starts[at]) + Fraction(rises[at]) * (eta * GRID / Fraction(NODE) - piece)


def exact_response(loss: Loss, cell: int) -> Fraction:
    """A response over the largest: its digits put together."""
    return sum(Fraction(digit) / 2 ** (15 * (k + 1)) for k, digit in enumerate(loss.response_digits[cell + GRID]))


def exact_residuals(loss: Loss, cells: np.ndarray, lattice: Lattice, numbers: tuple[int, ...]) -> list[Fraction]:
    """The sum of r x in rational numbers."""
    total = [Fraction(0)] * len(numbers)
    for row in cells.astype(int).tolist():
        eta = sum(cell * number for cell, number in zip(row, numbers, strict=False)) * Fraction(lattice.step) / GRID
        pull = exact_response(loss, row[-1]) - exact_mean(loss, eta)
        total = [old + pull * cell / GRID for old, cell in zip(total, row, strict=False)]
    return total


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_no_piece_is_steeper_than_the_proof_has_it(loss: Loss) -> None:
    """Pieces join, rise from 0 to 1, and none has a slope above the weight; a wrong node (control) does."""
    starts, rises = loss.pieces
    assert (rises >= 0.0).all()
    assert np.array_equal(starts[1:-1] + rises[1:-1], starts[2:])  # exact: no jump, so a loss is smooth
    assert (starts[0], starts[1], starts[-1]) == (0.0, 0.0, 1.0)
    slopes = [Fraction(rise) * GRID / Fraction(NODE) for rise in rises]
    assert max(slopes) <= Fraction(loss.weight) <= max(slopes) * (1 + Fraction(1, 10**5))
    assert loss.weight <= (0.25 * (1 + 1e-5) if loss is LOGISTIC_LOSS else 1.0)
    steeper = rises * (1.0 + 1e-5)
    assert Fraction(steeper.max()) * GRID / Fraction(NODE) > Fraction(loss.weight)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_loss_falls_by_more_than_the_radius_has_it(loss: Loss) -> None:
    """Of the worst responses, by areas beside the curve; for logistic ones log 2."""
    eta = np.linspace(-40.0, 40.0, 800_001)
    mean = loss.curve(eta)[0]
    falls = mean[eta <= 0.0].sum() * 1e-4, (1.0 - mean[eta >= 0.0]).sum() * 1e-4
    assert max(falls) * 1.005 <= loss.fall <= max(falls) * 1.02
    if loss is LOGISTIC_LOSS:
        assert loss.fall == pytest.approx(np.log(2.0), rel=0.02)


def test_the_curve_is_nearly_logistic() -> None:
    """Mean and weight are those of the logistic function, but for the pieces' width."""
    eta = RNG.uniform(-45.0, 45.0, 20_000)
    mean, weight = LOGISTIC_LOSS.curve(eta)
    assert np.abs(mean - expit(eta)).max() < 2.0**-23
    assert np.abs(weight - expit(eta) * expit(-eta)).max() < 2.0**-12


@pytest.mark.parametrize("largest", [1, 7, 300])
def test_the_mean_of_clipped_counts_is_their_expectation(largest: int) -> None:
    """E min(N, largest) as a sum over counts, and its derivative by the linear predictor; the curve is near it."""
    family, counts = clipped_poisson(largest), np.arange(3000)
    for eta in (-6.0, 0.3, 2.0, 6.5):
        law = stats.poisson.pmf(counts, np.exp(eta))
        assert family.mean(np.array([eta]))[0] == pytest.approx(law @ np.minimum(counts, largest), rel=1e-9)
        pair = family.mean(np.array([eta - 1e-5, eta + 1e-5]))
        weight = family.weight(np.array([eta]))[0]
        assert weight == pytest.approx((pair[1] - pair[0]) / 2e-5, rel=1e-4, abs=1e-6)
        assert law @ (np.minimum(counts, largest) - pair.mean()) ** 2 <= weight * (1.0 + 1e-6) + 1e-9
        assert Loss(family).curve(np.array([eta]))[0][0] == pytest.approx(pair.mean() / largest, rel=1e-4)


def test_a_response_is_its_digits() -> None:
    """To 2^-45 the count over the largest; a digit is small enough that sums fit in 64 bits."""
    for loss in LOSSES:
        digits = loss.response_digits
        assert (digits[:, 0].min(), digits[:, 0].max()) == (0.0, 2.0**15)
        assert np.abs(digits[:, 1:]).max() <= 2.0**14
    for count in range(8):
        cell = int(np.rint((2.0 * count / 7.0 - 1.0) * GRID))
        assert abs(exact_response(COUNTS, cell) - Fraction(count, 7)) <= Fraction(1, 2**45)


@pytest.mark.parametrize("p", [1, 2, 10, 130, 1000])
def test_limbs_put_together_are_the_point(p: int) -> None:
    """Three limbs make the whole number again, and products with rows of corners are exact in float64."""
    lattice = Lattice(p, 1234.5)
    numbers = lattice.nearest(RNG.normal(size=p) * 1234.5 / p**0.5 * 0.9)
    limbs = lattice.limbs(numbers)
    base = 1 << lattice.bits
    assert [int(a) * base**2 + int(b) * base + int(c) for a, b, c in limbs] == list(numbers)
    assert np.abs(limbs).sum(axis=0).max() * GRID < 2.0**53
    assert lattice.values(numbers) == pytest.approx([float(number) * lattice.step for number in numbers])


@pytest.mark.parametrize("loss", [LOGISTIC_LOSS, COUNTS])
@pytest.mark.parametrize("size", [0.0, 1.0, 30.0, 1e4])
def test_residuals_are_within_their_error(size: float, loss: Loss) -> None:
    """Against rational arithmetic, at points of any size."""
    cells = cells_of(loss, 300)
    cells[:5] = GRID
    cells[5:9, 1:] = -GRID
    numbers = LATTICE.nearest(size * np.array([-0.2, 1.0, 0.3, -0.9]))
    found = residuals(precise_sums(cells, loss, LATTICE, numbers))
    for one, exact in zip(found, exact_residuals(loss, cells, LATTICE, numbers), strict=True):
        assert abs(Fraction(one, 2**60 * GRID) - exact) <= 300 * Fraction(LATTICE.residual_error)


def test_residuals_beside_a_node_are_within_their_error() -> None:
    """Where rounding may pick the wrong piece: linear predictors a step from a node."""
    lattice = Lattice(1, 2.0**20)
    per_node = round(NODE / GRID / lattice.step)
    cells = np.array([[GRID, GRID], [GRID, -GRID]], dtype=np.int16)
    for node in (0, 1, -1, 700, -8000, 20_000):
        for away in (-2, -1, 0, 1, 2):
            numbers = (node * per_node + away,)
            found = Fraction(residuals(precise_sums(cells, LOGISTIC_LOSS, lattice, numbers))[0], 2**60 * GRID)
            assert abs(found - exact_residuals(LOGISTIC_LOSS, cells, lattice, numbers)[0]) <= 2 * Fraction(
                lattice.residual_error
            )


@pytest.mark.parametrize("loss", [LOGISTIC_LOSS, COUNTS])
def test_sums_do_not_depend_on_blocks_or_order(loss: Loss) -> None:
    """The same integers, bit for bit, and rows counted."""
    cells, numbers = cells_of(loss, 9000), LATTICE.nearest(np.array([-0.2, 1.0, 0.3, -4.0]))
    found = precise_sums(cells, loss, LATTICE, numbers)
    assert (found[-1] == 9000).all()
    assert np.array_equal(found, sum(precise_sums(part, loss, LATTICE, numbers) for part in np.array_split(cells, 5)))
    assert np.array_equal(found, precise_sums(np.asfortranarray(cells[RNG.permutation(9000)]), loss, LATTICE, numbers))


@pytest.mark.parametrize("size", [0.0, 3.0, 25.0])
def test_small_weights_are_not_lost(size: float) -> None:
    """The information is that of the curve to 2^-48 a row: weights of separable rows are far below 2^-15."""
    cells, theta = logistic_cells(500, RNG), np.array([size, 0.1 * size, 0.0, 0.05])
    cells[:, -1] = GRID
    x, _ = natural(cells, LOGISTIC)
    found = information(precise_sums(cells, LOGISTIC_LOSS, LATTICE, LATTICE.nearest(theta)))
    expected = (x.T * LOGISTIC_LOSS.curve(x @ theta)[1]) @ x
    assert np.abs(found - expected).max() <= 500 * 2.0**-47 + 1e-3 * expected.max()  # plain floats may pick a neighbor
    assert found[0, 0] > 0.0
