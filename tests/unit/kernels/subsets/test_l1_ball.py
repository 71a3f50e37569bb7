"""Least squares on the l1 ball: against two other solvers, and against the conditions of optimality."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import either
from tests.unit.kernels.kernel_problems import (
    DESIGNS,
    MAX_ROWS,
    Bools,
    Floats,
    optimum_by_enumeration,
    optimum_by_path,
    problem,
    rounding,
    simulated,
    stated_tolerance,
)

from discreet.kernels.subsets import l1_ball
from discreet.kernels.subsets.l1_ball import solve_on_l1_ball, value_and_gap

RADII = (1e-6, 0.05, 0.5, 1.0, 2.0, 20.0, 1e6)


def cold(columns: Bools) -> np.ndarray:
    """No signs to start from."""
    return np.zeros(columns.shape, dtype=np.int8)


def solve(gram: Floats, xty: Floats, radius: float, columns: Bools, tolerance: float | None = None) -> tuple:
    """Solve from zeros, to the tolerance of the specification unless another is given."""
    return solve_on_l1_ball(gram, xty, radius, columns, cold(columns), tolerance or stated_tolerance(radius))


def one(gram: Floats, xty: Floats, radius: float, tolerance: float | None = None) -> tuple[float, float]:
    """Value and gap of the model of all columns."""
    value, gap, _ = solve(gram, xty, radius, np.ones((1, len(xty)), dtype=bool), tolerance)
    return float(value[0]), float(gap[0])


def assert_certified(value: float, gap: float, best: float, radius: float, slack: float) -> None:
    """A feasible point, so not below the optimum; and not further above it than the gap says."""
    assert gap <= stated_tolerance(radius)
    assert best - slack <= value <= best + gap + slack


@pytest.mark.parametrize("n", [1, 40, 3000])
@pytest.mark.parametrize("design", DESIGNS)
def test_value_is_between_the_optimum_of_the_lasso_path_and_its_gap(design: str, n: int) -> None:
    """On easy and hard tables, the lasso path's optimum lies between value - gap and value."""
    gram, xty, _ = problem(design, n, 12)
    for radius in RADII:
        value, gap = one(gram, xty, radius)
        assert_certified(value, gap, optimum_by_path(gram, xty, radius), radius, 1e-9 * n)


@pytest.mark.slow
@pytest.mark.parametrize("n", either([1, 3, 25], [1, 2, 3, 25]))
@pytest.mark.parametrize("y", ["linear", "noise"])
@pytest.mark.parametrize("design", DESIGNS)
def test_value_is_that_of_the_best_face(design: str, y: str, n: int) -> None:
    """With four columns, no face of the ball has a better point, and the value is that of the best one."""
    gram, xty, _ = problem(design, n, 4, seed=n, y=y)
    for radius in RADII:
        value, gap = one(gram, xty, radius)
        assert_certified(value, gap, optimum_by_enumeration(gram, xty, radius), radius, 1e-9 * n)


@pytest.mark.parametrize("design", DESIGNS)
def test_the_most_rows_allowed_are_still_certified(design: str) -> None:
    """At 2^33 - 1 rows the gap is within the tolerance, and the value within that and the rounding of the optimum."""
    gram, xty, _ = problem(design, 500, 10, times=MAX_ROWS / 500)
    for radius in (1e-3, 1.0, 2.0, 100.0):
        value, gap = one(gram, xty, radius)
        slack = 10 * rounding(MAX_ROWS, 10, radius)
        assert_certified(value, gap, optimum_by_path(gram, xty, radius), radius, slack)


