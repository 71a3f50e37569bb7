"""Copies of rows in memory that share no buffer with what the caller holds, made without looking at a cell."""

import io
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from discreet.data.batch_sizes import BATCH_ROWS


def own_frame(frame: "nw.DataFrame[Any]") -> "nw.DataFrame[Any]":
    """Return a copy of a frame, of the same library and types, that shares no memory with it.

    Polars and Arrow take a numpy array for a column as it is, and call their columns immutable: their own copies share
    the array. So these columns are written and read again, as bytes.
    """
    native = frame.to_native()
    if frame.implementation.is_pyarrow():
        return nw.from_native(own_arrow(native), eager_only=True)
    if frame.implementation.is_polars():
        return nw.from_native(_own_polars(frame, native), eager_only=True)
    if frame.implementation.is_pandas():
        return nw.from_native(_own_pandas(native), eager_only=True)
    return frame.clone()


def own_column(values: Any) -> Any:
    """Return a copy of a column, of the same kind, that shares no memory with it."""
    if isinstance(values, nw.Series):
        return own_frame(values.alias("cells").to_frame())["cells"]
    return values.copy()


def own_arrow(table: pa.Table) -> pa.Table:
    """Return a copy of an Arrow table that shares no memory with it."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=BATCH_ROWS)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def _own_polars(frame: "nw.DataFrame[Any]", native: Any) -> Any:
    """Columns of objects hold references, which polars copies by itself; the others are bytes."""
    plain = [name for name, dtype in frame.collect_schema().items() if dtype != nw.Object]
    if not plain:
        return native.clone()
    written = io.BytesIO()
    native.select(plain).write_ipc(written)
    written.seek(0)
    own = nw.get_native_namespace(frame).read_ipc(written)
    return native.with_columns(own.get_columns())


def _own_pandas(native: Any) -> Any:
    """Of columns that are no numpy arrays `copy` may keep the buffers, and `take` fills new ones."""
    own = native.copy()
    for place, dtype in enumerate(native.dtypes):
        if not isinstance(dtype, np.dtype):
            own.isetitem(place, _own_extension(native.iloc[:, place].array))
    return own


def _own_extension(array: Any) -> Any:
    own, levels = array.take(np.arange(len(array))), getattr(array, "categories", None)
    return own if levels is None else own.rename_categories(levels.array.take(np.arange(len(levels))))
