"""What a check found, and by which rule it fails."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr
from scipy.stats import beta, chi2, gamma, kstest

from discreet.selftest.laws import laplace_chance

Floats = npt.NDArray[np.float64]

FALSE_ALARM = 1e-7
"""Chance that a sound function is flagged by one test of draws; a run holds some hundreds of them."""
ROUNDING = 1e-6
"""Of an exact loss, relative: quadrature and the printed scale."""

How = Literal["exact law", "draws"]


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
        Privacy loss that was shown: of the exact law, or bounded from below with confidence by draws.
    how : {"exact law", "draws"}
        Which of the two.
    n_draws : int
        How often the function was called or its noise drawn.
    misfit : float or None
        P-value of the draws under the exact law.
    reach : float
        The largest loss that this check could have shown.
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
    reach: float = math.inf
    is_control: bool = False
    fault: str = ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is flagged: nothing for what is as claimed."""
        found = [self.fault] if self.fault else []
        if not self.shown <= self.epsilon * (1.0 + ROUNDING):
            found.append(f"loses {self.shown:.3g} where {self.epsilon:.3g} is claimed")
        if self.misfit is not None and self.misfit < FALSE_ALARM:
            found.append(f"its draws do not follow its law (p = {self.misfit:.1g})")
        return tuple(found)

    @property
    def is_flagged(self) -> bool:
        """Whether something is wrong with it."""
        return bool(self.reasons)

    @property
    def is_as_expected(self) -> bool:
        """Whether it is sound, or a control and flagged."""
        return self.is_flagged == self.is_control

    def as_control(self, case: str) -> "Evidence":
        """Return the same as a control.

        Parameters
        ----------
        case : str
            What is broken.

        Returns
        -------
        Evidence
            Expected to be flagged.
        """
        return replace(self, is_control=True, case=case)


def loss_of_laws(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Return the privacy loss between two exact laws: the largest log-ratio either way.

    Parameters
    ----------
    one, other : array_like of float
        Chances of the same outcomes.

    Returns
    -------
    float
        In nats.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.abs(np.log(np.asarray(one, dtype=np.float64)) - np.log(np.asarray(other, dtype=np.float64)))
    return float(np.nanmax(ratios))


def loss_at_delta(one: Floats, other: Floats, delta: float) -> float:
    """Return the least epsilon at which two laws are (epsilon, delta)-close, both ways.

    Parameters
    ----------
    one, other : ndarray of float
        Chances of the same outcomes.
    delta : float
        Positive.

    Returns
    -------
    float
        In nats.
    """

    def beyond(epsilon: float) -> float:
        each = [np.maximum(a - np.exp(epsilon) * b, 0.0).sum() for a, b in ((one, other), (other, one))]
        return float(max(each)) - delta

    return 0.0 if beyond(0.0) <= 0 else float(brentq(beyond, 0.0, 100.0, xtol=1e-10))


def loss_of_normal(mu: float, delta: float) -> float:
    """Return the least epsilon of normal noise whose mean moves by mu standard deviations (Balle and Wang 2018).

    Parameters
    ----------
    mu : float
        Positive.
    delta : float
        Positive.

    Returns
    -------
    float
        In nats.
    """

    def beyond(epsilon: float) -> float:
        above = float(ndtr(mu / 2 - epsilon / mu))
        return above - math.exp(epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))) - delta

    return 0.0 if beyond(0.0) <= 0 else float(brentq(beyond, 0.0, 100.0, xtol=1e-10))


def misfit_of_counts(counts: npt.ArrayLike, law: npt.ArrayLike) -> float:
    """Return the p-value of counts under a law: chi-square, rare outcomes together.

    Parameters
    ----------
    counts : array_like of int
        How often each outcome came.
    law : array_like of float
        Its chance.

    Returns
    -------
    float
        Zero where something came that cannot.
    """
    n, expected = np.asarray(counts, dtype=np.float64), np.asarray(law, dtype=np.float64)
    expected = expected * n.sum() / expected.sum()
    if (n[expected <= 0.0] > 0).any():
        return 0.0
    order = np.argsort(expected)
    group = np.cumsum(expected[order]) < 10.0  # the rarest, until ten are expected of them
    rare, usual = order[group], order[~group]
    observed = np.append(n[usual], n[rare].sum()) if rare.size else n[usual]
    chances = np.append(expected[usual], expected[rare].sum()) if rare.size else expected[usual]
    if observed.size > 1 and chances[-1] < 5.0:  # too few to stand alone
        observed, chances = _joined(observed, chances)
    if observed.size < 2:
        return 1.0
    return float(chi2.sf(((observed - chances) ** 2 / chances).sum(), observed.size - 1))


