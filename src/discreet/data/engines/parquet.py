"""Parquet, read by row groups side by side: a file, a folder of files with or without partitions, an object store."""

import os
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq
from typing_extensions import override

from discreet.data.batch_sizes import BATCH_ROWS, rows_a_batch
from discreet.data.engine import Table
from discreet.data.engines.each import MOST_WORKERS
from discreet.data.engines.file_table import changed
from discreet.data.engines.parquet_files import constants_of, files_at, public_address
from discreet.data.engines.text_cells import checked, short
from discreet.data.metadata import CategoryColumn, Metadata
from discreet.data.unit_keys import is_whole, number_texts, unit_keys
from discreet.errors import DataMismatchError, InvalidParameterError
from discreet.release import READ

BUFFER_BYTES = 2**16
"""Read ahead of each column; a wide table has thousands."""
MOST_OPEN = 2 * MOST_WORKERS
FEW_ROWS = 64
TAIL = 8
"""Bytes at the end of a file: how long its footer is, and the format's mark."""


@dataclass(frozen=True)
class _Part:
    """One file, and what its folders say of all its rows."""

    path: str
    footer: pq.FileMetaData
    constants: dict[str, str | None]

    @cached_property
    def schema(self) -> pa.Schema:
        return self.footer.schema.to_arrow_schema()

    @cached_property
    def fields(self) -> dict[str, pa.DataType]:
        """Types of the columns as batches hold them; a doubled name has the type of one of them."""
        types = {field.name: _batch_type(field.type) for field in self.schema}
        if any(map(pa.types.is_decimal, types.values())):
            types |= dict.fromkeys(self._decimals_of_any_length(), pa.binary())
        return types | dict.fromkeys(self.constants, pa.string())

    def _decimals_of_any_length(self) -> list[str]:
        """Name columns of decimals whose cells have lengths of their own: one cell of none, or more, ends a pass."""
        columns = map(self.footer.schema.column, range(self.footer.num_columns))
        return [
            column.path
            for column in columns
            if column.physical_type == "BYTE_ARRAY" and column.logical_type.type == "DECIMAL"
        ]


