"""The chances that a report tells of."""

import math

import pytest

from discreet.report.chances import SELDOM, seldom_gap, swap_chance, worst_posterior

LAWS = ("exponential", "gumbel", "laplace")


@pytest.mark.parametrize("law", LAWS)
def test_equal_scores_are_a_coin(law):
    """Two models with the same score win equally often."""
    assert swap_chance(law, 0.0) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("law", "chance"),
    [("exponential", math.exp(-1) / 2), ("gumbel", 1 / (1 + math.e)), ("laplace", 0.75 / math.e)],
)
def test_the_chance_of_a_swap_follows_its_law(law, chance):
    """One noise scale apart, the three laws give their closed forms."""
    assert swap_chance(law, 1.0) == pytest.approx(chance)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n_rivals", [1, 31, 10**15])
def test_the_seldom_gap_is_where_a_swap_becomes_seldom(law, n_rivals):
    """At the gap the chances of all rivals add up to one in twenty."""
    assert n_rivals * swap_chance(law, seldom_gap(law, n_rivals)) == pytest.approx(SELDOM)


def test_an_unknown_law_has_no_chance():
    """What is not known is not told."""
    assert swap_chance("gaussian", 1.0) is None
    assert seldom_gap("gaussian") is None


def test_the_worst_belief_is_bayes_with_the_largest_ratio():
    """Epsilon 1 turns one half into 73 percent; beyond the largest epsilon nothing overflows."""
    assert worst_posterior(1.0, 0.5) == pytest.approx(0.7310585786)
    assert worst_posterior(1e9, 0.01) == pytest.approx(1.0)
