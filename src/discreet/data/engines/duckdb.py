"""The embedded engine: CSV and DuckDB files, locked to the one file it was opened for."""

import csv
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
from typing_extensions import override

from discreet.data.engine import BATCH_ROWS, MANY_COLUMNS, WIDE_GROUP, rows_a_batch
from discreet.data.engines.file_table import FileTable, choose_table, quoted
from discreet.data.engines.wide_csv import wide_batches
from discreet.errors import InvalidParameterError

DELIMITERS = ",;\t|"
MAX_LINE = 2**24
"""Longest header, and longest record of a CSV file, in bytes."""


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _place(path: Path) -> str:
    """Return a file's path as an SQL literal that means this one file."""
    if any(char in str(path) for char in "*?["):
        raise InvalidParameterError(
            f"The path of a CSV file must be without *, ? and [, but it is {str(path)[:300]!r}. Rename it."
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
    is_database = True

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
