"""From noisy products of columns and target to decorrelated scores; all of it is post-processing.

The score of a column is the sum of its residual on the other columns times the target's residual on them, both cut. An
error of the first regression meets what the second leaves, and counts to the second order (Ning and Liu 2017).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.decorrelated_scores import BITS, MOST, Fit, Scoring
from discreet.typing import Bools, Floats, Integers

EXPLAINED = 0.5
"""Share of the target's variance that the columns are supposed to explain, before anything is known."""

LEAST_EIGENVALUE = 0.15
"""Of the correlations: beyond it nothing can be told of two columns beside each other."""

LEAST_PUBLIC_EIGENVALUE = 0.01
"""The same of correlations without noise."""

LEFT_BY_PILOT = 0.5
"""Share of what the columns explain that is supposed to be left after a pilot."""

LEAST_KEPT = 0.1
"""Of the noise of a correlation, the share that is thought to be left after shrinking at the least."""

LEAST_VARIANCE = 1e-4
"""Of a saturated column; one and a half standard deviations of its noise where that is more."""

CUTS = (0.7, 3.0)
"""Where the residual of a column is cut, in its standard deviations: with few rows, and with many."""

DRIFT = 0.05
"""By what the mean of the cut target may move when the columns' effects are taken off: its standard deviation."""

FROM_PILOT = 0.6
"""Weight of what the first look at the target says beside the final scores, which rest on more."""


TYPICAL_SLOPE = 0.9
"""Of residuals that the columns explain in part: the standard deviation of the target over theirs, and own effects."""

MEDIAN_OF_NORMAL = 0.6745
"""Median distance of a normal number from its mean, in standard deviations."""

TARGET_SLOPE = 0.783
"""Covariance of a normal number that is cut at half its median distance with it, in standard deviations."""

SQUARE_OF_REAL = 0.8
"""Mean square of a column's residual once it is cut; it is 1 of two values in equal parts."""

TYPICAL_CUT_MEAN = 0.2
"""Mean of a real column's residual once it is cut, up to which the error of the target's mean is counted."""

CUT_MEAN_OF_SKEWNESS, LEAST_CUT_MEAN = 0.133, 0.02
"""The same of a column whose skewness is known: phi(0) / 3 of it, by the first term of Edgeworth's series."""


PRODUCT_TAILS = 1.5
"""Times the variance of a product of two noises, whose tails are longer than those of a normal number."""

SAMPLING = 0.8
"""Variance, a row, of a saturated column times the cut target."""

CHECKED = 0.8
"""Standard deviations at which columns are cut for a look at whether they are as public records say."""

SQUARE_OF_CHECKED = 0.5
"""Variance of a product of two columns that are cut there."""

MEANS_COUNT = 3
"""A column's sum counts this many times less than a product's: the means of cut columns are known less well."""

SELDOM = 0.4
"""Chance that one of the sums is larger than chance makes it, two-sided."""

BEND, BEND_DECAY = 0.25, 1.0
"""Share of a symmetric column's variance that its sign does not give, and how that falls the wider it is cut."""

BEND_OF_SKEWED = 2.0
"""What a skewed one adds, by the square of its mean once it is cut: its median lies off the center, its mean."""

BENT = 0.03
"""What a cut leaves of the mean product of columns that are not correlated but not independent."""


MOST_CENTER = 0.9
"""Of a center, in half ranges: so much is left to the nearer bound at least."""


def shrunk_means(averages: Floats, variance: float) -> Floats:
    """Return noisy averages, whose noise has this variance, as centers: nearer to zero as far as noise asks for it."""
    kept = np.maximum(1.0 - variance / np.maximum(averages**2, 1e-300), 0.0)
    return np.clip(kept * averages, -MOST_CENTER, MOST_CENTER)


class Columns(NamedTuple):
    """What is known of the columns.

    Parameters
    ----------
    means, sds : ndarray of float, shape (p,)
        Of cells in [-1, 1].
    correlations : ndarray of float, shape (p, p)
        Shrunk as far as noise asks for; positive definite.
    errors : ndarray of float, shape (p, p)
        Their variances after that, if they are alike; 0 on the diagonal.
    risks : ndarray of float, shape (p, p)
        Their mean squared errors, however unlike they are: at least `errors`.
    mean_variance : float
        Of the noise of each mean.
    is_two_valued : ndarray of bool, shape (p,)
        Which are 1 or -1.
    cut_means : ndarray of float, shape (p,), optional
        What the mean of each may be once it is standardized and cut, where that is known.
    n_records : float
        How many public records all this was computed from, infinite where it was not.
    bends : ndarray of float, shape (p,), optional
        Shares of the columns' variances that no straight line in the cut columns gives; default none.
    """

    means: Floats
    sds: Floats
    correlations: Floats
    errors: Floats
    risks: Floats
    mean_variance: float
    is_two_valued: Bools
    cut_means: Floats | None = None
    n_records: float = math.inf
    bends: Floats | None = None


