"""Simulated columns with the moments of a public table, and what `auto` makes of them."""

import numpy as np
import pytest

import discreet as dc
from discreet.data.public_moments import public_moments
from discreet.mechanisms.rng import Source
from discreet.parameters.public_moments import PublicMoments
from discreet.simulation.choice import best_selection
from discreet.simulation.known_scenario import KnownScenario
from discreet.simulation.worlds import KNOWN, numbers, worlds

NAMES = ("u", "v", "yes", "k")
METADATA = dc.Metadata.from_value(
    {
        "dataset": "d",
        "unit": "person",
        "neighboring": "replace_one",
        "n_rows": 4000,
        "columns": {
            "u": {"type": "real", "lower": -5, "upper": 5},
            "v": {"type": "real", "lower": 0, "upper": 20},
            "yes": {"type": "integer", "lower": 0, "upper": 1},
            "k": {"type": "category", "levels": ["a", "b", "c"]},
            "y": {"type": "real", "lower": 0, "upper": 10},
        },
    }
)
STATED = {
    "labels": ("u", "v", "yes", "k=a", "k=b", "k=c"),
    "means": (1.0, 4.0, 0.2, 0.5, 0.3, 0.2),
    "covariance": np.array(
        [
            [1.0, 1.2, 0.12, 0.0, 0.0, 0.0],
            [1.2, 4.0, 0.0, 0.0, 0.0, 0.0],
            [0.12, 0.0, 0.16, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.25, -0.15, -0.1],
            [0.0, 0.0, 0.0, -0.15, 0.21, -0.06],
            [0.0, 0.0, 0.0, -0.1, -0.06, 0.16],
        ]
    ),
    "skewness": (0.0, 1.0, 1.5, 0.0, 0.9, 1.5),
    "n_records": 1000,
}
KNOWN_MOMENTS = PublicMoments(**{**STATED, "covariance": tuple(map(tuple, STATED["covariance"].tolist()))})


def test_drawn_columns_have_the_moments_that_are_known():
    """Means, deviations, skewness and correlations; of two values a correlation is weaker, as of any cut column."""
    scenario = KnownScenario(METADATA, "y", NAMES, {"u": 1.0}, 1.0, 4000, known=KNOWN_MOMENTS)
    drawn = [public_moments(scenario.draw(Source.seeded(seed)).frame, METADATA, NAMES) for seed in range(5)]
    means, covariance = (np.mean([getattr(each, name) for each in drawn], axis=0) for name in ("means", "covariance"))
    assert means == pytest.approx(np.array(STATED["means"]), abs=0.05)
    assert covariance.diagonal() == pytest.approx(STATED["covariance"].diagonal(), rel=0.1)
    assert covariance[0, 1] == pytest.approx(1.2, rel=0.1)
    assert 0.04 < covariance[0, 2] < 0.12
    assert drawn[0].skewness[1] == pytest.approx(1.0, abs=0.3)


def test_worlds_are_of_the_known_columns():
    """All of them, with each number of columns that matter; what columns explain is as the world says."""
    scenarios = worlds(METADATA, "y", NAMES, 1000, public_moments=KNOWN_MOMENTS)
    assert len(scenarios) == len(KNOWN) * len(numbers(4))
    assert {scenario.known for scenario in scenarios} == {KNOWN_MOMENTS}
    assert [scenario.r_squared for scenario in scenarios[:3]] == pytest.approx([0.5, 0.5, 0.1])
    assert {scenario.truth for scenario in worlds(METADATA, "y", NAMES, 1000, 2, KNOWN_MOMENTS)} == {
        frozenset({"u", "v"}), frozenset({"u", "yes"})
    }  # fmt: skip


def test_a_choice_is_made_among_what_the_public_table_makes_possible():
    """Correlated columns: what tells them apart is chosen, and not what rates them one by one."""
    names = ("a", "b", "c", "d", "e", "f")
    columns = {name: {"type": "real", "lower": -4, "upper": 4} for name in (*names, "y")}
    metadata = dc.Metadata.from_value(
        {"dataset": "d", "unit": "person", "neighboring": "replace_one", "n_rows": 4000, "columns": columns}
    )
    covariance = tuple(tuple(0.8 ** abs(i - j) for j in range(6)) for i in range(6))
    known = PublicMoments(labels=names, means=(0.0,) * 6, covariance=covariance, n_records=2000)
    choice = best_selection(metadata, "y", names, epsilon=1.0, known=known)
    assert choice.rival.method in ("decorrelated", "moments")
    assert choice.rival.parameters.get("public_moments") == known
