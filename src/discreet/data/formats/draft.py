"""Metadata under way from another format: what the file says, what it leaves open, what was found."""

import re
from dataclasses import dataclass, field
from typing import Any, TypedDict

from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.lint import Finding, column_place, printable
from discreet.data.metadata import MAX_LEVELS, SCHEMA, Metadata
from discreet.errors import MetadataError

Declared = dict[str, Any]
"""A column, or the whole, in the keys of ``discreet/metadata@1``."""


@dataclass(frozen=True)
class Converted:
    """Metadata out of another format, and what to look at.

    Parameters
    ----------
    metadata : Metadata
        The metadata.
    findings : tuple of Finding
        What was left out, assumed or lost on the way; `lint` of the metadata comes on top.
    """

    metadata: Metadata
    findings: tuple[Finding, ...] = ()


class Overrides(TypedDict, total=False):
    """What the caller knows better than the file: fields of `Metadata`."""

    dataset: str | None
    unit: str | None
    neighboring: NeighboringRelation | str | None
    n_rows: int | None


@dataclass
class Draft:
    """What a file of another format says, before our schema judges it.

    Parameters
    ----------
    origin : str
        The format, for messages.
    ours : bool
        Whether Discreet wrote the file, so that nothing in it needs another look.
    """

    origin: str
    ours: bool = False
    columns: dict[str, Declared] = field(default_factory=dict)
    unit_ids: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    unit_id: Any = None
    unit: Any = None
    rows_per_unit: Any = None
    n_rows: Any = None
    neighboring: Any = None
    dataset: Any = None
    table: str = ""
    description: Any = None

    @property
    def source(self) -> str:
        """What stands as the source of an imported bound."""
        return f"imported from {self.origin}; not checked"

    def warn(self, place: str, message: str) -> None:
        """Add a warning."""
        self.findings.append(Finding("warning", place, message))

    def refusal(self, subject: str, must: str) -> MetadataError:
        """Return the error for a shape that is not the format's."""
        return MetadataError(f"{self.origin} metadata: {subject} must {must}. Correct the file.")

    def mapping(self, value: Any, subject: str) -> dict[str, Any]:
        """Return a value, or refuse it where it is no mapping with text as keys."""
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise self.refusal(subject, "be a mapping with text as keys")
        return value

    def add(self, name: str, declared: Declared | None, *, is_id: bool = False) -> None:
        """Add a column, once."""
        if name in self.columns or name in self.unit_ids or name in self.left_out:
            raise self.refusal(f"column {printable(name)!r}", "be given once")
        if is_id:
            self.unit_ids.append(name)
        elif declared is None:
            self.left_out.append(name)
        else:
            self.columns[name] = without_none(declared)

    def number(self, name: str, value: Any) -> Any:
        """Return a bound of a column, which must be a number, also as text."""
        if isinstance(value, str):
            try:
                return float(value)
            except ValueError:
                pass
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise self.refusal(f"a bound of column {printable(name)!r}", "be a number")
        return value

    def numeric(self, name: str, kind: str, lower: Any, upper: Any) -> Declared:
        """Return the declaration of a numeric column; leave out bounds that cannot be used."""
        lower, upper = self.number(name, lower), self.number(name, upper)
        if lower is not None and upper is not None and not lower < upper:
            self.warn(column_place(name), "Bounds must differ, the lower being less. Both were left out.")
            lower = upper = None
        source = None if lower is None and upper is None else self.source
        return {"type": kind, "lower": lower, "upper": upper, "source": source}

    def category(self, name: str, levels: Any) -> Declared:
        """Return the declaration of a category; leave out levels that cannot be used."""
        if levels is None:
            return {"type": "category"}
        if not isinstance(levels, list) or any(isinstance(level, dict | list) for level in levels):
            raise self.refusal(f"the values of column {printable(name)!r}", "be a list of numbers or texts")
        present = [level for level in levels if level is not None]
        if len(present) < len(levels):
            self.warn(column_place(name), "A level must be a value, but a missing one is listed. It was left out.")
        if not 2 <= len(present) <= MAX_LEVELS:
            self.warn(column_place(name), f"Levels must be 2 to {MAX_LEVELS}, but these are not. All were left out.")
            return {"type": "category"}
        return {"type": "category", "levels": present, "source": self.source}

    def leave_out(self, name: str, kind: Any) -> None:
        """Warn of a column whose type is not supported."""
        self.warn(
            column_place(name),
            f"A column must hold numbers or categories, but its type is {printable(str(kind))!r}. It was "
            "left out. To use it, turn it into a number, such as a year.",
        )

    def settle(
        self,
        *,
        dataset: str | None = None,
        unit: str | None = None,
        neighboring: NeighboringRelation | str | None = None,
        n_rows: int | None = None,
    ) -> Converted:
        """Settle what the file leaves open, and check the whole against the schema."""
        if not self.columns:
            raise self.refusal("the table", "have a column of numbers or of categories")
        self._settle_unit(unit)
        self._settle_dataset(dataset)
        self._settle_rows(neighboring)
        value = {
            "schema": SCHEMA,
            "dataset": self.dataset,
            "unit": self.unit,
            "rows_per_unit": self.rows_per_unit,
            "unit_id": self.unit_id,
            "neighboring": self.neighboring,
            "n_rows": self.n_rows if n_rows is None else n_rows,
            "description": self.description,
            "columns": self.columns,
        }
        return Converted(Metadata.from_value(without_none(value), f"{self.origin} metadata"), tuple(self.findings))

    def _settle_unit(self, unit: str | None) -> None:
        if self.unit_id is None and self.unit_ids:
            if len(self.unit_ids) > 1:
                raise self.refusal("the privacy unit", f"be one column, not {len(self.unit_ids)}")
            self.unit_id = self.unit_ids[0]
        for name in self.unit_ids:
            if name != self.unit_id:
                self.warn(column_place(name), "Only one column may tell the units apart. This one was left out.")
        if self.rows_per_unit is None:
            self.rows_per_unit = 1
            self.warn("rows_per_unit", "How many rows a unit may own must be said, but is not. Check the 1 taken.")
        elif self.rows_per_unit != 1 and not self.ours:
            self.warn("rows_per_unit", "How many rows a unit may own must not come from the rows. Check its source.")
        self.unit = unit or self.unit
        if self.unit is None and isinstance(self.unit_id, str):
            self.unit = self.unit_id[:100]
            self.warn(
                "unit",
                f"Who is protected must be said, but only the column that tells is. {printable(self.unit)!r} "
                "was taken: say who that is, such as `unit: person`.",
            )
        self.unit = self.unit or "row"

    def _settle_dataset(self, dataset: str | None) -> None:
        self.dataset = dataset or self.dataset
        if self.dataset is None:
            self.dataset = re.sub(r"[^A-Za-z0-9._-]+", "-", self.table).lstrip("._-")[:100] or "imported"
            self.warn(
                "dataset",
                f"The key in the ledger must be said, but is not. {self.dataset!r} was taken: all versions "
                "and samples of the same people must share one, so check it.",
            )

    def _settle_rows(self, neighboring: NeighboringRelation | str | None) -> None:
        private = NeighboringRelation.ADD_OR_REMOVE_ONE.value
        self.neighboring = neighboring or self.neighboring or private
        if self.n_rows is not None and self.neighboring == private:
            self.n_rows = None
            self.warn(
                "n_rows",
                "The number of rows must be private under add_or_remove_one, but is given. It was left out: "
                "if it is public, convert with the relation replace_one.",
            )


def boolean() -> Declared:
    """Return the declaration of a boolean column: a category, whose levels its type makes public."""
    return {"type": "category", "levels": [False, True], "source": "the two values of a boolean"}


def without_none(value: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a dictionary without its empty entries."""
    return {key: entry for key, entry in value.items() if entry is not None}


def choose(draft: Draft, names: list[str], requested: str | None) -> str:
    """Return the name of the table to read."""
    matches = [name for name in names if requested in (None, name, name.rpartition(".")[2])]
    if len(matches) != 1:
        shown = ", ".join(repr(printable(name)) for name in names[:20]) or "none"
        raise MetadataError(
            f"{draft.origin} metadata: one table must be chosen, but {len(matches)} fit; there are: {shown}. "
            "Give the name of one as `table`."
        )
    return matches[0]
