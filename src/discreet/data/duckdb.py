"""The embedded engine: CSV, Parquet, Arrow, DuckDB and SQLite files, locked to the one file it was opened for."""

import csv
import os
import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
from typing_extensions import override

from discreet.data.engine import BATCH_ROWS, MANY_COLUMNS, WIDE_GROUP, Table, rows_a_batch
from discreet.data.file_table import ArrowTable, FileTable, SQLiteTable, choose_table
from discreet.data.file_table import quoted as quoted
from discreet.data.frame import FrameTable
from discreet.data.long_table import LongTable
from discreet.data.metadata import Metadata
from discreet.data.wide_csv import wide_batches
from discreet.errors import InvalidParameterError

DELIMITERS = ",;\t|"
CSV_SUFFIXES = (".csv", ".tsv", ".txt")
MAX_LINE = 2**24
"""Longest header, and longest record of a CSV file, in bytes."""


def open_table(
    source: Any, metadata: Metadata, table: str | None = None, targets: Any = None, targets_table: str | None = None
) -> Table:
    """Open a table without reading a row.

    Parameters
    ----------
    source : path or frame
        A CSV, Parquet, Arrow, DuckDB or SQLite file, told by its ending, or a frame in memory.
    metadata : Metadata
        What is public about the table.
    table : str, optional
        Which table of a database file; needed when there are several.
    targets : path or frame, optional
        For metadata with a `layout`: the table with a row for each person, that holds ``layout.row`` and the target.
    targets_table : str, optional
        Which table that is, of a database file.

    Returns
    -------
    Table
        The table.

    Raises
    ------
    InvalidParameterError
        When the file is not there or its kind is not known, or targets are given without a layout, or not with one.
    DataMismatchError
        When the header cannot be read.
    """
    if (targets is None) != (metadata.layout is None):
        lack = "none is given. Name it as targets."
        if targets is not None:
            lack = "the metadata have no layout. Declare it, or leave out the targets."
        raise InvalidParameterError(
            f"A long table, and no other, needs its targets in a second table, with a row for each person, but {lack}"
        )
    values = _open_one(source, metadata, table)
    return values if targets is None else LongTable(values, _open_one(targets, metadata, targets_table), metadata)


def _open_one(source: Any, metadata: Metadata, table: str | None) -> Table:
    if not isinstance(source, (str, Path)):
        return FrameTable(source, metadata)
    if "://" in str(source):
        raise InvalidParameterError(
            "Data must be a local file or a frame in memory; addresses are not read yet. Copy the table to a file."
        )
    path = Path(os.path.expanduser(source))
    if not _is_file(path):
        raise InvalidParameterError(f"The data must be a file, but {str(source)[:300]} is none. Check the path.")
    path = path.resolve()  # the same file by another path is the same source
    suffix = path.suffix.lower()
    for suffixes, kind in _KINDS:
        if suffix in suffixes:
            return kind(path, metadata, table)
    known = ", ".join(s for suffixes, _ in _KINDS for s in suffixes)
    raise InvalidParameterError(f"The data file's name must end in one of {known}, but it is {path.name[:80]!r}.")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # such as a name that is too long
        return False


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _place(path: Path) -> str:
    """Return a file's path as an SQL literal that means this one file."""
    if any(char in str(path) for char in "*?["):
        raise InvalidParameterError(
            f"The path of a CSV or Parquet file must be without *, ? and [, but it is {str(path)[:300]!r}. Rename it."
        )
    return _literal(str(path))


def _lock(connection: duckdb.DuckDBPyConnection, path: Path | None) -> None:
    """Take away every other file, the network, extensions, spilling to disk, and the means to change that."""
    connection.execute("SET threads = 2; SET preserve_insertion_order = false; SET temp_directory = ''")
    # A bar over the rows would tell how many there are.
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET autoinstall_known_extensions = false; SET autoload_known_extensions = false")
    if path is not None:
        connection.execute(f"SET allowed_paths = [{_literal(str(path))}]")
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")


