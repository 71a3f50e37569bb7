"""Means, spreads and correlations of columns that were cut, from noisy averages or public records."""

import math
from typing import NamedTuple

import numpy as np

from discreet.typing import Bools, Floats

LEAST_EIGENVALUE = 0.15
"""Of the correlations: beyond it nothing can be told of two columns beside each other."""

LEAST_PUBLIC_EIGENVALUE = 0.01
"""The same of correlations without noise."""

LEAST_KEPT = 0.1
"""Of the noise of a correlation, the share that is thought to be left after shrinking at the least."""

LEAST_VARIANCE = 1e-4
"""Of a saturated column; one and a half standard deviations of its noise where that is more."""

TYPICAL_CUT_MEAN = 0.2
"""Mean of a real column's residual once it is cut, up to which the error of the target's mean is counted."""

CUT_MEAN_OF_SKEWNESS, LEAST_CUT_MEAN = 0.133, 0.02
"""The same of a column whose skewness is known: phi(0) / 3 of it, by the first term of Edgeworth's series."""

BEND, BEND_DECAY = 0.25, 1.5
"""Share of a symmetric column's variance that its sign does not give, and how that falls the wider it is cut."""

BEND_OF_SKEWED = 1.5
"""What a skewed one adds, by the square of its mean once it is cut: its median lies off the center, its mean."""

MOST_CENTER = 0.98
"""Of a center, in half ranges."""


def shrunk_means(averages: Floats, variance: float) -> Floats:
    """Return noisy averages, whose noise has this variance, as centers: nearer to zero as far as noise asks for it."""
    shrinkage = np.maximum(1.0 - variance / np.maximum(averages**2, 1e-300), 0.0)
    return np.clip(shrinkage * averages, -MOST_CENTER, MOST_CENTER)


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
    pulls : ndarray of float, shape (p, p)
        What of this comes of the shrinking: it pulls all correlations of a column the same way.
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
    is_unseen : ndarray of bool, shape (p,), optional
        Whose variances do not stand out of their noise, so that it is not known what goes with them; default none.
    """

    means: Floats
    sds: Floats
    correlations: Floats
    errors: Floats
    risks: Floats
    pulls: Floats
    mean_variance: float
    is_two_valued: Bools
    cut_means: Floats | None = None
    n_records: float = math.inf
    bends: Floats | None = None
    is_unseen: Bools | None = None


def columns_of(
    means: Floats, second: Floats, variance: float, is_two_valued: Bools, cut: float, is_centered: bool
) -> Columns:
    """Return means and correlations from noisy averages, whose noise has this variance.

    Correlations are shrunk to their mean, and the mean to zero. Columns were cut at so many half widths of a uniform
    column of their spread, around about their means if `is_centered`. Shapes: means (p,), second (p, p), symmetric.
    """
    centers = np.clip(means, -1.0, 1.0)
    covariance = second - np.outer(centers, centers)
    # The second moment of 1 and -1 is 1.
    of_two = np.maximum(1.0 - centers**2, 0.0)
    diagonal = np.where(is_two_valued, of_two, covariance.diagonal())
    least = least_variance(variance)
    sds = np.sqrt(np.clip(diagonal, least, 1.0))
    correlations = np.clip(covariance / np.outer(sds, sds), -1.0, 1.0)
    # Of a product less that of two means: a mean far from 0, as of rare ones, brings the noise of the other mean in.
    noises = variance * (1.0 + np.add.outer(centers**2, centers**2)) / np.outer(sds, sds) ** 2
    shrunk, errors, risks, pulls = _shrunk(correlations, noises)
    values, vectors = np.linalg.eigh(shrunk)
    bends = BEND * math.exp(-BEND_DECAY * cut) + BEND_OF_SKEWED * is_centered * centers**2
    return Columns(
        centers,
        sds,
        (vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T,
        errors,
        risks,
        pulls,
        variance,
        is_two_valued,
        bends=np.where(is_two_valued, 0.0, np.minimum(bends, 1.0)),
        is_unseen=diagonal <= least,
    )


def least_variance(variance: float) -> float:
    """Return what a column's variance must exceed to be seen, from that of the noise of an average."""
    return max(1.5 * math.sqrt(variance), LEAST_VARIANCE)


def uniform_square(cut: float) -> float:
    """Return the mean square of a uniform column that is cut at so many half widths, which becomes 1."""
    return 1.0 - 2.0 * cut / 3.0 if cut < 1.0 else 1.0 / (3.0 * cut**2)


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
    return Columns(means, sds, correlations, none, none, none, of_means, is_two_valued, cut_means, n_records)


def _shrunk(correlations: Floats, noises: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the posterior means and variances of correlations that are alike in law, and their mean squared errors.

    Of these the part that shrinking makes comes last.
    """
    shrunk = np.eye(len(correlations))
    errors, risks, pulls = (np.zeros_like(correlations) for _ in range(3))
    above = np.triu_indices(len(correlations), 1)
    values, noise = correlations[above], noises[above]
    if not len(values):
        return shrunk, errors, risks, pulls
    weights = 1.0 / noise if (noise > 0.0).all() else np.ones_like(noise)
    weights = weights / weights.sum()
    mean = float(weights @ values)
    mean_error = float(weights**2 @ noise)
    mean *= max(0.0, 1.0 - 2.0 * mean_error / mean**2) if mean else 0.0
    spread = max(0.0, float(weights @ ((values - mean) ** 2 - noise)))
    shrinkage = spread / (spread + noise) if spread > 0.0 else np.zeros_like(noise)
    shrunk[above] = shrunk.T[above] = mean + shrinkage * (values - mean)
    # How alike they are is estimated, too: a part of the noise is left whatever it says.
    errors[above] = errors.T[above] = np.maximum(shrinkage, LEAST_KEPT) * noise + mean_error
    # Of c, estimated by m + k (c + noise - m): E (1 - k)^2 ((c + noise - m)^2 - v) + k^2 v (Stein 1981).
    off = np.maximum((values - mean) ** 2 - noise, 0.0)
    pulls[above] = pulls.T[above] = (1.0 - shrinkage) ** 2 * off
    risks[above] = risks.T[above] = np.maximum(pulls[above] + shrinkage**2 * noise, errors[above])
    return shrunk, errors, risks, pulls


def cut_means(columns: Columns, cut: float) -> Floats:
    """Return the mean of each column once it is standardized and cut: known of two values, typical of others."""
    high, low = (1.0 - columns.means) / columns.sds, (1.0 + columns.means) / columns.sds
    share = (1.0 + columns.means) / 2.0
    of_two = share * np.minimum(high / cut, 1.0) - (1.0 - share) * np.minimum(low / cut, 1.0)
    return np.where(columns.is_two_valued, of_two, TYPICAL_CUT_MEAN if columns.cut_means is None else columns.cut_means)


def cut_covariances(columns: Columns, cut: float) -> Floats:
    """Return the covariance of each standardized column with itself once it is cut: 1 of those not of two values."""
    high, low = (1.0 - columns.means) / columns.sds, (1.0 + columns.means) / columns.sds
    share = (1.0 + columns.means) / 2.0
    of_two = share * np.minimum(high, cut) * high + (1.0 - share) * np.minimum(low, cut) * low
    return np.where(columns.is_two_valued, of_two, 1.0)
