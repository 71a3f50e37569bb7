"""At most so many rows of one unit in each sum of products, one feature at a time."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.data.design import Cells
from discreet.data.score_design import ScoreDesign
from discreet.data.unit_cut import unit_keys
from discreet.kernels.unit_products import kept_products, kept_sum

Integers = npt.NDArray[np.int64]


def cut_products(batches: Iterable[pa.RecordBatch], design: ScoreDesign, unit_id: str, rows_per_unit: int) -> Integers:
    """Return the sums of products of each feature with the target, at most ``rows_per_unit`` rows of each unit in one.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        The design's columns and the unit's.
    design : ScoreDesign
        The row map.
    unit_id : str
        The unit's column.
    rows_per_unit : int
        The most rows of one unit in a sum.

    Returns
    -------
    ndarray of int64, shape (n_features,)
        In units of 1 / 32767^2.

    Notes
    -----
    Which rows of a unit a feature's sum takes depends on that unit's cells of this feature and of the target alone:
    the first ones by a public hash, so that the choice is the same in any order of rows, whatever else is scored, and
    favors no value. A row without an identifier is left out: it could be anybody's. Holds the encoded rows of the
    group in memory, about 2 bytes a cell.

    References
    ----------
    Privacy specification 0.1 (unit of privacy).
    """
    cells, starts = _by_unit(batches, design, unit_id)
    return kept_products(cells, starts, rows_per_unit)


def cut_target(batches: Iterable[pa.RecordBatch], design: ScoreDesign, unit_id: str, rows_per_unit: int) -> Integers:
    """Return the sum of the target's integers and the number of rows that it is of, the cut by unit enforced.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        The target and the unit's column.
    design : ScoreDesign
        The row map.
    unit_id : str
        The unit's column.
    rows_per_unit : int
        The most rows that count of one unit.

    Returns
    -------
    ndarray of int64, shape (2,)
        The sum in units of 1 / 32767, and the number of rows.
    """
    cells, starts = _by_unit(batches, design, unit_id)
    return kept_sum(cells[:, -1], starts, rows_per_unit)


def _by_unit(batches: Iterable[pa.RecordBatch], design: ScoreDesign, unit_id: str) -> tuple[Cells, Integers]:
    """Encoded rows, those of one unit side by side, and where each unit's begin; the last place is the end."""
    blocks, keys = [np.empty((0, design.n_columns), dtype=np.int16)], [pa.array([], pa.string())]
    for batch in batches:
        blocks.append(design.encode(batch.drop_columns([unit_id])))
        keys.append(unit_keys(batch.column(unit_id)).cast(pa.string()))
    units = pc.dictionary_encode(pa.chunked_array(keys).cast(pa.large_string()).combine_chunks()).indices
    codes = pc.fill_null(units.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    order = order[np.searchsorted(codes[order], 0) :]
    starts = np.append(np.flatnonzero(np.diff(codes[order], prepend=-1)), len(order))
    return np.concatenate(blocks)[order], starts.astype(np.int64)
