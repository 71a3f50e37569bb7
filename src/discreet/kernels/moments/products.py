"""Exact sums of products of integer cells: of many columns with one, and at most so many rows of one unit."""

import numpy as np
import numpy.typing as npt

from discreet.kernels.moments.moments import CHUNK_ROWS
from discreet.typing import Integers


def exact_products(cells: npt.NDArray[np.int16]) -> Integers:
    """Return the exact sum over rows of each column times the last one. Source: privacy specification 8.1.

    Shapes: cells (n, p + 1); returns (p,).

    Examples
    --------
    >>> exact_products(np.array([[1, 2, 1], [3, -4, 10]], dtype=np.int16))
    array([ 31, -38])
    """
    total = np.zeros(cells.shape[1] - 1, dtype=np.int64)
    for start in range(0, len(cells), CHUNK_ROWS):
        part = cells[start : start + CHUNK_ROWS].astype(np.float64)
        # Products of at most 2^30, 2^12 a chunk: exact in float64 in any order; 2^33 - 1 rows of them fit in 64 bits.
        total += (part[:, -1] @ part[:, :-1]).astype(np.int64)
    return total
