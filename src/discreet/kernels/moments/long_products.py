"""Scores from a long table of single values: keys that sort by feature, person and cell, and sums of first cells."""

import numpy as np
import numpy.typing as npt

from discreet.typing import Integers, Words

Places = npt.NDArray[np.int32]

CELL_BITS = 16
BLOCK_KEYS = 2**18
"""Keys of a block: few enough for a processor's cache."""


def packed(person: Places, feature: Places, cell: npt.NDArray[np.int16], bits: int, part: int, n_parts: int) -> Words:
    """Return the keys of values: feature, person and cell in one word, in this order."""
    is_used = (person >= 0) & (feature >= 0)
    pairs = (feature.astype(np.uint64) << np.uint64(bits)) | person.astype(np.uint64)
    if n_parts > 1:
        # Fibonacci hashing: 2^64 over the golden ratio spreads neighbors, and the upper 24 bits make parts of about one
        # size.
        hashed = (pairs * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
        is_used &= hashed % np.uint64(n_parts) == np.uint64(part)
    # Cells are made positive, so that words sort as signed cells do.
    keys: Words = (pairs << np.uint64(CELL_BITS)) | (cell.astype(np.int64) + 2 ** (CELL_BITS - 1)).astype(np.uint64)
    return keys[is_used]


def keep_firsts(keys: Words) -> int:
    """Move the first key of each pair to the front, and return their number."""
    n_kept = 0
    before = ~np.uint64(0)  # no pair: it would have more bits than are left to one
    for start in range(0, len(keys), BLOCK_KEYS):
        block = keys[start : start + BLOCK_KEYS]
        pairs = block >> np.uint64(CELL_BITS)
        firsts = block[_new(pairs, before)]
        keys[n_kept : n_kept + len(firsts)] = firsts
        n_kept += len(firsts)
        before = pairs[-1]
    return n_kept


def add_firsts(keys: Words, bits: int, response: Integers, zero: int, total: Integers) -> None:
    """Add to each feature's sum its persons' first cells, less zero's, times the persons' responses.

    Examples
    --------
    >>> keys = np.sort(packed(*np.array([[0, 1, 1], [2, 2, 2]], np.int32), np.array([5, 9, 7], np.int16), 1, 0, 1))
    >>> total = np.zeros(3, dtype=np.int64)
    >>> add_firsts(keys, 1, np.array([10, 100]), 0, total)
    >>> total
    array([  0,   0, 750])
    """
    # Sums of 64 bits wrap around, so that what passes 2^63 on the way comes back: a score itself is below.
    before = ~np.uint64(0)
    mask = np.uint64((1 << bits) - 1)
    for start in range(0, len(keys), BLOCK_KEYS):
        block = keys[start : start + BLOCK_KEYS]
        pairs = block >> np.uint64(CELL_BITS)
        cells = (block & np.uint64(2**CELL_BITS - 1)).astype(np.int64) - 2 ** (CELL_BITS - 1)
        added = (cells - zero) * response[(pairs & mask).astype(np.int64)]
        # Of a person's cells of one feature the first alone counts: the sensitivity is that of one row.
        added *= _new(pairs, before)
        features = (pairs >> np.uint64(bits)).astype(np.int64)
        # Keys are in order, so a feature has one run in a block, and += by index meets each of them once.
        begins = np.flatnonzero(np.diff(features, prepend=-1))
        total[features[begins]] += np.add.reduceat(added, begins)
        before = pairs[-1]


def _new(pairs: Words, before: np.uint64) -> npt.NDArray[np.bool_]:
    """Return which pairs differ from the one before them."""
    is_new = np.empty(len(pairs), dtype=np.bool_)
    is_new[0] = pairs[0] != before
    np.not_equal(pairs[1:], pairs[:-1], out=is_new[1:])
    return is_new
