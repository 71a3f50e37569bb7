"""Kendall's sums against all pairs, and against SciPy."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from discreet.kernels.moments.moments import GRID
from discreet.kernels.top_k.kendall_sums import joint_counts, kendall_sum


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
