"""What a private table is supposed to be like, and tables drawn from that: never read from the rows."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import ndtr, ndtri
from typing_extensions import override

from discreet.data.design import Cells, Design, RowMap
from discreet.data.engine import BATCH_ROWS, Integers, Progress
from discreet.data.frame import FrameTable
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn, half_width
from discreet.data.score_design import ScoreDesign
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source

Floats = npt.NDArray[np.float64]

N_TRUE = 3
R_SQUARED = 0.5
SPREAD = 1.0 / 3.0
"""Standard deviation of the target over half the width of its bounds, where nobody says: bounds at three of them."""


MOST_CELLS = 2**28
"""Of a drawn table."""

KEPT_CELLS = 2**24
"""Of the drawn tables that are kept for another look."""


class SimulatedTable(FrameTable):
    """A table in memory that remembers sums: a plan asks for the same ones again and again.

    Parameters
    ----------
    frame : pyarrow.Table
        Drawn.
    metadata : Metadata
        Its own.
    """

    def __init__(self, frame: pa.Table, metadata: Metadata) -> None:
        super().__init__(frame, metadata, "simulated")
        self._arrow = frame
        self._known: dict[Any, Any] = {}

    def remembered(self, key: Any, value: Callable[[], Any]) -> Any:
        """Return what was computed before, or compute it.

        Parameters
        ----------
        key : hashable
            All that decides the value, the table apart.
        value : callable
            Computes it.

        Returns
        -------
        Any
            Not to be changed.
        """
        if key not in self._known:
            self._known[key] = value()
        return self._known[key]

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
    ) -> Integers:
        total = start.copy()
        for cells in self._encoded(design):  # one thread: on tables of a plan's size others cost more than they save
            total += work(cells)
        return total

    def _encoded(self, design: RowMap) -> Iterable[Cells]:
        """Blocks of encoded rows; those of the target alone are kept."""
        blocks = (design.encode(one) for one in self.batches(design.columns))
        if isinstance(design, Design) and not design.candidates:
            kept: list[Cells] = self.remembered(("target", *design_key(design)), lambda: list(blocks))
            return kept
        return blocks

    @override
    def moments(self, design: Design, progress: Progress | None = None) -> Integers:
        if design.unit_bound is not None:  # the target is divided by the length of its row
            whole: Integers = self.remembered(
                ("moments", *design_key(design)), lambda: super(SimulatedTable, self).moments(design)
            )
            return whole.copy()
        found: Integers = self.remembered(("moments", *design_key(design)), lambda: self._moments(design))
        return found.copy()

    def _moments(self, design: Design) -> Integers:
        """What a bought bound moves is the target alone: products of the others are added up once."""
        bounds = bounds_key(design.metadata, design.candidates)
        key = (design.candidates, design.row_norm, bounds)
        blocks: list[npt.NDArray[np.float64]] = self.remembered(
            ("rows", *key),
            lambda: [
                np.ascontiguousarray(design.encode(one)[:, :-1].T, dtype=np.float64)
                for one in self.batches(design.columns)
            ],
        )
        gram: Integers = self.remembered(("gram", *key), lambda: _summed(one @ one.T for one in blocks))
        alone = [cells[:, -1].astype(np.float64) for cells in self._encoded(replace(design, candidates=()))]
        p = len(gram)
        found = np.empty((p + 1, p + 1), dtype=np.int64)
        found[:p, :p] = gram
        found[:p, p] = found[p, :p] = _summed(x @ y for x, y in zip(blocks, alone, strict=True))
        found[p, p] = int(_summed(np.atleast_1d(y @ y) for y in alone)[0])
        return found

    @override
    def products(self, design: ScoreDesign, progress: Progress | None = None) -> Integers:
        # A bought center moves the target alone.
        features: list[npt.NDArray[np.float64]] = self.remembered(
            ("features", tuple(design.features), bounds_key(design.metadata, design.features)),
            lambda: [
                np.ascontiguousarray(design.encode(one)[:, :-1].T, dtype=np.float64)
                for one in self.batches(design.columns)
            ],
        )
        targets = [design.responses(one.column(0)).astype(np.float64) for one in self.batches([design.target])]
        return _summed(x @ y for x, y in zip(features, targets, strict=True))

    @override
    def target_sum(self, design: ScoreDesign) -> tuple[int, int]:
        key = ("sum", design.target, design.center, design.bound, bounds_key(design.metadata, [design.target]))
        found: tuple[int, int] = self.remembered(key, lambda: super(SimulatedTable, self).target_sum(design))
        return found


def _summed(parts: Iterable[npt.NDArray[np.float64]]) -> Integers:
    """Sums of products of cells: below 2^30 each, so those of a batch are exact in any order."""
    return np.asarray(sum(part.astype(np.int64) for part in parts), dtype=np.int64)


def design_key(design: Design) -> tuple[Any, ...]:
    """Return all that decides how a table's rows are encoded.

    Parameters
    ----------
    design : Design
        The row map.

    Returns
    -------
    tuple
        Hashable.
    """
    bounds = bounds_key(design.metadata, design.columns)
    return design.columns, design.center, design.bound, design.row_norm, design.unit_bound, bounds


def bounds_key(metadata: Metadata, names: Sequence[str]) -> tuple[Any, ...]:
    """Return what may differ between the metadata of one table: bounds, where they are bought.

    Parameters
    ----------
    metadata : Metadata
        Of a design.
    names : sequence of str
        Its columns.

    Returns
    -------
    tuple
        Of pairs.
    """
    columns = [metadata.declared(name) for name in names]
    return tuple((getattr(one, "lower", None), getattr(one, "upper", None)) for one in columns)


@dataclass(frozen=True)
class Scenario:
    """Effects of columns on a target, and how much else moves it.

    Parameters
    ----------
    metadata : Metadata
        Bounds, levels, relation; the number of rows where it is public.
    target : str
        Numeric, with bounds.
    candidates : tuple of str
        Columns that may matter, with bounds or levels.
    effects : dict of str to float
        Change of the target, in its unit, from the middle of a column to its upper bound; of a category, from its first
        level to its last. Columns that are not named have none.
    noise_sd : float
        Standard deviation of what the columns do not explain, in the target's unit; positive.
    n_rows : int
        Of a drawn table.
    correlation : float
        Of each column with the one before it, in (-1, 1), before they are spread evenly over their bounds.

    Notes
    -----
    Columns are spread evenly over their bounds or levels, the noise is normal, and the target is cut at its bounds.
    """

    metadata: Metadata
    target: str
    candidates: tuple[str, ...]
    effects: Mapping[str, float]
    noise_sd: float
    n_rows: int
    correlation: float = 0.0

    @classmethod
    def of(
        cls,
        metadata: Metadata,
        target: str,
        candidates: Sequence[str] | None = None,
        *,
        effects: Mapping[str, float] | None = None,
        n_true: int | None = None,
        r_squared: float = R_SQUARED,
        noise_sd: float | None = None,
        n_rows: int | None = None,
        correlation: float = 0.0,
    ) -> "Scenario":
        """Return a scenario, with what nobody says filled in.

        Parameters
        ----------
        metadata : Metadata
            Bounds and levels.
        target : str
            Numeric.
        candidates : sequence of str, optional
            Default all listed columns but the target.
        effects : dict of str to float, optional
            Default the same for the first `n_true` candidates, so large that they explain `r_squared` of a target whose
            standard deviation is a third of half its range.
        n_true : int, optional
            Columns that matter; default 3, but of fewer than six candidates half.
        r_squared : float
            Part of the target's variance that they explain, in (0, 1).
        noise_sd : float, optional
            Default what is left by `r_squared`; where no column has an effect, a third of half the target's range.
        n_rows : int, optional
            Default that of the metadata.
        correlation : float
            In (-1, 1).

        Returns
        -------
        Scenario
            All fields known.

        Raises
        ------
        InvalidParameterError
            When a number is out of range, a name unknown, or nobody says how many rows there are.
        """
        design = Design.plan(metadata, target, candidates)
        names, rows = design.candidates, metadata.n_rows if n_rows is None else n_rows
        if rows is None or rows < 1:
            found = "it is private and none is given" if rows is None else f"n_rows={rows}"
            raise InvalidParameterError(f"A scenario needs a number of rows, but {found}. Give n_rows, at least 1.")
        if rows * (len(names) + 1) > MOST_CELLS:
            raise InvalidParameterError(
                f"A simulated table must have at most {MOST_CELLS:,} cells, but {rows:,} rows of {len(names) + 1} "
                "columns have more. Give a smaller n_rows: more rows only do better."
            )
        spread = 0.0 if noise_sd is None else noise_sd
        if (
            not 0.0 < r_squared < 1.0
            or not -1.0 < correlation < 1.0
            or (noise_sd is not None and not spread > 0.0)
            or (not math.isfinite(spread))
        ):
            raise InvalidParameterError(
                f"A scenario must have r_squared in (0, 1), correlation in (-1, 1) and a positive noise_sd, but "
                f"r_squared={r_squared:g}, correlation={correlation:g}, noise_sd={noise_sd}."
            )
        unknown = [name for name in effects or {} if name not in names]
        if unknown or not all(math.isfinite(size) for size in (effects or {}).values()):
            raise InvalidParameterError(f"Effects must be finite numbers of candidates, but found {unknown[:3]}.")
        if n_true is None:
            n_true = max(1, min(N_TRUE, len(names) // 2))
        if effects is None and not 1 <= n_true <= len(names):
            raise InvalidParameterError(f"n_true must be 1 .. {len(names)}, the candidates, but n_true={n_true}.")
        known = dict(effects) if effects is not None else dict.fromkeys(names[:n_true], 1.0)
        shaped = cls(metadata, target, names, known, 1.0, rows, correlation)
        explained = shaped._explained_variance()
        half = half_width(design.metadata.declared(target))[1]  # type: ignore[arg-type]
        if effects is None:
            wanted = r_squared * (SPREAD * half) ** 2
            known = dict.fromkeys(known, math.sqrt(wanted / max(explained, 1e-300)))
            explained = wanted
        left = explained * (1.0 - r_squared) / r_squared if explained > 0.0 else (SPREAD * half) ** 2
        sd = math.sqrt(left) if noise_sd is None else noise_sd
        return cls(metadata, target, names, known, sd, rows, correlation)

    @cached_property
    def truth(self) -> frozenset[str]:
        """The columns that matter."""
        return frozenset(name for name, size in self.effects.items() if size != 0.0)

    @cached_property
    def r_squared(self) -> float:
        """Part of the target's variance that the columns explain, before the target is cut at its bounds."""
        explained = self._explained_variance()
        return explained / (explained + self.noise_sd**2)

    @cached_property
    def draw_metadata(self) -> Metadata:
        """Those of a drawn table: units are not told apart, the number of rows is the scenario's."""
        facts: dict[str, Any] = {"unit_id": None}
        if self.metadata.n_rows is not None:
            facts["n_rows"] = self.n_rows
        return self.metadata.model_copy(update=facts)

    def draw(self, rng: Source) -> SimulatedTable:
        """Return a table.

        Parameters
        ----------
        rng : Source
            Seeded: nothing here is private.

        Returns
        -------
        SimulatedTable
            With `n_rows` rows; under replace_one its metadata say so.
        """
        scores = self._scores(_normals(rng, self.n_rows, len(self.candidates)))
        noise = self.noise_sd * _normals(rng, self.n_rows, 1)[:, 0]
        middle, half = half_width(self.metadata.declared(self.target))  # type: ignore[arg-type]
        total = middle + scores @ np.array([self.effects.get(name, 0.0) for name in self.candidates]) + noise
        columns = {name: self._cells(name, scores[:, j]) for j, name in enumerate(self.candidates)}
        if getattr(self.metadata.declared(self.target), "type", "") == "integer":
            total = np.rint(total)
        columns[self.target] = pa.array(np.clip(total, middle - half, middle + half))
        return SimulatedTable(pa.table(columns), self.draw_metadata)

    def explained(self, table: SimulatedTable, selected: Sequence[str]) -> float:
        """Return what a model explains of what all the right columns do, on a drawn table, without any noise.

        Parameters
        ----------
        table : SimulatedTable
            Drawn.
        selected : sequence of str
            Columns of the model.

        Returns
        -------
        float
            Ratio of two adjusted R^2, cut to [0, 1].
        """
        best = self._adjusted(table, self.truth)
        return 1.0 if best <= 0.0 else min(max(self._adjusted(table, selected) / best, 0.0), 1.0)

    def _adjusted(self, table: SimulatedTable, names: Collection[str]) -> float:
        """Adjusted R^2 of least squares, from the exact moments."""
        if not names:
            return 0.0
        design = self._design
        units = dict(zip(design.candidates, design.units(), strict=True))
        kept = np.flatnonzero(np.any([units[name] for name in names], axis=0))
        places = np.concatenate([[0], kept[kept > 0]])
        moments = table.moments(design).astype(np.float64)
        gram, xty, yty = moments[np.ix_(places, places)], moments[places, -1], moments[-1, -1]
        residual = yty - xty @ np.linalg.lstsq(gram, xty, rcond=1e-10)[0]
        total = yty - moments[0, -1] ** 2 / moments[0, 0]
        free = max(self.n_rows - int(np.linalg.matrix_rank(gram, hermitian=True)), 1)
        return 1.0 - float(residual / free) / max(float(total / max(self.n_rows - 1, 1)), 1e-300)

    @cached_property
    def _design(self) -> Design:
        return Design.plan(self.metadata, self.target, self.candidates)

    def _scores(self, normals: Floats) -> Floats:
        """Columns from -1 to 1, spread evenly; categories by the place of their level."""
        for j in range(1, normals.shape[1]):
            rest = math.sqrt(1.0 - self.correlation**2)
            normals[:, j] = self.correlation * normals[:, j - 1] + rest * normals[:, j]
        even = 2.0 * ndtr(normals) - 1.0
        for j, name in enumerate(self.candidates):
            column = self.metadata.declared(name)
            if isinstance(column, CategoryColumn):
                n_levels = len(column.levels or ())
                place = np.minimum(((even[:, j] + 1.0) / 2.0 * n_levels).astype(int), n_levels - 1)
                even[:, j] = place / max(n_levels - 1, 1)
        return np.asarray(even, dtype=np.float64)

    def _cells(self, name: str, scores: Floats) -> pa.Array:
        column = self.metadata.declared(name)
        if isinstance(column, NumericColumn):
            middle, half = half_width(column)
            values = middle + half * scores
            return pa.array(np.rint(values) if column.type == "integer" else values)
        levels = column.levels or ()
        return pa.array(levels).take(pa.array(np.rint(scores * (len(levels) - 1)).astype(np.int64)))

    def _explained_variance(self) -> float:
        """By a large drawn sample: exact enough for a plan."""
        scores = self._scores(_normals(Source.seeded(1), 20_000, len(self.candidates)))
        return float((scores @ np.array([self.effects.get(name, 0.0) for name in self.candidates])).var())


class DrawnTables:
    """Tables of a scenario by their seeds, small ones kept for another look.

    Parameters
    ----------
    scenario : Scenario
        What they are drawn from.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._kept: dict[int, SimulatedTable] = {}
        self._room = KEPT_CELLS // (scenario.n_rows * (len(scenario.candidates) + 1))

    def table(self, seed: int) -> SimulatedTable:
        """Return the table of a seed.

        Parameters
        ----------
        seed : int
            Non-negative.

        Returns
        -------
        SimulatedTable
            The same rows each time.
        """
        if seed in self._kept:
            return self._kept[seed]
        found = self.scenario.draw(Source.seeded(seed))
        if len(self._kept) < self._room:
            self._kept[seed] = found
        return found


def _normals(rng: Source, n: int, p: int) -> Floats:
    uniform = ((rng.words(n * p) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.asarray(ndtri(uniform).reshape(n, p), dtype=np.float64)
