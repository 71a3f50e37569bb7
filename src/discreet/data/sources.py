"""Which engine reads a source: by its type, or by the ending of its name."""

import os
from pathlib import Path
from typing import Any

from discreet.data.engine import Table
from discreet.data.engines.arrays import table_of_pair
from discreet.data.engines.csv_file import CsvTable
from discreet.data.engines.duckdb import DuckDBFileTable
from discreet.data.engines.file_table import ArrowTable, FileTable, SQLiteTable
from discreet.data.engines.frame import FrameTable
from discreet.data.engines.lazy import LazyTable, is_lazy
from discreet.data.engines.parquet import ParquetTable
from discreet.data.engines.parquet_files import OBJECT_STORES, PARQUET_SUFFIXES, is_address
from discreet.data.engines.spark import SparkTable
from discreet.data.engines.spark_session import is_spark
from discreet.data.engines.sql import PostgresTable
from discreet.data.engines.sql_session import SCHEMES
from discreet.data.long_table import LongTable
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.release import READ

CSV_SUFFIXES = (".csv", ".tsv", ".txt")
_DUCKDB_SUFFIXES, _SQLITE_SUFFIXES = (".duckdb", ".ddb"), (".sqlite", ".sqlite3", ".db")
DATABASE_SUFFIXES = (*_DUCKDB_SUFFIXES, *_SQLITE_SUFFIXES)
"""Of files that may hold several tables."""


def open_table(
    source: Any,
    metadata: Metadata,
    table: str | None = None,
    targets: Any = None,
    targets_table: str | None = None,
    *,
    stated: bool = False,
) -> Table:
    """Open a table without reading a row; for rows in memory, state that they are the declared columns, unchanged.

    Parameters
    ----------
    source : path, address, frame or (X, y)
        A CSV, Parquet, Arrow, DuckDB or SQLite file, told by its ending; a folder of Parquet files, here or in an
        object store (``s3://bucket/folder``); a PostgreSQL database (``postgresql://host/database``); a table or path
        of Spark (``spark:catalog.schema.table``); a frame in memory or of Spark; a lazy frame of polars, a relation of
        DuckDB or a table expression of ibis; features and target. The columns of an array are the declared ones in
        their order, and y the last of them; a frame and a series go by their names.
    metadata : Metadata
        What is public about the table.
    table : str, optional
        Which table of a database; needed when there are several.
    targets : path or frame, optional
        For metadata with a `layout`: the table with a row for each person, that holds ``layout.row`` and the target.
    targets_table : str, optional
        Which table that is, of a database file.
    stated : bool
        The files hold a copy of rows that were in memory, such as a data frame of R: the call is a statement of them.

    Returns
    -------
    Table
        The table.

    Raises
    ------
    InvalidParameterError
        When the file is not there or its kind is not known, or targets are given without a layout, or not with one.
    DataMismatchError
        When the header cannot be read, or rows in memory lack a declared column.

    Notes
    -----
    Of rows in memory the call is a statement, which the release repeats: these are the declared columns as they are,
    all of them. Columns that were selected, scaled, coded or imputed by looking at the rows are not, and there is no
    guarantee for what is computed from them; nothing here can notice it. They are copied, so that what is done later to
    the arrays, frames and buffers that they came in does not reach the table. A lazy frame is read at each pass.

    Examples
    --------
    >>> import numpy as np
    >>> column = {"type": "real", "lower": 0, "upper": 10, "source": "questionnaire"}
    >>> metadata = Metadata.from_value({"dataset": "visits", "unit": "person", "neighboring": "replace_one",
    ...     "n_rows": 3, "columns": {"age": column, "visits": column}})
    >>> open_table((np.array([[1.0], [2.0], [3.0]]), [2, 4, 6]), metadata).rows_origin
    'stated by the caller: in memory, the declared columns as they are, all of them'
    """
    if (targets is None) != (metadata.layout is None):
        lack = "none is given. Name it as targets."
        if targets is not None:
            lack = "the metadata have no layout. Declare it, or leave out the targets."
        raise InvalidParameterError(
            f"A long table, and no other, needs its targets in a second table, with a row for each person, but {lack}"
        )
    opened = table_at(source, metadata, table)
    if targets is not None:
        opened = LongTable(opened, table_at(targets, metadata, targets_table), metadata)
    if stated or opened.rows_origin != READ:
        opened.state()
    return opened


