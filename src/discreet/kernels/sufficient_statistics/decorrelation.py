"""From noisy products of columns and target to decorrelated scores; all of it is post-processing.

The score of a column is the sum of its residual on the other columns times the target's residual on them, both cut. An
error of the first regression meets what the second leaves, and counts to the second order (Ning and Liu 2017).
"""

import math
from typing import NamedTuple

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.decorrelated_scores import BITS, MOST, Fit, Scoring
from discreet.kernels.sufficient_statistics.cut_columns import Columns, cut_covariances, cut_means
from discreet.typing import Bools, Floats, Integers

EXPLAINED = 0.5
"""Share of the target's variance that the columns are supposed to explain, before anything is known."""

LEFT_BY_PILOT = 0.5
"""Share of what the columns explain that is supposed to be left after a pilot."""

CUTS = (0.7, 3.0)
"""Where the residual of a column is cut, in its standard deviations: with few rows, and with many."""

DRIFT = 0.05
"""By what the mean of the cut target may move when the columns' effects are taken off: its standard deviation."""

FROM_PILOT = 0.6
"""Weight of what the first look at the target says beside the final scores, which rest on more."""

TYPICAL_SLOPE = 0.9
"""Of residuals that the columns explain in part: the standard deviation of the target over theirs, and own effects."""

LEAST_OWN = 0.2
"""Part of its own effect that a cut rare column has at least, over that of a normal one: a constant one has none."""

MEDIAN_OF_NORMAL = 0.6745
"""Median distance of a normal number from its mean, in standard deviations."""

TARGET_SLOPE = 0.783
"""Covariance of a normal number that is cut at half its median distance with it, in standard deviations."""

SQUARE_OF_REAL = 0.8
"""Mean square of a column's residual once it is cut; it is 1 of two values in equal parts."""

PRODUCT_TAILS = 1.5
"""Times the variance of a product of two noises, whose tails are longer than those of a normal number."""

SAMPLING = 0.8
"""Variance, a row, of a saturated column times the cut target."""


class Pilot(NamedTuple):
    """A first look at the target: coefficients of standardized columns, in its standard deviations, shrunk.

    Parameters
    ----------
    coefficients : ndarray of float, shape (p,)
        What they are.
    variance : ndarray of float, shape (p, p)
        Of their noise.
    row_variance : ndarray of float, shape (p, p)
        Of their sampling where no column matters, times the number of rows.
    excess : float
        Mean of the cut target.
    excess_variance : float
        Of its sampling and noise.
    """

    coefficients: Floats
    variance: Floats
    row_variance: Floats
    excess: float
    excess_variance: float

    @classmethod
    def none(cls, p: int) -> "Pilot":
        """Return what is known before any look: nothing."""
        return cls(np.zeros(p), np.zeros((p, p)), np.zeros((p, p)), 0.0, 1.0)


def pilot(columns: Columns, averages: Floats, n_rows: float, variance: float) -> Pilot:
    """Return a first look from averages of the saturated columns, and of a constant, times the cut target.

    `variance` is that of the noise of such an average over so many rows. Shapes: averages (p + 1,).
    """
    p, correlations = len(columns.sds), columns.correlations
    slopes = (averages[:-1] - averages[-1] * columns.means) / columns.sds / TARGET_SLOPE
    prior = EXPLAINED / p
    # What is taken off a product is the target's mean times a column's, which has noise of its own.
    of_noise = variance + columns.mean_variance * min(averages[-1] ** 2, 1.0)
    of_rows = correlations * SAMPLING / TARGET_SLOPE**2
    noise = np.diag(of_noise / (columns.sds * TARGET_SLOPE) ** 2)
    of_columns = np.diag(EXPLAINED * columns.errors.mean(axis=1))
    spread = prior * correlations @ correlations + of_rows / n_rows + noise + of_columns
    shrinking = prior * np.linalg.solve(spread, correlations).T
    excess = min(max(float(averages[-1]), -1.0), 1.0)
    variances = (shrinking @ noise @ shrinking.T, shrinking @ of_rows @ shrinking.T)
    return Pilot(shrinking @ slopes, *variances, excess, SAMPLING / n_rows + variance)


