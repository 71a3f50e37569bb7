"""Kendall's sums against all pairs, and against SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from discreet.kernels.moments.moments import GRID
from discreet.kernels.top_k import kendall_sums
from discreet.kernels.top_k.kendall_sums import joint_counts, kendall_of_rows, kendall_sum
from discreet.kernels.top_k.median_split import order_cells


@pytest.mark.parametrize("n_bins", [2, 8, 256])
def test_all_pairs_are_counted(n_bins):
    """The definition, on cells with ties and at both ends."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    cells = rng.integers(-GRID, GRID + 1, (40, 3)).astype(np.int16)
    cells[:5], cells[5:9] = GRID, -GRID
    bins = (cells.astype(np.int64) + GRID) * n_bins // (2 * GRID + 1)
    assert bins.min() == 0
    assert bins.max() == n_bins - 1
    for at, counts in enumerate(joint_counts(cells, n_bins)):
        signs = [np.sign(np.subtract.outer(bins[:, place], bins[:, place])) for place in (at, 2)]
        assert kendall_sum(counts) == (signs[0] * signs[1]).sum() // 2


def test_without_ties_it_is_the_correlation_of_ranks():
    """S over the number of pairs is Kendall's tau."""
    rng = np.random.default_rng(1)  # noqa: TID251 - simulated data, not noise
    x, y = rng.permutation(256), rng.permutation(256)
    counts = np.zeros((256, 256), dtype=np.int64)
    counts[x, y] = 1
    assert kendall_sum(counts) / (256 * 255 / 2) == pytest.approx(kendalltau(x, y).statistic)


def test_sums_of_many_rows_do_not_overflow():
    """Beyond 2^31 rows in whole numbers of any size."""
    n = 2**32
    assert kendall_sum(np.array([[n, 0], [0, n]])) == n**2


def pair_by_pair(x, y):
    """The definition; a pair with a missing cell counts 0."""
    signs = np.sign(np.subtract.outer(x, x)) * np.sign(np.subtract.outer(y, y))
    return int(np.nansum(signs)) // 2


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 30), st.integers(1, 5))
def test_sums_of_rows_are_those_of_pairs(seed, n, p):
    """Ties of both, missing cells, no rows; blocks of columns change nothing."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    x = rng.choice([-3e38, -1.0, 0.0, 1e-9, 2.0, 3e38, np.nan], (n, p))
    y = rng.choice([-GRID, -1, 0, 1, 500, GRID], n)
    cells = np.concatenate([order_cells(x), y.astype(np.int16)[:, None]], axis=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kendall_sums, "HELD", int(rng.choice([1, 40, 2**18])))
        assert kendall_of_rows(cells).tolist() == [pair_by_pair(x[:, j], y) for j in range(p)]


def test_sums_of_many_rows_are_those_of_scipy():
    """20,000 rows: tau without ties times the number of pairs."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated data, not noise
    n = 20_000
    y = rng.permutation(np.arange(n) - n // 2)
    x = np.column_stack([rng.permutation(n), y + rng.normal(0.0, 3000.0, n), -y]).astype(np.float64)
    cells = np.concatenate([order_cells(x), y.astype(np.int16)[:, None]], axis=1)
    expected = [kendalltau(np.float32(x[:, j]), y).statistic * n * (n - 1) / 2 for j in range(3)]
    assert kendall_of_rows(cells) == pytest.approx(expected, rel=1e-7)
