"""Exact sums of products of integer cells: of many columns with one, and at most so many rows of one unit."""

import numpy as np
import numpy.typing as npt

from discreet.kernels.moments.moments import CHUNK_ROWS
from discreet.typing import Integers


def exact_products(cells: npt.NDArray[np.int16]) -> Integers:
    """Return the sum over rows of each column times the last one.

    Exact.

    As `exact_moments`: a chunk's float64 product is exact, in any order and on any machine. Up to 2^33 - 1 rows of
    products of at most 32767^2 < 2^30 stay below 2^63.

    Source: Privacy specification 8.1.

    Shapes: cells (n, p + 1); returns (p,).

    Examples
    --------
    >>> exact_products(np.array([[1, 2, 1], [3, -4, 10]], dtype=np.int16))
    array([ 31, -38])
    """
    total = np.zeros(cells.shape[1] - 1, dtype=np.int64)
    for start in range(0, len(cells), CHUNK_ROWS):
        part = cells[start : start + CHUNK_ROWS].astype(np.float64)
        total += (part[:, -1] @ part[:, :-1]).astype(np.int64)
    return total
