"""Bounded losses: exact whole numbers, and those of a plain computation."""

import numpy as np
import pytest
from scipy.special import expit

from discreet.kernels.glm.bounded_loss import LOSS_ONE, STEPS, loss_tables
from discreet.kernels.moments.moments import GRID

CASES = {
    "linear": (lambda eta: eta, None, None),
    "brier": (lambda eta: 2.0 * expit(eta) - 1.0, None, None),
    "log": (lambda eta: 2.0 * expit(eta) - 1.0, 0.01, None),
    "poisson": (lambda eta: (np.exp(np.minimum(eta, 50.0)) - 5.0) / 5.0, None, None),
    "median": (lambda eta: eta, None, 0.5),
    "quantile": (lambda eta: eta, None, 0.9),
}


def problem(case, n=20_000):
    """Rows, targets and models."""
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated data, not noise
    cells = rng.integers(-GRID, GRID + 1, (n, 4)).astype(np.int16)
    cells[:, 0] = GRID
    targets = rng.integers(-GRID, GRID + 1, n).astype(np.int16)
    if case in ("brier", "log"):
        targets = np.where(targets > 0, GRID, -GRID).astype(np.int16)
    models = np.vstack([np.zeros(4), rng.normal(0, 0.5, (5, 4)), [3.0, -9.0, 400.0, 1e9]])
    return cells, targets, models


def plain(case, cells, targets, models):
    """The same in floating point."""
    mean, clip, tau = CASES[case]
    predicted = np.clip(mean(np.clip(cells / GRID @ models.T, -32.0, 32.0)), -1.0, 1.0)
    y = targets[:, None] / GRID
    if clip is not None:
        chance = np.clip((1.0 + predicted) / 2.0, clip, 1.0 - clip)
        losses = -np.log(np.where(y > 0, chance, 1.0 - chance))
        return (losses + np.log1p(-clip)) / (np.log1p(-clip) - np.log(clip))
    miss = predicted - y
    if tau is None:
        return miss**2 / 4.0
    return np.where(miss < 0, -tau, 1.0 - tau) * miss / 2.0


@pytest.mark.parametrize("case", CASES)
def test_losses_are_those_of_a_plain_computation(case):
    """A row's loss differs by what a step of the linear predictor can do, a sum by much less a row."""
    mean, clip, tau = CASES[case]
    cells, targets, models = problem(case, 3000)
    tables = loss_tables(models, mean, clip, tau)
    rows = np.stack([tables.sums(cells[i : i + 1], targets[i : i + 1]) for i in range(3000)]) / LOSS_ONE
    expected = plain(case, cells, targets, models)
    # A class's log loss rises by at most 1 a unit, over its range; a count's rate by 10 a unit, of half range 5.
    steepest = {"log": 1.0 / np.log(99.0), "poisson": 2.0}.get(case, 1.0)
    within = slice(0, 6)
    assert np.abs(rows - expected)[:, within].max() < steepest / (2 * STEPS) + 2e-3 * (case == "quantile") + 1e-4
    assert np.abs(rows.mean(axis=0) - expected.mean(axis=0))[within].max() < 1e-3
    last = np.abs(rows - expected)[:, 6]  # a coefficient beyond what stays exact is cut: nearly all are at the ends
    assert np.mean(last > 0.01) < 0.01


@pytest.mark.parametrize("case", CASES)
def test_sums_are_exact(case):
    """The same in any order and by any blocks, bit for bit."""
    mean, clip, tau = CASES[case]
    cells, targets, models = problem(case)
    tables = loss_tables(models, mean, clip, tau)
    whole = tables.sums(cells, targets)
    assert whole.dtype == np.int64
    order = np.random.default_rng(0).permutation(len(cells))  # noqa: TID251 - an order of rows, not noise
    np.testing.assert_array_equal(tables.sums(cells[order], targets[order]), whole)
    for size in (1, 77, 8192, 8193):
        few = 500 if size == 1 else len(cells)
        parts = [tables.sums(cells[i : i + size], targets[i : i + size]) for i in range(0, few, size)]
        np.testing.assert_array_equal(sum(parts), tables.sums(cells[:few], targets[:few]))
    np.testing.assert_array_equal(tables.sums(cells[:, :], targets), tables.sums(np.asfortranarray(cells), targets))


@pytest.mark.parametrize("case", CASES)
def test_a_row_adds_from_nothing_to_one(case):
    """Whatever the model: this is the sensitivity of the choice."""
    mean, clip, tau = CASES[case]
    ends = np.array([-GRID, 0, GRID], dtype=np.int16)
    cells = np.stack(np.meshgrid([GRID], ends, ends, indexing="ij"), axis=-1).reshape(-1, 3).astype(np.int16)
    models = np.array([[0, 0, 0], [1e300, 1e300, -1e300], [-1e300, 0, 0], [0.5, -1, 1], [40.0, 0, 0], [-40.0, 0, 0]])
    tables = loss_tables(models, mean, clip, tau)
    seen = []
    for y in (-GRID, GRID) if case in ("brier", "log") else (-GRID, -1, 0, 1, GRID):
        for row in cells:
            seen.append(tables.sums(row[None], np.array([y], dtype=np.int16)))
    assert np.min(seen) == 0
    assert np.max(seen) <= LOSS_ONE
    assert np.max(seen) >= LOSS_ONE * (0.49 if case == "median" else 0.89 if case == "quantile" else 0.999)


def test_no_rows_lose_nothing():
    """An empty table is a table."""
    tables = loss_tables(np.zeros((2, 3)), lambda eta: eta)
    np.testing.assert_array_equal(tables.sums(np.zeros((0, 3), np.int16), np.zeros(0, np.int16)), [0, 0])
