"""From cells to scores: the row map of a request that rates many features one by one against one target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from discreet.data.cells import declared_batch, level_codes, numbers
from discreet.data.columns import Codes
from discreet.data.derived_columns import columns_read
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn, half_width
from discreet.data.scales import Scales, matrix_of
from discreet.errors import InvalidParameterError, MetadataError
from discreet.kernels.moments.moments import GRID
from discreet.kernels.top_k.median_split import order_cells
from discreet.typing import Cells, Floats


@dataclass(frozen=True)
class ScoreDesign:
    """The public design of a screening: which columns are rated, and what the target's numbers are.

    Parameters
    ----------
    metadata : Metadata
        Bounds and levels of all columns.
    target : str
        The response.
    features : sequence of str
        Numeric columns.
    center : float
        What the target's zero is, in its unit or in that of its codes.
    bound : float
        The target is clipped to within this of its center.
    level : str, optional
        Of a target that is a category: its rows count 1, all others -1.
    codes : tuple of (str, float), optional
        Of a target that is a category: the number of each level. A row of no level counts as the center.
    saturation : float
        The part of each feature's half range, from the middle of its bounds, at which a cell counts as at its end. In
        (0, 1].
    shift : float
        What is taken off the scaled target, in [-1, 1]; the rest is divided by 1 + abs(shift).
    by_order : bool
        Whether features count by the order of their cells alone: they need no bounds, and `encode` keeps the order.

    Notes
    -----
    A cell and the target become integers on the grid of 1 / 32767, in [-1, 1], as in `Design`; the score of a feature
    is the sum over rows of their product, in units of 1 / 32767^2. One row more or less moves a score by 1 at most.

    References
    ----------
    Privacy specification 0.2, 4.1, 4.2 and 8.1.
    """

    metadata: Metadata
    target: str
    features: Sequence[str]
    center: float
    bound: float
    level: str | None = None
    codes: tuple[tuple[str, float], ...] | None = None
    saturation: float = 1.0
    shift: float = 0.0
    by_order: bool = False

    @classmethod
    def plan(
        cls,
        metadata: Metadata,
        target: str,
        features: Sequence[str],
        center: float | None = None,
        bound: float | None = None,
        level: str | None = None,
        codes: Mapping[str, float] | None = None,
        by_order: bool = False,
    ) -> "ScoreDesign":
        """Return the design of a request, or say what the metadata lacks.

        Parameters
        ----------
        metadata : Metadata
            Bounds and levels.
        target : str
            The response.
        features : sequence of str
            Numeric columns, such as `Table.feature_names` lists.
        center : float, optional
            Public center of the target, in its unit or in that of its codes; default the middle of its bounds, or of
            the least and the greatest code.
        bound : float, optional
            The target is clipped to within this of its center; default the furthest it can be.
        level : str, optional
            Of a target that is a category: its rows are coded 1, all others -1.
        codes : dict of str to float, optional
            Of a target that is a category: the number of each level.
        by_order : bool
            Whether features count by the order of their cells alone.

        Returns
        -------
        ScoreDesign
            The design.

        Raises
        ------
        MetadataError
            When a column is not declared, a feature is a category, or one has no bounds but must.
        InvalidParameterError
            When names repeat, or center, bound, level and codes do not fit.
        """
        response = metadata.declared(target)
        if not len(features):
            raise InvalidParameterError("At least one feature is needed. Name some with --candidates.")
        _check_features(metadata, target, features, by_order)
        if isinstance(response, NumericColumn):
            if level is not None or codes is not None:
                raise InvalidParameterError(
                    f"level and codes are for a target that is a category, but {target[:60]!r} is numeric. Drop them."
                )
            middle, half = half_width(response)
            y_center, y_bound = _interval(middle - half, middle + half, center, bound)
            return cls(metadata, target, features, y_center, y_bound, by_order=by_order)
        numbers_of = _codes(response, target, level, codes)
        ends = [number for _, number in numbers_of]
        y_center, y_bound = _interval(min(ends), max(ends), center, bound)
        coded = None if level is not None else numbers_of
        return cls(metadata, target, features, y_center, y_bound, level, coded, by_order=by_order)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the table's columns that are read."""
        return columns_read(self.metadata.derived, (*self.features, self.target))

    @property
    def n_columns(self) -> int:
        """Number of integers a row becomes: one a feature, two where their order counts, then the target's."""
        return len(self.features) * (2 if self.by_order else 1) + 1

    @cached_property
    def scales(self) -> Scales:
        """How the features' cells become integers."""
        alike = self.metadata.features if are_alike(self.metadata, self.features) else None
        columns = [alike] if alike is not None else [_numeric(self.metadata, name) for name in self.features]
        return Scales.of(columns).saturated(self.saturation)

    def group(self, start: int, stop: int) -> "ScoreDesign":
        """Return the design of some of the features.

        Parameters
        ----------
        start, stop : int
            From which and before which.

        Returns
        -------
        ScoreDesign
            The same otherwise.
        """
        part = replace(self, features=self.features[start:stop])
        if not self.by_order:
            part.__dict__["scales"] = self.scales.part(start, stop)  # looked up once, not for each group
        return part

    def responses(self, values: pa.Array) -> Cells:
        """Return the integers of the target's cells.

        Parameters
        ----------
        values : pyarrow.Array
            Of any type.

        Returns
        -------
        ndarray of int16, shape (n_rows,)
            Cells in [-32767, 32767]; never an error.
        """
        response = self.metadata.declared(self.target)
        if isinstance(response, NumericColumn):
            middle, half = np.array([self.center]), np.array([self.bound])
            own = Scales.of([response])
            scales = Scales(own.lower, own.upper, middle, half, own.missing, own.strict)
            return self._shifted(scales.cells(numbers(values)[:, None])[:, 0])
        number = self._numbers(response)
        scaled = np.clip((number - self.center) / self.bound, -1.0, 1.0)
        cells = self._shifted(np.rint(np.where(np.isnan(scaled), 0.0, scaled) * GRID))
        return np.asarray(cells[level_codes(values, response)], dtype=np.int16)

    def _shifted(self, cells: Floats) -> Cells:
        """Take off the shift. A cell of [-1, 1] stays in it: |u - s| / (1 + |s|) is at most 1."""
        if self.shift:
            cells = np.rint((cells - self.shift * GRID) / (1.0 + abs(self.shift)))
        return cells.astype(np.int16)

    def _numbers(self, response: CategoryColumn) -> Floats:
        """Return the number of each level; the last one, at place -1, is that of no level."""
        levels = response.levels or ()
        if self.level is not None:
            return np.array([1.0 if name == self.level else -1.0 for name in levels] + [-1.0])
        number_of_level = dict(self.codes or ())
        return np.array([number_of_level[name] for name in levels] + [np.nan])

    def encode(self, batch: pa.RecordBatch) -> Cells:
        """Return the integers of a batch of rows.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            The columns in their order, of whatever type.

        Returns
        -------
        ndarray of int16, shape (n_rows, n_columns)
            The last column is the target.
        """
        batch = declared_batch(batch, self.metadata, (*self.features, self.target))
        p = len(self.features)
        cells = np.empty((batch.num_rows, self.n_columns), dtype=np.int16, order="F")
        if p and self.by_order:
            cells[:, : 2 * p] = order_cells(self._declared(matrix_of(batch.columns[:p]).T))
        elif p:
            cells[:, :p] = self.scales.cells(matrix_of(batch.columns[:p]).T)
        cells[:, -1] = self.responses(batch.column(p))
        return cells

    def _declared(self, values: Floats) -> Floats:
        """Put in the declared value for a missing cell, where there is one."""
        alike = self.metadata.features if are_alike(self.metadata, self.features) else None
        columns = [alike or self.metadata.column(name) for name in self.features]
        stated = np.array([getattr(column, "missing", None) for column in columns], dtype=np.float64)
        return np.where(np.isnan(values), stated, values)


