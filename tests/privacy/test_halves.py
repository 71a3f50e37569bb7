"""Sums of both halves with Laplace noise: their exact joint law, over all coins, on all neighbors of small tables."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import (
    ComposedEvent,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    ParallelEvent,
    SelectionEvent,
    event_record,
)
from discreet.accounting.neighbors import NeighboringRelation
from discreet.accounting.zcdp import rho_of
from discreet.data import halves as home
from discreet.data.design import Design
from discreet.data.engines.frame import FrameTable
from discreet.data.halves import KEY_WORDS, halves_of
from discreet.data.metadata import Metadata
from discreet.kernels.moments.moments import GRID
from discreet.ledger.charges import _failure as failure_of
from discreet.mechanisms.rng import Source

EPSILON, N = 1.0, 4
GRID_OF_SUMS = np.arange(-3 * N, 3 * N + 1)
ROUNDING = 1e-9


def opened(rows, relation, unit_id=None):
    box = {"type": "real", "lower": -1, "upper": 1}
    facts = {"dataset": "d", "unit": "person", "neighboring": relation, "columns": {"x": box, "y": box}}
    facts |= {"n_rows": len(rows)} if relation == "replace_one" else {}
    facts |= {} if unit_id is None else {"unit_id": "who"}
    cells = {"x": [float(x) for x in rows], "y": [0.0] * len(rows), "who": unit_id or [""] * len(rows)}
    return FrameTable(pa.table(cells), Metadata.from_value(facts))


def sums(rows, relation, key=0, unit_id=None):
    """The sum of each half, by the product."""
    parts = halves_of(opened(rows, relation, unit_id), Source.seeded(key).words(KEY_WORDS), ("x", "y"))
    return tuple(int(half.moments(Design.plan(half.metadata, "y"))[0, 1]) // GRID**2 for half in parts)


def laws_of_coins(relation, n):
    """Sides of all places, each as likely as another."""
    if relation == "replace_one":
        return [[0 if at in first else 1 for at in range(n)] for first in combinations(range(n), n // 2)]
    return list(product((0, 1), repeat=n))


def law(rows, relation, scale, patch, coins=None):
    """The joint law of both noisy sums on a grid, averaged over all coins that the product may have."""
    coins = laws_of_coins(relation, len(rows)) if coins is None else coins
    total = 0.0
    for sides in coins:
        told = np.array(sides, dtype=np.uint8)
        patch.setattr(
            home._PlaceCoins,
            "_bits",
            lambda _self, n, told=told: np.resize(told, n) if len(told) else np.zeros(n, np.uint8),
        )
        patch.setattr(home._PlaceCoins, "_half_of", lambda _self, _n, told=told: told)
        first, second = sums(rows, relation)
        total = total + np.outer(laplace(first, scale), laplace(second, scale)) / len(coins)
    return total


def laplace(center, scale):
    return np.exp(-np.abs(GRID_OF_SUMS - center) / scale)


def loss(one, other):
    return float(np.abs(np.log(one) - np.log(other)).max())


def neighbors(relation):
    """All tables of rows at the ends, and all that have one row less, or another in its place."""
    for rows in product((-1, 1), repeat=N):
        for at in range(N):
            if relation == "replace_one":
                yield rows, (*rows[:at], -rows[at], *rows[at + 1 :])
            else:
                yield rows, (*rows[:at], *rows[at + 1 :])


def worst(relation, scale, patch, coins=None):
    laws = {}

    def of(rows):
        if rows not in laws:
            laws[rows] = law(rows, relation, scale, patch, None if coins is None else [coins(rows)])
        return laws[rows]

    return max(loss(of(one), of(other)) for one, other in neighbors(relation))


SENSITIVITY = {"replace_one": 2, "add_or_remove_one": 1}


@pytest.mark.parametrize("relation", SENSITIVITY)
def test_both_halves_together_cost_what_one_costs(relation, monkeypatch):
    """Noise for all of epsilon in each half: the exact loss of both is epsilon, and no more."""
    one = LaplaceEvent(Fraction(EPSILON))
    stated = guarantee_of(ParallelEvent((one, one)), NeighboringRelation(relation)).epsilon
    found = worst(relation, SENSITIVITY[relation] / EPSILON, monkeypatch)
    assert found <= float(stated) + ROUNDING
    assert found > 0.99 * EPSILON


def test_controls_are_flagged(monkeypatch):
    """Sides known by the order of the rows, or by their cells; and a price of one half for a row that moves."""
    by_order = worst("add_or_remove_one", 1 / EPSILON, monkeypatch, lambda rows: [at % 2 for at in range(len(rows))])
    assert by_order > 1.9 * EPSILON
    by_cells = worst("replace_one", 1 / EPSILON, monkeypatch, lambda rows: [int(x > 0) for x in rows])
    assert by_cells > 1.9 * EPSILON


def test_fresh_coins_in_each_pass_are_flagged(monkeypatch):
    """A row may then be in both halves, and the price is more than one half's."""

    def both(rows):
        coins = laws_of_coins("add_or_remove_one", len(rows))
        total = 0.0
        for first, second in product(coins, coins):
            chosen = [sum(x for x, side in zip(rows, sides, strict=True) if side == which)
                      for which, sides in ((0, first), (1, second))]  # fmt: skip
            total = total + np.outer(*(laplace(center, 1 / EPSILON) for center in chosen)) / len(coins) ** 2
        return total

    assert max(loss(both(one), both(other)) for one, other in neighbors("add_or_remove_one")) > 1.2 * EPSILON


