"""Exact laws against others: 30 digits, closed forms, and sums to one."""

import numpy as np
import pytest
from tests.privacy.laws import log_law

from discreet.selftest import laws


@pytest.mark.parametrize("noise", ["exponential", "gumbel", "laplace"])
@pytest.mark.parametrize("scores", [[0.0, 1.0], [0.0, 0.0, 3.0], [5.0, 1.0, 2.0, 30.0]])
def test_least_law(noise, scores):
    """Against the law computed with 30 digits."""
    wanted = [float(value) for value in log_law(scores, 0.7, noise)]
    np.testing.assert_allclose(np.log(laws.least_law(scores, 0.7, noise)), wanted, atol=1e-8)


@pytest.mark.parametrize("scale", [0.3, 1.0, 20.0])
def test_whole_laws(scale):
    """They sum to one, are even, and have the ratios of their definition; tails are in the last cells."""
    for law, ratio in ((laws.laplace_law, np.exp(-1 / scale)), (laws.gaussian_law, np.exp(-0.5 / scale**2))):
        found = law(scale, 8)
        assert found.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(found, found[::-1])
        assert found[9] / found[8] == pytest.approx(ratio)


def test_rank_distances():
    """By hand: ten rows at three points, their median and their end."""
    assert laws.rank_distances([2, 5, 3], 0.5).tolist() == [3.0, 0.0, 2.0]
    assert laws.rank_distances([2, 5, 3], 1.0).tolist() == [8.0, 3.0, 0.0]


def test_distribution_function():
    """Laplace, at points known by heart."""
    np.testing.assert_allclose(laws.laplace_chance(np.array([0.0, np.log(2.0)])), [0.5, 0.75])
