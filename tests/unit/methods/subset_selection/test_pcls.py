"""Calibration by hand, and what a run may and may not depend on."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError, MetadataError
from discreet.mechanisms.rng import Source
from discreet.methods.subset_selection.pcls import PenalizedLeastSquares
from discreet.parameters.ranges import MAX_ROWS

PUBLIC = {"y_center": "middle", "y_bound": "furthest"}


def metadata(relation="replace_one", rows_per_unit=1, **columns):
    box = {"type": "real", "lower": -1, "upper": 1}
    return Metadata.from_value(
        {
            "dataset": "d",
            "unit": "person",
            "neighboring": relation,
            **({"n_rows": 100} if relation == "replace_one" else {}),
            **({"rows_per_unit": rows_per_unit, "unit_id": "id"} if rows_per_unit > 1 else {}),
            "columns": {"x1": box, "x2": box, "y": {"type": "real", "lower": -6, "upper": 10}, **columns},
        }
    )


def omega(r, R):
    """(r + R)^2 - max(r - R, 0)^2, in exact arithmetic."""
    r, R = Fraction(r), Fraction(R)
    return (r + R) ** 2 - max(r - R, Fraction(0)) ** 2


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("radius", ["0.5", "8", "30"])
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_noise_is_calibrated_by_the_formula(relation, rows, radius, epsilon):
    """Gamma = c omega or 2 c omega; inflation 2 tau + 2 eta; scale = (Gamma + inflation) / epsilon (1.2, 1.6)."""
    declared = metadata(relation, rows)
    prepared = PenalizedLeastSquares(epsilon=epsilon, l1_radius=float(radius), model_penalty=0.0, **PUBLIC)
    prepared = prepared.prepare(declared, "y")
    r = 8  # the middle of -6 .. 10 is 2
    gamma = omega(r, radius) * (2 if relation == "replace_one" else 1) * rows
    both = (r + Fraction(radius)) ** 2
    inflation = 2 * both / 10_000 + 2 * 12 * (4 + 8) * both * MAX_ROWS / Fraction(2) ** 53
    assert prepared.noise.sensitivity == pytest.approx(float(gamma), rel=1e-12)
    assert prepared.noise.inflation == pytest.approx(float(inflation), rel=1e-12)
    assert prepared.noise.scale == pytest.approx(float((gamma + inflation) / Fraction(str(epsilon))), rel=1e-12)


def test_center_and_bound_set_r():
    """R is the furthest bound from the center, or what is asked; the target is clipped to it."""
    assert PenalizedLeastSquares().prepare(metadata(), "y").parameters["y_bound"] == 8.0
    assert PenalizedLeastSquares(y_center=0.0).prepare(metadata(), "y").parameters["y_bound"] == 10.0
    near = PenalizedLeastSquares(y_center=0.0, y_bound=3.0).prepare(metadata(), "y")
    assert near.parameters["l1_radius"] == 6.0
    cells = near.design.encode(pa.record_batch({"x1": [0.0], "x2": [0.0], "y": [9.0]}))
    assert cells[0, -1] == 32767
    for wrong in ({"y_center": 11.0}, {"y_bound": 17.0}, {"y_bound": 1e-15}):
        with pytest.raises(InvalidParameterError, match=r"y_center|y_bound"):
            PenalizedLeastSquares(**wrong).prepare(metadata(), "y")


def test_auto_penalty_is_the_stated_multiple_of_the_noise():
    """log(d / max_false) scales, at most a half of which is false; a number is in squared units of the target."""
    for chance, times in ((None, 4), (0.01, 200)):
        auto = PenalizedLeastSquares(epsilon=0.01, max_false=chance).prepare(metadata(), "y")
        assert auto.parameters["model_penalty"] == pytest.approx(np.log(times) * auto.noise.scale, rel=1e-3)
    assert PenalizedLeastSquares(model_penalty=7.5).prepare(metadata(), "y").parameters["model_penalty"] == 7.5
    for wrong in (-1.0, float("inf"), 1e300, "cp"):
        with pytest.raises(InvalidParameterError, match="model_penalty"):
            PenalizedLeastSquares.of(model_penalty=wrong).prepare(metadata(), "y")


def frame(n=100, seed=0):
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    x = rng.uniform(-1, 1, (n, 2))
    return pa.table({"x1": x[:, 0], "x2": x[:, 1], "y": 2 + 4 * x[:, 0]})


def test_a_seeded_run_repeats_itself_and_finds_a_clear_effect():
    """Same words, same outcome; a strong effect at large epsilon comes out, no other."""
    prepared = PenalizedLeastSquares(epsilon=1000, **PUBLIC).prepare(metadata(), "y")
    table = FrameTable(frame(), metadata())
    outcomes = [prepared.run(table, Source.seeded(7)).selected for _ in range(3)]
    assert outcomes == [("x1",)] * 3


def test_nothing_but_the_outcome_depends_on_the_rows():
    """The noise box and all that is public are fixed before the rows, and equal for two tables."""
    declared = metadata()
    boxes = []
    for seed in (0, 1):
        prepared = PenalizedLeastSquares().prepare(declared, "y")
        outcome = prepared.run(FrameTable(frame(seed=seed), declared), Source.seeded(1))
        assert outcome.noise == prepared.noise
        boxes.append((outcome.noise, prepared.parameters, prepared.public, prepared.not_protected))
    assert boxes[0] == boxes[1]


def test_penalty_and_forced_columns_shape_the_scores():
    """Scores are residual sums plus the penalty for each column; a forced column is in every model."""
    declared = metadata()
    table = FrameTable(frame(), declared)
    plain = PenalizedLeastSquares(model_penalty=0.0).prepare(declared, "y")
    priced = PenalizedLeastSquares(model_penalty=64.0).prepare(declared, "y")  # one squared bound a column
    moments, masks = table.moments(plain.design), plain.space.masks()
    difference = priced.scores(moments, masks) - plain.scores(moments, masks)
    assert difference == pytest.approx(np.bitwise_count(masks), abs=1e-9)
    forced = PenalizedLeastSquares(forced=("x2",), epsilon=1000, **PUBLIC).prepare(declared, "y")
    assert "x2" in forced.run(table, Source.seeded(0)).selected


def test_scores_are_least_squares_of_the_cells():
    """With a wide ball the score of each model is that of ordinary least squares on the same integers."""
    declared = metadata()
    table = FrameTable(frame(), declared)
    prepared = PenalizedLeastSquares(model_penalty=0.0, l1_radius=100.0).prepare(declared, "y")
    cells = prepared.design.encode(pa.record_batch(frame().to_pydict())) / 32767
    for mask, score in zip(
        prepared.space.masks(), prepared.scores(table.moments(prepared.design), prepared.space.masks()), strict=True
    ):
        chosen = [0, *(1 + j for j in range(2) if int(mask) >> j & 1)]
        residual = cells[:, -1] - cells[:, chosen] @ np.linalg.lstsq(cells[:, chosen], cells[:, -1], rcond=None)[0]
        assert score == pytest.approx(float(residual @ residual), abs=2e-2)


def test_categories_are_one_candidate():
    """A category enters with all its levels, and the target cannot be one."""
    sector = {"type": "category", "levels": ["a", "b", "c"]}
    prepared = PenalizedLeastSquares().prepare(metadata(sector=sector), "y")
    assert prepared.noise.n_candidates == 8
    assert prepared.design.units().sum(axis=1).tolist() == [1, 1, 3]
    with pytest.raises(MetadataError, match="must be numeric"):
        PenalizedLeastSquares().prepare(metadata(sector=sector), "sector")


def test_a_source_that_is_not_stated_is_said():
    """The release shows where bounds come from, and says when that is not known."""
    assert {column.source for column in PenalizedLeastSquares().prepare(metadata(), "y").public} == {"not stated"}


@pytest.mark.parametrize(
    ("target", "candidates", "words"),
    [
        ("z", None, "is not declared"),
        ("y", ["x1", "z"], "is not declared"),
        ("y", ["y"], "cannot be a candidate"),
        ("y", ["x1", "x1"], "must not repeat"),
        ("y", [], "At least one"),
    ],
)
def test_names_are_checked_before_any_data(target, candidates, words):
    """Each wrong name is refused from the metadata alone."""
    with pytest.raises((InvalidParameterError, MetadataError), match=words):
        PenalizedLeastSquares().prepare(metadata(), target, candidates)