def are_alike(metadata: Metadata, features: Sequence[str]) -> bool:
    """Tell whether features are known to be alike without a look at each.

    Parameters
    ----------
    metadata : Metadata
        What is public about the table.
    features : sequence of str
        Names.

    Returns
    -------
    bool
        True for numbered features, and for all the named ones.
    """
    declared = metadata.features
    if declared is None:
        return False
    if isinstance(features, Codes) and declared.names is None:
        ends = (features.numbers[0], features.numbers[-1])
        n_declared = declared.count if metadata.layout is not None else None
        has_others = any(name in features for name in (*metadata.columns, metadata.unit_id))
        return (
            declared.match == "*"
            and not has_others
            and min(ends) >= 0
            and (n_declared is None or max(ends) < n_declared)
        )
    return features is declared.names


def _check_features(metadata: Metadata, target: str, features: Sequence[str], by_order: bool) -> None:
    if are_alike(metadata, features):
        if metadata.features is not None:
            _numeric(metadata, features[0], by_order)
        return
    if len(set(features)) < len(features):
        raise InvalidParameterError("Features must not repeat. Name each column once.")
    for name in features:
        _numeric(metadata, name, by_order)
        if name == target:
            raise InvalidParameterError(f"The target cannot be a feature, but {name[:60]!r} is both. Drop one.")


def _numeric(metadata: Metadata, name: str, by_order: bool = False) -> NumericColumn:
    column = metadata.column(name) if by_order else None
    column = metadata.declared(name) if column is None else column
    if not isinstance(column, NumericColumn):
        raise MetadataError(
            f"Features must be numeric, but {name[:60]!r} is a category. Leave it out, or declare a derived "
            f"column for each of its levels, such as {{derived: \"is({name[:60]}, 'LEVEL')\"}}."
        )
    return column


def _codes(
    response: CategoryColumn, target: str, level: str | None, codes: Mapping[str, float] | None
) -> tuple[tuple[str, float], ...]:
    levels = response.levels or ()
    shown = ", ".join(repr(name[:40]) for name in levels[:20])
    if (level is None) == (codes is None):
        raise InvalidParameterError(
            "A target that is a category needs either a level, to be told from the others, or codes, a number for "
            f"each level, but {target[:60]!r} has {'neither' if level is None else 'both'}. Its levels are: {shown}."
        )
    if level is not None:
        if level not in levels:
            raise InvalidParameterError(
                f"level must be one of the levels of {target[:60]!r}, but level={level[:60]!r}. They are: {shown}."
            )
        return tuple((name, 1.0 if name == level else -1.0) for name in levels)
    number_of_level = dict(codes or {})
    if set(number_of_level) != set(levels):
        raise InvalidParameterError(f"codes must give each level of {target[:60]!r} one number. They are: {shown}.")
    pairs = tuple((name, float(number_of_level[name])) for name in levels)
    if not all(abs(number) <= 1e100 for _, number in pairs) or len({number for _, number in pairs}) < 2:
        raise InvalidParameterError("codes must be numbers within 1e100, and not all the same. Choose others.")
    return pairs


def _interval(lower: float, upper: float, center: float | None, bound: float | None) -> tuple[float, float]:
    middle, half = lower / 2 + upper / 2, upper / 2 - lower / 2
    y_center = middle if center is None else float(center)
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
    return y_center, y_bound
