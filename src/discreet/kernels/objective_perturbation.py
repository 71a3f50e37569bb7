"""Logistic regression under pure epsilon: minimize a perturbed objective, and certify how nearly it was minimized.

    F(theta) = sum of losses + (ridge / 2) |theta|^2 + b'theta,    b of density proportional to exp(-beta |b|).

The privacy proof is about the exact minimizer. A point where |gradient| <= g is within g / ridge of it, so two
neighbors' points that stand for the same minimizer are within 2 g / ridge, which noise on the output covers
(approximate minima perturbation).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import expm1, log1p

import numpy as np
from scipy.special import expit

from discreet.kernels.glm import Cells, Floats, Integers
from discreet.kernels.moments import CHUNK_ROWS, GRID

OUTPUT_SHARE = 0.02
"""Of epsilon, for the noise on the output."""

GRADIENT_SHARE = 1e-5
"""The certified gradient, relative to the bound of one record's: far above float error up to 10^9 rows."""

DIGIT = 2.0**15
"""Residuals are summed as three numbers of 15 bits, exactly."""

TYPICAL = 1.0
"""Squared norm of the coefficients that the ridge is tuned for."""

MOST_STEPS = 200


@dataclass(frozen=True)
class Perturbation:
    """Public parameters.

    Parameters
    ----------
    ridge : float
        Lambda.
    beta : float
        Rate of the linear term's norm, which is Gamma distributed with shape p; its direction is uniform.
    gradient : float
        Largest norm of F's gradient at what is returned, errors of rounding included.
    output_epsilon : float
        Share of epsilon for noise on the output.
    """

    ridge: float
    beta: float
    gradient: float
    output_epsilon: float

    @property
    def output_sensitivity(self) -> float:
        """How far apart, in the l2 norm, two outputs can be that stand for one minimizer."""
        return 2.0 * self.gradient / self.ridge


def spent(ridge: float, beta: float, bound: float, replace: bool) -> float:
    """Return the epsilon of the exact minimizer.

    Parameters
    ----------
    ridge, beta : float
        As in `Perturbation`.
    bound : float
        Largest l2 norm B of a row with its constant.
    replace : bool
        Neighbors differ by a record's content, else by its presence.

    Returns
    -------
    float
        beta B, twice that under `replace`, plus log(1 + B^2 / (4 ridge)).

    Notes
    -----
    b = -(gradient of the other terms at theta) is a bijection of theta, so theta has density
    ``exp(-beta |b|) det(Hessian)``. A record moves b by its gradient r x, |r x| <= B, two records by 2 B. Its weight
    w x x', w <= 1/4, multiplies the determinant by 1 + w x'A^-1 x, A >= ridge I, which is in [1, 1 + B^2 / (4 ridge)];
    under `replace` one such factor is divided by another.

    References
    ----------
    Privacy specification 6.2; Chaudhuri, Monteleoni and Sarwate 2011.
    """
    return (2.0 if replace else 1.0) * beta * bound + log1p(bound**2 / (4.0 * ridge))


def perturbation(epsilon: float, bound: float, p: int, replace: bool) -> Perturbation:
    """Return parameters that spend epsilon where the error is expected to be least.

    Parameters
    ----------
    epsilon : float
        The whole budget, in nats.
    bound : float
        Largest l2 norm of a row with its constant.
    p : int
        Number of coefficients.
    replace : bool
        Neighbors differ by a record's content, else by its presence.

    Returns
    -------
    Perturbation
        A function of public facts.

    Notes
    -----
    With H the information, the error is near H^-1 (b + ridge theta), so E|b|^2 + ridge^2 |theta|^2 is minimized over
    the share of the determinant's factor; the number of rows cancels. E|b|^2 = p (p + 1) / beta^2.
    """
    output = OUTPUT_SHARE * epsilon
    left = epsilon - output
    sides = 2.0 if replace else 1.0
    factor = left * np.linspace(0.005, 0.995, 199)
    ridge = bound**2 / (4.0 * np.expm1(factor))
    beta = (left - factor) / (sides * bound)
    best = int(np.argmin(p * (p + 1) / beta**2 + ridge**2 * TYPICAL))
    chosen = bound**2 / (4.0 * expm1(float(factor[best])))
    # Rounding errors of a few units in the last place, made up for on the safe side.
    return Perturbation(chosen * (1.0 + 1e-12), float(beta[best]) * (1.0 - 1e-12), GRADIENT_SHARE * bound, output)


def precise_sums(cells: Cells, theta: Floats) -> Integers:
    """Add up logistic residuals to 45 bits, and weighted products.

    Parameters
    ----------
    cells : ndarray of int16, shape (n, p + 1)
        Column 0 is the constant, the last one -GRID or GRID.
    theta : ndarray of float, shape (p,)
        Coefficients.

    Returns
    -------
    ndarray of int64, shape (p + 4, p)
        Sums of w x x' in units of 1 / (2^15 GRID^2), cut, of r x in three parts of 15 bits each, and the number of
        rows in every entry of the last row.
    """
    n, p = len(cells), len(theta)
    total = np.zeros((p + 3, p), dtype=np.int64)
    for start in range(0, n, CHUNK_ROWS):
        part = cells[start : start + CHUNK_ROWS]
        x = part[:, :p].astype(np.float64)
        predictor = x @ theta / GRID
        chance = expit(predictor)
        weight = np.rint(chance * expit(-predictor) * 2.0**15)
        residual = np.where(part[:, p] > 0, expit(-predictor), -chance)
        left = [np.trunc(x * (weight * 2.0**-15)[:, None])]
        for _ in range(3):
            residual = residual * DIGIT
            digit = np.rint(residual)
            residual = residual - digit
            left.append(digit[:, None])
        total += (np.concatenate(left, axis=1).T @ x).astype(np.int64)
    return np.concatenate([total, np.full((1, p), n, dtype=np.int64)])


