"""The noise test: how far one row and one unit move what gets noise, and a control with too little."""

import numpy as np
import pytest

from discreet.mechanisms.rng import Source
from discreet.methods.screening import noise_test
from discreet.methods.screening.noise_test import STEPS
from discreet.methods.screening.sis import IndependenceScreening
from tests.privacy.screenings import table_of

RELATIONS = ("replace_one", "add_or_remove_one")
FALLING = [[place / 50.0, 0.0, -place / 50.0] for place in range(-20, 20)]
ASKED = {"n_features_to_select": 1, "n0": 40, "noise_test": True}
ABOVE, INSIDE = [1.0, 0.0, 1.0], [0.01, 0.3, -0.01]


@pytest.fixture(autouse=True, params=["products", "kendall"])
def association(request, monkeypatch):
    """Bins of bounded columns, and cells as they are."""
    monkeypatch.setitem(ASKED, "association", request.param)


def reached(monkeypatch, rows, relation, units=None, **more):
    """What gets noise, in steps, and the test."""
    table, kept = table_of(rows, relation, units, **more), []
    test = IndependenceScreening(**ASKED).prepare(table.metadata, "y").test
    assert test.design.by_order == (ASKED["association"] == "kendall")

    def noiseless(values, scale, rng):
        kept.append([int(value) for value in values])
        return kept[-1]

    monkeypatch.setattr(noise_test, "discrete_laplace", noiseless)
    noise_test.associations_tested(test, table, ["x0", "x1"], Source.seeded(0))
    return np.array(kept[0]), test


def moved(monkeypatch, rows, other, relation):
    one, test = reached(monkeypatch, rows, relation)
    return int(np.abs(one - reached(monkeypatch, other, relation)[0]).sum()), test.sensitivity


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_row_moves_more_and_some_moves_as_much(monkeypatch, relation):
    """Rows that fall and one above all use up the sensitivity; random small tables never more."""
    old = [INSIDE] if relation == "replace_one" else []
    seen, sensitivity = moved(monkeypatch, [*FALLING, *old], [*FALLING, ABOVE], relation)
    assert 0.99 * sensitivity <= seen <= sensitivity
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated data, not noise
    for _ in range(60):
        rows = rng.choice([-1.0, -0.3, 0.2, 1.0], (int(rng.integers(1, 7)), 3)).tolist()
        other = [*rows[1:], *(rng.choice([-1.0, 0.0, 1.0], (1, 3)).tolist() if relation == "replace_one" else [])]
        if other:
            assert moved(monkeypatch, rows, other, relation)[0] <= sensitivity


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_sensitivity_of_one_pair_is_found_out(monkeypatch, relation):
    """Control: the change of S / (n - 1) by one pair, and a private n that is taken to be fixed."""
    claimed = 2 * STEPS // 40 if relation == "replace_one" else STEPS
    old = [INSIDE] if relation == "replace_one" else []
    assert moved(monkeypatch, [*FALLING, *old], [*FALLING, ABOVE], relation)[0] > claimed


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_unit_moves_no_more_than_is_claimed(monkeypatch, relation):
    """Three rows of a unit that has nine are counted; rows that fall and three above all nearly use up the noise."""
    crowd = [ABOVE] * 9
    inside = [INSIDE] * 9 if relation == "replace_one" else []
    owners, own = list(range(1, len(FALLING) + 1)), [0] * 9
    declared = {"rows_per_unit": 3}
    one, test = reached(monkeypatch, [*FALLING, *inside], relation, [*owners, *own[: len(inside)]], **declared)
    other, _ = reached(monkeypatch, [*FALLING, *crowd], relation, [*owners, *own], **declared)
    assert 0.95 * test.sensitivity <= np.abs(one - other).sum() <= test.sensitivity


@pytest.mark.parametrize("relation", RELATIONS)
def test_units_of_any_sizes_move_no_more_than_is_claimed(monkeypatch, relation):
    """Small tables; a unit of up to three rows in another's place, or of none; the number of rows is private."""
    rng = np.random.default_rng(11)  # noqa: TID251 - simulated data, not noise
    values, largest, is_replaced = np.array([-1.0, -0.6, -0.2, 0.1, 0.5, 1.0]), 0.0, relation == "replace_one"
    for number in range(48):
        common, sign = int(rng.integers(1, 6)), rng.choice([-1.0, 1.0])
        sizes = [int(rng.integers(1, 4)) if is_replaced else 0, int(rng.integers(1, 4))]
        # A line, and units along it and against it: extremes; every third table at random.
        line = [[x, 0.0, sign * x] for x in values[:common]]
        units = [[[1.0, 0.0, sign]] * sizes[0], [[1.0, 0.0, -sign]] * sizes[1]]
        if number % 3 == 0:
            line, *units = (rng.choice(values, (k, 3)).tolist() for k in (common, *sizes))
        declared = {"rows_per_unit": 3, **({"n_units": common + 1} if is_replaced else {})}
        owned = [([*line, *rows], [*range(1, common + 1), *[0] * len(rows)]) for rows in units]
        (one, test), (other, _) = (reached(monkeypatch, rows, relation, own, **declared) for rows, own in owned)
        assert len(one) == 2
        move = np.abs(one - other).sum()
        assert move <= test.sensitivity
        largest = max(largest, move / test.sensitivity)
    assert largest > 0.5
