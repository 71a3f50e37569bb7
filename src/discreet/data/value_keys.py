"""The values of a long table as keys that sort: each pair of person and feature once, its least cell."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from discreet.kernels.moments.long_products import CELL_BITS, add_firsts, keep_firsts, packed
from discreet.typing import Integers

MOST_KEYS = 2**27
"""Kept at once, 8 bytes each: what is more is read in several passes."""
LEAST_KEYS = 2**16


def passes_of(n_values: int | None, n_people: int, n_features: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield passes that fit the memory: first feature, number of features, part, number of parts."""
    # A key of 64 bits holds feature, person and cell, the feature first, so that equal pairs sort side by side.
    bits = 64 - CELL_BITS - n_people.bit_length()
    width = min(n_features, 2**bits)
    n_ranges = -(-n_features // width)
    n_parts = -(-(n_values or 0) // (n_ranges * MOST_KEYS)) or 1
    for first in range(0, n_features, width):
        for part in range(n_parts):
            yield first, min(width, n_features - first), part, n_parts


class ValueKeys:
    """Keys of the values of one pass.

    Parameters
    ----------
    n_people : int
        Number of people.
    n_values : int or None
        Number of values, where it is stated.
    part, n_parts : int
        Which part of the pairs of person and feature the pass takes.
    """

    def __init__(self, n_people: int, n_values: int | None, part: int = 0, n_parts: int = 1) -> None:
        self._bits = n_people.bit_length()
        self._part, self._n_parts = part, n_parts
        # A hash spreads pairs over parts evenly but for chance: 2 % more holds nearly all.
        expected = 0 if n_values is None else n_values if n_parts == 1 else int(1.02 * n_values / n_parts)
        self._keys = np.empty(max(LEAST_KEYS, min(expected, MOST_KEYS)), dtype=np.uint64)
        self._used = 0

    def add(self, person: npt.NDArray[np.int32], feature: npt.NDArray[np.int32], cell: npt.NDArray[np.int16]) -> None:
        """Add values."""
        for start in range(0, len(person), LEAST_KEYS):
            part = slice(start, start + LEAST_KEYS)
            keys = packed(person[part], feature[part], cell[part], self._bits, self._part, self._n_parts)
            self._make_room(len(keys))
            self._keys[self._used : self._used + len(keys)] = keys
            self._used += len(keys)

    def _make_room(self, n_keys: int) -> None:
        """Drop what is there twice; where that is little, take more memory."""
        if self._used + n_keys <= len(self._keys):
            return
        self._keys[: self._used].sort()
        self._used = keep_firsts(self._keys[: self._used])
        if self._used + n_keys > len(self._keys) // 2:
            larger = np.empty(2 * len(self._keys), dtype=np.uint64)
            larger[: self._used] = self._keys[: self._used]
            self._keys = larger

    def add_to(self, total: Integers, response: Integers, zero: int) -> None:
        """Add up what the values change against a table of zeros."""
        keys = self._keys[: self._used]
        keys.sort()
        add_firsts(keys, self._bits, response, zero, total)

    def distinct(self) -> tuple[Integers, Integers, Integers]:
        """Return feature, person, and integer on the grid, each pair of feature and person once."""
        keys = self._keys[: self._used]
        keys.sort()
        keys = keys[: keep_firsts(keys)]
        pairs = (keys >> np.uint64(CELL_BITS)).astype(np.int64)
        cells = (keys & np.uint64(2**CELL_BITS - 1)).astype(np.int64) - 2 ** (CELL_BITS - 1)
        return pairs >> self._bits, pairs & ((1 << self._bits) - 1), cells
