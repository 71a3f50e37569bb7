"""Second moments with noise of known variance."""

from typing import NamedTuple

import numpy as np

from discreet.typing import Floats, Integers

MOST_COEF = 1e6
"""Of a column with a variance within bounds, far beyond what can be: its square is a number."""


class KnownGram(NamedTuple):
    """That X'X is n times public second moments, and how far the table's own may lie from it.

    Parameters
    ----------
    spread : float
        n + n^2 / m, m the number of public records: the variance of a sum over the rows less n times the public mean,
        over that of one row.
    means : ndarray of float, shape (p,)
        Of the columns; 1 of the constant.
    n_rows : float
        n.
    """

    spread: float
    means: Floats
    n_rows: float

    def part(self, places: Integers) -> "KnownGram":
        """Return the same of some columns. Shapes: places (k,)."""
        return self._replace(means=self.means[places])


class NoisyGram(NamedTuple):
    """Moments of a regression, each with the variance of the noise that was added to it.

    Parameters
    ----------
    gram : ndarray of float, shape (p, p)
        X'X plus noise, symmetric; rows of X lie in [-1, 1]^p.
    xty : ndarray of float, shape (p,)
        X'y plus noise; y lies in [-1, 1].
    yty : float
        y'y plus noise.
    gram_variance : ndarray of float, shape (p, p)
        Variance of the noise in each entry, zero where it is public; an entry and its mirror share one draw.
    xty_variance : ndarray of float, shape (p,)
        Variance of the noise in each entry.
    yty_variance : float
        Variance of the noise.
    n_rows : float
        Number of rows: public, or a noisy count.
    n_rows_variance : float
        Variance of the noise in it, zero where it is public.
    known : KnownGram, optional
        Where X'X is not bought.
    """

    gram: Floats
    xty: Floats
    yty: float
    gram_variance: Floats
    xty_variance: Floats
    yty_variance: float
    n_rows: float
    n_rows_variance: float
    known: KnownGram | None = None


def known_error(moments: NoisyGram, coef: Floats) -> Floats:
    """Return the covariance of (X'X - n S) b, X'X of the rows and S public, as if columns were normal.

    Source: Isserlis 1918 (fourth moments). Shapes: coef (p,), returns (p, p).
    """
    if moments.known is None:
        return np.zeros_like(moments.gram)
    # E[x x' (x'b)^2] = S b'Sb + 2 Sb b'S - 2 m m' (m'b)^2 of normal x with second moments S and means m; less Sb b'S.
    second, means = moments.gram / moments.known.n_rows, moments.known.means
    coef = coef / max(1.0, float(np.abs(coef).max(initial=0.0)) / MOST_COEF)
    explained = float(coef @ second @ coef)
    coef = coef / max(1.0, explained**0.5)  # no more than there is to explain: |y| <= 1
    side = second @ coef
    of_row = (
        second * float(coef @ side) + np.outer(side, side) - 2.0 * float(means @ coef) ** 2 * np.outer(means, means)
    )
    covariance: Floats = moments.known.spread * of_row + moments.n_rows_variance * np.outer(side, side)
    return covariance
