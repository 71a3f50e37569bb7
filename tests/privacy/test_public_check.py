"""A look at whether rows go with public moments: what a row can move, pairs that reach the charge, and controls."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms.rng import Source
from discreet.methods.base import public_check
from discreet.methods.base.public_check import PublicLook, share_of_look
from discreet.methods.screening.decorrelated_scores import DecorrelatedScreening
from tests.privacy.screenings import table_of

RELATIONS = ("replace_one", "add_or_remove_one")
PUBLIC = {
    "labels": ("x0", "x1", "x2"),
    "means": (0.0, 0.0, 0.0),
    "covariance": ((0.3, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 0.3)),
    "n_records": 30,
}
METHOD = DecorrelatedScreening(epsilon=1.0, public_moments=PUBLIC)


def handed(table):
    """What a look hands to its noise, over the scale."""
    values = []

    def kept(exact, scale, rng):
        values.extend(float(Fraction(int(value)) / scale) for value in exact)
        return list(exact)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(public_check, "cube_noise", kept)
        METHOD.prepare(table.metadata, "y").look.ratio(table, Source.seeded(0))
    return np.array(values)


def loss(one, other):
    """The privacy loss between two tables: of the number that moves the most."""
    return float(np.abs(handed(one) - handed(other)).max())


def charge(table):
    return float(METHOD.prepare(table.metadata, "y").look.epsilon)


CELL = st.sampled_from([-1.0, 1.0, 0.0, 0.37, -0.7, float("nan"), float("inf"), -1e300, 2.0])
ROW = st.lists(CELL, min_size=4, max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=8), ROW, ROW)
def test_no_neighbor_moves_the_largest_sum_by_more(rows, old, new):
    """Odd cells included, under both relations."""
    for relation, first, second in (
        ("replace_one", [*rows, old], [*rows, new]),
        ("add_or_remove_one", rows, [*rows, new]),
    ):
        one, other = table_of(first, relation), table_of(second, relation)
        assert loss(one, other) <= charge(one) * (1 + 1e-12)


ALIKE = [[1.0, 1.0, 0.0, 0.0]] * 20


def pair(relation, **more):
    """Two columns that go together in all rows but one, in which they go against each other, or which comes."""
    turned = [1.0, -1.0, 0.0, 0.0]
    if relation == "replace_one":
        return table_of([*ALIKE, ALIKE[0]], relation, **more), table_of([*ALIKE, turned], relation, **more)
    return table_of(ALIKE, relation, **more), table_of([*ALIKE, ALIKE[0]], relation, **more)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_worst_pair_spends_what_it_is_charged(relation):
    """One row turns a product from one end to the other, or comes."""
    one, other = pair(relation)
    assert loss(one, other) == pytest.approx(charge(one))


def test_units_of_several_rows_are_cut_and_covered():
    """A unit with five rows under rows_per_unit 3 moves the sum by three rows."""
    ids = list(range(20))
    one = table_of(ALIKE, "add_or_remove_one", ids, rows_per_unit=3)
    other = table_of([*ALIKE, *[ALIKE[0]] * 5], "add_or_remove_one", [*ids, *[99] * 5], rows_per_unit=3)
    assert loss(one, other) == pytest.approx(charge(one))


@pytest.mark.parametrize("relation", RELATIONS)
def test_half_the_noise_is_flagged(monkeypatch, relation):
    """Control: a sensitivity that forgets half of what a row can do."""
    moved = PublicLook.moved.fget
    monkeypatch.setattr(PublicLook, "moved", property(lambda self: Fraction(moved(self), 2)))
    one, other = pair(relation)
    assert loss(one, other) > 1.9 * charge(one)


def test_sums_that_are_added_up_are_flagged(monkeypatch):
    """Control: a row moves all products at once, so their total is not covered, as the largest is."""
    monkeypatch.setattr(public_check, "largest_difference", lambda sums, p: int(np.abs(sums[p:]).sum()))
    together = [[1.0, 1.0, 1.0, 0.0]] * 20
    one = table_of(together, "add_or_remove_one")
    other = table_of([*together, together[0]], "add_or_remove_one")
    assert loss(one, other) > 2.9 * charge(one)


@pytest.mark.parametrize(("information", "share"), [(0.0, 0.08), (0.1, 0.08), (1.0, 0.04), (2.0, 0.02), (1e9, 0.01)])
def test_the_share_falls_with_rows_and_epsilon(information, share):
    """From .08 to .01."""
    assert share_of_look(information) == Fraction(str(share))
