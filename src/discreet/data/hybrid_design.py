"""From rows to points beside public ones: numeric columns on public ranges, categories as codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from discreet.data.cells import declared_batch, grid_cells, level_codes, numbers
from discreet.data.derived_columns import columns_read
from discreet.data.design import Design
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn, half_width
from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells, Floats


@dataclass(frozen=True)
class HybridDesign:
    """The public design of a comparison of private rows with public points.

    Parameters
    ----------
    metadata : Metadata
        With the public ranges as bounds of the numeric columns.
    target : str
        Numeric.
    candidates : tuple of str
        The other columns.
    outer : Metadata, optional
        As declared: a number beyond its bounds is missing where so declared, before it is clipped to the public range.

    Notes
    -----
    A row becomes the numeric candidates and the target on the grid of 1 / 32767 in [-1, 1], then the categories' codes,
    -1 for a cell of no level. The distance of two levels is that of the two ends of a range: what Wang et al. get from
    dummies over sqrt 2.

    References
    ----------
    Wang et al. 2018, Algorithm 1, step 1; privacy specification 5.1.
    """

    metadata: Metadata
    target: str
    candidates: tuple[str, ...]
    outer: Metadata | None = None

    @classmethod
    def plan(
        cls, metadata: Metadata, target: str, candidates: Sequence[str] | None, outer: Metadata | None = None
    ) -> "HybridDesign":
        """Return the design of a request, or say what the metadata lacks.

        Parameters
        ----------
        metadata : Metadata
            With bounds of every numeric column.
        target : str
            Numeric.
        candidates : sequence of str or None
            Default all declared columns but the target.
        outer : Metadata, optional
            As declared, where the bounds of `metadata` are public ranges.

        Returns
        -------
        HybridDesign
            The design.
        """
        design = Design.plan(metadata, target, candidates)
        return cls(metadata, target, design.candidates, outer)

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        """The numeric candidates, then the target."""
        return (*(name for name in self.candidates if self.metadata.is_number(name)), self.target)

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The candidates that are categories."""
        return tuple(name for name in self.candidates if not self.metadata.is_number(name))

    @cached_property
    def declared_columns(self) -> tuple[str, ...]:
        """The numeric candidates, the target, the categories: what the integers of a row are of."""
        return (*self.numeric, *self.categories)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the table's columns that are read."""
        return columns_read(self.metadata.derived, self.declared_columns)

    @property
    def n_columns(self) -> int:
        """Number of integers a row becomes."""
        return len(self.declared_columns)

    @property
    def target_place(self) -> int:
        """Where the target stands among them."""
        return len(self.numeric) - 1

    @cached_property
    def regression(self) -> Design:
        """The same columns as a regression's: names and units of its terms."""
        return Design.plan(self.metadata, self.target, self.candidates)

    def encode(self, batch: pa.RecordBatch) -> Cells:
        """Return the integers of a batch of rows.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            The columns in their order, of whatever type.

        Returns
        -------
        ndarray of int16, shape (n_rows, n_columns)
            Never an error.
        """
        # A source of derived columns is clipped as declared, whatever range the public records have.
        batch = declared_batch(batch, self.outer or self.metadata, self.declared_columns)
        cells = np.empty((batch.num_rows, self.n_columns), dtype=np.int16)
        for place, name in enumerate(self.declared_columns):
            column, values = self.metadata.declared(name), batch.column(place)
            if isinstance(column, CategoryColumn):
                cells[:, place] = level_codes(values, column)
            else:
                clipping, inside = self._cut(numbers(values), name, column)
                cells[:, place] = grid_cells(inside, clipping, *half_width(clipping))
        return cells

    def _cut(self, values: Floats, name: str, column: NumericColumn) -> tuple[NumericColumn, Floats]:
        """Return the column that clips at the public range, and numbers that are missing where it is so declared."""
        if self.outer is None or column.out_of_bounds == "clip":
            return column, values
        declared = self.outer.columns.get(name)
        if isinstance(declared, NumericColumn) and declared.lower is not None and declared.upper is not None:
            values = np.where((values < declared.lower) | (values > declared.upper), np.nan, values)
        return column.model_copy(update={"out_of_bounds": "clip"}), values

    def terms(self, cells: Cells) -> Cells:
        """Return the columns of a regression on points.

        Parameters
        ----------
        cells : ndarray of int16, shape (n, n_columns)
            What `encode` returned.

        Returns
        -------
        ndarray of int16, shape (n, n_terms)
            In units of 1 / 32767: an intercept, numeric candidates, and dummies of all levels of a category but its
            reference, in the candidates' order.
        """
        columns = [np.full(len(cells), GRID, dtype=np.int16)]
        for name in self.candidates:
            column, values = self.metadata.declared(name), cells[:, self.declared_columns.index(name)]
            if isinstance(column, NumericColumn):
                columns.append(values)
            else:
                columns += [np.where(values == level, np.int16(GRID), np.int16(0)) for level in column.compared]
        return np.stack(columns, axis=1)

    def features(self, cells: Cells, center: Floats, reach: Floats) -> Cells:
        """Return the intercept, the other terms and the target, centered and clipped.

        Parameters
        ----------
        cells : ndarray of int16, shape (n, n_columns)
            What `encode` returned.
        center, reach : ndarray of float, shape (n_terms,)
            What becomes 0, and how far from it what becomes 1, of each term but the intercept, then of the target.

        Returns
        -------
        ndarray of int16, shape (n, n_terms + 1)
            In units of 1 / 32767.
        """
        columns = np.column_stack([self.terms(cells)[:, 1:], cells[:, self.target_place]]) / GRID
        scaled = np.rint(np.clip((columns - center) / reach, -1.0, 1.0) * GRID).astype(np.int16)
        intercept = np.full((len(cells), 1), GRID, dtype=np.int16)
        return np.concatenate([intercept, scaled], axis=1)
