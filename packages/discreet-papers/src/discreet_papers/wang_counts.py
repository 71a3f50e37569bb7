"""How many private rows are nearest to each public point, and how far they are, while points are added."""

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells, Integers

BLOCK = 128
"""Points that are added at a time: their distances from all rows are held in memory."""


class GrowingSet:
    """Public points, to which more are added.

    Parameters
    ----------
    rows : ndarray of int16, shape (n, p)
        Private rows, numeric.
    points : ndarray of int16, shape (m, p)
        All public points; none belongs to the set yet.

    Notes
    -----
    Sets of many sizes cost no more than the largest one: O(n m p).
    """

    def __init__(self, rows: Cells, points: Cells) -> None:
        rows, self._times = np.unique(rows, axis=0, return_counts=True)
        self._rows, self._points = rows.astype(np.float64), points.astype(np.float64)
        self._lengths = (self._points**2).sum(axis=1)
        self._least = np.full(len(rows), np.inf)  # squared, but for the row's own length: whole numbers below 2^53
        self._at = self._near = np.zeros(0, dtype=np.int64)  # rows and all of their nearest points

    def add(self, places: Integers) -> None:
        """Add points to the set."""
        for start in range(0, len(places), BLOCK):
            self._add(places[start : start + BLOCK])

    def _add(self, block: Integers) -> None:
        # |row - point|^2 - |row|^2, which orders a row's points: whole numbers, so that ties are exact
        gaps = self._rows @ (-2.0 * self._points[block].T)
        gaps += self._lengths[block]
        least = gaps.min(axis=1)
        reached = np.flatnonzero(least <= self._least)
        still_nearest = least[self._at] >= self._least[self._at]
        self._least = np.minimum(self._least, least)
        at, near = np.nonzero(gaps[reached] == least[reached, None])
        self._at = np.concatenate([self._at[still_nearest], reached[at]])
        self._near = np.concatenate([self._near[still_nearest], block[near]])

    def counts(self, of_ties: bool) -> Integers:
        """Return how many rows are nearest to each point, 0 for points outside the set.

        Source: Wang et al. 2018, Definition 5; privacy specification 5.1 (ties).
        """
        counts = np.zeros(len(self._points), dtype=np.int64)
        if of_ties:
            np.add.at(counts, self._near, self._times[self._at])
            return counts
        first = np.full(len(self._rows), len(counts))
        np.minimum.at(first, self._at, self._near)
        np.add.at(counts, first, self._times)
        return counts

    @property
    def distance(self) -> float:
        """Mean distance of the rows from the set, every column's range being 1."""
        squares = np.maximum(self._least + (self._rows**2).sum(axis=1), 0.0)
        return float(np.average(np.sqrt(squares), weights=self._times)) / (2.0 * GRID)
