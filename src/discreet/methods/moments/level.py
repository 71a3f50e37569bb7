"""The level of a target by itself, beside noisy moments of few rows: its sum again, or its median."""

import math
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.accounting.bounded_range import epsilon_within_gaussian
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.engine import Table
from discreet.kernels.moments.moments import GRID
from discreet.kernels.sufficient_statistics.level import counts_at_points
from discreet.mechanisms.quantile import DENOMINATOR, rank_distances, rank_sensitivity
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noisy_min
from discreet.methods.base.noise_budget import NoiseBudget, PrivateEstimate, drawn_together
from discreet.methods.moments.noisy_sums import NoisySums
from discreet.release import LevelRecord, MomentsRecord
from discreet.typing import Integers

SHARE_OF_MEDIAN, SHARE_OF_SUM = Fraction(1, 5), Fraction(1, 10)
"""Of the budget: with so few rows that slopes are hardly told, what the target is about is most of a prediction."""

LARGEST_ERROR = 0.02
"""Of the noise in the target's mean, in half ranges: beyond it the median has less, and its bias is small beside it."""

POINTS = 2001
"""Equally spaced, from the target's lower to its upper bound, on which the median is sought."""

MEDIAN = Fraction(1, 2)

SPARSENESS = 0.7
"""Half ranges of the target for which the middle of its law is thought to account, by the share of rows in them."""


def has_level(sums: NoisySums) -> bool:
    """Tell whether the moments have a constant that is 1 in every row, whose coefficient the level is."""
    return sums.fit_intercept and not sums.design.is_weighted and sums.adjustment.weights is None


def sum_of_target(sums: NoisySums) -> PrivateEstimate:
    """Return the estimate of the target's sum. Claim: ``noisy_moments.privacy.md``."""
    metadata = sums.design.metadata
    factor = 2 if metadata.neighboring is NeighboringRelation.REPLACE_ONE else 1
    largest, unit = Fraction(factor * metadata.rows_per_unit), GRID * GRID
    return PrivateEstimate("sum of y", (largest * unit) ** 2, Fraction(1), unit, f"{largest}", n_numbers=1)


def level_share(sums: NoisySums, budget: NoiseBudget, n_rows: float) -> Fraction:
    """Return the share of a whole budget that a second look at the target asks for, by how many rows there are."""
    if not has_level(sums):
        return Fraction(0)
    estimate = sum_of_target(sums)
    noise = math.sqrt(estimate.variance(budget.part(SHARE_OF_SUM))) / estimate.step
    return SHARE_OF_SUM if noise <= LARGEST_ERROR * n_rows else SHARE_OF_MEDIAN


def with_level(
    record: MomentsRecord,
    sums: NoisySums,
    moments: Integers,
    table: Table,
    budget: NoiseBudget,
    share: Fraction,
    rng: Source,
) -> MomentsRecord:
    """Return the moments with a second look at the target alone, for a share of the budget that says which.

    The sum is pooled with the one that is there; the median stands beside it, and estimates rest on it.
    Claim: ``noisy_moments.privacy.md``. Shapes: moments as of `NoisySums.draw`, exact.
    """
    if share == SHARE_OF_SUM:
        estimate, budget = sum_of_target(sums), budget.part(share)
        variance = estimate.variance(budget)
        second_sum = drawn_together([estimate], {estimate.name: [int(moments[0, -1])]}, budget, rng)[estimate.name][0]
        weight = record.xty_variance[0] / (record.xty_variance[0] + variance)  # of the second: inverse variances
        pooled = round(weight * second_sum + (1.0 - weight) * record.xty[0])
        variances = (weight * variance, *record.xty_variance[1:])
        return record.model_copy(update={"xty": (pooled, *record.xty[1:]), "xty_variance": variances})
    counts = table.map_reduce(sums.design, partial(counts_at_points, n_points=POINTS), np.zeros(POINTS, dtype=np.int64))
    metadata = sums.design.metadata
    gamma = rank_sensitivity(MEDIAN, metadata.neighboring, metadata.rows_per_unit) * DENOMINATOR
    epsilon = _epsilon(budget.part(share))
    place = noisy_min(rank_distances(counts, MEDIAN), gamma, epsilon, rng, "gumbel")
    # The rank's error is two-sided geometric, nearly, of scale gamma / epsilon.
    error = math.sqrt(2.0) * float(gamma / epsilon / DENOMINATOR) / record.n_rows * SPARSENESS
    level = LevelRecord(median=round(GRID * (2 * place / (POINTS - 1) - 1)), error=min(error, 1.0))
    return record.model_copy(update={"level": level})


def _epsilon(budget: NoiseBudget) -> Fraction:
    """Of a choice that costs what the budget is: in place of noise in an ellipsoid, or of Gaussian noise."""
    return budget.epsilon or Fraction(1) if budget.rho is None else epsilon_within_gaussian(budget.rho)
