"""One pass over the rows of a private table, as a value: what is done with them wherever they are."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.data.contribution_bound import ContributionBound, UnitRows
from discreet.data.design import RowMap
from discreet.data.unit_keys import is_whole, keys_of, parts_of
from discreet.kernels.moments.exact_sums import ExactSum
from discreet.typing import Cells, Integers

BLOCK_ROWS = 2**16
"""Rows within the contribution bound that are added up at once."""


@dataclass(frozen=True)
class RowPass:
    """An integer function of encoded rows, added up over all rows of a table within the contribution bound.

    Parameters
    ----------
    design : RowMap
        The row map.
    work : callable
        From encoded rows to an array of int64; must not depend on how rows are split into blocks.
    start : ndarray of int64
        The sum of no rows.
    contribution_bound : ContributionBound, optional
        Whose the rows are, and how many of one's count.

    Notes
    -----
    Each engine runs these functions, in threads here or in processes of a cluster, so that the integers are the same.
    """

    design: RowMap
    work: Callable[[Cells], Integers]
    start: Integers
    contribution_bound: ContributionBound | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the table's columns that are read."""
        return (*self.design.columns, *(() if self.contribution_bound is None else (self.contribution_bound.unit_id,)))

    def of_batch(self, batch: pa.RecordBatch) -> Integers:
        """Return the sum over a batch of a table without a contribution bound."""
        return self.work(self.design.encode(batch))

    def of_units(self, rows: UnitRows) -> Integers:
        """Return the sum over the rows of whole units within the contribution bound."""
        if self.contribution_bound is None:
            return self.start.copy()
        if self.contribution_bound.of_units is not None:
            most = self.contribution_bound.most
            return self.contribution_bound.of_units(*rows.side_by_side(most), most)
        total = ExactSum(self.start)
        for cells in rows.bounded_blocks(self.contribution_bound.most, BLOCK_ROWS):
            total.add(self.work(cells))
        return total.value()


def owned_rows(batch: pa.RecordBatch, design: RowMap, part: int = 0, n_parts: int = 1) -> tuple[pa.Array, Cells]:
    """Return the identifiers of rows' owners, and the encoded rows, of shape (n, n_columns)."""
    width = batch.num_columns - 1
    owners, rows = batch.column(width), batch.select(range(width))
    keys = keys_of(owners, as_text=not is_whole(owners.type))
    if n_parts == 1:
        return keys, design.encode(rows)
    owned = np.flatnonzero(keys.is_valid().to_numpy(zero_copy_only=False))
    mine = pa.array(owned[parts_of(keys.take(pa.array(owned)), n_parts) == part])
    return keys.take(mine), design.encode(rows.take(mine))
