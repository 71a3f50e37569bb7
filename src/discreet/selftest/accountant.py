"""What events are charged as, against exact laws: rho of each noise, and epsilon of Gaussian noise that is added up."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, Event, GaussianEvent, LaplaceEvent, SelectionEvent
from discreet.accounting.neighbors import NeighboringRelation
from discreet.accounting.zcdp import rho_of
from discreet.selftest import laws
from discreet.selftest.evidence import Evidence, loss_of_normal
from discreet.typing import Floats

ORDERS = (1.000001, 1.1, 1.5, 2.0, 4.0, 16.0, 64.0)
"""Of Renyi divergences."""
DELTA = Fraction(1, 10**6)
ROUNDS = 5


def _accounting(_: str, epsilon: float, effort: int) -> list[Evidence]:
    """Privacy cost of selections, as rho, by each noise and of Laplace noise; epsilon of several Gaussian releases."""
    del effort
    evidence = [_of_rho(f"a choice, {noise} noise", SelectionEvent(Fraction(epsilon), noise), _choices(noise, epsilon))
                for noise in ("exponential", "gumbel", "laplace")]  # fmt: skip
    evidence.append(_of_rho("a sum, laplace noise", LaplaceEvent(Fraction(epsilon)), [_sums(epsilon)]))
    return [*evidence, _of_gaussians(epsilon)]


def _choices(noise: str, epsilon: float) -> list[tuple[Floats, Floats]]:
    """Return laws of choices on neighbors: of two or five candidates, the first moves by the whole range."""
    pairs = []
    for rivals, lead in itertools.product((1, 4), np.linspace(-2.0, 2.0, 9)):
        rest = [0.0] * rivals
        pair = [laws.least_law([float(lead) / epsilon + moved, *rest], 1.0 / epsilon, noise) for moved in (-0.5, 0.5)]
        pairs += [(pair[0], pair[1]), (pair[1], pair[0])]
    return pairs


def _sums(epsilon: float) -> tuple[Floats, Floats]:
    """Return laws of discrete Laplace noise on a count and on the next one, without the empty tails."""
    law = laws.laplace_law(1.0 / epsilon, math.ceil(40.0 / epsilon))[1:-1]
    return law[:-1], law[1:]


def _of_rho(case: str, event: Event, pairs: list[tuple[Floats, Floats]]) -> Evidence:
    """Compare rho with each Renyi divergence over its order, which it must bound."""
    rho = float(rho_of(event)[0])
    shown = max(_divergence(law, other, order) / order for law, other in pairs for order in ORDERS)
    return Evidence(shown=shown, how="law", n_draws=0, **_about(f"{case}, as rho", rho))


def _divergence(law: Floats, other: Floats, order: float) -> float:
    # D_a(P, Q) = log(sum of P^a Q^(1 - a)) / (a - 1)
    logs = order * np.log(law) + (1.0 - order) * np.log(other)
    top = float(logs.max())
    return (top + math.log(float(np.exp(logs - top).sum()))) / (order - 1.0)


def _of_gaussians(epsilon: float) -> Evidence:
    """Compare the guarantee of several releases with Gaussian noise with their exact loss together."""
    rho = Fraction(epsilon) ** 2 / 40
    event = ComposedEvent((GaussianEvent(rho, Fraction(0)),) * ROUNDS)
    promised = guarantee_of(event, NeighboringRelation.REPLACE_ONE, DELTA)
    # Gaussian noise: rho = mu^2 / 2 with mu the move in standard deviations, and mu^2 adds up.
    shown = loss_of_normal(math.sqrt(2.0 * ROUNDS * float(rho)), float(DELTA))
    facts = _about(f"{ROUNDS} sums, gaussian noise, at delta {float(DELTA):g}", float(promised.epsilon)) | {
        "delta": float(DELTA)
    }
    return Evidence(shown=shown, how="law", n_draws=0, **facts)


def _about(case: str, epsilon: float) -> dict[str, Any]:
    return {
        "subject": "accounting",
        "case": case,
        "claim": "",
        "neighboring": "-",
        "epsilon": epsilon,
        "delta": 0.0,
    }


OF_CALLERS = (_accounting,)
"""To which the relation is their caller's."""
