"""What is supposed where nothing is stated: kinds that differ, each as strong as it says."""

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.mechanisms.rng import Source
from discreet.simulation.scenario import R_SQUARED
from discreet.simulation.worlds import HARD, WORLDS, MixedScenario, UnevenScenario, numbers, worlds

BOX = {"type": "real", "lower": 0, "upper": 10, "source": "test"}
ROWS = 4000


def metadata(n_columns=6):
    columns = {f"x{j}": BOX for j in range(n_columns)} | {"y": {**BOX, "lower": -20, "upper": 60}}
    facts = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": ROWS}
    return dc.Metadata.from_value({**facts, "columns": columns})


def listed(n_columns=6, n_true=None):
    names = tuple(f"x{j}" for j in range(n_columns))
    return worlds(metadata(n_columns), "y", names, ROWS, n_true)


@pytest.mark.parametrize(
    ("n_columns", "expected"), [(1, (1,)), (2, (1, 2)), (4, (1, 2, 3)), (6, (2, 3, 4)), (40, (2, 3, 4))]
)
def test_the_numbers_of_columns_lie_about_that_of_a_plan(n_columns, expected):
    """One more and one fewer, where there are as many; all kinds with each."""
    assert numbers(n_columns) == expected
    scenarios = listed(n_columns)
    assert len(scenarios) == len(WORLDS) * len(expected) + len(HARD)
    assert {len(scenario.truth) for scenario in scenarios} == set(expected)


def test_a_stated_number_is_the_only_one():
    """All kinds keep it."""
    assert {len(scenario.truth) for scenario in listed(6, 5)} == {5}


def test_each_kind_explains_what_it_says_and_fits_its_bounds():
    """Half of the variance, a tenth where effects are weak; the target's mean is where it should be, and rarely cut."""
    for place, scenario in enumerate(listed()):
        world = WORLDS[place % len(WORLDS)] if place < 3 * len(WORLDS) else HARD[place - 3 * len(WORLDS)]
        assert scenario.r_squared == pytest.approx(world.r_squared, abs=0.01)
        y = scenario.draw(Source.seeded(place))._arrow["y"].to_numpy()
        if world.kind is not UnevenScenario:
            assert y.mean() == pytest.approx(20.0 + 40.0 * world.place, abs=0.6)
        assert np.mean((y <= -20.0) | (y >= 60.0)) < 0.02
    assert {scenario.r_squared < R_SQUARED - 0.3 for scenario in listed()} == {True, False}


def test_effects_are_equal_or_fall_and_columns_are_correlated_where_said():
    """As their kinds say."""
    for world, scenario in zip(WORLDS, listed(6, 3), strict=False):
        sizes = [scenario.effects[name] for name in ("x0", "x1", "x2")]
        assert bool(np.ptp(sizes) < 1e-9) is world.equal
        x = scenario.draw(Source.seeded(1))._arrow
        together = stats.spearmanr(x["x1"].to_numpy(), x["x2"].to_numpy()).statistic
        assert together == pytest.approx(world.correlation, abs=0.06)


def test_uneven_columns_are_narrow_skewed_and_rarely_high():
    """In turns; which shape matters differs with the number of columns."""
    scenarios = [scenario for scenario in listed() if isinstance(scenario, UnevenScenario)]
    assert len(scenarios) == 6
    assert {scenario.correlation for scenario in scenarios} == {0.0, 0.6}
    x = scenarios[2].draw(Source.seeded(2))._arrow.to_pandas()
    assert x["x0"].between(2.5, 7.5).all()
    assert x["x1"].median() == pytest.approx(5.0, abs=0.4)
    assert x["x2"].median() == pytest.approx(1.25, abs=0.3)
    assert x["x3"].median() < 0.1


def test_mixed_columns_are_measurements_in_wide_bounds_and_answers():
    """In turns: a fifth of the bounds, below their middle; both ends, the upper one in three of ten rows."""
    scenario = next(scenario for scenario in listed() if isinstance(scenario, MixedScenario))
    x = scenario.draw(Source.seeded(3))._arrow.to_pandas()
    assert x["x0"].between(2.0, 4.0).all()
    assert set(x["x1"]) == {0.0, 10.0}
    assert x["x1"].mean() == pytest.approx(3.0, abs=0.3)
