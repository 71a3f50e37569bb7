"""The edges of top-k selection: scores that are cut, numbers that are refused, and uniform numbers below n."""

import math
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from race_sources import Chosen, InOrder

from discreet.errors import InvalidParameterError
from discreet.mechanisms import top_k
from discreet.mechanisms.lipschitz_race import race
from discreet.mechanisms.reals import Real, Words
from discreet.mechanisms.rng import Source
from discreet.mechanisms.top_k import canonical_lipschitz, one_shot, peeling


@pytest.mark.parametrize(("n", "word"), [(3, 2**64 - 1), (10, 2**64 - 6), (10, 2**64 - 1), (2**63 + 1, 2**63 + 1)])
def test_words_that_would_favor_small_numbers_are_drawn_again(n, word):
    """Beyond the last multiple of n a word says nothing: the next one is taken."""
    assert top_k._below(n, word, InOrder(Chosen([word, 5]))) == 5 % n


@pytest.mark.parametrize(("n", "word"), [(3, 2**64 - 2), (10, 2**64 - 7), (2**63 + 1, 2**63), (8, 2**64 - 1), (1, 77)])
def test_the_last_word_that_counts(n, word):
    """Below that multiple no word is drawn again, and none is where n divides all."""
    assert top_k._below(n, word, InOrder(Chosen([]))) == word % n


class Entrant:
    """A block by its bound, as a float and exactly, and the parts it splits into; one without parts is a class."""

    contest, start, stop = SimpleNamespace(k=1), 0, 2

    def __init__(self, seen, bound, *parts):
        self.bound = Real(seen, math.inf, lambda _: (Decimal(bound), Decimal(bound)))
        self.parts, self.is_class = parts, not parts

    def split(self, *_):
        """Its parts."""
        return list(self.parts)


def test_a_class_behind_a_block_comes_back():
    """Floats put a class first that is behind a block; no part of the block beats it, so it wins after all."""
    first, last = Entrant(1.0, 1.0), Entrant(0.2, 0.2)
    block = Entrant(0.9, 2.0, Entrant(0.8, 0.5), Entrant(0.7, 0.4))
    assert race([last, block, first], Words(Source.seeded(1)), lambda *_: 1) is first


def test_subsets_are_equally_likely():
    """Each of the ten pairs of five, as often as the others."""
    words = top_k.Words(Source.seeded(3))
    found = [tuple(top_k._subset(5, 2, words)) for _ in range(5000)]
    counts = [found.count(pair) for pair in sorted(set(found))]
    assert len(counts) == 10
    assert max(abs(count - 500) for count in counts) < 6 * 500**0.5
    assert top_k._subset(4, 4, words) == [0, 1, 2, 3]
    assert top_k._subset(4, 0, words) == []


def test_scores_at_the_ends_of_their_type_are_cut():
    """Their differences are then exact, or finite; what lies within is untouched."""
    most, least = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    cut = 2**62 - 1
    values, k = top_k._checked(np.array([most, least, cut, -cut, 0]), np.int64(2))
    assert (values.tolist(), k) == ([cut, -cut, cut, -cut, 0], 2)
    assert top_k._checked(np.array([2**64 - 1, 2**62, 3], dtype=np.uint64), 1)[0].tolist() == [cut, cut, 3]
    assert top_k._checked(np.array([True, False]), 1)[0].tolist() == [1, 0]
    floats = np.array([1.7e308, -1.7e308, 2.0**1022, -(2.0**1022), 0.5])
    assert top_k._checked(floats, 1)[0].tolist() == [2.0**1022, -(2.0**1022)] * 2 + [0.5]
    inside = np.array([2.0**1022, -(2.0**1022)])
    assert top_k._checked(inside, 1)[0] is inside


@pytest.mark.parametrize("choose", [canonical_lipschitz, one_shot, peeling])
def test_numbers_out_of_range_are_refused(choose):
    """By name; the ends of each range are taken."""
    scores = [3.0, 1.0, 2.0]
    for k in (0, 4, True, 1.0):
        with pytest.raises(InvalidParameterError, match="k must be"):
            choose(scores, k, 1, 1, Source.seeded(0))
    for size in (Fraction(1, 10**250), 10**250):
        assert choose(scores, 2, 1, size, Source.seeded(0)).shape == (2,)
    for size in (0, -1, Fraction(1, 10**251), 10**251):
        with pytest.raises(InvalidParameterError, match="sensitivity must be"):
            choose(scores, 2, 1, size, Source.seeded(0))
    for bad in ([], [[1.0]], [1.0, np.inf], ["a"], [1j]):
        with pytest.raises(InvalidParameterError, match="scores must be"):
            choose(bad, 1, 1, 1, Source.seeded(0))
    with pytest.raises(InvalidParameterError, match="noise must be"):
        choose(scores, 1, 1, 1, Source.seeded(0), noise="laplace")
    assert choose(scores, 3, 1, 1, Source.seeded(0)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_reaches_the_noise_of_one_shot(monkeypatch, k):
    """Each of the k choices has its share of epsilon, over twice the sensitivity of one score."""
    kept = []
    monkeypatch.setattr(top_k, "noisy_leaders", lambda *given: kept.append(given) or np.arange(given[1]))
    one_shot([4.0, 1.0, 2.0, 3.0], k, Fraction(3, 2), Fraction(1, 7), Source.seeded(0), "gumbel")
    peeling([4.0, 1.0, 2.0, 3.0], k, Fraction(3, 2), Fraction(1, 7), Source.seeded(0), "exponential")
    whole = Fraction(3, 2) / (2 * Fraction(1, 7))
    assert [(given[1], given[2], given[4]) for given in kept] == [(k, whole / k, True), *[(1, whole / k, False)] * k]


@pytest.mark.parametrize("gamma", [-0.01, 1.01, "0.5", float("nan")])
def test_the_share_of_the_two_losses_is_checked(gamma):
    """Between 0 and 1, both taken."""
    with pytest.raises(InvalidParameterError, match="gamma"):
        canonical_lipschitz([1.0, 2.0], 1, 1, 1, Source.seeded(0), gamma)
    for end in (0, 1, np.float32(0.5)):
        assert canonical_lipschitz([1.0, 2.0, 3.0], 2, 1, 1, Source.seeded(0), end).shape == (2,)
