"""The generalized exponential mechanism: exact laws on scores moved by all of their own sensitivities."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidParameterError
from discreet.mechanisms import generalized_exponential
from discreet.mechanisms.generalized_exponential import noisy_min_scaled, normalized_scores
from discreet.mechanisms.rng import Source
from tests.privacy.laws import log_law, max_log_ratio

SIZES = [Fraction(1), Fraction(4), Fraction(100), Fraction(10**4)]
SCORES = [
    [0.0, 0.0, 0.0, 0.0],
    [500.0, 400.0, 100.0, 0.0],
    [5e6, 4e6, 1e6, 1e5],
    [0.0, 1e3, 1e5, 1e6],
]


def moves():
    return itertools.product([-1.0, 0.0, 1.0], repeat=len(SIZES))


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_scores_moved_by_their_sensitivities_lose_at_most_epsilon(scores, epsilon):
    """Every direction: normalized scores move by at most one, the law by at most epsilon."""
    base, _ = normalized_scores(np.array(scores), SIZES, Fraction(epsilon))
    law = log_law(base, 2.0 / epsilon, "exponential")
    for move in moves():
        other = np.maximum(np.array(scores) + np.array(move) * np.array([float(size) for size in SIZES]), 0.0)
        moved, _ = normalized_scores(other, SIZES, Fraction(epsilon))
        assert np.abs(moved - base).max() <= 1.0 + 1e-9
        assert max_log_ratio(law, log_law(moved, 2.0 / epsilon, "exponential")) <= epsilon + 1e-9


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(100)])
def test_what_reaches_the_noise(monkeypatch, epsilon):
    """The rule in exact arithmetic on cut scores; the range is 2, and twice what rounding does to two of them."""
    kept = []
    monkeypatch.setattr(generalized_exponential, "noisy_min", lambda *given: kept.append(given) or 0)
    sizes = [Fraction(1, 3), Fraction(7), Fraction(10**5)]
    scores = [-5.0, 3.5, 1e300]
    noisy_min_scaled(scores, sizes, epsilon, Source.seeded(0), "gumbel")
    ((found, gamma, asked, _, noise),) = kept
    assert (asked, noise) == (epsilon, "gumbel")
    guard = 2 / epsilon * Fraction(math.log(3 / 0.05))
    cut = [min(max(Fraction(score), Fraction(0)), 2**36 * size) for score, size in zip(scores, sizes, strict=True)]
    guarded = [score + guard * size for score, size in zip(cut, sizes, strict=True)]
    exact = [
        max((one - other) / (size + beside) for other, beside in zip(guarded, sizes, strict=True))
        for one, size in zip(guarded, sizes, strict=True)
    ]
    largest = Fraction(2) ** 36 + guard
    assert float(gamma) == pytest.approx(float(2 + 4 * largest / 2**49), rel=1e-12)
    assert max(abs(Fraction(each) - one) for each, one in zip(found, exact, strict=True)) <= largest / 2**49


def test_the_smallest_sensitivity_for_all_is_flagged():
    """Control: one scale, that of the most stable score, loses far more than epsilon."""
    scores = np.array(SCORES[1])
    other = scores + np.array([0.0, 0.0, 0.0, 100.0])
    laws = [log_law(each, 2.0, "exponential") for each in (scores, other)]
    assert max_log_ratio(*laws) > 10.0


def test_a_stable_score_is_not_drowned_by_a_wild_one():
    """A good score of small sensitivity is found beside one that is a thousand times as noisy."""
    rng = Source.seeded(3)
    picks = [noisy_min_scaled([0.0, 400.0, 5000.0], [1, 4, 1000], 1, rng) for _ in range(200)]
    assert np.mean(np.array(picks) == 0) > 0.9


@pytest.mark.parametrize("sizes", [[1], [1, 0], [1, -1], []])
def test_sensitivities_are_checked(sizes):
    """One positive number for each score."""
    with pytest.raises(InvalidParameterError, match="sensitivities"):
        noisy_min_scaled([0.0, 1.0], sizes, 1, Source.seeded(0))
