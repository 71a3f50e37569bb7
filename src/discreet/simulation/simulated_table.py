"""Drawn tables that remember sums, as a plan asks for the same ones again and again."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from typing_extensions import override

from discreet.data.batch_sizes import BATCH_ROWS
from discreet.data.contribution_bound import OfUnits
from discreet.data.design import Design, RowMap
from discreet.data.engines.each import Progress
from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.target_places import clip_counts
from discreet.kernels.rows.unit_rows import CONSTANT, SCALE, Scaling, shortest_length
from discreet.typing import Cells, Floats, Integers

MOST_BOUNDS = 64
"""Lists of columns whose bounds are kept, each with its metadata."""

_BOUNDS: dict[tuple[int, tuple[str, ...]], tuple[Metadata, tuple[Any, ...]]] = {}


class SimulatedTable(FrameTable):
    """A table in memory that remembers sums: a plan asks for the same ones again and again.

    Parameters
    ----------
    frame : pyarrow.Table
        Drawn.
    metadata : Metadata
        Its own.
    repeats : int
        How often each row counts.
    """

    def __init__(self, frame: pa.Table, metadata: Metadata, repeats: int = 1) -> None:
        super().__init__(frame, metadata, "simulated")
        self._arrow, self._repeats = frame, repeats
        self._cache: dict[Any, Any] = {}
        self._last: tuple[tuple[Any, ...], list[Cells]] = (), []
        self._last_unit: tuple[tuple[Any, ...], list[UnitBlock]] = (), []

    @property
    def frame(self) -> pa.Table:
        """The drawn rows."""
        return self._arrow

    def fresh(self) -> "SimulatedTable":
        """Return the same rows, of which nothing is remembered."""
        return SimulatedTable(self._arrow, self.metadata, self._repeats)

    def cached(self, key: Any, value: Callable[[], Any]) -> Any:
        """Return a cached value, computed at the first call; callers must not change it."""
        if key not in self._cache:
            self._cache[key] = value()
        return self._cache[key]

    def adjusted_r_squared(self, design: Design, names: Collection[str], n_rows: int) -> float:
        """Return the adjusted R^2 of least squares on some of a design's candidates, for a table of so many rows."""
        units = dict(zip(design.candidates, design.units(), strict=True))
        columns = np.flatnonzero(np.any([units[name] for name in names], axis=0))
        places = np.concatenate([[0], columns[columns > 0]])
        moments = self.moments(design).astype(np.float64)
        gram, xty, yty = moments[np.ix_(places, places)], moments[places, -1], moments[-1, -1]
        residual = yty - xty @ np.linalg.lstsq(gram, xty, rcond=1e-10)[0]
        total = yty - moments[0, -1] ** 2 / moments[0, 0]
        degrees = max(n_rows - int(np.linalg.matrix_rank(gram, hermitian=True)), 1)
        return 1.0 - float(residual / degrees) / max(float(total / max(n_rows - 1, 1)), 1e-300)

    @override
    def row_count(self) -> int | None:
        return self._repeats * int(self._arrow.num_rows)

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        yield from self._arrow.select(list(columns)).to_batches(BATCH_ROWS)

    @override
    def map_reduce(
        self,
        design: RowMap,
        work: Callable[[Cells], Integers],
        start: Integers,
        progress: Progress | None = None,
        of_units: OfUnits | None = None,
    ) -> Integers:
        if type(design) is Design and design.unit_bound is not None and work is clip_counts:
            targets = (y[:, np.newaxis] for y in self._unit_targets(design))
            return np.asarray(start + self._repeats * np.sum([clip_counts(y) for y in targets], axis=0), dtype=np.int64)
        if not isinstance(design, Design) or design.is_weighted:
            return self._added_up(design, work, start)
        if not isinstance(work, FunctionType) or work.__closure__:  # it holds more than its code
            return self._added_up(design, work, start)
        key = ("reduced", work.__module__, work.__qualname__, *design_key(design))
        total: Integers = self.cached(key, lambda: self._added_up(design, work, np.zeros_like(start)))
        return start + total

    def _added_up(self, design: RowMap, work: Callable[[Cells], Integers], start: Integers) -> Integers:
        total = start.copy()
        for cells in self._encoded(design):  # one thread: on tables of a plan's size others cost more than they save
            total += self._repeats * work(cells)
        return total

    def _encoded(self, design: RowMap) -> Iterable[Cells]:
        """Blocks of encoded rows, of columns that are encoded once; callers must not change them."""
        if type(design) is not Design:
            return (design.encode(batch) for batch in self.batches(design.columns))
        if not (design.candidates or design.is_weighted):
            return self._targets(design)
        key = design_key(design.unweighted)
        if self._last[0] != key:  # passes of one request often follow each other
            pairs = zip(self._columns(design), self._targets(design), strict=True)
            self._last = key, [np.vstack([x, y[:, -1]]).T for x, y in pairs]
        return (design.weighted(block) for block in self._last[1])

    def _columns(self, design: Design) -> list[Cells]:
        """The constant and the candidates' cells before any factor, one row of cells each; of each block."""
        bounds = bounds_key(design.metadata, design.candidates)
        columns: list[Cells] = self.cached(
            ("columns", design.candidates, bounds), lambda: self._beside_constant(design.unweighted, bounds)
        )
        return columns

    def _beside_constant(self, plain: Design, bounds: tuple[Any, ...]) -> list[Cells]:
        """Blocks of the constant and the candidates, of which those are encoded that none had before."""
        keys = {name: ("cells", name, own) for name, own in zip(plain.candidates, bounds, strict=True)}
        missing = tuple(name for name, key in keys.items() if key not in self._cache)
        if missing or not keys:
            alone = replace(plain, candidates=missing)
            blocks = [alone.encode(batch).T[:-1] for batch in self.batches(alone.columns)]
            ends = np.cumsum([1, *alone.widths]).tolist()
            for name, start, end in zip(missing, ends[:-1], ends[1:], strict=True):
                self._cache[keys[name]] = [block[start:end] for block in blocks]
            if len(missing) == len(keys):
                return blocks
        of_each = zip(*(self._cache[key] for key in keys.values()), strict=True)
        return [np.vstack([np.full_like(block[0][:1], GRID), *block]) for block in of_each]

    def _targets(self, design: Design) -> list[Cells]:
        """The constant and the target's cells before any factor, of each block."""
        alone = replace(design.unweighted, candidates=())

        def encoded() -> list[Cells]:
            return [alone.encode(batch) for batch in self.batches(alone.columns)]

        targets: list[Cells] = self.cached(("target", *design_key(alone)), encoded)
        return targets

    @override
    def moments(self, design: Design, progress: Progress | None = None) -> Integers:
        if type(design) is Design and design.unit_bound is not None:
            return self._unit_moments(design)
        if design.is_weighted:  # the target is multiplied by a factor of its row
            if design.scaling is not None:  # drawn anew each time
                return super().moments(design)
            whole: Integers = self.cached(
                ("moments", *design_key(design)), lambda: super(SimulatedTable, self).moments(design)
            )
            return whole.copy()
        moments: Integers = self.cached(("moments", *design_key(design)), lambda: self._moments(design))
        return moments.copy()

    def _moments(self, design: Design) -> Integers:
        """Add up products of the other columns once: a private bound moves the target alone."""
        bounds = bounds_key(design.metadata, design.candidates)
        key = (design.candidates, bounds)
        blocks: list[npt.NDArray[np.float64]] = self.cached(
            ("rows", *key),
            lambda: [block.astype(np.float64) for block in self._columns(design)],
        )
        gram: Integers = self.cached(("gram", *key), lambda: _summed(block @ block.T for block in blocks))
        targets = [cells[:, -1].astype(np.float64) for cells in self._targets(design)]
        return self._repeats * _bordered(gram, _summed(x @ y for x, y in zip(blocks, targets, strict=True)), targets)

    def _unit_blocks(self, design: Design) -> "list[UnitBlock]":
        """Rows divided by their length, of the last scaling: a private clip moves the target alone."""
        key = (design.candidates, design.scaling, bounds_key(design.metadata, design.candidates))
        if self._last_unit[0] != key:
            shortest = shortest_length(len(design.candidates))
            self._last_unit = key, [UnitBlock.of(cells, shortest, design.scaling) for cells in self._columns(design)]
        return self._last_unit[1]

    def _unit_targets(self, design: Design) -> list[Cells]:
        """The target's cells, clipped after rows are divided."""
        pairs = zip(self._unit_blocks(design), self._targets(design), strict=True)
        y_bound = design.bound / (design.unit_bound or design.bound)
        return [
            np.clip(cells[:, -1] / (block.length * y_bound), -GRID, GRID).astype(np.int16) for block, cells in pairs
        ]

    def _unit_moments(self, design: Design) -> Integers:
        blocks, targets = self._unit_blocks(design), [y.astype(np.float64) for y in self._unit_targets(design)]
        return self._repeats * _bordered(
            _summed(block.gram for block in blocks),
            _summed(block.rows @ y for block, y in zip(blocks, targets, strict=True)),
            targets,
        )

    @override
    def products(self, design: ScoreDesign, progress: Progress | None = None) -> Integers:
        # A private center moves the target alone.
        features: list[npt.NDArray[np.float64]] = self.cached(
            ("features", tuple(design.features), bounds_key(design.metadata, design.features)),
            lambda: [
                np.ascontiguousarray(design.encode(batch)[:, :-1].T, dtype=np.float64)
                for batch in self.batches(design.columns)
            ],
        )
        targets = [design.responses(batch.column(0)).astype(np.float64) for batch in self.batches([design.target])]
        return self._repeats * _summed(x @ y for x, y in zip(features, targets, strict=True))

    @override
    def target_sum(self, design: ScoreDesign) -> tuple[int, int]:
        key = ("sum", design.target, design.center, design.bound, bounds_key(design.metadata, [design.target]))
        total: tuple[int, int] = self.cached(key, lambda: super(SimulatedTable, self).target_sum(design))
        return total


