"""The embedded engine: CSV, Parquet, Arrow, DuckDB and SQLite files, locked to the one file it was opened for."""

import contextlib
import csv
import os
import sqlite3
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
from typing_extensions import override

from discreet.data.engine import BATCH_ROWS, Table
from discreet.data.frame import FrameTable, column_of
from discreet.data.metadata import Metadata
from discreet.errors import DataMismatchError, InvalidParameterError

DELIMITERS = ",;\t|"
MAX_LINE = 2**24
"""Longest header, and longest record of a CSV file, in bytes."""


def open_table(source: Any, metadata: Metadata, table: str | None = None) -> Table:
    """Open a table without reading a row.

    Parameters
    ----------
    source : path or frame
        A CSV, Parquet, Arrow, DuckDB or SQLite file, told by its ending, or a frame in memory.
    metadata : Metadata
        What is public about the table.
    table : str, optional
        Which table of a database file; needed when there are several.

    Returns
    -------
    Table
        The table.

    Raises
    ------
    InvalidParameterError
        When the file is not there or its kind is not known.
    DataMismatchError
        When the header cannot be read.
    """
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


def quoted(name: str) -> str:
    """Return an SQL identifier that means this name and nothing else.

    Parameters
    ----------
    name : str
        From a header.

    Returns
    -------
    str
        Quoted.

    Examples
    --------
    >>> print(quoted('a" from x; drop'))
    "a"" from x; drop"
    """
    return '"' + name.replace('"', '""') + '"'


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


class _FileTable(Table):
    """A table in a file; opening it reads the header."""

    def __init__(self, path: Path, metadata: Metadata, table: str | None = None) -> None:
        super().__init__(metadata)
        self.path = path
        self._table = table
        self._header = self._read_header()

    @property
    @override
    def name(self) -> str:
        return self.path.name

    @property
    @override
    def locator(self) -> str | None:
        return f"{self.path}#{self._table}" if self._table else str(self.path)

    @override
    def header(self) -> list[tuple[str, str]]:
        return self._header

    @abstractmethod
    def _read_header(self) -> list[tuple[str, str]]:
        """Names and storage types, without reading a row."""

    def _unreadable(self, kind: str) -> DataMismatchError:
        return DataMismatchError(f"{self.path.name[:80]!r} must be a readable {kind} file, but its header is not.")


class _DuckDBTable(_FileTable):
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
            raise self._unreadable(self.kind) from None
        return [(str(row[0]), str(row[1])) for row in found]

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # By place: to DuckDB, names that differ in case alone are one name.
        names = [name for name, _ in self._header]
        places = ", ".join(f"c{i}" for i in range(len(names)))
        chosen = ", ".join(f"c{names.index(name)} AS {quoted(name)}" for name in columns)
        with self._connect() as connection:
            found = connection.sql(f"SELECT {chosen} FROM {self._source()} AS t({places})")
            yield from found.to_arrow_reader(BATCH_ROWS)


class ParquetTable(_DuckDBTable):
    """A Parquet file."""

    kind = "Parquet"

    @override
    def _source(self) -> str:
        return f"read_parquet({_place(self.path)}, hive_partitioning=false)"

    @override
    def _read_header(self) -> list[tuple[str, str]]:
        types = [kind for _, kind in super()._read_header()]
        try:
            # DuckDB renames a doubled column; its own name shows that it is doubled.
            return list(zip(pyarrow.parquet.read_schema(self.path).names, types, strict=True))
        except (pa.ArrowException, OSError, ValueError):
            raise self._unreadable(self.kind) from None

    @override
    def row_count(self) -> int | None:
        return int(pyarrow.parquet.read_metadata(self.path).num_rows)


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
            raise self._unreadable("CSV")
        return [(name, "VARCHAR") for name in names]

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
            raise self._unreadable(self.kind) from None
        self._table = _choose_table(self._table, sorted(str(row[0]) for row in found))
        return super()._read_header()

    @override
    def _source(self) -> str:
        return quoted(str(self._table))

    @override
    def row_count(self) -> int | None:
        with self._connect() as connection:
            found = connection.execute(f"SELECT count(*) FROM {self._source()}").fetchone()
        return int(found[0]) if found else None


class ArrowTable(_FileTable):
    """An Arrow file (Feather) or stream, read batch by batch."""

    def _open(self) -> Any:
        source = pa.OSFile(str(self.path))
        try:
            return pa.ipc.open_file(source)
        except pa.ArrowInvalid:
            source.seek(0)
            return pa.ipc.open_stream(source)

    @override
    def _read_header(self) -> list[tuple[str, str]]:
        try:
            schema = self._open().schema
            return [(field.name, _arrow_kind(field.type)) for field in schema]
        except (pa.ArrowException, OSError, UnicodeError):
            raise self._unreadable("Arrow") from None

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        reader = self._open()
        whole = hasattr(reader, "num_record_batches")
        for batch in (reader.get_batch(i) for i in range(reader.num_record_batches)) if whole else reader:
            chosen = batch.select(list(columns))
            chosen.validate(full=True)  # a damaged file must not end the process
            for start in range(0, chosen.num_rows, BATCH_ROWS):
                yield chosen.slice(start, BATCH_ROWS)


class SQLiteTable(_FileTable):
    """A table of an SQLite database file, opened for reading only."""

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return connection

    @override
    def _read_header(self) -> list[tuple[str, str]]:
        try:
            with contextlib.closing(self._connect()) as connection:
                found = connection.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
                ).fetchall()
                self._table = _choose_table(self._table, sorted(row[0] for row in found))
                info = connection.execute(f"PRAGMA table_info({quoted(self._table)})").fetchall()
        except sqlite3.Error:
            raise self._unreadable("SQLite") from None
        return [(str(row[1]), _sqlite_kind(str(row[2]))) for row in info]

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        chosen = ", ".join(quoted(name) for name in columns)
        with contextlib.closing(self._connect()) as connection:
            cursor = connection.execute(f"SELECT {chosen} FROM {quoted(str(self._table))}")
            while rows := cursor.fetchmany(BATCH_ROWS):
                arrays = [column_of(list(cells)) for cells in zip(*rows, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _choose_table(wanted: str | None, names: list[str]) -> str:
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        return str(wanted)
    found = ", ".join(repr(name[:60]) for name in names[:20]) or "none, so choose another file"
    raise InvalidParameterError(f"One table of the database must be named with --table; it holds: {found}.")


def _arrow_kind(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return "ENUM"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "VARCHAR"
    if pa.types.is_integer(kind):
        return "BIGINT"
    return "DOUBLE" if pa.types.is_floating(kind) else str(kind).upper()


def _sqlite_kind(declared: str) -> str:
    upper = declared.upper()
    if "INT" in upper:
        return "BIGINT"
    return "DOUBLE" if any(word in upper for word in ("REAL", "FLOA", "DOUB", "NUM", "DEC")) else "VARCHAR"


_KINDS: list[tuple[tuple[str, ...], type[_FileTable]]] = [
    ((".csv", ".tsv", ".txt"), CsvTable),
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