@pytest.mark.parametrize("design", DESIGNS)
def test_the_walk_needs_few_steps_and_no_last_resort(design: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On few rows and on 2^33 - 1, the active set alone reaches the tolerance in about two systems a column."""
    solved, face_optimum = [], l1_ball._face_optimum
    monkeypatch.setattr(l1_ball, "_face_optimum", lambda *system: solved.append(1) or face_optimum(*system))
    monkeypatch.delattr(l1_ball, "finish")
    for times, radius in product((1.0, MAX_ROWS / 300), (1e-3, 0.5, 2.0, 100.0)):
        gram, xty, _ = problem(design, 300, 9, times=times)
        solved.clear()
        assert one(gram, xty, radius)[1] <= stated_tolerance(radius)
        assert len(solved) <= 3 * 9


@pytest.mark.parametrize("design", DESIGNS)
def test_a_target_of_zeros_has_the_value_zero(design: str) -> None:
    """When y is 0 no column helps: value and gap are 0 and no sign is set."""
    gram, xty, _ = problem(design, 50, 6, y="zero")
    value, gap, signs = solve(gram, xty, 2.0, np.ones((1, 6), dtype=bool))
    assert value[0] == gap[0] == 0.0
    assert not signs.any()


def test_columns_of_zeros_alone_have_the_value_zero() -> None:
    """A table whose every cell is 0 has the value 0, certified."""
    assert one(np.zeros((3, 3)), np.zeros(3), 1.0) == (0.0, 0.0)


def test_a_model_without_columns_has_the_value_zero() -> None:
    """The empty model is worth nothing, and the models beside it are not touched by it."""
    gram, xty, _ = problem("uniform", 40, 5)
    columns = np.array([[False] * 5, [True] * 5, [False] * 5])
    value, gap, signs = solve(gram, xty, 1.0, columns)
    assert value[[0, 2]].tolist() == gap[[0, 2]].tolist() == [0.0, 0.0]
    assert not signs[[0, 2]].any()
    assert value[1] == one(gram, xty, 1.0)[0] < 0.0


@pytest.mark.parametrize("design", DESIGNS)
def test_models_use_their_own_columns_alone(design: str) -> None:
    """Many models at once give what each gives on the table of its columns."""
    gram, xty, _ = problem(design, 200, 8)
    columns = simulated(3).random((40, 8)) < 0.5
    value, gap, signs = solve(gram, xty, 0.8, columns)
    assert not (signs.astype(bool) & ~columns).any()
    for i, usable in enumerate(columns):
        best = optimum_by_path(gram[np.ix_(usable, usable)], xty[usable], 0.8) if usable.any() else 0.0
        assert_certified(value[i], gap[i], best, 0.8, 1e-7)


@pytest.mark.parametrize("radius", [0.05, 20.0])
@pytest.mark.parametrize("design", DESIGNS)
def test_points_of_the_walk_satisfy_the_conditions_of_optimality(design: str, radius: float) -> None:
    """Active columns pull equally and inwards, others pull less, and there is no pull inside the ball."""
    gram, xty, _ = problem(design, 300, 9)
    columns = np.ones((1, 9), dtype=bool)
    (point,) = l1_ball._active_set(gram, xty, radius, columns, cold(columns), stated_tolerance(radius))
    pull, active = xty - gram @ point, point != 0.0
    close = 1e-4 * np.abs(xty).max()
    assert np.abs(point).sum() <= radius * (1 + 1e-12)
    level = 0.0 if np.abs(point).sum() < radius * (1 - 1e-9) else np.abs(pull).max()
    assert np.abs(pull).max() <= level + close
    assert np.abs(pull[active] * np.sign(point[active]) - level).max(initial=0.0) <= close


@pytest.mark.parametrize("design", DESIGNS)
def test_points_lie_in_the_ball_and_on_their_columns(design: str) -> None:
    """No point leaves the ball by more than rounding, at few rows and at 2^33, from cold and from wrong signs."""
    rng = simulated(5)
    for times, radius in product((1.0, MAX_ROWS / 60), (1e-6, 0.3, 2.0, 1e6)):
        gram, xty, _ = problem(design, 60, 8, times=times)
        columns = rng.random((30, 8)) < 0.7
        start = rng.integers(-1, 2, columns.shape).astype(np.int8)
        point = l1_ball._active_set(gram, xty, radius, columns, start, stated_tolerance(radius))
        assert (np.abs(point).sum(axis=1) <= radius * (1 + 1e-11)).all()
        assert not point[~columns].any()


@pytest.mark.parametrize("design", DESIGNS)
def test_the_start_changes_no_value(design: str) -> None:
    """Right signs, wrong signs and signs outside the model lead to the same value within the gaps."""
    gram, xty, _ = problem(design, 200, 8)
    rng, columns, tolerance = simulated(7), np.ones((1, 8), dtype=bool), stated_tolerance(0.7)
    columns[0, 5] = False
    value, gap, signs = solve(gram, xty, 0.7, columns)
    for start in (signs, -signs, np.ones_like(signs), *rng.integers(-1, 2, (20, 1, 8)).astype(np.int8)):
        other, other_gap, _ = solve_on_l1_ball(gram, xty, 0.7, columns, start, tolerance)
        assert other_gap <= tolerance
        assert abs(other[0] - value[0]) <= max(gap[0], other_gap[0]) + 1e-9


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model gets its own answer when they are solved one or three at a time, walk or no walk."""
    gram, xty, _ = problem("autoregressive", 200, 6)
    columns = (np.arange(64)[:, None] >> np.arange(6)) & 1 == 1
    whole = solve(gram, xty, 0.9, columns)
    for cells in (1, 3 * 36):
        monkeypatch.setattr(l1_ball, "BATCH_CELLS", cells)
        assert all(
            np.allclose(a, b, rtol=0, atol=1e-10) for a, b in zip(whole, solve(gram, xty, 0.9, columns), strict=True)
        )
    monkeypatch.setattr(l1_ball, "_active_set", lambda gram, xty, radius, columns, *rest: np.zeros(columns.shape))
    value, gap, signs = solve(gram, xty, 0.9, columns)
    assert (gap <= stated_tolerance(0.9)).all()
    assert (np.abs(value - whole[0]) <= stated_tolerance(0.9)).all()
    assert not (signs.astype(bool) & ~columns).any()


@pytest.mark.parametrize("times", [1.0, MAX_ROWS / 300])
@pytest.mark.parametrize("design", DESIGNS)
def test_the_last_resort_alone_reaches_the_tolerance(design: str, times: float) -> None:
    """From the origin, and from a point outside the ball, the method of last resort certifies a feasible point."""
    gram, xty, _ = problem(design, 300, 5, times=times)
    for radius, share in product((0.1, 2.0), (0.0, 1.0)):
        best = optimum_by_path(gram, xty, radius)
        start = np.full(5, share * radius)
        point, _ = l1_ball.finish(gram, xty, radius, start, stated_tolerance(radius))
        assert np.abs(point).sum() <= radius * (1 + 1e-14)
        value, gap = value_and_gap(gram, xty, radius, np.ones((1, 5), dtype=bool), point[None])
        assert_certified(value[0], gap[0], best, radius, 10 * rounding(300 * times, 6, radius))


def exactly(table: list[list[int]], point: list[Fraction], radius: Fraction) -> tuple[Fraction, Fraction]:
    """Objective and Frank-Wolfe gap at a point, by definition, in fractions."""
    gradient = [2 * (sum(row[j] * b for j, b in enumerate(point)) - row[-1]) for row in table]
    value = sum(b * (g / 2 - row[-1]) for b, g, row in zip(point, gradient, table, strict=True))
    return value, sum(b * g for b, g in zip(point, gradient, strict=True)) + radius * max(map(abs, gradient))


@given(
    st.lists(st.lists(st.integers(-9, 9), min_size=4, max_size=4), min_size=1, max_size=6),
    st.lists(st.integers(-8, 8), min_size=3, max_size=3),
    st.integers(1, 4),
)
@settings(max_examples=60)
def test_value_and_gap_are_their_definitions(rows: list[list[int]], eighths: list[int], radius: int) -> None:
    """At any feasible point, value and gap are those that fractions give."""
    X, y = np.array(rows)[:, :3], np.array(rows)[:, 3]
    point = [Fraction(radius * b, 24) for b in eighths]
    table = np.column_stack([X.T @ X, X.T @ y]).tolist()
    expected = exactly(table, point, Fraction(radius))
    arrays = (X.T @ X).astype(float), (X.T @ y).astype(float)
    columns = np.ones((1, 3), dtype=bool)
    found = value_and_gap(*arrays, float(radius), columns, np.array([[float(b) for b in point]]))
    assert np.allclose(np.ravel(found), [float(e) for e in expected], rtol=1e-12, atol=1e-9)


def test_the_gap_counts_the_columns_of_the_model_alone() -> None:
    """A column outside the model adds nothing to the gap, however much it would help."""
    gram, xty = np.eye(2) * 10.0, np.array([1.0, 100.0])
    columns = np.array([[True, False]])
    _, gap = value_and_gap(gram, xty, 5.0, columns, np.array([[0.1, 0.0]]))
    assert gap[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("radius", [1e-6, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("n", [1.0, 1e3, float(MAX_ROWS)])
def test_the_ridge_is_positive_and_small(n: float, radius: float) -> None:
    """The ridge makes a singular system regular and moves no value by half of the tolerance and the rounding."""
    ridge = l1_ball.ridge_for(np.eye(3) * n, radius, stated_tolerance(radius))
    assert 1e-15 * n < ridge < 1e-8 * n
    assert ridge * radius**2 <= 0.5 * stated_tolerance(radius) + 10 * rounding(n, 3, radius)
