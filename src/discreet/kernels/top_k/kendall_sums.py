"""Kendall's sums: of all pairs of rows, those that rise together less those that rise apart."""

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.kernels.top_k.median_split import order_codes
from discreet.typing import Bools, Cells, Integers, Words

MOST_COUNTED = 2**31
"""Rows up to which products of counts fit in 64 bits."""

HELD = 2**18
"""Cells whose pairs are counted at once."""

BITS = 16
"""Of a target's cell."""


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


def kendall_of_rows(cells: Cells) -> Integers:
    """Return sum over i < l of sign(x_i - x_l) sign(y_i - y_l) of each column, exactly; ties count 0.

    So does a row whose cell is missing. Cost: O(n log n) a column. Shapes: cells (n, 2 p + 1), of `order_cells` and the
    target; returns (p,).
    """
    n_rows, p = len(cells), cells.shape[1] // 2
    sums, width = np.zeros(p, dtype=np.int64), max(1, HELD // max(n_rows, 1))
    target = (cells[:, -1].astype(np.int64) + GRID).astype(np.uint64)
    codes = order_codes(cells)
    for start in range(0, p if n_rows else 0, width):
        sums[start : start + width] = _sums(np.ascontiguousarray(codes[:, start : start + width].T), target)
    return sums


def _sums(codes: Words, target: Words) -> Integers:
    """Of untied pairs those that rise together less the others. Shapes: codes (p, n), 0 where missing; target (n,)."""
    # Missing cells stand last with a target above all others: no pair with them is untied and turned.
    is_there, beyond = codes != 0, np.uint64(2**BITS - 1)
    keys = np.where(is_there, codes << np.uint64(BITS) | target, np.uint64(2**64 - 1))
    keys.sort(axis=1)
    rows = is_there.sum(axis=1)
    is_there = np.arange(codes.shape[1]) < rows[:, None]
    turned, ordered = _inversions(keys & beyond)
    tied = _ties(keys >> np.uint64(BITS), is_there) + _ties(ordered, is_there) - _ties(keys, is_there)
    sums: Integers = rows * (rows - 1) // 2 - tied - 2 * turned
    return sums


def _inversions(values: Words) -> tuple[Integers, Words]:
    """Return how many pairs of each row of an array stand in falling order, and the array sorted. Shapes: (p, n)."""
    count, values = np.zeros(len(values), dtype=np.int64), values.astype(np.uint16)
    for bit in reversed(range(BITS)):
        # Values are grouped by their higher bits, in their own order: a 0 counts the 1 before it in its group.
        ones = (values >> bit & 1).astype(np.int64)
        before = ones.cumsum(axis=1) - ones
        high = values.astype(np.int64) >> (bit + 1)
        is_first = np.ones(values.shape, dtype=np.bool_)
        is_first[:, 1:] = high[:, 1:] != high[:, :-1]
        in_group = before - np.maximum.accumulate(np.where(is_first, before, 0), axis=1)
        count += (in_group * (1 - ones)).sum(axis=1)
        order = np.argsort(values >> bit, axis=1, kind="stable")
        values = np.take_along_axis(values, order, axis=1)
    return count, values.astype(np.uint64)


def _ties(values: Words, is_there: Bools) -> Integers:
    """Return how many pairs of each row of a sorted array are equal. Shapes: (p, n)."""
    places = np.arange(values.shape[1])
    is_first = np.ones(values.shape, dtype=np.bool_)
    is_first[:, 1:] = values[:, 1:] != values[:, :-1]
    place_in_run = places - np.maximum.accumulate(np.where(is_first, places, 0), axis=1)
    ties: Integers = (place_in_run * is_there).sum(axis=1)
    return ties
