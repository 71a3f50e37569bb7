"""Private estimates beside public points: counts of the nearest points, or margins."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.accounting.events import LaplaceEvent
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.engine import Table
from discreet.data.hybrid_design import HybridDesign
from discreet.data.metadata import CategoryColumn, Metadata
from discreet.data.public_records import PublicPoints
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.kernels.moments.products import exact_products
from discreet.kernels.public_records.nearest import NearestPoints
from discreet.kernels.public_records.raking import on_simplex, raked
from discreet.mechanisms.additive import MAX_SCALE, discrete_laplace
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Progress
from discreet.methods.base.part import Part
from discreet.methods.base.request_facts import rows_progress
from discreet.release import NoiseRecord
from discreet.typing import Cells, Floats, Integers

CLAIM = "methods/public_records/hybrid.privacy.md"

CLIP_SDS = 2.0
"""Numeric columns are cut this many public standard deviations from the public mean, for margins: what lies further out
would raise the noise of all."""


@dataclass(frozen=True)
class Measure(ABC):
    """Whole numbers that are sums over rows, with the noise that makes them private.

    Parameters
    ----------
    metadata : Metadata
        Of the private table: relation, rows of a unit, number of rows.
    epsilon : Fraction
        In nats.
    """

    metadata: Metadata
    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0 or self.scale > MAX_SCALE:
            raise InvalidParameterError(
                f"The noise must fit in 64 bits, but epsilon={float(self.epsilon):g} asks for more. Raise epsilon."
            )

    @property
    @abstractmethod
    def row_size(self) -> int:
        """The l1 norm of what one row adds, at most; in whole steps."""

    @property
    @abstractmethod
    def step(self) -> int:
        """Whole steps in a row's largest part."""

    @property
    def sensitivity(self) -> int:
        """The l1 sensitivity, in whole steps."""
        n_rows_changed = 2 if self.metadata.neighboring is NeighboringRelation.REPLACE_ONE else 1
        return n_rows_changed * self.metadata.rows_per_unit * self.row_size

    @property
    def scale(self) -> Fraction:
        """Of the noise, in whole steps."""
        return self.sensitivity / self.epsilon

    def part(self, name: str, unit: str) -> Part:
        """Return the part with its privacy cost: discrete Laplace noise."""
        rows = self.metadata.rows_per_unit
        factor = "2 x " if self.metadata.neighboring is NeighboringRelation.REPLACE_ONE else ""
        box = NoiseRecord(
            mechanism="discrete_laplace",
            noise="laplace",
            sensitivity=self.sensitivity / self.step,
            scale=float(self.scale / self.step),
            unit=unit,
            formula=f"{factor}{rows} x {self.row_size // self.step}, what the rows of one unit add to all together",
            numerics="exact draw on whole steps",
            claim=CLAIM,
        )
        return Part(name, LaplaceEvent(self.epsilon), box)


@dataclass(frozen=True)
class Counts(Measure):
    """How many private rows are nearest to each of some points, empty ones included.

    Parameters
    ----------
    design : HybridDesign
        The row map.
    cells : ndarray of int16, shape (k, n_columns)
        Public points, distinct.
    """

    design: HybridDesign
    cells: Cells

    @property
    def row_size(self) -> int:
        """A row counts once."""
        return 1

    @property
    def step(self) -> int:
        """Rows."""
        return 1

    @cached_property
    def nearest(self) -> NearestPoints:
        """Who is nearest: ties go to the first point."""
        return NearestPoints(self.cells, len(self.design.numeric))

    def draw(self, table: Table, rng: Source, progress: Progress | None = None) -> Integers:
        """Return the noisy counts, one a point.

        Claim: ``hybrid.privacy.md``. Source: Wang et al. 2018, Definition 5; privacy specification 5.1. Cost: one pass.
        """
        nearest, size = self.nearest, len(self.cells)  # alone: they are sent to where the rows are

        def work(cells: Cells) -> Integers:
            return np.bincount(nearest.nearest(cells), minlength=size).astype(np.int64)

        start = np.zeros(len(self.cells), dtype=np.int64)
        counts = table.map_reduce(self.design, work, start, rows_progress(progress, table))
        return np.array(discrete_laplace(counts.tolist(), self.scale, rng), dtype=np.int64)

    def weights(self, noisy: Any) -> Floats:
        """Return nonnegative weights of the points, which add up to the public number of rows, or to the noisy total.

        Shapes: noisy (k,); returns (k,).
        """
        total = self.metadata.n_rows if self.metadata.n_rows is not None else int(noisy.sum())
        return on_simplex(noisy, float(total))


