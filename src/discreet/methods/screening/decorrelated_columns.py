"""Which of a design's columns decorrelated scores use, and the units in which these enter."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from discreet.data.design import Design
from discreet.data.metadata import CategoryColumn, NumericColumn, half_width
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.decorrelated_rows import SaturatedRows, room_of
from discreet.kernels.sufficient_statistics.cut_columns import MOST_CENTER
from discreet.methods.screening.units import FORCED, Units
from discreet.typing import Bools, Floats


def saturated_rows(design: Design, units: Units, has_products: bool = True) -> tuple[SaturatedRows, Units]:
    """Return the rows of a design, cut at their bounds, and the units that their columns enter in."""
    unit_of = np.arange(units.n_units) if units.unit_of is None else units.unit_of
    read, two_valued = list[bool](), list[bool]()
    for name, width in zip(design.candidates, design.widths, strict=True):
        column = design.metadata.declared(name)
        read += [not (isinstance(column, CategoryColumn) and width > 1), *[True] * (width - 1)]
        # Levels, and whole numbers of two neighboring values.
        is_binary = not isinstance(column, NumericColumn) or (column.type == "integer" and half_width(column)[1] == 0.5)
        two_valued += [is_binary] * width
    used = np.array(read, dtype=np.bool_)
    owners = np.repeat(unit_of, design.widths)[used]
    rows = SaturatedRows(used, np.array(two_valued, dtype=np.bool_)[used], has_products)
    return rows, Units(int((owners != FORCED).sum()), units.n_units, owners)


def stated_centers(x_center: Mapping[str, float] | str, design: Design, rows: SaturatedRows) -> tuple[int, ...] | None:
    """Return public centers of the columns in steps, from those by name, or None where there are none."""
    if isinstance(x_center, str):
        return None
    numeric = {name for name in design.candidates if isinstance(design.metadata.declared(name), NumericColumn)}
    unknown = [name for name in x_center if name not in numeric]
    if unknown:
        raise InvalidParameterError(
            f"x_center must name numeric candidates, but {unknown[0][:60]!r} is none. Leave it out."
        )
    centers = list[float]()
    for name, width in zip(design.candidates, design.widths, strict=True):
        column = design.metadata.declared(name)
        middle, half = half_width(column) if isinstance(column, NumericColumn) else (0.0, 1.0)
        center = (x_center[name] - middle) / half if name in x_center else 0.0
        centers += [min(max(center, -MOST_CENTER), MOST_CENTER)] * width
    steps = np.rint(np.array(centers)[rows.is_read] * GRID).astype(np.int64)
    return tuple(np.where(rows.is_two_valued, 0, steps).tolist())


def cut_at(rows: SaturatedRows, parts: float | Floats) -> SaturatedRows:
    """Return rows whose columns are cut at parts of what their centers leave to the nearer bound, within the farther.

    Shapes: parts of the columns that are not of two values, (n_real,), or one for all.
    """
    centers = np.zeros(rows.width, dtype=np.int64) if rows.centers is None else np.array(rows.centers)
    halves = room_of(centers)
    is_real = ~rows.is_two_valued
    halves[is_real] = np.clip(np.rint(halves[is_real] * parts), 1, GRID + np.abs(centers[is_real]))
    return replace(rows, halves=tuple(halves.tolist()))


def only(rows: SaturatedRows, design: Design, among: Design, units: Units) -> SaturatedRows:
    """Return the rows of a design with fewer candidates, cut where they were. `units` are those of the fewer."""
    places = {name: place for place, name in enumerate(design.candidates)}
    owners = np.repeat(np.arange(len(design.candidates)), design.widths)[rows.is_read]
    left = np.isin(owners, [places[name] for name in among.candidates])
    few, _ = saturated_rows(among, units, rows.has_products)
    centers, halves = (
        None if cuts is None else tuple(np.array(cuts)[left].tolist()) for cuts in (rows.centers, rows.halves)
    )
    return replace(few, centers=centers, halves=halves)


def entering_together(units: Units) -> Bools:
    """Return which columns enter together with each: none is adjusted for itself. Shapes: returns (p, p)."""
    owners = np.arange(units.n_units) if units.unit_of is None else units.unit_of
    alike = (owners[:, None] == owners) & (owners != FORCED)
    same: Bools = alike | np.eye(len(owners), dtype=np.bool_)
    return same
