"""The published algorithm by size: the draws of the product's own variant, at its price and at the honest one."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.rng import Source
from discreet_papers.wang_curves import CLINICAL, ORDER_SHARE, SIMULATED, Algorithm
from discreet_papers.wang_pairs import private_methods, published, simulated

SIZES = (10, 40, 70, 100)


@pytest.fixture(scope="module")
def pair():
    """A small pair of tables."""
    return simulated(2, 0, n_rows=300)


@pytest.fixture(scope="module")
def algorithm(pair):
    """The algorithm on it."""
    return Algorithm(pair, SIZES)


@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_it_is_the_published_method(pair, algorithm, epsilon):
    """Same seed, same chosen size, same coefficients as `PublicSubset(as_published=True)`."""
    prepared = published(pair, SIZES)(epsilon=epsilon).prepare(pair.metadata, pair.target)
    for seed in range(5):
        outcome = prepared.run(pair.table, Source.seeded(seed))
        curve, chosen = algorithm.as_claimed(epsilon, Source.seeded(seed))
        assert [one.chosen for one in outcome.hybrid.candidates].index(True) == chosen
        theirs = [each.estimate for each in outcome.fit.coefficients]
        assert curve.coefficients[chosen] == pytest.approx(theirs, rel=1e-6)


def test_honest_parts_add_up(algorithm):
    """The price counts every criterion, and the honest run is the claimed one at a smaller claim."""
    assert SIMULATED.cost(60) == Fraction(61, 2)
    assert SIMULATED.cost(1) == CLINICAL.cost(1) == 1
    assert CLINICAL.cost(16) == 6
    honest, chosen = algorithm.honest(5.0, Source.seeded(3))
    claimed, same = algorithm.as_claimed(2.0, Source.seeded(3))  # 5 / 2.5
    assert float(SIMULATED.cost(len(SIZES))) == 2.5
    assert (honest.coefficients, chosen) == (claimed.coefficients, same)


def test_without_noise_is_the_limit(algorithm):
    """As epsilon grows, all curves come to that of exact counts; and the noise of a small one shows."""
    exact = [error.t for error in algorithm.without_noise().errors]
    one_size = algorithm.one_size(1000.0, Source.seeded(4))
    assert [error.t for error in one_size.errors] == pytest.approx(exact, abs=0.1)
    noisy = algorithm.one_size(0.1, Source.seeded(4))
    assert max(error.t for error in noisy.errors) > 2.0 * max(exact)
    assert 0 < ORDER_SHARE < 1


def test_shared_price_costs_more_than_the_size_alone(algorithm):
    """At the same epsilon, weights of one size err less than weights that share the price with the others."""
    alone = [algorithm.one_size(4.0, Source.seeded(seed)).errors[-1].t for seed in range(20)]
    shared = [algorithm.as_claimed(4.0, Source.seeded(seed))[0].errors[-1].t for seed in range(20)]
    assert np.mean(alone) < 0.7 * np.mean(shared)


def test_error_is_measured_from_the_private_fit(pair):
    """Nothing for that fit itself; for no effect the norm of the chances less one half."""
    assert pair.error(pair.best).t == 0.0
    chances = 1.0 / (1.0 + np.exp(-pair.matrix(pair.private) @ pair.best))
    nothing = pair.error(0.0 * pair.best)
    assert nothing.t == pytest.approx(np.sqrt(((chances - 0.5) ** 2).sum()))
    assert nothing.brier == 0.25


def test_pairs_are_drawn_as_the_paper_says():
    """The same pair for the same number; a column of the public table has half the variance; no constant."""
    pair, again, other = simulated(2, 1, 4000), simulated(2, 1, 4000), simulated(2, 2, 4000)
    assert np.array_equal(pair.public["x0"], again.public["x0"])
    assert not np.array_equal(pair.public["x0"], other.public["x0"])
    spreads = [[float(np.var(table[name])) for name in ("x0", "x1")] for table in (pair.private, pair.public)]
    assert np.array(spreads) == pytest.approx(np.array([[1.0, 1.0], [0.5, 1.0]]), rel=0.15)
    assert len(pair.best) == 2
    assert np.all(np.abs(pair.best) < 1.3)
    wide = simulated(100, 0, 200)
    assert set(private_methods(wide)) == {"histogram", "hybrid", "public subset"}
    assert len(wide.public) == 101
