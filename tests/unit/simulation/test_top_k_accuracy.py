"""Accuracy of top-k mechanisms on public scores: what is told agrees with the exact law."""

import numpy as np
import pytest

from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.selftest.laws import lipschitz_law, one_shot_law, peeling_law
from discreet.simulation.top_k import MECHANISMS, top_k_accuracy

SCORES = [9.0, 7.0, 4.0, 3.0, 1.0, 0.0]
DRAWS = 1500


def expected(law, k):
    return sum(chance * sum(j < k for j in y) / k for y, chance in law.items())


@pytest.mark.statistics
@pytest.mark.parametrize("name", MECHANISMS[1:])
def test_overlap_agrees_with_the_exact_law(name):
    """The mean over many draws is the law's, within five and a half standard errors."""
    if name.startswith("canonical"):
        law = lipschitz_law(SCORES, 2, 1.5, 1.0, float((name + "=0.75").split("=")[1]), "exponential")
    else:
        law = (one_shot_law if name == "one_shot" else peeling_law)(SCORES, 2, 1.5, 1.0, "exponential")
    (found,) = top_k_accuracy(SCORES, 2, [1.5], mechanisms=[name], n_draws=DRAWS, rng=Source.seeded(7))
    assert found.overlap == pytest.approx(expected(law, 2), abs=5.5 * found.error)
    assert found.top == pytest.approx(law[0, 1], abs=5.5 * np.sqrt(0.25 / DRAWS))


def test_auto_is_the_rules_choice():
    """Without a guess it is one-shot noise; told of high scores it is the draw over all sets."""
    for score, name in ((None, "one_shot"), (1e6, "canonical_lipschitz")):
        asked = {"n_draws": 50, "expected_score": score}
        auto = top_k_accuracy(SCORES, 2, [2.0], mechanisms=["auto"], rng=Source.seeded(3), **asked)[0]
        named = top_k_accuracy(SCORES, 2, [2.0], mechanisms=[name], rng=Source.seeded(3), **asked)[0]
        assert (auto.overlap, auto.good) == (named.overlap, named.good)


def test_another_truth_rates_another_way():
    """With the order reversed, what was found is what is wanted least."""
    asked = {"mechanisms": ["one_shot"], "n_draws": 20, "rng": Source.seeded(1)}
    assert top_k_accuracy(SCORES, 2, [500], **asked)[0].overlap == 1.0
    assert top_k_accuracy(SCORES, 2, [500], truth=[-s for s in SCORES], **asked)[0].overlap == 0.0


@pytest.mark.parametrize("wrong", [{"mechanisms": ["best"]}, {"n_draws": 0}, {"k": 6}, {"k": 0}, {"epsilons": [0]}])
def test_wrong_questions_are_refused(wrong):
    """A name, a number of draws, a size or an epsilon that cannot be."""
    with pytest.raises(InvalidParameterError):
        top_k_accuracy(SCORES, **({"k": 2, "epsilons": [1.0]} | wrong))
