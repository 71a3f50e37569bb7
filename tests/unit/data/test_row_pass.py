"""One pass over rows as a value: its parts, wherever they are run, add up to the same integers."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.contribution_bound import ContributionBound, UnitRows
from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.data.row_pass import RowPass, owned_rows

BOX = {"type": "real", "lower": -1, "upper": 1}
METADATA = Metadata.from_value(
    {
        "dataset": "t",
        "unit": "person",
        "neighboring": "add_or_remove_one",
        "unit_id": "pid",
        "rows_per_unit": 2,
        "columns": {"x": BOX, "y": BOX},
    }
)
DESIGN = Design.plan(METADATA, "y")
START = np.zeros(3, dtype=np.int64)
X = [0.5, -0.25, 1.0, 0.125, -1.0, 0.75]
OWNERS = ["p", "q", "p", None, "p", "q"]


def column_sums(cells):
    """Add up each column."""
    return cells.sum(axis=0, dtype=np.int64)


def batch(owners=OWNERS):
    """The design's columns, and last the unit's."""
    ids = pa.array(owners) if not isinstance(owners, pa.Array) else owners
    return pa.RecordBatch.from_arrays([pa.array(X), pa.array(X[::-1]), ids], names=["x", "y", "pid"])


def test_columns_are_the_design_s_and_the_unit_s():
    """The unit's column is read where there is a cut, and stands last."""
    assert RowPass(DESIGN, column_sums, START).columns == ("x", "y")
    assert RowPass(DESIGN, column_sums, START, ContributionBound("pid", 2)).columns == ("x", "y", "pid")


def test_without_a_cut_a_batch_is_its_encoded_rows():
    """And no units leave the sum of no rows, which the caller may change."""
    row_pass = RowPass(DESIGN, column_sums, START)
    assert np.array_equal(row_pass.of_batch(batch()), column_sums(DESIGN.encode(batch())))
    nothing = row_pass.of_units(UnitRows(3))
    assert np.array_equal(nothing, START)
    assert nothing is not START


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_cut_is_enforced_before_the_sum(most):
    """By the pass or by the work itself, over the same rows."""
    asked = []

    def of_units(cells, starts, words, limit):
        asked.append((len(cells), starts.tolist(), (words > 0).tolist(), limit))
        return START + 7

    def rows():
        found = UnitRows(3)
        found.add(*owned_rows(batch(), DESIGN))
        return found

    total = RowPass(DESIGN, column_sums, START, ContributionBound("pid", most)).of_units(rows())
    assert np.array_equal(total, column_sums(np.concatenate([*rows().bounded_blocks(most, 1)])))
    assert total[0] == 32767 * (min(most, 3) + min(most, 2))
    own = RowPass(DESIGN, column_sums, START, ContributionBound("pid", most, of_units)).of_units(rows())
    assert own.tolist() == [7, 7, 7]
    assert asked == [(5, [0, 3, 5], [most < 3, most < 2], most)]


@pytest.mark.parametrize("n_parts", [1, 2, 5])
@pytest.mark.parametrize(
    "owners", [OWNERS, pa.array([1, 2, 1, None, 1, 2]), pa.array([1, 2, 1, None, 1, 2], pa.uint64())]
)
def test_each_row_with_an_owner_is_in_one_part(n_parts, owners):
    """Parts of all units make the whole, each unit in one of them."""
    whole_keys, whole = owned_rows(batch(owners), DESIGN)
    known = whole_keys.is_valid().to_numpy(zero_copy_only=False)
    assert known.tolist() == [True, True, True, False, True, True]
    parts = [owned_rows(batch(owners), DESIGN, part, n_parts) for part in range(n_parts)]
    units = [{key for key in keys.to_pylist() if key is not None} for keys, _ in parts]
    assert sum(map(len, units)) == len(set.union(*units)) == 2
    found = np.concatenate([cells for _, cells in parts])
    found = found if n_parts > 1 else found[known]
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, whole[known].tolist()))


def test_rows_are_given_once():
    """What stood side by side is let go: rows that are added after that stand alone."""
    units = UnitRows(3)
    keys, cells = owned_rows(batch(), DESIGN)
    for _ in range(2):
        units.add(keys, cells)
    rows, starts, _ = units.side_by_side(1)
    assert (rows.shape, starts.tolist()) == ((10, 3), [0, 6, 10])
    rows, starts, words = units.side_by_side(1)
    assert (rows.shape, starts.tolist(), words.tolist()) == ((0, 3), [0], [])
    units.add(keys[:1], cells[-1:])
    rows, starts, _ = units.side_by_side(1)
    assert (rows.tolist(), starts.tolist()) == (cells[-1:].tolist(), [0, 1])
