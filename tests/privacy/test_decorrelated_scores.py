"""Decorrelated scores: what a row can move in each pass, pairs that reach the charge, and controls that must fail."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.metadata import Metadata
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows import decorrelated_scores as rows_kernel
from discreet.mechanisms.rng import Source
from discreet.methods.screening import decorrelated_estimates, first_screening
from discreet.methods.screening.decorrelated_plan import ScorePlan
from discreet.methods.screening.decorrelated_scores import DecorrelatedScreening
from discreet.methods.screening.first_screening import FirstScreening, ScreenedScores
from discreet.methods.screening.step_down import StepDown
from discreet.methods.screening.threshold_choice import AboveThreshold, Chosen
from tests.privacy.screenings import table_of

RELATIONS = ("replace_one", "add_or_remove_one")
EPSILON = 1.0


def handed(method, table, frozen=None):
    """Sums of the cubes, the mean of residuals and the choice, each over its claimed change, and what came out.

    With `frozen`, outcomes are those of the other table, so that both runs are at the same point.
    """
    vectors, outcomes = [], [] if frozen is None else list(frozen)
    with pytest.MonkeyPatch.context() as patch:

        def reach(values, scale, draw):
            place = len(vectors)
            vectors.append(np.array([float(Fraction(int(value)) / scale) for value in values]))
            if frozen is None:
                outcomes.append(draw())
            return outcomes[place]

        def cube(values, scale, rng):
            return reach(values, scale, lambda: [int(value) for value in values])

        def median(counts, quantile, relation, rows, epsilon, rng):
            return reach([0], Fraction(1), lambda: int(np.argmax(counts)))

        def choose(self, scores, thresholds, rng):
            return reach(scores, Fraction(self.sensitivity) / self.epsilon, lambda: Chosen([0]))

        def first(scores, k, epsilon, sensitivity, rng):
            return reach(scores, Fraction(sensitivity) / epsilon, lambda: list(range(k)))

        for module in (decorrelated_estimates, first_screening):
            patch.setattr(module, "cube_noise", cube)
            patch.setattr(module, "noisy_quantile", median)
        patch.setattr(decorrelated_estimates, "discrete_laplace", cube)
        patch.setattr(first_screening, "one_shot", first)
        patch.setattr(AboveThreshold, "draw", choose)
        patch.setattr(StepDown, "draw", choose)
        method.prepare(table.metadata, "y").run(table, Source.seeded(0))
    return vectors, outcomes


def losses(method, one, other):
    """The largest change of each vector, over scale or over claimed sensitivity times epsilon: privacy losses."""
    first, outcomes = handed(method, one)
    second, _ = handed(method, other, outcomes)
    return [float(np.abs(a - b).max()) for a, b in zip(first, second, strict=True)]


def charges(method, table):
    """Epsilons of the parts, in the order of the calls: the choice has half a range for each side."""
    prepared = method.prepare(table.metadata, "y")
    if not isinstance(prepared, ScreenedScores):
        return [float(epsilon) for epsilon in prepared.budget.values()]
    scales = [part.event.epsilon for part in prepared.first.scales]
    both = (*scales, *prepared.first.budget.values(), *prepared.rest.budget.values())
    assert sum(both) == Fraction(method.epsilon)
    return [float(epsilon) for epsilon in both]


CELL = st.sampled_from([-1.0, 1.0, 0.0, 0.37, -0.7, float("nan"), float("inf"), -1e300, 2.0])
ROW = st.lists(CELL, min_size=4, max_size=4)


SCALED = {"x_scale": 0.03}
"""Stated shares: spreads are bought however few rows there are."""


@pytest.mark.parametrize("shares", [None, SCALED], ids=["cut by bounds", "cut by spreads"])
@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(ROW, min_size=1, max_size=8),
    old=ROW,
    new=ROW,
    place=st.integers(0, 7),
    center=st.sampled_from(["private", "middle", 0.3]),
)
def test_no_sum_moves_by_more_than_is_claimed(shares, rows, old, new, place, center):
    """Any neighbors, odd cells included, with the same released numbers: each sum within its sensitivity."""
    method = DecorrelatedScreening(epsilon=EPSILON, y_center=center, groups=(("x0", "x2"),), shares=shares)
    at = place % (len(rows) + 1)
    for relation, tables in (
        ("replace_one", ([*rows[:at], old, *rows[at:]], [*rows[:at], new, *rows[at:]])),
        ("add_or_remove_one", (rows, [*rows[:at], new, *rows[at:]])),
    ):
        one, other = (table_of(table, relation) for table in tables)
        for loss, charge in zip(losses(method, one, other), charges(method, one), strict=True):
            assert loss <= charge * (1 + 1e-12)


FIRST = (
    {"n_screened": 1},
    {"n_screened": 2},
    {"n_screened": 1, "groups": (("x0", "x2"),), "y_center": "middle"},
    {"n_screened": 2, "shares": SCALED},
)
"""Noise of one round, noise on all scores, units of several columns, and spreads of all columns."""


@pytest.mark.parametrize("options", FIRST, ids=["one round", "a cube", "a group", "spreads"])
@settings(max_examples=30, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=8), old=ROW, new=ROW, place=st.integers(0, 7))
def test_no_sum_of_a_first_screening_moves_by_more_than_is_claimed(options, rows, old, new, place):
    """Nor any of what follows, among the columns that it left."""
    method, at = DecorrelatedScreening(epsilon=EPSILON, **options), place % (len(rows) + 1)
    for relation, tables in (
        ("replace_one", ([*rows[:at], old, *rows[at:]], [*rows[:at], new, *rows[at:]])),
        ("add_or_remove_one", (rows, [*rows[:at], new, *rows[at:]])),
    ):
        one, other = (table_of(table, relation) for table in tables)
        spent, charged = losses(method, one, other), charges(method, one)
        assert len(spent) == len(charged)
        assert all(loss <= charge * (1 + 1e-12) for loss, charge in zip(spent, charged, strict=True))


@pytest.mark.parametrize("n_screened", [1, 2])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_first_screening_spends_what_it_is_charged(monkeypatch, relation, n_screened):
    """A row turns a column beside its target, or its target; with half the sensitivity both are flagged (control)."""
    method = DecorrelatedScreening(epsilon=EPSILON, y_center="middle", n_screened=n_screened)
    base = [[1.0, 1.0, 0.3, 1.0], [-1.0, 1.0, 0.3, -1.0]] * 40
    moved = ScorePlan.moved.fget
    for place, new in ((1, [-1.0, -1.0, 0.3, 1.0]), (0, [1.0, 1.0, 0.3, -1.0])):
        tables = ([*base, base[0]], [*base, new]) if relation == "replace_one" else (base, [*base, base[0]])
        one, other = (table_of(rows, relation) for rows in tables)
        # One more above than below is taken off as the mean: of 81 or of 80 rows.
        assert losses(method, one, other)[place] == pytest.approx(charges(method, one)[place], rel=0.03)
        with monkeypatch.context() as patch:
            patch.setattr(ScorePlan, "moved", property(lambda self: Fraction(moved(self), 2)))
            assert losses(method, one, other)[place] > 1.9 * charges(method, one)[place]


def test_what_follows_a_first_screening_costs_the_same_whichever_columns_are_left():
    """Columns of two values alone need no centers; the price may not tell that these were left."""
    columns = {f"x{j}": {"type": "integer", "lower": 0, "upper": 1 + j % 2} for j in range(12)}
    for n_rows in (20, 8000):  # of 8000 the spreads of one column are bought, not those of six
        stated = {"columns": columns | {"y": {"type": "real", "lower": 0, "upper": 1}}, "n_rows": n_rows}
        facts = {"dataset": "d", "unit": "person", "neighboring": "replace_one"}
        metadata = Metadata.from_value(facts | stated)
        prepared = DecorrelatedScreening(epsilon=0.05, n_screened=1).prepare(metadata, "y")
        events = [prepared.then((name,), 0.0, None).event for name in columns]
        assert all(event == events[0] for event in events)
        assert isinstance(prepared.first, FirstScreening)
        assert not prepared.first.has_scales
    assert "x_scale" in [step.name for step in prepared.steps]


CROSS = [[1.0, 1.0, 1.0], [-1.0, 1.0, -1.0], [1.0, -1.0, 1.0], [-1.0, -1.0, -1.0]] * 20 + [[1.0, -1.0, 1.0]] * 2


CUBES_AND_CHOICE = (0, 2, 3, 5)
"""Places of centers, products, pilot and choice among the parts, where the target's center is public."""


