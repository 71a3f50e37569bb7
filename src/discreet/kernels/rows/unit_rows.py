"""Rows scaled down to unit norm: a weight in least squares, chosen so that no row can do more than another.

A weight that looks at a row's x alone leaves the coefficients of a linear model what they are. Noise is set by the
longest possible row: with m columns it is sqrt(m) times that of unit rows, while most rows are far shorter.
"""

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells, Floats

CONSTANT = 0.5
"""Value of the constant column: less than 1 leaves more of the unit norm to the others, and noise to the constant."""

SQUARE = 1.0 / 6.0
"""A column's square in the shortest row that is scaled to unit norm: half that of cells spread evenly over [-1, 1]."""


def shortest_length(n_units: int, constant: float = CONSTANT) -> float:
    """Return the length, with the constant, from which on rows are scaled to unit norm."""
    # Shorter rows are scaled as a row of this length: their targets would be clipped much harder than others.
    return float((constant**2 + SQUARE * n_units) ** 0.5)


def lengths(rows: Cells, shortest: float, constant: float = CONSTANT) -> Floats:
    """Return the Euclidean norm of each row's x, with the constant; at least `shortest`.

    Shapes: rows (n, 1 + p + 1); returns (n,).
    """
    squares = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T[1:-1]:  # whole numbers: the same for a row whatever stands beside it
        squares += column.astype(np.int64) ** 2
    norms: Floats = np.sqrt(squares / GRID**2 + constant**2)
    return np.maximum(norms, shortest)


def unit_rows(rows: Cells, y_bound: float, shortest: float, constant: float = CONSTANT) -> Cells:
    """Return rows divided by the length of their x, the target clipped after that. Cost: O(n p).

    Source: privacy specification 0.2 and 6.1 (a bound on the norm of rows).
    Shapes: rows (n, 1 + p + 1); returns (n, 1 + p + 1).

    Examples
    --------
    >>> unit_rows(np.array([[32767, 32767, -32767, 16000]], dtype=np.int16), 1.0, 1.0, 1.0)
    array([[ 18918,  18918, -18918,   9237]], dtype=int16)
    """
    # A function of each row with public parameters, so neighbors stay neighbors. Under a linear model it is weighted
    # least squares with weights 1 / length^2, as long as y is not clipped.
    length = lengths(rows, shortest, constant)
    inverse = (1.0 - 2.0**-40) / length  # rounding toward zero shall not meet a length that was itself rounded down
    scaled = rows * inverse[:, None]
    scaled[:, 0] = constant * GRID * inverse
    scaled[:, -1] = np.clip(rows[:, -1] / (length * y_bound), -GRID, GRID)
    return np.trunc(scaled).astype(np.int16)
