"""The bounds of derived columns: they follow from those of their sources, or are declared."""

import math
from collections.abc import Mapping

from discreet.data.columns import MAX_BOUND, CategoryColumn, NumericColumn
from discreet.data.expressions import Expression, parsed
from discreet.data.intervals import Interval, interval_of

Columns = Mapping[str, NumericColumn | CategoryColumn]


def implied_bounds(name: str, columns: Columns, is_partial: bool = False) -> Interval:
    """Return the bounds of a derived column that follow from its sources', or raise ValueError in one line.

    An end is infinite only where it is declared, or `is_partial`.
    """
    column = columns[name]
    text = getattr(column, "derived", None) or ""
    expression, reasons = parsed(text), list[str]()
    _check_sources(name, expression, columns)
    bounds = {source: _bounds(columns[source]) for source, level in expression.sources() if level is None}
    declared = (getattr(column, "lower", None), getattr(column, "upper", None))
    try:
        ends = interval_of(expression, bounds, reasons)
    except ValueError as error:
        if is_partial or None not in declared:
            return -math.inf, math.inf
        raise ValueError(f"derived column {name[:60]!r}: {error}") from None
    lacking = [
        word
        for word, end, own in zip(("lower", "upper"), ends, declared, strict=True)
        if own is None and not abs(end) <= MAX_BOUND
    ]
    if lacking and not is_partial:
        why = reasons[0] if reasons else f"the bounds of its columns do not keep it within {MAX_BOUND:g}"
        raise ValueError(
            f"derived column {name[:60]!r} must have a declared {' and '.join(lacking)}, as {why}: declare "
            f"{'it' if len(lacking) == 1 else 'them'} with the source"
        )
    return ends


def _bounds(column: NumericColumn | CategoryColumn) -> Interval:
    lower, upper = getattr(column, "lower", None), getattr(column, "upper", None)
    return (-math.inf if lower is None else lower), (math.inf if upper is None else upper)


def _check_sources(name: str, expression: Expression, columns: Columns) -> None:
    for source, level in expression.sources():
        shown, column = f"derived column {name[:60]!r} must be made of", columns.get(source)
        if column is None:
            raise ValueError(
                f"{shown} listed columns, but {source[:60]!r} is none: list it under columns, or correct it"
            )
        if getattr(column, "derived", None) is not None:
            raise ValueError(
                f"{shown} columns that the table has, but {source[:60]!r} is derived: write its expression in place"
            )
        if not column.is_declared:
            requirement = "levels" if isinstance(column, CategoryColumn) else "lower and upper bounds"
            raise ValueError(f"{shown} columns with declared {requirement}, but {source[:60]!r} has none: declare them")
        if level is None and isinstance(column, CategoryColumn):
            raise ValueError(
                f"{shown} numbers, but {source[:60]!r} is a category: write such as is({source[:60]}, 'LEVEL')"
            )
        if level is not None and (not isinstance(column, CategoryColumn) or level not in (column.levels or ())):
            raise ValueError(
                f"{shown} levels of categories, but {level[:60]!r} is no level of {source[:60]!r}: choose one that is"
            )