def pair(relation):
    """Columns all but uncorrelated, more targets above than below; a row below turns its columns."""
    old, new = [1.0, 1.0, -1.0], [-1.0, -1.0, -1.0]
    tables = ([*CROSS, old], [*CROSS, new]) if relation == "replace_one" else (CROSS, [*CROSS, old])
    return [table_of(rows, relation) for rows in tables]


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_worst_pair_spends_what_it_is_charged(relation):
    """One row moves all cubes and the choice by all that is claimed."""
    method = DecorrelatedScreening(epsilon=EPSILON, y_center="middle", saturation=0.6)
    one, other = pair(relation)
    spent, charged = losses(method, one, other), charges(method, one)
    assert [spent[part] for part in CUBES_AND_CHOICE] == pytest.approx([charged[part] for part in CUBES_AND_CHOICE])


@pytest.mark.parametrize("relation", RELATIONS)
def test_spreads_spend_what_they_are_charged(monkeypatch, relation):
    """A row at the bound comes, or stands where one at its center stood; half the sensitivity is flagged (control)."""
    centers = {"x0": 0.0, "x1": 0.0}
    method = DecorrelatedScreening(epsilon=EPSILON, x_center=centers, y_center="middle", shares=SCALED)
    near, far = [0.0, 0.0, 0.3], [1.0, -1.0, 0.3]
    tables = ([*CROSS, near], [*CROSS, far]) if relation == "replace_one" else (CROSS, [*CROSS, far])
    one, other = (table_of(rows, relation) for rows in tables)
    assert losses(method, one, other)[0] == pytest.approx(charges(method, one)[0]) == pytest.approx(0.03)
    moved = ScorePlan.moved.fget
    monkeypatch.setattr(ScorePlan, "moved", property(lambda self: Fraction(moved(self), 2)))
    assert losses(method, one, other)[0] > 1.9 * charges(method, one)[0]


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_second_look_at_centers_spends_what_it_is_charged(monkeypatch, relation):
    """A row beyond its reach on one side comes, or stands where one beyond the other did; half is flagged (control)."""
    method = DecorrelatedScreening(epsilon=EPSILON, y_center="middle", shares=SCALED)
    monkeypatch.setattr(decorrelated_estimates, "shrunk_means", lambda averages, _: 0.0 * averages)
    monkeypatch.setattr(decorrelated_estimates, "REACH", 1e-6)
    old, new = [1.0, 1.0, 0.3], [-1.0, -1.0, 0.3]
    tables = ([*CROSS, old], [*CROSS, new]) if relation == "replace_one" else (CROSS, [*CROSS, new])
    one, other = (table_of(rows, relation) for rows in tables)
    assert losses(method, one, other)[1] == pytest.approx(charges(method, one)[1]) == pytest.approx(0.03)
    moved = ScorePlan.moved.fget
    monkeypatch.setattr(ScorePlan, "moved", property(lambda self: Fraction(moved(self), 2)))
    assert losses(method, one, other)[1] > 1.9 * charges(method, one)[1]


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_mean_of_residuals_spends_what_it_is_charged(relation):
    """One row's target goes from one end to the other, or comes."""
    method = DecorrelatedScreening(epsilon=EPSILON, y_center="middle")
    old, new = [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]
    tables = ([*CROSS, old], [*CROSS, new]) if relation == "replace_one" else (CROSS, [*CROSS, old])
    one, other = (table_of(rows, relation) for rows in tables)
    assert losses(method, one, other)[4] == pytest.approx(charges(method, one)[4])


