"""Cells of text that are no text: missing ones, so that no cell decides whether a table can be read."""

from typing import Any

import pyarrow as pa

_AS_BYTES = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}


def text_or_none(cell: bytes) -> str | None:
    """Return what bytes say in UTF-8.

    Parameters
    ----------
    cell : bytes
        Of a cell of text.

    Returns
    -------
    str or None
        None where they are no text.
    """
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


def checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch from a file with the cells of text that are not UTF-8 made missing.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        As it was read; also with dictionaries of text.

    Returns
    -------
    pyarrow.RecordBatch
        Of the same types; fully validated.

    Raises
    ------
    pyarrow.ArrowInvalid
        When it is damaged otherwise: a damaged file must not end the process.

    Notes
    -----
    Cost: a look at every byte; where a cell is no text, its column's cells are decoded one by one.
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
    return _text_alone(cells) if kind in _AS_BYTES else cells


def _text_alone(cells: Any) -> Any:
    """Leave out what is no text, once the places of the cells in memory are known to be right."""
    as_bytes = pa.Array.from_buffers(_AS_BYTES[cells.type], len(cells), cells.buffers(), offset=cells.offset)
    as_bytes.validate(full=True)
    return pa.array([None if cell is None else text_or_none(cell) for cell in as_bytes.to_pylist()], cells.type)
