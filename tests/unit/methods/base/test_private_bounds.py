"""Bounds estimated from the rows: where they may lie, and what the metadata become."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.bound_grid import BoundMap, bound_grid
from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.errors import MetadataError
from discreet.mechanisms.rng import Source
from discreet.methods.base.private_bounds import estimate_bounds, sides_of, widest
from discreet.methods.subset_selection.pcls import PenalizedLeastSquares

PRIVATE = {"type": "real", "bounds": "private"}


def declared(n=4000, **columns):
    return Metadata.from_value(
        {"dataset": "t", "unit": "person", "neighboring": "replace_one", "n_rows": n, "columns": columns}
    )


def estimated(metadata, cells, epsilon=50, tail=Fraction(1, 100), seed=0):
    sides = sides_of(metadata, list(cells))
    table = FrameTable(pa.table(cells), metadata)
    return estimate_bounds(table, metadata, sides, tail, Fraction(epsilon), Source.seeded(seed), "exponential")


def test_the_grid_has_both_signs_and_four_points_an_octave():
    """Symmetric, increasing, with zero; steps of a fourth root of two."""
    grid = bound_grid()
    assert (np.diff(grid) > 0).all()
    assert (grid == -grid[::-1]).all()
    assert grid[242] == 2.0**-20
    assert np.allclose(grid[243:] / grid[242:-1], 2**0.25)
    assert len(grid) < 2**15


def test_cells_are_placed_between_their_neighbors():
    """Below and above; on a point both are it; missing and odd cells have no place."""
    metadata = declared(a=PRIVATE)
    grid = bound_grid()
    cells = [0.0, 3.0, -3.0, 1e300, -1e300, None, float("nan"), 4.0]
    places = BoundMap(metadata, ("a",)).encode(pa.record_batch({"a": cells}))
    assert grid[places[0]].tolist() == [0.0, 0.0]
    assert grid[places[7]].tolist() == [4.0, 4.0]
    for place, value in ((places[1], 3.0), (places[2], -3.0)):
        assert grid[place[0]] < value < grid[place[1]]
        assert place[1] - place[0] == 1
    assert places[3].tolist() == [482, 482]
    assert places[4].tolist() == [0, 0]
    assert places[5].tolist() == places[6].tolist() == [-1, -1]
    text = BoundMap(metadata, ("a",)).encode(pa.record_batch({"a": ["12", "many", ""]}))
    assert grid[text[0, 1]] > 12
    assert (text[1:] == -1).all()


def test_estimated_bounds_hold_most_of_the_rows():
    """At a large epsilon all but the tails lie between them, and they are not far out."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated data, not noise
    cells = {"a": rng.uniform(20, 70, 4000), "b": np.exp(rng.standard_normal(4000)), "c": rng.uniform(-9, 1, 4000)}
    metadata, found = estimated(declared(a=PRIVATE, b=PRIVATE, c=PRIVATE), cells)
    assert list(found) == [f"{side} bound of {name}" for name in "abc" for side in ("lower", "upper")]
    for name, values in cells.items():
        column = metadata.columns[name]
        assert np.mean((values >= column.lower) & (values <= column.upper)) > 0.95
        assert column.upper - column.lower < 2.5 * np.ptp(values)
        assert column.is_declared
        assert "estimated from the rows" in column.source


def test_zeros_in_plenty_are_a_bound():
    """A column that is mostly zero gets zero as its lower end, not the end of the grid."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated data, not noise
    cells = {"a": np.where(rng.uniform(size=4000) < 0.6, 0.0, rng.uniform(1, 9, 4000))}
    metadata, _ = estimated(declared(a=PRIVATE), cells)
    assert metadata.columns["a"].lower == 0.0
    assert 6 < metadata.columns["a"].upper < 16


def test_whole_numbers_are_rounded_outwards_and_declared_ends_are_kept():
    """An integer column has whole bounds; an end that is declared is public and costs nothing."""
    cells = {"a": np.arange(4000) % 31, "b": np.arange(4000) % 31}
    columns = {"a": {**PRIVATE, "type": "integer"}, "b": {**PRIVATE, "lower": 0}}
    metadata, found = estimated(declared(**columns), cells)
    assert list(found) == ["lower bound of a", "upper bound of a", "upper bound of b"]
    assert float(metadata.columns["a"].lower).is_integer()
    assert float(metadata.columns["a"].upper).is_integer()
    assert metadata.columns["b"].lower == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["integer", "real"])
@pytest.mark.parametrize("given", [{}, {"lower": 5}, {"upper": -5}, {"missing": 1e6}])
def test_whatever_is_drawn_gives_bounds(kind, given):
    """All-noise draws on constants, nothing and extremes: lower < upper, the stand-in for missing cells inside."""
    metadata = declared(a={**PRIVATE, "type": kind, **given})
    for cells in ([0.0] * 6, [None] * 6, [1e308, -1e308], [7.0] * 6):
        for seed in range(15):
            filled, _ = estimated(metadata, {"a": pa.array(cells, pa.float64())}, epsilon=1, seed=seed)
            column = filled.columns["a"]
            assert column.lower < column.upper
            assert Metadata.from_value(filled.to_dict()) == filled
            if column.missing is not None:
                assert column.lower <= column.missing <= column.upper


def test_other_columns_are_left_alone():
    """Declared columns keep their bounds, and the widest metadata differ in the private ones alone."""
    metadata = declared(a=PRIVATE, b={"type": "real", "lower": 0, "upper": 1}, c={**PRIVATE, "lower": 0, "upper": 2})
    assert sides_of(metadata, ["a", "b", "c"]) == (("a", "lower"), ("a", "upper"))
    filled = widest(metadata)
    assert filled.columns["b"] == metadata.columns["b"]
    assert filled.columns["a"].upper == 2.0**40
    assert widest(filled) == filled


def test_a_selection_with_estimated_bounds_finds_a_clear_effect():
    """Candidates and target without bounds; the release's steps hold the estimates and the public columns say so."""
    rng = np.random.default_rng(2)  # noqa: TID251 - simulated data, not noise
    x = rng.uniform(100, 900, (20_000, 2))
    cells = {"a": x[:, 0], "b": x[:, 1], "y": 5000 + 3 * x[:, 0] + rng.standard_normal(20_000)}
    metadata = declared(20_000, a=PRIVATE, b=PRIVATE, y=PRIVATE)
    prepared = PenalizedLeastSquares(epsilon=20.0, model_penalty=0.0, models=(("a",), ("b",))).prepare(metadata, "y")
    outcome = prepared.run(FrameTable(pa.table(cells), metadata), Source.seeded(0))
    assert outcome.selected == ("a",)
    assert len(outcome.steps) == 9
    assert {(column.lower, column.upper) for column in prepared.public} == {(None, None)}
    assert all("estimated from the rows" in column.source for column in prepared.public)
    assert prepared.parameters["y_bound"] == prepared.parameters["y_center"] == "private"


def test_methods_without_private_bounds_say_who_has_them():
    """The refusal of a column without bounds names what estimates them."""
    with pytest.raises(MetadataError, match=r"must have public bounds.*estimated by the selection"):
        declared(a=PRIVATE).declared("a")
