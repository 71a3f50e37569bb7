"""Google's dp_accounting beside our compositions: never below a lower bound, never above the same formula."""

import math
import warnings
from fractions import Fraction

import pytest

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, GaussianEvent, LaplaceEvent, SelectionEvent
from discreet.accounting.neighbors import NeighboringRelation

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import dp_accounting
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.rdp import RdpAccountant

RELATION = NeighboringRelation.REPLACE_ONE
ORDERS = [1 + 1.02**k / 10**4 for k in range(800)]
GRID = 1e-4

COMPOSITIONS = [
    # gumbel selections, other pure parts, rho of Gaussian parts
    ([0.1] * 50, [], []),
    ([0.5] * 8, [], []),
    ([1.0], [], [0.02]),
    ([0.2] * 10, [], [0.01, 0.03]),
    ([], [0.1] * 30, []),
    ([], [0.3, 0.7], [0.005]),
    ([0.05] * 40, [0.2, 0.2], [0.02] * 3),
    ([], [], [0.5]),
    ([], [], [0.0001]),
    ([], [], [3.0, 1.0]),
    ([2.0], [0.5], [0.125]),
]
DELTAS = ["1e-3", "1e-6", "1e-9"]


def event_of(gumbel, pure, rhos):
    """Build our event."""
    parts = [SelectionEvent(Fraction(str(e)), "gumbel") for e in gumbel]
    parts += [LaplaceEvent(Fraction(str(e))) for e in pure]
    parts += [GaussianEvent(Fraction(str(rho)), Fraction(0)) for rho in rhos]
    return ComposedEvent(tuple(parts))


def renyi_epsilon(gumbel, pure, rhos, delta):
    """Convert zero-concentrated costs with the oracle, over a fine grid of orders."""
    accountant = RdpAccountant(orders=ORDERS)
    costs = [e * e / 8 for e in gumbel] + [min(e * e / 2, e * math.tanh(e / 2)) for e in pure] + rhos
    for cost in costs:
        accountant.compose(dp_accounting.ZCDpEvent(cost))
    return accountant.get_epsilon(delta)


def response(epsilon):
    """Randomized response: the worst mechanism of a pure epsilon."""
    return pld.from_randomized_response(2 / (1 + math.exp(epsilon)), 2, False, value_discretization_interval=GRID)


def lower_epsilon(gumbel, pure, rhos, delta):
    """Compose bad cases of our parts with the oracle's optimistic privacy losses.

    A pure part may be randomized response. A selection between two candidates is randomized response of half the
    epsilon, as its loss lies in a range of epsilon around 0. Gaussian noise is itself.
    """
    parts = [response(e / 2) for e in gumbel] + [response(e) for e in pure]
    if rhos:
        scale = math.sqrt(1 / (2 * math.fsum(rhos)))
        parts.append(
            pld.from_gaussian_mechanism(
                scale, pessimistic_estimate=False, value_discretization_interval=GRID, use_connect_dots=False
            )
        )
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return whole.get_epsilon_for_delta(delta)


@pytest.mark.slow
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_never_below_a_tight_oracle(composition, delta):
    """No mechanism that our events allow loses more than our epsilon says."""
    found = guarantee_of(event_of(*composition), RELATION, Fraction(delta)).epsilon
    assert found >= lower_epsilon(*composition, float(delta))


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_never_above_the_same_formula(composition, delta):
    """The oracle's conversion of the same rho is never better: ours takes the best order, not the best of a grid."""
    found = guarantee_of(event_of(*composition), RELATION, Fraction(delta)).epsilon
    oracle = renyi_epsilon(*composition, float(delta))
    assert found <= oracle + 2e-9


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("count", [20, 50, 200])
def test_zero_concentrated_selections_are_the_oracles(count, delta):
    """Many exponential mechanisms are priced by this formula alone, and agree to the fineness of the oracle's grid."""
    composition = ([0.05] * count, [], [])
    found = float(guarantee_of(event_of(*composition), RELATION, Fraction(delta)).epsilon)
    if found < 0.05 * count:
        assert found == pytest.approx(renyi_epsilon(*composition, float(delta)), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rhos", [[0.0001], [0.02, 0.02], [0.5], [3.0, 1.0]])
def test_gaussian_noise_alone_is_tight(rhos, delta):
    """The oracle's two-sided bounds of the privacy loss hold our epsilon between them."""
    found = float(guarantee_of(event_of([], [], rhos), RELATION, Fraction(delta)).epsilon)
    above = pld.from_gaussian_mechanism(math.sqrt(1 / (2 * math.fsum(rhos))), value_discretization_interval=GRID)
    assert lower_epsilon([], [], rhos, float(delta)) <= found <= above.get_epsilon_for_delta(float(delta)) + 1e-9
