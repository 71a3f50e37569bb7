"""The contribution bound: rows of a unit beyond it are dropped before anything else sees them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.kernels.rows.contribution_bound import kept_rows
from discreet.typing import Cells, Integers

OfUnits = Callable[[Cells, Integers, int], Integers]
"""From rows, those of one unit side by side, where each unit's begin and end, and the most of one: a sum."""


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
        The sum over the rows that remain, where it chooses them itself, by that unit's rows alone; default the first
        rows by a public hash of all their cells.
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

    def side_by_side(self) -> tuple[Cells, Integers]:
        """Return the rows, those of one unit together; the rows that were added are released from memory.

        Returns
        -------
        ndarray of int16, shape (n, n_columns)
            Without the rows of nobody.
        ndarray of int64, shape (n_units + 1,)
            Where each unit's rows begin; the last place is n.
        """
        codes = self._codes()
        cells = np.concatenate(self._blocks)
        self._blocks, self._keys = self._blocks[:1], []  # before there is a third copy
        order = np.argsort(codes)
        codes = codes[order]
        starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])) if len(codes) else np.empty(0, dtype=np.int64)
        return cells[order], np.append(starts, len(codes)).astype(np.int64)

    def _codes(self) -> Integers:
        """Return a number for each unit."""
        if not any(len(keys) for keys in self._keys):
            return np.empty(0, dtype=np.int64)
        keys = pa.concat_arrays(self._keys)
        codes = keys if pa.types.is_integer(keys.type) else pc.dictionary_encode(keys).indices
        return np.asarray(codes.to_numpy().astype(np.int64, copy=False))

    def bounded_blocks(self, most: int, block_rows: int) -> Iterator[Cells]:
        """Return at most so many rows of each unit, chosen by that unit's encoded rows alone, in any order of rows.

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
        rows = kept_rows(*self.side_by_side(), most)
        for start in range(0, len(rows), block_rows):
            yield rows[start : start + block_rows]
