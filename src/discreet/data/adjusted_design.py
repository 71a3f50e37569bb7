"""Row maps of regressions with an offset or weights: columns that take part without a coefficient."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from typing_extensions import override

from discreet.data.cells import declared_batch, grid_cells, numbers
from discreet.data.derived_columns import columns_read
from discreet.data.design import Design
from discreet.data.metadata import Metadata, NumericColumn, half_width
from discreet.errors import InvalidParameterError, MetadataError
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.logarithm import logarithm
from discreet.typing import Cells, Floats

LARGEST_HALF = 10.0
"""Half the range of an offset in a linear predictor: the tables of a mean end at 30."""

LEAST_RATIO = 1.0 + 1e-9
"""Of an exposure's bounds, so that their logarithms are apart."""


@dataclass(frozen=True)
class Adjustment:
    """The offset and the weights of a regression, each a column with public bounds.

    `offset`, or the logarithm of `exposure`, is added to the linear predictor; `weights` count over their upper bound.
    """

    offset: str | None = None
    exposure: str | None = None
    weights: str | None = None

    @property
    def roles(self) -> dict[str, str]:
        """What each column that is given is, by its role."""
        named = {"offset": self.offset, "exposure": self.exposure, "weights": self.weights}
        return {role: name for role, name in named.items() if name is not None}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.roles.values())

    @property
    def offset_column(self) -> str | None:
        """The column that the offset is made of."""
        return self.offset if self.offset is not None else self.exposure

    @property
    def has_offset(self) -> bool:
        """Whether something is added to the linear predictor."""
        return self.offset_column is not None

    def candidates(self, metadata: Metadata, target: str, candidates: Sequence[str] | None) -> Sequence[str] | None:
        """Return the candidates of a request: by default not these columns; None where they must be named."""
        if candidates is not None or not self.columns or metadata.features is not None:
            return candidates
        return tuple(name for name in metadata.columns if name not in (target, *self.columns))

    def check(self, metadata: Metadata, target: str, candidates: Sequence[str] | None) -> None:
        """Refuse columns that cannot be what they are asked to be, from public facts alone."""
        if self.offset is not None and self.exposure is not None:
            raise InvalidParameterError(
                f"A regression must have an offset or an exposure, but offset={self.offset!r} and "
                f"exposure={self.exposure!r}. Leave one out."
            )
        taken = {target: "the target"}
        for role, name in self.roles.items():
            if name in taken or name in (candidates or ()):
                raise InvalidParameterError(
                    f"{role} must name a column of its own, but {name!r} is {taken.get(name, 'a candidate')} too. "
                    "Name another column."
                )
            taken[name] = f"the {role}"
            self._check_bounds(metadata, role, name)

    def _check_bounds(self, metadata: Metadata, role: str, name: str) -> None:
        column = metadata.declared(name)
        if not isinstance(column, NumericColumn) or column.lower is None or column.upper is None:
            raise MetadataError(
                f"{role} must be a numeric column with public bounds, but {name!r} is not. Declare it as "
                "{type: real, lower: ..., upper: ...}."
            )
        if role == "exposure" and not column.lower > 0.0:
            raise MetadataError(
                f"exposure must have a lower bound above 0, but that of {name!r} is {column.lower:g}. Declare the "
                "least exposure that counts; smaller ones are raised to it."
            )
        if role == "exposure" and not column.upper > column.lower * LEAST_RATIO:
            raise MetadataError(
                f"exposure must have bounds with different logarithms, but {name!r} goes from {column.lower:g} to "
                f"{column.upper:g}. Declare wider bounds, or leave it out."
            )
        if role == "weights" and column.lower < 0.0:
            raise MetadataError(
                f"weights must have a lower bound of at least 0, but that of {name!r} is {column.lower:g}. Declare 0."
            )

    def scale(self, metadata: Metadata) -> tuple[float, float]:
        """Return middle and half width of the offset in the linear predictor; zeros without one."""
        if self.offset is not None:
            return half_width(_numeric(metadata, self.offset))
        if self.exposure is None:
            return 0.0, 0.0
        low, high = _logarithms(_numeric(metadata, self.exposure))
        return (low + high) / 2.0, (high - low) / 2.0

    def values(self, metadata: Metadata, cells: pa.Array) -> Floats:
        """Return the offset of rows in the linear predictor, as the fit takes it."""
        column = _numeric(metadata, str(self.offset_column))
        values = _bounded(cells, column)
        values = values if self.exposure is None else logarithm(values)
        return np.where(np.isnan(values), self.scale(metadata)[0], values)


