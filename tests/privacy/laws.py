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
