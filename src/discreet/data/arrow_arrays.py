"""Arrow arrays of numbers and texts from and to their bytes: pyarrow's own conversion would load pandas first."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.typing import Floats


def number_array(values: Floats) -> pa.Array:
    """Return numbers as Arrow doubles; NaN is missing.

    Examples
    --------
    >>> number_array(np.array([1.5, np.nan])).to_pylist()
    [1.5, None]
    """
    missing = np.isnan(values)
    present = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    return pa.Array.from_buffers(pa.float64(), len(values), [present, _buffer(values, np.float64)])


def place_array(places: npt.NDArray[Any]) -> pa.Array:
    """Return whole numbers as Arrow integers of 64 bits."""
    return pa.Array.from_buffers(pa.int64(), len(places), [None, _buffer(places, np.int64)])


def text_array(texts: Sequence[str]) -> pa.Array:
    """Return texts as Arrow strings.

    Examples
    --------
    >>> text_array(["", "ü", "abc"]).to_pylist()
    ['', 'ü', 'abc']
    """
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)])
    return pa.StringArray.from_buffers(len(encoded), _buffer(ends, np.int32), pa.py_buffer(b"".join(encoded)))


def cells_of(values: pa.Array, missing: float = 0) -> npt.NDArray[Any]:
    """Return the cells of an array of numbers, `missing` where there is none; they may share its memory: read-only.

    Examples
    --------
    >>> cells_of(place_array(np.array([3, 1, 2]))[1:])
    array([1, 2])
    """
    kind, part = values.type.to_pandas_dtype(), slice(values.offset, values.offset + len(values))
    if not len(values):
        return np.empty(0, dtype=kind)
    bits, own = values.buffers()
    cells = np.frombuffer(own, dtype=kind)[part]
    if not values.null_count:
        return cells
    present = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=part.stop, bitorder="little")[part]
    return np.where(present == 1, cells, kind(missing))


def _buffer(values: npt.NDArray[Any], kind: type[np.generic]) -> pa.Buffer:
    return pa.py_buffer(np.ascontiguousarray(values, dtype=kind))