class _DuckDBTable(FileTable):
    """A table that DuckDB reads."""

    kind = ""

    def _connect(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        _lock(connection, self.path)
        return connection

    @abstractmethod
    def _source(self) -> str:
        """What the query reads from, in SQL."""

    @override
    def _read_header(self) -> list[tuple[str, str]]:
        try:
            with self._connect() as connection:
                found = connection.execute(f"DESCRIBE SELECT * FROM {self._source()}").fetchall()
        except duckdb.Error:
            raise self.unreadable(self.kind) from None
        return [(str(row[0]), str(row[1])) for row in found]

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # By place: to DuckDB, names that differ in case alone are one name.
        place = {name: i for i, (name, _) in enumerate(self._header)}
        places = ", ".join(f"c{i}" for i in range(len(self._header)))
        chosen = ", ".join(f"c{place[name]} AS {quoted(name)}" for name in columns)
        with self._connect() as connection:
            found = connection.sql(f"SELECT {chosen} FROM {self._source()} AS t({places})")
            yield from found.to_arrow_reader(rows_a_batch(BATCH_ROWS, len(columns)))


class ParquetTable(_DuckDBTable):
    """A Parquet file.

    Parameters
    ----------
    path : Path
        The file.
    metadata : Metadata
        What is public about it.
    table : str, optional
        Not for this kind.

    Notes
    -----
    The embedded engine takes seconds to look at thousands of columns, for every query. Where a file has so many, and
    they are numbers and text, it is read without it.
    """

    kind = "Parquet"

    def __init__(self, path: Path, metadata: Metadata, table: str | None = None) -> None:
        self._open = threading.local()
        super().__init__(path, metadata, table)

    @override
    def _source(self) -> str:
        return f"read_parquet({_place(self.path)}, hive_partitioning=false)"

    @override
    def _read_header(self) -> list[tuple[str, str]]:
        _place(self.path)
        try:
            self._stated = pyarrow.parquet.read_metadata(self.path)
            schema = self._stated.schema.to_arrow_schema()
            names = [str(name) for name in schema.names]
        except (pa.ArrowException, OSError, ValueError):
            raise self.unreadable(self.kind) from None
        kinds = [_parquet_kind(field.type) for field in schema] if len(names) > MANY_COLUMNS else []
        self._is_plain = dict(zip(names, (kind is not None for kind in kinds), strict=False))
        if not kinds or None in kinds:
            kinds = [kind for _, kind in super()._read_header()]
        if len(kinds) != len(names):
            raise self.unreadable(self.kind)
        # DuckDB renames a doubled column; its own name shows that it is doubled.
        return [(name, str(kind)) for name, kind in zip(names, kinds, strict=True)]

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not all(self._is_plain.get(name, False) for name in columns):
            yield from super().batches(columns)
            return
        size = rows_a_batch(BATCH_ROWS, len(columns))
        for batch in self._file().iter_batches(size, columns=list(columns), use_threads=False):
            chosen = batch.select(list(columns))
            chosen.validate(full=True)  # a damaged file must not end the process
            yield chosen

    def _file(self) -> pyarrow.parquet.ParquetFile:
        """The open file of this thread."""
        if not hasattr(self._open, "file"):
            self._open.file = pyarrow.parquet.ParquetFile(self.path, metadata=self._stated, buffer_size=2**16)
        return self._open.file

    @override
    def row_count(self) -> int | None:
        return int(self._stated.num_rows)


class CsvTable(_DuckDBTable):
    """A CSV file: every cell is read as text, so that no cell can decide how another is read.

    Notes
    -----
    The delimiter is told from the header line alone. A short record is padded, a long one cut; one that cannot be read
    is left out. All cells go through the same row map as every other storage. The guarantee is for the table that was
    written: a program that leaves a quote open, or a line break unquoted, has merged or split the records of people.
    """

    kind = "CSV"

    @override
    def _read_header(self) -> list[tuple[str, str]]:
        self._at = _place(self.path)
        try:
            # Bytes that are no text may stand further down, where they must not matter.
            with self.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
                first = file.readline(MAX_LINE)
                self._delimiter = max(DELIMITERS, key=first.count)
                file.seek(0)
                names = next(csv.reader(file, delimiter=self._delimiter, strict=True), None)
            "".join(names or []).encode()
        except (OSError, UnicodeError, csv.Error):
            names = None
        if not names or not any(names):
            raise self.unreadable("CSV")
        return [(name, "VARCHAR") for name in names]

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if len(self._header) <= MANY_COLUMNS:
            yield from super().batches(columns)
            return
        names = [name for name, _ in self._header]
        yield from wide_batches(self.path, self._delimiter, names, columns, rows_a_batch(BATCH_ROWS, len(columns)))

    @property
    @override
    def group_columns(self) -> int:
        return WIDE_GROUP

    @override
    def _source(self) -> str:
        types = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self._header)))
        return (
            f"read_csv({self._at}, auto_detect=false, header=true, delim={_literal(self._delimiter)}, "
            f"quote='\"', escape='\"', columns={{{types}}}, null_padding=true, ignore_errors=true, strict_mode=false, "
            f"parallel=false, hive_partitioning=false, max_line_size={MAX_LINE}, nullstr='')"
        )


class DuckDBFileTable(_DuckDBTable):
    """A table of a DuckDB database file, opened for reading only."""

    kind = "DuckDB"

    @property
    @override
    def groups_at_once(self) -> int:
        return 1  # connections to one file at one time share their settings, which the first has locked

    def _connect(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(str(self.path), read_only=True)
        _lock(connection, None)
        return connection

    @override
    def _read_header(self) -> list[tuple[str, str]]:
        try:
            with self._connect() as connection:
                found = connection.execute(
                    "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'"
                ).fetchall()
        except duckdb.Error:
            raise self.unreadable(self.kind) from None
        self._table = choose_table(self._table, sorted(str(row[0]) for row in found))
        return super()._read_header()

    @override
    def _source(self) -> str:
        return quoted(str(self._table))

    @override
    def row_count(self) -> int | None:
        with self._connect() as connection:
            found = connection.execute(f"SELECT count(*) FROM {self._source()}").fetchone()
        return int(found[0]) if found else None


def _parquet_kind(kind: pa.DataType) -> str | None:
    """Storage type in DuckDB's words, None for other than plain numbers and text."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "VARCHAR"
    return _PARQUET_NUMBERS.get(str(kind))


_PARQUET_NUMBERS = {
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
}

_KINDS: list[tuple[tuple[str, ...], type[FileTable]]] = [
    (CSV_SUFFIXES, CsvTable),
    ((".parquet", ".pq"), ParquetTable),
    ((".arrow", ".feather", ".ipc", ".arrows"), ArrowTable),
    ((".duckdb", ".ddb"), DuckDBFileTable),
    ((".sqlite", ".sqlite3", ".db"), SQLiteTable),
]


def header_of(source: str | Path, table: str | None = None) -> list[tuple[str, str]]:
    """Return names and storage types of a file's columns; no row is read, no metadata needed.

    Parameters
    ----------
    source : str or Path
        The file.
    table : str, optional
        Which table of a database file.

    Returns
    -------
    list of tuple of str
        Name and storage type of each column.
    """
    nothing = {"dataset": "header", "unit": "row", "neighboring": "add_or_remove_one"}
    metadata = Metadata.from_value({**nothing, "columns": {"none": {"type": "real"}}})
    return open_table(source, metadata, table).header()
