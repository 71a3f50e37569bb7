"""Models in the order of a splitting bound, the least first."""

import heapq
from collections.abc import Iterator

import numpy as np

from discreet.typing import Floats, Integers

NONE: frozenset[int] = frozenset()


def ranked(tables: Floats, limit: int) -> Iterator[Integers]:
    """Yield one subset for each block, the least sum of entries first, up to rounding, until all are listed.

    Shapes: tables (n_blocks, n_subsets); returns (n_blocks,).
    """
    return _without_limit(tables) if limit < 0 else iter(_Limited(tables, limit))


def _without_limit(tables: Floats) -> Iterator[Integers]:
    blocks = np.arange(len(tables))
    least = tables.argmin(axis=1)
    yield least
    remaining = tables.copy()
    remaining[blocks, least] = np.inf
    second = remaining.argmin(axis=1)
    more: list[float] = (remaining[blocks, second] - tables[blocks, least]).tolist()
    # Lawler's partition: a choice that is taken leaves, for each block, the choices that agree with it before the block
    # and differ from it there. An entry: how far above the least sum; the block changed last; its subsets already
    # listed; the choice.
    heap = [(extra, b, NONE | {int(least[b])}, _changed(least, b, int(second[b]))) for b, extra in enumerate(more)]
    heapq.heapify(heap)
    while heap and heap[0][0] < np.inf:  # each choice is pushed once, and there are finitely many
        above, block, excluded, picked = heapq.heappop(heap)
        yield picked
        excluded |= {int(picked[block])}
        row = tables[block].copy()
        row[list(excluded)] = np.inf
        subset = int(row.argmin())
        extra = float(row[subset] - tables[block, picked[block]])
        heapq.heappush(heap, (above + extra, block, excluded, _changed(picked, block, subset)))
        for b in range(block + 1, len(tables)):
            heapq.heappush(heap, (above + more[b], b, NONE | {int(least[b])}, _changed(picked, b, int(second[b]))))


def _changed(picked: Integers, block: int, subset: int) -> Integers:
    picked = picked.copy()
    picked[block] = subset
    return picked


class _Limited:
    """The ranked choices with at most so many units in all."""

    def __init__(self, tables: Floats, limit: int) -> None:
        self.tables, self.limit = tables, limit
        self.size = np.bitwise_count(np.arange(tables.shape[1])).astype(np.int64)
        # rest[b, k]: least sum of the blocks from b on with at most k units.
        self.rest = np.zeros((len(tables) + 1, limit + 1))
        for b in range(len(tables) - 1, -1, -1):
            self.rest[b] = [self._sums(b, room).min() for room in range(limit + 1)]

    def _sums(self, block: int, room: int) -> Floats:
        """Return the least sum from a block on, for each of its subsets."""
        fits = self.size <= room
        return np.where(fits, self.tables[block] + self.rest[block + 1][np.where(fits, room - self.size, 0)], np.inf)

    def _complete(self, head: list[int], avoid: frozenset[int]) -> tuple[float, list[int]]:
        """Return the least sum that starts with `head` and then avoids some subsets of the next block."""
        picked, room = list(head), self.limit - int(self.size[head].sum())
        for block in range(len(head), len(self.tables)):
            sums = self._sums(block, room)
            if block == len(head):
                sums[list(avoid)] = np.inf
            if sums.min() == np.inf:
                return np.inf, picked
            picked.append(int(sums.argmin()))
            room -= int(self.size[picked[-1]])
        return float(self.tables[np.arange(len(picked)), picked].sum()), picked

    def __iter__(self) -> Iterator[Integers]:
        total, picked = self._complete([], NONE)
        heap, pushed = [(total, 0, 0, NONE, picked)], 0
        while heap and heap[0][0] < np.inf:  # each choice is pushed once, and there are finitely many
            total, _, first, avoid, picked = heapq.heappop(heap)
            yield np.array(picked, dtype=np.int64)
            for block in range(first, len(self.tables)):
                excluded = (avoid if block == first else NONE) | {picked[block]}
                other_total, other_picked = self._complete(picked[:block], excluded)
                pushed += 1
                heapq.heappush(heap, (other_total, pushed, block, excluded, other_picked))
