"""Tables in files: what they share, and those that need no embedded engine: Arrow and SQLite."""

import contextlib
import os
import sqlite3
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from typing_extensions import override

from discreet.data.batch_sizes import BATCH_ROWS, WIDE_GROUP, rows_a_batch
from discreet.data.engine import Table
from discreet.data.engines.frame import arrow_kind, column_of
from discreet.data.engines.text_cells import checked, short, text_or_none
from discreet.data.metadata import Metadata
from discreet.errors import DataMismatchError, InvalidParameterError
from discreet.release import READ

BYTES_A_CELL = 4


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


class FileTable(Table):
    """A table in a file; opening it reads the header.

    Parameters
    ----------
    path : Path
        The file.
    metadata : Metadata
        What is public about it.
    table : str, optional
        Which table of a database file; of no other file.

    Notes
    -----
    Where the storage states no number of rows, its size says about how many there are: `BYTES_A_CELL` for each cell.
    """

    is_database = False
    """Whether the file may hold several tables."""
    is_ordered = True

    def __init__(self, path: Path, metadata: Metadata, table: str | None = None) -> None:
        super().__init__(metadata, READ)
        if table is not None and not self.is_database:
            raise InvalidParameterError(
                f"{path.name[:80]!r} holds one table: leave --table out, or name a database instead."
            )
        self.path = path
        self._table = table
        self._written = self._stamp()
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
    def holds_file(self, path: Path) -> bool:
        return os.path.samefile(path, self.path)

    @override
    def header(self) -> list[tuple[str, str]]:
        return self._header

    @override
    def about_rows(self) -> int:
        return super().about_rows() or self.path.stat().st_size // (BYTES_A_CELL * max(len(self._header), 1))

    @override
    def require_unchanged(self) -> None:
        if self._stamp() != self._written:
            raise changed()

    def _stamp(self) -> tuple[int, ...]:
        """Return which file it is, its size and when it was written: another one where somebody writes to it."""
        try:
            status = self.path.stat()
        except OSError:
            return ()
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    @abstractmethod
    def _read_header(self) -> list[tuple[str, str]]:
        """Return names and storage types, without reading a row."""

    def unreadable(self, kind: str) -> DataMismatchError:
        """Return the error of a file that is not what its ending says.

        Parameters
        ----------
        kind : str
            What it should be.

        Returns
        -------
        DataMismatchError
            To be raised.
        """
        return DataMismatchError(
            f"{self.path.name[:80]!r} is not a readable {kind} file: its header cannot be read. "
            "Write the file again, or choose another."
        )


class ArrowTable(FileTable):
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
            return [(field.name, arrow_kind(field.type)) for field in schema]
        except (pa.ArrowException, OSError, UnicodeError):
            raise self.unreadable("Arrow") from None

    @property
    @override
    def group_columns(self) -> int:
        return WIDE_GROUP

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        self.require_unchanged()
        reader = self._open()
        size = rows_a_batch(BATCH_ROWS, len(columns))
        whole = hasattr(reader, "num_record_batches")
        for batch in (reader.get_batch(i) for i in range(reader.num_record_batches)) if whole else reader:
            chosen = checked(batch.select(list(columns)))
            chosen = pa.RecordBatch.from_arrays([short(cells) for cells in chosen.columns], names=list(columns))
            for start in range(0, chosen.num_rows, size):
                yield chosen.slice(start, size)
        self.require_unchanged()


class DatabaseFileTable(FileTable):
    """A table of a database file: others may write rows to it, as all passes of a request see the rows of one moment.

    Its columns must stay as they are, and it must stay a table: what reads looks at the header of what it reads.
    """

    is_database = True
    is_ordered = False  # a row that is inserted moves the places of others
    _held: Any = None

    @abstractmethod
    def _connect(self) -> Any:
        """Return a connection that can only read."""

    @abstractmethod
    def _begin(self, connection: Any) -> None:
        """Have the connection see one moment, and make sure that the header is there that which was opened."""

    def _begun(self) -> Any:
        connection = self._connect()
        try:
            self._begin(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @override
    @contextlib.contextmanager
    def one_state(self) -> Iterator[None]:
        with contextlib.closing(self._begun()) as self._held:
            try:
                yield
            finally:
                self._held = None

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Any]:
        if self._held is not None:
            yield self._held
        else:
            with contextlib.closing(self._begun()) as connection:
                yield connection

    @override
    def require_unchanged(self) -> None:
        if self._read_header() != self._header:
            raise changed()

    @override
    def _stamp(self) -> tuple[int, ...]:
        return ()


