"""Tables in PostgreSQL: one base table; only the requested columns leave the server, by a read-only session."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager

import pyarrow as pa
from typing_extensions import override

from discreet.data.batch_sizes import BATCH_ROWS, rows_a_batch
from discreet.data.engine import Table
from discreet.data.engines.file_table import quoted
from discreet.data.engines.sql_catalog import Relation, relation, require_own_parts
from discreet.data.engines.sql_session import Address, Session, session
from discreet.data.engines.text_cells import as_text
from discreet.data.metadata import Metadata
from discreet.errors import DataMismatchError
from discreet.release import READ

_BYTES_A_CELL = 16


class PostgresTable(Table):
    """A base table of a PostgreSQL database.

    Parameters
    ----------
    url : str
        ``postgresql://user:password@host:port/database?options``. What it leaves out, a password above all, comes from
        where every client of PostgreSQL finds it: PGPASSWORD, ~/.pgpass, a service.
    metadata : Metadata
        What is public about the table.
    table : str, optional
        ``table`` or ``schema.table``, as stored and without quotes; needed when the search path holds several.

    Raises
    ------
    InvalidParameterError
        When there is no driver, no connection or no such table, or it is a view or a foreign table.
    DataMismatchError
        When row-level security would filter it, or the server takes different identifiers as equal.

    Notes
    -----
    Opening it reads the catalog. All passes of a request are in one transaction, on one state of the table, which is
    locked against changes of its columns and against being emptied. An estimate of its rows, from the server's
    statistics, says into how many parts the rows of units are split.
    """

    def __init__(self, url: str, metadata: Metadata, table: str | None = None) -> None:
        super().__init__(metadata, READ)
        self._address = Address(url)
        self._held: tuple[Session, Relation] | None = None
        with session(self._address) as opened:
            self._relation = relation(opened, table)
        if any(column.name == metadata.unit_id and not column.is_exact for column in self._relation.columns):
            raise DataMismatchError(
                "Equal identifiers must be the same text, but the unit_id is JSON, or its collation takes different "
                "text as equal. Write them into a column of text with a deterministic collation, in one spelling."
            )

    @property
    @override
    def name(self) -> str:
        return self._relation.name

    @property
    @override
    def locator(self) -> str | None:
        table = self._relation
        return f"postgresql://{self._address.place}/{table.database}#{table.schema}.{table.name}"

    @override
    def header(self) -> list[tuple[str, str]]:
        return [(column.name, column.kind) for column in self._relation.columns]

    @override
    def row_count(self) -> int | None:
        if self.metadata.n_rows is None:
            return None  # to count them is to read them
        with self._reading() as (opened, settled):
            n_rows = int(opened.rows(f"SELECT count(*) FROM {settled.quoted}")[0][0])
            require_own_parts(opened, settled)
            return n_rows

    @override
    def about_rows(self) -> int:
        return self._relation.about_rows

    @override
    @contextmanager
    def one_state(self) -> Iterator[None]:
        with self._reading() as self._held:
            try:
                yield
            finally:
                self._held = None

    @contextmanager
    def _reading(self, handle: "_Handle | None" = None) -> Iterator[tuple[Session, Relation]]:
        """Return a transaction, and the table as it is there; the handle ends what waits there, a lock even."""
        handle = handle or _Handle()
        if self._held is not None:
            with handle.holding(self._held[0]):
                yield self._held
        else:
            with session(self._address) as opened, handle.holding(opened):
                yield opened, self._settled(opened)

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return self._read(columns, _Handle())

    @override
    def streams(self, columns: Sequence[str]) -> Iterator[Sequence[pa.RecordBatch]]:
        handle = _Handle()
        return _Streams(self._read(columns, handle), handle)

    def _read(self, columns: Sequence[str], handle: "_Handle") -> Generator[pa.RecordBatch]:
        size = rows_a_batch(BATCH_ROWS, len(columns))
        by_name = {column.name: column for column in self._relation.columns}
        chosen = ", ".join(f"{by_name[name].selected} AS {quoted(name)}" for name in columns)
        with self._reading(handle) as (opened, settled):
            statement = f"SELECT {chosen} FROM {settled.quoted}"
            with closing(opened.stream(statement, size * len(columns) * _BYTES_A_CELL)) as batches:
                for batch in batches:
                    text = as_text(batch, settled.codec)
                    for start in range(0, text.num_rows, size):
                        yield text.slice(start, size)
            require_own_parts(opened, settled)

    def _settled(self, opened: Session) -> Relation:
        """Lock the table and all its parts, and return them as they are: what was opened, with the same columns."""
        # A lock is no SELECT: rows are seen as they are once it is granted. Whoever may not read all columns cannot
        # take it, but can read no row, which locks as well.
        lock = "LOCK TABLE {} IN ACCESS SHARE MODE" if self._relation.is_whole else "SELECT 1 FROM {} LIMIT 0"
        opened.rows(lock.format(self._relation.quoted))
        current = relation(opened, f"{self._relation.schema}.{self._relation.name}")
        if current.columns != self._relation.columns:
            raise DataMismatchError(
                "The table's columns must be those that it had when it was opened, but they are not. Open it again."
            )
        return current


class _Handle:
    """What ends a pass that another thread is at."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._is_cancelled = False

    @contextmanager
    def holding(self, opened: Session) -> Iterator[None]:
        self._session = opened
        if self._is_cancelled:
            raise DataMismatchError("The rows must be read to their end, but the pass was cancelled. Ask again.")
        try:
            yield
        finally:
            self._session = None  # the next pass may be in the same session, which a late end would break off

    def cancel(self) -> None:
        self._is_cancelled = True
        if self._session is not None:
            self._session.cancel()


class _Streams(Iterator[Sequence[pa.RecordBatch]]):
    """A pass, batch by batch, that can be cancelled while it waits for the server."""

    def __init__(self, rows: Generator[pa.RecordBatch], handle: _Handle) -> None:
        self._rows = rows
        self.cancel, self.close = handle.cancel, rows.close

    @override
    def __next__(self) -> Sequence[pa.RecordBatch]:
        return [next(self._rows)]
