"""Sums of a target over the upper half of each column less those over its lower half: a median split of columns."""

import numpy as np
import numpy.typing as npt

from discreet.typing import Cells, Floats, Integers

Ranks = npt.NDArray[np.uint64]
MISSING = np.uint32(0)
"""No number has this code."""


def order_cells(values: Floats) -> Cells:
    """Return numbers as pairs of 16-bit cells that keep their order, to the nearest float32; NaN as two zeros.

    Shapes: values (n, p), returns (n, 2 p): the upper halves of all columns, then the lower ones.
    """
    with np.errstate(over="ignore"):  # beyond float32 a number is infinite, and stays the largest
        bits = (values + 0.0).astype(np.float32).view(np.uint32)
    # The bits of floats grow with their size: negative ones are turned over, and positive ones put above them.
    codes = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    codes = np.where(np.isnan(values), MISSING, codes)
    halves = np.concatenate([codes >> np.uint32(16), codes & np.uint32(0xFFFF)], axis=1)
    return halves.astype(np.uint16).view(np.int16)


def order_codes(cells: Cells) -> Ranks:
    """Return each pair of `order_cells` as one number, 0 where missing. Shapes: cells (n, 2 p + 1), returns (n, p)."""
    p = cells.shape[1] // 2
    halves = cells[:, : 2 * p].view(np.uint16).astype(np.uint64)
    codes: Ranks = (halves[:, :p] << np.uint64(16)) | halves[:, p:]
    return codes


def split_sums(cells: Cells, ranks: Ranks) -> Integers:
    """Return the sum over rows i of s_ij y_i of each column j, s_ij = sign(rank of row i in column j - (m + 1) / 2).

    Exact. Of m rows whose cell is not missing; a missing cell counts 0. `ranks` is a random order of the rows, which
    decides between equal cells. Shapes: cells (n, 2 p + 1), of `order_cells` and the target; ranks (n,), returns (p,).
    """
    p, codes = cells.shape[1] // 2, order_codes(cells)
    is_there, y = codes != 0, cells[:, -1].astype(np.float64)
    # One number for cell and rank: no two are equal. Missing cells go above all others.
    keys = np.where(is_there, codes << np.uint64(32) | ranks[:, None], np.uint64(2**64 - 1))
    counts, sums = is_there.sum(axis=0), np.zeros(p, dtype=np.int64)
    for m in np.unique(counts[counts > 1]):
        at = np.flatnonzero(counts == m)
        column_keys, is_cell = keys[:, at], is_there[:, at]
        middle = np.partition(column_keys, m // 2, axis=0)[m // 2]
        below = column_keys < middle
        above = is_cell & (column_keys > middle if m % 2 else ~below)
        # Sums of whole numbers below 2^53, so exact in float64 in any order.
        sums[at] = np.rint(y @ above.astype(np.float64) - y @ below.astype(np.float64)).astype(np.int64)
    return sums
