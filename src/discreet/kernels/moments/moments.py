"""Exact second moments of integer rows: the same integers in any order, by any blocks, on any machine."""

import importlib

import numpy as np
import numpy.typing as npt

from discreet.kernels.rows.lines import buffers, mirrored, n_lines, unwritable

GRID = 32767
"""Cells are integers in [-GRID, GRID]: 15 bits and a sign (privacy specification 8.1)."""

CHUNK_ROWS = 4096
"""Fits a processor's cache as float64, and is far below 2^23, the most rows whose products stay exact."""

FEW_COLUMNS = 64
"""With more, the library of linear algebra is as quick."""


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


def compiled_moments(rows: npt.NDArray[np.int16]) -> npt.NDArray[np.int64]:
    """Return what `exact_moments` does, by compiled code that takes each product once: ahead up to `FEW_COLUMNS`."""
    compiled, q = importlib.import_module("discreet.kernels.moments.moments_compiled"), n_lines(rows.shape[1] - 1)
    total = np.zeros((q, q), dtype=np.int64)
    compiled.add_moments(unwritable(rows.T, np.int16), buffers(q)[0][0], total)
    return mirrored(total[: rows.shape[1], : rows.shape[1]])