def columns_of(
    means: Floats, second: Floats, variance: float, is_two_valued: Bools, cut: float, is_centered: bool
) -> Columns:
    """Return means and correlations from noisy averages, whose noise has this variance.

    Correlations are shrunk to their mean, and the mean to zero. Columns were cut at so many half widths of a uniform
    column of their spread, around about their means if `is_centered`. Shapes: means (p,), second (p, p), symmetric.
    """
    noise = math.sqrt(variance)
    centers = np.clip(means, -1.0, 1.0)
    covariance = second - np.outer(centers, centers)
    # The second moment of 1 and -1 is 1.
    of_two = np.maximum(1.0 - centers**2, 0.0)
    diagonal = np.where(is_two_valued, of_two, covariance.diagonal())
    sds = np.sqrt(np.clip(diagonal, max(1.5 * noise, LEAST_VARIANCE), 1.0))
    correlations = np.clip(covariance / np.outer(sds, sds), -1.0, 1.0)
    noises = variance / np.outer(sds, sds) ** 2
    shrunk, errors, risks = _shrunk(correlations, noises)
    values, vectors = np.linalg.eigh(shrunk)
    bends = BEND * math.exp(-BEND_DECAY * cut) + BEND_OF_SKEWED * is_centered * centers**2
    return Columns(
        centers,
        sds,
        (vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T,
        errors,
        risks,
        variance,
        is_two_valued,
        bends=np.where(is_two_valued, 0.0, np.minimum(bends, 1.0)),
    )


def public_columns(
    means: Floats, covariance: Floats, skewness: Floats, n_records: float, is_two_valued: Bools
) -> Columns:
    """Return means and correlations that are known without noise, from so many public records.

    Shapes: means, skewness (p,), covariance (p, p).
    """
    sds = np.sqrt(covariance.diagonal())
    values, vectors = np.linalg.eigh(covariance / np.outer(sds, sds))
    correlations = (vectors * np.maximum(values, LEAST_PUBLIC_EIGENVALUE)) @ vectors.T
    of_means = float(covariance.diagonal().max()) / n_records
    cut_means = np.maximum(CUT_MEAN_OF_SKEWNESS * np.abs(skewness), LEAST_CUT_MEAN)
    none = np.zeros_like(covariance)
    return Columns(means, sds, correlations, none, none, of_means, is_two_valued, cut_means, n_records)


def _shrunk(correlations: Floats, noises: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the posterior means and variances of correlations that are alike in law, and their mean squared errors."""
    shrunk, errors, risks = np.eye(len(correlations)), np.zeros_like(correlations), np.zeros_like(correlations)
    above = np.triu_indices(len(correlations), 1)
    values, noise = correlations[above], noises[above]
    if not len(values):
        return shrunk, errors, risks
    weights = 1.0 / noise if (noise > 0.0).all() else np.ones_like(noise)
    weights = weights / weights.sum()
    mean = float(weights @ values)
    mean_error = float(weights**2 @ noise)
    mean *= max(0.0, 1.0 - 2.0 * mean_error / mean**2) if mean else 0.0
    spread = max(0.0, float(weights @ ((values - mean) ** 2 - noise)))
    kept = spread / (spread + noise) if spread > 0.0 else np.zeros_like(noise)
    shrunk[above] = shrunk.T[above] = mean + kept * (values - mean)
    # How alike they are is estimated, too: a part of the noise is left whatever it says.
    errors[above] = errors.T[above] = np.maximum(kept, LEAST_KEPT) * noise + mean_error
    # Of c, estimated by m + k (c + noise - m): E (1 - k)^2 ((c + noise - m)^2 - v) + k^2 v (Stein 1981).
    off = np.maximum((values - mean) ** 2 - noise, 0.0)
    risks[above] = risks.T[above] = np.maximum((1.0 - kept) ** 2 * off + kept**2 * noise, errors[above])
    return shrunk, errors, risks


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
    return Fit(_whole(effects), int(_whole(-(effects @ columns.means))) * GRID)


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
    bends : ndarray of float, shape (p, p)
        The same by the whole effect of k, as a cut column does not take off all of it.
    coefficients : ndarray of float, shape (p,)
        The effects that the first look found, in the target's deviations.
    """

    scoring: Scoring
    shifts: Floats
    row_variances: Floats
    variances: Floats
    slopes: Floats
    leaks: Floats
    bends: Floats
    coefficients: Floats


def decorrelation(
    columns: Columns, first: Pilot, n_rows: float, groups: Bools, distance: int, cut: float
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
        _whole(weights),
        _whole(-(weights @ means)) * GRID,
        _whole(effects),
        -_whole(effects @ means) * GRID,
        round(first.excess * GRID),
    )
    inside = (2.0 * _normal_cdf(cut) - 1.0) / cut
    own = FROM_PILOT * TYPICAL_SLOPE * TARGET_SLOPE * inside * np.where(groups, instruments @ correlations, 0.0)
    own = own / sizes[:, None] / (1.0 + abs(first.excess))
    of_pilot, of_rows = (np.einsum("ij,jk,ik->i", own, each, own) for each in (first.variance, first.row_variance))
    of_means = columns.mean_variance * (inside / (sds * sizes)) ** 2 + _skewness(columns, cut) ** 2
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
    # The noise of the first look is taken off rows, too, and the correlations' errors let it through.
    of_leaks = leaks @ (first.variance + first.row_variance / n_rows).diagonal()
    shifts, variances = own @ first.coefficients, of_pilot + of_means + of_records + of_leaks
    bends = np.zeros_like(leaks)
    if columns.bends is not None:
        # Of column k's effect on score j what the line in the cut column k leaves: a_jk times the share that is bent.
        bends = np.where(groups, 0.0, instruments * columns.bends * slope / sizes[:, None]) ** 2
    return Decorrelation(scoring, shifts, row_variances, variances, slope * sizes, leaks, bends, first.coefficients)


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
    return variances


def whitening(columns: Columns) -> tuple[Integers, Integers]:
    """Return the whole numbers that make columns uncorrelated, if they are as is known, cut at `CHECKED` deviations.

    Shapes: returns (p, p), (p,).
    """
    values, vectors = np.linalg.eigh(columns.correlations)
    root = (vectors / np.sqrt(values)) @ vectors.T
    weights = root / columns.sds / CHECKED
    return _whole(weights), _whole(-(weights @ columns.means)) * GRID


def largest_difference(sums: Integers, p: int) -> int:
    """Return the largest of the sums of `turned_sums` as it is the same for all: those of columns count a third.

    It moves by no more than one of the sums does.
    """
    of_columns, of_pairs = np.abs(sums[:p]) // MEANS_COUNT, np.abs(sums[p:])
    return int(max(of_columns.max(), of_pairs.max(initial=0)))


def most_difference(columns: Columns, n_rows: float) -> float:
    """Return how large that may be, in rows, if the columns are as public records say."""
    p = len(columns.sds)
    bent = np.sort(np.abs(_skewness(columns, CHECKED)))
    tolerance = BENT + max(float(bent[-2:].prod()) if p > 1 else 0.0, float(bent[-1]) / MEANS_COUNT)
    by_chance = math.sqrt(SQUARE_OF_CHECKED * n_rows * (1.0 + n_rows / columns.n_records))
    return tolerance * n_rows - float(ndtri(SELDOM / (p * (p + 1)))) * by_chance


def _skewness(columns: Columns, cut: float) -> Floats:
    """Return the mean of each column once it is standardized and cut: known of two values, typical of others."""
    high, low = (1.0 - columns.means) / columns.sds, (1.0 + columns.means) / columns.sds
    share = (1.0 + columns.means) / 2.0
    of_two = share * np.minimum(high / cut, 1.0) - (1.0 - share) * np.minimum(low / cut, 1.0)
    return np.where(columns.is_two_valued, of_two, TYPICAL_CUT_MEAN if columns.cut_means is None else columns.cut_means)


def _whole(values: Floats) -> Integers:
    return np.rint(np.clip(values * 2.0**BITS, -MOST, MOST)).astype(np.int64)


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))
