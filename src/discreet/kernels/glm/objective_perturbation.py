"""Regressions under pure epsilon: minimize a perturbed objective, and certify how nearly it was minimized.

    F(theta) = sum of losses + (ridge / 2) |theta|^2 + b'theta,    b of density proportional to exp(-beta |b|).

The privacy proof is about the exact minimizer. A point where |gradient| <= g is within g / ridge of it, so two
neighbors' points that stand for the same minimizer are within 2 g / ridge, which noise on the output covers
(approximate minima perturbation). Whether the certificate is reached must not depend on the rows: `minimized` always
reaches it, for every table of up to `MOST_ROWS` rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import fsum, hypot, sqrt

import numpy as np

from discreet.kernels.glm.precise_sums import LOGISTIC_LOSS, Lattice, Loss, information, residuals
from discreet.kernels.moments.moments import GRID
from discreet.typing import Floats, Integers

OUTPUT_SHARE = 0.02
"""Of epsilon, for the noise on the output."""

SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
"""Of epsilon for the information matrix: what a plan may choose."""

HOPELESS = 2.0
"""Noise on the information above which no interval is hoped for, relative to half the information."""

GRADIENT_SHARE = 2.0**-21
"""The certified gradient, relative to the bound of one record's; more where rounding makes it necessary."""

LEAST_RIDGE = 0.25
"""In the response's unit about one row's weight, so it costs no accuracy."""

LEAST_RIDGE_EACH = 2.0**-14
"""For each coefficient: above twice the Hessian's rounding of any table."""

TYPICAL = 1.0
"""Squared norm of the coefficients that the ridge is tuned for."""

TYPICAL_INFORMATION = 2_000.0
"""Eigenvalue of the information that the output's noise is weighed with: a guess, which only divides the budget."""

TYPICAL_PART = {False: 1.0 / 4.0, True: 1.0 / 12.0}
"""What a row adds to the information on a column, of the largest weight: of classes, and of counts, mostly far below
their bound."""

MOST_ROWS = 2**33 - 1
"""Sums of more could leave 64 bits."""

SLACK = 2.0**-40
"""More than a product of p floats errs by, relative to the factors' norms."""

SHORTEST = 0.25
"""A rejected step is tried again at this part of its length, or at a larger one."""


@dataclass(frozen=True)
class Perturbation:
    """Public parameters, and what follows from them for every table.

    Parameters
    ----------
    ridge : float
        Lambda, positive.
    beta : float
        Rate of the linear term's norm, which is Gamma distributed with shape p; its direction is uniform.
    bound : float
        Largest l2 norm B of a row with its constant.
    n_coefficients : int
        p.
    output_epsilon : float
        Share of epsilon for noise on the output.
    weight, fall : float
        Largest curvature of the loss, and how far it is above its infimum at 0.
    """

    ridge: float
    beta: float
    bound: float
    n_coefficients: int
    output_epsilon: float
    weight: float
    fall: float

    @property
    def longest(self) -> float:
        """Largest norm of the linear term: a longer one, of probability below e^-700, is clipped to it."""
        return (2.0 * self.n_coefficients + 1000.0) / self.beta

    @property
    def radius(self) -> float:
        """Largest norm of a point where F is at most F(0)."""
        # A row's loss falls from 0 by `fall` at most: ridge |theta|^2 / 2 <= fall n + |b| |theta|.
        return (2.0 * self.longest + sqrt(2.0 * self.fall * MOST_ROWS * self.ridge)) / self.ridge

    @cached_property
    def lattice(self) -> Lattice:
        """Points that the search may visit, up to three times the radius from 0."""
        return Lattice(self.n_coefficients, 3.0 * self.radius)  # a trial may be 2 radii away from a point within one

    def smoothness(self, n_rows: float) -> float:
        """Bound the Hessian's norm."""
        return self.ridge + self.weight * n_rows * self.bound**2

    def error(self, n_rows: float) -> float:
        """Bound the error of the gradient's norm, from the rounding of residuals."""
        return self.lattice.residual_error * self.bound * n_rows

    @cached_property
    def gradient(self) -> float:
        """Norm of the gradient that the returned point is certified to be below, errors included."""
        rounding = self.lattice.step * sqrt(self.n_coefficients) * self.smoothness(MOST_ROWS)
        # 16 times the error and 1024 times a rounding, for tables of any size: `minimized` needs that to end.
        return max(GRADIENT_SHARE * self.bound, 16.0 * self.error(MOST_ROWS), 1024.0 * rounding)

    @property
    def output_sensitivity(self) -> float:
        """Largest l2 distance of two outputs that stand for one minimizer."""
        return 2.0 * self.gradient / self.ridge  # F is ridge-strongly convex: |theta - theta*| <= |gradient| / ridge