class UnitBlock(NamedTuple):
    """Rows as `unit_rows` divides them, a column in one piece, and products of their columns.

    Parameters
    ----------
    rows : ndarray of float, shape (2 + p, n)
        Whole numbers: the constant, the divided constant and the divided columns.
    length : ndarray of float, shape (n,)
        What each row was divided by.
    gram : ndarray of float, shape (2 + p, 2 + p)
        Products of `rows`.
    """

    rows: Floats
    length: Floats
    gram: Floats

    @classmethod
    def of(cls, cells: Cells, shortest: float, scaling: Scaling | None) -> "UnitBlock":
        """Divide rows of cells, shape (1 + p, n)."""
        x = cells[1:].astype(np.float64)
        if scaling is not None:
            x -= np.array(scaling.middles, dtype=np.float64)[:, np.newaxis]
            x *= (np.array(scaling.factors, dtype=np.float64) / SCALE)[:, np.newaxis]  # exact: see `Scaling`
        squares, square = np.zeros(x.shape[1]), np.empty(x.shape[1])
        for column in x:
            squares += np.square(column, out=square)
        length = np.maximum(np.sqrt(squares / GRID**2 + CONSTANT**2), shortest)
        inverse = (1.0 - 2.0**-40) / length  # as `unit_rows` rounds
        rows = np.empty((len(x) + 2, x.shape[1]))
        rows[0] = cells[0]
        rows[1] = np.trunc(CONSTANT * GRID * inverse)
        np.trunc(x * inverse, out=rows[2:])
        return cls(rows, length, rows @ rows.T)


