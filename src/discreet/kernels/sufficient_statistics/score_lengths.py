"""At what length the scores of rows are cut, by a noisy look at those that are long: between noise and what is cut off.

A score is the product of a row's whitened columns and its residual. Noise grows with the longest that is let in whole.
What is cut off bends coefficients where it does not cancel, as in a skewed target or a curved relation. The look tells
the sum of the directions of all scores between one length and twice that, in several octaves: from it follows what is
cut off at each limit, but for how scores lie within an octave.
"""

from typing import NamedTuple

import numpy as np

from discreet.typing import Floats, Integers

OCTAVES = 6
"""Between the least length and twice that, and so on; the last one has no upper end."""

SIZES = np.array([0.0, *(0.25 * 2.0 ** np.arange(16))])
"""That are supposed of the first octave's sum, in standard deviations of its noise."""

CHANCES = np.array([0.6, *(0.12 * 0.7 ** np.arange(16))])
"""And how likely each is thought to be, up to a factor: in three tables of five nothing is cut off."""

STEEP = 0.3
"""Each octave's sum is thought to be so large a part of the one below: tails fall."""

TAIL_STEEP = 0.45
"""The same where scores have been seen to vary much more in some directions than in others."""

MIDDLE = 1.4
"""Mean length in an octave, in units of where it begins."""

LONG = 1.3
"""Squares of scores that add up to so many times as much as those of even errors would are of few, long scores."""

INEXACT = 0.3
"""Relative error of what is cut off by how lengths lie within octaves."""


class LengthLimit(NamedTuple):
    """Where scores are cut.

    Parameters
    ----------
    longest : float
        The length.
    left_out : ndarray of float, shape (p,)
        Estimate of what is cut off of the sum of scores.
    errors : ndarray of float, shape (p,)
        Its standard errors, as far as they are thought to go.
    left_out_before : ndarray of float, shape (p,)
        The same estimate for scores as they were cut before.
    errors_before : ndarray of float, shape (p,)
        And its standard errors.
    left_out_if_long : ndarray of float, shape (p,)
        What `left_out` is of a coordinate in which scores are known to be long, whatever others are.
    errors_if_long : ndarray of float, shape (p,)
        And its standard errors.
    sampling_sd : float
        Standard deviation of a sum of scores by sampling, if errors are even.
    """

    longest: float
    left_out: Floats
    errors: Floats
    left_out_before: Floats
    errors_before: Floats
    left_out_if_long: Floats
    errors_if_long: Floats
    sampling_sd: float

    def beside(self, squares: Floats, sd: float, rows_per_unit: int) -> tuple[Floats, Floats]:
        """Return what is cut off and its standard errors, where noisy sums of squared scores tell who has long ones.

        Few rows with most of a coordinate's score do not stand out in `left_out`, which is thought to be of one size in
        all coordinates; their squares do. Shapes: squares (p,); returns twice (p,).
        """
        # Scores of one unit may be alike, and their sum's square then c times as large as those of c rows.
        is_long = squares - 2.0 * sd > LONG * rows_per_unit * self.sampling_sd**2
        left_out = np.where(is_long, self.left_out_if_long, self.left_out)
        return left_out, np.where(is_long, self.errors_if_long, self.errors)


def octaves(lengths: Floats, least: float) -> Integers:
    """Return the octave of each length, 1 to OCTAVES, or 0 below the least. Shapes: lengths (n,); returns (n,).

    Examples
    --------
    >>> octaves(np.array([0.5, 1.0, 1.9, 2.0, 900.0]), 1.0)
    array([0, 1, 1, 2, 6])
    """
    place: Integers = np.searchsorted(least * 2.0 ** np.arange(OCTAVES), lengths, side="right")
    return place


def length_limit(
    sums: Floats, sd: float, least: float, largest: float, sampling_sd: float, noise: float, tails: float | None = None
) -> LengthLimit:
    """Return the limit with the least error of a sum of scores, by sampling, noise and what is cut off together.

    Post-processing of noisy sums of directions. `largest`: length of any score at most; `noise`: standard deviation of
    each number where the limit is 1. `tails`: some scores are long, of a number of its own in each coordinate, and were
    cut at this length before; without, those before were cut at the least one. Shapes: sums (OCTAVES, p).

    Examples
    --------
    >>> length_limit(np.zeros((6, 1)), 10.0, 1.0, 99.0, 140.0, 40.0).longest
    1.0
    >>> length_limit(np.array([[400.0], [150.0], [0.0], [0.0], [0.0], [0.0]]), 10.0, 1.0, 99.0, 140.0, 40.0).longest
    2.0
    """
    if_long = _posteriors(sums, sd)
    likely = if_long if tails is not None else _posterior(sums, sd)
    starts = least * 2.0 ** np.arange(OCTAVES + 1)
    middles = np.minimum(MIDDLE * starts[:-1], largest)

    def cut_off(limit: float, moments: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        beyond, (means, variances) = np.maximum(middles - limit, 0.0), moments
        left_out = beyond @ means
        return left_out, np.sqrt((beyond**2) @ variances + (INEXACT * left_out) ** 2)

    best, least_error = least, np.inf
    for limit in np.minimum(starts, largest):
        _, errors = cut_off(limit, likely)
        error = sampling_sd**2 + (noise * limit) ** 2 + float((errors**2).mean())
        if error < least_error:
            best, least_error = float(limit), error
    before = cut_off(min(tails or least, largest), likely)
    return LengthLimit(best, *cut_off(best, likely), *before, *cut_off(best, if_long), sampling_sd)


def _posteriors(sums: Floats, sd: float) -> tuple[Floats, Floats]:
    """Return the same as `_posterior` with tails, of each coordinate by itself."""
    posteriors = [_posterior(column[:, None], sd, True) for column in np.transpose(sums)]
    means, variances = (np.hstack(parts) for parts in zip(*posteriors, strict=True))
    return means, variances


def _posterior(sums: Floats, sd: float, has_tails: bool = False) -> tuple[Floats, Floats]:
    """Return means and variances of the sums without noise, normal ones of one size that falls with the octaves.

    With tails that size is not zero. Shapes: both (OCTAVES, p).
    """
    sizes, chances = (SIZES[1:], CHANCES[1:]) if has_tails else (SIZES, CHANCES)
    falls = TAIL_STEEP if has_tails else STEEP
    prior = np.multiply.outer(sizes, sd * falls ** np.arange(OCTAVES)) ** 2
    spread, squares = prior + sd**2, np.sum(sums**2, axis=1)
    likelihood = -0.5 * np.sum(sums.shape[1] * np.log(spread) + squares / spread, axis=1)
    weights = chances * np.exp(likelihood - likelihood.max())
    weights /= weights.sum()
    share = prior / spread
    mean = weights @ share
    around = weights @ (share - mean) ** 2
    return mean[:, None] * sums, (mean * sd**2)[:, None] + around[:, None] * sums**2