def residual_error(theta: Floats) -> float:
    """Bound the error of a residual as `precise_sums` adds it up.

    Parameters
    ----------
    theta : ndarray of float, shape (p,)
        Coefficients.

    Returns
    -------
    float
        The last digit's half, a few units of float64 in the logistic function, and a quarter of the linear
        predictor's error, which is at most (p + 1) 2^-52 |theta|_1 in any order of summing.
    """
    return 2.0**-46 + 2.0**-48 + 0.25 * (len(theta) + 1) * 2.0**-52 * float(np.abs(theta).sum())


def minimized(
    sums: Callable[[Floats], Integers], linear: Floats, chosen: Perturbation, bound: float
) -> tuple[Floats, float]:
    """Minimize the perturbed objective until the certificate holds.

    Parameters
    ----------
    sums : callable
        From coefficients to `precise_sums` of all rows.
    linear : ndarray of float, shape (p,)
        b.
    chosen : Perturbation
        Gives the ridge and the gradient to reach.
    bound : float
        Largest l2 norm of a row with its constant.

    Returns
    -------
    theta : ndarray of float, shape (p,)
        Not yet private: add noise of `Perturbation.output_sensitivity` and round.
    gradient : float
        Certified bound of the gradient's norm, at most `chosen.gradient`.

    Raises
    ------
    ArithmeticError
        When float arithmetic does not reach the certificate; not below 10^9 rows.

    Notes
    -----
    Newton's method with halved steps: F is strongly convex, and a step is kept when it shrinks the gradient's norm,
    which some step along Newton's direction does. Cost: about 8 passes over the rows.

    References
    ----------
    Iyengar, Near, Song, Thakkar, Thakurta and Wang 2019.
    """
    theta = np.zeros(len(linear))
    gradient, hessian, error = _at(sums, theta, linear, chosen.ridge, bound)
    size, scale = float(np.linalg.norm(gradient)), 1.0
    step = np.linalg.solve(hessian, gradient)
    for _ in range(MOST_STEPS):
        if size + error <= chosen.gradient:
            return theta, size + error
        trial = theta - scale * step
        gradient, hessian, new_error = _at(sums, trial, linear, chosen.ridge, bound)
        new_size = float(np.linalg.norm(gradient))
        if new_size < size:
            theta, size, error, scale = trial, new_size, new_error, min(1.0, 2.0 * scale)
            step = np.linalg.solve(hessian, gradient)
        else:
            scale /= 4.0
    raise ArithmeticError("the perturbed objective was not minimized to its certificate")


def _at(
    sums: Callable[[Floats], Integers], theta: Floats, linear: Floats, ridge: float, bound: float
) -> tuple[Floats, Floats, float]:
    """Return F's gradient, nearly its Hessian, and a bound of the gradient's error."""
    found, p = sums(theta), len(theta)
    residual = sum(found[p + i].astype(np.float64) * DIGIT ** -(i + 1.0) for i in range(3)) / GRID
    upper = np.triu(found[:p].astype(np.float64)) / GRID**2
    hessian = upper + np.triu(upper, 1).T + ridge * np.eye(p)
    gradient = ridge * theta + linear - residual
    rounding = 2.0**-49 * (np.abs(residual).sum() + np.abs(linear).sum() + ridge * np.abs(theta).sum())
    return gradient, hessian, float(found[-1, 0]) * bound * residual_error(theta) + float(rounding)


def expected_norm(chosen: Perturbation, p: int) -> float:
    """Return the root mean square of the linear term's norm.

    Parameters
    ----------
    chosen : Perturbation
        Gives beta.
    p : int
        Number of coefficients.

    Returns
    -------
    float
        Over the information, the noise's standard deviation in the coefficients.
    """
    return float((p * (p + 1)) ** 0.5 / chosen.beta)


def log_density(theta: Floats, x: Floats, y: Floats, chosen: Perturbation) -> float:
    """Return the log density of the exact minimizer for a small table, up to a constant.

    Parameters
    ----------
    theta : ndarray of float, shape (p,)
        Where.
    x : ndarray of float, shape (n, p)
        Rows with their constant.
    y : ndarray of float, shape (n,)
        0 or 1.
    chosen : Perturbation
        Gives ridge and beta.

    Returns
    -------
    float
        For tests of `spent`.
    """
    mean = expit(x @ theta)
    linear = x.T @ (y - mean) - chosen.ridge * theta
    hessian = (x.T * (mean * (1.0 - mean))) @ x + chosen.ridge * np.eye(len(theta))
    return float(-chosen.beta * np.linalg.norm(linear) + np.linalg.slogdet(hessian)[1])
