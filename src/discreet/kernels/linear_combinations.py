"""Intervals of linear combinations of coefficients, of which no end is made by a limit."""

from collections.abc import Callable

import numpy as np

from discreet.typing import Bools, Floats

Ends = tuple[Floats, Floats]


def ends_of_combinations(rows: Floats, alone: Ends, several: Callable[[Floats], Ends]) -> Ends:
    """Return the ends of combinations of coefficients.

    `alone` are the ends of each coefficient, infinite where the limits of a method would make them; `several` returns
    those of rows with several coefficients. Shapes: rows (k, p), alone (p,) each; returns (k,) each.
    """
    number = (rows != 0).sum(axis=1)
    low, high = np.zeros(len(rows)), np.zeros(len(rows))
    for k in np.flatnonzero(number == 1):
        place = int(np.flatnonzero(rows[k])[0])
        low[k], high[k] = sorted(rows[k, place] * end[place] for end in alone)
    if (number > 1).any():
        low[number > 1], high[number > 1] = several(rows[number > 1])
    no_low, no_high = without_ends(rows, np.isinf(alone[0]), np.isinf(alone[1]))
    return np.where(no_low, -np.inf, low), np.where(no_high, np.inf, high)


def without_ends(rows: Floats, no_low: Bools, no_high: Bools) -> tuple[Bools, Bools]:
    """Return which combinations have no lower, no upper end: those with a coefficient that has none there.

    Shapes: rows (k, p), no_low, no_high (p,) of the coefficients; returns (k,), (k,).
    """
    up, down = rows > 0, rows < 0
    opened_low: Bools = np.any((up & no_low) | (down & no_high), axis=1)
    opened_high: Bools = np.any((up & no_high) | (down & no_low), axis=1)
    return opened_low, opened_high