def fit_of(columns: Columns, first: Pilot, distance: int) -> Fit:
    """Return the pilot as the whole numbers that rows are fitted by."""
    effects = first.coefficients * (distance / MEDIAN_OF_NORMAL) / (columns.sds * GRID)
    return Fit(whole(effects), int(whole(-(effects @ columns.means))) * GRID)


def corrected(first: Pilot, mean: float, variance: float) -> Pilot:
    """Return the pilot with the mean of the residuals in place of that of the target, as far as its noise lets it.

    `mean` is the noisy one of the cut residuals, `variance` that of its noise and sampling.
    """
    before = first.excess_variance + DRIFT**2
    weight = before / (before + variance)
    excess = min(max(weight * mean + (1.0 - weight) * first.excess, -1.0), 1.0)
    return first._replace(excess=excess, excess_variance=before * variance / (before + variance))


class Decorrelation(NamedTuple):
    """How rows are scored, and what is known of the scores before.

    Parameters
    ----------
    scoring : Scoring
        Of the rows.
    shifts : ndarray of float, shape (p,)
        What the pilot adds to each score, a row.
    row_variances : ndarray of float, shape (p,)
        Of what a row adds to a score of no effect.
    variances : ndarray of float, shape (p,)
        Of a score of no effect besides, over the square of the number of rows: of these shifts, and of a center and
        means that are not exact.
    slopes : ndarray of float, shape (p,)
        What a row's score gains by what the pilot left of the column's own effect, in the target's deviations.
    leaks : ndarray of float, shape (p, p)
        Variance, over the square of the number of rows, of what score j gains by what is left of the effect of k: none
        if the columns' correlations were exact.
    common : ndarray of float, shape (p, p)
        The part of it that all effects share: it adds up before it is squared.
    bends : ndarray of float, shape (p, p)
        The same by the whole effect of k, as a cut column does not take off all of it.
    unseen : ndarray of float, shape (p,)
        The same by columns that noise or a first screening hides, if they explain `EXPLAINED` of the target.
    coefficients : ndarray of float, shape (p,)
        The effects that the first look found, in the target's deviations.
    """

    scoring: Scoring
    shifts: Floats
    row_variances: Floats
    variances: Floats
    slopes: Floats
    leaks: Floats
    common: Floats
    bends: Floats
    unseen: Floats
    coefficients: Floats