def table_at(source: Any, metadata: Metadata, table: str | None = None) -> Table:
    """Open a table without reading a row, or stating anything of rows in memory.

    Parameters
    ----------
    source : path, address, frame or (X, y)
        As `open_table` takes it.
    metadata : Metadata
        What is public about the table.
    table : str, optional
        Which table of a database.

    Returns
    -------
    Table
        The table.
    """
    if is_spark(source):
        if table is not None:
            raise InvalidParameterError("An address of Spark names one table: leave --table out, or name it there.")
        return SparkTable(source, metadata)
    if is_lazy(source):
        return LazyTable(source, metadata)
    if isinstance(source, tuple):
        return table_of_pair(source, metadata)
    if not isinstance(source, (str, Path)):
        return FrameTable(source, metadata)
    if is_address(str(source)):
        return ParquetTable(str(source), metadata, table)
    if str(source).partition("://")[0].lower() in SCHEMES:
        return PostgresTable(str(source), metadata, table)
    if _may_hold_password(str(source)):
        raise InvalidParameterError(
            "The address of the data is not supported. Copy the table to a file, or give an address that begins with "
            f"one of {', '.join(_SCHEMES)}."
        )
    path = Path(os.path.expanduser(source))
    if not _exists(path):
        raise InvalidParameterError(f"File {str(source)[:300]} was not found. Check the path of the data.")
    path = path.resolve()  # the same file by another path is the same source
    if path.is_dir():
        return ParquetTable(path, metadata, table)
    suffix = path.suffix.lower()
    for suffixes, kind in _KINDS:
        if suffix in suffixes:
            return kind(path, metadata, table)
    endings = ", ".join(s for suffixes, _ in _KINDS for s in suffixes)
    raise InvalidParameterError(
        f"The data file's name must end in one of {endings}, but it is {path.name[:80]!r}. "
        "Save the table as CSV or Parquet."
    )


def _may_hold_password(source: str) -> bool:
    """Tell an address, or what a client of PostgreSQL takes for one, from a path, which may be shown."""
    return "://" in source or (source.startswith("postgres") and "@" in source) or "password=" in source.lower()


def _exists(path: Path) -> bool:
    try:
        return path.is_file() or path.is_dir()
    except OSError:  # such as a name that is too long
        return False


_SCHEMES = (*(f"{scheme}://" for scheme in ("postgresql", *OBJECT_STORES)), "spark:")
_KINDS: list[tuple[tuple[str, ...], type[FileTable] | type[ParquetTable]]] = [
    (CSV_SUFFIXES, CsvTable),
    (PARQUET_SUFFIXES, ParquetTable),
    ((".arrow", ".feather", ".ipc", ".arrows"), ArrowTable),
    (_DUCKDB_SUFFIXES, DuckDBFileTable),
    (_SQLITE_SUFFIXES, SQLiteTable),
]


def undeclared_table(source: str | Path, table: str | None = None) -> Table:
    """Open a table for its name and header; no row is read, no metadata needed.

    Parameters
    ----------
    source : str or Path
        The file or address.
    table : str, optional
        Which table of a database.

    Returns
    -------
    Table
        Of which nothing is declared.
    """
    nothing = {"dataset": "header", "unit": "row", "neighboring": "add_or_remove_one"}
    metadata = Metadata.from_value({**nothing, "columns": {"none": {"type": "real"}}})
    return open_table(source, metadata, table)
