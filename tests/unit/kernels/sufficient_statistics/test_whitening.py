"""Whitened rows: shorter than their norm, each by itself, and the same coefficients as those of the plain rows."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.kernels.moments.moments import GRID
from discreet.kernels.sufficient_statistics.cleaning import cleaned
from discreet.kernels.sufficient_statistics.gram import NoisyGram
from discreet.kernels.sufficient_statistics.regression import (
    NoisyMatrix,
    coefficients,
    covariance_of_scores,
    whitened_model,
)
from discreet.kernels.sufficient_statistics.whitening import Whitening, unit_norm, whitening

RNG = np.random.default_rng(3)  # noqa: TID251 - simulated data, not noise


def table(n: int, rho: float = 0.95, heteroskedastic: bool = False) -> np.ndarray:
    """Encoded rows of a constant, three correlated columns and a target."""
    shared = RNG.normal(size=(n, 1))
    X = np.tanh((rho**0.5 * shared + (1 - rho) ** 0.5 * RNG.normal(size=(n, 3))) / 2)
    spread = 0.1 * (1 + 3 * (np.abs(X[:, :1]) if heteroskedastic else 0.0))
    y = np.clip(0.1 + X @ [[0.3], [-0.2], [0.1]] + spread * RNG.normal(size=(n, 1)), -1, 1)
    return np.rint(np.column_stack([np.ones(n), X, y]) * GRID).astype(np.int16)


def exact_moments_of(cells: np.ndarray, n_variance: float = 0.0) -> NoisyGram:
    """Moments without noise."""
    rows = cells / GRID
    X, y = rows[:, :-1], rows[:, -1]
    p = X.shape[1]
    return NoisyGram(X.T @ X, X.T @ y, float(y @ y), np.zeros((p, p)), np.zeros(p), 0.0, len(y), n_variance)


def row_map(cells: np.ndarray, norm: float | None = None) -> Whitening:
    """From the moments of the rows themselves, and a pilot that is off."""
    moments = exact_moments_of(cells)
    start = np.linalg.solve(moments.gram, moments.xty) + np.array([0.02, -0.03, 0.03, 0.01])
    found, _ = whitening(moments, cleaned(moments, 0), start, np.ones(4), 0.0)
    return found if norm is None else replace(found, norm=norm)


@pytest.mark.parametrize("norm", [0.5, 2.0, None])
def test_no_row_is_longer_than_its_norm_and_each_stands_for_itself(norm):
    """Extreme rows too; and a row becomes the same integers alone, in any block, at any place."""
    cells = table(500)
    corners = np.array(
        [[GRID, i, j, k, t] for i in (GRID, -GRID) for j in (GRID, -GRID) for k in (0, GRID) for t in (-GRID, GRID)]
    )
    cells = np.concatenate([cells, corners.astype(np.int16), np.zeros((1, 5), np.int16)])
    found = row_map(table(500), norm)
    together = found.cells(cells)
    for block in (together[:, :4], together[:, 4:5], together[:, 5:9], together[:, 9:]):
        assert (block.astype(float) ** 2).sum(axis=1).max() <= GRID**2
    alone = np.concatenate([found.cells(cells[j : j + 1]) for j in range(len(cells))])
    np.testing.assert_array_equal(alone, together)
    np.testing.assert_array_equal(found.cells(cells[::-1])[::-1], together)


def test_the_score_of_a_unit_is_no_longer_than_its_norm():
    """A unit of many equal extreme rows counts as one of the norm, not as its rows."""
    found = row_map(table(500))
    extreme = np.tile(np.array([[GRID, GRID, -GRID, GRID, GRID]], np.int16), (40, 1))
    found = replace(found, longest=1e-3)
    sums = found.sums_of_units(extreme, np.array([0, 40]), np.zeros(1, dtype=np.uint64), 40, np.arange(5))
    assert 0.99 * GRID**2 < np.trace(sums[5:, :4]) <= GRID**2
    assert unit_norm(40) == 10.0


def test_units_of_one_row_are_rows():
    """Both ways add up the same."""
    cells = table(300)
    found = row_map(cells)
    starts, words = np.arange(301), np.zeros(300, dtype=np.uint64)
    np.testing.assert_array_equal(found.sums(cells), found.sums_of_units(cells, starts, words, 1, np.arange(5)))


def fitted(cells: np.ndarray, found: Whitening, robust: bool = True, sd: float = 0.0):
    """Coefficients of a second pass without noise."""
    sums = found.sums(cells) / GRID**2
    p = len(found.start)
    scale = found.longest / (found.norm * found.cut)
    moments = NoisyGram(
        sums[:p, :p], scale * sums[:p, p], sums[p, p], np.zeros((p, p)), np.zeros(p), 0.0, len(cells), 0.0
    )
    scores = NoisyMatrix(scale**2 * sums[p + 1 :, :p], sd) if robust else None
    matrix = found.matrix * found.cut / found.norm
    return whitened_model(moments, scores, matrix, found.start, 2.0).combinations(np.eye(p), None, 0.95)


@pytest.mark.parametrize("robust", [True, False])
def test_without_noise_it_is_least_squares(robust):
    """Estimates and intervals are those of the plain rows, whatever the pilot was."""
    cells = table(4000)
    plain = coefficients(exact_moments_of(cells), range(4), constant=0)
    again = fitted(cells, row_map(cells), robust)
    width = plain.high - plain.low
    np.testing.assert_allclose(again.coef, plain.coef, atol=0.02 * width.min())
    np.testing.assert_allclose(again.low, plain.low, atol=0.04 * width.max())
    np.testing.assert_allclose(again.high, plain.high, atol=0.04 * width.max())


def test_unequal_variances_are_those_of_white():
    """The robust covariance is White's; the other one is too small for the column that the errors grow with."""
    cells = table(40_000, rho=0.2, heteroskedastic=True)
    rows = cells / GRID
    X, y = rows[:, :-1], rows[:, -1]
    inverse = np.linalg.inv(X.T @ X)
    residual = y - X @ (inverse @ X.T @ y)
    white = inverse @ ((X * residual[:, None] ** 2).T @ X) @ inverse
    robust, plain = (np.diagonal(fitted(cells, row_map(cells), kind).covariance_sampling) for kind in (True, False))
    np.testing.assert_allclose(robust, np.diagonal(white), rtol=0.1)
    assert plain[1] < 0.8 * white[1, 1]