@pytest.mark.parametrize("key", range(5))
def test_of_identified_units_one_more_reaches_one_sum(key):
    """For each key, in any order, whoever the unit is: added or removed it moves one half's sum by its row."""
    rows, names = [1, -1, 1, 1, -1, 1], ["a", "b", "c", "d", "e", "f"]
    whole = sums(rows, "add_or_remove_one", key, names)
    for at in range(len(rows)):
        left = [[each for place, each in enumerate(part) if place != at][::-1] for part in (rows, names)]
        less = sums(left[0], "add_or_remove_one", key, left[1])
        assert sorted(abs(a - b) for a, b in zip(whole, less, strict=True)) == [0, 1]


MOST = 2
SHARED = {"a": (1, -1), "b": (-1,)}
CONTENTS = ((-1,), (1,), (-1, -1), (-1, 1), (1, 1))
OF_UNITS = {"sum": 2 * MOST, "count": MOST}
"""What one unit of at most so many rows changes by, in the place of another: of a half's sum and number of rows."""


def unit_sums(units, facts, number):
    """A sum, or the number of rows, of each half, by the product."""
    names = [name for name, rows in units.items() for _ in rows]
    cells = {"who": names, "x": [float(x) for rows in units.values() for x in rows], "y": [0.0] * len(names)}
    box = {"type": "real", "lower": -1, "upper": 1}
    declared = {"dataset": "d", "unit": "person", "neighboring": "replace_one", "columns": {"x": box, "y": box}}
    table = FrameTable(pa.table(cells), Metadata.from_value({**declared, "unit_id": "who", **facts}))
    parts = halves_of(table, Source.seeded(0).words(KEY_WORDS), ("x", "y"))
    place = {"sum": (0, 1), "count": (0, 0)}[number]
    return tuple(int(half.moments(Design.plan(half.metadata, "y"))[place]) // GRID**2 for half in parts)


def law_of_units(units, number, coins, patch, facts):
    """The joint law of both noisy numbers over functions from identifiers to sides, as the product's own coins."""
    scale, total = OF_UNITS[number] / EPSILON, 0.0
    for sides in coins:
        patch.setattr(home._UnitCoins, "_coin", lambda _self, text, sides=sides: sides[text.decode()])
        first, second = unit_sums(units, facts, number)
        total = total + np.outer(laplace(first, scale), laplace(second, scale)) / len(coins)
    return total


def worst_of_units(number, coins, patch, facts, contents=CONTENTS):
    """Unit "old" in the place of unit "new", which no third unit is called, whatever rows they have."""
    laws = {
        name: [law_of_units({**SHARED, name: rows}, number, coins, patch, facts) for rows in contents]
        for name in ("old", "new")
    }
    return max(loss(one, other) for one, other in product(laws["old"], laws["new"]))


COUNTED = {"n_units": 3, "rows_per_unit": MOST}
FUNCTIONS = [dict(zip(("a", "b", "old", "new"), sides, strict=True)) for sides in product((0, 1), repeat=4)]


@pytest.mark.parametrize("number", OF_UNITS)
def test_a_replaced_unit_costs_what_one_half_costs(number, monkeypatch):
    """Under replace_one too, though its coin may lie otherwise: the law over the key is that of one half's change."""
    loss_of_both = worst_of_units(number, FUNCTIONS, monkeypatch, COUNTED)
    assert loss_of_both <= EPSILON + ROUNDING
    assert loss_of_both > (0.99 if number == "sum" else 0.4) * EPSILON
    one_row = {"n_rows": 4}
    assert worst_of_units(number, FUNCTIONS, monkeypatch, one_row, CONTENTS[:2]) <= EPSILON + ROUNDING


def test_a_unit_that_is_known_to_move_is_flagged(monkeypatch):
    """Control: coins that anybody can compute, such as a hash without a key; both halves then change, and both tell."""
    known = [{"a": 0, "b": 1, "old": 0, "new": 1}]
    assert worst_of_units("count", known, monkeypatch, COUNTED) > 1.9 * EPSILON


def test_a_half_of_identified_units_does_not_take_its_size_for_public():
    """It would tell: the same identifiers, and another key, give halves of other sizes."""
    sizes = set()
    for key in range(20):
        facts = Metadata.from_value({**opened([1], "replace_one").metadata.to_dict(), "n_rows": 6, "unit_id": "who"})
        cells = {"x": [1.0] * 6, "y": [0.0] * 6, "who": list("abcdef")}
        halves = halves_of(FrameTable(pa.table(cells), facts), Source.seeded(key).words(KEY_WORDS), ("x", "y"))
        assert [(half.metadata.n_rows, half.metadata.n_units, half.row_count()) for half in halves] == [
            (None, 3, None)
        ] * 2
        sizes.add(sum(batch.num_rows for batch in halves[0].batches(["x"])))
    assert len(sizes) > 2


def test_the_price_is_the_larger_one():
    """In epsilon and in rho, at the plan's delta; an event within another composition has no analysis here."""
    gaussian, choice = GaussianEvent(Fraction(1, 50), Fraction(0)), SelectionEvent(Fraction(1, 2), "gumbel")
    delta, relation = Fraction(1, 10**6), NeighboringRelation.REPLACE_ONE
    both = ParallelEvent((ComposedEvent((choice, choice)), gaussian))
    alone = [guarantee_of(part, relation, delta) for part in both.events]
    assert guarantee_of(both, relation, delta).epsilon == max(each.epsilon for each in alone)
    assert rho_of(both)[0] == max(rho_of(part)[0] for part in both.events)
    failing = ParallelEvent((FailureEvent(Fraction(1, 9)), ComposedEvent((FailureEvent(Fraction(1, 8)), choice))))
    assert failure_of(event_record(failing)) == Fraction(1, 8)  # as a witness reads it from a release
    composed = guarantee_of(ComposedEvent(both.events), relation, delta)
    assert composed.epsilon > guarantee_of(both, relation, delta).epsilon
    with pytest.raises(Exception, match="ParallelEvent"):
        guarantee_of(ComposedEvent((both, gaussian)), relation, delta)
    with pytest.raises(Exception, match="at least one part"):
        guarantee_of(ParallelEvent(()), relation, delta)


def test_the_loss_of_a_mixture_is_no_more_than_of_its_parts():
    """What the proof rests on: of (epsilon, delta) too, for Gaussian noise in one half or the other."""
    grid, sd = np.linspace(-12, 13, 401), 3.0
    density = lambda center: np.exp(-0.5 * ((grid - center) / sd) ** 2)  # noqa: E731
    mixed = [
        0.5 * np.outer(density(shift), density(0)) + 0.5 * np.outer(density(0), density(shift)) for shift in (0, 1)
    ]
    pair = [np.outer(density(shift), density(0)) for shift in (0, 1)]

    def delta(one, other, epsilon):
        return float(np.maximum(one - math.exp(epsilon) * other, 0).sum() / one.sum())

    for epsilon in (0.1, 0.5, 1.0):
        assert delta(*mixed, epsilon) <= delta(*pair, epsilon) + ROUNDING
