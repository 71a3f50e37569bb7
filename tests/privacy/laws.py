"""Exact output laws of the three noises, by formulas that share no code with the mechanisms."""

import mpmath
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def log_law(scores: npt.ArrayLike, scale: float, noise: str) -> list[mpmath.mpf]:
    """Log-probability of each candidate to have the smallest score minus scale times its noise.

    Parameters
    ----------
    scores : array_like of float
        Smaller is better.
    scale : float
        Of the noise.
    noise : str
        exponential, gumbel or laplace.

    Returns
    -------
    list of mpf
        30 digits.
    """
    with mpmath.workdps(30):
        behind = [mpmath.mpf(float(s)) / mpmath.mpf(scale) for s in np.asarray(scores, dtype=float)]
        least = min(behind)
        behind = [b - least for b in behind]
        return [mpmath.log(_LAWS[noise](behind, i)) for i in range(len(behind))]


def max_log_ratio(one: list[mpmath.mpf], other: list[mpmath.mpf]) -> float:
    """Largest absolute difference of two log laws: the privacy loss of the pair.

    Parameters
    ----------
    one, other : list of mpf
        Log-probabilities.

    Returns
    -------
    float
        In nats.
    """
    return max(abs(float(a - b)) for a, b in zip(one, other, strict=True))


def _gumbel(behind: list[mpmath.mpf], i: int) -> mpmath.mpf:
    """Exponential mechanism, in closed form."""
    return mpmath.exp(-behind[i]) / mpmath.fsum(mpmath.exp(-b) for b in behind)


def _exponential(behind: list[mpmath.mpf], i: int) -> mpmath.mpf:
    """Permute-and-flip: e^-g_i times the integral over [0, 1] of a polynomial (privacy specification 9.1)."""
    coefficients = [mpmath.mpf(1)]
    for j, b in enumerate(behind):
        if j != i:
            w = mpmath.exp(-b)
            coefficients = [
                (coefficients[k] if k < len(coefficients) else 0) - (w * coefficients[k - 1] if k else 0)
                for k in range(len(coefficients) + 1)
            ]
    return mpmath.exp(-behind[i]) * mpmath.fsum(c / (k + 1) for k, c in enumerate(coefficients))


def _laplace(behind: list[mpmath.mpf], i: int) -> mpmath.mpf:
    """Density of one noise times the distribution functions of the others, integrated between the kinks."""
    if len(behind) == 2:  # specification 0.3: P(the worse of two) = (1/2 + g/4) e^-g
        gap = max(behind)
        worse = (mpmath.mpf(1) / 2 + gap / 4) * mpmath.exp(-gap)
        return worse if behind[i] == gap and gap > 0 else 1 - worse

    def integrand(z: mpmath.mpf) -> mpmath.mpf:
        value = mpmath.exp(-abs(z)) / 2
        for j, b in enumerate(behind):
            if j != i:
                value *= _laplace_cdf(z - behind[i] + b)
        return value

    kinks = sorted({mpmath.mpf(0), *(behind[i] - b for b in behind)})
    ends = [kinks[0] - 80, *kinks, kinks[-1] + 80]
    return mpmath.quad(integrand, ends)


def _laplace_cdf(z: mpmath.mpf) -> mpmath.mpf:
    return mpmath.exp(z) / 2 if z < 0 else 1 - mpmath.exp(-z) / 2


_LAWS = {"gumbel": _gumbel, "exponential": _exponential, "laplace": _laplace}


def law(scores: npt.ArrayLike, noise: str) -> Floats:
    """Probability of each of many candidates to have the smallest score plus noise, the noise's scale being one.

    Parameters
    ----------
    scores : array_like of float
        Smaller is better.
    noise : str
        exponential, gumbel or laplace.

    Returns
    -------
    ndarray of float
        To ten digits of the largest: one integral over the winner's noisy score for all candidates, between the kinks.
    """
    s = np.asarray(scores, dtype=np.float64)
    s = s - s.min()
    kinks = np.unique(s[s < 40.0])
    low, high = -45.0 - np.log(s.size), 0.0 if noise == "exponential" else 45.0
    ends = np.unique(np.concatenate([np.linspace(low, high, 400), kinks[kinks < high]]))
    nodes, weights = np.polynomial.legendre.leggauss(10)
    half, middle = np.diff(ends)[:, None] / 2.0, (ends[:-1, None] + ends[1:, None]) / 2.0
    found, total = np.zeros(s.size), 0
    points, steps = (middle + half * nodes).ravel(), (half * weights).ravel()
    for part in np.array_split(np.arange(points.size), max(1, points.size * s.size // 2**20)):
        z = points[part, None] - s[None, :]
        log_survival, hazard = _TAILS[noise](z)
        found += (steps[part] * np.exp(log_survival.sum(axis=1))) @ hazard
        total += part.size
    return found


def _gumbel_tail(z: Floats) -> tuple[Floats, Floats]:
    hazard = np.exp(np.minimum(z, 50.0))
    return -hazard, hazard


def _exponential_tail(z: Floats) -> tuple[Floats, Floats]:
    return np.log(-np.expm1(z)), np.exp(z) / -np.expm1(z)


def _laplace_tail(z: Floats) -> tuple[Floats, Floats]:
    below = np.exp(np.minimum(z, 0.0)) / 2.0
    return np.where(z < 0.0, np.log1p(-below), -np.log(2.0) - z), np.where(z < 0.0, below / (1.0 - below), 1.0)


_TAILS = {"gumbel": _gumbel_tail, "exponential": _exponential_tail, "laplace": _laplace_tail}
"""Log-survival and hazard of a noise, the smaller the better."""
