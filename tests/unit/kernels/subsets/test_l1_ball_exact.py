"""The last resort of the solver on the ball: nearly alike columns of billions of rows, where floats stand still."""

from fractions import Fraction

import numpy as np
import pytest
from tests.effort import either
from tests.unit.kernels.kernel_problems import MAX_ROWS, Floats, simulated, stated_tolerance

from discreet.kernels.subsets.l1_ball import solve_on_l1_ball
from discreet.kernels.subsets.l1_ball_exact import finish, rounding_of_moments

GRID = 32767
STANDSTILLS = (488, 1584)
"""Tables of `alike` on which pairwise Frank-Wolfe in floats stood still: the only ones of the first 3,000."""

STEPS = 20_000
"""Of the control: a hundred times what any other table took."""


def alike(seed: int) -> tuple[Floats, Floats, float]:
    """X'X, X'y and a radius: 2^33 rows of columns that are one column and a wobble, summed as integers."""
    rng = simulated(seed)
    p = int(rng.integers(2, 16))
    m = int(rng.integers(p, 4 * p + 2))
    base = rng.choice([-GRID, GRID], m) if rng.random() < 0.5 else rng.integers(-GRID, GRID + 1, m)
    wobble = 10 ** rng.uniform(0, 3)
    X = np.clip(base[:, None] + np.rint(wobble * rng.standard_normal((m, p))), -GRID, GRID).astype(int)
    y = np.clip(base + np.rint(10 ** rng.uniform(0, 4) * rng.standard_normal(m)), -GRID, GRID).astype(int)
    if rng.random() < 0.3:
        y = np.clip(X @ rng.uniform(-1, 1, p), -GRID, GRID).astype(int)
    counts = rng.dirichlet(np.ones(m) * 10 ** rng.uniform(-1, 1))
    counts = np.maximum((counts * (MAX_ROWS - m)).astype(int), 1).astype(object)
    rows = np.column_stack([X, y]).astype(object)
    moments = ((rows * counts[:, None]).T @ rows).astype(np.int64).astype(np.float64) / GRID**2
    return moments[:-1, :-1], moments[:-1, -1], float(10 ** rng.uniform(-1, 1.5))


def exact_gap(gram: Floats, xty: Floats, radius: float, point: Floats) -> Fraction:
    """The certificate in fractions."""
    b = [Fraction(value) for value in point.tolist()]
    residual = [
        Fraction(side) - sum(Fraction(entry) * other for entry, other in zip(row, b, strict=True))
        for row, side in zip(gram.tolist(), xty.tolist(), strict=True)
    ]
    inner = sum(own * left for own, left in zip(b, residual, strict=True))
    return 2 * (Fraction(radius) * max(map(abs, residual)) - inner)


def pairwise_frank_wolfe(gram: Floats, xty: Floats, radius: float, tolerance: float) -> int:
    """Steps of the former last resort until the gap is half the tolerance, at most `STEPS`; from its former start."""
    p = len(xty)
    weight = np.zeros(2 * p + 1)
    weight[-1] = 1.0
    for step in range(STEPS):
        residual = xty - gram @ (radius * (weight[:p] - weight[p : 2 * p]))
        height = radius * np.concatenate([residual, -residual, [0.0]])
        if 2.0 * (height.max() - residual @ (radius * (weight[:p] - weight[p : 2 * p]))) <= 0.5 * tolerance:
            return step
        towards, away = int(height.argmax()), int(np.where(weight > 0.0, height, np.inf).argmin())
        direction = np.zeros(p)
        for vertex, amount in ((towards, radius), (away, -radius)):
            if vertex < 2 * p:
                direction[vertex % p] += amount if vertex < p else -amount
        curvature = float(direction @ gram @ direction)
        length = min(weight[away], (height[towards] - height[away]) / curvature if curvature > 0.0 else np.inf)
        weight[towards] += length
        weight[away] = 0.0 if length == weight[away] else weight[away] - length
    return STEPS


@pytest.mark.parametrize("seed", STANDSTILLS)
def test_where_floats_stood_still_it_ends(seed: int) -> None:
    """The certificate holds in fractions; control: the former loop is still on its way after 20,000 steps."""
    gram, xty, radius = alike(seed)
    tolerance, p = stated_tolerance(radius), len(xty)
    assert pairwise_frank_wolfe(gram, xty, radius, tolerance) == STEPS
    columns = np.ones((1, p), dtype=bool)
    _, gap, _ = solve_on_l1_ball(gram, xty, radius, columns, np.zeros((1, p), np.int8), tolerance)
    assert gap[0] <= tolerance
    point, _ = finish(gram, xty, radius, np.zeros(p), tolerance)
    assert exact_gap(gram, xty, radius, point) <= tolerance + rounding_of_moments(gram, radius)


@pytest.mark.parametrize("seed", range(either(60, 3000)))
def test_its_certificate_is_true(seed: int) -> None:
    """From zero, on nearly alike columns: the gap in fractions is what is said, and the point is in the ball."""
    gram, xty, radius = alike(seed)
    tolerance = stated_tolerance(radius)
    point, gap = finish(gram, xty, radius, np.zeros(len(xty)), tolerance)
    assert gap <= tolerance
    exact = exact_gap(gram, xty, radius, point)
    assert gap == pytest.approx(max(float(exact) - rounding_of_moments(gram, radius), 0.0), rel=1e-9, abs=1e-12)
    assert np.abs(point).sum() <= radius * (1 + 1e-14)


@pytest.mark.parametrize("share", [1.0, -1.0, 0.999])
def test_moments_that_rounding_bent_are_finished_too(share: float) -> None:
    """Copies of a column whose moments are off in the last place: X'X is not positive semidefinite."""
    rng = simulated(7)
    gram = np.full((8, 8), float(MAX_ROWS))
    wobble = np.triu(rng.integers(-1, 2, (8, 8)) * 2.0**-20)
    gram += wobble + np.triu(wobble, 1).T
    assert np.linalg.eigvalsh(gram)[0] < 0
    xty = np.full(8, share * MAX_ROWS)
    for radius in (0.5, 2.0, 30.0):
        tolerance = stated_tolerance(radius)
        point, gap = finish(gram, xty, radius, np.zeros(8), tolerance)
        assert gap <= tolerance
        assert exact_gap(gram, xty, radius, point) <= tolerance + rounding_of_moments(gram, radius)


def test_what_the_walk_in_floats_leaves_open_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The array code certifies every point, also where its own walk stops at nothing."""
    gram, xty, radius = alike(3)
    columns, start = np.ones((1, len(xty)), dtype=bool), np.zeros((1, len(xty)), np.int8)
    expected = solve_on_l1_ball(gram, xty, radius, columns, start, stated_tolerance(radius))
    monkeypatch.setattr("discreet.kernels.subsets.l1_ball._active_set", lambda *arguments: np.zeros(arguments[3].shape))
    value, gap, _ = solve_on_l1_ball(gram, xty, radius, columns, start, stated_tolerance(radius))
    assert gap[0] <= stated_tolerance(radius)
    assert abs(value[0] - expected[0][0]) <= stated_tolerance(radius) + rounding_of_moments(gram, radius)