@dataclass(frozen=True)
class Change:
    """How neighbors differ, and what one row can do to the objective.

    Parameters
    ----------
    bound : float
        Largest l2 norm B of a row with its constant: its gradient is no longer.
    n_coefficients : int
        p.
    replaces : bool
        A unit's rows are replaced by others, else added or removed.
    weight : float
        Largest curvature of the loss.
    n_rows : int
        c, the most rows of a unit.
    """

    bound: float
    n_coefficients: int
    replaces: bool
    weight: float = LOGISTIC_LOSS.weight
    n_rows: int = 1

    @property
    def pull(self) -> float:
        """Largest l2 norm by which the linear term that belongs to one minimizer moves."""
        return (2.0 if self.replaces else 1.0) * self.n_rows * self.bound

    def stretch(self, ridge: Floats | float) -> Floats:
        """Return the largest change of the log determinant: r log(1 + c weight B^2 / (r ridge)), r = min(c, p)."""
        rank = min(self.n_rows, self.n_coefficients)
        stretched: Floats = rank * np.log1p(self.n_rows * self.weight * self.bound**2 / (rank * np.asarray(ridge)))
        return stretched

    def spent(self, ridge: float, beta: float) -> float:
        """Return the epsilon of the exact minimizer.

        Source: Chaudhuri, Monteleoni and Sarwate 2011; privacy specification 6.2.
        """
        # b = -(gradient of the other terms at theta) is a bijection of theta, smooth but on a null set, so theta has
        # density exp(-beta |b|) det(Hessian). A row moves b by its gradient r x, |r x| <= B, a unit's rows by c B, two
        # units' by 2 c B. Their W = sum w x x', w <= weight, multiplies the determinant of the other rows' Hessian
        # A >= ridge I by prod(1 + l_i), l_i >= 0 the at most r = min(c, p) eigenvalues of A^-1/2 W A^-1/2. They add up
        # to tr(A^-1 W) <= c weight B^2 / ridge, so by the concave log the product is in [1, exp(stretch)]; under
        # replacement one such factor is divided by another.
        return float(beta * self.pull + self.stretch(ridge))


def perturbation(epsilon: float, change: Change, loss: Loss = LOGISTIC_LOSS) -> Perturbation:
    """Return the parameters that spend epsilon where the expected error is least; a function of public facts."""
    output_epsilon = OUTPUT_SHARE * epsilon
    minimizer_epsilon = epsilon - output_epsilon
    p, rank = change.n_coefficients, min(change.n_rows, change.n_coefficients)
    least_ridge = max(LEAST_RIDGE / loss.family.high, LEAST_RIDGE_EACH * p)
    # With H the information, the error is near H^-1 (b + ridge theta) and the output's noise, of variance 2 l^2 each.
    # So the loss is E|b|^2 + ridge^2 |theta|^2 + 2 p l^2 |H|^2, with E|b|^2 = p (p + 1) / beta^2.
    factor = np.minimum(minimizer_epsilon * np.linspace(0.005, 0.995, 199), 500.0) / rank
    ridge = np.maximum(change.n_rows * change.weight * change.bound**2 / rank / np.expm1(factor), least_ridge)
    beta = (minimizer_epsilon - change.stretch(ridge)) / change.pull
    scale = p**0.5 * 2.0 * GRADIENT_SHARE * change.bound / (ridge * output_epsilon)
    error = p * (p + 1) / beta**2 + ridge**2 * TYPICAL + 2.0 * p * (scale * TYPICAL_INFORMATION) ** 2
    best = int(np.argmin(np.where(beta > 0.0, error, np.inf)))
    # Rounding errors of a few units in the last place, made up for on the safe side.
    safe = float(ridge[best]) * (1.0 + 1e-12), float(beta[best]) * (1.0 - 1e-12)
    return Perturbation(*safe, change.bound, p, output_epsilon, change.weight, loss.fall)


