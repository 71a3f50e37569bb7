"""Arrays as compiled code takes them: lines of columns from 1 on, as many as a multiple of 4."""

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.typing import Floats, Integers

CHUNK_ROWS = 520
"""Rows that are added up at once: their numbers stay in a processor's cache, and lines are no power of two apart."""


def n_lines(p: int) -> int:
    """Return the lines of an array of p columns."""
    return -(-(p + 1) // 4) * 4


def lines_of(matrix: Floats) -> Floats:
    """Return a square matrix with the lines of its columns. Shapes: matrix (p, p); returns (q, q)."""
    p, q = len(matrix), n_lines(len(matrix))
    lines = np.zeros((q, q))
    lines[1 : p + 1, 1 : p + 1] = matrix
    return lines


def buffers(q: int) -> tuple[Floats, Floats]:
    """Return what compiled code writes a few rows to: three arrays of lines, and five numbers of each row."""
    return np.zeros((3, q, CHUNK_ROWS)), np.empty((5, CHUNK_ROWS))


def unwritable(values: npt.ArrayLike, kind: type) -> npt.NDArray[Any]:
    """Return numbers in their order in memory, not to be written to: or code would be compiled for each layout."""
    view: npt.NDArray[Any] = np.ascontiguousarray(values, dtype=kind).view()
    view.flags.writeable = False
    return view


def mirrored(sums: Integers) -> Integers:
    """Return a symmetric matrix of what is on and above the diagonal."""
    upper = np.triu(sums)
    return upper + np.triu(upper, 1).T
