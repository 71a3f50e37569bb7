"""Rows that may all have one response: coefficients may then go along their direction without end.

Let a'x be 1 for rows of one value and 0 for all others: a level, the reference level, an end of a column of two values,
or all rows. Where no row of that value has the low response, the likelihood rises along a for ever, and where none has
the high one, along -a (Albert and Anderson 1984). Of counts it rises along -a where all of that value are zero, and
along a only where no row has it. How many there are follows from sums that were released: with S the
sum of x (y - middle), G that of x x' and h half the response's range,

    sum of (high - y) a'x = h a'G e_0 - a'S,        sum of (y - low) a'x = h a'G e_0 + a'S.

An end is told only where such a number stands out from its noise. Nothing is asked of the rows.
"""

from dataclasses import dataclass

import numpy as np

from discreet.kernels.glm.families import Family, Groups
from discreet.kernels.glm.pooled_score import Sums
from discreet.typing import Bools, Floats

STANDS_OUT = 3.0
"""Standard deviations of its noise; of numbers that are zero one in a thousand does."""

ROUNDING = 2.0**-13
"""Of the rows: what rounding to whole steps may add."""


@dataclass(frozen=True)
class NoisyNumbers:
    """Noisy numbers of rows of each value, with their standard deviations.

    Parameters
    ----------
    rows : ndarray of float, shape (k,)
        Of that value.
    low, high : ndarray of float, shape (k,)
        Of these, rows with the low, with the high response; or no more than there are. Of counts `high` is their sum.
    sd_rows, sd_low, sd_high : ndarray of float, shape (k,)
        Of their noise.
    """

    rows: Floats
    low: Floats
    high: Floats
    sd_rows: Floats
    sd_low: Floats
    sd_high: Floats

    @property
    def are_none(self) -> tuple[Bools, Bools, Bools]:
        """Whether there may be no rows at all, none with the low, none with the high response."""
        rounding = ROUNDING * np.maximum(self.rows, 1.0)
        no_rows: Bools = self.rows <= STANDS_OUT * self.sd_rows + rounding
        no_low: Bools = no_rows | (self.low <= STANDS_OUT * self.sd_low + rounding)
        no_high: Bools = no_rows | (self.high <= STANDS_OUT * self.sd_high + rounding)
        return no_rows, no_low, no_high


def values_of(gram: Floats, variances: Floats, groups: Groups) -> tuple[Floats, Floats]:
    """Return the values a of which rows may have one response alone, and the columns that are no levels.

    All rows come first, then levels, reference levels, and both ends of columns that may have no value between them:
    their squares add up to the number of rows, as far as noise tells. Shapes: gram, variances (p, p); returns
    (k, p), (q, p).
    """
    p = len(gram)
    unit, levels = np.eye(p), [j for group in groups for j in group]
    values = [unit[0], *unit[levels]]
    values += [unit[0] - unit[list(group)].sum(axis=0) for group in groups]
    numeric = [j for j in range(1, p) if j not in levels]
    between = gram[0, 0] - np.diagonal(gram)
    sd = np.sqrt(variances[0, 0] + np.diagonal(variances))
    for j in numeric:
        if between[j] <= STANDS_OUT * sd[j] + ROUNDING * max(float(gram[0, 0]), 1.0):
            values += [(unit[0] + unit[j]) / 2.0, (unit[0] - unit[j]) / 2.0]
    return np.array(values), unit[numeric]


def separating(values: Floats, numeric: Floats, numbers: NoisyNumbers, counts: bool) -> Floats:
    """Return the directions along which nothing tells that coefficients end, lengths 1. Shapes: (k, p); (m, p)."""
    no_rows, no_low, no_high = numbers.are_none
    if counts:
        no_low = no_rows
    directions = [*values[no_low], *-values[no_high]]
    # Where all rows have one response no slope is ruled out: 1 + x and 1 - x are never negative.
    for alone, sign in ((no_low[0], 1.0), (no_high[0], -1.0)):
        if alone:
            directions += [*(sign * (values[0] + numeric)), *(sign * (values[0] - numeric))]
    if not directions:
        return np.zeros((0, values.shape[1]))
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    unique: Floats = np.unique(np.array(directions) / lengths, axis=0)
    return unique


def separating_sums(family: Family, first: Sums, groups: Groups) -> Floats:
    """Return the directions that sums of x (y - middle) and of x x' leave without end. Shapes: returns (m, p)."""
    values, numeric = values_of(first.gram, first.variances, groups)
    rows, of_rows = values @ first.gram[:, 0], values**2 @ first.variances[:, 0]
    pull, of_pull = values @ first.gradient, (values**2).sum(axis=1) * first.variance
    sd = (of_rows / 4.0 + of_pull / (2.0 * family.half) ** 2) ** 0.5
    numbers = NoisyNumbers(
        rows=rows,
        low=rows / 2.0 - pull / (2.0 * family.half),
        high=rows / 2.0 + pull / (2.0 * family.half),
        sd_rows=of_rows**0.5,
        sd_low=sd,
        sd_high=sd,
    )
    return separating(values, numeric, numbers, family.counts)
