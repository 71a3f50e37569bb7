"""Cells that are not of their column's type: missing ones, so that no cell decides whether a table can be read."""

from decimal import Decimal
from typing import Any

import pyarrow as pa

from discreet.data import arrow_functions as pc

_AS_BYTES = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}
MOST_BYTES = 2**14
"""Of a cell of text: a longer one is missing, so that the text of a batch is never more than an array holds."""
_MOST_DIGITS = {pa.Decimal32Type: 9, pa.Decimal64Type: 18, pa.Decimal128Type: 38, pa.Decimal256Type: 76}
"""Of a decimal number, by its storage; a column may declare fewer."""


def text_or_none(cell: bytes, codec: str = "utf-8") -> str | None:
    """Return bytes as text, or None where they are none, or not as the codec writes that text."""
    try:
        text = cell.decode(codec)
        return text if codec == "utf-8" or text.encode(codec) == cell else None  # other bytes are another unit
    except UnicodeError:
        return None


def as_text(batch: pa.RecordBatch, codec: str) -> pa.RecordBatch:
    """Return a batch whose columns of bytes are text, of which what cannot be decoded is missing."""
    return pa.RecordBatch.from_arrays([_decoded(cells, codec) for cells in batch.columns], names=batch.schema.names)


def short(cells: Any) -> Any:
    """Return a column as it is, but for text of more than `MOST_BYTES` and places in no dictionary, which are missing.

    Cost: a look at lengths, or at places.
    """
    kind = cells.type
    if isinstance(cells, pa.ChunkedArray):  # one by one, as all together may be too long
        chunks = [short(chunk) for chunk in cells.chunks]
        return pa.chunked_array(chunks, chunks[0].type if chunks else kind)
    if pa.types.is_dictionary(kind):
        dictionary, indices = cells.dictionary, cells.indices
        entries, places = short(dictionary), _within(indices, len(dictionary))
        is_same = entries is dictionary and places is indices
        return cells if is_same else pa.DictionaryArray.from_arrays(places, entries, ordered=kind.ordered)
    if pa.types.is_string_view(kind):  # of which Arrow knows no lengths
        return short(cells.cast(pa.large_string()))
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return cells
    is_long = pc.greater(pc.binary_length(cells), MOST_BYTES)
    if not pc.any(is_long).as_py():
        return cells
    return cells.take(pc.if_else(is_long, None, pa.array(range(len(cells)), pa.int64())))  # copies no long one


def _decoded(cells: Any, codec: str) -> Any:
    if cells.type != pa.binary():
        return cells
    coded = cells.dictionary_encode()
    entries = [text_or_none(entry, codec) for entry in coded.dictionary.to_pylist()]
    return pa.array(entries, pa.string()).take(coded.indices)


def checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose impossible cells are missing: no UTF-8, too long decimals, places in no dictionary.

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
        places = _within(cells.indices, len(entries))
        return pa.DictionaryArray.from_arrays(places, entries, ordered=kind.ordered, safe=False)
    if type(kind) in _MOST_DIGITS:
        return _declared_digits(cells)
    return _text_alone(cells) if kind in _AS_BYTES else cells


def _within(places: Any, n_entries: int) -> Any:
    """Leave out places of no entry, such as the -1 by which pandas counts a missing cell."""
    unsigned = pc.cast(places, pa.uint64(), safe=False)  # a negative one becomes very large
    is_one = pc.less(unsigned, pa.scalar(n_entries, pa.uint64()))
    return (
        places if pc.all(is_one).as_py() in (True, None) else pc.if_else(is_one, places, pa.scalar(None, places.type))
    )


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