@pytest.mark.parametrize("relation", RELATIONS)
def test_half_the_noise_is_flagged(monkeypatch, relation):
    """Control: scales and a sensitivity that forget half of what a row can do."""
    moved = ScorePlan.moved.fget
    monkeypatch.setattr(ScorePlan, "moved", property(lambda self: Fraction(moved(self), 2)))
    method = DecorrelatedScreening(epsilon=EPSILON, y_center="middle", saturation=0.6)
    one, other = pair(relation)
    spent, charged = losses(method, one, other), charges(method, one)
    assert all(spent[part] > 1.9 * charged[part] for part in CUBES_AND_CHOICE)


def test_products_that_are_not_cut_are_flagged(monkeypatch):
    """Control: residuals as large as they come, so that one row moves a score by several rows."""
    monkeypatch.setattr(rows_kernel, "MOST_CUT", 100 * GRID)
    method = DecorrelatedScreening(epsilon=EPSILON, y_center="middle")
    one, other = pair("replace_one")
    assert losses(method, one, other)[-1] > 1.3 * charges(method, one)[-1]


def test_units_of_several_rows_are_cut_and_covered():
    """A unit with five rows under rows_per_unit 3 moves each sum by at most three rows, and reaches it."""
    base, ids = [[0.5, -0.5, 0.2], [-1.0, 0.3, -0.4]] * 20, list(range(40))
    more = [[1.0, -1.0, 1.0]] * 5
    method = DecorrelatedScreening(epsilon=EPSILON, y_center="middle", saturation=0.6)
    tables = [
        table_of(rows, "add_or_remove_one", units, rows_per_unit=3)
        for rows, units in ((base, ids), (base + more, [*ids, *[99] * 5]))
    ]
    spent, charged = losses(method, *tables), charges(method, tables[0])
    assert all(loss <= charge * (1 + 1e-12) for loss, charge in zip(spent, charged, strict=True))
    assert spent[:1] + spent[2:4] == pytest.approx(charged[:1] + charged[2:4])


