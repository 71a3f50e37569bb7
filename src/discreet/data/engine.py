"""What every engine does: stream the requested columns, add up integers. Never a whole large table in memory."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial

import numpy as np

from discreet.data.batch_sizes import BATCH_ROWS, BYTES_A_KEY, COMPILE_FROM, CUT_GROUP, GROUP, HELD_BYTES, UNIT_BYTES
from discreet.data.cells import Compiled
from discreet.data.contribution_bound import ContributionBound, OfUnits, UnitRows
from discreet.data.design import Design, RowMap
from discreet.data.engines.each import Progress, each
from discreet.data.header import refuse_stored, require, require_all, shown
from discreet.data.held_rows import HeldRows
from discreet.data.metadata import Metadata
from discreet.data.metadata_card import headline, metadata_card
from discreet.data.row_pass import RowPass, owned_rows
from discreet.data.score_design import ScoreDesign
from discreet.data.storage import Storage
from discreet.data.storage_types import require_fit
from discreet.errors import DataMismatchError
from discreet.kernels.moments.exact_sums import ExactSum
from discreet.kernels.moments.moments import FEW_COLUMNS, compiled_moments, exact_moments
from discreet.kernels.moments.products import exact_products
from discreet.kernels.rows.contribution_bound import kept_products, kept_sum
from discreet.notebook import in_a_line
from discreet.release import STATED, UNSTATED, RowsOrigin
from discreet.typing import Cells, Integers


class Table(Storage):
    """A private table, seen only through its metadata.

    Parameters
    ----------
    metadata : Metadata
        What is public about it.
    rows_origin : str
        What says that the rows are those of the declared table. In memory nothing does until `state` is called.

    Notes
    -----
    Opening a table reads its header and nothing else; rows in memory are copied unseen. An engine implements
    what `Storage` asks for.
    """

    def __init__(self, metadata: Metadata, rows_origin: RowsOrigin = UNSTATED) -> None:
        super().__init__(metadata)
        self._rows_origin = rows_origin

    def __reduce__(self) -> str:
        # No cache keeps its rows or a digest of them, and no copy of it goes to another process.
        raise TypeError("A private table cannot be copied or stored. Open it where it is used.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {in_a_line(self.name)} of {headline(self.metadata)}>"

    def _repr_html_(self) -> str:
        return metadata_card(self.metadata, f"Private table {self.name}: no row is shown")

    @property
    def rows_origin(self) -> RowsOrigin:
        """What says that the rows are those of the declared table: without it there is no guarantee."""
        return self._rows_origin

    def state(self) -> None:
        """Record the caller's statement that rows in memory are the declared columns as they are, all of them.

        Raises
        ------
        DataMismatchError
            When a declared column is missing: then the rows are not as they were stored.

        Notes
        -----
        `open_table` alone calls it. What scikit-learn derives from a table is an array or fails, and states nothing.
        """
        unit_id = (self.metadata.unit_id,) if self.metadata.unit_id else ()
        features = self.metadata.features if self.metadata.layout is None else None
        further = () if features is None else features.names or ()
        require_all(self.header(), (*self.metadata.stored, *further, *unit_id))
        self.detach()
        self._rows_origin = STATED

    def detach(self) -> None:
        """Copy rows in memory, unseen, so that nothing that is written into the caller's buffers reaches the table.

        Notes
        -----
        Scalers may work in place: what is stated of rows is not true of what is written into them later.
        """

    def require_unchanged(self) -> None:
        """Refuse a table that is not what was opened: a file that was written since, other columns of a database.

        Raises
        ------
        DataMismatchError
            Whatever was written. A pass looks by itself, so that all passes of a request read the same table.
        """

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
        self.require_unchanged()
        unit_id = (self.metadata.unit_id,) if self.metadata.unit_id else ()
        require(self.header(), (*columns, *unit_id))
        refuse_stored(self.header(), self.metadata.derived)
        require_fit(self.metadata, self.storage_types(), columns)
        self._check_count(columns)
        self.check_row_count()

    def check_row_count(self) -> None:
        """Compare the number of rows with the metadata where both state it; units are not counted before a charge.

        Raises
        ------
        DataMismatchError
            When they differ.
        """
        stated = None if self.metadata.n_rows is None else self.row_count()
        if stated is not None and stated != self.metadata.n_rows:
            raise DataMismatchError(
                f"The metadata declare n_rows={self.metadata.n_rows}, but the table has another number of rows. "
                "Correct n_rows, or declare neighboring: add_or_remove_one."
            )

    def _check_count(self, columns: Sequence[str]) -> None:
        """Compare the number of features with the declared one, if one of them is to be read."""
        features = self.metadata.features
        if features is None or features.names is not None or all(name in self.metadata.columns for name in columns):
            return
        matched = sum(name not in self.metadata.columns for name in self.feature_names(""))
        if features.count not in (None, matched):
            raise DataMismatchError(
                f"The table must have the {features.count} columns named as {shown(features.match)} that its metadata "
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
            In the order of the header, then derived ones.
        """
        derived = self.metadata.derived
        names = [name for name, _ in self.header() if name not in derived and self.metadata.column(name) is not None]
        return [name for name in (*names, *derived) if name != target]

    def map_reduce(
        self,
        design: RowMap,
        work: Callable[[Cells], Integers],
        start: Integers,
        progress: Progress | None = None,
        of_units: OfUnits | None = None,
    ) -> Integers:
        """Add up an integer function of blocks of encoded rows, within the contribution bound.

        Parameters
        ----------
        design : RowMap
            The row map.
        work : callable
            From encoded rows to an array of int64; must not depend on how rows are split into blocks.
        start : ndarray of int64
            The sum of no rows.
        progress : callable, optional
            Called with the number of rows read since its last call; never where there is a contribution bound.
        of_units : callable, optional
            With a `unit_id`, the sum over rows of whole units, which chooses the rows of each that count, by that
            unit's identifier and rows alone; default the sum of `work` over a sample by a public hash of them.

        Returns
        -------
        ndarray of int64
            The same integers in any order, by any blocks, on any engine; no sum overflows.

        Notes
        -----
        Cost: one pass. With a `unit_id`, the encoded rows are held in memory, at most `UNIT_BYTES` of them at once:
        of a larger table all rows are read once for each part of the units.
        """
        return self._reduced(self._pass(design, work, start, of_units), progress)

    def held(self, design: RowMap) -> RowMap:
        """Return a row map for several passes over the same rows, which encodes them once where memory holds them.

        Parameters
        ----------
        design : RowMap
            The row map.

        Returns
        -------
        RowMap
            For `map_reduce` of this table: the same integers. The row map itself with a `unit_id`, or where the encoded
            rows would take more than `HELD_BYTES`.
        """
        fits = 0 < 2 * design.n_columns * self.about_rows() <= HELD_BYTES
        return HeldRows(design) if fits and self.metadata.unit_id is None else design

    def _pass(
        self, design: RowMap, work: Callable[[Cells], Integers], start: Integers, of_units: OfUnits | None
    ) -> RowPass:
        unit_id = self.metadata.unit_id
        bound = None if unit_id is None else ContributionBound(unit_id, self.metadata.rows_per_unit, of_units)
        return RowPass(design, work, start, bound)

    def _reduced(self, row_pass: RowPass, progress: Progress | None) -> Integers:
        """Run a pass where the rows are; here, in threads of this process."""
        total = ExactSum(row_pass.start)
        if row_pass.contribution_bound is not None:
            for rows in self._units(row_pass.design):
                total.add(row_pass.of_units(rows))
            return total.value()
        if self.about_rows() * row_pass.design.n_columns >= COMPILE_FROM:
            Compiled.load()
        held = row_pass.design if isinstance(row_pass.design, HeldRows) else None
        if held is not None and held.blocks is not None:
            parts = each(([block] for block in held.blocks), row_pass.work, progress)
        else:
            parts = each(self.streams(row_pass.columns), row_pass.of_batch, progress)
            if held is not None:
                held.start()
        with closing(parts):
            for part in parts:
                total.add(part)
        if held is not None:
            held.finish()
        return total.value()

    def _units(self, design: RowMap) -> Iterator[UnitRows]:
        """Encoded rows of some units after the other, as many as memory holds: each time all rows are looked at."""
        columns = (*design.columns, str(self.metadata.unit_id))
        size = (2 * design.n_columns + BYTES_A_KEY) * self.about_rows()
        n_parts = -(-size // UNIT_BYTES) or 1
        for part in range(n_parts):
            rows = UnitRows(design.n_columns)
            task = partial(owned_rows, design=design, part=part, n_parts=n_parts)
            with closing(each(self.streams(columns), task)) as blocks:
                for keys, cells in blocks:
                    rows.add(keys, cells)
            yield rows

    def encoded(self, design: RowMap) -> Iterator[Cells]:
        """Return the encoded rows themselves, within the contribution bound: for what must look at them together.

        Parameters
        ----------
        design : RowMap
            The row map.

        Yields
        ------
        ndarray of int16, shape (n, n_columns)
            In no certain order. Not releasable.
        """
        if self.metadata.unit_id is None:
            yield from each(self.streams(design.columns), design.encode)
            return
        for rows in self._units(design):
            yield from rows.bounded_blocks(self.metadata.rows_per_unit, BATCH_ROWS)

    def moments(self, design: Design, progress: Progress | None = None) -> Integers:
        """Return the exact second moments of the encoded rows.

        Parameters
        ----------
        design : Design
            The row map.
        progress : callable, optional
            Called with the number of rows read since its last call.

        Returns
        -------
        ndarray of int64, shape (n_columns, n_columns)
            In units of 1 / 32767^2.

        References
        ----------
        Privacy specification 8.1.
        """
        p = design.n_columns
        is_large = self.about_rows() * p >= COMPILE_FROM and p <= FEW_COLUMNS
        work = compiled_moments if is_large else exact_moments  # the same integers
        return self.map_reduce(design, work, np.zeros((p, p), dtype=np.int64), progress)

    def products(self, design: ScoreDesign, progress: Progress | None = None) -> Integers:
        """Return for each feature the exact sum over rows of its cell times the target's.

        Parameters
        ----------
        design : ScoreDesign
            The row map.
        progress : callable, optional
            Called with the number of features done since its last call: public, as the number of rows need not be.

        Returns
        -------
        ndarray of int64, shape (n_features,)
            In units of 1 / 32767^2; the same in any order of rows, by any blocks, on any engine.

        Notes
        -----
        With a `unit_id`, the contribution bound holds for each feature by itself: a sum takes at most
        ``rows_per_unit`` rows of one unit, a sample by its identifier and its cells of the feature and the target
        alone. A score then changes with one unit by at most that many rows', and does not depend on what else is
        scored.

        References
        ----------
        Privacy specification 0.1, 4.1 and 8.1.
        """
        p = len(design.features)
        size = self.group_columns if self.metadata.unit_id is None else CUT_GROUP
        total = np.zeros(p, dtype=np.int64)
        for start in range(0, p, size):
            part = self._group_products(design.group(start, start + size))
            total[start : start + size] = part
            if progress is not None:
                progress(len(part))
        return total

    @property
    def group_columns(self) -> int:
        """Number of columns that are scored in one pass."""
        return GROUP

    def _group_products(self, design: ScoreDesign) -> Integers:
        start = np.zeros(len(design.features), dtype=np.int64)
        return self.map_reduce(design, exact_products, start, of_units=kept_products)

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
        start = np.zeros(2, dtype=np.int64)
        total, n_rows = self.map_reduce(design.group(0, 0), _sum_and_count, start, of_units=kept_sum)
        return int(total), int(n_rows)

    def target_counts(self, design: ScoreDesign, places: Callable[[Cells], Integers], n_points: int) -> Integers:
        """Return how many rows have their target at each of some public points.

        Parameters
        ----------
        design : ScoreDesign
            The row map; its features are not read.
        places : callable
            From cells, the target in the last column, to counts: a sum over rows, each at one point.
        n_points : int
            Number of the points.

        Returns
        -------
        ndarray of int64, shape (n_points,)
            Private. With a `unit_id`, of at most ``rows_per_unit`` rows of one unit.
        """
        return self.map_reduce(design.group(0, 0), places, np.zeros(n_points, dtype=np.int64))


def _sum_and_count(cells: Cells) -> Integers:
    return np.array([cells[:, -1].sum(dtype=np.int64), len(cells)])
