"""Sums at a point are as precise as they say, and the curve by pieces is nearly the logistic one."""

from fractions import Fraction

import numpy as np
import pytest
from glm_problems import logistic_cells, natural
from scipy.special import expit

from discreet.kernels.glm.families import LOGISTIC
from discreet.kernels.glm.logistic_sums import (
    N_CELLS,
    NODE,
    WEIGHT,
    Lattice,
    _table,
    curve,
    information,
    precise_sums,
    residuals,
)
from discreet.kernels.moments.moments import GRID

RNG = np.random.default_rng(18)  # noqa: TID251 - simulated data, not noise
LATTICE = Lattice(4, 2.0**20)


def exact_mean(eta: Fraction) -> Fraction:
    """The curve at a linear predictor, in rational numbers."""
    starts, rises = _table()
    piece = eta * GRID / Fraction(NODE) // 1
    at = min(max(int(piece) + N_CELLS // 2 + 1, 0), N_CELLS + 1)
    return Fraction(starts[at]) + Fraction(rises[at]) * (eta * GRID / Fraction(NODE) - piece)


def exact_residuals(cells: np.ndarray, lattice: Lattice, numbers: tuple[int, ...]) -> list[Fraction]:
    """The sum of r x in rational numbers."""
    total = [Fraction(0)] * len(numbers)
    for row in cells.astype(int).tolist():
        sign = -1 if row[-1] > 0 else 1
        eta = sum(cell * number for cell, number in zip(row, numbers, strict=False)) * Fraction(lattice.step) / GRID
        pull = -sign * exact_mean(sign * eta)
        total = [old + pull * cell / GRID for old, cell in zip(total, row, strict=False)]
    return total


def test_no_piece_is_steeper_than_the_proof_has_it() -> None:
    """Pieces join, rise from 0 to 1, and none has a slope above WEIGHT; a wrong node (control) does."""
    starts, rises = _table()
    assert (rises >= 0.0).all()
    assert np.array_equal(starts[1:-1] + rises[1:-1], starts[2:])  # exact: no jump, so a loss is smooth
    assert (starts[0], starts[1], starts[-1]) == (0.0, 0.0, 1.0)
    slopes = [Fraction(rise) * GRID / Fraction(NODE) for rise in rises]
    assert max(slopes) <= Fraction(WEIGHT)
    steeper = rises.copy()
    steeper[N_CELLS // 2] *= 1.0 + 1e-6
    assert Fraction(steeper.max()) * GRID / Fraction(NODE) > Fraction(WEIGHT)


def test_the_loss_at_zero_is_at_most_that_of_the_radius() -> None:
    """The loss at a linear predictor of 0, its area under the curve, is below 0.7."""
    starts, rises = _table()
    half = slice(1, N_CELLS // 2 + 1)
    assert 0.69 < float((starts[half] + rises[half] / 2.0).sum() * NODE / GRID) < 0.7


def test_the_curve_is_nearly_logistic() -> None:
    """Mean and weight are those of the logistic function, but for the pieces' width."""
    eta = RNG.uniform(-45.0, 45.0, 20_000)
    mean, weight = curve(eta)
    assert np.abs(mean - expit(eta)).max() < 2.0**-23
    assert np.abs(weight - expit(eta) * expit(-eta)).max() < 2.0**-12


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


@pytest.mark.parametrize("size", [0.0, 1.0, 30.0, 1e4])
def test_residuals_are_within_their_error(size: float) -> None:
    """Against rational arithmetic, at points of any size."""
    cells = logistic_cells(300, RNG)
    cells[:5] = GRID
    cells[5:9, 1:] = -GRID
    numbers = LATTICE.nearest(size * np.array([-0.2, 1.0, 0.3, -0.9]))
    found = residuals(precise_sums(cells, LATTICE, numbers))
    for one, exact in zip(found, exact_residuals(cells, LATTICE, numbers), strict=True):
        assert abs(Fraction(one, 2**60 * GRID) - exact) <= 300 * Fraction(LATTICE.residual_error)


def test_residuals_beside_a_node_are_within_their_error() -> None:
    """Where rounding may pick the wrong piece: linear predictors a step from a node."""
    lattice = Lattice(1, 2.0**20)
    per_node = round(NODE / GRID / lattice.step)
    cells = np.array([[GRID, GRID], [GRID, -GRID]], dtype=np.int16)
    for node in (0, 1, -1, 700, -8000, 20_000):
        for away in (-2, -1, 0, 1, 2):
            numbers = (node * per_node + away,)
            found = Fraction(residuals(precise_sums(cells, lattice, numbers))[0], 2**60 * GRID)
            assert abs(found - exact_residuals(cells, lattice, numbers)[0]) <= 2 * Fraction(lattice.residual_error)


def test_sums_do_not_depend_on_blocks_or_order() -> None:
    """The same integers, bit for bit, and rows counted."""
    cells, numbers = logistic_cells(9000, RNG), LATTICE.nearest(np.array([-0.2, 1.0, 0.3, -4.0]))
    found = precise_sums(cells, LATTICE, numbers)
    assert (found[-1] == 9000).all()
    assert np.array_equal(found, sum(precise_sums(part, LATTICE, numbers) for part in np.array_split(cells, 5)))
    assert np.array_equal(found, precise_sums(np.asfortranarray(cells[RNG.permutation(9000)]), LATTICE, numbers))


@pytest.mark.parametrize("size", [0.0, 3.0, 25.0])
def test_small_weights_are_not_lost(size: float) -> None:
    """The information is that of the curve to 2^-48 a row: weights of separable rows are far below 2^-15."""
    cells, theta = logistic_cells(500, RNG), np.array([size, 0.1 * size, 0.0, 0.05])
    cells[:, -1] = GRID
    x, _ = natural(cells, LOGISTIC)
    found = information(precise_sums(cells, LATTICE, LATTICE.nearest(theta)))
    expected = (x.T * curve(x @ theta)[1]) @ x
    assert np.abs(found - expected).max() <= 500 * 2.0**-47 + 1e-3 * expected.max()  # plain floats may pick a neighbor
    assert found[0, 0] > 0.0
