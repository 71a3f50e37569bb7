"""The evidence of a check, and by which rule it fails."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr
from scipy.stats import binom, chi2, gamma, kstest

from discreet.selftest.laws import laplace_chance
from discreet.typing import Floats

FALSE_ALARM = 1e-8
"""Bounds the chance that a sound function is flagged by one test of draws; a run holds fewer than a hundred of them."""
ROUNDING = 1e-6
"""Of an exact loss, relative: quadrature, bisection and the printed scale."""

How = Literal["decisions", "replay", "draws", "law"]


@dataclass(frozen=True)
class Evidence:
    """What was claimed for one function at one epsilon, and what was shown.

    Parameters
    ----------
    subject : str
        The function, as people call it.
    case : str
        The pair of tables, and what else matters.
    claim : str
        File of its claim.
    neighboring : str
        The relation, or a dash where it is the caller's.
    epsilon, delta : float
        Claimed, for the pair: times its distance where it is more than one unit apart.
    shown : float
        Privacy loss that was shown.
    how : {"decisions", "replay", "draws", "law"}
        From decisions on given random words; from what reached the mechanisms on both tables of a pair; from draws that
        follow a law, and the loss of that law; or from laws alone.
    n_draws : int
        How often the function was called or its noise drawn.
    misfit : float or None
        P-value of the draws under the exact law.
    is_control : bool
        Something known to be broken, that must be flagged.
    fault : str
        What is wrong beside loss and misfit; empty where nothing is.
    """

    subject: str
    case: str
    claim: str
    neighboring: str
    epsilon: float
    delta: float
    shown: float
    how: How
    n_draws: int
    misfit: float | None = None
    is_control: bool = False
    fault: str = ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is flagged: nothing for what is as claimed."""
        reasons = [self.fault] if self.fault else []
        if not self.shown <= self.epsilon * (1.0 + ROUNDING):
            reasons.append(f"loses {self.shown:.3g} where {self.epsilon:.3g} is claimed")
        if self.misfit is not None and self.misfit < FALSE_ALARM:
            reasons.append(f"its draws do not follow its law (p = {self.misfit:.1g})")
        return tuple(reasons)

    @property
    def is_flagged(self) -> bool:
        """Whether something is wrong with it."""
        return bool(self.reasons)

    @property
    def is_as_expected(self) -> bool:
        """Whether it is sound, or a control and flagged."""
        return self.is_flagged == self.is_control

    def as_control(self, case: str) -> "Evidence":
        """Return the same as a control, which must be flagged."""
        return replace(self, is_control=True, case=case)


def loss_of_laws(law: npt.ArrayLike, neighbor_law: npt.ArrayLike) -> float:
    """Return the privacy loss in nats between two exact laws: the largest log-ratio either way."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.abs(np.log(np.asarray(law, dtype=np.float64)) - np.log(np.asarray(neighbor_law, dtype=np.float64)))
    return float(np.nanmax(ratios))


def loss_at_delta(law: Floats, neighbor_law: Floats, delta: float) -> float:
    """Return the least epsilon, in nats, at which two laws are (epsilon, delta)-close, both ways."""

    def beyond(epsilon: float) -> float:
        # The least delta at epsilon is sum max(P - e^epsilon Q, 0), the hockey-stick divergence.
        each = [np.maximum(a - np.exp(epsilon) * b, 0.0).sum() for a, b in ((law, neighbor_law), (neighbor_law, law))]
        return float(max(each)) - delta

    return 0.0 if beyond(0.0) <= 0 else float(brentq(beyond, 0.0, 100.0, xtol=1e-10))


def loss_of_normal(mu: float, delta: float) -> float:
    """Return the least epsilon of normal noise whose mean moves by mu standard deviations (Balle and Wang 2018)."""

    def beyond(epsilon: float) -> float:
        # delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), Theorem 8
        above = float(ndtr(mu / 2 - epsilon / mu))
        return above - math.exp(epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))) - delta

    return 0.0 if beyond(0.0) <= 0 else float(brentq(beyond, 0.0, 100.0, xtol=1e-10))


def misfit_of_counts(counts: npt.ArrayLike, law: npt.ArrayLike) -> float:
    """Return a bound of the p-value of counts under a law, 0 for an impossible outcome; rare outcomes are pooled.

    It holds for any number of draws, where the chi-square law does not (Agrawal 2020, Theorem 1.2).
    """
    n, chances = np.asarray(counts, dtype=np.float64), np.asarray(law, dtype=np.float64)
    chances = chances / chances.sum()
    if (n[chances <= 0.0] > 0).any():
        return 0.0
    total, order = float(n.sum()), np.argsort(chances)
    rare = order[np.cumsum(chances[order]) * total < 10.0]  # the rarest, until ten are expected of them
    usual = np.setdiff1d(order, rare, assume_unique=True)
    observed = np.append(n[usual], n[rare].sum())
    expected = np.append(chances[usual], chances[rare].sum()) * total
    x = float(observed @ np.log(np.where(observed > 0, observed, 1.0) / np.where(observed > 0, expected, 1.0)))
    # With x = n KL(observed, expected) and k outcomes, P(more than x) <= e^-x (e x / (k - 1))^(k - 1).
    free = int((expected > 0).sum()) - 1
    return 1.0 if x <= free else math.exp(free - x + free * math.log(x / max(free, 1)))


def misfit_of_chances(chances: Floats) -> float:
    """Return the p-value of numbers that must be uniform on [0, 1], by the Kolmogorov-Smirnov test."""
    return float(kstest(chances, "uniform").pvalue)


def misfit_of_noise(noise: Floats, law: Literal["laplace", "normal"]) -> float:
    """Return the p-value of noise in units of its scale, of its form and of its size.

    Twice the smaller of Kolmogorov-Smirnov's and that of the sum of sizes or squares, both ways.
    """
    if law == "laplace":
        form, size = misfit_of_chances(laplace_chance(noise)), gamma(noise.size).cdf(float(np.abs(noise).sum()))
    else:
        form, size = misfit_of_chances(ndtr(noise)), chi2(noise.size).cdf(float((noise**2).sum()))
    return min(1.0, 2.0 * min(form, 2.0 * min(float(size), 1.0 - float(size))))


def misfit_of_hits(hits: int, trials: int, chance: float) -> float:
    """Return the two-sided p-value of a number of successes, by the binomial law."""
    law = binom(trials, chance)
    return min(1.0, 2.0 * min(float(law.cdf(hits)), float(law.sf(hits - 1))))
