"""No pair of neighbors moves the sums further than the bound, and some pair moves them nearly as far."""

import numpy as np
import pytest
from glm_problems import THETA

from discreet.kernels.glm.families import (
    LOGISTIC,
    Family,
    Line,
    RowMap,
    linear_map,
    poisson,
    predictor_bounds,
    score_map,
)
from discreet.kernels.glm.sensitivity import joint_sensitivity
from discreet.kernels.moments.moments import GRID

RNG = np.random.default_rng(4)  # noqa: TID251 - simulated data, not noise
RATIOS = np.array([0.1, 0.5, 2.0])


def extreme_rows(n: int, p: int) -> np.ndarray:
    """Rows at the corners of the box and some inside."""
    cells = RNG.choice(np.array([-GRID, GRID], dtype=np.int16), size=(n, p + 1))
    cells[n // 2 :, 1:] = RNG.integers(-GRID, GRID, size=(n - n // 2, p), endpoint=True)
    cells[:, 0] = GRID
    cells[:, -1] = np.sign(cells[:, -1]) * GRID
    return cells


def moved(row_map: RowMap, pairs: list[tuple[np.ndarray, np.ndarray]], ratio: float) -> float:
    """The largest change in the weighted norm."""
    largest = 0.0
    for rows, others in pairs:
        gradient, gram = row_map.real(row_map.sums(rows) - row_map.sums(others))
        largest = max(largest, float(np.sqrt(gradient @ gradient + (gram * gram).sum() / ratio**2)))
    return largest


@pytest.mark.slow
@pytest.mark.parametrize("family", [LOGISTIC, poisson(20.0, 5.0)], ids=lambda family: family.name)
@pytest.mark.parametrize("share", [None, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("replace", [True, False])
def test_no_pair_moves_further(family: Family, share: float | None, replace: bool) -> None:
    """Random pairs of corners and inner rows stay within the bound at every ratio."""
    row_map = (
        linear_map(family, 4)
        if share is None
        else score_map(family, THETA, predictor_bounds(THETA), share, Line(0.45, 0.2))
    )
    rows = extreme_rows(400, 4)
    none = rows[:0]
    pairs = [(rows[i : i + 1], rows[399 - i : 400 - i] if replace else none) for i in range(400)]
    for ratio, bound in zip(RATIOS, joint_sensitivity(row_map, 4.0, RATIOS, replace), strict=True):
        assert moved(row_map, pairs, ratio) <= bound


def test_linear_bounds_are_attained() -> None:
    """For X'(y - 1/2) and X'X: one row at a corner, and for a replaced one its closed form."""
    row_map = linear_map(LOGISTIC, 4)
    alone = np.sqrt(4.0 / 4.0 + 16.0 / RATIOS**2)
    assert joint_sensitivity(row_map, 4.0, RATIOS, False) == pytest.approx(alone, rel=2e-3)
    tau = np.minimum(1.0, RATIOS**2 / 4.0 / 4.0 / 4.0 * 2.0)
    both = np.sqrt(4.0 * (0.5 + 0.5 * tau) + 32.0 * (1.0 - tau**2) / RATIOS**2)
    assert (joint_sensitivity(row_map, 4.0, RATIOS, True) >= both - 1e-9).all()
    assert joint_sensitivity(row_map, 4.0, np.array([1e6]), True) == pytest.approx([2.0])


def test_the_score_alone_moves_by_a_residual_times_the_norm() -> None:
    """With the products left aside, C r once or twice, r the largest residual over all rows."""
    row_map = score_map(LOGISTIC, THETA, predictor_bounds(THETA))
    largest = float(LOGISTIC.mean(np.array([1.6]))[0])
    aside = np.array([1e9])
    assert joint_sensitivity(row_map, 4.0, aside, False) == pytest.approx([2.0 * largest], rel=1e-4)
    assert joint_sensitivity(row_map, 4.0, aside, True) == pytest.approx([4.0 * largest], rel=1e-4)
