"""Unkind tables beside a stated one: what they change, and what they leave."""

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.rng import Source
from discreet.simulation.scenario import Scenario
from discreet.simulation.unkind import unkind_scenarios

BOX = {"type": "real", "lower": 0, "upper": 10, "source": "test"}


@pytest.fixture
def stated():
    columns = {f"x{j}": BOX for j in range(4)} | {"y": {**BOX, "lower": -50, "upper": 50}}
    facts = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 4000}
    return Scenario.of(dc.Metadata.from_value({**facts, "columns": columns}), "y", effects={"x0": 8.0}, noise_sd=4.0)


def test_narrow_columns_lie_low_in_their_bounds_and_the_target_where_it_was(stated):
    """Measurements in bounds of what is possible: a fifth of them, a fifth from the lower end."""
    narrow = next(scenario for scenario in unkind_scenarios(stated) if scenario.unkindness.name == "narrow columns")
    rows = narrow.draw(Source.seeded(1))._arrow
    assert 1.0 <= rows["x0"].to_numpy().min() < rows["x0"].to_numpy().max() <= 3.0
    assert rows["y"].to_numpy().mean() == pytest.approx(0.0, abs=0.3)
    slope = np.polyfit(rows["x0"].to_numpy(), rows["y"].to_numpy(), 1)[0]
    assert slope == pytest.approx(8.0 / 5.0, abs=0.3)


def test_every_kind_keeps_the_effects(stated):
    """They are the stated ones, in the target's unit."""
    assert all(scenario.effects == stated.effects for scenario in unkind_scenarios(stated))