def test_the_parts_add_up_to_epsilon_exactly():
    """Whatever the shares, as fractions."""
    for shares in ({}, {"gram": 0.37}, {"y_scale": 1e-6, "pilot": 0.3}):
        prepared = DecorrelatedScreening(epsilon=0.7, shares=shares).prepare(pair("replace_one")[0].metadata, "y")
        assert sum(prepared.budget.values()) == Fraction("0.7")
        assert sum(event.epsilon for event in prepared.event.events) == Fraction("0.7")


PUBLIC = {
    "labels": ("x0", "x1", "x2"),
    "means": (0.0, 0.1, 0.0),
    "covariance": ((0.6, 0.3, 0.0), (0.3, 0.5, 0.1), (0.0, 0.1, 0.4)),
    "n_records": 30,
}


@pytest.mark.parametrize("n0", [10, 100_000], ids=["few rows", "with a pilot"])
@settings(max_examples=40, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=8), old=ROW, new=ROW, place=st.integers(0, 7))
def test_no_sum_moves_by_more_with_public_columns(n0, rows, old, new, place):
    """The parts that are left spend no more than their shares, which with the look's add up to epsilon."""
    at = place % (len(rows) + 1)
    epsilon = EPSILON if n0 == 10 else 900.0
    method = DecorrelatedScreening(epsilon=epsilon, public_moments=PUBLIC, n0=n0)
    for relation, tables in (
        ("replace_one", ([*rows[:at], old, *rows[at:]], [*rows[:at], new, *rows[at:]])),
        ("add_or_remove_one", (rows, [*rows[:at], new, *rows[at:]])),
    ):
        one, other = (table_of([row[:3] + row[-1:] for row in table], relation) for table in tables)
        prepared = method.prepare(one.metadata, "y")
        for way in (prepared.used, prepared.bought):
            assert prepared.look.epsilon + sum(way.budget.values()) == Fraction(epsilon)
        charged = [float(epsilon) for epsilon in prepared.used.budget.values()]
        for loss, charge in zip(losses(Used(method), one, other), charged, strict=True):
            assert loss <= charge * (1 + 1e-12)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_worst_pair_spends_what_it_is_charged_with_public_columns(monkeypatch, relation):
    """The choice alone has nearly all; with half the sensitivity it is flagged (control)."""
    method = DecorrelatedScreening(epsilon=EPSILON, y_center="middle", public_moments=PUBLIC, n0=10)
    old, new = [1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]
    rows = [[1.0, -1.0, -1.0], [-1.0, 1.0, 1.0]] * 40 + [[0.0, 0.0, -1.0]] * 2  # more targets below the center
    tables = ([*rows, old], [*rows, new]) if relation == "replace_one" else (rows, [*rows, old])
    one, other = (table_of(table, relation) for table in tables)
    charged = float(method.prepare(one.metadata, "y").used.budget["screening"])
    assert losses(Used(method), one, other)[-1] == pytest.approx(charged, rel=0.01)
    moved = ScorePlan.moved.fget
    monkeypatch.setattr(ScorePlan, "moved", property(lambda self: Fraction(moved(self), 2)))
    assert losses(Used(method), one, other)[-1] > 1.9 * charged


@dataclass(frozen=True)
class Used:
    """A request with public moments, after a look that found them right."""

    method: DecorrelatedScreening

    def prepare(self, metadata, target):
        """Prepare what is done then."""
        return self.method.prepare(metadata, target).used
