"""What a clip of the target does to the prior of effects: strong effects are told as weaker ones.

A normal target of standard deviation 1, clipped at k, has a slope of P(|y| < k) on each column that it had a slope of 1
on, and a squared correlation r with what it was before (Bussgang 1952). So effects of q = sum b^2, in residual standard
deviations, explain r q / (1 + q) of the clipped target, whose residual is larger by what the clip adds: each effect is
told as b g, g^2 = r / (1 + (1 - r) q). The mean square of the clipped target tells k, and so r.
"""

import numpy as np
from scipy.special import ndtr

from discreet.typing import Floats

MOST_EXPLAINED = 0.96
"""Share of the target's variance that effects explain, at most: more is the noise of the sums, not the rows."""

_CLIPS = np.geomspace(0.05, 8.0, 400)
_INSIDE = 2.0 * ndtr(_CLIPS) - 1.0
_AT_CLIP = np.exp(-(_CLIPS**2) / 2.0) / (2.0 * np.pi) ** 0.5
# E[y^2; |y| < k] = P(|y| < k) - 2 k phi(k); and cov(y, clipped y / k) = P(|y| < k) / k, by Stein's identity.
_SQUARES = (_INSIDE - 2.0 * _CLIPS * _AT_CLIP) / _CLIPS**2 + 1.0 - _INSIDE  # of y / k, clipped to [-1, 1]
_CORRELATIONS = (_INSIDE / _CLIPS) ** 2 / _SQUARES


def squared_correlation(mean_square: float) -> float:
    """Return r of a normal target that is divided by its clip and then clipped to [-1, 1], of this mean square.

    Examples
    --------
    >>> round(squared_correlation(0.01), 2), round(squared_correlation(0.516), 2)
    (1.0, 0.9)
    """
    return float(np.interp(mean_square, _SQUARES[::-1], _CORRELATIONS[::-1]))


def squared_shrinkage(s2: Floats, variance: float, mean_square: float) -> tuple[Floats, Floats]:
    """Return g^2 where the clipped target's residuals have the variances s2, and what the density gains by it.

    The second is log |dc / db| of the length c = g b of all effects over that of g alone, with its sign changed:
    log(1 + (1 - r) q). Shapes: s2 (g,); both (g,).
    """
    r = squared_correlation(mean_square)
    # 1 - s2 / variance is r q / (1 + q): over r it is q / (1 + q), and q is that over 1 less that.
    explained = np.minimum(np.maximum(1.0 - s2 / max(variance, 1e-300), 0.0) / r, MOST_EXPLAINED)
    added: Floats = 1.0 + (1.0 - r) * explained / (1.0 - explained)
    return r / added, np.log(added)
