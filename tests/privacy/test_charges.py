"""Faulty accounting is flagged by the checks that the true one passes."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, FailureEvent, LaplaceEvent, SelectionEvent
from discreet.accounting.guarantee import exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.accounting.zcdp import STEP, rho_of, steps_of_rho
from discreet.ledger.grains import EPSILON_GRAIN, charged, granted
from tests.privacy.laws import log_law

RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE
FAILURE = Fraction(1, 1000)


def test_binary_fractions_would_be_flagged():
    """Ten tenths are one, in the numbers that people write; in those of floats they are not."""
    assert 10 * exact(0.1, "epsilon") == 1
    assert 10 * Fraction(0.1) != 1


def kullback(law, other):
    """Divergence of order 1 of two laws given by logarithms."""
    return float(np.sum(np.exp(law) * (law - other)))


def law(behind, noise):
    """Logarithms of the probabilities of two candidates, one of which is behind by this."""
    return np.array([float(value) for value in log_law(np.array([0.0, behind]), 1.0, noise)])


@pytest.mark.parametrize("noise", ["exponential", "gumbel", "laplace"])
def test_an_eighth_for_every_noise_is_flagged(noise):
    """A candidate gets behind by the whole range: its own rho is enough, and gumbel's is not for exponential noise."""
    laws = [(law(start, noise), law(start + 1.0, noise)) for start in np.linspace(-3.0, 2.0, 41)]
    lost = max(kullback(*way) for p, q in laws for way in ((p, q), (q, p)))
    assert lost <= rho_of(SelectionEvent(Fraction(1), noise))[0]
    assert (lost > rho_of(SelectionEvent(Fraction(1), "gumbel"))[0]) == (noise == "exponential")


def delta_of(law, other, epsilon):
    """The least delta of a pair of laws at an epsilon."""
    return sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(law, other, strict=True))


def test_a_failure_left_out_is_flagged():
    """With the probability of the failure, all is told: a delta without it is exceeded by the pair."""
    share, fails = 1 / (1 + math.exp(-1.0)), float(FAILURE)
    law = [(1 - fails) * share, (1 - fails) * (1 - share), fails, 0.0]
    other = [(1 - fails) * (1 - share), (1 - fails) * share, 0.0, fails]
    pure = LaplaceEvent(Fraction(1))
    for delta in (Fraction(0), FAILURE + Fraction(1, 10**6)):
        whole = guarantee_of(ComposedEvent((pure, FailureEvent(FAILURE))), RELATION, delta)
        assert delta_of(law, other, float(whole.epsilon)) <= whole.delta * (1 + Fraction(1, 10**12))
    without = guarantee_of(pure, RELATION, Fraction(1, 10**6))
    assert delta_of(law, other, float(without.epsilon)) > without.delta


@pytest.mark.parametrize("rho", ["1e-9", "0.0625", "3"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "0.3"])
def test_a_conversion_that_rounds_down_is_flagged(rho, delta):
    """The formula at its best order, in 50 digits, lies between the step below and the one that is stated."""
    cost, probability = Fraction(rho), Fraction(delta)
    with mpmath.workdps(50):
        r, d = mpmath.mpf(rho), mpmath.mpf(delta)

        def at(excess):
            order = 1 + excess
            return order * r + (mpmath.log(1 / d) - mpmath.log(order)) / excess + mpmath.log(1 - 1 / order)

        low, high = mpmath.mpf("1e-8"), mpmath.sqrt(mpmath.log(1 / d) / r) + 1
        for _ in range(400):
            first, second = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, second) if at(first) < at(second) else (first, high)
        best = max(at(low), mpmath.mpf(0))
        stated = steps_of_rho(cost, probability)
        assert stated * STEP >= Fraction(str(best)) or stated == 1
        assert (stated - 1) * STEP < Fraction(str(best)) or stated == 1


def spent(cost, cap, in_grains):
    """What releases of one cost come to, as many as a cap admits."""
    grains = in_grains(cost, EPSILON_GRAIN)
    return (granted(cap, EPSILON_GRAIN) // grains) * cost


def test_a_cost_that_is_rounded_down_is_flagged():
    """Costs between two grains: rounded down they exceed the cap together."""
    cost, cap = EPSILON_GRAIN * Fraction(3, 2), EPSILON_GRAIN * 10
    assert spent(cost, cap, charged) <= cap
    assert spent(cost, cap, granted) > cap
