"""Clipped rows are told in numbers: counted with noise, or as what a private bound makes sure of."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.clipped_target import ClippedTarget
from discreet.data.design import Design
from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.methods.regression.linear import LinearModel
from discreet.report.clip_words import clipped

ROWS = 5_000


def a_table(seed, relation="replace_one"):
    """A target of 1 + a + error in bounds of 20, which no row comes near."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    x = rng.uniform(-1.0, 1.0, (ROWS, 2))
    y = 1.0 + x[:, 0] + rng.normal(size=ROWS)
    columns = {name: {"type": "real", "lower": -1, "upper": 1, "source": "s"} for name in "ab"}
    columns["y"] = {"type": "real", "lower": -20, "upper": 20, "source": "s"}
    value = {"schema": "discreet/metadata@1", "dataset": "t", "unit": "person", "neighboring": relation}
    value |= {"n_rows": ROWS} if relation == "replace_one" else {}
    metadata = Metadata.from_value(value | {"columns": columns})
    return y, metadata, FrameTable(pa.table({"a": x[:, 0], "b": x[:, 1], "y": y}), metadata, "test")


def run(seed, relation="replace_one", method=LinearModel, **parameters):
    """The target and the outcome."""
    y, metadata, table = a_table(seed, relation)
    given = {"epsilon": 2.0, "delta": 1e-6, **parameters}
    return y, method(**given).prepare(metadata, "y").run(table, Source.seeded(seed))


@pytest.mark.parametrize(
    ("out_of_bounds", "expected"), [("clip", [0, 0, 0, 1, 1, 1, 0, 0]), ("missing", [0, 0, 0, 0, 1, 0, 0, 0])]
)
def test_a_row_counts_where_its_target_is_clipped(out_of_bounds, expected):
    """Beyond the declared bounds or the narrower bound by a step; a missing cell, whatever it becomes, is not."""
    column = {"type": "real", "lower": 0, "upper": 8, "source": "s", "out_of_bounds": out_of_bounds}
    other = {"type": "real", "lower": 0, "upper": 1, "source": "s"}
    value = {"schema": "discreet/metadata@1", "dataset": "t", "unit": "person", "neighboring": "add_or_remove_one"}
    metadata = Metadata.from_value(value | {"columns": {"x": other, "y": column}})
    rows = ClippedTarget(Design.plan(metadata, "y", center=2.0, bound=3.0))
    cells = ["0", "5", "5.00001", "9", "6", "-1", None, "none"]
    found = rows.encode(pa.RecordBatch.from_pydict({"y": pa.array(cells)}))
    assert found[:, 0].tolist() == expected
    assert rows.count(found).tolist() == [sum(expected)]


@pytest.mark.statistics
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("parameters", [{"y_bound": 2.0}, {"y_bound": "private"}, {"y_bound": 20.0}])
def test_the_count_is_told_within_its_noise(relation, parameters):
    """Nineteen of twenty times the rows beyond the bound lie between the ends that are told."""
    held = []
    for seed in range(8):
        y, found = run(seed, relation, count_clipped=True, **parameters)
        told = found.moments.clipped
        assert found.fit.clipped == told
        beyond = int((np.abs(y) > found.moments.y_bound).sum())
        held.append(told.low <= beyond <= told.high)
        assert told.stretch == pytest.approx(told.high / found.moments.n_rows)
    assert sum(held) >= 7


def test_intervals_of_a_clipped_target_reach_the_slope_where_it_is_counted():
    """A bound that cuts a fifth of the rows: with the count the intervals hold the slope; without, never (control)."""
    holds = {}
    for counted in (True, False):
        fits = [run(seed, y_bound=2.0, count_clipped=counted, epsilon=20.0)[1].fit for seed in range(8)]
        holds[counted] = sum(fit.coefficients[1].low <= 1.0 <= fit.coefficients[1].high for fit in fits)
    assert holds[True] == 8
    assert holds[False] <= 1


@pytest.mark.parametrize(("quantile", "stretched"), [(None, False), (0.9, True)])
def test_a_private_bound_tells_the_most_that_it_clips(quantile, stretched):
    """Without a count: as many rows as the quantile leaves and its noise can hide; the far ends move for a low one."""
    for seed in range(6):
        y, found = run(seed, y_bound="private", y_quantile=quantile)
        told = found.fit.clipped
        assert not told.counted
        assert (np.abs(y) > found.moments.y_bound).sum() <= told.high < ROWS / 4
        assert (told.stretch > 0) == stretched


def test_models_of_a_selections_moments_tell_it_too():
    """A clip for the best selection cuts many rows: coefficients that follow from its moments say how many."""
    _, found = run(0, method=NoisyMoments, y_bound="private", row_norm=2.0)
    told = MomentAnswers(found.moments).fit(("a",)).clipped
    assert told.stretch > 0.02
    assert told.high > 0.02 * ROWS


def test_declared_bounds_tell_nothing_unasked():
    """No count, no sentence."""
    _, found = run(0)
    assert found.fit.clipped is None


def test_a_count_that_cannot_be_made_is_refused():
    """Of weighted targets nobody could say which row was clipped."""
    _, metadata, _ = a_table(0)
    with pytest.raises(InvalidParameterError, match="count_clipped counts targets as they are"):
        NoisyMoments(y_bound="private", count_clipped=True).prepare(metadata, "y")


def test_the_report_says_it_in_words():
    """The count with its ends, what it means, and what was done about it."""
    _, found = run(0, y_bound=2.0, count_clipped=True)
    words = clipped(found.fit.clipped)
    assert words.startswith("Between ")
    assert "far ends of the intervals were divided by 0.7" in words