def _joined(observed: Floats, chances: Floats) -> tuple[Floats, Floats]:
    least = int(np.argmin(chances[:-1]))
    observed[least] += observed[-1]
    chances[least] += chances[-1]
    return observed[:-1], chances[:-1]


def misfit_of_chances(chances: Floats) -> float:
    """Return the p-value of numbers that must be uniform on [0, 1]: Kolmogorov and Smirnov's test.

    Parameters
    ----------
    chances : ndarray of float
        Distribution function of each draw.

    Returns
    -------
    float
        Small where they are not.
    """
    return float(kstest(chances, "uniform").pvalue)


def misfit_of_noise(noise: Floats, law: Literal["laplace", "normal"]) -> float:
    """Return the p-value of noise in units of its scale: of its form, and of its size, which tells more.

    Parameters
    ----------
    noise : ndarray of float
        Independent, of scale one.
    law : {"laplace", "normal"}
        Its law.

    Returns
    -------
    float
        Twice the smaller of Kolmogorov and Smirnov's and that of the sum of sizes or squares, both ways.
    """
    if law == "laplace":
        form, size = misfit_of_chances(laplace_chance(noise)), gamma(noise.size).cdf(float(np.abs(noise).sum()))
    else:
        form, size = misfit_of_chances(ndtr(noise)), chi2(noise.size).cdf(float((noise**2).sum()))
    return min(1.0, 2.0 * min(form, 2.0 * min(float(size), 1.0 - float(size))))


def misfit_of_chances_each(hits: int, chances: Floats) -> float:
    """Return the p-value of a number of successes, each of its own chance.

    Parameters
    ----------
    hits : int
        Successes.
    chances : ndarray of float
        Of each trial.

    Returns
    -------
    float
        By the normal law, both ways.
    """
    sd = math.sqrt(float((chances * (1.0 - chances)).sum()))
    return float(2.0 * ndtr(-abs(hits - float(chances.sum())) / max(sd, 1e-12)))


def shown_by_draws(one: Sequence[Hashable], other: Sequence[Hashable], delta: float) -> tuple[float, float]:
    """Return a lower bound of the privacy loss from draws on two tables (privacy specification 9.3).

    Parameters
    ----------
    one, other : sequence
        Outcomes on each of the tables; the first fifth chooses the event, the rest bounds its chances.
    delta : float
        Claimed.

    Returns
    -------
    float
        Clopper and Pearson's bounds, each at `FALSE_ALARM` / 4: log((p - delta) / q), the larger of both directions.
    float
        What it would be if the rarer chance were never met: the most that so many draws can show.
    """
    found = [_one_way(*each, delta) for each in ((one, other), (other, one))]
    return max(loss for loss, _ in found), max(reach for _, reach in found)


def _one_way(one: Sequence[Hashable], other: Sequence[Hashable], delta: float) -> tuple[float, float]:
    cut = max(len(one) // 5, 1)
    event = _event(Counter(one[:cut]), Counter(other[:cut]), delta)
    n, hits = len(one) - cut, sum(outcome in event for outcome in one[cut:])
    others = sum(outcome in event for outcome in other[cut:])
    alpha = FALSE_ALARM / 4
    p_low = float(beta.ppf(alpha, hits, n - hits + 1)) if hits else 0.0
    q_high = float(beta.ppf(1 - alpha, others + 1, n - others)) if others < n else 1.0
    least = float(beta.ppf(1 - alpha, 1, n))
    if p_low <= delta:
        return 0.0, 0.0
    return max(math.log((p_low - delta) / q_high), 0.0), max(math.log((p_low - delta) / least), 0.0)


def _event(one: Mapping[Hashable, int], other: Mapping[Hashable, int], delta: float) -> set[Hashable]:
    """The outcomes, the most telling first, that show the most on the sample that chooses."""
    order = sorted({*one, *other}, key=lambda outcome: (one.get(outcome, 0) + 0.5) / (other.get(outcome, 0) + 0.5))
    best, found, total = -math.inf, set[Hashable](), [sum(one.values()), sum(other.values())]
    hits = others = 0
    for size, outcome in enumerate(reversed(order), 1):
        hits, others = hits + one.get(outcome, 0), others + other.get(outcome, 0)
        sd = 2.0 * math.sqrt(hits + 1) / total[0]
        value = math.log(max(hits / total[0] - sd - delta, 1e-9)) - math.log((others + 1.0) / total[1])
        if value > best:
            best, found = value, set(order[-size:])
    return found
