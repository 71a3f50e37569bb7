"""The choice above a threshold on neighboring scores, and controls that must be flagged."""

import itertools
import math

import numpy as np
import pytest

from discreet.mechanisms.rng import Source
from discreet.selftest.laws import race_law, subset_law

EPSILONS = [0.1, 1.0, 4.0]
NOISES = ["exponential", "gumbel"]


def loss_of(one, other):
    """The largest ratio of the chances of a subset."""
    return max(abs(math.log(one[subset] / other[subset])) for subset in one)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("weight", "most"), [(1, None), (2, None), (5, None), (1, 1), (3, 2), (1, 3)])
def test_any_neighbors_lose_at_most_epsilon(weight, most, epsilon, noise):
    """Scores near and far from the threshold, each moved by up to the sensitivity in any direction."""
    words = Source.seeded(4).words(60 * 10).reshape(60, 10) / 2.0**64
    for drawn in words:
        scores = np.rint(drawn[:5] * 40).astype(int)
        moved = scores + np.rint(drawn[5:] * 6 - 3).astype(int)
        laws = [subset_law(v, 20, epsilon, 3.0, weight, noise, most) for v in (scores, moved)]
        assert loss_of(*laws) <= epsilon * (1 + 1e-9)


def edge(distance, step):
    """One feature far below moves away, the others, alike and farther from their own side, come nearer."""
    return np.array([-distance, *[distance + 1] * 6]), np.array([-distance - step, *[distance + 1 - step] * 6])


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_worst_pair_comes_close_to_epsilon(epsilon, noise):
    """One subset's cost grows by 1 while the others', which hold nearly all of the chance, fall by 1."""
    far = round(40 / epsilon)
    one, other = (subset_law(v, 0, epsilon, 1.0, 1, noise) for v in edge(far, 1))
    assert 0.45 * epsilon < loss_of(one, other) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_noise_added_to_the_cost_is_flagged(epsilon):
    """Control: argmin of cost plus exponential noise finds more, and among N equal costs loses about N epsilon."""
    d = 6

    def chance_of_all(score):
        """Of the whole set: the least cost plus noise over 2^d - 1 costs of one kind, and one of its own."""
        # With rate r, P(E_0 + c_0 least) = e^(-N r (c_0 - c)) N / (N + 1) integrated by parts: exact for c_0 >= c.
        rest, rate = 2**d - 1, epsilon / 2
        gap = rate * score
        return math.exp(-rest * gap) / (rest + 1)

    lost = math.log(chance_of_all(0) / chance_of_all(2))
    assert lost > 10 * epsilon


@pytest.mark.parametrize("noise", NOISES)
def test_a_weight_from_the_scores_is_flagged(noise):
    """Control: a weight that follows how many scores lie above the threshold is no public one."""
    epsilon, pair = 0.1, (np.array([1, 1, 1, 1, 1]), np.array([0, 0, 0, 0, 0]))
    laws = [subset_law(v, 0, epsilon, 1.0, 1 + int((v > 0).sum()), noise) for v in pair]
    assert loss_of(*laws) > 5 * epsilon


def test_costs_move_by_at_most_one_and_attain_it():
    """By brute force over all subsets; two of them by 2 against each other."""
    d, most = 4, 0.0
    for moves in itertools.product((-1, 0, 1), repeat=d):
        scores = np.array([3, 1, -2, 0])
        one, other = (costs(v) for v in (scores, scores + np.array(moves)))
        change = other - one
        assert np.abs(change).max() <= 1
        most = max(most, np.ptp(change))
    assert most == 2


def costs(scores):
    """Of all subsets, at the threshold 0."""
    n = len(scores)
    chosen = [[bool(code >> j & 1) for j in range(n)] for code in range(2**n)]
    return np.array(
        [max([abs(v) for v, inside in zip(scores, row, strict=True) if inside != (v > 0)], default=0) for row in chosen]
    )


def test_the_law_through_classes_is_that_of_all_subsets():
    """Class sizes as the mechanism counts them, by the race of classes."""
    scores, epsilon, weight = np.array([3, 9, 5, 6]), 1.0, 3
    distances, above = np.abs(scores - 6), scores > 6
    order = np.argsort(distances, kind="stable")
    times = [weight ** int((~above).sum())]
    for j in range(1, 5):
        absent = int((~above[order[j:]]).sum()) + int(above[order[j - 1]])
        times.append((1 + weight) ** (j - 1) * weight**absent)
    assert sum(times) == (1 + weight) ** 4
    chances = race_law([0.0, *(-epsilon / 2 * distances[order])], times, "gumbel") * np.array(times)
    law = subset_law(scores, 6, epsilon, 1.0, weight, "gumbel")
    natural = tuple(np.flatnonzero(above).tolist())
    assert chances[0] == pytest.approx(law[natural])
