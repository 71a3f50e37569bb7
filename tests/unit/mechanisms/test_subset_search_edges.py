"""What a search over subsets refuses, how it chooses its way, and that no score without certificate is used."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.privacy.searches import search

from discreet.errors import InvalidParameterError
from discreet.mechanisms import subset_search
from discreet.mechanisms.rng import Source
from discreet.mechanisms.subset_search import n_subsets, noisy_min_subset

ONE = search("six", "autoregressive", 6, 2)


def run(**changes):
    """A search of six units."""
    given = {"penalty": ONE.penalty, "max_size": 6, "range_sensitivity": 1, "epsilon": 1, "rng": Source.seeded(1)}
    return noisy_min_subset(changes.pop("problem", ONE.problem), **given | changes)


@pytest.mark.parametrize("d", [0, 1, 5, 9])
def test_the_number_of_subsets(d):
    """Of at most so many of d units, the empty one included."""
    for size in range(d + 3):
        assert n_subsets(d, size) == sum(math.comb(d, k) for k in range(min(size, d) + 1))


@pytest.mark.parametrize("gap", [2.0, np.nan])
@pytest.mark.parametrize("enumerate_models", [True, False])
def test_a_score_without_certificate_is_never_used(monkeypatch, enumerate_models, gap):
    """Errors beyond the tolerance, which the noise covers, stop the search; at the tolerance they do not."""

    def blocks(share):
        def scored(problem, size, _progress):
            masks = np.arange(64, dtype=np.uint64)
            gaps = np.zeros(64)
            gaps[37] = share * problem.tolerance
            yield masks, np.zeros(64), gaps

        return scored

    class Scores(subset_search.ModelScores):
        share = gap

        def value(self, model):
            return super().value(model)[0], self.share * ONE.problem.tolerance

    monkeypatch.setattr(subset_search, "score_blocks", blocks(gap))
    monkeypatch.setattr(subset_search, "ModelScores", Scores)
    with pytest.raises(ArithmeticError, match="certificate"):
        run(enumerate_models=enumerate_models)
    monkeypatch.setattr(subset_search, "score_blocks", blocks(1.0))
    monkeypatch.setattr(Scores, "share", 1.0)
    assert 0 <= run(enumerate_models=enumerate_models) < 64


def test_few_models_are_listed_and_many_are_searched(monkeypatch):
    """A million and a bit is the most that are all scored; sizes beyond the number of units are that number."""
    ways = []
    monkeypatch.setattr(subset_search, "_by_list", lambda *given: ways.append(("list", given[2])) or 0)
    monkeypatch.setattr(subset_search, "_by_race", lambda *given: ways.append(("race", given[2])) or 0)

    def units(d):
        return ONE.problem._replace(units=np.zeros((d, d), dtype=bool), always=np.zeros(d, dtype=bool))

    for d, size in ((20, 20), (20, 99), (21, 21), (21, 9), (128, 2), (128, 4)):
        run(problem=units(d), penalty=np.zeros(d), max_size=size)
    assert ways == [("list", 20), ("list", 20), ("race", 21), ("list", 9), ("list", 2), ("race", 4)]
    with pytest.raises(InvalidParameterError, match="At most 128 units"):
        run(problem=units(129), penalty=np.zeros(129), max_size=1)


@pytest.mark.parametrize("way", ["_by_list", "_by_race"])
def test_the_noise_is_that_of_epsilon_over_the_range(monkeypatch, way):
    """Scores in units of their noise, the penalty with them, and never with less noise than asked."""
    kept = []
    if way == "_by_list":

        def choose(blocks, *given):
            kept.append((list(blocks), given))
            return 0

        monkeypatch.setattr(subset_search, "noisy_min_of_blocks", choose)
        run(enumerate_models=True, range_sensitivity=Fraction(7, 3), epsilon=Fraction(1, 2))
        ((blocks, (gamma, epsilon, _, noise)),) = kept
        assert (gamma, epsilon, noise) == (Fraction(7, 3), Fraction(1, 2), "exponential")
        np.testing.assert_allclose(np.sort(np.concatenate(blocks)), np.sort(ONE.scores), rtol=0, atol=1e-8)
        return

    class Race:
        def __init__(self, problem, score, noise, words, work):
            kept.append((problem, score, noise.name))

        def run(self):
            return 9

    monkeypatch.setattr(subset_search, "SubsetRace", Race)
    assert run(enumerate_models=False, range_sensitivity=Fraction(7, 3), epsilon=Fraction(1, 2), noise="gumbel") == 9
    ((problem, score, noise),) = kept
    slope = Fraction(1, 2) / Fraction(7, 3)
    scale = problem.gram[0, 0] / ONE.problem.gram[0, 0]
    assert slope * (1 - Fraction(1, 2**50)) < Fraction(scale) * (1 + Fraction(1, 2**52))
    assert noise == "gumbel"
    found = np.array([score(model) for model in range(64)])  # without the square of y, which all share
    np.testing.assert_allclose(found - found[0], (ONE.scores - ONE.scores[0]) * float(slope), rtol=0, atol=1e-8)
    np.testing.assert_allclose(problem.xty, ONE.problem.xty * float(slope), rtol=1e-12)


def test_a_problem_without_scores_is_an_error(monkeypatch):
    """A place beyond the last model is no model."""
    monkeypatch.setattr(subset_search, "noisy_min_of_blocks", lambda blocks, *_: sum(map(len, blocks)))
    with pytest.raises(ArithmeticError, match="no model was scored"):
        run(enumerate_models=True)
