"""Which mechanism chooses the best k columns: a rule from public facts alone, and what its noise is."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.accounting.events import ComposedEvent, Event, SelectionEvent
from discreet.accounting.guarantee import MAX_EPSILON
from discreet.accounting.zcdp import rho_of_epsilon
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.mechanisms.top_k import canonical_lipschitz, one_shot, peeling
from discreet.parameters.screening import TopKNoise
from discreet.release import NoiseRecord

Mechanism = Literal["canonical_lipschitz", "one_shot", "peeling"]
EXPECTED_SHARE = 1 / 50
"""The k-th best score, as a share of the most that any can be, where no expectation is given.

Of even columns it is a third of a correlation, of normal ones within four standard deviations a sixteenth. One-shot
noise is never much worse; the other mechanism loses all columns where the last one does not stand out.
"""

LEAD = 1.25
"""Canonical Lipschitz is chosen from this many times the logarithm of the number of sets on."""

GAMMA = 0.75
"""How canonical Lipschitz weighs a set's worst column and the best one left out."""

MOST_SETS = 10**4000
"""A larger number of sets is recorded as this one: it would not fit a JSON number."""


@dataclass(frozen=True)
class TopK:
    """The choice of the best k columns by scores whose changes are bounded one by one.

    Parameters
    ----------
    mechanism : {"canonical_lipschitz", "one_shot", "peeling"}
        One draw over all sets of k columns; one noise for each column; or one column after the other.
    noise : {"exponential", "gumbel"}
        Its law.
    gamma : float
        Of the canonical Lipschitz mechanism.
    n_features : int
        d, more than k.
    k : int
        How many are chosen, at least 1.
    epsilon : Fraction
        In nats, of all rounds together.
    sensitivity : int
        The most that one unit changes each score by, in the scores' unit.
    """

    mechanism: Mechanism
    noise: TopKNoise
    gamma: float
    n_features: int
    k: int
    epsilon: Fraction
    sensitivity: int

    def __post_init__(self) -> None:
        if self.mechanism == "one_shot" and self.noise != "exponential":
            raise InvalidParameterError("One-shot noise must be exponential; with Gumbel noise it is peeling.")

    @property
    def event(self) -> Event:
        """What is done to the data: one draw, or k of them."""
        if self.mechanism == "peeling":
            return ComposedEvent((SelectionEvent(self.epsilon / self.k, self.noise),) * self.k)
        return SelectionEvent(self.epsilon, self.noise)

    def draw(self, scores: npt.NDArray[np.int64], rng: Source) -> list[int]:
        """Return the places of the chosen columns, in increasing order: the order of the scores is private.

        Claim: ``mechanisms/top_k.privacy.md``. Shapes: scores (n_features,).
        """
        law = (self.k, self.epsilon, self.sensitivity, rng)
        if self.mechanism == "canonical_lipschitz":
            chosen = canonical_lipschitz(scores, *law, gamma=self.gamma, noise=self.noise)
        elif self.mechanism == "one_shot":
            chosen = one_shot(scores, *law)
        else:
            chosen = peeling(scores, *law, noise=self.noise)
        return sorted(int(place) for place in chosen)

    @property
    def is_concentrated(self) -> bool:
        """Whether its rounds add up as rho to less than their epsilons."""
        return self.mechanism == "peeling" and self.noise == "gumbel" and self.k > 1

    @property
    def parameters(self) -> dict[str, Any]:
        """What the rule decided, for a release."""
        parameters: dict[str, Any] = {"mechanism": self.mechanism, "noise": self.noise}
        return parameters | {"gamma": self.gamma} if self.mechanism == "canonical_lipschitz" else parameters

    @property
    def scale(self) -> Fraction:
        """Scale of the noise, in the scores' unit."""
        rounds = 1 if self.mechanism == "canonical_lipschitz" else self.k
        return 2 * self.sensitivity * rounds / self.epsilon

    def noise_record(self, step: int, unit: str, formula: str, claim: str) -> NoiseRecord:
        """Return the noise box; its sensitivity is the range of the scores' changes in all rounds."""
        whole = self.mechanism == "canonical_lipschitz"
        rounds = 1 if whole or self.k == 1 else self.k
        ways = min(math.comb(self.n_features, self.k), MOST_SETS) if whole else self.n_features
        return NoiseRecord(
            mechanism=self.mechanism,
            noise=self.noise,
            n_candidates=ways,
            sensitivity=float(self.scale * self.epsilon) / step,
            scale=float(self.scale) / step,
            unit=unit,
            formula=f"2 x {f'{rounds} columns x ' if rounds > 1 else ''}{formula}",
            numerics="exact draw; scores are whole numbers",
            claim=claim,
        )


def choose_mechanism(
    n_features: int, k: int, epsilon: Fraction, sensitivity: float, expected_score: float | None
) -> Mechanism:
    """Return the better mechanism for pure privacy, from public facts alone.

    Examples
    --------
    >>> choose_mechanism(1000, 5, Fraction(1), 2.0, 100.0), choose_mechanism(1000, 5, Fraction(1), 2.0, 1e5)
    ('one_shot', 'canonical_lipschitz')
    """
    if k == 1 or expected_score is None:
        return "one_shot"
    # A wrong set has the loss of the k-th best score, and there are C(d, k) of them: their largest noise is about
    # 2 sensitivity / epsilon times log C(d, k). One-shot noise has k times the scale, but over d columns alone.
    strength = float(epsilon) / 2.0 * expected_score / sensitivity
    return "canonical_lipschitz" if strength > LEAD * log_sets(n_features, k) else "one_shot"


def log_sets(n_features: int, k: int) -> float:
    """Return log C(d, k), the logarithm of the number of sets of k columns out of d.

    Examples
    --------
    >>> round(log_sets(8, 4), 6) == round(math.log(70), 6)
    True
    """
    return math.lgamma(n_features + 1) - math.lgamma(k + 1) - math.lgamma(n_features - k + 1)


def concentrated_epsilon(k: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the total epsilon of k rounds of peeling with Gumbel noise that cost epsilon at delta, rounded down.

    Source: privacy specification 4.3 (alternatives) and 7.1.

    Examples
    --------
    >>> float(concentrated_epsilon(2, Fraction(1), Fraction(1, 10**6)))
    1.0
    >>> 3.9 < float(concentrated_epsilon(80, Fraction(1), Fraction(1, 10**6))) < 4.0
    True
    """
    # rho = k epsilon_0^2 / 8, so the total k epsilon_0 is sqrt(8 k rho).
    square = 8 * k * rho_of_epsilon(epsilon, delta)
    root = Fraction(math.isqrt(int(square * 10**24)), 10**12)
    return max(min(root, Fraction(MAX_EPSILON)), epsilon)
