"""Which of a design's columns decorrelated scores use, and the units in which these enter."""

import numpy as np

from discreet.data.design import Design
from discreet.data.metadata import CategoryColumn, NumericColumn, half_width
from discreet.kernels.rows.decorrelated_rows import SaturatedRows
from discreet.methods.screening.units import FORCED, Units
from discreet.typing import Bools

PARTS = 1_000_000
"""A saturation is a whole number of these parts of a half range."""


def saturated_rows(
    design: Design, units: Units, saturation: float = 1.0, has_products: bool = True
) -> tuple[SaturatedRows, Units]:
    """Return the rows of a design, saturated at a part of their bounds, and the units that their columns enter in."""
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
    ratio = (PARTS, max(round(PARTS * saturation), 1))
    rows = SaturatedRows(used, np.array(two_valued, dtype=np.bool_)[used], ratio, has_products)
    return rows, Units(int((owners != FORCED).sum()), units.n_units, owners)


def entering_together(units: Units) -> Bools:
    """Return which columns enter together with each: none is adjusted for itself. Shapes: returns (p, p)."""
    owners = np.arange(units.n_units) if units.unit_of is None else units.unit_of
    alike = (owners[:, None] == owners) & (owners != FORCED)
    same: Bools = alike | np.eye(len(owners), dtype=np.bool_)
    return same
