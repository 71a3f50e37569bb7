"""What the workers of a Spark cluster run: the pass of every engine, over the rows of one partition."""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.data.contribution_bound import UnitRows
from discreet.data.row_pass import BLOCK_ROWS, RowPass, owned_rows
from discreet.kernels.moments.exact_sums import ExactSum
from discreet.typing import Cells, Integers

Batches = Iterable[pa.RecordBatch]
Step = Callable[[Any, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

FAILED = "A pass over private rows failed. Why is not told: it may depend on them."
PIECE = 2**13
"""Integers of a sum that travel as one row."""
HELD_BYTES = 2**26
"""Of encoded rows that a worker keeps until those of a unit are all there; three times that for a moment."""
ROW_BYTES = 2**26
"""Of encoded rows that leave a worker at once."""

SUMS = "place bigint, part binary, n_rows bigint"
"""What sums travel as, in Spark's words: some of the integers, their place, and the rows that they are of."""
CELLS = "cells binary"
"""What encoded rows travel as: those of a block, side by side."""


def guarded(step: Step, pickled: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run a step on a partition; of any error, one constant text leaves the worker."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning in a log would tell of rows
            yield from step(_unpickled(pickled) if pickled else None, batches)
    except GeneratorExit:
        raise
    except BaseException:
        failed = True
    else:
        failed = False
    if failed:
        raise RuntimeError(FAILED)


@lru_cache(maxsize=2)
def _unpickled(pickled: bytes) -> RowPass:
    """Return the pass, once for all partitions of a worker: what it caches of public points serves the next."""
    from pyspark import cloudpickle

    row_pass: RowPass = cloudpickle.loads(pickled)
    return row_pass


def sums(row_pass: RowPass, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add up a partition without a contribution bound: pieces as `SUMS`, none for no rows."""
    total, n_rows = ExactSum(row_pass.start), 0
    for batch in _named(batches, row_pass.columns):
        total.add(row_pass.of_batch(batch))
        n_rows += batch.num_rows
    if n_rows:
        yield from pieces(total.value(), n_rows)


def rows_of_units(row_pass: RowPass, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Encode rows beside their owners (a key, integers or bytes of text); leave out rows of nobody."""
    width = 2 * row_pass.design.n_columns
    size = max(1, ROW_BYTES // width)
    for batch in _named(batches, row_pass.columns):
        for start in range(0, batch.num_rows, size):
            keys, cells = owned_rows(batch.slice(start, size), row_pass.design)
            if not pa.types.is_integer(keys.type):
                keys = keys.cast(pa.large_binary()).cast(pa.binary())  # text would be compared as the session says
            # A row's integers as one binary cell, without a copy: all cells are equally long, so that their ends are
            # multiples.
            ends = np.arange(len(cells) + 1, dtype=np.int32) * np.int32(width)
            data = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(cells))]
            rows = pa.Array.from_buffers(pa.binary(), len(cells), data)
            yield pa.RecordBatch.from_arrays([keys, rows], names=["key", "cells"]).filter(keys.is_valid())


def sums_of_units(row_pass: RowPass, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add up the rows of whole units within the contribution bound: pieces as `SUMS`, none for no rows."""
    total, has_rows = ExactSum(row_pass.start), False
    for rows in _whole_units(row_pass.design.n_columns, batches):
        total.add(row_pass.of_units(rows))
        has_rows = True
    if has_rows:
        yield from pieces(total.value(), 0)


def encoded(row_pass: RowPass, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Encode rows without a contribution bound: blocks of rows as `CELLS`."""
    size = max(1, ROW_BYTES // (2 * row_pass.design.n_columns))
    for batch in _named(batches, row_pass.columns):
        for start in range(0, batch.num_rows, size):
            yield _block(row_pass.design.encode(batch.slice(start, size)))


def encoded_units(row_pass: RowPass, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Encode the rows of whole units within the contribution bound: blocks of rows as `CELLS`."""
    most = 0 if row_pass.contribution_bound is None else row_pass.contribution_bound.most
    for rows in _whole_units(row_pass.design.n_columns, batches):
        for cells in rows.bounded_blocks(most, BLOCK_ROWS):
            yield _block(cells)


def as_they_are(row_pass: RowPass, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return rows in the storage's own types: batches as Arrow streams in `CELLS`."""
    for batch in _named(batches, row_pass.columns):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=["cells"])


def added(_: object, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add up pieces of sums that have the same place: `SUMS`, each place once."""
    totals, n_rows = joined(batches)
    for place, total in totals.items():
        yield _piece(place, total.value(), n_rows)
        # The number of rows stands in one piece alone, for it is added up over all.
        n_rows = 0


def joined(batches: Batches) -> tuple[dict[int, ExactSum], int]:
    """Add up pieces of sums that have the same place: return the sum of each place, and the number of rows."""
    totals: dict[int, ExactSum] = {}
    n_rows = 0
    for batch in batches:
        for place, part, rows in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            piece = np.frombuffer(part, dtype="<i8").astype(np.int64)
            if place not in totals:
                totals[place] = ExactSum(np.zeros_like(piece))
            totals[place].add(piece)
            n_rows += rows
    return totals, n_rows


def pieces(total: Integers, n_rows: int) -> Iterator[pa.RecordBatch]:
    """Split a sum into pieces, as `SUMS`."""
    flat = total.reshape(-1)
    for place, start in enumerate(range(0, len(flat), PIECE)):
        yield _piece(place, flat[start : start + PIECE], n_rows)
        n_rows = 0


def _piece(place: int, part: Integers, n_rows: int) -> pa.RecordBatch:
    columns = [pa.array([place]), pa.array([part.astype("<i8").tobytes()], pa.binary()), pa.array([n_rows])]
    return pa.RecordBatch.from_arrays(columns, names=["place", "part", "n_rows"])


def _block(cells: Cells) -> pa.RecordBatch:
    rows = pa.array([np.ascontiguousarray(cells).tobytes()], pa.binary())
    return pa.RecordBatch.from_arrays([rows], names=["cells"])


def _named(batches: Batches, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Return the same rows under the table's own names; on the way they have names that every storage accepts."""
    for batch in batches:
        yield pa.RecordBatch.from_arrays(batch.columns, names=list(names))


def _whole_units(n_columns: int, batches: Batches) -> Iterator[UnitRows]:
    """Yield rows of some units after the other, as many as fit in memory, all of a unit at once."""
    rows, size, last = UnitRows(n_columns), 0, None
    for batch in batches:
        keys, cells = _narrow(batch.column(0)), _cells_of(batch.column(1), n_columns)
        if not len(keys):
            continue
        _check_order(keys, last)
        if size >= HELD_BYTES:
            # Rows come in the order of their keys, so a unit may go on into this batch: what is held is given out at
            # the first row of another one.
            end = pc.index(pc.not_equal(keys, last), True).as_py()
            if end >= 0:
                rows.add(keys.slice(0, end), cells[:end])
                yield rows
                rows, size, keys, cells = UnitRows(n_columns), 0, keys.slice(end), cells[end:]
        rows.add(keys, cells)
        size += cells.nbytes
        last = keys[-1]
    if last is not None:
        yield rows


def _check_order(keys: pa.Array, last: pa.Scalar | None) -> None:
    """Refuse a plan that lost its sort: a unit in two places would keep more rows than its contribution bound."""
    is_sorted = pc.all(pc.less_equal(keys.slice(0, len(keys) - 1), keys.slice(1))).as_py()
    if is_sorted is False or (last is not None and pc.less(keys[0], last).as_py()):
        raise ValueError(FAILED)


def _cells_of(rows: pa.Array, n_columns: int) -> Cells:
    """Return rows from their bytes, which lie side by side."""
    rows = _narrow(rows)
    ends = np.frombuffer(rows.buffers()[1], dtype=np.int32)[rows.offset : rows.offset + len(rows) + 1]
    cells = np.frombuffer(rows.buffers()[2], dtype=np.int16, count=(ends[-1] - ends[0]) // 2, offset=int(ends[0]))
    return cells.reshape(len(rows), n_columns)


def _narrow(cells: pa.Array) -> pa.Array:
    """Return bytes with offsets of 32 bits, as they were sent: a session may return them with offsets of 64."""
    return cells if pa.types.is_integer(cells.type) else cells.cast(pa.binary())


def versions(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the worker's versions of Discreet and Python, in one text; read no table."""
    yield pa.RecordBatch.from_arrays([pa.array([own_versions()])], names=["versions"])


def own_versions() -> str:
    """Return this process's versions of what must be the same everywhere for a pass to give the same integers."""
    return f"discreet {version('discreet')}, Python {sys.version_info.major}.{sys.version_info.minor}"
