"""Cells that are not of their column's type: missing ones, so that no cell decides whether a table can be read."""

from decimal import Decimal
from typing import Any

import pyarrow as pa

_AS_BYTES = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}
_MOST_DIGITS = {pa.Decimal32Type: 9, pa.Decimal64Type: 18, pa.Decimal128Type: 38, pa.Decimal256Type: 76}
"""Of a decimal number, by its storage; a column may declare fewer."""


def text_or_none(cell: bytes) -> str | None:
    """Return bytes as UTF-8 text, or None where they are not."""
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


def checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose impossible cells are missing: text that is not UTF-8, decimals that are too long.

    Cost: a look at every byte; where a cell is impossible, its column's cells are read one by one.
    """
    return pa.RecordBatch.from_arrays([_checked(column) for column in batch.columns], schema=batch.schema)


def _checked(cells: Any) -> Any:
    try:
        cells.validate(full=True)
    except pa.ArrowInvalid:
        cells.validate()
        cells = _mended(cells)
        cells.validate(full=True)
    return cells


def _mended(cells: Any) -> Any:
    kind = cells.type
    if isinstance(kind, pa.BaseExtensionType):
        return kind.wrap_array(_checked(cells.storage))
    if isinstance(kind, pa.DictionaryType):
        entries = _checked(cells.dictionary)
        return pa.DictionaryArray.from_arrays(cells.indices, entries, ordered=kind.ordered, safe=False)
    if type(kind) in _MOST_DIGITS:
        return _declared_digits(cells)
    return _text_alone(cells) if kind in _AS_BYTES else cells


def _declared_digits(cells: Any) -> Any:
    """Leave out numbers of more digits than their column declares."""
    kind, most = cells.type, _MOST_DIGITS[type(cells.type)]
    wide = pa.Array.from_buffers(_with_digits(kind, most), len(cells), cells.buffers(), offset=cells.offset)
    wide.validate(full=True)
    limit = Decimal(10) ** (kind.precision - kind.scale)
    return pa.array([None if cell is None or abs(cell) >= limit else cell for cell in wide.to_pylist()], kind)


def _with_digits(kind: Any, digits: int) -> Any:
    """Return the decimal type of the same storage and scale."""
    make = {32: pa.decimal32, 64: pa.decimal64, 128: pa.decimal128, 256: pa.decimal256}[kind.bit_width]
    return make(digits, kind.scale)


def _text_alone(cells: Any) -> Any:
    """Leave out what is no text, once the places of the cells in memory are known to be right."""
    as_bytes = pa.Array.from_buffers(_AS_BYTES[cells.type], len(cells), cells.buffers(), offset=cells.offset)
    as_bytes.validate(full=True)
    return pa.array([None if cell is None else text_or_none(cell) for cell in as_bytes.to_pylist()], cells.type)
