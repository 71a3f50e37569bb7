"""A histogram's cells: public, few, and on the values of whole numbers."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest

import discreet as dc
from discreet.data.hybrid_design import HybridDesign
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.methods.public_records.grid_points import ROWS_A_CELL, GridPoints

COLUMNS = {
    "x": {"type": "real", "lower": 0, "upper": 10, "source": "design"},
    "k": {"type": "integer", "lower": 1, "upper": 3, "source": "design"},
    "g": {"type": "category", "levels": ["u", "v", "w"], "source": "design"},
    "y": {"type": "real", "lower": -1, "upper": 1, "source": "design"},
}


def grid(n_rows=3000, epsilon=1, names=None, n0=None, bins=None, **more):
    """Of the columns above, or some."""
    size = {} if n_rows is None else {"n_rows": n_rows}
    relation = "add_or_remove_one" if n_rows is None else "replace_one"
    own = dc.Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": relation, "columns": COLUMNS} | size | more
    )
    design = HybridDesign.plan(own, "y", names)
    return GridPoints.of(design, own, Fraction(epsilon), n0, bins)


def test_cells_are_the_product_of_columns_and_levels():
    """Middles of ranges, values of whole numbers, codes of levels; each once, in order."""
    found = grid(bins=4)
    assert found.bins == {"x": 4, "k": 3, "y": 4}
    assert len(found.cells) == 4 * 3 * 4 * 3
    assert len(np.unique(found.cells, axis=0)) == len(found.cells)
    np.testing.assert_array_equal(np.unique(found.cells, axis=0), found.cells)
    quarters = np.rint(np.array([-0.75, -0.25, 0.25, 0.75]) * GRID)
    np.testing.assert_array_equal(np.unique(found.cells[:, 0]), quarters)
    np.testing.assert_array_equal(np.unique(found.cells[:, 1]), [-GRID, 0, GRID])
    np.testing.assert_array_equal(np.unique(found.cells[:, 3]), [0, 1, 2])
    one = grid(bins=1)
    assert one.bins == {"x": 1, "k": 1, "y": 1}
    assert set(one.cells[:, :3].ravel().tolist()) == {0}


@pytest.mark.parametrize("n_rows", [1000, 30_000, 10**6])
@pytest.mark.parametrize("epsilon", ["1/4", 1, 8])
def test_the_rule_leaves_enough_rows_a_cell(n_rows, epsilon):
    """As many cells as the rule allows, and not one more along all columns; never fewer than two."""
    found = grid(n_rows, Fraction(epsilon), names=["x", "g"])
    allowed = n_rows * float(Fraction(epsilon)) / ROWS_A_CELL
    along = found.bins["x"]
    assert found.bins == {"x": along, "y": along}
    assert along == 2 or 3 * along**2 <= allowed
    assert 3 * (along + 1) ** 2 > allowed


def test_whole_numbers_have_no_more_cells_than_values():
    """Others get what they leave."""
    found = grid(10**6, names=["k", "g"])
    assert found.bins["k"] == 3
    assert prod(found.bins.values()) * 3 <= 10**6 / ROWS_A_CELL < 3 * (found.bins["y"] + 1) * 3


def test_the_number_of_rows_may_be_a_guess():
    """Public where it is public; divided by the rows of a unit."""
    assert grid(None, n0=50_000).bins == grid(50_000).bins
    assert grid(None).bins == grid(10_000).bins
    several = grid(50_000, rows_per_unit=5, unit_id="id")
    assert several.bins == grid(10_000).bins


def test_too_many_cells_are_refused():
    """Said with their number, which is public."""
    with pytest.raises(InvalidParameterError, match=r"at most 1,000,000 cells, but these columns need 9,000,000"):
        grid(bins=1000)
