"""A selection of public points, the farthest first, and the merging of the other points into those selected.

Squared distances are those of `nearest`, exact integers.
"""

import importlib
from collections.abc import Sequence

import numpy as np

from discreet.kernels.public_records import nearest
from discreet.kernels.public_records.nearest import CATEGORY_COST, FAR, Filter, no_nearest, plain_improve
from discreet.typing import Cells, Integers


class _Comparison:
    """The nearest of ever more points of an order to each point, by the cheaper of two ways."""

    def __init__(self, points: Cells, n_numeric: int, order: Integers) -> None:
        self._points, self._order, self._n_numeric = points, order, n_numeric
        compiled = points.size * len(order) >= nearest.COMPILE_FROM
        self._filter = Filter(points[order], order, n_numeric) if compiled else None
        self.best, self.closest = no_nearest(len(points))

    def extend(self, start: int, stop: int) -> None:
        if self._filter is not None:
            self._filter.improve(self._points, start, stop, self.best, self.closest)
        else:
            labels = np.sort(self._order[start:stop])
            plain_improve(self._points, self._points[labels], labels, self._n_numeric, self.best, self.closest)


def merge_sequence(points: Cells, n_numeric: int, order: Integers, sizes: Sequence[int]) -> list[Integers]:
    """Return, for each size k, the place of the nearest of `order[:k]` to each point, the smallest of those as near.

    Cost: O(m k p) for the largest size k. Shapes: points (m, p), order (m,); returns (m,) each.

    Examples
    --------
    >>> merge_sequence(np.array([[0], [4], [9]], dtype=np.int16), 1, np.array([2, 0, 1]), [1, 2])
    [array([2, 2, 2]), array([0, 0, 2])]
    """
    points = np.ascontiguousarray(points, dtype=np.int16)
    comparison, merged, start = _Comparison(points, n_numeric, order[: max(sizes, default=0)]), [], 0
    for stop in sizes:
        comparison.extend(start, stop)
        merged.append(comparison.closest.copy())
        start = stop
    return merged


def central_point(points: Cells, n_numeric: int) -> int:
    """Return the place of the first point with the least sum of squared distances to all.

    Exact in 64 bits for m p below 2^31. Shapes: points (m, p).
    """
    numeric = points[:, :n_numeric].astype(np.int64)
    # sum_j |x_i - x_j|^2 = m |x_i|^2 - 2 x_i'sum_j x_j + a constant; each point of the same code saves the cost.
    total = len(points) * np.einsum("ij,ij->i", numeric, numeric) - 2 * (numeric @ numeric.sum(axis=0))
    for column in points[:, n_numeric:].T:
        _, place, count = np.unique(column, return_inverse=True, return_counts=True)
        total -= CATEGORY_COST * count[place]
    return int(total.argmin())


def farthest_first(points: Cells, n_numeric: int, k: int) -> tuple[Integers, int]:
    """Take the point nearest the mean, then again and again the point farthest from those taken, the first of ties.

    Returns the places taken, and the largest squared distance of a point from its nearest one taken. Cost: O(m k p).
    Source: Gonzalez 1985, Clustering to minimize the maximum intercluster distance.

    Examples
    --------
    >>> farthest_first(np.array([[0], [4], [5], [9]], dtype=np.int16), 1, 3)
    (array([1, 3, 0]), 1)
    """
    order = np.empty(k, dtype=np.int64)
    order[0] = central_point(points, n_numeric)
    if points.size * k >= nearest.COMPILE_FROM:
        compiled = importlib.import_module("discreet.kernels.public_records.nearest_compiled")
        return order, int(compiled.farthest_first(np.ascontiguousarray(points.T, dtype=np.int16), n_numeric, order))
    return order, _plain_farthest_first(points, n_numeric, order)


def _plain_farthest_first(points: Cells, n_numeric: int, order: Integers) -> int:
    """Fill the order after its first point; return the squared radius."""
    numeric = np.ascontiguousarray(points[:, :n_numeric].T, dtype=np.int64)
    codes = np.ascontiguousarray(points[:, n_numeric:].T)
    best = np.full(len(points), FAR)
    for step, taken in enumerate(order):
        distance = np.zeros(len(points), dtype=np.int64)
        for column in numeric:
            gap = column - column[taken]
            distance += gap * gap
        for column in codes:
            distance += CATEGORY_COST * (column != column[taken])
        np.minimum(best, distance, out=best)
        best[taken] = -1
        if step + 1 < len(order):
            order[step + 1] = best.argmax()
    return max(int(best.max()), 0)
