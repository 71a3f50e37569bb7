"""What every engine does: stream the columns that were asked for, add up integers. Never the whole table in memory."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.data.design import Cells, Design, RowMap
from discreet.data.feature_cut import cut_products, cut_target
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.data.unit_cut import cut_blocks
from discreet.errors import DataMismatchError
from discreet.kernels.moments import exact_moments
from discreet.kernels.products import exact_products

Integers = npt.NDArray[np.int64]
Progress = Callable[[int], None]

BATCH_ROWS = 2**16
BATCH_CELLS = 2**22
"""The most cells of a batch, where columns are many."""
MANY_COLUMNS = 200
"""More than this are read other than a few are: what is slow for each column is done for all at once."""
WORKERS = 2
GROUP = 1024
"""Columns that are scored in one pass over a table's rows."""
WIDE_GROUP = 2**15
"""The same where a pass reads all columns, whichever are asked for."""
CUT_GROUP = 128
"""The same where rows must be kept until all those of a unit are known."""

_STORED = frozenset(
    [
        *("BOOL", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
        *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE"),
        *("DECIMAL", "DECIMAL32", "DECIMAL64", "DECIMAL128", "DECIMAL256"),
        *("VARCHAR", "ENUM", "UUID", "JSON", "NULL", "UNKNOWN"),
    ]
)
"""Storage types of numbers and text, in the words of all engines; the last two where every cell is missing."""


class Table(ABC):
    """A private table, seen only through its metadata.

    Parameters
    ----------
    metadata : Metadata
        What is public about it.

    Notes
    -----
    Opening a table reads its header and nothing else. An engine implements `header`, `batches` and, where the storage
    states it, `row_count`.
    """

    def __init__(self, metadata: Metadata) -> None:
        self.metadata = metadata

    @property
    @abstractmethod
    def name(self) -> str:
        """Public name of the source, without its folder."""

    @property
    def locator(self) -> str | None:
        """Where the source is, when asking it again would find the same rows; None for a frame in memory."""
        return None

    @abstractmethod
    def header(self) -> list[tuple[str, str]]:
        """Return names and storage types of the columns, without reading a row."""

    def row_count(self) -> int | None:
        """Return the number of rows where the storage states it without reading rows, else None."""
        return None

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the rows' named columns, in any order and any batches.

        Parameters
        ----------
        columns : sequence of str
            Names from the header.

        Yields
        ------
        pyarrow.RecordBatch
            Of the storage's own types.
        """

    # ---- what methods use

    def check(self, columns: Sequence[str]) -> None:
        """Compare the header, and the number of rows where it is public, with the metadata; no row is read.

        Parameters
        ----------
        columns : sequence of str
            Columns that will be read.

        Raises
        ------
        DataMismatchError
            When a column is absent or doubled, cannot hold what is declared, or the public row count differs.
        """
        unit_id = (self.metadata.unit_id,) if self.metadata.unit_id else ()
        require(self.header(), (*columns, *unit_id))
        self._check_count(columns)
        self.check_row_count()

    def check_row_count(self) -> None:
        """Compare the number of rows with the metadata where both state it.

        Raises
        ------
        DataMismatchError
            When they differ.
        """
        stated = None if self.metadata.n_rows is None else self.row_count()
        if stated is not None and stated != self.metadata.n_rows:
            raise DataMismatchError(
                f"The table must have the n_rows={self.metadata.n_rows} that its metadata declares public, but it "
                "has another number of rows. Correct n_rows, or declare neighboring: add_or_remove_one."
            )

    def _check_count(self, columns: Sequence[str]) -> None:
        """Compare the number of features with the declared one, if one of them is to be read."""
        features = self.metadata.features
        if features is None or features.names is not None or all(name in self.metadata.columns for name in columns):
            return
        matched = sum(name not in self.metadata.columns for name in self.feature_names(""))
        if features.count not in (None, matched):
            raise DataMismatchError(
                f"The table must have the {features.count} columns named as {_shown(features.match)} that its metadata "
                f"declare, but its header has {matched}. Correct features.count, features.match or the table."
            )

    def feature_names(self, target: str) -> Sequence[str]:
        """Return the names of all declared columns that can be candidates; no row is read.

        Parameters
        ----------
        target : str
            The response, which is none of them.

        Returns
        -------
        sequence of str
            In the order of the header.
        """
        return [name for name, _ in self.header() if name != target and self.metadata.column(name) is not None]

    def map_reduce(
        self,
        design: RowMap,
        work: Callable[[Cells], Integers],
        start: Integers,
        progress: Progress | None = None,
    ) -> Integers:
        """Add up an integer function of blocks of encoded rows, the cut by unit enforced first.

        Parameters
        ----------
        design : RowMap
            The row map.
        work : callable
            From encoded rows to an array of int64; must not depend on how rows are split into blocks.
        start : ndarray of int64
            The sum of no rows.
        progress : callable, optional
            Told the number of rows read since it was last told.

        Returns
        -------
        ndarray of int64
            The same integers in any order, by any blocks, on any engine.
        """
        total = start.copy()
        if self.metadata.unit_id is not None:
            unit_id = self.metadata.unit_id
            batches = self.batches((*design.columns, unit_id))
            for cells in cut_blocks(batches, design, unit_id, self.metadata.rows_per_unit):
                total += work(cells)
            return total

        def task(batch: pa.RecordBatch) -> Integers:
            return work(design.encode(batch))

        waiting: list[tuple[int, Future[Integers]]] = []
        with ThreadPoolExecutor(WORKERS) as pool:
            for batch in self.batches(design.columns):
                waiting.append((batch.num_rows, pool.submit(task, batch)))
                if len(waiting) > WORKERS:
                    total += _finished(waiting.pop(0), progress)
            for item in waiting:
                total += _finished(item, progress)
        return total

    def moments(self, design: Design, progress: Progress | None = None) -> Integers:
        """Return the exact second moments of the encoded rows.

        Parameters
        ----------
        design : Design
            The row map.
        progress : callable, optional
            Told the number of rows read since it was last told.

        Returns
        -------
        ndarray of int64, shape (n_columns, n_columns)
            In units of 1 / 32767^2.

        References
        ----------
        Privacy specification 8.1.
        """
        p = design.n_columns
        return self.map_reduce(design, exact_moments, np.zeros((p, p), dtype=np.int64), progress)

    def products(self, design: ScoreDesign, progress: Progress | None = None) -> Integers:
        """Return for each feature the exact sum over rows of its cell times the target's.

        Parameters
        ----------
        design : ScoreDesign
            The row map.
        progress : callable, optional
            Told the number of features done since it was last told: public, as the number of rows need not be.

        Returns
        -------
        ndarray of int64, shape (n_features,)
            In units of 1 / 32767^2; the same in any order of rows, by any blocks, on any engine.

        Notes
        -----
        With a `unit_id`, the cut is made for each feature by itself: a sum takes at most ``rows_per_unit`` rows of one
        unit, chosen by that unit's cells of the feature and the target alone. A score then changes with one unit by
        at most that many rows', and does not depend on what else is scored.

        References
        ----------
        Privacy specification 0.1, 4.1 and 8.1.
        """
        p = len(design.features)
        size = self.group_columns if self.metadata.unit_id is None else CUT_GROUP
        total = np.zeros(p, dtype=np.int64)
        with ThreadPoolExecutor(self.groups_at_once) as pool:
            starts = range(0, p, size)
            parts = pool.map(lambda start: self._group_products(design.group(start, start + size)), starts)
            for start, part in zip(starts, parts, strict=True):
                total[start : start + size] = part
                if progress is not None:
                    progress(len(part))
        return total

    @property
    def group_columns(self) -> int:
        """Number of columns that are scored in one pass."""
        return GROUP

    @property
    def groups_at_once(self) -> int:
        """Number of passes at one time."""
        return WORKERS

    def _group_products(self, design: ScoreDesign) -> Integers:
        if self.metadata.unit_id is None:
            return self.map_reduce(design, exact_products, np.zeros(len(design.features), dtype=np.int64))
        unit_id = self.metadata.unit_id
        batches = self.batches((*design.columns, unit_id))
        return cut_products(batches, design, unit_id, self.metadata.rows_per_unit)

    def target_sum(self, design: ScoreDesign) -> tuple[int, int]:
        """Return the exact sum of the target's integers, and the number of rows that it is of.

        Parameters
        ----------
        design : ScoreDesign
            The row map; its features are not read.

        Returns
        -------
        tuple of int
            The sum in units of 1 / 32767, and the number of rows: both private. With a `unit_id`, of at most
            ``rows_per_unit`` rows of one unit.
        """
        target = design.group(0, 0)
        if self.metadata.unit_id is None:
            found = self.map_reduce(target, _sum_and_count, np.zeros(2, dtype=np.int64))
        else:
            unit_id = self.metadata.unit_id
            batches = self.batches((*target.columns, unit_id))
            found = cut_target(batches, target, unit_id, self.metadata.rows_per_unit)
        return int(found[0]), int(found[1])


def require(header: Sequence[tuple[str, str]], columns: Sequence[str]) -> None:
    """Refuse a table that lacks columns, or whose storage cannot hold numbers or text.

    Parameters
    ----------
    header : sequence of (str, str)
        Names and storage types.
    columns : sequence of str
        What must be there, once.

    Raises
    ------
    DataMismatchError
        From the header alone.
    """
    kinds = dict(header)
    names = Counter(name for name, _ in header)
    for name in columns:
        if names[name] != 1:
            found = "is there more than once" if name in names else f"is not in it{_nearly(name, list(names))}"
            raise DataMismatchError(
                f"The table must have each declared column once, but column {_shown(name)} {found}. "
                "Correct the metadata or the table."
            )
        kind = kinds[name].upper()
        if kind.endswith("]") or kind.split("(")[0].strip('"') not in _STORED:
            raise DataMismatchError(
                f"Column {_shown(name)} must hold numbers or text, but its storage type is {kind[:40]}. "
                "Convert it before it is opened here."
            )


def rows_a_batch(most: int, n_columns: int) -> int:
    """Return the rows of a batch: fewer where columns are many.

    Parameters
    ----------
    most : int
        Rows of a batch of few columns.
    n_columns : int
        Number of columns.

    Returns
    -------
    int
        At least 1.
    """
    return max(1, min(most, BATCH_CELLS // max(n_columns, 1)))


def _sum_and_count(cells: Cells) -> Integers:
    return np.array([cells[:, -1].sum(dtype=np.int64), len(cells)])


def _finished(item: tuple[int, Future[Integers]], progress: Progress | None) -> Integers:
    n_rows, future = item
    part = future.result()
    if progress is not None:
        progress(n_rows)
    return part


def _nearly(name: str, names: Sequence[str]) -> str:
    """Tell of a column spelled nearly the same, and of no other: without a header, the first row stands there."""
    near = [other for other in names if other.strip().casefold() == name.strip().casefold()]
    return f", though {_shown(near[0])} is" if near else ""


def _shown(name: str) -> str:
    """A column name on one line: control characters escaped, cut at 60."""
    return repr(name[:60])
