"""How the target's cells spread over equally spaced points: what its median is chosen by."""

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells, Integers


def counts_at_points(cells: Cells, n_points: int) -> Integers:
    """Return how many rows have their target between each point and the next. Shapes: cells (n, p + 1)."""
    nearest = (cells[:, -1].astype(np.int64) + GRID) * (n_points - 1) // (2 * GRID)
    return np.bincount(nearest, minlength=n_points).astype(np.int64)
