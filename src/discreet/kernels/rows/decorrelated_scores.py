"""Sums over rows of products of saturated columns and of cut residuals: whole numbers alone.

Each row's part is a function of that row and of public numbers, the same in any block, to the last bit. Whole numbers
are held as doubles below 2^53: their sums and products are exact in any order. A quotient's floor is exact too: what is
divided is below 2^53, so that one that is no whole number is further from it than rounding moves it.
"""

from typing import NamedTuple

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.typing import Bools, Cells, Floats, Integers

BITS = 14
"""Coefficients of rows are whole numbers in units of 2^-14."""

UNIT = 2.0**BITS

MOST = 2**31
"""Of a coefficient, in these units: sums of 64 products with cells, and of a constant, stay below 2^53."""

MOST_CUT = GRID
"""Residuals are cut to this many steps: what one row may add to a score."""


class Target(NamedTuple):
    """How the target, or what is left of it, becomes a number in [-1, 1]: 0 at the center, cut at a distance.

    Parameters
    ----------
    center : int
        In steps of the target.
    cut : int
        In steps; at least 1.
    """

    center: int
    cut: int


class Fit(NamedTuple):
    """What all columns say of the target, in whole numbers.

    Parameters
    ----------
    effects : ndarray of int, shape (p,)
        Of the columns, in units of 2^-14.
    constant : int
        Added, in units of 2^-14 steps.
    """

    effects: Integers
    constant: int


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
    excess : int
        About the mean of the cut target, in steps; it is taken off.
    """

    instruments: Integers
    instrument_constants: Integers
    effects: Integers
    constants: Integers
    excess: int


def saturated(cells: Cells, is_two_valued: Bools, centers: Integers, halves: Integers) -> Floats:
    """Return columns less their centers over half widths, in steps of 1 / 32767, cut at 1 and -1.

    Those of two values become 1 or -1. Shapes: cells (n, p); is_two_valued, centers, halves in steps, at least 1, (p,).
    """
    cut = cells.astype(np.float64)
    cut -= centers  # in place: three times as fast
    cut *= GRID
    cut /= halves
    np.clip(np.floor(cut, out=cut), -GRID, GRID, out=cut)
    cut[:, is_two_valued] = np.where(cells[:, is_two_valued] > 0, GRID, -GRID)
    return cut


def column_sums(columns: Floats, pairs: tuple[Integers, Integers]) -> Integers:
    """Return the number of rows, the columns' sums and those of products, in units of 1 / 32767^2."""
    first, second = pairs
    gram = columns.T @ columns
    count = np.array([len(columns) * GRID**2], dtype=np.float64)
    return np.concatenate([count, columns.sum(axis=0) * GRID, gram[first, second]]).astype(np.int64)


def target_sums(columns: Floats, response: Floats, target: Target) -> Integers:
    """Return the sums of the columns, and of a constant, times the cut target, in units of 1 / 32767^2."""
    cut = cut_target(response, target)
    return np.append(cut @ columns, cut.sum() * GRID).astype(np.int64)


def cut_target(response: Floats, target: Target) -> Floats:
    """Return the cut target of each row, in steps of [-1, 1]."""
    return _cut((response - target.center) * UNIT, target)


def own_sums(columns: Floats, response: Floats, target: Target, excess: int) -> Integers:
    """Return the sums of the columns times the cut target less its mean, in units of 1 / 32767^2.

    No factor of a term is larger than 32767. `excess` is that mean, in steps. Shapes: columns (n, p); returns (p,).
    """
    return np.asarray((_less(cut_target(response, target), excess) @ columns).astype(np.int64))


def residual_sum(columns: Floats, response: Floats, target: Target, fit: Fit) -> Integers:
    """Return the sum of the cut residuals of a fit, in units of 1 / 32767. Shapes: returns (1,)."""
    residuals = (response - target.center) * UNIT - columns @ fit.effects.astype(np.float64) - fit.constant
    return np.array([_cut(residuals, target).sum()]).astype(np.int64)


def score_sums(columns: Floats, response: Floats, target: Target, scoring: Scoring) -> Integers:
    """Return for each column the sum of its cut residual times that of the target, in units of 1 / 32767^2.

    No factor of a term is larger than 32767. Shapes: columns (n, p), response (n,); returns (p,).
    """
    instruments = _times(columns, scoring.instruments, scoring.instrument_constants)
    fitted = columns @ scoring.effects.T.astype(np.float64) + scoring.constants
    left = _less(_cut((response[:, None] - target.center) * UNIT - fitted, target), scoring.excess)
    return np.asarray((instruments * left).sum(axis=0).astype(np.int64))


def turned_sums(columns: Floats, turned: Integers, constants: Integers) -> Integers:
    """Return the sums of the turned columns, cut, and of products of each two, in units of 1 / 32767^2.

    Shapes: columns (n, p), turned (p, p) in units of 2^-14, constants (p,); returns (p + p (p - 1) / 2,).
    """
    whitened = _times(columns, turned, constants)
    first, second = np.triu_indices(len(turned), 1)
    return np.concatenate([whitened.sum(axis=0) * GRID, (whitened.T @ whitened)[first, second]]).astype(np.int64)


def _times(columns: Floats, weights: Integers, constants: Integers) -> Floats:
    """Return sums of columns by weights in units of 2^-14, as whole steps that are cut. Shapes: weights (q, p)."""
    return np.clip(np.floor((columns @ weights.T.astype(np.float64) + constants) / UNIT), -MOST_CUT, MOST_CUT)


def _less(cut: Floats, excess: int) -> Floats:
    """Return cut residuals less their mean, within as many steps as before."""
    # |cut - excess| <= GRID + |excess|: divided by it, a row moves a score by no more than before, whatever the mean
    # is.
    return np.floor((cut - excess) * GRID / (GRID + abs(excess)))


def _cut(residuals: Floats, target: Target) -> Floats:
    """Return residuals in units of 2^-14 steps, cut, as steps of [-1, 1]."""
    most = target.cut * UNIT
    return np.floor(np.clip(residuals, -most, most) * GRID / most)
