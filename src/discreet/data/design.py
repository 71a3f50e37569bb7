"""From rows to integers: the total, row-local map with public parameters that every engine runs.

Nothing here looks at two rows at once, refuses a row, or keeps a count of odd cells, so neighbors stay neighbors and no
sensitivity changes (privacy specification 0.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.data.cells import declared_batch, level_codes, write_cells
from discreet.data.derived_columns import columns_read
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn, half_width
from discreet.errors import InvalidParameterError, MetadataError
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.unit_rows import Scaling, constant_of, shortened_rows, shortest_length, unit_rows
from discreet.typing import Cells


class RowMap(Protocol):
    """A total map from single rows to integers: what an engine streams and the contribution bound sees."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the table's columns that are read."""

    @property
    def n_columns(self) -> int:
        """Number of integers a row becomes."""

    def encode(self, batch: pa.RecordBatch) -> Cells:
        """Return the integers of a batch of rows.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            Holds `columns`, of whatever type.

        Returns
        -------
        ndarray of int16, shape (n_rows, n_columns)
            One row of integers for each.
        """


@dataclass(frozen=True)
class Design:
    """The public design of a regression: which columns become which integers.

    Parameters
    ----------
    metadata : Metadata
        Bounds and levels of all columns.
    target : str
        The response.
    candidates : tuple of str
        Columns that may enter a model; a category enters with all its levels.
    center : float
        What the target's zero is, in its unit.
    bound : float
        Half width of the target around its center, in its unit: r of Lei et al.
    row_norm : float, optional
        Rows whose scaled candidates have a larger l2 norm are weighted down to it, the constant and the target with
        them. Default plain rows.
    unit_bound : float, optional
        Rows become unit rows: the target is clipped to within this of its center, the row is divided by the length of
        its x, and `bound` is what the target is clipped to after that. Default plain rows.
    scaling : Scaling, optional
        Of the columns of x of unit rows, before they are divided by their length. Default as wide as their bounds.

    Notes
    -----
    A row becomes ``[1, x_1 .. x_p, y]`` on the grid of 1 / 32767: x and y in [-1, 1], a level's dummy 0 or 1. Weighted
    rows, unit rows among them, become ``[1, f c, f x_1 .. f x_p, f y]``, of which the factor f looks at x alone.

    References
    ----------
    Privacy specification 0.2 and 8.1.
    """

    metadata: Metadata
    target: str
    candidates: tuple[str, ...]
    center: float
    bound: float
    row_norm: float | None = None
    unit_bound: float | None = None
    scaling: Scaling | None = None

    @classmethod
    def plan(
        cls,
        metadata: Metadata,
        target: str,
        candidates: Sequence[str] | None = None,
        center: float | None = None,
        bound: float | None = None,
        least: int = 1,
    ) -> "Design":
        """Return the design of a request, or say what the metadata lacks.

        Parameters
        ----------
        metadata : Metadata
            Bounds and levels.
        target : str
            The response, numeric.
        candidates : sequence of str, optional
            Default: every declared column but the target.
        center : float, optional
            Public center of the target in its unit; default the middle of its bounds.
        bound : float, optional
            The target is clipped to within this of its center; default the furthest of its bounds.
        least : int
            The fewest candidates: 0 for what a selection left, which may be nothing.

        Returns
        -------
        Design
            The design.

        Raises
        ------
        MetadataError
            When a column is not declared, or the target is a category.
        InvalidParameterError
            When names repeat, or center and bound do not fit.
        """
        response = metadata.declared(target)
        if not isinstance(response, NumericColumn):
            raise MetadataError(f"The target must be numeric, but {target!r} is a category. Choose another target.")
        if candidates is None and metadata.features is not None:
            raise InvalidParameterError(
                "Candidates must be named where the metadata declare features, too many for one model. Name some with "
                "--candidates, or screen the features first."
            )
        names = tuple(candidates) if candidates is not None else tuple(n for n in metadata.columns if n != target)
        if len(names) < least:
            raise InvalidParameterError("At least one candidate column is needed. Name some with --candidates.")
        for name in names:
            metadata.declared(name)
        if target in names:
            raise InvalidParameterError(f"The target cannot be a candidate, but {target!r} is both. Drop one.")
        if len(set(names)) < len(names):
            twice = next(name for place, name in enumerate(names) if name in names[:place])
            raise InvalidParameterError(f"Columns must not repeat, but {twice[:60]!r} does. Name each column once.")
        middle, half = half_width(response)
        y_center = middle if center is None else float(center)
        lower, upper = middle - half, middle + half
        if not lower <= y_center <= upper:
            raise InvalidParameterError(
                f"y_center must lie within the target's bounds {lower:g} .. {upper:g}, but y_center={y_center:g}."
            )
        y_bound = max(upper - y_center, y_center - lower) if bound is None else float(bound)
        if not 1e-12 * max(half, abs(y_center)) < y_bound <= 2 * half:
            raise InvalidParameterError(
                f"y_bound must be positive and at most the target's range {2 * half:g}, but y_bound={y_bound:g}. "
                "Lower it, or leave it out."
            )
        return cls(metadata, target, names, y_center, y_bound)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the table's columns that are read."""
        return columns_read(self.metadata.derived, (*self.candidates, self.target))

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Number of matrix columns of each candidate: one, or one a level."""
        columns = (self.metadata.declared(name) for name in self.candidates)
        return tuple(len(c.levels or ()) if isinstance(c, CategoryColumn) else 1 for c in columns)

    @property
    def n_columns(self) -> int:
        """Number of integers a row becomes: the intercept, the candidates' columns, the target.

        Weighted rows have their own, weighted intercept besides.
        """
        return (3 if self.is_weighted else 2) + sum(self.widths)

    @property
    def is_weighted(self) -> bool:
        """Whether rows are multiplied by a factor of their x."""
        return self.unit_bound is not None or self.row_norm is not None

    @property
    def constant(self) -> int:
        """The constant column in steps of the grid, before a factor."""
        return GRID if self.row_norm is None else constant_of(self.row_norm)

    def units(self) -> npt.NDArray[np.bool_]:
        """Return which of the regression's columns each candidate owns.

        Returns
        -------
        ndarray of bool, shape (n_candidates, 1 + sum(widths))
            Column 0 is the intercept and belongs to nobody.
        """
        owned = np.zeros((len(self.candidates), 1 + sum(self.widths)), dtype=np.bool_)
        start = 1
        for row, width in zip(owned, self.widths, strict=True):
            row[start : start + width] = True
            start += width
        return owned

    def encode(self, batch: pa.RecordBatch) -> Cells:
        """Return the integers of a batch of rows.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            Holds `columns`, of whatever type.

        Returns
        -------
        ndarray of int16, shape (n_rows, n_columns)
            Column 0 is the intercept, the last one the target.
        """
        batch = declared_batch(batch, self.metadata, (*self.candidates, self.target))
        cells = np.zeros((batch.num_rows, 2 + sum(self.widths)), dtype=np.int16, order="F")
        cells[:, 0] = GRID
        at = 1
        for name, width in zip(self.candidates, self.widths, strict=True):
            column, values = self.metadata.declared(name), batch.column(name)
            if isinstance(column, CategoryColumn):
                _one_hot(level_codes(values, column), cells[:, at : at + width])
            else:
                middle, half = half_width(column)
                write_cells(values, column, middle, half, cells[:, at])
            at += width
        response = self.metadata.declared(self.target)
        if isinstance(response, NumericColumn):
            first = self.bound if self.unit_bound is None else self.unit_bound
            write_cells(batch.column(self.target), response, self.center, first, cells[:, at])
        return self.weighted(cells)

    @property
    def unweighted(self) -> "Design":
        """The design of the same rows before a factor of their x."""
        first = self.bound if self.unit_bound is None else self.unit_bound
        return Design(self.metadata, self.target, self.candidates, self.center, first)

    def weighted(self, cells: Cells) -> Cells:
        """Return what `encode` makes of rows that `unweighted` has encoded: themselves where there is no factor.

        Parameters
        ----------
        cells : ndarray of int16, shape (n, n_columns)
            Of `unweighted`.

        Returns
        -------
        ndarray of int16, shape (n, n_columns)
            Weighted rows.
        """
        if self.row_norm is not None:
            return np.column_stack([cells[:, :1], shortened_rows(cells, self.row_norm)])
        if self.unit_bound is None:
            return cells
        shortest = shortest_length(len(self.candidates))
        scaled = unit_rows(cells, self.bound / self.unit_bound, shortest, scaling=self.scaling)
        return np.column_stack([cells[:, :1], scaled])


def _one_hot(codes: npt.NDArray[np.int16], cells: Cells) -> None:
    """Write a dummy a level; a cell of no level leaves all of them 0."""
    for level in range(cells.shape[1]):
        np.multiply(codes == level, np.int16(GRID), out=cells[:, level])
