"""Sums of residuals and weighted products are what float arithmetic says, and the same however rows come."""

import math

import numpy as np
import pytest
from glm_problems import THETA, logistic_cells, natural, poisson_cells

from discreet.kernels.glm import families as glm
from discreet.kernels.glm.families import (
    LOGISTIC,
    Family,
    Line,
    linear_map,
    poisson,
    predictor_bounds,
    score_map,
    squared_norm,
)
from discreet.kernels.moments.moments import GRID, exact_moments
from discreet.kernels.rows.lines import CHUNK_ROWS

RNG = np.random.default_rng(3)  # noqa: TID251 - simulated data, not noise
CELLS = {"logistic": logistic_cells(9000, RNG), "poisson": poisson_cells(9000, RNG)}
FAMILIES = [LOGISTIC, poisson(20.0)]


def long_rows(x: np.ndarray, cap: float) -> np.ndarray:
    """What rows count: less where they are longer than the cap."""
    shares: np.ndarray = np.minimum(1.0, cap / (x * x).sum(axis=1))
    return shares


@pytest.mark.parametrize("n_weighing", [None, 3])
def test_long_rows_count_less(n_weighing: int | None) -> None:
    """Sums of both kinds of pass are those of weighted rows, by the leading columns alone if asked, in any blocks."""
    cells = CELLS["logistic"]
    x, y = natural(cells, LOGISTIC)
    shares = long_rows(x[:, :n_weighing], 1.6)
    assert 0.2 < (shares < 1.0).mean() < 0.8
    gradient, gram = (row_map := linear_map(LOGISTIC, 4, 1.6, n_weighing)).real(row_map.sums(cells))
    assert gradient == pytest.approx((x.T * shares) @ (y - 0.5), abs=3e-4 * len(cells) ** 0.5)
    assert gram == pytest.approx((x.T * shares) @ x, abs=2e-4 * len(cells))
    assert np.array_equal(row_map.sums(cells), row_map.sums(cells[:1000]) + row_map.sums(cells[1000:]))
    if n_weighing is None:
        row_map = score_map(LOGISTIC, THETA, predictor_bounds(THETA), cap=1.6)
        eta = x @ row_map.theta
        gradient, _ = row_map.real(row_map.sums(cells))
        assert gradient == pytest.approx((x.T * shares) @ (y - LOGISTIC.mean(eta)), abs=3e-4 * len(cells) ** 0.5)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_sums_are_those_of_float_arithmetic(family: Family, share: float) -> None:
    """Score and information agree with formulas to the tables' precision, whatever share of the line is left out."""
    cells = CELLS[family.name]
    line = Line(0.4, 0.2)
    row_map = score_map(family, THETA, predictor_bounds(THETA), share, line)
    gradient, gram = row_map.real(row_map.sums(cells))
    x, y = natural(cells, family)
    eta = x @ row_map.theta
    residual = y - family.mean(eta) - share * (y - 0.4 - 0.2 * eta)
    weight = family.weight(eta) - share * 0.2
    if family.counts:
        residual = residual + (1.0 - share) * (np.rint(y) - y)
    assert gradient == pytest.approx(x.T @ residual, abs=3e-4 * family.high * len(cells) ** 0.5)
    assert gram == pytest.approx((x.T * weight) @ x, abs=2e-4 * row_map.weight_unit * len(cells))


def test_linear_sums_are_moments() -> None:
    """The first pass is the exact moments of the cells."""
    cells = CELLS["logistic"]
    gradient, gram = (part.tolist() for part in linear_map(LOGISTIC, 4).real(linear_map(LOGISTIC, 4).sums(cells)))
    moments = exact_moments(cells) / GRID**2
    assert gram == pytest.approx(moments[:4, :4])
    assert gradient == pytest.approx(0.5 * moments[:4, 4])


def test_blocks_order_and_layout_do_not_matter() -> None:
    """Parts add up to the whole bit for bit, by any blocks, order and layout of memory."""
    cells = CELLS["logistic"]
    row_map = score_map(LOGISTIC, THETA, predictor_bounds(THETA))
    found = row_map.sums(cells)
    assert np.array_equal(found, sum(row_map.sums(part) for part in np.array_split(cells, 7)))
    assert np.array_equal(found, row_map.sums(RNG.permutation(cells)))
    assert np.array_equal(found, row_map.sums(np.ascontiguousarray(cells)))
    for size in (1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1):
        assert np.array_equal(found, row_map.sums(cells[:size]) + row_map.sums(cells[size:]))


def test_no_rows_are_a_sum() -> None:
    """No row gives zeros."""
    assert not linear_map(LOGISTIC, 4).sums(CELLS["logistic"][:0]).any()


def test_far_predictors_stay_in_the_tables() -> None:
    """Coefficients beyond the tables' end, and rows beyond the bounds, give the end's entries."""
    cells = CELLS["logistic"]
    theta = 40.0 * THETA
    row_map = score_map(LOGISTIC, theta, (-1.0, 1.0))
    gradient, _ = row_map.real(row_map.sums(cells))
    x, y = natural(cells, LOGISTIC)
    assert gradient == pytest.approx(x.T @ (y - LOGISTIC.mean(np.clip(x @ theta, -1, 1))), abs=0.1)
    assert len(score_map(LOGISTIC, theta, (-1e9, 1e9)).mean) == 60 * glm.STEPS + 1


def test_predictors_of_many_far_coefficients_are_exact() -> None:
    """Terms that would pass 2^53 before they cancel: rounded there, a row's part would depend on where it stands."""
    theta = RNG.uniform(700.0, 1000.0, 1200)
    whole = score_map(LOGISTIC, theta, predictor_bounds(theta)).theta / glm.THETA_UNIT
    cells = np.where(np.arange(1200) < 600, 1, -1) * RNG.integers(GRID - 9, GRID + 1, (50, 1200))
    exact = [sum(map(math.prod, zip(row, whole.astype(np.int64).tolist(), strict=True))) for row in cells.tolist()]
    assert (np.asfortranarray(cells).astype(np.float64) @ whole).tolist() == exact
    assert np.abs(THETA).sum() < glm.LARGEST_SUM
    assert score_map(LOGISTIC, THETA, (-1.0, 1.0)).theta == pytest.approx(THETA, abs=glm.THETA_UNIT)


def test_residuals_are_clipped() -> None:
    """With a residual bound no row's part is larger."""
    family = poisson(20.0, residual_bound=2.0)
    row_map = score_map(family, np.array([-5.0, 0, 0, 0]), (-5.0, -5.0))
    sums = row_map.sums(CELLS["poisson"][:1] * 0 + np.int16(GRID))
    assert row_map.real(sums)[0][0] == pytest.approx(2.0, rel=1e-3)


def test_bounds_of_predictors_use_one_dummy_a_group() -> None:
    """A group adds its largest coefficient, or none; a row's norm counts it once."""
    theta = np.array([1.0, -2.0, 0.5, -0.25, 3.0])
    assert predictor_bounds(theta, ((2, 3, 4),)) == (-1.25, 6.0)
    assert squared_norm(5, ((2, 3, 4),)) == 3.0
    assert squared_norm(4) == 4.0
