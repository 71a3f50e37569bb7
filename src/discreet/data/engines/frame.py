"""Frames in memory: pandas, polars, Arrow, and all else that narwhals reads."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from typing_extensions import override

from discreet.data.batch_sizes import BATCH_ROWS, MANY_COLUMNS, rows_a_batch
from discreet.data.engine import Table
from discreet.data.engines.own_memory import own_frame
from discreet.data.engines.text_cells import short
from discreet.data.metadata import Metadata
from discreet.errors import DataMismatchError, InvalidParameterError


class FrameTable(Table):
    """A table in memory.

    Parameters
    ----------
    frame : DataFrame or pyarrow.Table
        Anything eager that narwhals reads.
    metadata : Metadata
        What is public about it.
    name : str
        What releases call it.
    """

    is_ordered = True

    def __init__(self, frame: Any, metadata: Metadata, name: str = "frame") -> None:
        super().__init__(metadata)
        self._name = name
        try:
            self._frame = nw.from_native(frame, eager_only=True)
            self._names = [str(column) for column in self._frame.columns]
        except TypeError:
            raise InvalidParameterError(
                f"A table must be a file or a pandas, polars or Arrow frame, but it is of type {type(frame).__name__}."
            ) from None
        except Exception:  # a frame's own complaint may show cells
            raise DataMismatchError(
                "The frame's columns must have distinct names that are text. Rename them."
            ) from None

    @property
    @override
    def name(self) -> str:
        return self._name

    @override
    def header(self) -> list[tuple[str, str]]:
        return self._header

    @cached_property
    def _header(self) -> list[tuple[str, str]]:
        return [(str(name), self._kind(name, kind_of(dtype))) for name, dtype in self._frame.collect_schema().items()]

    def _kind(self, name: Any, kind: str) -> str:
        """Return a storage type, in the storage's own words where narwhals has none."""
        return kind if kind != "UNKNOWN" else storage_type(self._frame[name]) or kind

    @override
    def storage_types(self) -> Mapping[str, str]:
        kinds = dict(self._header)
        for name in self._frame.columns:
            if str(name) not in self._numeric:  # of which there may be thousands
                kinds[str(name)] = storage_type(self._frame[name]) or ""
        return {name: kind for name, kind in kinds.items() if kind}

    @cached_property
    def _numeric(self) -> frozenset[str]:
        return frozenset(str(name) for name, dtype in self._frame.collect_schema().items() if dtype.is_numeric())

    @override
    def detach(self) -> None:
        self._frame = own_frame(self._frame)

    @override
    def row_count(self) -> int | None:
        return len(self._frame)

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        arrays = self._arrays(columns)
        size = rows_a_batch(BATCH_ROWS, len(columns))
        for start in range(0, len(self._frame), size):
            yield pa.RecordBatch.from_arrays(
                [_contiguous(short(array.slice(start, size))) for array in arrays], names=list(columns)
            )

    def _arrays(self, columns: Sequence[str]) -> list[Any]:
        """Return whole columns: numbers all at once, as there may be thousands."""
        numeric = [name for name in columns if name in self._numeric] if len(columns) > MANY_COLUMNS else []
        converted: dict[str, Any] = {}
        with suppress(Exception):
            converted = dict(
                zip(numeric, self._frame.select(numeric).to_arrow().columns if numeric else (), strict=True)
            )
        return [
            converted[name]
            if name in converted
            else column_of(self._frame[name], self.metadata.is_number(name), name == self.metadata.unit_id)
            for name in columns
        ]


def kind_of(dtype: Any) -> str:
    """Return a storage type in the words that files use.

    Parameters
    ----------
    dtype : narwhals.dtypes.DType
        As the frame has it.

    Returns
    -------
    str
        Such as DOUBLE.
    """
    name = str(dtype)
    words = {
        "String": "VARCHAR",
        "Object": "VARCHAR",
        "Categorical": "ENUM",
        "Boolean": "BOOLEAN",
        "Date": "DATE",
    }
    if name.startswith(("Int", "UInt")):
        return "BIGINT"
    if name.startswith("Float"):
        return "DOUBLE"
    return words.get(name, name.upper())


def arrow_kind(kind: pa.DataType) -> str:
    """Return a storage type of Arrow in the words that files use; an enumeration has labels that are text.

    Parameters
    ----------
    kind : pyarrow.DataType
        As a schema has it.

    Returns
    -------
    str
        Such as DOUBLE.
    """
    if pa.types.is_dictionary(kind):
        entries = arrow_kind(kind.value_type)
        return "ENUM" if entries == "VARCHAR" else entries
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "VARCHAR"
    if pa.types.is_integer(kind):
        return "BIGINT"
    if pa.types.is_floating(kind):
        return "DOUBLE" if pa.types.is_float64(kind) else "FLOAT"
    return str(kind).upper()