class ParquetTable(Table):
    """Parquet files that make up one table.

    Parameters
    ----------
    place : Path or str
        A file, a folder, or the address of one of these in an object store. Folders named ``column=value``, as Hive
        and Spark write them, are columns of text. Files whose names begin with a dot or an underscore are no data.
    metadata : Metadata
        What is public about it.
    table : str, optional
        Not for this kind.

    Notes
    -----
    Opening reads the footers. Each thread reads a row group of its own. A column may have another type in each file:
    where those are numbers here and text there, all of its cells are read as text, which means the same to the row
    map. Statistics of row groups are not looked at: every row counts, so no row group can be left out.
    """

    is_ordered = True

    def __init__(self, place: Path | str, metadata: Metadata, table: str | None = None) -> None:
        super().__init__(metadata, READ)
        if table is not None:
            raise InvalidParameterError("Parquet files hold one table each: leave --table out, or name another file.")
        self._files, root, paths = files_at(place)
        self._name = PurePosixPath(root).name
        self._locator = str(place) if isinstance(place, Path) else public_address(place)
        self._open: list[tuple[_Part, pq.ParquetFile]] = []
        self._lock = threading.Lock()
        self._written = dict(zip(paths, self._stamps(paths), strict=True))
        self._parts = self._read_footers(root, paths)
        self._header = self._read_header()

    @property
    @override
    def name(self) -> str:
        return self._name

    @property
    @override
    def locator(self) -> str | None:
        return self._locator

    @override
    def header(self) -> list[tuple[str, str]]:
        return self._header

    @override
    def storage_types(self) -> Mapping[str, str]:
        if len(self._parts) == 1 and not self._parts[0].constants:
            return dict(self._header)
        kinds = ((name, self._common_kind(name)) for name, _ in self._header)
        return {name: kind for name, kind in kinds if kind is not None}

    def _common_kind(self, name: str) -> str | None:
        """Return a storage type that no file contradicts; None where some hold text, or the folders' names tell."""
        if name in self._parts[0].constants:
            return None
        kinds = dict.fromkeys(_kind(part.fields[name]) for part in self._parts)
        kinds.pop("NULL", None)
        if len(kinds) < 2:
            return next(iter(kinds), None)
        return "DOUBLE" if kinds.keys() <= set(_NUMBERS.values()) - {"BOOLEAN"} else None

    @override
    def require_unchanged(self) -> None:
        self._require_unchanged(self._written)

    def _require_unchanged(self, paths: Collection[str]) -> None:
        if self._stamps(paths) != [self._written[path] for path in paths]:
            raise changed()

    def _stamps(self, paths: Collection[str]) -> list[Any]:
        """Return the size of each file, and when it was written: what the footers say holds for no other file."""
        try:
            return [(file.size, file.mtime_ns) for file in self._files.get_file_info(list(paths))]
        except OSError:  # whose text could show the keys in an address
            return [None] * len(paths)

    @override
    def holds_file(self, path: Path) -> bool:
        is_local = isinstance(self._files, pyarrow.fs.LocalFileSystem)
        return is_local and any(os.path.samefile(path, part.path) for part in self._parts)

    @override
    def row_count(self) -> int | None:
        return sum(int(part.footer.num_rows) for part in self._parts)

    def _read_footers(self, root: str, paths: list[str]) -> list[_Part]:
        def read(path: str) -> _Part:
            try:
                with self._files.open_input_file(path) as file:
                    return _Part(path, pq.read_metadata(_footer(file)), constants_of(path, root))
            except (pa.ArrowException, OSError, ValueError):
                raise _unreadable(path) from None

        with ThreadPoolExecutor(MOST_WORKERS) as pool:
            return list(pool.map(read, paths))

    def _read_header(self) -> list[tuple[str, str]]:
        first = self._parts[0]
        if any(len(set(part.schema.names)) < len(part.schema.names) for part in self._parts[1:]):
            raise DataMismatchError(
                "Each file of a table must have each column once, but one does not. Write it again."
            )
        if any(part.constants.keys() != first.constants.keys() for part in self._parts):
            raise DataMismatchError(
                "The files of a table must lie in folders of the same columns, such as year=2024, but some do not. "
                "Move them."
            )
        names = [str(name) for name in (*first.schema.names, *first.constants)]
        try:
            kinds = {name: _kind_of_all([part.fields[name] for part in self._parts]) for name in dict.fromkeys(names)}
            "".join(names).encode()
        except KeyError as error:
            raise DataMismatchError(
                f"Every file of a table must have the same columns, but column {str(error.args[0])[:60]!r} is not in "
                "all of them. Take the other files out of the folder, or write them again."
            ) from None
        except ValueError:
            raise _unreadable(self._name) from None
        return [(name, kinds[name]) for name in names]

    @cached_property
    def _as_text(self) -> frozenset[str]:
        """Return the columns that are numbers in one file and text in another."""
        return frozenset(
            name for name in self._parts[0].fields if len({_family(part.fields[name]) for part in self._parts}) > 1
        )

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for stream in self.streams(columns):
            yield from stream

    @override
    def streams(self, columns: Sequence[str]) -> Iterator[Iterable[pa.RecordBatch]]:
        for part in self._parts:
            for group in range(part.footer.num_row_groups):
                yield self._row_group(part, group, columns)

    def _row_group(self, part: _Part, group: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        stored = [name for name in columns if name not in part.constants]
        size = rows_a_batch(BATCH_ROWS, len(columns))
        if not stored:
            n_rows = part.footer.row_group(group).num_rows
            for start in range(0, n_rows, size):
                yield self._completed({}, part, columns, min(size, n_rows - start))
            return
        with self._file(part) as file:
            for batch in self._batches(part, file, group, stored, size):
                batch = checked(batch)  # a damaged file must not end the process
                arrays = dict(zip(batch.schema.names, map(short, batch.columns), strict=True))
                yield self._completed(arrays, part, columns, len(batch))
        self._require_unchanged((part.path,))

    def _batches(
        self, part: _Part, file: pq.ParquetFile, group: int, columns: Sequence[str], size: int
    ) -> Iterator[pa.RecordBatch]:
        """Read a row group: in smaller batches from where the text of a few cells is more than an array holds."""
        n_read = 0
        for most in (size, FEW_ROWS, 1):
            start = 0
            try:
                for batch in file.iter_batches(most, row_groups=[group], columns=columns, use_threads=False):
                    n_known = min(max(n_read - start, 0), len(batch))
                    start += len(batch)
                    if n_known < len(batch):
                        n_read = start
                        yield batch.slice(n_known)
            except pa.lib.ArrowCapacityError:
                file = self._opened(part, [])  # each batch has text of its own then, and no share of a dictionary
                continue
            return
        raise DataMismatchError("A row must fit in memory, but one does not. Leave out its column of text.")

    def _completed(
        self, stored: dict[str, pa.Array], part: _Part, columns: Sequence[str], n_rows: int
    ) -> pa.RecordBatch:
        """Return the columns in order, with those that folders' names set, in types that all files share."""
        arrays = [
            _plain(stored[name]) if name in stored else pa.repeat(pa.scalar(part.constants[name], pa.string()), n_rows)
            for name in columns
        ]
        cells = [
            number_texts(unit_keys(cell)) if name in self._as_text else cell
            for name, cell in zip(columns, arrays, strict=True)
        ]
        return pa.RecordBatch.from_arrays(cells, names=list(columns))

    @contextmanager
    def _file(self, part: _Part) -> Iterator[pq.ParquetFile]:
        """Open a file for one thread at a time; a few stay open, as opening a wide table takes long."""
        with self._lock:
            open_place = next((place for place, (of, _) in enumerate(self._open) if of is part), None)
            file = self._open.pop(open_place)[1] if open_place is not None else None
        if file is None:
            file = self._opened(part, self._categories(part))
        try:
            yield file
        finally:
            with self._lock:
                self._open.append((part, file))
                del self._open[:-MOST_OPEN]

    def _opened(self, part: _Part, as_dictionaries: list[str]) -> pq.ParquetFile:
        return pq.ParquetFile(
            self._files.open_input_file(part.path),
            metadata=part.footer,
            buffer_size=BUFFER_BYTES,
            pre_buffer=not isinstance(self._files, pyarrow.fs.LocalFileSystem),
            read_dictionary=as_dictionaries,
        )

    def _categories(self, part: _Part) -> list[str]:
        """Return the text columns declared as categories: as dictionaries, each of their entries is looked at once.

        And those that are stored as dictionaries: else the library casts their places, and refuses what is no text.
        """
        text = (field for field in part.schema if pa.types.is_string(_batch_type(field.type)))
        return [
            field.name
            for field in text
            if pa.types.is_dictionary(field.type) or isinstance(self.metadata.columns.get(field.name), CategoryColumn)
        ]


def _footer(file: pa.NativeFile) -> pa.BufferReader:
    """Read the end of a file, which names its columns, and not the rows before it, as the library would."""
    size = file.size()
    end = file.read_at(TAIL, max(size - TAIL, 0))
    # A file ends with its footer, the footer's length in four bytes, and the letters PAR1.
    length = int.from_bytes(end[:4], "little") + TAIL
    return pa.BufferReader(file.read_at(length, size - length) if TAIL < length <= size else end)


def _unreadable(path: str) -> DataMismatchError:
    return DataMismatchError(
        f"{PurePosixPath(path).name[:80]!r} is not a readable Parquet file: its header cannot be read. "
        "Write the file again, or choose another."
    )


def _batch_type(kind: pa.DataType) -> pa.DataType:
    """The type of cells in batches, by their stored type."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.string() if str(kind) == "extension<arrow.uuid>" else _batch_type(kind.storage_type)
    return _batch_type(kind.value_type) if pa.types.is_dictionary(kind) else kind


def _plain(cells: Any) -> pa.Array:
    """Return cells as numbers or text, without the extension type's meaning."""
    if pa.types.is_dictionary(cells.type) and not pa.types.is_string(cells.type.value_type):
        return _plain(cells.dictionary_decode())
    if not isinstance(cells.type, pa.BaseExtensionType):
        return cells
    return _plain(cells.storage) if str(cells.type) != "extension<arrow.uuid>" else _uuid_text(cells.storage)


def _uuid_text(cells: pa.Array) -> pa.Array:
    """Return sixteen bytes a cell as the text of a UUID."""
    filled = cells.fill_null(bytes(16))
    half = np.frombuffer(filled.buffers()[1], dtype=np.uint8).reshape(-1, 16)[
        filled.offset : filled.offset + len(filled)
    ]
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    text = np.full((len(filled), 36), ord("-"), dtype=np.uint8)
    places = [place for place in range(36) if place not in (8, 13, 18, 23)]
    # Two digits a byte, in groups of 8, 4, 4, 4 and 12 letters; the dashes stand already.
    text[:, places[0::2]], text[:, places[1::2]] = digits[half >> 4], digits[half & 15]
    uuids = pa.array(text.view("S36")[:, 0], pa.binary()).cast(pa.string())
    return pc.if_else(cells.is_valid(), uuids, None)


def _kind_of_all(types: Sequence[pa.DataType]) -> str:
    """Return a column's storage type in the words of all engines; where files differ, text, or the unreadable type."""
    kinds = dict.fromkeys(_kind(arrow_type) for arrow_type in types)
    # A type that no engine reads is named rather than hidden behind text, so that a request for the column is refused.
    strange = [kind for kind in kinds if kind not in (*_NUMBERS.values(), "VARCHAR", "NULL")]
    return (strange or (list(kinds) if len(kinds) == 1 else ["VARCHAR"]))[0]


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "VARCHAR"
    return _NUMBERS.get(str(kind)) or ("DECIMAL" if pa.types.is_decimal(kind) else str(kind).upper())


def _family(kind: pa.DataType) -> str:
    """Return a type's family, within which the same cells are the same identifiers and numbers."""
    if is_whole(kind):
        return "whole"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "real"
    return _kind(kind)


_NUMBERS = {
    "bool": "BOOLEAN",
    "float": "FLOAT",
    "halffloat": "FLOAT",
    "double": "DOUBLE",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "decimal": "DECIMAL",
}
"""Storage types of numbers, in the words of all engines."""
