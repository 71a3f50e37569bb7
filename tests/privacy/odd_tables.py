"""Neighboring tables as odd as storage allows: vertices, repeated rows, none, cells that are not what is declared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from typing_extensions import override

from discreet.data.engines.frame import FrameTable
from discreet.data.long_table import LongTable
from discreet.data.metadata import Metadata

REAL = {"type": "real", "lower": -1, "upper": 1}
COLUMNS: dict[str, dict[str, Any]] = {
    "a": REAL,
    "b": {"type": "integer", "lower": 0, "upper": 5},
    "c": {"type": "category", "levels": ["u", "v", "w"]},
    "d": REAL,
    "e": {"type": "real", "lower": 0, "upper": 10, "missing": 3},
    "g": {"type": "category", "levels": ["no", "yes"]},
    "y": {"type": "real", "lower": -2, "upper": 2},
    "z": {"type": "integer", "lower": 0, "upper": 1},
    "k": {"type": "integer", "lower": 0, "upper": 9},
}
"""Features, then targets: real, of two values, a count."""

ODD = ["inf", "-inf", "nan", "1e308", "-1e308", "1e999", "5e-324", None, "none", "", "é\x00"]
"""Cells as text, or as the number that they may be taken for."""

Row = dict[str, str | None]


def declared(relation: str, n_rows: int, rows_per_unit: int = 1, private: Sequence[str] = ()) -> Metadata:
    """Metadata of the columns above; the bounds of some are to be bought."""
    columns = {
        name: {"type": "real", "bounds": "private"} if name in private else column for name, column in COLUMNS.items()
    }
    public = {"n_rows": n_rows} if relation == "replace_one" else {}
    unit = {"rows_per_unit": rows_per_unit, "unit_id": "who"} if rows_per_unit > 1 else {}
    return Metadata.from_value(
        {"dataset": "odd", "unit": "person", "neighboring": relation, "columns": columns, **public, **unit}
    )


@dataclass(frozen=True)
class Pair:
    """Rows that two neighboring tables share, so many times each, and the rows of the unit that differs."""

    base: tuple[Row, ...]
    times: int
    old: tuple[Row, ...]
    new: tuple[Row, ...]
    as_text: bool = False

    def reversed(self) -> "Pair":
        """The other way round."""
        return replace(self, old=self.new, new=self.old)

    def tables(self, relation: str, rows_per_unit: int = 1, private: Sequence[str] = ()) -> tuple[Any, Any]:
        """Both tables, under one metadata."""
        shared, metadata = self._shared(relation, rows_per_unit, private)
        one, other = ([*shared, *({**row, "who": "it"} for row in unit)] for unit in (self.old, self.new))
        return self._table(one, metadata), self._table(other, metadata)

    def in_both_orders(self, relation: str, rows_per_unit: int = 1, private: Sequence[str] = ()) -> tuple[Any, Any]:
        """The first table, and the same with its rows the other way round."""
        shared, metadata = self._shared(relation, rows_per_unit, private)
        rows = [*shared, *({**row, "who": "it"} for row in self.old)]
        return self._table(rows, metadata), self._table(rows[::-1], metadata)

    def _shared(self, relation: str, rows_per_unit: int, private: Sequence[str]) -> tuple[list[Row], Metadata]:
        shared: list[Row] = [
            {**row, "who": None if "nobody" in row else f"p{copy}-{at // (rows_per_unit + 1)}"}
            for copy in range(self.times)
            for at, row in enumerate(self.base)
        ]
        n_rows = max(len(shared) + len(self.old), 1)
        return shared, declared(relation, n_rows, rows_per_unit, private)

    def _table(self, rows: Sequence[Row], metadata: Metadata) -> FrameTable:
        cells = {name: [row.get(name) for row in rows] for name in (*COLUMNS, "who")}
        arrays = {name: pa.array(column, pa.string()) for name, column in cells.items()}
        if self.as_text:
            return Untyped(pa.table(arrays), metadata)
        arrays |= {
            name: pa.array([number(cell) for cell in cells[name]], pa.float64())
            for name, column in COLUMNS.items()
            if column["type"] != "category"
        }
        return FrameTable(pa.table(arrays), metadata)


class Untyped(FrameTable):
    """Text in memory that stands for a file without types, whose text may be numbers."""

    @override
    def storage_types(self) -> Mapping[str, str]:
        return {}


def number(cell: str | None) -> float | None:
    """The number that a cell is, or none."""
    try:
        return None if cell is None else float(cell)
    except ValueError:
        return None


def cells_of(column: dict[str, Any]) -> st.SearchStrategy[str | None]:
    """Ends, middle, beyond, odd."""
    if column["type"] == "category":
        return st.sampled_from([*column["levels"], *column["levels"], None, "none", ""])
    low, high = column["lower"], column["upper"]
    inside = [low, low, high, high, (low + high) / 2, low + 0.3 * (high - low)]
    return st.sampled_from([*(repr(float(value)) for value in (*inside, low - 1, high + 1)), *ODD])


def rows() -> st.SearchStrategy[Row]:
    """One row of all columns, at the ends of all bounds or odd; some are of a unit that nobody knows."""
    odd = {name: cells_of(column) for name, column in COLUMNS.items()}
    ends = {name: st.sampled_from(_ends(column)) for name, column in COLUMNS.items()}
    nobody = {"nobody": st.just("")}
    return st.one_of(st.fixed_dictionaries(ends), st.fixed_dictionaries(odd, optional=nobody))


def _ends(column: dict[str, Any]) -> list[str]:
    return [column["levels"][0], column["levels"][-1]] if "levels" in column else [
        str(column["lower"]), str(column["upper"])
    ]  # fmt: skip


@st.composite
def pairs(draw: Any, relation: str, rows_per_unit: int = 1) -> Pair:
    """Neighbors: another unit in its place, or none; a unit may have more rows than count."""
    base = tuple(draw(st.lists(rows(), max_size=4)))
    most = 1 if rows_per_unit == 1 else rows_per_unit + 2
    old = tuple(draw(st.lists(rows(), min_size=1, max_size=most)))
    new: tuple[Row, ...] = ()
    if relation == "replace_one":
        new = tuple(draw(st.lists(rows(), min_size=len(old), max_size=len(old))))
    found = Pair(base, draw(st.sampled_from([1, 2, 30])), old, new, draw(st.booleans()))
    return found.reversed() if draw(st.booleans()) else found


# ---- tables of one value a row

BOX = {"type": "real", "lower": -1, "upper": 1, "source": "test"}
Person = tuple[str | None, tuple[tuple[int, str | None], ...]]
"""The target, and values of features by their number."""


def people() -> st.SearchStrategy[Person]:
    """Values of no feature, several of one, and none of most."""
    value = st.tuples(st.integers(-1, 5), cells_of(REAL))
    return st.tuples(cells_of(COLUMNS["y"]), st.lists(value, max_size=6).map(tuple))


def long_table(persons: Sequence[tuple[str, Person]], relation: str, strangers: Sequence[Person] = ()) -> LongTable:
    """Values of named people, and of strangers who have no row among the targets."""
    public = {"n_rows": max(len(persons), 1)} if relation == "replace_one" else {}
    metadata = Metadata.from_value(
        {"dataset": "long", "unit": "person", "neighboring": relation, "columns": {"y": COLUMNS["y"]},
         "layout": {"row": "who", "feature": "what", "value": "much"}, "features": {**BOX, "count": 4}, **public}
    )  # fmt: skip
    everybody = [*persons, *(("stranger", one) for one in strangers)]
    values = [(who, what, much) for who, (_, cells) in everybody for what, much in cells]
    names = [
        pa.array([one[at] for one in values], kind) for at, kind in enumerate((pa.string(), pa.int64(), pa.string()))
    ]
    of_values = pa.table(dict(zip(("who", "what", "much"), names, strict=True)))
    of_targets = pa.table(
        {"who": pa.array([who for who, _ in persons], pa.string()),
         "y": pa.array([target for _, (target, _) in persons], pa.string())}
    )  # fmt: skip
    return LongTable(Untyped(of_values, metadata), Untyped(of_targets, metadata), metadata)


# ---- pairs that are meant


def plain(**cells: float | str) -> Row:
    """A row: what is not named is in the middle of its bounds, or of the first level."""
    found: Row = {}
    for name, column in COLUMNS.items():
        middle = column["levels"][0] if column["type"] == "category" else (column["lower"] + column["upper"]) / 2
        found[name] = str(cells.get(name, middle))
    return found


def pair_of(base: Iterable[Row], old: Row, new: Row, relation: str, rows_per_unit: int = 1, times: int = 1) -> Pair:
    """A pair that is meant: a unit of as many rows as count, in the place of another, or of nobody."""
    return Pair(tuple(base), times, (old,) * rows_per_unit, (new,) * rows_per_unit if relation == "replace_one" else ())
