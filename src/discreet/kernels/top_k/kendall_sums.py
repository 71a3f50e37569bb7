"""Kendall's sums: of all pairs of rows, those that rise together less those that rise apart."""

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells, Integers

MOST_COUNTED = 2**31
"""Rows up to which products of counts fit in 64 bits."""


def joint_counts(cells: Cells, n_bins: int) -> Integers:
    """Return how many rows have each column and the target in each pair of bins of equal width.

    Shapes: cells (n, k + 1) on the grid, the target last; returns (k, n_bins, n_bins), the column's bin first.
    """
    bins = (cells.astype(np.int64) + GRID) * n_bins // (2 * GRID + 1)
    pairs = bins[:, :-1] * n_bins + bins[:, -1:]
    counts = [np.bincount(column, minlength=n_bins**2) for column in pairs.T]
    return np.array(counts, dtype=np.int64).reshape(-1, n_bins, n_bins)


def kendall_sum(counts: Integers) -> int:
    """Return sum over i < l of sign(x_i - x_l) sign(y_i - y_l), exactly, from joint counts; ties count 0."""
    below = np.zeros((len(counts), counts.shape[1] + 1), dtype=np.int64)
    below[1:, 1:] = counts.cumsum(axis=0).cumsum(axis=1)[:-1]
    # Of rows with a smaller x: those with a smaller y, less those with a larger y.
    lead = below[:, :-1] - (below[:, -1:] - below[:, 1:])
    if counts.sum() > MOST_COUNTED:
        return int((counts.astype(object) * lead.astype(object)).sum())
    return int((counts * lead).sum())