def information_share(epsilon: float, change: Change, loss: Loss, noise: float, n_rows: float) -> float:
    """Return the share of epsilon for the information matrix, from public facts.

    `noise` is the standard deviation of a product's noise at an epsilon of 1, for weights up to 1, `n_rows` a guess.
    """
    # With h the information on a column, an interval's squared width goes with the variance of the score, that of the
    # sample h and that of the linear term, and grows by about exp(1.5 r^2) for a noise on the matrix of norm r h / 2.
    p, information = change.n_coefficients, n_rows * loss.weight * TYPICAL_PART[loss.family.counts]
    widths = []
    for share in SHARES:
        ratio = 2.0 * (p**0.5) * noise * loss.weight / (share * epsilon) / information
        beta = perturbation((1.0 - share) * epsilon, change, loss).beta
        squared = information / loss.family.high + (p + 1) / beta**2
        widths.append(float(np.log(squared)) + 1.5 * ratio**2 if ratio < HOPELESS else np.inf)
    best = int(np.argmin(widths))
    return SHARES[best] if np.isfinite(widths[best]) else SHARES[0]


@dataclass(frozen=True)
class _Evaluation:
    """The objective at a point: F's gradient, nearly its Hessian, and a bound of the gradient's error."""

    numbers: tuple[int, ...]
    gradient: Floats
    hessian: Floats
    error: float
    n_rows: float

    @property
    def size(self) -> float:
        return float(np.linalg.norm(self.gradient)) * (1.0 + SLACK)

    @property
    def certified(self) -> float:
        return self.size + self.error


def minimized(
    sums: Callable[[tuple[int, ...]], Integers], linear: Floats, chosen: Perturbation
) -> tuple[Floats, float]:
    """Minimize the perturbed objective until the certificate holds, which it always does.

    Returns theta, not yet private (add noise of `Perturbation.output_sensitivity` and round), and the certified bound
    of its gradient's norm, at most `chosen.gradient`. Cost: 5 to 9 passes over the rows of most tables, 10 to 40 where
    classes are separated, up to 75 where counts are. Source: Iyengar, Near, Song, Thakkar, Thakurta and Wang 2019.
    """
    linear = linear * min(1.0, chosen.longest / max(hypot(*linear), 1e-300))
    point = _evaluated(sums, (0,) * len(linear), linear, chosen)
    # It ends. Write e for the error of a computed gradient G, g for the gradient to reach, L for the smoothness, with
    # e <= g / 16. A step z from theta to theta - z is taken if z'G_new >= |z| (e + SLACK |G_new|), so that F has not
    # begun to rise along it. As F is strongly convex, it fell by ridge |z|^2 / 2 or more. No step shorter than
    # f = g / (64 L) is tried, none is taken to a point where F is above F(0), and F is bounded below: finitely many
    # steps are taken.
    # One is taken from every point that is not certified. Newton's direction comes first, then that of G itself, each
    # at lengths that fall by fours. Where the certificate fails, |G| >= 15 g / 16. Along G some length s is tried with
    # f <= s <= 4 f = g / (16 L). Rounding to the lattice moves a point by less than f / 16. So
    #     z'G_new >= (15/16) s |G| - L (17/16)^2 s^2 - (17/8) s e >= 0.66 s g,
    # which is more than (17/16) s (e + SLACK |G_new|).
    while point.certified > chosen.gradient:
        point = _next_point(lambda numbers: _evaluated(sums, numbers, linear, chosen), point, chosen)
    return chosen.lattice.values(point.numbers), point.certified