def storage_type(values: Any) -> str | None:
    """Return the storage type that all cells of a column in memory have; no cell is looked at.

    Parameters
    ----------
    values : narwhals.Series or ndarray
        A column.

    Returns
    -------
    str or None
        None where each cell may have a type of its own, or a common one was made of several columns'.
    """
    if isinstance(values, np.ndarray):
        return _ARRAYS.get(values.dtype.kind)
    if _is_untyped(values):
        return None
    native = values.to_native()
    if isinstance(native, (pa.Array, pa.ChunkedArray)):
        return arrow_kind(native.type)
    labels = getattr(getattr(native, "dtype", None), "categories", None)  # of pandas: an index with a type
    labels_type = getattr(labels, "dtype", None)
    kind = getattr(labels_type, "kind", None)
    if kind is not None:
        return "ENUM" if str(labels_type) in ("str", "string") else _ARRAYS.get(kind)
    return kind_of(values.dtype)


_ARRAYS = {
    "b": "BOOLEAN",
    "i": "BIGINT",
    "u": "BIGINT",
    "f": "DOUBLE",
    "M": "TIMESTAMP",
    "m": "INTERVAL",
    "c": "COMPLEX",
    "S": "BLOB",
    "V": "BLOB",
}
"""By the kind of an array's type. Text and objects are what arrays of several types become."""

MOST_DIGITS = 400
"""Of a number that says which unit a row is of."""


def _contiguous(array: Any) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def column_of(values: Any, is_number: bool = False, is_unit: bool = False) -> Any:
    """Return a column as Arrow, whatever its cells are; no cell decides how another is read.

    Parameters
    ----------
    values : narwhals.Series, ndarray or list
        Numbers, text, missing cells, or a mixture.
    is_number : bool
        Whether it is declared as a number: true and false are then 1 and 0.
    is_unit : bool
        Whether it says which unit a row is of: equal numbers are then one text, however they are written.

    Returns
    -------
    pyarrow.Array or pyarrow.ChunkedArray
        Cells without a storage type become text; one that is neither number nor text becomes a missing one.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        with np.errstate(over="ignore"):
            return pa.array(values.astype(np.float64, copy=False))
    if isinstance(values, nw.Series) and not _is_untyped(values):
        with suppress(Exception):  # Arrow's complaint would show the cell
            array = values.to_arrow()
            if not pa.types.is_dictionary(array.type) or pa.types.is_string(array.type.value_type):
                return array
    cells = values.to_list() if isinstance(values, nw.Series) else values
    return pa.array([_text_or_none(cell, is_number, is_unit) for cell in cells], pa.string())


def _is_untyped(values: "nw.Series[Any]") -> bool:
    """Tell whether each cell has a type of its own; a library that guesses a common one looks at the cells."""
    return values.dtype == nw.Object or str(getattr(values.to_native(), "dtype", "")) == "object"


def _whole(cell: str) -> str | None:
    try:
        cell.encode()
    except UnicodeEncodeError:  # half of a letter is no text, and two of them are not one
        return None
    return cell


def _text_or_none(cell: Any, is_number: bool, is_unit: bool) -> str | None:
    try:
        return _text(cell, is_number, is_unit)
    except Exception:  # of an object's own class, which may do as it likes
        return None


def _text(cell: Any, is_number: bool, is_unit: bool) -> str | None:
    if isinstance(cell, str):
        return _whole(cell)
    if isinstance(cell, (bool, np.bool_)):
        return str(int(cell)) if is_number else str(cell).lower()
    if isinstance(cell, (int, np.integer)):
        return str(cell) if abs(int(cell)) < 2**1024 else None
    if isinstance(cell, (float, np.floating)):
        value = float(cell)
        if value.is_integer():
            return str(int(value))
        return None if not np.isfinite(value) else _digits(Decimal(repr(value))) if is_unit else repr(value)
    if not isinstance(cell, Decimal):
        return None
    return _digits(cell) if is_unit else str(cell)


def _digits(number: Decimal) -> str | None:
    """Return all digits of a number as `unit_keys` writes it: the same for one number of any scale.

    None where it has no digits, or far more than any identifier.
    """
    if not number.is_finite() or abs(number.adjusted()) > MOST_DIGITS or len(number.as_tuple().digits) > MOST_DIGITS:
        return None
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
