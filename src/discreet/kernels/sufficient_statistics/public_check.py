"""A look at whether rows go with public columns: products of columns that are uncorrelated if they do."""

import math

import numpy as np
from scipy.special import ndtri

from discreet.kernels.moments.moments import GRID
from discreet.kernels.sufficient_statistics.cut_columns import Columns, cut_means
from discreet.kernels.sufficient_statistics.decorrelation import whole
from discreet.typing import Integers

CHECKED = 0.8
"""Standard deviations at which columns are cut for a look at whether they are as public records say."""

SQUARE_OF_CHECKED = 0.5
"""Variance of a product of two columns that are cut there."""

MEANS_COUNT = 3
"""A column's sum counts this many times less than a product's: the means of cut columns are known less well."""

SELDOM = 0.4
"""Chance that one of the sums is larger than chance makes it, two-sided."""

BENT = 0.03
"""What a cut leaves of the mean product of columns that are not correlated but not independent."""


def whitening(columns: Columns) -> tuple[Integers, Integers]:
    """Return the whole numbers that make columns uncorrelated, if they are as is known, cut at `CHECKED` deviations.

    Shapes: returns (p, p), (p,).
    """
    values, vectors = np.linalg.eigh(columns.correlations)
    root = (vectors / np.sqrt(values)) @ vectors.T
    weights = root / columns.sds / CHECKED
    return whole(weights), whole(-(weights @ columns.means)) * GRID


def largest_difference(sums: Integers, p: int) -> int:
    """Return the largest of the sums of `turned_sums` as it is the same for all: those of columns count a third.

    It moves by no more than one of the sums does.
    """
    of_columns, of_pairs = np.abs(sums[:p]) // MEANS_COUNT, np.abs(sums[p:])
    return int(max(of_columns.max(), of_pairs.max(initial=0)))


def most_difference(columns: Columns, n_rows: float) -> float:
    """Return how large that may be, in rows, if the columns are as public records say."""
    p = len(columns.sds)
    bent = np.sort(np.abs(cut_means(columns, CHECKED)))
    tolerance = BENT + max(float(bent[-2:].prod()) if p > 1 else 0.0, float(bent[-1]) / MEANS_COUNT)
    by_chance = math.sqrt(SQUARE_OF_CHECKED * n_rows * (1.0 + n_rows / columns.n_records))
    return tolerance * n_rows - float(ndtri(SELDOM / (p * (p + 1)))) * by_chance
