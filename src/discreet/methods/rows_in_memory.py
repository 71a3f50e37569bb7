"""All encoded rows at once, for the methods that must look at them together."""

import numpy as np
import numpy.typing as npt

from discreet.data.design import Cells, RowMap
from discreet.data.engine import Table


def all_rows(table: Table, design: RowMap) -> Cells:
    """Return the encoded rows, the cut by unit enforced. Not releasable.

    Parameters
    ----------
    table : Table
        The private table.
    design : RowMap
        The row map.

    Returns
    -------
    ndarray of int16, shape (n_rows, n_columns)
        In no certain order.

    Notes
    -----
    Cost: one pass; 2 bytes a cell, twice while they are joined.
    """
    parts: list[Cells] = []

    def keep(cells: Cells) -> npt.NDArray[np.int64]:
        parts.append(np.ascontiguousarray(cells))
        return np.zeros(1, dtype=np.int64)

    table.map_reduce(design, keep, np.zeros(1, dtype=np.int64))
    return np.concatenate(parts) if parts else np.empty((0, design.n_columns), dtype=np.int16)
