"""The private quantile: exact laws on all small histograms and their neighbors."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import InvalidParameterError
from discreet.mechanisms import quantile
from discreet.mechanisms.quantile import noisy_quantile, rank_sensitivity
from discreet.mechanisms.rng import Source
from tests.privacy.laws import log_law, max_log_ratio

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
QUANTILES = [Fraction(1, 2), Fraction(1, 200), Fraction(19, 20), Fraction(1, 3), Fraction(0), Fraction(1)]


def handed(counts, q, relation, rows=1, epsilon=1.0):
    """What reaches the noise: integer scores and their range."""
    kept = []

    def keep(scores, gamma, *_):
        kept.append((scores, gamma))
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quantile, "noisy_min", keep)
        noisy_quantile(counts, q, relation, rows, epsilon, Source.seeded(0))
    return kept[0]


def neighbors(counts, relation, rows):
    """Histograms that one unit of up to `rows` rows can make of one; a row may lie nowhere."""
    places = [*range(len(counts)), None]
    for taken in itertools.combinations_with_replacement(places, rows):
        less = np.array(counts)
        for place in taken:
            if place is not None:
                less[place] -= 1
        if (less < 0).any():
            continue
        for put in itertools.combinations_with_replacement(places, rows) if relation is REPLACE else [()]:
            other = less.copy()
            for place in put:
                if place is not None:
                    other[place] += 1
            yield other


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize("q", QUANTILES)
def test_no_histogram_moves_the_scores_by_more_than_the_range(q, relation, rows):
    """All histograms of four points and up to three rows each: the range of changes is within Gamma, and reaches it."""
    largest = 0.0
    for counts in itertools.product(range(4), repeat=4) if rows == 1 else itertools.product(range(3), repeat=3):
        scores, gamma = handed(counts, q, relation, rows)
        for other in neighbors(counts, relation, rows):
            moved = handed(other, q, relation, rows)[0] - scores
            largest = max(largest, float(np.ptp(moved)) / float(gamma))
    assert 0.5 <= largest <= 1.0


@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize("q", QUANTILES[:4])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_worst_pairs_lose_at_most_epsilon(q, relation, epsilon):
    """The exact law of permute-and-flip on neighbors around a wide histogram: at most epsilon."""
    counts = np.array([7, 0, 12, 3, 0, 1])
    scores, gamma = handed(counts, q, relation, 1, epsilon)
    law = log_law(scores, float(gamma) / epsilon, "exponential")
    for other in neighbors(counts, relation, 1):
        again = log_law(handed(other, q, relation, 1, epsilon)[0], float(gamma) / epsilon, "exponential")
        assert max_log_ratio(law, again) <= epsilon + 1e-9


def test_half_the_sensitivity_is_flagged():
    """Control: one row moves past many points: nearly all of epsilon is used, and half the range loses twice that."""
    one = np.array([50, 52, *[0] * 100, 98])
    other = np.array([49, 52, *[0] * 100, 99])
    (scores, gamma), (moved, _) = handed(one, 0.5, REPLACE), handed(other, 0.5, REPLACE)
    losses = [
        max_log_ratio(*(log_law(each, float(gamma) / part, "gumbel") for each in (scores, moved))) for part in (1, 2)
    ]
    assert 0.9 < losses[0] <= 1.0 + 1e-9
    assert losses[1] > 1.8


def test_the_sensitivity_is_that_of_the_specification():
    """2 under replacement, 2 max(q, 1 - q) under addition, times the rows of a unit."""
    assert rank_sensitivity(0.95, REPLACE, 3) == 6
    assert rank_sensitivity(0.95, ADD, 3) == 6 * Fraction(19, 20)


def test_atoms_are_found_where_they_are():
    """With little noise the point that holds the quantile is chosen, an atom too; empty points tie."""
    rng = Source.seeded(1)
    counts = np.array([0, 0, 400, 100, 0, 500, 0])
    found = {q: noisy_quantile(counts, q, REPLACE, 1, 100, rng) for q in (0.01, 0.39, 0.45, 0.55, 0.995)}
    assert found == {0.01: 2, 0.39: 2, 0.45: 3, 0.55: 5, 0.995: 5}
    assert {noisy_quantile(np.zeros(3, dtype=int), 0.5, REPLACE, 1, 1, rng) for _ in range(60)} == {0, 1, 2}


@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan")])
def test_quantiles_are_checked(q):
    """A quantile outside [0, 1] is refused."""
    with pytest.raises(InvalidParameterError, match="quantile"):
        noisy_quantile([1, 2], q, REPLACE, 1, 1, Source.seeded(0))
