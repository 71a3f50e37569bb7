"""What a screening seeks of its target by rule: a bound and a kind of center, from the information that is public."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.errors import MetadataError
from discreet.mechanisms.rng import Source
from discreet.methods.screening.decorrelated_scores import _steps
from discreet.methods.screening.sis import IndependenceScreening
from discreet.methods.screening.target_center import Center, Median
from discreet.methods.screening.target_plan import ENOUGH_FOR_BOUND, TargetPlan

NAMES = [f"x{j}" for j in range(6)]


def metadata(n_rows, kind="real"):
    box = {"type": "real", "lower": -1, "upper": 1}
    return Metadata.from_value(
        {
            "dataset": "d",
            "unit": "person",
            "neighboring": "replace_one",
            "n_rows": n_rows,
            "columns": {**dict.fromkeys(NAMES, box), "y": {"type": kind, "lower": -7, "upper": 7}},
        }
    )


def plan(n_rows, kind="real", **parameters):
    method = IndependenceScreening.of(**{"epsilon": 1.0, "n_features_to_select": 3, **parameters})
    return TargetPlan(method, ScoreDesign.plan(metadata(n_rows, kind), "y", NAMES))


@pytest.mark.parametrize("number", [3, "auto"])
@pytest.mark.parametrize("factor", [0.99, 1.0])
def test_a_bound_is_sought_with_enough_information(number, factor):
    """Twice the rows for twice what a unit moves; what is stated is never sought."""
    n_rows = round(2 * ENOUGH_FOR_BOUND * factor)
    assert (plan(n_rows, n_features_to_select=number).bound(Fraction(1)) is not None) is (factor == 1.0)
    for stated in ({"y_bound": 1.0}, {"y_bound": "furthest"}, {"y_center": "middle"}, {"saturation": 0.5}):
        assert plan(n_rows, n_features_to_select=number, **stated).bound(Fraction(1)) is None


@pytest.mark.parametrize(
    ("n_rows", "asked", "association"),
    [
        (1000, {}, "kendall"),
        (4_000_000, {}, "products"),
        (1000, {"y_center": "middle"}, "products"),
        (1000, {"y_bound": 1.0}, "products"),
        (1000, {"saturation": 0.5}, "products"),
        (1000, {"shares": {"y_center": 0.2}}, "products"),
        (1000, {"association": "median_split"}, "median_split"),
    ],
)
def test_pairs_of_rows_are_compared_where_nothing_is_stated_of_the_target(n_rows, asked, association):
    """And the table is not too large; the release says which it was."""
    prepared = IndependenceScreening.of(epsilon=1.0, n_features_to_select=3, **asked).prepare(metadata(n_rows), "y")
    assert prepared.parameters["association"] == association


def test_a_target_of_two_values_has_products():
    """Half of all pairs are tied, and nothing of such a target is cut."""
    two = metadata(1000).to_dict()
    two["columns"]["y"] = {"type": "integer", "lower": 0, "upper": 1}
    method = IndependenceScreening.of(epsilon=1.0, n_features_to_select=3)
    assert method.prepare(Metadata.from_value(two), "y").parameters["association"] == "products"


def test_columns_without_bounds_are_compared():
    """Nothing but their order counts."""
    bare = metadata(1000).to_dict()
    del bare["columns"]["x1"]["lower"], bare["columns"]["x1"]["upper"]
    for asked, association in (({}, "kendall"), ({"association": "median_split"}, "median_split")):
        method = IndependenceScreening.of(epsilon=1.0, n_features_to_select=3, **asked)
        assert method.prepare(Metadata.from_value(bare), "y").parameters["association"] == association
    with pytest.raises(MetadataError, match="bounds"):
        IndependenceScreening.of(n_features_to_select=3, association="products").prepare(Metadata.from_value(bare), "y")


def test_shares_add_up_to_what_is_charged():
    """Of the information on both sides of every rule."""
    for n_rows in (1, 50, 500, 599, 600, 1000, 50_000):
        for number in (3, "auto"):
            target = plan(n_rows, n_features_to_select=number)
            parts = (target.center(Fraction(1)), target.bound(Fraction(1)), target.shift(Fraction(1)))
            assert sum(part.epsilon for part in parts if part is not None) == target.share < Fraction(1, 2)


def test_a_count_in_a_large_table_has_its_mean_and_others_a_median():
    """Most counts are equal: half of the range around their median would hold nothing of them."""
    assert isinstance(plan(10_000, "integer").center(Fraction(1)), Center)
    assert isinstance(plan(400, "integer").center(Fraction(1)), Median)
    assert isinstance(plan(10_000).center(Fraction(1)), Median)


@pytest.mark.parametrize("number", [3, "auto"])
def test_a_target_a_thousand_times_narrower_than_its_bounds_is_enough(monkeypatch, number):
    """Of ten tables; without the bound that is sought they are not found."""

    def right(association="products"):
        n_right = 0
        for seed in range(10):
            rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
            cells = rng.uniform(-1, 1, (4000, 6))
            y = 1.0 + 0.007 * (cells[:, :3].sum(axis=1) + 0.8 * rng.normal(size=4000))
            method = IndependenceScreening.of(epsilon=0.3, n_features_to_select=number, association=association)
            table = FrameTable(pa.table({**dict(zip(NAMES, cells.T, strict=True)), "y": y}), metadata(4000))
            selected = method.prepare(table.metadata, "y").run(table, Source.seeded(seed)).selected
            n_right += set(selected) == set(NAMES[:3])
        return n_right

    assert right() >= 9
    assert right("auto") >= 9
    monkeypatch.setattr("discreet.methods.screening.target_plan.ENOUGH_FOR_BOUND", 1e9)
    assert right() <= 5


def test_a_shift_that_is_no_number_is_within_all_bounds():
    """What is cut must stay cut, or a sum would wrap around."""
    steps = _steps(np.array([np.nan, np.inf, -np.inf, 0.0]))
    assert steps[0] == 0
    assert steps[1] == -steps[2] > 0