def decorrelation(
    columns: Columns, first: Pilot, n_rows: float, groups: Bools, distance: int, cut: float, hides: bool = False
) -> Decorrelation:
    """Return how rows are scored, residuals of columns cut at so many standard deviations.

    `groups` tells which columns enter together with each; the others are adjusted for. `distance` is the target's
    median distance from its center, in steps. Shapes: groups (p, p).
    """
    correlations, sds, means = columns.correlations, columns.sds, columns.means
    p, sd = len(sds), distance / MEDIAN_OF_NORMAL
    instruments, sizes = np.eye(p), np.ones(p)
    for j in range(p):
        others = ~groups[j]
        if others.any():
            within = correlations[np.ix_(others, others)]
            instruments[j, others] = -np.linalg.solve(within, correlations[others, j])
        sizes[j] = math.sqrt(max(instruments[j] @ correlations @ instruments[j], 1e-6))
    weights = instruments / sds / (sizes[:, None] * cut)
    effects = np.where(groups, 0.0, first.coefficients * sd / (sds * GRID))
    scoring = Scoring(
        whole(weights),
        whole(-(weights @ means)) * GRID,
        whole(effects),
        -whole(effects @ means) * GRID,
        round(first.excess * GRID),
    )
    inside = (2.0 * _normal_cdf(cut) - 1.0) / cut
    own = FROM_PILOT * TYPICAL_SLOPE * TARGET_SLOPE * inside * np.where(groups, instruments @ correlations, 0.0)
    own = own / sizes[:, None] / (1.0 + abs(first.excess))
    of_pilot, of_rows = (np.einsum("ij,jk,ik->i", own, each, own) for each in (first.variance, first.row_variance))
    of_means = columns.mean_variance * (inside / (sds * sizes)) ** 2 + cut_means(columns, cut) ** 2
    of_means = PRODUCT_TAILS * of_means * first.excess_variance
    # An error of what the others say of a column meets what they say of the target, as far as no pilot took it off.
    left = EXPLAINED * (LEFT_BY_PILOT if first.coefficients.any() else 1.0)
    of_records = left * (TARGET_SLOPE * inside) ** 2 / columns.n_records
    # The cut target has a variance of at most 1 - mean^2, whatever its law, and is then divided by 1 + |mean|.
    excess = max(abs(first.excess) - 2.0 * math.sqrt(first.excess_variance), 0.0)
    squares = np.minimum(np.where(columns.is_two_valued, 1.0, SQUARE_OF_REAL), 1.0 / cut**2)
    # The first look and the score are of the same rows: what these do to them by chance adds up.
    row_variances = (np.sqrt((1.0 - excess) / (1.0 + excess) * squares) + np.sqrt(of_rows)) ** 2
    # Residual j times column k: sum over l of a_jl times the error of correlation l, k.
    slope = TYPICAL_SLOPE * TARGET_SLOPE * inside
    leaks = np.where(groups, 0.0, instruments**2 @ columns.risks) * (slope / sizes[:, None]) ** 2
    # Covariances are less m m', and an error d of the means moves them by -(m d' + d m'): score j by a_j d times the
    # sum of the effects times m. Shrinking, too, moves all correlations of a column the same way.
    of_mean_noise = columns.mean_variance / sds**2
    common = np.outer(instruments**2 @ of_mean_noise, (means / sds) ** 2) + instruments**2 @ columns.pulls
    common = np.where(groups, 0.0, common) * (slope / sizes[:, None]) ** 2
    # The noise of the first look is taken off rows, too, and the correlations' errors let it through.
    of_leaks = leaks @ (first.variance + first.row_variance / n_rows).diagonal()
    shifts, variances = own @ first.coefficients, of_pilot + of_means + of_records + of_leaks
    bends = np.zeros_like(leaks)
    if columns.bends is not None:
        # Of column k's effect on score j what the line in the cut column k leaves: a_jk times the share that is bent.
        bends = np.where(groups, 0.0, instruments * columns.bends * slope / sizes[:, None]) ** 2
    # A hidden column k may go with column j as far as the noise of their correlation lets it.
    likely = np.where(groups, 0.0, np.minimum(correlations**2 + columns.risks, 1.0))
    is_hidden = np.full(p, hides) if columns.is_unseen is None else columns.is_unseen | hides
    unseen = EXPLAINED * (slope / sizes) ** 2 * np.where(is_hidden, likely, 0.0).max(axis=1, initial=0.0)
    # What the cut leaves of a column's own effect: of a rare one, whose ones lie far out, less than of others.
    slopes = slope * sizes * np.clip(cut_covariances(columns, cut) / (inside * cut), LEAST_OWN, 1.0)
    of_others = (leaks, common, bends, unseen)
    return Decorrelation(scoring, shifts, row_variances, variances, slopes, *of_others, first.coefficients)


def leak_variances(scores: Decorrelation, sizes: Floats, noise: Floats, n_rows: float, units: Integers) -> Floats:
    """Return the variances of scores by what the noise of the correlations lets through of the effects of chosen units.

    `sizes` are the noisy absolute scores of the columns, in rows, `noise` the variances of what is not effect in them,
    `units` the chosen unit of each column, -1 where it is not chosen. Shapes: all (p,).
    """
    # What the pilot left of an effect, squared; none where the score says less than its noise.
    left = np.maximum((sizes - np.abs(scores.shifts) * n_rows) ** 2 - noise, 0.0) / scores.slopes**2
    through = scores.leaks * left + scores.bends * (np.sqrt(left) + n_rows * np.abs(scores.coefficients)) ** 2
    # Of a category's columns the one that lets most through: they share one score.
    chosen = [through[:, units == unit].max(axis=1) for unit in np.unique(units[units >= 0])]
    variances: Floats = np.sum(chosen, axis=0) if chosen else np.zeros(len(sizes))
    together = scores.common * np.where(units >= 0, left, 0.0)
    # Each one's own part is among the leaks.
    shared: Floats = np.sqrt(together).sum(axis=1) ** 2 - together.sum(axis=1)
    return variances + shared


def whole(values: Floats) -> Integers:
    """Return coefficients of rows as whole numbers, in units of 2^-14."""
    return np.rint(np.clip(values * 2.0**BITS, -MOST, MOST)).astype(np.int64)


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))
