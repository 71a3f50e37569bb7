"""After a fork, parent and children draw noise of their own: nothing that was drawn or kept before decides it."""

import os

import numpy as np
import pytest

from discreet.mechanisms.additive import discrete_gaussian, discrete_laplace
from discreet.mechanisms.cube import cube_noise
from discreet.mechanisms.ellipsoid import ellipsoid_noise
from discreet.mechanisms.rng import Source, token
from discreet.mechanisms.selection import noisy_min
from discreet.mechanisms.spherical import spherical_laplace
from discreet.mechanisms.top_k import canonical_lipschitz

pytestmark = pytest.mark.processes

CHILDREN = 3
WIDE = 2.0**50
ALIKE = np.zeros(1000, dtype=np.int64)
DRAWS = {
    "words": lambda rng: rng.words(8).tolist(),
    "discrete Laplace": lambda rng: discrete_laplace([0] * 8, WIDE, rng),
    "discrete Gaussian": lambda rng: discrete_gaussian([0] * 8, WIDE, rng),
    "a cube": lambda rng: cube_noise([0] * 8, 1e9, rng),
    "an ellipsoid": lambda rng: ellipsoid_noise([0] * 8, [WIDE] * 8, rng),
    "a vector": lambda rng: spherical_laplace(8, 1.0, rng).tolist(),
    "choices": lambda rng: [noisy_min(ALIKE, 1, 1, rng) for _ in range(40)],
    "choices of several": lambda rng: [canonical_lipschitz(ALIKE, 5, 1, 1, rng).tolist() for _ in range(20)],
}
"""Of so many values that two draws are equal by chance with a probability below 10^-80."""


def forked(draw, rng) -> list[str]:
    """Draw in the parent first, then in children, then in the parent again."""
    found = [repr(draw(rng))]
    pipes = []
    for _ in range(CHILDREN):
        reader, writer = os.pipe()
        if os.fork() == 0:
            try:
                os.write(writer, repr(draw(rng)).encode())
            finally:
                os._exit(0)
        os.close(writer)
        pipes.append(reader)
    for reader in pipes:
        with os.fdopen(reader) as said:
            found.append(said.read())
        os.wait()
    return [*found, repr(draw(rng))]


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_forked_processes_draw_different_noise(draw):
    """Three children and the parent, before and after: five different draws, also where a library draws for us."""
    found = forked(draw, Source())
    assert all(found)
    assert len(set(found)) == CHILDREN + 2


def test_forked_processes_make_different_tokens():
    """A session, a key or an id is not given twice."""
    assert len(set(forked(lambda _: token(), None))) == CHILDREN + 2


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_generator_that_is_copied_is_found_out(draw):
    """Control: children of a seeded source repeat each other, and the parent repeats them."""
    found = forked(draw, Source.seeded(1))
    assert all(found)
    assert len(set(found)) == 2
