"""Noise measured by where a decision turns: against selections whose noise is known, right and wrong."""

import math

import numpy as np
import pytest

from discreet.selftest.decisions import by_decisions, quantile

ABOUT = {"subject": "f", "case": "", "claim": "", "neighboring": "-", "epsilon": 1.0, "delta": 0.0}


def measured(noise, true_scale, falls=False, form=lambda z: z):
    """A selection of two that draws noise of a scale, by a quantile function that may fall."""

    def decide(gap, source):
        first, second = (source.words(2) / 2.0**64).tolist()
        ends = (1.0 - first, 1.0 - second) if falls else (first, second)
        z = [form(quantile(end, noise)) * true_scale for end in ends]
        return bool(z[1] - gap > z[0])

    return by_decisions(decide, noise, 2.0, **ABOUT)


@pytest.mark.parametrize("falls", [False, True])
@pytest.mark.parametrize("noise", ["exponential", "gumbel", "laplace"])
def test_a_scale_is_measured_to_a_millionth(noise, falls):
    """The right one shows what is claimed; one that is short shows more, whichever way words are read."""
    assert measured(noise, 2.0, falls).shown == pytest.approx(1.0, rel=1e-7)
    assert not measured(noise, 2.0, falls).is_flagged
    assert measured(noise, 2.0 / 1.1, falls).shown == pytest.approx(1.1, rel=1e-7)
    assert measured(noise, 2.0 / 1.00001, falls).is_flagged


def test_a_law_of_another_form_is_flagged():
    """Noise that is larger where it is large."""
    assert measured("laplace", 2.0, form=lambda z: z * (1.0 + abs(z))).is_flagged


@pytest.mark.parametrize("noise", ["exponential", "gumbel", "laplace"])
def test_quantiles(noise):
    """Of ten thousand even chances they have the law's mean."""
    mean = np.mean([quantile((k + 0.5) / 10_000, noise) for k in range(10_000)])
    wanted = {"exponential": 1.0, "gumbel": 0.5772156649, "laplace": 0.0}[noise]
    assert math.isclose(mean, wanted, abs_tol=1e-3)