def changed() -> DataMismatchError:
    """Return the error of a table that is no longer the one that was opened."""
    return DataMismatchError(
        "The table must stay as it was when it was opened, but somebody has written to it. Open it again."
    )


class SQLiteTable(DatabaseFileTable):
    """A table of an SQLite database file, opened for reading only."""

    @override
    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return connection

    @override
    def _read_header(self) -> list[tuple[str, str]]:
        try:
            with contextlib.closing(self._connect()) as connection:
                declared = self._declared(connection)
        except sqlite3.Error:
            raise self.unreadable("SQLite") from None
        self._types = {name: _sqlite_kind(kind) for name, kind in declared if _is_sqlite_kept(kind)}
        return [(name, _sqlite_kind(kind)) for name, kind in declared]

    def _declared(self, connection: sqlite3.Connection) -> list[tuple[str, str]]:
        # A virtual table has no page of its own: a module computes its rows, from other tables or none.
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        self._table = choose_table(self._table, sorted(row[0] for row in tables))
        info = connection.execute(f"PRAGMA table_info({quoted(self._table)})").fetchall()
        return [(str(row[1]), str(row[2])) for row in info]

    @override
    def storage_types(self) -> Mapping[str, str]:
        return self._types

    @override
    def row_count(self) -> int | None:
        if self.metadata.n_rows is None:
            return None  # to count them is to read them
        try:
            with self._reading() as connection:
                return int(connection.execute(f"SELECT count(*) FROM {quoted(str(self._table))}").fetchone()[0])
        except sqlite3.Error:
            return None  # such as a damaged page: the pass says so

    @override
    def about_rows(self) -> int:
        return self.metadata.n_rows or super().about_rows()  # counted once, by the check

    @override
    def _begin(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN")  # of one moment: what is looked at is what is read
        if [(name, _sqlite_kind(kind)) for name, kind in self._declared(connection)] != self._header:
            raise changed()

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        chosen = ", ".join(quoted(name) for name in columns)
        with self._reading() as connection:
            connection.text_factory = text_or_none  # identifiers that are no text must not become one unit
            # By an index the rows would come in another order, which would depend on the columns.
            cursor = connection.execute(f"SELECT {chosen} FROM {quoted(str(self._table))} NOT INDEXED")
            while rows := cursor.fetchmany(rows_a_batch(BATCH_ROWS, len(columns))):
                are_units = [name == self.metadata.unit_id for name in columns]
                arrays = [
                    short(column_of(list(cells), is_unit=is_unit))
                    for cells, is_unit in zip(zip(*rows, strict=True), are_units, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def choose_table(requested: str | None, names: list[str]) -> str:
    """Return the table of a database that was asked for, or its only one.

    Parameters
    ----------
    requested : str or None
        What ``--table`` names.
    names : list of str
        Of all its tables.

    Returns
    -------
    str
        One of the names.

    Raises
    ------
    InvalidParameterError
        When there is neither.
    """
    if requested is None and len(names) == 1:
        return names[0]
    if requested in names:
        return str(requested)
    listed = ", ".join(repr(name[:60]) for name in names[:20]) or "none, so choose another file"
    raise InvalidParameterError(f"One table of the database must be named with --table; it holds: {listed}.")


def _sqlite_kind(declared: str) -> str:
    upper = declared.upper()
    if "INT" in upper:
        return "BIGINT"
    return "DOUBLE" if any(word in upper for word in _REALS) else "VARCHAR"


def _is_sqlite_kept(declared: str) -> bool:
    """Tell whether SQLite turns cells into the declared type; it keeps no dates, truth values or STRING."""
    return any(word in declared.upper() for word in ("INT", *_REALS, "CHAR", "CLOB", "TEXT"))


_REALS = ("REAL", "FLOA", "DOUB", "NUM", "DEC")
