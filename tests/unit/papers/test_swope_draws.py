"""Swope et al.: the mechanism as its appendix prints it has the law of overlapping classes; votes move by one."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from discreet.mechanisms.rng import Source
from discreet.selftest.laws import race_law
from discreet.simulation.draws import normals
from discreet_papers.swope_draws import Printed, most_voted, votes

pytestmark = pytest.mark.statistics

DRAWS = 20_000
SIGMAS = 6


def printed_law(scores, k, epsilon):
    """The law of Algorithm 2 by its definitions: m noises for each class, and one of its m sets."""
    order = sorted(range(len(scores)), key=lambda j: -scores[j])
    utilities, sets = [0.0], [[frozenset(order[:k])]]
    for t in range(k + 1, len(scores) + 1):
        for h in range(k):
            bodies = itertools.combinations(order[h : t - 1], k - h - 1)
            sets.append([frozenset((*order[:h], *body, order[t - 1])) for body in bodies])
            utilities.append(-epsilon / 4.0 * (scores[order[h]] - scores[order[t - 1]]))
    chances = race_law(utilities, [len(one) for one in sets], "exponential")
    law = Counter()
    for chance, members in zip(chances, sets, strict=True):
        for one in members:
            law[one] += chance
    return law


@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_printed_sets_have_the_law_of_the_printed_classes(epsilon):
    """Frequencies of all sets lie within six standard errors of the law."""
    scores, k = np.array([1.0, 9.0, 4.0, 7.0, 3.0, 4.5]), 3
    law, rng, mechanism = printed_law(scores.tolist(), k, epsilon), Source.seeded(11), Printed(scores, k)
    assert sum(law.values()) == pytest.approx(1.0)
    counts = Counter(frozenset(mechanism.draw(epsilon, 1.0, rng).tolist()) for _ in range(DRAWS))
    assert set(counts) <= set(law)
    for one, chance in law.items():
        error = math.sqrt(chance * (1.0 - chance) / DRAWS)
        assert counts[one] / DRAWS == pytest.approx(chance, abs=SIGMAS * error + 1e-4), one


def test_printed_sets_tell_the_order_of_nearly_equal_scores():
    """A change of 1e-9 of one score changes a chance by a factor of k: the reason why the way is marked not private."""
    k, epsilon = 3, 0.1
    before, after = np.zeros(6), np.zeros(6)
    before[[0, 1, 2]], after[[3, 4, 5]] = 1e-9, 1e-9
    laws = [printed_law(scores.tolist(), k, epsilon) for scores in (before, after)]
    loss = max(abs(math.log(laws[0][one] / laws[1][one])) for one in laws[0])
    assert loss == pytest.approx(math.log(k), abs=1e-6)


def test_a_larger_sensitivity_is_a_smaller_epsilon():
    """Twice the sensitivity at twice the epsilon draws the same sets from the same seed."""
    scores = np.arange(8.0)
    mechanism, first, second = Printed(scores, 3), Source.seeded(2), Source.seeded(2)
    for _ in range(50):
        assert mechanism.draw(1.0, 1.0, first).tolist() == mechanism.draw(2.0, 2.0, second).tolist()


def test_votes_find_what_matters_and_move_by_one():
    """Columns with large effects get most votes; one replaced row changes no column's votes by more than 1."""
    X = normals(Source.seeded(21), 64, 30)
    y = 3.0 * X[:, 4] - 3.0 * X[:, 9]
    counts = votes(X, y, 2, Source.seeded(1))
    assert set(most_voted(counts, 2, Source.seeded(2)).tolist()) == {4, 9}
    assert counts.max() <= 8
    for row in range(0, 64, 8):
        X2, y2 = X.copy(), y.copy()
        X2[row], y2[row] = 50.0, -50.0
        assert np.abs(votes(X2, y2, 2, Source.seeded(1)) - counts).max() <= 1


def test_equal_votes_are_ordered_by_chance():
    """The first columns have no advantage."""
    rng = Source.seeded(3)
    found = {frozenset(most_voted(np.ones(10, dtype=np.int64), 2, rng).tolist()) for _ in range(200)}
    assert len(found) > 30
