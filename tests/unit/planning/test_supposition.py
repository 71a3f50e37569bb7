"""What is supposed, as one scenario or several."""

import pytest

import discreet as dc
from discreet.errors import InvalidParameterError
from discreet.planning.supposition import Supposition

BOX = {"type": "real", "lower": -1, "upper": 1, "source": "test"}
METADATA = dc.Metadata.from_value(
    {
        "dataset": "toy",
        "unit": "person",
        "neighboring": "replace_one",
        "n_rows": 100,
        "columns": {f"x{j}": BOX for j in range(6)} | {"y": BOX},
    }
)


def test_nothing_said_is_the_usual_scenario():
    """One scenario, that of `Scenario.of`, and nothing to record."""
    supposed = Supposition.of(None)
    assert supposed.scenarios(METADATA, "y") == [dc.Scenario.of(METADATA, "y")]
    assert supposed.record(supposed.scenarios(METADATA, "y")) == {}
    assert supposed.leaves_columns_open
    assert Supposition.of({"correlation": 0.5}).leaves_columns_open
    assert not any(Supposition.of(one).leaves_columns_open for one in ({"n_true": 2}, {"effects": {"x1": 1.0}}))


def test_lists_are_scenarios():
    """Each number of each list with each of the others; a number alone is a list of one, and twice is once."""
    supposed = Supposition.of({"times": [0.5, 1, 1], "correlation": (0, 0.5), "r_squared": 0.2, "n_true": 2})
    found = supposed.scenarios(METADATA, "y")
    assert supposed.n_scenarios == len(found) == 4
    assert [(one.correlation, one.times) for one in found] == [(0, 0.5), (0, 1), (0.5, 0.5), (0.5, 1)]
    assert found[1].r_squared == pytest.approx(0.2)
    assert found[0].effects["x0"] == pytest.approx(found[1].effects["x0"] / 2)
    assert found[0].noise_sd == found[1].noise_sd
    assert supposed.record(found) == {"n_true": 2, "r_squared": [0.2], "correlation": [0.0, 0.5], "times": [0.5, 1.0]}


@pytest.mark.parametrize(
    "wrong",
    [
        {"effects": {"x1": 1.0}, "n_true": 2},
        {"effects": {"x1": 1.0}, "noise_sd": 1.0, "r_squared": 0.5},
        {"like": "public.csv", "correlation": 0.5},
        {"like": "public.csv", "n_true": 2},
        {"times": [1, 2, 3, 4, 5], "correlation": [0, 0.1, 0.2, 0.3, 0.4]},
        {"colour": 1},
    ],
)
def test_contradictions(wrong):
    """Two statements about one matter, too many scenarios, and words that mean nothing."""
    with pytest.raises(InvalidParameterError):
        Supposition.of(wrong)


@pytest.mark.parametrize("wrong", [{"times": 0}, {"times": -1}, {"correlation": 1}, {"r_squared": 0}, {"n_true": 7}])
def test_numbers_out_of_range(wrong):
    """Told when scenarios are made of them."""
    with pytest.raises(InvalidParameterError):
        Supposition.of(wrong).scenarios(METADATA, "y")
