"""Second moments with noise of known variance."""

from typing import NamedTuple

from discreet.typing import Floats


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
    """

    gram: Floats
    xty: Floats
    yty: float
    gram_variance: Floats
    xty_variance: Floats
    yty_variance: float
    n_rows: float
    n_rows_variance: float