@dataclass(frozen=True)
class AdjustedDesign(Design):
    """A design with an offset or weights."""

    adjustment: Adjustment = Adjustment()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the table's columns that are read."""
        return columns_read(self.metadata.derived, (*self.candidates, self.target, *self.adjustment.columns))

    def _beside(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The target and the columns without a coefficient, as if derived ones were stored."""
        return declared_batch(batch, self.metadata, (self.target, *self.adjustment.columns))

    @classmethod
    def of(cls, design: Design, metadata: Metadata, adjustment: Adjustment) -> Any:
        """Return the same design with an offset or weights."""
        return cls(metadata, design.target, design.candidates, design.center, design.bound, adjustment=adjustment)


@dataclass(frozen=True)
class LinearDesign(AdjustedDesign):
    """Rows ``sqrt(w) [1, x, y - o]`` of a linear regression, so that products of cells are weighted products."""

    @classmethod
    def plan_adjusted(
        cls,
        metadata: Metadata,
        target: str,
        candidates: Sequence[str] | None,
        center: float | None,
        bound: float | None,
        least: int,
        adjustment: Adjustment,
    ) -> "LinearDesign":
        """Return the design of a request; center and bound are those of the target less the offset."""
        names = adjustment.candidates(metadata, target, candidates)
        adjustment.check(metadata, target, names)
        wide = metadata
        if adjustment.offset is not None:
            response = _less(_numeric(metadata, target), _numeric(metadata, adjustment.offset))
            wide = metadata.with_bounds({target: (response.lower or 0.0, response.upper or 0.0)}, "")
        planned: LinearDesign = cls.of(Design.plan(wide, target, names, center, bound, least), metadata, adjustment)
        return planned

    @override
    def encode(self, batch: pa.RecordBatch) -> Cells:
        """Return the integers of a batch of rows."""
        cells, beside = super().encode(batch), self._beside(batch)
        if self.adjustment.offset is not None:
            cells[:, -1] = self._response(beside, self.adjustment.offset)
        if self.adjustment.weights is not None:
            weight = _weight(beside, self.metadata, self.adjustment.weights)
            root = np.rint(np.sqrt(weight) * GRID)
            # Toward zero where the norm is bounded, so that no row is longer; else to the nearest, for no bias.
            rounded = np.rint if self.row_norm is None else np.trunc
            for column in cells.T:
                column[:] = rounded(column * root / GRID)
        return cells

    def _response(self, batch: pa.RecordBatch, offset: str) -> Cells:
        """The target less the offset; a missing target is the center, a missing offset the middle of its bounds."""
        of_target, of_offset = _numeric(self.metadata, self.target), _numeric(self.metadata, offset)
        shift = _bounded(batch.column(offset), of_offset)
        shift[np.isnan(shift)] = half_width(of_offset)[0]
        response = _bounded(batch.column(self.target), of_target) - shift
        return grid_cells(response, _less(of_target, of_offset), self.center, self.bound)


@dataclass(frozen=True)
class GeneralizedDesign(AdjustedDesign):
    """Rows ``[1, x, y]`` of a generalized linear model, followed by the offset's cell and the weight's, if any."""

    @property
    def n_columns(self) -> int:
        """Number of integers a row becomes."""
        own = int(self.adjustment.has_offset) + int(self.adjustment.weights is not None)
        return 2 + sum(self.widths) + own

    @override
    def encode(self, batch: pa.RecordBatch) -> Cells:
        """Return the integers of a batch of rows."""
        cells, beside = [super().encode(batch)], self._beside(batch)
        if self.adjustment.has_offset:
            cells.append(self._offset(beside)[:, None])
        if self.adjustment.weights is not None:
            weight = _weight(beside, self.metadata, self.adjustment.weights)
            cells.append(np.rint(weight * GRID).astype(np.int16)[:, None])
        return np.concatenate(cells, axis=1)

    def _offset(self, batch: pa.RecordBatch) -> Cells:
        """The offset in the linear predictor; a missing cell is its middle."""
        middle, half = self.adjustment.scale(self.metadata)
        values = self.adjustment.values(self.metadata, batch.column(str(self.adjustment.offset_column)))
        scaled = np.clip((values - middle) / half, -1.0, 1.0)
        cells: Cells = np.rint(scaled * GRID).astype(np.int16)
        return cells


def check_predictor(adjustment: Adjustment, metadata: Metadata) -> None:
    """Refuse an offset whose range no table of a mean covers."""
    _, half = adjustment.scale(metadata)
    if half > LARGEST_HALF:
        role, name = next(iter(adjustment.roles.items()))
        shown = "the logarithms of its bounds" if role == "exposure" else "its bounds"
        raise MetadataError(
            f"{role} must not move a linear predictor by more than {2 * LARGEST_HALF:g}, but {shown} are "
            f"{2 * half:g} apart for {name!r}. Declare narrower bounds."
        )


def _numeric(metadata: Metadata, name: str) -> NumericColumn:
    column = metadata.declared(name)
    if not isinstance(column, NumericColumn):
        raise MetadataError(f"A column must be numeric, but {name!r} is a category. Name another column.")
    return column


def _less(target: NumericColumn, offset: NumericColumn) -> NumericColumn:
    """What is public about the target less the offset."""
    (middle, half), (shift, spread) = half_width(target), half_width(offset)
    center, reach = middle - shift, half + spread
    return NumericColumn.model_construct(type="real", lower=center - reach, upper=center + reach)


def _logarithms(exposure: NumericColumn) -> tuple[float, float]:
    low, high = logarithm(np.array([exposure.lower, exposure.upper], dtype=np.float64))
    return float(low), float(high)


def _bounded(values: pa.Array, column: NumericColumn) -> Floats:
    """Cells clipped to their bounds; NaN where one is missing and nothing is declared to stand for it."""
    lower, upper = column.lower or 0.0, column.upper or 0.0
    cells = np.array(numbers(values), dtype=np.float64)
    missing = np.isnan(cells)
    if column.out_of_bounds == "missing":
        missing |= (cells < lower) | (cells > upper)
    cells = np.clip(cells, lower, upper)
    cells[missing] = np.nan if column.missing is None else column.missing
    return cells


def _weight(batch: pa.RecordBatch, metadata: Metadata, name: str) -> Floats:
    """Weights from 0 to 1: over their upper bound; a missing cell is 0."""
    column = _numeric(metadata, name)
    cells = _bounded(batch.column(name), column)
    cells[np.isnan(cells)] = 0.0
    weight: Floats = np.clip(cells / (column.upper or 1.0), 0.0, 1.0)
    return weight
