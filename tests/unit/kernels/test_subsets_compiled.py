"""What only the compiled code does: its own walk, its own certificate, and what it leaves to the array code."""

import numpy as np
import pytest
from kernel_problems import DESIGNS, MAX_ROWS, problem, simulated, stated_tolerance

from discreet.kernels import subsets_compiled
from discreet.kernels.l1_ball import ridge_for, solve_on_l1_ball, value_and_gap
from discreet.kernels.subsets import constrained_scores

RADII = (0.05, 0.6, 3.0, 100.0)


def walk(gram: np.ndarray, xty: np.ndarray, radius: float, usable: np.ndarray, sign: np.ndarray) -> tuple:
    """Value, gap and point of the compiled walk of one model."""
    p = len(xty)
    point = np.zeros(p)
    work = (np.empty(p, np.uint64), np.empty((p, p)), np.empty(p), np.empty(p), point, np.empty(p), np.empty(p))
    ridge = ridge_for(gram, radius, stated_tolerance(radius))
    value, gap = subsets_compiled._walk(gram, xty, radius, ridge, usable, sign, work)
    return value, gap, point


@pytest.mark.parametrize("design", DESIGNS)
def test_the_walk_certifies_feasible_points(design: str) -> None:
    """From cold and from any signs, the walk's value and gap are those of a point in the ball and on its columns."""
    rng = simulated(6)
    for times in (1.0, MAX_ROWS / 60):
        gram, xty, _ = problem(design, 60, 8, times=times)
        for radius in RADII:
            for _ in range(10):
                usable = rng.random(8) < 0.7
                sign = np.where(usable, rng.integers(-1, 2, 8), 0).astype(np.int8)
                value, gap, point = walk(gram, xty, radius, usable, sign)
                assert gap <= stated_tolerance(radius)
                assert np.abs(point).sum() <= radius * (1 + 1e-14)
                assert not point[~usable].any()
                assert not point[sign == 0].any()
                expected = value_and_gap(gram, xty, radius, usable[None], point[None])
                close = 1e-13 * 60 * times * (1 + radius) ** 2
                assert (value, gap) == (
                    pytest.approx(expected[0][0], abs=close),
                    pytest.approx(expected[1][0], abs=close),
                )


@pytest.mark.parametrize("design", DESIGNS)
def test_the_grade_of_any_point_is_its_value_and_gap(design: str) -> None:
    """Far from the optimum, too, the compiled certificate is the one that the array code computes."""
    rng = simulated(8)
    gram, xty, _ = problem(design, 100, 6)
    for _ in range(50):
        usable = rng.random(6) < 0.8
        point = np.where(usable & (rng.random(6) < 0.6), rng.uniform(-0.3, 0.3, 6), 0.0)
        active = np.flatnonzero(point)
        found = subsets_compiled._grade(
            gram,
            xty,
            2.0,
            usable,
            np.sign(point).astype(np.int8),
            point,
            np.empty(6),
            active.astype(np.uint64),
            active.size,
        )
        value, gap = value_and_gap(gram, xty, 2.0, usable[None], point[None])
        assert found[:2] == (pytest.approx(value[0]), pytest.approx(gap[0]))


@pytest.mark.parametrize("design", DESIGNS)
def test_no_table_of_the_grid_needs_the_array_code(design: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All models of hard tables, of few rows and of 2^33 - 1, are certified where they are."""
    monkeypatch.delattr(subsets_compiled, "solve_on_l1_ball")
    units, masks = np.eye(7, dtype=bool), np.arange(2**7, dtype=np.uint64)
    for times in (1.0, MAX_ROWS / 60):
        gram, xty, yty = problem(design, 60, 7, times=times)
        for radius in RADII:
            tolerance = stated_tolerance(radius)
            _, gaps = constrained_scores(
                gram, xty, yty, radius, units, np.zeros(7, bool), masks, tolerance, compiled=True
            )
            assert (gaps <= tolerance).all()


@pytest.mark.parametrize("left", ["no gap", "a wide gap"])
def test_models_below_do_not_inherit_what_they_cannot_reach(left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose walk ended without a certificate passes on nothing but what the array code finds for it."""
    walk_all, finished = subsets_compiled._solve_part, []

    def stop_early(*arguments) -> None:
        walk_all(*arguments)
        masks, (signs, values, gaps, support) = arguments[7], arguments[-4:]
        if masks[0] == 2**6 - 1:
            finished.append(masks.size)
            signs[:], values[:], gaps[:], support[:] = 0, 0.0, np.inf if left == "no gap" else 1e9, 0

    monkeypatch.setattr(subsets_compiled, "_solve_part", stop_early)
    masks, none = np.arange(2**6, dtype=np.uint64), np.zeros(6, dtype=bool)
    for design in ("uniform", "dummies and constant"):
        gram, xty, yty = problem(design, 200, 6)
        scores, _ = constrained_scores(gram, xty, yty, 3.0, np.eye(6, dtype=bool), none, masks, 1e-3, compiled=True)
        columns = (masks[:, None] >> np.arange(6, dtype=np.uint64) & np.uint64(1)).astype(bool)
        start = np.zeros(columns.shape, dtype=np.int8)
        value, _, _ = solve_on_l1_ball(gram, xty, 3.0, columns, start, 1e-3)
        assert np.abs(scores - yty - value).max() <= 1e-3
    assert finished == [1, 1]
