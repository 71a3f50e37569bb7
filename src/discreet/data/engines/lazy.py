"""Lazy expressions from Python: polars' lazy frames, DuckDB's relations, ibis' tables of warehouses."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import narwhals as nw
import pyarrow as pa
from typing_extensions import override

from discreet.data.batch_sizes import BATCH_ROWS, rows_a_batch
from discreet.data.engine import Table
from discreet.data.engines.file_table import quoted
from discreet.data.engines.frame import FrameTable, kind_of
from discreet.data.metadata import Metadata
from discreet.errors import DataMismatchError, InvalidParameterError

_IBIS_WORDS = {
    "boolean": "BOOLEAN",
    "string": "VARCHAR",
    "float16": "FLOAT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "uuid": "UUID",
    "json": "JSON",
    "null": "NULL",
    "unknown": "USER-DEFINED",
    **{f"{sign}int{bits}": "BIGINT" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_STOPS = (GeneratorExit, KeyboardInterrupt, SystemExit)


def is_lazy(source: Any) -> bool:
    """Tell whether a source is a lazy expression of a known library; none is imported.

    Parameters
    ----------
    source : object
        What the caller passes.

    Returns
    -------
    bool
        True for what `LazyTable` reads.
    """
    return _library_of(_native(source)) is not None


class LazyTable(Table):
    """The table that a lazy expression computes, streamed each time it is read.

    Parameters
    ----------
    expression : polars.LazyFrame, duckdb.DuckDBPyRelation or ibis.expr.types.Table
        Also what narwhals makes of them.
    metadata : Metadata
        What is public about the table that it computes.

    Raises
    ------
    InvalidParameterError
        When the library is too old to stream.
    DataMismatchError
        When the expression has no columns that it can name.

    Notes
    -----
    The guarantee is for the table that the expression computes, not for those that it is computed from: a join or a
    mean over people can make many of its rows depend on one of theirs. Whoever hands it over answers for that, and for
    its giving the same rows each time: nothing drawn, no limit without an order.

    How much memory a pass takes is up to the library: polars streams, so does DuckDB, and ibis as its backend does.
    """

    def __init__(self, expression: Any, metadata: Metadata) -> None:
        super().__init__(metadata)
        self._expression = _native(expression)
        self._library = str(_library_of(self._expression))
        if self._library == "polars" and not hasattr(self._expression, "collect_batches"):
            raise InvalidParameterError(
                "To be read, a lazy frame must have collect_batches, but this polars is too old. Upgrade it."
            )
        try:
            self._header = _HEADERS[self._library](self._expression)
        except Exception:  # the library's own complaint may show cells
            raise DataMismatchError(
                "A lazy expression must name its columns and their types without being computed, but this one does "
                "not. Check that what it is made of is still there."
            ) from None

    @property
    @override
    def name(self) -> str:
        return f"{self._library} expression"

    @override
    def header(self) -> list[tuple[str, str]]:
        return self._header

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        size = rows_a_batch(BATCH_ROWS, len(columns))
        try:
            for frame in getattr(self, f"_{self._library}")(list(columns), size):
                yield from FrameTable(frame, self.metadata).batches(columns)
        except _STOPS:
            raise
        except BaseException:  # its text could show a cell; a panic of a compiled library is no Exception
            raise DataMismatchError(
                "A lazy expression must be computed to its end, but its library gave up. Try it on a fake table."
            ) from None

    def _polars(self, columns: list[str], size: int) -> Iterator[Any]:
        chosen = self._expression.select(columns)
        yield from chosen.collect_batches(chunk_size=size, maintain_order=False, lazy=True)

    def _duckdb(self, columns: list[str], size: int) -> Iterator[Any]:
        with suppress(Exception):  # a bar over the rows would tell how many there are
            self._expression.query("discreet", "SET enable_progress_bar = false")
        # By place: to DuckDB, names that differ in case alone are one name.
        place = {name: number for number, (name, _) in enumerate(self._header, 1)}
        chosen = ", ".join(f"#{place[name]} AS {quoted(f'c{place[name]}')}" for name in columns)
        for batch in self._expression.project(chosen).to_arrow_reader(size):
            yield pa.Table.from_batches([batch]).rename_columns(columns)

    def _ibis(self, columns: list[str], size: int) -> Iterator[Any]:
        for batch in self._expression.select(*columns).to_pyarrow_batches(chunk_size=size):
            yield pa.Table.from_batches([batch])


def _native(source: Any) -> Any:
    return nw.to_native(source) if isinstance(source, nw.LazyFrame) else source


def _library_of(source: Any) -> str | None:
    for kind in type(source).__mro__:
        library = kind.__module__.partition(".")[0].lstrip("_")
        if (library, kind.__name__) in (("polars", "LazyFrame"), ("duckdb", "DuckDBPyRelation"), ("ibis", "Table")):
            return library
    return None


def _polars_header(expression: Any) -> list[tuple[str, str]]:
    return [(str(name), kind_of(kind)) for name, kind in nw.from_native(expression).collect_schema().items()]


def _duckdb_header(expression: Any) -> list[tuple[str, str]]:
    return [(str(name), str(kind)) for name, kind in zip(expression.columns, expression.types, strict=True)]


def _ibis_header(expression: Any) -> list[tuple[str, str]]:
    return [(str(name), _ibis_kind(str(kind))) for name, kind in expression.schema().items()]


def _ibis_kind(kind: str) -> str:
    plain = kind.removeprefix("!")  # of a column without missing cells
    return _IBIS_WORDS.get(plain, plain.upper())


_HEADERS = {"polars": _polars_header, "duckdb": _duckdb_header, "ibis": _ibis_header}