def _bordered(gram: Integers, side: Integers, targets: Iterable[Floats]) -> Integers:
    """Moments with the target last. Shapes: gram (p, p), side (p,), targets (n,) each; returns (p + 1, p + 1)."""
    p = len(gram)
    moments = np.empty((p + 1, p + 1), dtype=np.int64)
    moments[:p, :p] = gram
    moments[:p, p] = moments[p, :p] = side
    moments[p, p] = int(_summed(np.atleast_1d(y @ y) for y in targets)[0])
    return moments


def _summed(parts: Iterable[npt.NDArray[np.float64]]) -> Integers:
    """Sums of products of cells: below 2^30 each, so those of a batch are exact in any order."""
    return np.asarray(sum(part.astype(np.int64) for part in parts), dtype=np.int64)


def design_key(design: Design) -> tuple[Any, ...]:
    """Return all that decides how a drawn table's rows are encoded, hashable: it holds its derived columns."""
    columns = (*design.candidates, design.target) if type(design) is Design else design.columns
    bounds = bounds_key(design.metadata, columns)
    return columns, design.center, design.bound, design.row_norm, design.unit_bound, design.scaling, bounds


def bounds_key(metadata: Metadata, names: Sequence[str]) -> tuple[Any, ...]:
    """Return what may differ between the metadata of one table: private bounds."""
    key = id(metadata), tuple(names)
    entry = _BOUNDS.get(key)
    if entry is None or entry[0] is not metadata:
        columns = [metadata.declared(name) for name in names]
        bounds = tuple((getattr(column, "lower", None), getattr(column, "upper", None)) for column in columns)
        if len(_BOUNDS) >= MOST_BOUNDS:
            _BOUNDS.clear()
        _BOUNDS[key] = entry = metadata, bounds
    return entry[1]
