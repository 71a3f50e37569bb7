"""What is supposed, as one scenario or several."""

import hashlib

import numpy as np
import pytest

import discreet as dc
from discreet.data.public_records import PublicRecords
from discreet.errors import InvalidParameterError, MetadataError
from discreet.simulation.supposition import Supposition

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


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"effects": {"x1": float("nan")}}, "x1=nan"),
        ({"effects": {"x1": 1.1e9}}, r"x1=1.1e\+09"),
        ({"effects": {"x1": 10**400}}, "x1=inf"),
        ({"effects": {"x1": 1e5}, "times": [1, 1e5]}, r"x1=1e\+10"),
        ({"times": 1.1e9}, "times="),
        ({"noise_sd": 1.1e9}, "noise_sd="),
        ({"noise_sd": 1e-13}, "noise_sd="),
        ({"effects": {"x1": 1.0}, "r_squared": 1e-30}, "r_squared nearer"),
    ],
)
def test_numbers_that_would_overflow(wrong, hint):
    """Beyond 1e9 half ranges of the target, which is 1 here, and what is lost in rounding; the wrong one is named."""
    with pytest.raises(InvalidParameterError, match=hint):
        Supposition.of(wrong).scenarios(METADATA, "y")


def test_the_largest_numbers_are_finite():
    """What is just allowed has a finite R^2."""
    for stated in ({"effects": {"x1": 1e9}, "noise_sd": 1e-12}, {"effects": {"x1": 0.0}, "noise_sd": 1e9}):
        (found,) = Supposition.of(stated).scenarios(METADATA, "y")
        assert 0.0 <= found.r_squared <= 1.0


def test_numpy_scalars():
    """They are what Python's numbers are, and JSON can hold what is recorded."""
    arrays = {"times": np.array([0.5, 1.0]), "r_squared": np.float32(0.5), "n_true": np.int64(2)}
    found = Supposition.of(arrays)
    assert found == Supposition.of({"times": [0.5, 1.0], "r_squared": 0.5, "n_true": 2})
    assert type(found.n_true) is int
    own = Supposition.of({"effects": {"x1": np.float64(2.0)}, "noise_sd": np.float64(1.0)})
    assert (type(own.effects["x1"]), type(own.noise_sd)) == (float, float)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"effects": ["x1"]}, "effects must"),
        ({"effects": {1: 2.0}}, "effects must"),
        ({"effects": {"x1": "big"}}, "effects.*x1.* must be a number, but found 'big'"),
        ({"effects": {"x1": True}}, "effects.*x1"),
        ({"r_squared": "half"}, "r_squared must"),
        ({"r_squared": [0.5, None]}, "r_squared must"),
        ({"times": {1.0: 2.0}}, "times must"),
        ({"correlation": np.bool_(True)}, "correlation must"),
        ({"n_true": 1.5}, "n_true must be a whole number, but found 1.5"),
        ({"n_true": True}, "n_true must"),
        ({"noise_sd": [1.0]}, "noise_sd must"),
        (["n_true"], "by name"),
        (0.5, "by name, but found 0.5"),
    ],
)
def test_values_of_a_wrong_kind(wrong, field):
    """Refused by the field's name."""
    with pytest.raises(InvalidParameterError, match=field):
        Supposition.of(wrong)


def test_a_public_table_must_be_the_declared_file(tmp_path):
    """None is read where none is declared; nor one from memory, nor one opened with other metadata."""
    path = tmp_path / "public.csv"
    path.write_text("\n".join(["x0,x1,y", *(f"{i % 7 / 7},{i % 5 / 5},{(i % 7 + i % 3) / 10}" for i in range(90))]))
    declared = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "source": "test"}
    right, other = (
        METADATA.from_value(METADATA.model_dump(mode="json", exclude_none=True) | {"public": one})
        for one in (declared, declared | {"sha256": "0" * 64})
    )
    opened = PublicRecords(path, METADATA)
    for like in (path, str(path), opened):
        (found,) = Supposition.of({"like": like}).scenarios(right, "y", ["x0", "x1"])
        assert found.pattern.sha256 == declared["sha256"]
    frame = opened.table
    for like, metadata in ((path, METADATA), (opened, METADATA), (path, other), (opened, other), (frame, right)):
        with pytest.raises(MetadataError, match="sha256"):
            Supposition.of({"like": like}).scenarios(metadata, "y", ["x0", "x1"])
