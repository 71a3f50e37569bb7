"""The public rule, its noise, and what k rounds cost."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.compose import guarantee_of
from discreet.accounting.neighbors import NeighboringRelation
from discreet.mechanisms.rng import Source
from discreet.methods.screening.top_k_choice import (
    EXPECTED_SHARE,
    GAMMA,
    LEAD,
    MOST_SETS,
    TopK,
    choose_mechanism,
    concentrated_epsilon,
    log_sets,
)

DRAWS = 40


def top_k(mechanism, k=3, noise="exponential", epsilon=2, d=10, sensitivity=7):
    return TopK(mechanism, noise, 0.9, d, k, Fraction(epsilon), sensitivity)


def test_the_rule_turns_where_it_says():
    """Canonical Lipschitz from LEAD log C(d, k) on; for one column, or without a guess, never."""
    turn = 2 * LEAD * log_sets(500, 4) * 3.0
    assert choose_mechanism(500, 4, Fraction(1), 3.0, 1.01 * turn) == "canonical_lipschitz"
    assert choose_mechanism(500, 4, Fraction(1), 3.0, 0.99 * turn) == "one_shot"
    assert choose_mechanism(500, 4, Fraction(1), 3.0, None) == "one_shot"
    assert choose_mechanism(500, 1, Fraction(1), 3.0, 1e12) == "one_shot"


@pytest.mark.parametrize(("mechanism", "scale"), [("canonical_lipschitz", 7), ("one_shot", 21), ("peeling", 21)])
def test_scales(mechanism, scale):
    """2 sensitivity / epsilon over sets, k times as much over columns."""
    assert top_k(mechanism).scale == scale
    box = top_k(mechanism).noise_record(7, "rows", "1, of one row", "none")
    assert box.scale == pytest.approx(scale / 7)
    assert box.n_candidates == (math.comb(10, 3) if mechanism == "canonical_lipschitz" else 10)


@pytest.mark.parametrize("mechanism", ["canonical_lipschitz", "one_shot", "peeling"])
@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
def test_draws_find_what_stands_out(mechanism, noise):
    """In increasing order, whatever the order of the scores."""
    scores = np.array([0, 10**6, 0, 3 * 10**6, 0, 2 * 10**6, 0, 0, 0, 0])
    if (mechanism, noise) != ("one_shot", "gumbel"):
        assert top_k(mechanism, noise=noise).draw(scores, Source.seeded(1)) == [1, 3, 5]


def test_events_cost_what_was_given():
    """One draw, or k parts of it; pure unless rounds of Gumbel noise add up as rho."""
    relation = NeighboringRelation.REPLACE_ONE
    for mechanism in ("canonical_lipschitz", "one_shot", "peeling"):
        assert guarantee_of(top_k(mechanism).event, relation).epsilon == 2
        assert not top_k(mechanism).is_concentrated
    assert top_k("peeling", noise="gumbel").is_concentrated


@pytest.mark.parametrize("k", [1, 2, 5, 6, 40, 1000])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
def test_rounds_cost_no_more_than_asked(k, epsilon):
    """The epsilons of k rounds convert to at most epsilon at delta, and are never less than it."""
    asked, delta = Fraction(epsilon), Fraction(1, 10**6)
    together = concentrated_epsilon(k, asked, delta)
    assert together >= asked
    event = top_k("peeling", k, "gumbel", together, d=2000).event
    found = guarantee_of(event, NeighboringRelation.REPLACE_ONE, delta).epsilon
    assert asked * Fraction(99, 100) < found <= asked


def test_numbers_too_long_for_a_file_are_cut():
    """A release can be written whatever d and k are."""
    box = top_k("canonical_lipschitz", k=3000, d=10**7).noise_record(1, "rows", "1", "none")
    assert box.n_candidates == MOST_SETS
    assert len(str(box.model_dump_json())) < 5000


def test_the_rule_keeps_one_shot_noise_where_normal_columns_score_little():
    """Of 200 normal columns within four standard deviations five go with the target: at 3,000 rows one-shot noise finds
    half of them and the other mechanism none; at 30,000 rows the rule takes the other, which finds all.
    """
    rng, source = np.random.default_rng(3), Source.seeded(3)  # noqa: TID251 - simulated scores, not noise
    for n_rows, expected, least in ((3000, "one_shot", 0.4), (30_000, "canonical_lipschitz", 0.99)):
        mechanism = choose_mechanism(200, 5, Fraction(1), 2.0, EXPECTED_SHARE * n_rows)
        assert mechanism == expected
        shares = {"one_shot": 0.0, "canonical_lipschitz": 0.0}
        for _ in range(DRAWS):
            products = np.append(n_rows * np.linspace(0.6, 0.3, 5), np.zeros(195)) + rng.normal(0, n_rows**0.5, 200)
            scores = np.abs(np.rint(products / 16.0 * 1000)).astype(np.int64)  # a sixteenth of a correlation a row
            for name in shares:
                drawn = TopK(name, "exponential", GAMMA, 200, 5, Fraction(1), 2000).draw(scores, source)
                shares[name] += sum(place < 5 for place in drawn) / 5 / DRAWS
        assert shares[mechanism] > least
        assert shares["canonical_lipschitz"] < 0.2 or mechanism == "canonical_lipschitz"
