"""Top-k mechanisms on the worst pairs known, and controls that must be flagged."""

import itertools
import math

import numpy as np
import pytest

from discreet.mechanisms.lipschitz_race import count
from discreet.mechanisms.rng import Source
from discreet.selftest.laws import lipschitz_law, losses, one_shot_law, race_law

EPSILONS = [0.1, 1.0, 4.0]


def loss_of(one, other):
    return max(abs(math.log(one[y] / other[y])) for y in one)


def class_law(scores, k, epsilon, gamma, noise, size, first):
    """The law of a set through classes (head, tail) of given sizes, the body from rank head + first on."""
    ranked = np.argsort(-np.asarray(scores), kind="stable")
    v = np.asarray(scores)[ranked]
    members = {(-1, k): [tuple(range(1, k + 1))]}
    for h, t in itertools.product(range(k), range(k + 1, len(v) + 1)):
        bodies = itertools.combinations(range(h + first, t), k - h - 1)
        members[h, t] = [(*range(1, h + 1), *body, t) for body in bodies]
    kept = [c for c in members if c[0] < 0 or size(k, *c) > 0]
    least = [(1 - 2 * gamma) * v[k - 1] if h < 0 else (1 - gamma) * v[h] - gamma * v[t - 1] for h, t in kept]
    sizes = [1 if c[0] < 0 else size(k, *c) for c in kept]
    chances = race_law([-epsilon / 2 * loss for loss in least], sizes, noise)
    law = dict.fromkeys(itertools.combinations(range(len(v)), k), 0.0)
    for c, chance, number in zip(kept, chances, sizes, strict=True):
        for ranks in members[c]:
            law[tuple(sorted(int(ranked[r - 1]) for r in ranks))] += chance * number / len(members[c])
    return law


def correct(k, h, t):
    """As the mechanism counts."""
    return count(k, h, t, t + 1)


def printed(k, h, t):
    """As Swope et al. print it."""
    return math.comb(t - h - 1, k - h - 1)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(("d", "k"), [(4, 2), (6, 1), (6, 3), (8, 4), (8, 7)])
@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
def test_classes_have_the_law_of_all_sets(d, k, gamma, noise):
    """The law through classes equals brute force over all k-sets, ties included."""
    scores = np.round(np.sin(np.arange(d) * 2.3) * 5)
    brute = lipschitz_law(scores, k, 1.3, 1.0, gamma, noise)
    through = class_law(scores, k, 1.3, gamma, noise, correct, 2)
    assert all(through[y] == pytest.approx(brute[y], rel=1e-9) for y in brute)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
def test_an_order_swap_changes_nothing(epsilon, noise):
    """P10: all scores equal up to 1e-9, then the order reversed."""
    scores = 5.0 + 1e-9 * np.arange(6) / 6
    one, other = (class_law(v, 3, epsilon, 0.5, noise, correct, 2) for v in (scores, scores[::-1]))
    assert loss_of(one, other) < 1e-6


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("d", "k"), [(6, 3), (8, 5)])
def test_sizes_as_printed_are_flagged(epsilon, d, k):
    """P12, control: the printed sizes lose log k by an order swap, whatever epsilon is."""
    scores = 5.0 + 1e-9 * np.arange(d) / d
    one, other = (class_law(v, k, epsilon, 0.5, "gumbel", printed, 1) for v in (scores, scores[::-1]))
    assert loss_of(one, other) == pytest.approx(math.log(k), abs=1e-6)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
def test_the_worst_pair_comes_close_to_epsilon_and_not_beyond(epsilon, noise):
    """P11: one high, one low, a thousand between that move the other way; the loss is nearly epsilon."""
    copies = 1000

    def chance(high, between, low, gamma=0.5):
        """Of the set of the high and the low one, among the four kinds of pairs."""
        kinds = {(high, low): 1, (high, between): copies, (between, low): copies}
        kinds[between, between] = math.comb(copies, 2)
        utilities = []
        for y in kinds:
            rest = {high, low} - set(y) | {between}
            utilities.append(-epsilon / 2 * ((1 - gamma) * max(*rest, min(y)) - gamma * min(y)))
        return race_law(utilities, list(kinds.values()), noise)[0]

    lost = abs(math.log(chance(8.0, 4.0, 2.0) / chance(7.0, 5.0, 1.0)))
    assert lost <= epsilon + 1e-9
    assert lost >= (0.99 if epsilon < 2 else 0.97) * epsilon


@pytest.mark.parametrize("gamma", [0.5, 0.75, 0.9, 1.0])
def test_losses_move_by_at_most_the_sensitivity(gamma):
    """LOSS of every set moves by at most 1 when every score does: whatever the moves."""
    words = Source.seeded(3).words(300 * 12).reshape(300, 12) / 2.0**64
    for drawn in words:
        scores = drawn[:6] * 6
        moved = scores + np.rint(drawn[6:] * 2 - 1)
        one, other = losses(scores, 3, gamma), losses(moved, 3, gamma)
        assert max(abs(one[y] - other[y]) for y in one) <= 1.0 + 1e-12


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
def test_one_shot_stays_within_epsilon_on_pairs_at_the_edge(epsilon, noise):
    """The set is low among many that rise: the loss comes close to epsilon; half the noise is flagged."""
    k, low = 2, -9.0 / epsilon
    before = np.array([low, low, *[0.0] * 7])
    after = np.array([low - 1, low - 1, *[1.0] * 7])
    laws = [one_shot_law(v, k, epsilon, 1.0, noise) for v in (before, after)]
    assert loss_of(*laws) <= epsilon * (1 + 1e-4)
    assert loss_of(*laws) >= 0.9 * epsilon
    halved = [one_shot_law(v, k, epsilon, 1.0, noise, scale=k / epsilon) for v in (before, after)]
    assert loss_of(*halved) > 1.5 * epsilon


@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
def test_one_shot_stays_within_epsilon_on_all_small_moves(noise):
    """Every move of five scores by -1, 0 or 1, for several tables."""
    for scores in ([0.0, 0, 0, 0, 0], [3.0, 2, 1, 0, -1], [5.0, 5, 0, 0, 0]):
        base = one_shot_law(scores, 2, 1.0, 1.0, noise)
        for move in itertools.product((-1.0, 1.0), repeat=5):
            assert loss_of(base, one_shot_law(np.add(scores, move), 2, 1.0, 1.0, noise)) <= 1.0 + 1e-4
