"""Rows beside public points: their integers, and their distances."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.data.hybrid_design import HybridDesign
from discreet.data.public_records import PublicRecords
from discreet.errors import MetadataError
from discreet.kernels.moments.moments import GRID

METADATA = dc.Metadata.from_value(
    {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 9}
    | {
        "columns": {
            "g": {"type": "category", "levels": ["u", "v", "w"], "source": "design"},
            "x": {"type": "real", "lower": 0, "upper": 10, "source": "design"},
            "y": {"type": "integer", "lower": -1, "upper": 1, "source": "design"},
            "h": {"type": "category", "levels": ["no", "yes"], "source": "design"},
        }
    }
)

ROWS = pa.table(
    {
        "x": [0.0, 10.0, 5.0, -99.0, 99.0, None, float("nan"), float("inf")],
        "y": [-1, 0, 1, 1, -7, None, 0, 0],
        "g": ["u", "v", "w", "w", "nobody", None, "u", "v"],
        "h": ["no", "yes", "yes", "no", "no", "no", None, "yes"],
    }
)


def encoded():
    """All rows."""
    design = HybridDesign.plan(METADATA, "y", None)
    return design, design.encode(ROWS.select(list(design.columns)).to_batches()[0])


def test_numbers_come_first_and_cells_never_err():
    """Clipped to the ranges, the middle where missing; a cell of no level is of none."""
    design, cells = encoded()
    assert (design.columns, design.n_columns, design.target_place) == (("x", "y", "g", "h"), 4, 1)
    assert cells[:, 0].tolist() == [-GRID, GRID, 0, -GRID, GRID, 0, 0, 0]
    assert cells[:, 1].tolist() == [-GRID, 0, GRID, GRID, -GRID, 0, 0, 0]
    assert cells[:, 2].tolist() == [0, 1, 2, 2, -1, -1, 0, 1]
    assert cells[:, 3].tolist() == [0, 1, 1, 0, 0, 0, -1, 1]


def test_terms_are_those_of_the_regression():
    """In the candidates' order, a dummy a level but the first; a cell of no level has none."""
    design, cells = encoded()
    terms = design.terms(cells)
    assert terms.shape == (8, 5)
    assert terms[:, 0].tolist() == [GRID] * 8
    assert terms[2].tolist() == [GRID, 0, GRID, 0, GRID]
    assert terms[4].tolist() == [GRID, 0, 0, GRID, 0]


def test_all_columns_are_declared():
    """With bounds: of public records, or declared ones."""
    bare = METADATA.to_dict()
    bare["columns"]["x"] = {"type": "real", "source": "design"}
    with pytest.raises(MetadataError, match="'x'"):
        HybridDesign.plan(dc.Metadata.from_value(bare), "y", None)
    few = HybridDesign.plan(METADATA, "x", ["y"])
    assert (few.columns, few.target_place) == (("y", "x"), 1)
    np.testing.assert_array_equal(few.terms(np.array([[3, 4]], dtype=np.int16)), [[GRID, 3]])


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({"out_of_bounds": "missing"}, [-GRID, 0, GRID, GRID, 0, 0, 0]),
        ({"out_of_bounds": "missing", "missing": 10}, [-GRID, 0, GRID, GRID, -GRID, -GRID, -GRID]),
        ({"out_of_bounds": "clip"}, [-GRID, 0, GRID, GRID, GRID, -GRID, 0]),
        ({"out_of_bounds": "clip", "missing": 10}, [-GRID, 0, GRID, GRID, GRID, -GRID, -GRID]),
    ],
)
def test_only_declared_bounds_make_a_cell_missing(declared, expected):
    """Public records from 20 to 40 of a range of 0 to 100: a private 60 is cut to 40, whatever 101 and -1 become."""
    x = {"type": "real", "lower": 0, "upper": 100, "source": "design"} | declared
    facts = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 7}
    own = dc.Metadata.from_value(facts | {"columns": {"x": x, "y": {"type": "real", "source": "design"}}})
    points = PublicRecords(pa.table({"x": [20.0, 40.0], "y": [0.0, 1.0]}), own).points(own, "y", None)
    private = pa.table({"x": [0.0, 30.0, 60.0, 100.0, 101.0, -1.0, None], "y": [0.0] * 7})
    cells = points.design.encode(private.select(list(points.design.columns)).to_batches()[0])
    assert cells[:, 0].tolist() == expected