@dataclass(frozen=True)
class Margins(Measure):
    """Sums over rows of the target times each column, both centered at public means: what a regression's score needs.

    Parameters
    ----------
    points : PublicPoints
        Their means and standard deviations are the centers and the cuts.

    Notes
    -----
    A row adds ``v x (1, u_1 .. u_p)``, v and u in [-1, 1]; of a category's levels one at most is not 0. Where the
    number of rows is private, they are counted besides.
    """

    points: PublicPoints

    @property
    def row_size(self) -> int:
        """One a column, one for the target alone, one for the row where it is counted."""
        # Of a category's terms at most one is not 0 in a row, so that it counts once, however many levels it has.
        return (len(self.points.design.candidates) + 1 + (self.metadata.n_rows is None)) * GRID**2

    @property
    def step(self) -> int:
        """A product of two cells of 1."""
        return GRID**2

    @cached_property
    def _scales(self) -> tuple[Floats, Floats]:
        """Center and reach of each column of the regression's terms but the constant, then of the target."""
        design, records = self.points.design, self.points.records / self.points.records.sum()
        columns = np.column_stack([design.terms(self.points.cells)[:, 1:], self._targets(self.points.cells)]) / GRID
        center = records @ columns
        sd = np.sqrt(records @ (columns - center) ** 2)
        low = np.array([*(-1.0 if owner is None else 0.0 for owner in self._levels), -1.0])
        furthest = np.maximum(1.0 - center, center - low)
        reach = np.where(sd > 1e-9, np.minimum(CLIP_SDS * sd, furthest), furthest)
        has_many_levels = np.array([owner is not None and owner > 2 for owner in self._levels] + [False])
        # Centered, all terms of a category would be nonzero in each row: those of more than two levels stay as they
        # are.
        center, reach = np.where(has_many_levels, 0.0, center), np.where(has_many_levels, 1.0, reach)
        if len(np.unique(self._targets(self.points.cells))) == 2:
            reach[-1] = furthest[-1]
        return center, reach

    @cached_property
    def _levels(self) -> list[int | None]:
        """For each term but the constant, the number of levels of its category."""
        design, n_levels = self.points.design, list[int | None]()
        for name in design.candidates:
            column = design.metadata.declared(name)
            levels = len(column.levels or ()) if isinstance(column, CategoryColumn) else None
            n_levels += [levels] * (1 if levels is None else levels - 1)
        return n_levels

    def _targets(self, cells: Cells) -> Cells:
        return np.asarray(cells[:, self.points.design.target_place], dtype=np.int16)

    def _features(self, cells: Cells, center: Floats, reach: Floats) -> Cells:
        return self.points.design.features(cells, center, reach)

    def draw(self, table: Table, rng: Source, progress: Progress | None = None) -> Floats:
        """Return the noisy sums of the target, of its product with each term, then the number of rows where it is
        private.

        Claim: ``hybrid.privacy.md``. Source: Deville and Sarndal 1992 (calibration to totals). Cost: one pass.
        """
        counted = self.metadata.n_rows is None
        design, (center, reach) = self.points.design, self._scales  # alone: they are sent to where the rows are

        def work(cells: Cells) -> Integers:
            sums = exact_products(design.features(cells, center, reach))
            return np.append(sums, len(cells) * GRID**2) if counted else sums

        start = np.zeros(len(self._levels) + 1 + counted, dtype=np.int64)
        totals = table.map_reduce(self.points.design, work, start, rows_progress(progress, table))
        return np.array([float(value) for value in discrete_laplace(totals.tolist(), self.scale, rng)])

    def weights(self, noisy: Any, doubt: float = 1.0) -> Floats:
        """Return positive weights of all public points, which add up to the number of rows; below one row, the public
        counts.

        Returns shape (m,).
        """
        n_rows = float(self.metadata.n_rows or noisy[-1] / GRID**2)
        sums = noisy if self.metadata.n_rows is not None else noisy[:-1]
        if n_rows < 1.0:
            return self.points.records.astype(np.float64)
        features = self._features(self.points.cells, *self._scales).astype(np.float64) / GRID
        products = features[:, :-1] * features[:, -1:]
        sd = math.sqrt(2.0) * float(self.scale) / (GRID**2 * n_rows)
        target = np.clip(sums / (GRID**2 * n_rows), -1.0, 1.0)
        variance = np.full(len(target), max(sd, 1e-9) ** 2)
        return n_rows * raked(products, self.points.records.astype(np.float64), target, variance, doubt)
