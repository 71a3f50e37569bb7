"""What a check may conclude: bounds against known laws, p-values under right and wrong ones."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.selftest.evidence import (
    FALSE_ALARM,
    Evidence,
    loss_at_delta,
    loss_of_laws,
    loss_of_normal,
    misfit_of_chances,
    misfit_of_counts,
    misfit_of_hits,
    misfit_of_noise,
)

SOUND = Evidence("f", "pair", "claim", "-", 1.0, 0.0, 1.0, "draws", 10, 0.5)


def test_loss_of_two_laws():
    """Randomized response loses its epsilon; a chance of zero on one side alone is an endless loss."""
    p = math.e / (1 + math.e)
    assert loss_of_laws([p, 1 - p], [1 - p, p]) == pytest.approx(1.0)
    assert loss_of_laws([1.0, 0.0], [0.5, 0.5]) == math.inf


def test_loss_at_delta_forgives_delta():
    """An outcome that comes on one side alone, with chance delta, costs no epsilon."""
    one, other = np.array([0.9, 0.1, 0.0]), np.array([0.9, 0.0, 0.1])
    assert loss_at_delta(one, other, 0.1) == 0.0
    assert loss_at_delta(np.array([0.75, 0.25]), np.array([0.25, 0.75]), 0.25) == pytest.approx(math.log(2.0))


def test_loss_of_normal_noise():
    """The condition of Balle and Wang, at a point that can be checked by hand: mu = 1, epsilon = 1."""
    delta = 0.3085375387 - math.e * 0.0668072013  # Phi(-1/2) - e Phi(-3/2)
    assert loss_of_normal(1.0, delta) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("law", [[0.25] * 4, [0.9, 0.05, 0.03, 0.02], [0.5, 0.5, 0.0, 0.0]])
def test_counts_that_follow_their_law(law):
    """P-values of right counts are no smaller than they should be; of counts of another law they vanish."""
    rng = np.random.default_rng(1)  # noqa: TID251 - simulated counts, not noise
    found = [misfit_of_counts(rng.multinomial(400, law), law) for _ in range(400)]
    assert np.mean(np.array(found) < 0.05) < 0.05
    assert misfit_of_counts(rng.multinomial(4000, [0.1, 0.2, 0.3, 0.4]), law) < FALSE_ALARM


def test_an_outcome_that_cannot_be_is_a_misfit():
    """One draw of chance zero suffices."""
    assert misfit_of_counts([999, 1], [1.0, 0.0]) == 0.0


def test_other_p_values():
    """Uniform chances fit, others do not; so with successes."""
    grid = (np.arange(1000) + 0.5) / 1000
    assert misfit_of_chances(grid) > 0.99
    assert misfit_of_chances(grid**1.5) < FALSE_ALARM
    assert misfit_of_hits(500, 1000, 0.5) == 1.0
    assert misfit_of_hits(600, 1000, 0.5) == pytest.approx(binomtest(600, 1000).pvalue)


@pytest.mark.parametrize(
    ("change", "word"),
    [({"shown": 1.1}, "loses"), ({"shown": math.nan}, "loses"), ({"misfit": 1e-9}, "law"), ({"fault": "odd"}, "odd")],
)
def test_what_is_flagged(change, word):
    """A loss beyond the claim, a misfit or a fault; and a control is as expected when it is flagged."""
    from dataclasses import replace

    wrong = replace(SOUND, **change)
    assert not SOUND.is_flagged
    assert wrong.is_flagged
    assert any(word in reason for reason in wrong.reasons)
    assert SOUND.is_as_expected
    assert not wrong.is_as_expected
    assert wrong.as_control("c").is_as_expected
    assert not SOUND.as_control("c").is_as_expected


@pytest.mark.parametrize("law", ["laplace", "normal"])
def test_noise_of_half_or_twice_its_size_is_a_misfit(law):
    """A hundred numbers suffice; those of the right size fit."""
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated noise, not a release's
    noise = rng.laplace(size=110) if law == "laplace" else rng.normal(size=110)
    assert misfit_of_noise(noise, law) > 0.001
    assert max(misfit_of_noise(noise / 2, law), misfit_of_noise(2 * noise, law)) < FALSE_ALARM
