"""CSV files: a record is a row, whatever its cells hold and however many they are."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from typing_extensions import override

from discreet.data.batch_sizes import BATCH_ROWS, WIDE_GROUP, rows_a_batch
from discreet.data.engines.file_table import FileTable
from discreet.data.engines.text_cells import checked, short

DELIMITERS = ",;\t|"
MAX_HEADER = 2**26
"""A header is shorter, in bytes."""
MAX_RECORD = 2**24
"""Longest record in bytes, of a table of few columns; a longer one is left out whole."""
BYTES_A_COLUMN = 64
"""Longest record for each column, where they are many."""
PIECE = 2**22
"""Bytes that are read at once."""

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Records = tuple[Bytes, Places, Places]
"""A piece of the file, and where each record in it begins and ends."""


class CsvTable(FileTable):
    """A CSV file: every cell is read as text, so that no cell can decide how another is read.

    Notes
    -----
    The delimiter is told from the header line alone. Records are those of RFC 4180, and what is none is read by fixed
    rules (`discreet.kernels.rows.csv_compiled`): a record with arbitrary text in quotes is one row, and a line that
    breaks the rules is left out alone. A short record is padded, a long one cut, an empty line is none. An empty cell
    is a missing one, and so is one that is no UTF-8. All cells go through the same row map as those of every other
    storage.
    """

    @override
    def _read_header(self) -> list[tuple[str, str]]:
        try:
            with self.path.open("rb") as file:
                # Bytes that are no text may stand further down, where they must not matter.
                first = file.readline(MAX_HEADER).decode("utf-8-sig", "surrogateescape")
                self._delimiter = max(DELIMITERS, key=re.sub(r'"[^"]*("|$)', "", first).count)
                names = next(csv.reader(_lines(first, file), delimiter=self._delimiter, strict=True), None)
                self._first_row = file.tell()
            "".join(names or []).encode()
            names = names if self._first_row < MAX_HEADER else None
        except (OSError, UnicodeError, csv.Error):
            names = None
        if not names or not any(names):
            raise self.unreadable("CSV")
        return [(name, "VARCHAR") for name in names]

    @override
    def storage_types(self) -> Mapping[str, str]:
        return {}

    @property
    @override
    def group_columns(self) -> int:
        return WIDE_GROUP

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for stream in self.streams(columns):
            yield from stream

    @override
    def streams(self, columns: Sequence[str]) -> Iterator[Iterable[pa.RecordBatch]]:
        for records in self._pieces():
            yield self._batches(records, columns)

    def _pieces(self) -> Iterator[Records]:
        """Read the file piece by piece, and find the records that end in each."""
        # Here, as at the program's start nobody waits for the compiler to be loaded.
        from discreet.kernels.rows.csv_compiled import AT, RECORD, frame, state_at

        self.require_unchanged()
        longest = min(max(MAX_RECORD, BYTES_A_COLUMN * len(self._header)), 2**30)
        state, base, remainder = state_at(self._first_row), self._first_row, b""
        with self.path.open("rb") as file:
            file.seek(base)
            while True:
                chunk = file.read(PIECE)
                raw = remainder + chunk
                data = np.frombuffer(raw, dtype=np.uint8)
                starts = np.empty(raw.count(b"\n") + 1, dtype=np.int64)
                ends = np.empty_like(starts)
                n = frame(data, base, not chunk, ord(self._delimiter), longest, state, starts, ends)
                if n:
                    yield data, starts[:n], ends[:n]
                if state[AT] < base:
                    base, remainder = int(state[AT]), b""
                    file.seek(base)
                elif chunk:
                    # A carriage return at the end is not counted. Of what is too long nothing is kept but the byte
                    # that tells whether a quote begins a cell.
                    needed = state[RECORD] if state[AT] - state[RECORD] <= longest + 1 else state[AT] - 1
                    remainder, base = raw[needed - base :], int(needed)
                else:
                    break
        self.require_unchanged()

    def _batches(self, records: Records, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        data, starts, ends = records
        place = {name: i for i, (name, _) in enumerate(self._header)}
        order = {name: i for i, name in enumerate(dict.fromkeys(columns))}
        positions = [place[name] for name in order]
        places = np.full(max(positions) + 1, -1)
        places[positions] = np.arange(len(positions))
        size = rows_a_batch(BATCH_ROWS, len(positions))
        for at in range(0, len(starts), size):
            part = data, starts[at : at + size], ends[at : at + size]
            cells, n = _cells(part, ord(self._delimiter), places, len(positions)), len(part[1])
            arrays = [cells.slice(order[name] * n, n) for name in columns]
            batch = pa.RecordBatch.from_arrays([short(column) for column in arrays], names=list(columns))
            yield batch if _is_text(cells) else checked(batch)


def _lines(first: str, file: BinaryIO) -> Iterator[str]:
    """Return the header's lines, and in no case the whole file."""
    yield first
    while file.tell() < MAX_HEADER and (line := file.readline(MAX_HEADER)):
        yield line.decode("utf-8", "surrogateescape")


def _cells(records: Records, delimiter: int, places: Places, n_wanted: int) -> pa.StringArray:
    """Return all cells of one column, then those of the next; not yet checked to be text."""
    from discreet.kernels.rows.csv_compiled import copy_cells, find_cells

    data, starts, ends = records
    shape = n_wanted, len(starts)
    begins, sizes, is_mixed = np.empty(shape, np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.bool_)
    find_cells(data, starts, ends, delimiter, places, begins, sizes, is_mixed)
    offsets = np.zeros(sizes.size + 1, dtype=np.int32)
    np.cumsum(sizes, out=offsets[1:])
    text = np.empty(offsets[-1], dtype=np.uint8)
    copy_cells(data, begins.ravel(), sizes.ravel(), is_mixed.ravel(), offsets, text)
    validity = np.packbits(sizes.ravel() > 0, bitorder="little")
    return pa.StringArray.from_buffers(sizes.size, *(pa.py_buffer(part) for part in (offsets, text, validity)))


def _is_text(cells: pa.StringArray) -> bool:
    try:
        cells.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
