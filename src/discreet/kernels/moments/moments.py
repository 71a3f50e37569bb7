"""Exact second moments of integer rows: the same integers in any order, by any blocks, on any machine."""

import numpy as np
import numpy.typing as npt

GRID = 32767
"""Cells are integers in [-GRID, GRID]: 15 bits and a sign (privacy specification 8.1)."""

CHUNK_ROWS = 4096
"""Fits a processor's cache as float64, and is far below 2^23, the most rows whose products stay exact."""


def exact_moments(rows: npt.NDArray[np.int16]) -> npt.NDArray[np.int64]:
    """Return the exact sum over rows of the outer product of a row with itself.

    Cost: O(n p^2) time, O(CHUNK_ROWS p) memory. Source: privacy specification 8.1. Shapes: rows (n, p); returns (p, p).

    Examples
    --------
    >>> exact_moments(np.array([[1, 2], [3, -4]], dtype=np.int16))
    array([[ 10, -10],
           [-10,  20]])
    """
    n, p = rows.shape
    total = np.zeros((p, p), dtype=np.int64)
    chunk = np.empty((min(n, CHUNK_ROWS), p), order="F")  # as a row map writes its cells
    # 2^23 rows of products below 2^30 stay below 2^53: the float64 sum of that many chunks is still exact.
    partial = np.zeros((p, p))
    for start in range(0, n, CHUNK_ROWS):
        part = chunk[: min(CHUNK_ROWS, n - start)]
        np.copyto(part, rows[start : start + len(part)])
        # Integers below 2^53 in any order: threads, fused multiply-add and the BLAS library cannot change a bit.
        partial += part.T @ part
        if (start // CHUNK_ROWS) % 512 == 511:
            total += partial.astype(np.int64)
            partial[:] = 0.0
    return total + partial.astype(np.int64)
