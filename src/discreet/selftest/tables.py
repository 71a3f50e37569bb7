"""Small tables for worst pairs, opened as anybody opens one."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import discreet as dc

Row = Sequence[float]
BOX = {"type": "real", "lower": -1, "upper": 1}
LABEL = {"type": "integer", "lower": 0, "upper": 1}
COUNT = {"type": "integer", "lower": 0, "upper": 9}
REPLACE = "replace_one"
CROWD = 4
"""Times as many rows as are declared: what a unit has in excess must not count."""


def opened(names: Sequence[str], rows: Iterable[Row], relation: str, **metadata: Any) -> Any:
    """Open rows in memory as a private table."""
    cells = [list(row) for row in rows]
    more = metadata.pop("columns", {})
    public = {"n_rows": len(cells)} if relation == REPLACE else {}
    unit = metadata.get("unit_id")
    declared = {"dataset": "selftest", "unit": "person", "neighboring": relation, **public, **metadata}
    declared["columns"] = {name: BOX for name in names if name != unit} | more
    frame = pa.table({name: pa.array([row[place] for row in cells]) for place, name in enumerate(names)})
    return dc.open_table(frame, dc.Metadata.model_validate(declared))


@dataclass(frozen=True)
class Pair:
    """Rows that two tables share, and the row that is another, or is there in one of them alone.

    Parameters
    ----------
    base : sequence of sequence of float
        Rows of both.
    old : sequence of float
        Of the first, where a row is replaced.
    new : sequence of float
        Of the second.
    names : sequence of str
        Columns.
    columns : mapping of str to dict
        Declared otherwise than from -1 to 1.
    """

    base: Sequence[Row]
    old: Row
    new: Row
    names: Sequence[str] = ("x1", "x2", "y")
    columns: Mapping[str, Any] = field(default_factory=dict)

    def tables(self, relation: str, rows_per_unit: int = 1) -> list[Any]:
        """Open both neighboring tables."""
        copies = 1 if rows_per_unit == 1 else CROWD * rows_per_unit
        unit = {} if rows_per_unit == 1 else {"unit_id": "who", "rows_per_unit": rows_per_unit}
        names = [*self.names, "who"]
        base = [[*row, place + 1] for place, row in enumerate(self.base)]
        old, new = ([[*row, 0]] * copies for row in (self.old, self.new))
        both = ([*base, *(old if relation == REPLACE else [])], [*base, *new])
        return [
            opened(
                names if unit else names[:-1],
                rows if unit else [row[:-1] for row in rows],
                relation,
                columns=dict(self.columns),
                **unit,
            )
            for rows in both
        ]


def between(rows: Sequence[Row], base: Sequence[Row] = (), **more: Any) -> list[Pair]:
    """Return pairs in which each row becomes each other one."""
    return [Pair(base, old, new, **more) for old, new in itertools.permutations(rows, 2)]


def both_ways(base: Sequence[Row], old: Row, new: Row, **more: Any) -> list[Pair]:
    """Return the pair in which a row becomes another, and the pair in which that one becomes it."""
    return [Pair(base, old, new, **more), Pair(base, new, old, **more)]


ACROSS = ((-1.0, 1.0, 1.0), (1.0, -1.0, 1.0))
"""A row that fits one of two columns and misses the other, and the reverse."""
