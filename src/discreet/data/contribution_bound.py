"""The contribution bound: rows of a unit beyond it are dropped before anything else sees them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.data import arrow_functions as pc
from discreet.data.unit_keys import unit_words
from discreet.kernels.rows.contribution_bound import kept_rows
from discreet.typing import Cells, Integers, Words

OfUnits = Callable[[Cells, Integers, Words, int], Integers]
"""From rows, those of one unit side by side, where each unit's begin and end, its hash, and the most of one: a sum."""


@dataclass(frozen=True)
class ContributionBound:
    """Whose a row is, and how many of one's rows remain.

    Parameters
    ----------
    unit_id : str
        The unit's column.
    most : int
        The most rows that remain of one unit.
    of_units : callable, optional
        The sum over the rows that remain, where it chooses them itself, by that unit's identifier and rows alone;
        default a sample by a public hash of the identifier and all cells.
    """

    unit_id: str
    most: int
    of_units: OfUnits | None = None


class UnitRows:
    """Encoded rows and their owners, until those of each unit can stand side by side.

    Parameters
    ----------
    n_columns : int
        Integers of a row.

    Notes
    -----
    A row without an identifier is left out: it could be anybody's. Holds the rows in memory, 2 bytes a cell, and twice
    that for a moment.

    References
    ----------
    Privacy specification 0.1 (unit of privacy).
    """

    def __init__(self, n_columns: int) -> None:
        self._blocks: list[Cells] = [np.empty((0, n_columns), dtype=np.int16)]
        self._keys: list[pa.Array] = []

    def add(self, keys: pa.Array, cells: Cells) -> None:
        """Add rows.

        Parameters
        ----------
        keys : pyarrow.Array
            Owners, as `keys_of` returns them, of one type in all calls; null for nobody.
        cells : ndarray of int16, shape (n_rows, n_columns)
            Encoded rows.
        """
        if keys.null_count:
            owned = keys.is_valid()
            keys, cells = keys.filter(owned), cells[owned.to_numpy(zero_copy_only=False)]
        self._keys.append(keys)
        self._blocks.append(cells)

    def side_by_side(self, most: int) -> tuple[Cells, Integers, Words]:
        """Return the rows, those of one unit together; the rows that were added are released from memory.

        Parameters
        ----------
        most : int
            The most rows that will remain of one unit.

        Returns
        -------
        ndarray of int16, shape (n, n_columns)
            Without the rows of nobody.
        ndarray of int64, shape (n_units + 1,)
            Where each unit's rows begin; the last place is n.
        ndarray of uint64, shape (n_units,)
            A public hash of the identifier of each unit with more rows than `most`; 0 of others.
        """
        codes, names = self._codes()
        cells = np.concatenate(self._blocks)
        self._blocks, self._keys = self._blocks[:1], []  # before there is a third copy
        order = np.argsort(codes)
        codes = codes[order]
        starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])) if len(codes) else np.empty(0, dtype=np.int64)
        starts = np.append(starts, len(codes)).astype(np.int64)
        crowded = np.flatnonzero(np.diff(starts) > most)
        units = pa.array(codes[starts[crowded]])
        words = np.zeros(len(starts) - 1, dtype=np.uint64)
        words[crowded] = unit_words(units if names is None else names.take(units))
        return cells[order], starts, words

    def _codes(self) -> tuple[Integers, pa.Array | None]:
        """Return a number for each row's unit, and identifiers by these numbers; None where they are the numbers."""
        if not any(len(keys) for keys in self._keys):
            return np.empty(0, dtype=np.int64), None
        keys = pa.concat_arrays(self._keys)
        if pa.types.is_integer(keys.type):
            return np.asarray(keys.to_numpy().astype(np.int64, copy=False)), None
        coded = pc.dictionary_encode(keys)
        return np.asarray(coded.indices.to_numpy().astype(np.int64, copy=False)), coded.dictionary

    def bounded_blocks(self, most: int, block_rows: int) -> Iterator[Cells]:
        """Return at most so many rows of each unit, a sample by its identifier and encoded rows alone.

        Parameters
        ----------
        most : int
            The most rows that remain of one unit.
        block_rows : int
            Rows of a block.

        Yields
        ------
        ndarray of int16, shape (n, n_columns)
            Rows.
        """
        rows = kept_rows(*self.side_by_side(most), most)
        for start in range(0, len(rows), block_rows):
            yield rows[start : start + block_rows]
