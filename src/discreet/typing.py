"""Types of arrays that many modules name."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Masks = npt.NDArray[np.uint64]
"""Sets of columns, a bit each."""
Words = npt.NDArray[np.uint64]
"""Random bits, 64 in each."""
Cells = npt.NDArray[np.int16]
"""Cells of a table on the grid of their column's bounds."""
