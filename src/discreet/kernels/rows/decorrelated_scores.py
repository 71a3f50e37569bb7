"""Sums over rows of products of saturated columns and of signs of residuals: whole numbers alone.

Each row's part is a function of that row and of public numbers, the same in any block, to the last bit.
"""

from typing import NamedTuple

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.typing import Bools, Cells, Integers

BITS = 14
"""Coefficients of rows are whole numbers in units of 2^-14."""

MOST = 2**32
"""Of a coefficient, in these units: sums of 64 products with cells stay below 2^54."""

MOST_CUT = GRID
"""Residuals are cut to this many steps: what one row may add to a score."""

SATURATION = (5, 3)
"""Cells are multiplied by this fraction and cut: a column is at its end from .6 of its half range on."""


class Scoring(NamedTuple):
    """What the rows' scores are made of, in whole numbers; public, or released before.

    Parameters
    ----------
    instruments : ndarray of int, shape (p, p)
        Row j times the columns, in units of 2^-14, is column j less what the others say of it.
    instrument_constants : ndarray of int, shape (p,)
        Added to it, in units of 2^-14 steps.
    effects : ndarray of int, shape (p, p)
        Row j times the columns is what the others say of the target, in units of 2^-14.
    constants : ndarray of int, shape (p,)
        Added to it, in units of 2^-14 steps.
    """

    instruments: Integers
    instrument_constants: Integers
    effects: Integers
    constants: Integers


def saturated(cells: Cells, is_two_valued: Bools) -> Integers:
    """Return columns cut inside their bounds; those of two values become 1 or -1. Shapes: cells (n, p), (p,)."""
    up, down = SATURATION
    wide = cells.astype(np.int64)
    cut = np.clip(wide * up // down, -GRID, GRID)
    return np.where(is_two_valued, np.where(wide > 0, GRID, -GRID), cut)


def column_sums(columns: Integers, pairs: tuple[Integers, Integers]) -> Integers:
    """Return the number of rows, the columns' sums and those of products, in units of 1 / 32767^2."""
    first, second = pairs
    gram = columns.T @ columns
    count = np.array([len(columns) * GRID**2], dtype=np.int64)
    return np.concatenate([count, columns.sum(axis=0) * GRID, gram[first, second]])


def sign_sums(columns: Integers, response: Integers, center: int) -> Integers:
    """Return the sums of the columns, and of a constant, times the sign of the target's distance from its center.

    In units of 1 / 32767.
    """
    signs = np.sign(response - center)
    return np.append(signs @ columns, signs.sum() * GRID)


def score_sums(columns: Integers, response: Integers, scoring: Scoring) -> Integers:
    """Return for each column the sum of its cut residual times the sign of the target's, in units of 1 / 32767.

    No term is larger than 32767. Shapes: columns (n, p), response (n,); returns (p,).
    """
    instruments = columns @ scoring.instruments.T + scoring.instrument_constants >> BITS
    residuals = (response[:, None] << BITS) - columns @ scoring.effects.T - scoring.constants
    sums: Integers = (np.clip(instruments, -MOST_CUT, MOST_CUT) * np.sign(residuals)).sum(axis=0)
    return sums
