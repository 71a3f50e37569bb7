"""The contribution bound: at most so many rows of a unit, a sample by that unit's name and rows alone, in any order."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from discreet.kernels.moments.products import exact_products
from discreet.typing import Bools, Integers, Words

Rows = npt.NDArray[np.int16]

BLOCK_ROWS = 2**16
"""Rows that are put in order at once: what is computed of them fits in a cache."""


def kept_rows(cells: Rows, starts: Integers, words: Words, most: int) -> Rows:
    """Return at most ``most`` rows of each unit.

    Shapes: cells (n, p), starts (n_units + 1,), words (n_units,), a hash of each unit's name; returns (m, p).

    Examples
    --------
    >>> cells = np.array([[1, 1], [1, 1], [5, 7]], dtype=np.int16)
    >>> kept_rows(cells, np.array([0, 2, 3]), np.array([8, 9], dtype=np.uint64), 1)
    array([[5, 7],
           [1, 1]], dtype=int16)
    """
    others, groups = _crowded(starts, most)
    sample = [_sample(cells[places], words[units], most).reshape(-1, cells.shape[1]) for units, places in groups]
    return np.concatenate([cells[others], *sample]) if sample else cells


def kept_units(cells: Rows, starts: Integers, words: Words, most: int) -> tuple[Rows, Integers]:
    """Return the rows of `kept_rows`, and the unit of each by its place.

    Shapes: cells (n, p), starts (n_units + 1,), words (n_units,); returns (m, p), (m,).

    Examples
    --------
    >>> cells = np.array([[1, 1], [2, 1], [5, 7]], dtype=np.int16)
    >>> kept_units(cells, np.array([0, 2, 3]), np.array([8, 9], dtype=np.uint64), 1)[1]
    array([1, 0])
    """
    sizes = np.diff(starts)
    others, groups = _crowded(starts, most)
    owners = [np.repeat(np.arange(len(sizes)), sizes)[others]]
    owners += [np.repeat(units, most) for units, _ in groups]
    return kept_rows(cells, starts, words, most), np.concatenate(owners)


def kept_products(cells: Rows, starts: Integers, words: Words, most: int) -> Integers:
    """Return the sum of each column times the last one, over at most ``most`` rows of each unit.

    Each column samples a unit's rows by itself, by its cells and the last column's.
    Shapes: cells (n, p + 1), starts (n_units + 1,), words (n_units,); returns (p,).

    Examples
    --------
    >>> cells = np.array([[1, 1], [1, 1], [5, 7]], dtype=np.int16)
    >>> kept_products(cells, np.array([0, 2, 3]), np.array([8, 9], dtype=np.uint64), 1)
    array([36])
    """
    others, groups = _crowded(starts, most)
    total = exact_products(cells[others])
    for units, places in groups:
        rows = np.moveaxis(cells[places], 2, 0)
        # Each column is a table of two columns here, (x_j, y), sampled by itself; columns share no choice.
        width = max(1, BLOCK_ROWS // places.size)
        for start in range(0, len(total), width):
            features = rows[start : min(start + width, len(total))]
            pairs = np.stack([features, np.broadcast_to(rows[-1], features.shape)], axis=-1)
            # A pair's sample is by the unit's name and its own two cells: it is the same however many columns stand
            # beside it.
            names = np.tile(words[units], len(features))
            sample = _sample(pairs.reshape(-1, *pairs.shape[2:]), names, most).astype(np.int64)
            total[start : start + width] += sample.prod(axis=2).reshape(len(features), -1).sum(axis=1)
    return total


def kept_sum(cells: Rows, starts: Integers, words: Words, most: int) -> Integers:
    """Return the sum of the last column over at most ``most`` rows of each unit, and the number of those rows.

    Shapes: cells (n, p), starts (n_units + 1,), words (n_units,); returns (2,).
    """
    sample = kept_rows(cells[:, -1:], starts, words, most)
    return np.array([sample.sum(dtype=np.int64), len(sample)], dtype=np.int64)


def _crowded(starts: Integers, most: int) -> tuple[Integers, Iterator[tuple[Integers, Integers]]]:
    """Return the places of the rows of units with few; and other units by size, with the places of their rows."""
    sizes = np.diff(starts)
    is_crowded = sizes > most
    return np.flatnonzero(np.repeat(~is_crowded, sizes)), _of_a_size(starts, sizes, np.flatnonzero(is_crowded))


def _of_a_size(starts: Integers, sizes: Integers, units: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield units with equally many rows, and the places of these, of shape (n_units, n_rows)."""
    units = units[np.argsort(sizes[units])]
    for group in np.split(units, np.flatnonzero(np.diff(sizes[units])) + 1) if len(units) else ():
        size = int(sizes[group[0]])
        width = max(1, BLOCK_ROWS // size)
        for first in range(0, len(group), width):
            part = group[first : first + width]
            yield part, starts[part, None] + np.arange(size)


def _sample(rows: Rows, words: Words, most: int) -> Rows:
    """Return the first rows of each unit by a hash of its name, of a row's cells, and of which equal row it is.

    Shapes: rows (n_units, m, p), words (n_units,); returns (n_units, most, p).
    """
    packed = _packed(rows)
    hashes = np.repeat(words, rows.shape[1]).reshape(rows.shape[:2])
    for column in packed:
        hashes = mixed(hashes + column)
    # The sample is a function of the unit's name and of the set of its rows with their multiplicities, not of their
    # order: so every engine keeps the same rows, and a change of one unit changes no other's.
    order, is_copy = _ordered(hashes, packed)
    if is_copy.any():
        # Equal rows must go one by one: together they would count as one, and rows that are rare would be too many.
        copies = np.flatnonzero(is_copy)
        place = np.arange(is_copy.size)
        place[copies] = 0
        # Of each copy, which one it is: 1, 2, .. behind the last place that holds no copy.
        number = copies - np.maximum.accumulate(place)[copies]
        copies = order.take(copies)
        hashes.put(copies, mixed(hashes.take(copies) + number.astype(np.uint64)))
        order, _ = _ordered(hashes, packed)
    return rows.reshape(-1, rows.shape[2]).take(order[:, :most], axis=0)


def _packed(rows: Rows) -> Words:
    """Return four cells in a word each, of shape (n_words, n_units, m)."""
    n_words = -(-rows.shape[2] // 4)
    padded = np.zeros((*rows.shape[:2], 4 * n_words), dtype=np.int16)
    padded[:, :, : rows.shape[2]] = rows
    return np.moveaxis(padded.view(np.uint64), 2, 0)


def _ordered(hashes: Words, packed: Words) -> tuple[Integers, Bools]:
    """Return each unit's places in order of hashes and then cells, and which row there is equal to the one before."""
    first = np.arange(0, hashes.size, hashes.shape[1])[:, None]
    order = first + np.argsort(hashes, axis=1)
    is_copy, is_certain = _copies(order, hashes, packed)
    if not is_certain:  # of 2^64 hashes, different rows seldom share one
        order = first + np.lexsort((*packed, hashes), axis=1)
        is_copy, _ = _copies(order, hashes, packed)
    return order, is_copy


def _copies(order: Integers, hashes: Words, packed: Words) -> tuple[Bools, bool]:
    """Return which row has the hash and the cells of the one before, and whether no other rows share a hash."""
    is_copy = np.zeros(order.shape, dtype=np.bool_)
    hashes = hashes.take(order)
    is_tied = hashes[:, 1:] == hashes[:, :-1]
    if not is_tied.any():
        return is_copy, True
    is_copy[:, 1:] = is_tied
    for column in packed:
        cells = column.take(order)
        is_copy[:, 1:] &= cells[:, 1:] == cells[:, :-1]
    return is_copy, bool(np.array_equal(is_copy[:, 1:], is_tied))


def mixed(words: Words) -> Words:
    """Return words in which each bit depends on all, one to one: the finalizer of SplitMix64.

    Source: Steele, Lea and Flood 2014 (SplitMix).
    """
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
