"""A private quantile: the choice, from a public grid, of a point whose rank is near the quantile's."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.accounting.guarantee import Number, exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import Noise, noisy_min
from discreet.typing import Integers

DENOMINATOR = 10_000
"""Quantiles are multiples of its inverse, so that scores are integers; those of 2^33 rows stay below 2^53."""


def rank_sensitivity(quantile: Number, neighboring: NeighboringRelation, rows_per_unit: int) -> Fraction:
    """Return the range sensitivity of the distances between points' ranks and a quantile's, in rows.

    Parameters
    ----------
    quantile : float or Fraction
        In [0, 1].
    neighboring : NeighboringRelation
        Which tables are neighbors.
    rows_per_unit : int
        The most rows of one unit.

    Returns
    -------
    Fraction
        Gamma of `noisy_quantile`.

    References
    ----------
    Privacy specification 3.4.
    """
    q = _quantile(quantile)
    # A row more or less moves (1 - q) #{below} - q #{above} by q or 1 - q; a replaced row by both, which is 1.
    change = Fraction(1) if neighboring is NeighboringRelation.REPLACE_ONE else max(q, 1 - q)
    return 2 * rows_per_unit * change


def noisy_quantile(
    counts: npt.ArrayLike,
    quantile: Number,
    neighboring: NeighboringRelation,
    rows_per_unit: int,
    epsilon: Number,
    rng: Source,
    noise: Noise = "exponential",
) -> int:
    """Return the place of a quantile on a grid, epsilon-differentially private.

    Parameters
    ----------
    counts : array_like of int, shape (n_points,)
        How many rows lie at each point of the public grid, in its order; rows without a value are left out.
    quantile : float or Fraction
        In [0, 1]; rounded to a multiple of 1 / 10,000.
    neighboring : NeighboringRelation
        Which tables are neighbors.
    rows_per_unit : int
        The most rows of one unit.
    epsilon : float or Fraction
        In nats, in (0, 1000].
    rng : Source
        Where the noise comes from.
    noise : {"exponential", "gumbel", "laplace"}
        Law of the noise.

    Returns
    -------
    int
        A place on the grid. Points of equal score are equally likely.

    Raises
    ------
    InvalidParameterError
        When a parameter is out of range; never because of the counts.

    Notes
    -----
    Claim: ``quantile.privacy.md``.

    References
    ----------
    Privacy specification 3.4; Smith 2011.

    Examples
    --------
    >>> noisy_quantile([0, 500, 500, 0], 0.9, NeighboringRelation.REPLACE_ONE, 1, 10, Source())
    2
    """
    q = _quantile(quantile)
    gamma = rank_sensitivity(q, neighboring, rows_per_unit) * DENOMINATOR
    return noisy_min(rank_distances(np.asarray(counts, dtype=np.int64), q), gamma, epsilon, rng, noise)


def rank_distances(counts: Integers, q: Fraction) -> npt.NDArray[np.float64]:
    """Return how far the quantile's rank lies outside each point's ranks, those below it to those up to it.

    Parameters
    ----------
    counts : ndarray of int, shape (n_points,)
        How many rows lie at each point.
    q : Fraction
        A multiple of 1 / `DENOMINATOR`.

    Returns
    -------
    ndarray of float, shape (n_points,)
        In rows, times `DENOMINATOR`; exact.
    """
    # (1 - q) #{below} - q #{at or above} stands for #{below} - q n: n is private under add-or-remove.
    share = int(q * DENOMINATOR)
    up_to = np.cumsum(counts)
    below, total = up_to - counts, int(up_to[-1])
    too_high = DENOMINATOR * below - share * total  # (1 - q) #{below} - q #{at or above}
    # q n - #{up to the point}: the quantile lies above all that is here. At most one of the two is positive.
    too_low = share * total - DENOMINATOR * up_to
    distances: npt.NDArray[np.float64] = np.maximum(np.maximum(too_high, too_low), 0).astype(np.float64)
    return distances


def _quantile(value: Number) -> Fraction:
    quantile = exact(value, "quantile")
    if not 0 <= quantile <= 1:
        raise InvalidParameterError(f"quantile must lie in [0, 1], but quantile={float(quantile):g}.")
    return Fraction(round(quantile * DENOMINATOR), DENOMINATOR)