def _evaluated(
    sums: Callable[[tuple[int, ...]], Integers], numbers: tuple[int, ...], linear: Floats, chosen: Perturbation
) -> _Evaluation:
    """Evaluate the objective at a point; the gradient is exact but for its residuals and its last rounding."""
    totals = sums(numbers)
    step, ridge, n_rows = Fraction(chosen.lattice.step), Fraction(chosen.ridge), float(totals[-1, 0])
    gradient = [
        float(ridge * step * number + Fraction(float(b)) - Fraction(part, 2**60 * GRID))
        for number, b, part in zip(numbers, linear, residuals(totals), strict=True)
    ]
    hessian = information(totals) + chosen.ridge * np.eye(len(numbers))
    return _Evaluation(numbers, np.array(gradient), hessian, chosen.error(n_rows), n_rows)


def _next_point(
    evaluate: Callable[[tuple[int, ...]], _Evaluation], point: _Evaluation, chosen: Perturbation
) -> _Evaluation:
    """Return a certified point, or the longest of the trial steps along which F only falls."""
    least = chosen.gradient / (64.0 * chosen.smoothness(point.n_rows))
    for direction in (_newton(point), point.gradient):
        length = float(np.linalg.norm(direction))
        size, most = min(length, 2.0 * chosen.radius), 1.0  # no two points are a diameter apart
        while size >= least:
            trial = evaluate(_moved(point.numbers, direction * (size / length), chosen))
            if trial.certified <= chosen.gradient or _falls(point, trial, chosen):
                return trial
            size, most = size * _shorter(direction, point, trial, most), 0.5
    raise ArithmeticError("the perturbed objective was not minimized to its certificate")


def _shorter(direction: Floats, point: _Evaluation, trial: _Evaluation, most: float) -> float:
    """Return the part of an overlong step to try next: as far before the line's minimum as the step went beyond it."""
    slope, overshot = float(direction @ point.gradient), -float(direction @ trial.gradient)
    if not 0.0 < overshot < slope:
        return SHORTEST
    return min(max(1.0 - 2.0 * overshot / (slope + overshot), SHORTEST), most, 1.0 - SLACK)


def _newton(point: _Evaluation) -> Floats:
    """Newton's direction, or zeros where floats give none."""
    zeros = np.zeros(len(point.gradient))
    try:
        direction: Floats = np.asarray(np.linalg.solve(point.hessian, point.gradient), dtype=np.float64)
    except np.linalg.LinAlgError:
        return zeros
    return direction if np.isfinite(direction).all() else zeros


def _moved(numbers: Sequence[int], step: Floats, chosen: Perturbation) -> tuple[int, ...]:
    return tuple(old - new for old, new in zip(numbers, chosen.lattice.nearest(step), strict=True))


def _falls(point: _Evaluation, trial: _Evaluation, chosen: Perturbation) -> bool:
    """Tell whether F has surely not begun to rise on the way to a trial point."""
    moved = chosen.lattice.values([old - new for old, new in zip(point.numbers, trial.numbers, strict=True)])
    slack = trial.error + SLACK * trial.size
    return fsum(moved * trial.gradient) >= float(np.linalg.norm(moved)) * slack > 0.0


def log_density(theta: Floats, x: Floats, y: Floats, ridge: float, beta: float, loss: Loss = LOGISTIC_LOSS) -> float:
    """Return the log density of the exact minimizer on a small table, up to a constant; for tests of `Change.spent`.

    Shapes: theta (p,), x (n, p), y (n,), responses over the largest.
    """
    mean, weight = loss.curve(x @ theta)
    linear = x.T @ (y - mean) - ridge * theta
    hessian = (x.T * weight) @ x + ridge * np.eye(len(theta))
    return float(-beta * np.linalg.norm(linear) + np.linalg.slogdet(hessian)[1])
