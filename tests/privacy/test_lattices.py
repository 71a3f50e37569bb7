"""Neighbors reach the same values: what is released in numbers lies on steps that are public, and no bit below them."""

import numpy as np
import pytest

from discreet import workflow
from discreet.mechanisms.additive import discrete_gaussian, discrete_laplace
from discreet.mechanisms.rng import Source
from tests.privacy.pairs import table_of

pytestmark = pytest.mark.statistics

SAMPLE_SIZE = 20_000
SCALE, SHIFT = 3.0, 5
"""A scale, and how far two neighbors' sums are apart."""
WINDOW = range(-3, 9)
"""Each has a probability of at least 1/1000 from either neighbor: one is missed once in 10^8 runs."""


@pytest.mark.parametrize("noise", [discrete_laplace, discrete_gaussian])
def test_noise_reaches_every_step_from_either_neighbor(noise):
    """Whole numbers, and each of them, from the sum of one table as from that of the other."""
    for value in (0, SHIFT):
        found = noise([value] * SAMPLE_SIZE, SCALE, Source())
        assert {type(one) for one in found} == {int}
        assert set(WINDOW) <= set(found)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noisy_sums_use_every_step_from_either_neighbor(delta):
    """The last bit of a released sum is as often 0 as 1, however wide its noise: no step is coarser."""
    rows = np.full((40, 5), 0.5)
    others = np.vstack([rows[:-1], np.full((1, 5), -1.0)])
    method = workflow.method_of("moments", epsilon=0.01, delta=delta)
    for cells in (rows, others):
        table = table_of(cells, ["x1", "x2", "x3", "x4"], "y", "replace_one", 1.0)
        sums = []
        for _ in range(40):
            found = workflow.answer(method, table, "y").release.moments
            sums += [*found.xty, found.yty]
        odd = np.mean([one % 2 for one in sums])
        assert abs(odd - 0.5) < 4.5 * 0.5 / np.sqrt(len(sums))


def test_noise_in_floats_would_be_flagged():
    """Control: added in floats, noise from 0 has bits that noise from 1 cannot have, and the sum tells which it was."""
    words = Source.seeded(1).words(SAMPLE_SIZE).astype(np.float64) * 2.0**-64 - 0.5
    noise = -np.sign(words) * np.log1p(-2.0 * np.abs(words))
    near = noise[np.abs(noise) < 0.5]
    assert all((one * 2.0**53).is_integer() for one in 1.0 + near)
    assert not all((one * 2.0**53).is_integer() for one in 0.0 + near)
