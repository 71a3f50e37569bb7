"""The choice above a threshold draws from its law, whatever the scores."""

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.effort import either, pairwise

from discreet.errors import InvalidParameterError
from discreet.mechanisms import threshold
from discreet.mechanisms.reals import Words
from discreet.mechanisms.rng import Source
from discreet.mechanisms.threshold import above_threshold
from discreet.selftest.laws import subset_law

SAMPLE_SIZE = either(4000, 40_000)
P_THRESHOLD = 1e-6

SCORES = {
    "apart": [3, 9, 5, 8],
    "ties at both sides": [4, 8, 4, 8],
    "at the threshold": [6, 6, 7, 1],
    "all alike": [2, 2, 2, 2],
    "far above": [2**61, 9, 5, 6],
}


@pytest.mark.statistics
@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
@pytest.mark.parametrize("weight", [1, 3])
@pytest.mark.parametrize("name", SCORES)
def test_draws_follow_the_law_of_all_subsets(name, weight, noise):
    """Chi-square against brute force over all subsets; the law of another weight is rejected."""
    rng, law = Source.seeded(7), (6, 1.5, 2.0)
    drawn = Counter(tuple(above_threshold(SCORES[name], *law, rng, weight, noise).tolist()) for _ in range(SAMPLE_SIZE))
    assert p_value(drawn, subset_law(SCORES[name], *law, weight, noise)) > P_THRESHOLD
    assert p_value(drawn, subset_law(SCORES[name], *law, weight + 1, noise)) < P_THRESHOLD


AT_MOST = pairwise(itertools.product(SCORES, (1, 2, 3), (1, 3), ("exponential", "gumbel")))


@pytest.mark.statistics
@pytest.mark.parametrize(("name", "most", "weight", "noise"), AT_MOST)
def test_draws_of_at_most_some_features_follow_their_law(name, most, weight, noise):
    """Chi-square against brute force over the subsets that are left; the law of all subsets is rejected."""
    rng, law = Source.seeded(8), (6, 1.5, 2.0)
    scores, drawn = SCORES[name], Counter()
    for _ in range(SAMPLE_SIZE):
        drawn[tuple(above_threshold(scores, *law, rng, weight, noise, max_size=most).tolist())] += 1
    assert max(map(len, drawn)) <= most
    assert p_value(drawn, subset_law(scores, *law, weight, noise, max_size=most)) > P_THRESHOLD


@pytest.mark.parametrize("weight", [1, 2, 30, 333_333])
@pytest.mark.parametrize("most", [1, 2, 7, 900])
def test_weights_of_classes_are_sums_over_their_subsets(weight, most):
    """In floats as in whole numbers, for few and for thousands of free features, within the race's slack."""
    n = np.array([0, 1, 2, 5, 60, 2000, 50_000])
    for room in {0, 1, most // 2, most}:
        rooms = np.minimum(np.full(n.size, room), n)
        floats = threshold._log_partial_sums(n, np.full(n.size, room), weight)
        for place in range(n.size):
            exact = threshold._log_weight(int(n[place]), int(rooms[place]), 0, weight).value
            assert abs(floats[place] - exact) <= 1000 * threshold.ROUNDING * (1.0 + exact)


def test_the_largest_of_a_million_features_fill_the_room():
    """Where more lie above the threshold than may be chosen, those nearest to it are left out."""
    scores = np.zeros(10**6, dtype=np.int64)
    scores[[5, 77, 999_999]] = [9000, 8000, 4000]
    assert above_threshold(scores, 2000, 1.0, 2, Source(), 333_333, max_size=2).tolist() == [5, 77]


@pytest.mark.parametrize("bound", [1, 2, 3, 2**64, 2**64 + 1, 3**100])
def test_whole_numbers_below_a_bound_are_drawn(bound):
    """All of them lie below it, and their mean is its middle."""
    words = Words(Source.seeded(2))
    drawn = [threshold._below(bound, words) / bound for _ in range(2000)]
    assert max(drawn) < 1.0
    assert abs(float(np.mean(drawn)) - (bound - 1) / bound / 2) < 5 * (1 / 12 / 2000) ** 0.5


def p_value(drawn, law):
    """Of subsets with at least five expected draws; the others together."""
    expected = {subset: chance * SAMPLE_SIZE for subset, chance in law.items()}
    often = [subset for subset, number in expected.items() if number >= 5]
    counts = np.array([*(drawn[subset] for subset in often), 0.0])
    means = np.array([*(expected[subset] for subset in often), 0.0])
    counts[-1], means[-1] = SAMPLE_SIZE - counts.sum(), SAMPLE_SIZE - means.sum()
    used = means > 1e-9
    return chisquare(counts[used], means[used]).pvalue if used.sum() > 1 else 1.0


def test_classes_count_every_subset_once():
    """Without any distance all subsets are alike: each feature is chosen with the chance 1 / (1 + weight)."""
    rng = Source.seeded(3)
    sizes = [above_threshold(np.zeros(300, dtype=np.int64), 0, 1.0, 1, rng, 2).size for _ in range(200)]
    assert abs(np.mean(sizes) - 100.0) < 5 * (300 * 2 / 9 / 200) ** 0.5


def test_a_million_features_are_chosen_from():
    """Those far above are chosen, and no other one, at a weight that keeps what noise would choose to a few."""
    scores = np.zeros(10**6, dtype=np.int64)
    scores[[5, 77, 999_999]] = 4000
    chosen = above_threshold(scores, 2000, 1.0, 2, Source(), 333_333)
    assert chosen.tolist() == [5, 77, 999_999]


@pytest.mark.parametrize(
    "wrong",
    [
        {"scores": [1.5, 2.0]},
        {"scores": []},
        {"threshold": 1.5},
        {"sensitivity": 0},
        {"absent_weight": 0},
        {"absent_weight": True},
        {"noise": "laplace"},
        {"max_size": 0},
        {"max_size": 1001},
        {"max_size": True},
        {"epsilon": -1},
    ],
)
def test_wrong_parameters_are_refused(wrong):
    """Before anything is drawn."""
    asked = {"scores": [1, 2], "threshold": 1, "epsilon": 1.0, "sensitivity": 1, "rng": Source()} | wrong
    with pytest.raises(InvalidParameterError):
        above_threshold(**asked)


def test_the_order_of_the_features_does_not_matter():
    """Subsets of permuted scores have permuted chances."""
    scores, order = np.array([3, 9, 5, 6]), [2, 0, 3, 1]
    one, other = (
        subset_law(scores, 6, 1.0, 2.0, 2, "exponential"),
        subset_law(scores[order], 6, 1.0, 2.0, 2, "exponential"),
    )
    for size in range(5):
        for subset in itertools.combinations(range(4), size):
            assert other[subset] == pytest.approx(one[tuple(sorted(order[j] for j in subset))])
