"""The best shares of a budget for X'y, X'X and y'y, from public facts alone.

All three are sums over rows of products of the same vector, so their joint sensitivity is less than the sum of each:
under the replace relation X'X and y'y cost nothing beside X'y up to a point.
"""

from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from discreet.typing import Floats

Relation = Literal["replace_one", "add_or_remove_one"]

LEVELS = tuple(round(0.01 * k, 2) for k in range(30, 100))
"""Quantile levels at which clipping is considered."""

BENT = 0.03
"""A guess of what clipping all rows adds to a slope, in standard deviations of y, where the rows are not normal."""


class Shares(NamedTuple):
    """Shares of a budget; they may add up to more than 1 where `cost` does not.

    Parameters
    ----------
    xty, gram, yty, rows : float
        Share f of each block: its noise has standard deviation sensitivity / (mu sqrt(f)), mu of Gaussian privacy. That
        of `rows`, their number, is zero where it is public.
    """

    xty: float
    gram: float
    yty: float
    rows: float = 0.0


def cost(shares: Shares, relation: Relation) -> float:
    """Return an upper bound of the squared privacy cost of all blocks together, over mu^2; it must be at most 1.

    Source: Dong, Roth and Su 2022, Gaussian differential privacy; privacy specification 6.1 (the norms of the blocks).

    Examples
    --------
    >>> cost(Shares(1.0, 0.25, 0.5), "replace_one"), cost(Shares(0.7, 0.2, 0.05, 0.05), "add_or_remove_one")
    (1.0, 1.0)
    """
    # One row (x, y), with |x|^2 = m a, a <= 1, and u = y^2 <= 1. Added or removed it moves the blocks by squares of at
    # most m, m^2 and 1, and nothing is gained. Replaced by a row with a', u', and s the cosine between x and x', up to
    # sign, it moves them by squares of at most m (a u + a' u' + 2 |s| sqrt(a a' u u')), m^2 (a^2 + a'^2 - 2 a a' s^2)
    # and (u - u')^2, and the sensitivities alone are 4 m, 2 m^2 and 1. So with shares f, g, h the cost is at most
    #     C = f (a u + a' u' + 2 |s| sqrt(a a' u u')) / 4 + g (a^2 + a'^2 - 2 a a' s^2) / 2 + h (u - u')^2.
    f, g, h, rows = shares
    if relation == "add_or_remove_one":
        return f + g + h + rows
    if f == 0.0:
        return g + h + rows
    # A g below f / 4 costs no more than f / 4. In |s| C is a parabola with its top at f sqrt(u u' / (a a')) / (4 g), so
    #     C <= f (a u + a' u') / 4 + f^2 u u' / (16 g) + g (a^2 + a'^2) / 2 + h (u - u')^2.
    # That increases in a and a', which are at most 1, and at a = a' = 1 is convex in u and in u'. At its corners it is
    # (f / (4 sqrt(g)) + sqrt(g))^2 for u = u' = 1, f / 4 + g + h for u = 1 and u' = 0, and g. At g = f / 4 the first is
    # f, and the second is no more while h <= f / 2: X'X and y'y are free.
    g = max(g, f / 4.0)
    return max(float((f / (4.0 * g**0.5) + g**0.5) ** 2), f / 4.0 + g + h) + rows


def cost_of_scores(shares: Shares, relation: Relation) -> float:
    """Return the same where X'y is a sum of scores, rows' vectors of length 1 at most along x, whatever y and |x| are.

    Examples
    --------
    >>> cost_of_scores(Shares(0.8, 0.25, 0.075), "replace_one")
    1.0
    """
    # Replaced, with |x|^2 = a and a' and s the cosine between the scores up to sign, so between x and x', too:
    #     C <= f (1 + |s|) / 2 + g (a^2 + a'^2 - 2 a a' s^2) / 2 + h,
    # convex in a and in a': largest where each is 0 or 1. At 1 and 0 it is f + g / 2 + h at most, at 1 and 1 a parabola
    # in |s| with its top at f / (4 g), and f + h at |s| = 1.
    f, g, h, rows = shares
    if relation == "add_or_remove_one":
        return f + g + h + rows
    alike = f / 2.0 + f**2 / (16.0 * g) + g if 4.0 * g > f else f
    return max(alike, f + g / 2.0) + h + rows


def sensitivities(norm_squared: float, relation: Relation) -> Shares:
    """Return the l2 sensitivity of each block, of X'X with both triangles. Source: privacy specification 6.1."""
    norm = norm_squared**0.5
    if relation == "add_or_remove_one":
        return Shares(norm, norm_squared, 1.0, 1.0)
    return Shares(2.0 * norm, 2.0**0.5 * norm_squared, 1.0, 0.0)


def noise_levels(
    shares: Shares, norm_squared: float, mu: float, relation: Relation, n_columns: int
) -> tuple[float, Floats, float]:
    """Return the standard deviation of the noise in each entry of X'y, of X'X (p, p) and in y'y.

    A share of zero gives 0 for X'X, which is then public, and infinity for y'y.
    """
    alone = sensitivities(norm_squared, relation)
    square = alone.gram / (mu * shares.gram**0.5) if shares.gram > 0.0 else 0.0
    gram = np.full((n_columns, n_columns), square / 2.0**0.5)
    np.fill_diagonal(gram, square)
    of_yty = alone.yty / (mu * shares.yty**0.5) if shares.yty > 0.0 else float("inf")
    return alone.xty / (mu * shares.xty**0.5), gram, of_yty


def selection_shares(relation: Relation, public_gram: bool = False) -> Shares:
    """Return the shares of a budget with which the right model is selected most often.

    Examples
    --------
    >>> [round(cost(selection_shares(r), r), 2) for r in ("replace_one", "add_or_remove_one")]
    [1.0, 1.0]
    """
    # X'X is shrunk toward what its other entries make likely (`cleaning`), so less than half serves it: independent
    # columns need a fifth, correlated ones this much. Under replace most of it is free beside X'y. y'y only sets the
    # residual variance.
    if relation == "replace_one":
        return Shares(1.0, 0.0, 0.5) if public_gram else Shares(0.9, 0.43, 0.34)
    return Shares(0.96, 0.0, 0.02, 0.02) if public_gram else Shares(0.62, 0.34, 0.02, 0.02)


def clip_level(noise: float, n_rows: float, square: float) -> float:
    """Return the quantile level, in .3 ... .99, of |y - center| at which clipping y is best for selection.

    Source: Stein 1981; Brillinger 1983, A generalized linear model with Gaussian regressor variables.

    Examples
    --------
    >>> clip_level(8.4, 1_000, 0.15), clip_level(8.4, 1_000_000, 0.15)
    (0.62, 0.99)
    """
    normal, noise = NormalDist(), min(noise, 1e100)  # its square must be a number
    # A normal y clipped at c, its quantile of level a, keeps the share a of every slope (Stein's lemma); divided by c
    # it carries noise of variance noise^2 and a sampling variance of n square E min(y, c)^2 / c^2. Where y is not
    # normal, clipping lets columns that do not matter show through: an error of BENT (1 - a) on the slope, which many
    # rows see.
    errors = []
    for level in LEVELS:
        c = normal.inv_cdf((1.0 + level) / 2.0)
        clipped_square = level - 2.0 * c * normal.pdf(c) + c**2 * (1.0 - level)
        bent = BENT * n_rows * square * (1.0 - level)
        errors.append((noise**2 * c**2 + n_rows * square * clipped_square + bent**2) / level**2)
    return LEVELS[errors.index(min(errors))]
