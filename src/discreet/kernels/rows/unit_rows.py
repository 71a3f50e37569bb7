"""Rows scaled down to unit or bounded norm: a weight in least squares, chosen so that no row can do more than another.

A weight that looks at a row's x alone leaves the coefficients of a linear model what they are. Noise is set by the
longest possible row: with m columns it is sqrt(m) times that of unit rows, while most rows are far shorter.
"""

from typing import NamedTuple

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells, Floats, Integers

CONSTANT = 0.5
"""Value of the constant column: less than 1 leaves more of the unit norm to the others, and noise to the constant."""

SQUARE = 1.0 / 6.0
"""A column's square in the shortest row that is scaled to unit norm: half that of cells spread evenly over [-1, 1]."""

SCALE = 1024
"""A factor of this leaves a column as wide as it is."""


class Scaling(NamedTuple):
    """What is taken off each column of x before rows are divided by their length, and what it is multiplied by.

    It bends no slope: x becomes (x - middle) factor / SCALE, of any size.

    Parameters
    ----------
    middles : tuple of int
        In steps of the grid, in [-GRID, GRID].
    factors : tuple of int
        In units of 1 / SCALE, from 1 to 2^15.
    """

    middles: tuple[int, ...]
    factors: tuple[int, ...]

    def __call__(self, x: Cells) -> Floats:
        """Return the columns, in steps: exact, as whole numbers below 2^31 over a power of two.

        Shapes: x (n, p); returns (n, p).
        """
        moved = x.astype(np.int64) - np.array(self.middles, dtype=np.int64)
        scaled: Floats = (moved * np.array(self.factors, dtype=np.int64)) / SCALE
        return scaled


def shortest_length(n_units: int, constant: float = CONSTANT) -> float:
    """Return the length, with the constant, from which on rows are scaled to unit norm."""
    # Shorter rows are scaled as a row of this length: their targets would be clipped much harder than others.
    return float((constant**2 + SQUARE * n_units) ** 0.5)


def lengths(rows: Cells, shortest: float, constant: float = CONSTANT) -> Floats:
    """Return the Euclidean norm of each row's x, with the constant; at least `shortest`.

    Shapes: rows (n, 1 + p + 1); returns (n,).
    """
    return _lengths(rows[:, 1:-1].astype(np.float64), shortest, constant)


def _lengths(x: Floats, shortest: float, constant: float) -> Floats:
    squares = np.zeros(len(x))
    for column in x.T:  # one column after the other: the same for a row whatever stands beside it
        squares += column**2
    norms: Floats = np.sqrt(squares / GRID**2 + constant**2)
    return np.maximum(norms, shortest)


def unit_rows(
    rows: Cells, y_bound: float, shortest: float, constant: float = CONSTANT, scaling: Scaling | None = None
) -> Cells:
    """Return rows divided by the length of their x, scaled, the target clipped after that. Cost: O(n p).

    Source: privacy specification 0.2 and 6.1 (a bound on the norm of rows).
    Shapes: rows (n, 1 + p + 1); returns (n, 1 + p + 1).

    Examples
    --------
    >>> unit_rows(np.array([[32767, 32767, -32767, 16000]], dtype=np.int16), 1.0, 1.0, 1.0)
    array([[ 18918,  18918, -18918,   9237]], dtype=int16)
    """
    # A function of each row with public parameters, so neighbors stay neighbors. Under a linear model it is weighted
    # least squares with weights 1 / length^2, as long as y is not clipped.
    x = rows[:, 1:-1].astype(np.float64) if scaling is None else scaling(rows[:, 1:-1])
    length = _lengths(x, shortest, constant)
    inverse = (1.0 - 2.0**-40) / length  # rounding toward zero shall not meet a length that was itself rounded down
    scaled = np.empty(rows.shape)
    scaled[:, 0] = constant * GRID * inverse
    scaled[:, 1:-1] = x * inverse[:, None]
    scaled[:, -1] = np.clip(rows[:, -1] / (length * y_bound), -GRID, GRID)
    return np.trunc(scaled).astype(np.int16)


def column_sums(cells: Cells) -> Integers:
    """Return the number of rows and each column's sum, below them the sums of 2 x^2 - GRID^2.

    Shapes: cells (n, 1 + p + 1); returns (2, 1 + p).
    """
    # 2 x^2 - GRID^2 fills [-GRID^2, GRID^2]: a row more moves the sum by no more than x^2 would, and it says twice as
    # much.
    x = cells[:, 1:-1].astype(np.int64)
    sums = np.zeros((2, 1 + x.shape[1]), dtype=np.int64)
    sums[0, 0], sums[0, 1:], sums[1, 1:] = len(cells), x.sum(axis=0), (2 * x**2 - GRID**2).sum(axis=0)
    return sums


def constant_of(norm: float) -> int:
    """Return the constant column of rows of bounded norm, in steps: no longer than half of what x may be."""
    return max(int(GRID * CONSTANT * min(norm, 1.0)), 1)


def shortened_rows(rows: Cells, norm: float) -> Cells:
    """Return rows whose x has at most a norm: longer ones are multiplied by a factor, the constant and y with x.

    Under a linear model it is weighted least squares: the coefficients stay what they are. Cost: O(n p).
    Shapes: rows (n, 1 + p + 1); returns (n, 1 + p + 1).

    Examples
    --------
    >>> shortened_rows(np.array([[32767, 32767, 0, 16000], [32767, 9000, 0, 1]], dtype=np.int16), 0.5)
    array([[ 4095, 16383,     0,  8000],
           [ 8191,  9000,     0,     1]], dtype=int16)
    """
    squares = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T[1:-1]:  # whole numbers: the same for a row whatever stands beside it
        squares += column.astype(np.int64) ** 2
    longest = (1.0 - 1e-12) * norm * GRID  # 1e-12 is more than all relative rounding, 2^-53 a step
    # Rounding to the nearest step makes x longer by half a step a cell: that much room is left.
    room = max(longest - 0.5 * (rows.shape[1] - 2) ** 0.5, 0.0)
    factor = np.where(squares <= int(longest * norm * GRID), 1.0, room / np.sqrt(np.maximum(squares, 1)))
    scaled = rows * factor[:, None]
    scaled[:, 0] = constant_of(norm) * factor
    return np.rint(scaled).astype(np.int16)
