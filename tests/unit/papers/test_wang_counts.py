"""Counts beside sets of public points that grow, and the distance from them."""

import numpy as np
import pytest

from discreet.kernels.moments.moments import GRID
from discreet.kernels.public_records.nearest import NearestPoints
from discreet.mechanisms.rng import Source
from discreet.methods.public_records.hybrid_published import ties_counted
from discreet.simulation.draws import uniforms
from discreet_papers.wang_counts import BLOCK, GrowingSet

RNG = Source.seeded(5)
COARSE = np.floor(3.0 * uniforms(RNG, 400, 4)).astype(np.int16) * 7  # few values, so that many points are as near
FINE = np.rint(GRID * (2.0 * uniforms(RNG, 400, 3) - 1.0)).astype(np.int16)


def sets(cells):
    """Rows with repetitions, and distinct points in an order of their own."""
    points = np.unique(cells[:250], axis=0)
    return cells[150:], points, np.argsort(uniforms(Source.seeded(6), len(points)))


@pytest.mark.parametrize("cells", [COARSE, FINE], ids=["coarse", "fine"])
@pytest.mark.parametrize("step", [7, BLOCK + 9])
def test_counts_of_every_size_are_those_from_scratch(cells, step):
    """As the published algorithm counts, each row at every nearest point; and as ours does, at the first."""
    rows, points, order = sets(cells)
    growing = GrowingSet(rows, points)
    for start in range(0, len(order), step):
        growing.add(order[start : start + step])
        kept = np.sort(order[: start + step])
        every, first = growing.counts(of_ties=True), growing.counts(of_ties=False)
        assert np.array_equal(every[kept], ties_counted(rows, points[kept], points.shape[1]))
        near = NearestPoints(points[kept], points.shape[1]).nearest(rows)
        assert np.array_equal(first[kept], np.bincount(near, minlength=len(kept)))
        assert first.sum() == len(rows) <= every.sum()
        assert every.sum() == every[kept].sum()


def test_ties_are_many_on_coarse_columns():
    """There the two ways to count differ by far, which is why the published noise is too small."""
    rows, points, order = sets(COARSE)
    growing = GrowingSet(rows, points)
    growing.add(order[: len(order) // 2])
    assert growing.counts(of_ties=True).sum() > 1.3 * growing.counts(of_ties=False).sum()


def test_distance_is_the_mean_to_the_nearest():
    """In units of the columns' ranges."""
    rows, points, order = sets(FINE)
    growing = GrowingSet(rows, points)
    growing.add(order[:40])
    gaps = (rows[:, None].astype(float) - points[order[:40]][None]) / (2.0 * GRID)
    assert growing.distance == pytest.approx(np.sqrt((gaps**2).sum(axis=2)).min(axis=1).mean(), rel=1e-12)
