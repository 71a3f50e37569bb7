"""A few public points that stand for many."""

import numpy as np
import pytest

from discreet.kernels.moments.moments import GRID
from discreet.kernels.public_records import representatives as module
from discreet.kernels.public_records.representatives import representatives


def clouds(per=50):
    """Three tight clouds in two columns and a category that follows one of them."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    middles = np.repeat([[-20_000, -20_000], [20_000, 0], [0, 25_000]], per, axis=0)
    cells = np.column_stack([middles + rng.integers(-500, 500, middles.shape), np.repeat([0, 1, 1], per)])
    return np.unique(cells.astype(np.int16), axis=0)


@pytest.mark.parametrize("few", [module.FEW, 0], ids=["all points", "batches"])
def test_every_cloud_has_one(monkeypatch, few):
    """As many centers as clouds: each gets a point near its middle."""
    monkeypatch.setattr(module, "FEW", few)
    cells = clouds()
    found = representatives(cells, 2, np.ones(len(cells), dtype=np.int64), 3)
    assert (np.diff(found) > 0).all()
    taken = cells[found].astype(int)
    middles = np.array([[-20_000, -20_000, 0], [20_000, 0, 1], [0, 25_000, 1]])
    for middle in middles[:, :2]:
        assert np.abs(taken[:, :2] - middle).max(axis=1).min() < 600


def test_all_points_where_there_are_no_more():
    """Their places, in order."""
    cells = clouds(5)
    for k in (len(cells), len(cells) + 1):
        np.testing.assert_array_equal(representatives(cells, 2, np.ones(len(cells), np.int64), k), range(len(cells)))


def test_the_same_in_every_run():
    """What is public must be found again by whoever checks."""
    cells, rng = clouds(), np.random.default_rng(1)  # noqa: TID251 - simulated data, not noise
    records = rng.integers(1, 9, len(cells))
    first = representatives(cells, 2, records, 20)
    np.testing.assert_array_equal(first, representatives(cells, 2, records, 20))
    assert 10 < len(first) <= 20


def test_records_pull():
    """A point of many records is the middle of its part."""
    cells = np.array([[0], [100], [200], [30_000], [30_100]], dtype=np.int16)
    found = representatives(cells, 1, np.array([1, 1, 10_000, 1, 1]), 2)
    assert 2 in found


def test_levels_are_as_far_apart_as_the_ends_of_a_range():
    """Two clouds that differ by level alone are told apart before a column of a tenth of the range."""
    low = np.linspace(-GRID // 10, GRID // 10, 30).astype(np.int16)
    cells = np.unique(np.array([[x, level] for x in low for level in (0, 1)], dtype=np.int16), axis=0)
    found = representatives(cells, 1, np.ones(len(cells), np.int64), 2)
    assert set(cells[found, 1].tolist()) == {0, 1}
