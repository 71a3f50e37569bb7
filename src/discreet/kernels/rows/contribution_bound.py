"""The contribution bound: at most so many rows of a unit, chosen by that unit's rows alone, in any order."""

import numpy as np
import numpy.typing as npt

from discreet.kernels.moments.products import exact_products
from discreet.typing import Integers, Words


def kept_rows(cells: npt.NDArray[np.int16], starts: Integers, most: int) -> npt.NDArray[np.int16]:
    """Return at most ``most`` rows of each unit.

    Shapes: cells (n, p), starts (n_units + 1,); returns (m, p).

    Examples
    --------
    >>> cells = np.array([[1, 1], [1, 1], [5, 7]], dtype=np.int16)
    >>> kept_rows(cells, np.array([0, 2, 3]), 1)
    array([[5, 7],
           [1, 1]], dtype=int16)
    """
    is_crowded, unit = _crowded(starts, most)
    if not unit.size:
        return cells
    crowded = cells[is_crowded]
    words = np.zeros(len(crowded), dtype=np.uint64)
    for column in crowded.T:
        words = mixed(words + column.view(np.uint16))
    order = np.lexsort((words, unit))
    tied = np.flatnonzero((np.diff(words[order]) == 0) & (np.diff(unit[order]) == 0))
    if np.any(crowded[order[tied]] != crowded[order[tied + 1]]):  # of 2^64 words, different rows seldom share one
        order = np.lexsort((*crowded.T, words, unit))
    return np.concatenate([cells[~is_crowded], crowded[_leading(order, unit, most)]])


def kept_products(cells: npt.NDArray[np.int16], starts: Integers, most: int) -> Integers:
    """Return the sum of each column times the last one, over at most ``most`` rows of each unit.

    Each column chooses a unit's rows by itself, by a hash of its cell and the last column's.
    Shapes: cells (n, p + 1), starts (n_units + 1,); returns (p,).

    Examples
    --------
    >>> cells = np.array([[1, 1], [1, 1], [5, 7]], dtype=np.int16)
    >>> kept_products(cells, np.array([0, 2, 3]), 1)
    array([36])
    """
    is_crowded, unit = _crowded(starts, most)
    total = exact_products(cells[~is_crowded])
    if not unit.size:
        return total
    crowded = cells[is_crowded].astype(np.int64)
    for j, column in enumerate(crowded[:, :-1].T):
        places = _first(_hashed(column, crowded[:, -1]), unit, most)
        total[j] += int(np.sum(column[places] * crowded[places, -1]))
    return total


def kept_sum(cells: npt.NDArray[np.int16], starts: Integers, most: int) -> Integers:
    """Return the sum of the last column over at most ``most`` rows of each unit, and the number of those rows.

    Shapes: cells (n, p), starts (n_units + 1,); returns (2,).
    """
    is_crowded, unit = _crowded(starts, most)
    column = cells[:, -1]
    crowded = column[is_crowded].astype(np.int64)
    places = _first(_hashed(crowded, crowded), unit, most)
    total = int(column[~is_crowded].sum(dtype=np.int64)) + int(crowded[places].sum())
    return np.array([total, int(np.minimum(np.diff(starts), most).sum())], dtype=np.int64)


def _crowded(starts: Integers, most: int) -> tuple[npt.NDArray[np.bool_], Integers]:
    """Return which rows are of units with more than `most` rows, and the units of those rows."""
    sizes = np.diff(starts)
    is_crowded = np.repeat(sizes > most, sizes)
    return is_crowded, np.repeat(np.arange(len(sizes)), sizes)[is_crowded]


def _first(words: Words, unit: Integers, most: int) -> Integers:
    """Return the places of each unit's first rows by their words; a unit's rows stand side by side."""
    return _leading(np.lexsort((words, unit)), unit, most)


def _leading(order: Integers, unit: Integers, most: int) -> Integers:
    begins = np.searchsorted(unit, unit, side="left")
    places: Integers = order[np.arange(len(unit)) - begins < most]
    return places


def _hashed(first: Integers, second: Integers) -> Words:
    """Return a public hash of two cells, one to one: equal words are equal cells, so a tie changes no sum."""
    return mixed(((first + 2**15) * 2**16 + second + 2**15).astype(np.uint64))


def mixed(words: Words) -> Words:
    """Return words in which each bit depends on all, one to one: the finalizer of SplitMix64.

    Source: Steele, Lea and Flood 2014 (SplitMix).
    """
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
