"""Merging and the traversal by distance beside plain integers."""

import numpy as np
import pytest
from nearest_problems import NAMES, simulated, squared_distances

from discreet.kernels.public_records import nearest
from discreet.kernels.public_records.nearest_order import farthest_first, merge_sequence

NEVER = 2**62


@pytest.mark.parametrize("compile_from", [0, NEVER])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("no rows", "one point")])
def test_merging_is_that_of_plain_integers(name: str, compile_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every size, ties to the smallest place."""
    monkeypatch.setattr(nearest, "COMPILE_FROM", compile_from)
    _, points, n_numeric = simulated(name)
    order = np.random.default_rng(4).permutation(len(points))  # noqa: TID251 - simulated data, not noise
    sizes = [1, 2, 7, 30, 31, len(points)]
    found = merge_sequence(points, n_numeric, order, sizes)
    for k, merged in zip(sizes, found, strict=True):
        kept = np.sort(order[:k])
        assert np.array_equal(merged, kept[squared_distances(points, points[kept], n_numeric).argmin(axis=1)])


@pytest.mark.slow
@pytest.mark.parametrize("compile_from", [0, NEVER])
@pytest.mark.parametrize("name", NAMES)
def test_farthest_first_is_that_of_plain_integers(
    name: str, compile_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the point of the least sum of squares, each next one as far as can be; copies come last."""
    monkeypatch.setattr(nearest, "COMPILE_FROM", compile_from)
    _, points, n_numeric = simulated(name)
    between = squared_distances(points, points, n_numeric)
    best, expected = np.full(len(points), NEVER), [int(between.sum(axis=0).argmin())]
    while len(expected) <= len(points):
        best = np.minimum(best, between[expected[-1]])
        best[expected] = -1
        k = len(expected)
        if k in (1, 2, 25, len(points)):
            order, squared_radius = farthest_first(points, n_numeric, k)
            assert order.tolist() == expected
            assert squared_radius == max(best.max(), 0)
        expected.append(int(best.argmax()))
