"""What is declared of a table, as a Python session shows it: public facts alone."""

from typing import TYPE_CHECKING

from discreet.data.columns import CategoryColumn, NumericColumn
from discreet.notebook import card, facts, in_a_line, table

if TYPE_CHECKING:
    from discreet.data.metadata import Metadata

MOST_LEVELS = 8
HEAD = ("column", "type", "values", "what it is", "source")


def headline(metadata: "Metadata") -> str:
    """Return what the metadata are about, in one line."""
    rows = "private number of rows" if metadata.n_rows is None else f"{metadata.n_rows:,} rows"
    declared = f"{len(metadata.columns)} columns"
    if metadata.features is not None:
        declared += " and features"
    return f"{in_a_line(metadata.dataset)}: {declared}, {rows}, unit {in_a_line(metadata.unit)}"


def metadata_card(metadata: "Metadata", title: str) -> str:
    """Return a card: who is protected, then a line a column."""
    general = [
        ("Data set", metadata.dataset),
        ("Protected unit", metadata.unit),
        ("Rows per unit, at most", f"{metadata.rows_per_unit:,}"),
        ("Neighboring relation", metadata.neighboring.value),
        ("Number of rows", "private" if metadata.n_rows is None else f"{metadata.n_rows:,}, public"),
    ]
    rows = [_row(name, column) for name, column in metadata.columns.items()]
    if metadata.features is not None:
        rows.append(_row("all features", metadata.features))
    places = [place for place in range(len(HEAD)) if any(row[place] for row in rows)]
    lines = [[row[place] for place in places] for row in rows]
    return card(title, facts("Who is protected", general), table("Columns", [HEAD[place] for place in places], lines))


def _row(name: str, column: NumericColumn | CategoryColumn) -> tuple[str, ...]:
    return name, column.type, _values(column), column.description or "", column.source or ""


def _values(column: NumericColumn | CategoryColumn) -> str:
    if isinstance(column, CategoryColumn):
        levels = column.levels or ()
        more = f" and {len(levels) - MOST_LEVELS} more" if len(levels) > MOST_LEVELS else ""
        return (", ".join(levels[:MOST_LEVELS]) + more) or "not declared"
    if column.lower is None or column.upper is None:
        return "private bounds" if column.bounds == "private" else "not declared"
    return f"{column.lower:g} to {column.upper:g}"
