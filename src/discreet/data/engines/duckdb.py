"""DuckDB files, read by the embedded engine, which is locked to the one file it was opened for."""

from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa
from typing_extensions import override

from discreet.data.batch_sizes import BATCH_ROWS, rows_a_batch
from discreet.data.engines.file_table import DatabaseFileTable, changed, choose_table, quoted
from discreet.data.engines.text_cells import short
from discreet.data.header import shown
from discreet.errors import DataMismatchError

LOCK = """
SET threads = 2; SET preserve_insertion_order = true; SET temp_directory = '';
SET autoinstall_known_extensions = false; SET autoload_known_extensions = false;
SET enable_progress_bar = false; SET arrow_large_buffer_size = true;
SET enable_external_access = false; SET lock_configuration = true
"""
"""Takes away every other file, the network, extensions, spilling to disk, and the means to change that; and a bar over
the rows, which would tell how many there are. A batch may hold long text: its end would be that of the pass."""

_TABLES = (
    "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' "
    "AND table_schema = current_schema() AND table_catalog = current_database()"
)
"""Those that a name alone means: beside a table of another schema it could mean a view of this one."""
_COMPUTED = "SELECT column_name FROM information_schema.columns WHERE table_name = ? AND is_generated = 'ALWAYS'"
"""Columns that are expressions: an update does not check them, so reading one may fail by what a row holds."""


class DuckDBFileTable(DatabaseFileTable):
    """A table of a DuckDB database file, opened for reading only."""

    @override
    def _connect(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(str(self.path), read_only=True)
        connection.execute(LOCK)
        return connection

    @override
    def _read_header(self) -> list[tuple[str, str]]:
        try:
            with self._connect() as connection:
                return self._described(connection)
        except duckdb.Error:
            raise self.unreadable("DuckDB") from None

    def _described(self, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
        tables = connection.execute(_TABLES).fetchall()
        self._table = choose_table(self._table, sorted(str(row[0]) for row in tables))
        columns = connection.execute(f"DESCRIBE SELECT * FROM {quoted(self._table)}").fetchall()
        for (name,) in connection.execute(_COMPUTED, [self._table]).fetchall():
            if name == self.metadata.unit_id or self.metadata.column(name) is not None:
                raise DataMismatchError(
                    f"Column {shown(name)} must be stored, but the database computes it when it is read, and one cell "
                    "could end that. Store it, or drop it from the metadata."
                )
        return [(str(row[0]), str(row[1])) for row in columns]

    @override
    def _begin(self, connection: duckdb.DuckDBPyConnection) -> None:
        if self._described(connection) != self._header:  # while it is open nobody writes to the file
            raise changed()

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # By place: to DuckDB, names that differ in case alone are one name.
        place = {name: i for i, (name, _) in enumerate(self._header)}
        places = ", ".join(f"c{i}" for i in range(len(self._header)))
        chosen = ", ".join(f"c{place[name]} AS {quoted(name)}" for name in columns)
        with self._reading() as connection, connection.cursor() as cursor:
            rows = cursor.sql(f"SELECT {chosen} FROM {quoted(str(self._table))} AS t({places})")
            for batch in rows.to_arrow_reader(rows_a_batch(BATCH_ROWS, len(columns))):
                cells = [_as_usual(short(column)) for column in batch.columns]
                yield pa.RecordBatch.from_arrays(cells, names=list(columns))

    @override
    def row_count(self) -> int | None:
        with self._reading() as connection, connection.cursor() as cursor:
            count = cursor.execute(f"SELECT count(*) FROM {quoted(str(self._table))}").fetchone()
        return int(count[0]) if count else None


def _as_usual(cells: Any) -> Any:
    """Return text with offsets of the usual width, for which it is short enough."""
    return cells.cast(pa.string()) if pa.types.is_large_string(cells.type) else cells
