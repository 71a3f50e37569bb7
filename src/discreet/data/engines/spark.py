"""Tables of Spark: each pass runs where the rows are, and sums come back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
from typing_extensions import override

from discreet.data.batch_sizes import WIDE_GROUP
from discreet.data.design import RowMap
from discreet.data.engine import Table
from discreet.data.engines import spark_worker as worker
from discreet.data.engines.each import Progress
from discreet.data.engines.file_table import changed
from discreet.data.engines.spark_plan import require_rows_one_by_one
from discreet.data.engines.spark_session import SCHEME, Jobs, call_spark, check_workers, is_interruption
from discreet.data.engines.spark_source import frame_at, stamps
from discreet.data.engines.text_cells import MOST_BYTES
from discreet.data.metadata import Metadata
from discreet.data.row_pass import RowPass
from discreet.errors import DataMismatchError, InvalidParameterError
from discreet.kernels.moments.exact_sums import ExactSum
from discreet.release import READ, UNSTATED
from discreet.typing import Cells, Integers

DIRECT_BYTES = 2**14
"""A larger sum is added up on the cluster: the driver would get one for each of maybe thousands of partitions."""
MOST_REDUCERS = 64
"""Tasks that add up pieces of sums."""


class SparkTable(Table):
    """A table of Spark: a DataFrame, or what an address names.

    Parameters
    ----------
    source : DataFrame or str
        A DataFrame of a classic session or of Spark Connect, or ``spark:`` and the name of a table of the catalog or
        an absolute path to Parquet: a file, or a folder of files that end in .parquet or .pq.
    metadata : Metadata
        What is public about it.

    Raises
    ------
    InvalidParameterError
        When an address is malformed or names a view, a folder holds links or another table format, Spark is not to be
        had, or rows stream in without end.
    DataMismatchError
        When a header cannot be read, or the files of a folder have other columns or types than one another.

    Notes
    -----
    A DataFrame is a query: it must map rows to rows one by one, and give the same rows each time it is read. One that
    aggregates, joins, samples or draws at random breaks the guarantee; hand over a stored table then.

    Cost: a pass is one job over the columns that are read. With a contribution bound the encoded rows are
    shuffled and sorted by unit, on the disks of the cluster: 2 bytes a cell and about 30 a row. What comes back is 8
    bytes an integer of the sum, from each partition where that is little, else once.
    """

    def __init__(self, source: Any, metadata: Metadata) -> None:
        super().__init__(metadata, READ if isinstance(source, str) else UNSTATED)
        self._frame: Any = source
        self._address: str | None = None
        if isinstance(source, str):
            self._frame, self._address = frame_at(source)
        if self._frame.isStreaming:
            raise InvalidParameterError("A table must have an end, but this DataFrame is a stream. Store it first.")
        if self._address is None:
            require_rows_one_by_one(self._frame, is_counted=metadata.n_rows is not None)
        self._written = self._stamps()

    @property
    def _spark(self) -> Any:
        return self._frame.sparkSession

    @property
    @override
    def name(self) -> str:
        if self._address is None:
            return "frame"
        place = self._address.removeprefix(SCHEME)
        return place.rsplit("/", 1)[-1] if "/" in place else place

    @property
    @override
    def locator(self) -> str | None:
        return self._address

    @override
    def header(self) -> list[tuple[str, str]]:
        return self._header

    @cached_property
    def _header(self) -> list[tuple[str, str]]:
        refusal = DataMismatchError("A DataFrame must have a schema, but Spark finds none. Check its query.")
        fields = call_spark(lambda: self._frame.schema.fields, refusal)
        return [(field.name, _kind(field.dataType.typeName(), field.dataType.simpleString())) for field in fields]

    @override
    def row_count(self) -> int | None:
        return None if self.metadata.n_rows is None else self._count

    @cached_property
    def _count(self) -> int | None:
        try:
            return int(Jobs(self._spark).wait(self._frame.count))
        except Exception as error:
            if is_interruption(error):
                raise KeyboardInterrupt from None
            return None  # a cell may end the count, and must not decide whether there is a charge: the pass says so

    @override
    def require_unchanged(self) -> None:
        if self._stamps() != self._written:
            raise changed()

    def _stamps(self) -> frozenset[tuple[str, int, int]]:
        return call_spark(lambda: stamps(self._frame), changed())  # such as of a file that is no longer there

    @override
    def check(self, columns: Sequence[str]) -> None:
        super().check(columns)
        check_workers(self._spark)

    @property
    @override
    def group_columns(self) -> int:
        return WIDE_GROUP

    @override
    def held(self, design: RowMap) -> RowMap:
        return design  # rows stay where they are

    @override
    def _reduced(self, row_pass: RowPass, progress: Progress | None) -> Integers:
        def sums() -> tuple[dict[int, ExactSum], int]:
            parts = self._stepped(row_pass, (worker.sums, worker.sums_of_units), worker.SUMS)
            if row_pass.start.nbytes > DIRECT_BYTES:
                n_reducers = min(-(-row_pass.start.size // worker.PIECE), MOST_REDUCERS)
                adding = partial(worker.guarded, worker.added, b"")
                parts = parts.repartition(n_reducers, "place").mapInArrow(adding, worker.SUMS)
            return worker.joined(parts.toArrow().to_batches())

        totals, n_rows = Jobs(self._spark).wait(sums)
        self.require_unchanged()
        if progress is not None and row_pass.contribution_bound is None:
            progress(n_rows)
        return _whole(row_pass.start, totals)

    @override
    def encoded(self, design: RowMap) -> Iterator[Cells]:
        nothing = np.zeros(0, dtype=np.int64)
        row_pass = self._pass(design, _of_nothing, nothing, None)
        for block in self._streamed(row_pass, (worker.encoded, worker.encoded_units)):
            yield np.frombuffer(block, dtype=np.int16).reshape(-1, design.n_columns)

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        row_pass = RowPass(_Columns(tuple(columns)), _of_nothing, np.zeros(0, dtype=np.int64))
        for block in self._streamed(row_pass, (worker.as_they_are, worker.as_they_are)):
            with pa.ipc.open_stream(block) as reader:
                yield from reader

    def _streamed(self, row_pass: RowPass, steps: tuple[worker.Step, worker.Step]) -> Iterator[bytes]:
        """Yield rows that come to the driver, one partition after the other."""
        jobs = Jobs(self._spark)
        rows = jobs.wait(lambda: self._stepped(row_pass, steps, worker.CELLS).toLocalIterator())
        try:
            while (row := jobs.wait(partial(next, rows, None))) is not None:
                yield bytes(row[0])
            self.require_unchanged()
        finally:
            jobs.cancel()

    def _stepped(self, row_pass: RowPass, steps: tuple[worker.Step, worker.Step], schema: str) -> Any:
        """Return the plan of a pass: the first step without a contribution bound, else the second, on whole units."""
        sent, rows = _pickled(row_pass), self._chosen(row_pass.columns)
        if row_pass.contribution_bound is None:
            return rows.mapInArrow(partial(worker.guarded, steps[0], sent), schema)
        kind = self._frame.schema.fields[self._places[row_pass.contribution_bound.unit_id]].dataType.typeName()
        key = "bigint" if kind in _WHOLE else "binary"
        owned = rows.mapInArrow(partial(worker.guarded, worker.rows_of_units, sent), f"key {key}, {worker.CELLS}")
        units = owned.repartition("key").sortWithinPartitions("key")
        return units.mapInArrow(partial(worker.guarded, steps[1], sent), schema)

    def _chosen(self, columns: Sequence[str]) -> Any:
        """Select columns by place: Spark takes names that differ in case alone as one, and parts names at dots.

        Too long text is left out where it lies, as all of a batch of it may be more than a worker can be sent.
        """
        places = [self._places[name] for name in columns]
        frame = self._frame.toDF(*(f"c{place}" for place in range(len(self._header))))
        return frame.selectExpr(*(self._expression(place) for place in places))

    def _expression(self, place: int) -> str:
        is_text = self._header[place][1] == "VARCHAR"
        return (
            f"CASE WHEN octet_length(c{place}) <= {MOST_BYTES} THEN c{place} END AS c{place}"
            if is_text
            else f"c{place}"
        )

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, (name, _) in enumerate(self._header)}


@dataclass(frozen=True)
class _Columns:
    """A row map of columns that are read as they are."""

    columns: tuple[str, ...]
    n_columns: int = 0

    def encode(self, batch: pa.RecordBatch) -> Cells:
        return np.empty((batch.num_rows, 0), dtype=np.int16)


def _of_nothing(_: Cells) -> Integers:
    return np.zeros(0, dtype=np.int64)


def _pickled(row_pass: RowPass) -> bytes:
    from pyspark import cloudpickle

    return bytes(cloudpickle.dumps(row_pass))


def _whole(start: Integers, totals: dict[int, ExactSum]) -> Integers:
    """Return the sum from its pieces."""
    flat = start.reshape(-1).copy()
    for place, total in totals.items():
        at = place * worker.PIECE
        flat[at : at + worker.PIECE] = total.value()
    return flat.reshape(start.shape)


def _kind(name: str, text: str) -> str:
    """Return the storage type in the words that files use."""
    return _WORDS.get(name, text.upper()[:40])


_WHOLE = ("byte", "short", "integer", "long")
_WORDS = {
    "boolean": "BOOLEAN",
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "decimal": "DECIMAL",
    "string": "VARCHAR",
    "varchar": "VARCHAR",
    "char": "VARCHAR",
    "void": "NULL",
}
