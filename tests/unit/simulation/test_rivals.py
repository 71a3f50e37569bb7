"""The selections that a plan compares can all be asked, and differ."""

import pytest

import discreet as dc
from discreet.simulation.rivals import MANY, READINGS, rivals

BOX = {"type": "real", "lower": -1, "upper": 1, "source": "test"}
TARGET = {"type": "real", "lower": -4, "upper": 4, "source": "test"}
LEVELS = {"type": "category", "levels": ["no", "yes"], "source": "test"}


def metadata(n_columns, n_rows=None, **more):
    relation = (
        {"neighboring": "add_or_remove_one"} if n_rows is None else {"neighboring": "replace_one", "n_rows": n_rows}
    )
    columns = {f"x{j}": BOX for j in range(n_columns)} | more | {"y": TARGET}
    return dc.Metadata.from_value({"dataset": "toy", "unit": "person", "columns": columns, **relation})


def found(public, delta=1e-6):
    names = tuple(name for name in public.columns if name != "y")
    return names, rivals(public, "y", names, delta, 1000)


@pytest.mark.parametrize("n_rows", [None, 1000])
@pytest.mark.parametrize("n_columns", [1, 6, MANY])
def test_all_can_be_asked(n_columns, n_rows):
    """Each is prepared without an error at a usual epsilon, under both relations."""
    names, among = found(metadata(n_columns, n_rows))
    assert len({one.name for one in among}) == len(among)
    for one in among:
        prepared = one.at(1.0).prepare(metadata(n_columns, n_rows), "y", names)
        assert float(prepared.delta) <= 1e-6


def test_pure_means_pure():
    """With delta 0 none spends any."""
    public = metadata(4, 500)
    names, among = found(public, 0.0)
    assert among
    assert all(one.at(1.0).prepare(public, "y", names).delta == 0 for one in among)


def test_screening_takes_numbers():
    """Screening is left out where a candidate is a category, and never selects all."""
    assert "sis" not in {one.method for one in found(metadata(4, 500, group=LEVELS))[1]}
    asked = [one.parameters["n_features_to_select"] for one in found(metadata(3, 500))[1] if one.method == "sis"]
    assert asked == [1, 1, 2, 2, "auto", "auto"]


def test_one_release_of_moments_is_read_under_all_penalties():
    """What differs is the penalty alone, so that all readings cost as much as one."""
    _, among = found(metadata(3, 500))
    for delta in (None, 1e-6):
        read = [one.parameters for one in among if one.method == "moments" and one.parameters.get("delta") == delta]
        assert [one.get("model_penalty", "auto") for one in read] == list(READINGS)
        rest = [{key: value for key, value in one.items() if key != "model_penalty"} for one in read]
        assert all(one == rest[0] for one in rest)


def test_bounds_are_in_the_targets_unit():
    """A clip of the whole half range is the target's own bound."""
    clips = {one.parameters["y_bound"] for one in found(metadata(3, 500))[1] if one.method == "pcls"}
    assert clips == {4.0, 2.0, 1.0, 0.5, "private"}