def test_a_norm_that_shortens_rows_bends_no_slope():
    """Rows are weighted by their columns alone: the fit is a weighted one, of the same coefficients."""
    cells = table(200_000, rho=0.5)
    found = fitted(cells, row_map(cells, norm=1.0))
    np.testing.assert_allclose(found.coef[1:], [0.3, -0.2, 0.1], atol=0.006)


def test_noise_in_the_scores_widens_and_never_narrows():
    """Scores of pure noise leave the covariance that equal variances make, and more."""
    p = 4
    base = np.diag([400.0, 300.0, 200.0, 100.0])
    for sd in (0.0, 50.0, 500.0, 5000.0):
        noise = RNG.normal(size=(50, p, p)) * sd / 2**0.5
        ratios = []
        for draw in noise:
            value = base + (draw + draw.T) / 2**0.5 * (1 + (2**0.5 - 1) * np.eye(p)) / 2**0.5
            found = covariance_of_scores(NoisyMatrix(value, sd), base, 1)
            assert np.linalg.eigvalsh(found)[0] > 0.0
            ratios.append(np.trace(found) / np.trace(base))
        assert np.median(ratios) > 0.97


@pytest.mark.parametrize("cells", [np.zeros((0, 5), np.int16), np.zeros((9, 5), np.int16)])
def test_no_rows_and_empty_rows_are_added_up(cells):
    """Zeros."""
    assert not row_map(table(100)).sums(cells).any()
