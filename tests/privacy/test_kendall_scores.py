"""Kendall's scores: what one row moves, the worst pair, and controls that must fail."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.methods.screening import order_scores, sis, target_plan
from discreet.methods.screening.order_scores import KENDALL_STEPS
from discreet.methods.screening.sis import IndependenceScreening
from tests.privacy.screenings import reached, table_of

EPSILON = 1.0
RELATIONS = {"replace_one": (-2.0, 2.0), "add_or_remove_one": (-1.5, 1.0)}
"""From where to where one row moves a score."""

N_ROWS, STEP = 40, 2.0**-30
FALLING = [[place / 50.0, -place / 50.0, (7 * place % 41) / 50.0, -place / 50.0] for place in range(-20, 20)]
"""Columns that fall and rise with the target, the last; and one without an order."""
ABOVE, BELOW = [1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0]


def screening(**more):
    """One of the columns, by one-shot noise."""
    choice = {"n_features_to_select": 1, "mechanism": "one_shot", "association": "kendall", "n0": N_ROWS}
    return IndependenceScreening(epsilon=EPSILON, **choice | more)


def neighbors(relation, rows, old, new):
    """Tables of the pair: one row is another, or there is one more."""
    return ([*rows, old], [*rows, new]) if relation == "replace_one" else (rows, [*rows, new])


def moved(monkeypatch, relation, rows, old, new):
    """By how much each score moves, in rows, and the sensitivity that noise is set by where scores are compared."""
    one, other = (
        reached(monkeypatch, screening(), table_of(table, relation)) for table in neighbors(relation, rows, old, new)
    )
    return (other.scores - one.scores) / KENDALL_STEPS, one.top_k.sensitivity / KENDALL_STEPS


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_small_table_moves_by_more(monkeypatch, relation):
    """All tables of up to four rows, cells of three values and missing ones, a target of three values."""
    for n in (1, 2, 3, 4):
        for place, target in enumerate(itertools.product([-1.0, 0.2, 1.0], repeat=n + 1)):
            if n == 4 and place % 5:
                continue
            cells = np.array(list(itertools.product([-5.0, 0.0, 7.0, float("nan")], repeat=n + 1)))[place % 7 :: 7]
            rows = [[*cells[:, i], target[i]] for i in range(n)]
            for old in (rows[0], [*cells[:, n][::-1], -target[n]]):
                change, sensitivity = moved(monkeypatch, relation, rows, old, [*cells[:, n], target[n]])
                least, most = RELATIONS[relation]
                assert sensitivity == (most - least) / 2.0
                assert least - STEP <= change.min() <= change.max() <= most + STEP


@pytest.mark.parametrize("relation", RELATIONS)
def test_some_table_moves_by_nearly_as_much(monkeypatch, relation):
    """Rows that fall, and one that is above all others in both."""
    change, _ = moved(monkeypatch, relation, FALLING, BELOW, ABOVE)
    least, most = RELATIONS[relation]
    assert 0.95 * -least < -change[0] <= -least + STEP
    assert 0.5 * most < change[2] <= most + STEP


def loss(monkeypatch, relation, mechanism="one_shot"):
    """Of the exact law, for the pair above."""
    tables, method = neighbors(relation, FALLING, BELOW, ABOVE), screening(mechanism=mechanism)
    one, other = (reached(monkeypatch, method, table_of(table, relation)).log_law() for table in tables)
    return float(np.abs(one - other).max())


@pytest.mark.parametrize("mechanism", ["one_shot", "canonical_lipschitz", "peeling"])
@pytest.mark.parametrize(("relation", "least"), [("replace_one", 0.9), ("add_or_remove_one", 0.7)])
def test_worst_pair_loses_at_most_epsilon(monkeypatch, relation, least, mechanism):
    """And most of it where a row is replaced: one score falls by 2 where another rises by as much."""
    assert least * EPSILON < loss(monkeypatch, relation, mechanism) <= EPSILON + 1e-8


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_sensitivity_of_a_fixed_number_of_rows_is_flagged(monkeypatch, relation):
    """Control: half of what a row's pairs move, and of what it adds to them while the number of rows stays."""
    monkeypatch.setattr(target_plan, "KENDALL_MOVED", (Fraction(1, 2), Fraction(1)))
    monkeypatch.setattr(target_plan, "KENDALL_COMPARED", Fraction(1, 2))
    assert loss(monkeypatch, relation) > 1.2 * EPSILON


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_unit_moves_no_more_than_is_claimed(monkeypatch, relation):
    """Three rows of a unit that has nine are counted."""
    own = [0] * 9
    tables = [
        (FALLING, list(range(1, N_ROWS + 1))),
        ([*FALLING, *[ABOVE] * 9], [*range(1, N_ROWS + 1), *own]),
    ]
    if relation == "replace_one":
        tables[0] = ([*FALLING, *[BELOW] * 9], [*range(1, N_ROWS + 1), *own])
    one, other = (
        reached(monkeypatch, screening(), table_of(rows, relation, ids, rows_per_unit=3)) for rows, ids in tables
    )
    change, (least, most) = (other.scores - one.scores) / KENDALL_STEPS, RELATIONS[relation]
    assert one.top_k.sensitivity == 3 * (most - least) / 2.0 * KENDALL_STEPS
    assert 3 * least - STEP <= change.min() < 0.85 * 3 * least
    assert change.max() <= 3 * most + STEP


def test_noisy_scores_of_a_threshold_are_noised_by_as_much(monkeypatch):
    """The choice of the number gets the scores in steps, and the cube of that side."""
    kept = []
    monkeypatch.setattr(
        sis, "kendall_scores", lambda *given: kept.append(order_scores.kendall_scores(*given)) or kept[0]
    )
    table = table_of([*FALLING, ABOVE])
    prepared = screening(n_features_to_select="auto", mechanism="auto").prepare(table.metadata, "y")
    assert prepared.choice.scale == 2 * KENDALL_STEPS
    from discreet.mechanisms.rng import Source

    outcome = prepared.run(table, Source.seeded(1))
    assert kept[0].tolist()[:2] == [(780 - 40) * KENDALL_STEPS // 40, (780 - 40) * KENDALL_STEPS // 40]
    assert set(outcome.selected) <= {"x0", "x1"}
