"""Conditions of the theorems of Lei et al., against numbers by hand."""

import math

import pytest

import discreet as dc
from discreet.simulation.rivals import Rival, rivals
from discreet.simulation.scenario import Scenario
from discreet.simulation.theory import conditions

BOX = {"type": "real", "lower": -1, "upper": 1, "source": "test"}
TARGET = {"type": "real", "lower": -4, "upper": 4, "source": "test"}
MODELS = 3 * math.log(2)


def scenario(n_rows=10_000, **supposed):
    columns = {"x1": BOX, "x2": BOX, "x3": BOX, "y": TARGET}
    public = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": n_rows, "columns": columns}
    stated = {"effects": {"x1": 1.5, "x2": -1.0}, "noise_sd": 0.5} | supposed
    return Scenario.of(dc.Metadata.from_value(public), "y", **stated)


def pcls(**parameters):
    return Rival("pcls", "pcls", {"y_bound": 4.0, "l1_radius": 6.0, "model_penalty": 100.0} | parameters)


def told(theorem):
    return [(one["quantity"], one["relation"], one["needed"], one["found"], one["holds"]) for one in theorem]


def test_theorem_1():
    """Penalty between noise and the weakest effect, R wide, rows many: each as computed by hand."""
    (found,) = conditions(scenario(), [pcls()], 2.0)
    strength = 1.0**2 / 3  # the smallest eigenvalue of columns even on [-1, 1], times the weakest effect squared
    assert (found["theorem"], found["rival"], found["model_penalty"], found["epsilon"]) == (1, "pcls", 100.0, 2.0)
    expected = [
        ("penalty", ">=", 4 * MODELS * 0.25, 100.0, True),
        ("penalty", ">=", 4 * MODELS * 100.0 / 2.0, 100.0, False),
        ("penalty", "<=", strength * 10_000 / 5, 100.0, True),
        ("R", ">=", 4.0 * math.sqrt(3 * 3), 6.0, False),
        ("rows", ">=", max(128 * MODELS * 0.25 / strength, 16 * MODELS * 3), 10_000, True),
    ]
    for ours, by_hand in zip(told(found["conditions"]), expected, strict=True):
        assert ours == (*by_hand[:2], pytest.approx(by_hand[2], rel=0.03), by_hand[3], by_hand[4])
    assert not found["holds"]


def test_theorem_2():
    """The same on the scale of the likelihood, and the epsilon that the sum of squares needs."""
    asked = {"y_center": 0.0, "y_bound": 4.0, "l1_radius": 6.0, "model_penalty": 50.0, "delta": 1e-6}
    (found,) = conditions(scenario(), [Rival("pcpl", "pcpl", asked)], 2.0)
    strength, first, second = 1.0 / 3, 0.4, 1.6
    expected = [
        8 * MODELS,
        64 * MODELS * 100.0 / (second * 0.25),
        2 / (3 * 2) * 10_000 * math.log1p(strength / (4 * 0.25)),
        12.0,
        max(128 * MODELS * 0.25 / strength, 16 * MODELS * 3),
        100.0 * (MODELS + math.log(1 / 2e-6)) / (10_000 * 0.25 / 4 - 100.0),
    ]
    assert found["theorem"] == 2
    assert [one["needed"] for one in found["conditions"]] == pytest.approx(expected, rel=0.03)
    assert [one["holds"] for one in found["conditions"]] == [True, False, True, False, True, False]
    assert found["conditions"][-1]["found"] == first


def test_all_can_hold():
    """With many rows and a wide R there is a penalty for which the theorem speaks."""
    (found,) = conditions(scenario(10**7), [pcls(l1_radius=20.0, model_penalty=2e4)], 1.0)
    assert found["holds"]
    assert all(one["holds"] for one in found["conditions"])


def test_an_epsilon_that_cannot_be():
    """Where the least sum of squares is below what one row can add, no epsilon would do."""
    (found,) = conditions(scenario(100), [Rival("pcpl", "pcpl", {"model_penalty": "bic", "delta": 1e-6})], 1.0)
    assert (found["conditions"][-1]["needed"], found["conditions"][-1]["holds"]) == (None, False)


def test_of_whom_theory_is_silent():
    """Of a limit that is bought, of a floored likelihood, of other methods, and where no column matters."""
    own, epsilon = scenario(), 1.0
    assert conditions(own, [Rival("m", "moments", {}), pcls(y_bound="private")], epsilon) == []
    assert conditions(own, [Rival("pcpl", "pcpl", {"variance_floor": 1.0})], epsilon) == []
    assert conditions(scenario(effects={"x1": 0.0}), [pcls()], epsilon) == []
    usual = conditions(own, rivals(own.metadata, "y", own.candidates, 1e-6, 10_000), epsilon)
    assert [one["rival"] for one in usual] == ["pcls, y_bound 4"]
