"""What is public about a private table (``discreet/metadata@1``). Never read from the rows."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.yaml_text import parse_text, yaml_text
from discreet.errors import MetadataError
from discreet.release import canonical_sha256, read_text, write_whole

SCHEMA: Literal["discreet/metadata@1"] = "discreet/metadata@1"
MAX_BOUND = 1e100
MAX_LEVELS = 10_000
MAX_ROWS = 2**33 - 1
"""The cap below which integer moments on the 15-bit grid cannot overflow (privacy specification 8.1)."""


def _level_text(value: Any) -> Any:
    """Levels are compared as text; YAML reads 1, true and 2.0 as other types."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return value


def _within(value: float) -> float:
    if abs(value) > MAX_BOUND:
        raise ValueError(f"a bound must lie within -{MAX_BOUND:g} .. {MAX_BOUND:g}")
    return value


Bound = Annotated[float, Field(strict=False, allow_inf_nan=False), AfterValidator(_within)]
Level = Annotated[str, BeforeValidator(_level_text), Field(max_length=1000)]


class _Column(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str | None = Field(default=None, max_length=1000, description="where the bounds or levels come from")
    description: str | None = Field(default=None, max_length=1000)


class NumericColumn(_Column):
    """An integer or real column with public bounds, in the column's own unit."""

    type: Literal["integer", "real"]
    lower: Bound | None = None
    upper: Bound | None = None
    missing: Bound | None = Field(default=None, description="value that stands for a missing cell; default the middle")
    out_of_bounds: Literal["clip", "missing"] = "clip"
    bounds: Literal["private"] | None = Field(default=None, description="ask for paid private bounds instead")

    @model_validator(mode="after")
    def _bounds_fit(self) -> "NumericColumn":
        if self.lower is None or self.upper is None:
            return self
        if not self.lower < self.upper:
            raise ValueError(f"lower must be less than upper, but lower={self.lower:g} and upper={self.upper:g}")
        if not (self.upper - self.lower) / 2 > max(abs(self.lower), abs(self.upper), 1e-90) * 1e-12:
            raise ValueError("the bounds must be further apart: at least 1e-12 of their size")
        if self.missing is not None and not self.lower <= self.missing <= self.upper:
            raise ValueError(f"missing must lie within the bounds, but missing={self.missing:g}")
        return self

    @property
    def is_declared(self) -> bool:
        """Tell whether the column has what a computation needs."""
        return self.lower is not None and self.upper is not None


class CategoryColumn(_Column):
    """A column of public levels. It enters and leaves a model as one group, all its dummies together."""

    type: Literal["category"]
    levels: tuple[Level, ...] | None = Field(default=None, max_length=MAX_LEVELS)
    unknown: Level | None = Field(default=None, description="level that takes other or missing cells; default none")

    @model_validator(mode="after")
    def _levels_fit(self) -> "CategoryColumn":
        if self.levels is None:
            return self
        if len(self.levels) < 2:
            raise ValueError("levels must be at least two")
        if len(set(self.levels)) < len(self.levels):
            raise ValueError("levels must not repeat")
        if self.unknown is not None and self.unknown not in self.levels:
            raise ValueError("unknown must be one of the levels")
        return self

    @property
    def is_declared(self) -> bool:
        """Tell whether the column has what a computation needs."""
        return self.levels is not None


Column = Annotated[NumericColumn | CategoryColumn, Field(discriminator="type")]


class Metadata(BaseModel):
    """The public description of a private table.

    Parameters
    ----------
    dataset : str
        The key in the ledger: all versions and samples of the same people share it.
    unit : str
        Who is protected, such as "person".
    rows_per_unit : int
        The most rows one unit may own; with more than one, `unit_id` names the column and the cut is enforced.
    neighboring : NeighboringRelation
        Which two tables count as neighbors.
    n_rows : int or None
        Public number of rows under ``replace_one``; absent under ``add_or_remove_one``.
    columns : dict of str to NumericColumn or CategoryColumn
        Bounds or levels of each column, with their source.

    Examples
    --------
    >>> metadata = Metadata.model_validate({
    ...     "schema": "discreet/metadata@1", "dataset": "toy", "unit": "person",
    ...     "neighboring": "replace_one", "n_rows": 100,
    ...     "columns": {"age": {"type": "integer", "lower": 0, "upper": 110, "source": "by definition"}}})
    >>> metadata.columns["age"].upper
    110.0
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["discreet/metadata@1"] = Field(default=SCHEMA, alias="schema")
    dataset: str = Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    unit: str = Field(min_length=1, max_length=100)
    rows_per_unit: int = Field(default=1, ge=1, le=1_000_000)
    unit_id: str | None = Field(default=None, min_length=1, max_length=1000)
    neighboring: NeighboringRelation
    n_rows: int | None = Field(default=None, ge=1, le=MAX_ROWS)
    description: str | None = Field(default=None, max_length=10_000)
    columns: dict[Annotated[str, Field(min_length=1, max_length=1000)], Column] = Field(min_length=1)

    @model_validator(mode="after")
    def _relation_fits(self) -> "Metadata":
        if self.neighboring is NeighboringRelation.REPLACE_ONE and self.n_rows is None:
            raise ValueError("n_rows must be given under replace_one: it is public there")
        if self.neighboring is NeighboringRelation.ADD_OR_REMOVE_ONE and self.n_rows is not None:
            raise ValueError("n_rows must be absent under add_or_remove_one: it is private there")
        if self.rows_per_unit > 1 and self.unit_id is None:
            raise ValueError("unit_id must name the unit's column when rows_per_unit is more than 1")
        if self.unit_id is not None and self.unit_id in self.columns:
            raise ValueError("unit_id must not be one of the columns: it identifies units and is never used")
        return self

    @classmethod
    def read(cls, path: str | Path) -> "Metadata":
        """Read metadata from a YAML or JSON file.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Metadata
            The metadata.

        Raises
        ------
        MetadataError
            When the file does not follow the schema; the message names the place.
        """
        return cls.from_text(read_text(path, "metadata"), str(path))

    @classmethod
    def from_text(cls, text: str, name: str = "metadata") -> "Metadata":
        """Return the metadata that a YAML or JSON text holds.

        Parameters
        ----------
        text : str
            YAML or JSON.
        name : str
            How messages call the text.

        Returns
        -------
        Metadata
            The metadata.
        """
        return cls.from_value(parse_text(text, name), name)

    @classmethod
    def from_value(cls, value: Any, name: str = "metadata") -> "Metadata":
        """Return the metadata that a dictionary holds, with a one-line error.

        Parameters
        ----------
        value : Any
            A dictionary of the schema's shape.
        name : str
            How messages call it.

        Returns
        -------
        Metadata
            The metadata.
        """
        if not isinstance(value, dict):
            raise MetadataError(
                f"Metadata must be a mapping with the keys of {SCHEMA}, but {name} is not. "
                "Write a skeleton with `discreet metadata new`."
            )
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise MetadataError(f"{name}: {_first_problem(error)}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the metadata as a dictionary that JSON can hold, without empty fields.

        Returns
        -------
        dict
            Keys in the schema's order.
        """
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_yaml(self) -> str:
        """Return the metadata as YAML text.

        Returns
        -------
        str
            YAML, keys in the schema's order.
        """
        return yaml_text(self.to_dict())

    def save(self, path: str | Path) -> Path:
        """Write the metadata whole or not at all, as JSON when the name ends in .json, else as YAML.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Path
            The file written.
        """
        as_json = str(path).endswith(".json")
        return write_whole(path, json.dumps(self.to_dict(), indent=2) + "\n" if as_json else self.to_yaml())

    @property
    def sha256(self) -> str:
        """Digest of the metadata's content."""
        return canonical_sha256(self.to_dict())

    def is_number(self, name: str) -> bool:
        """Tell whether a column is declared as a number.

        Parameters
        ----------
        name : str
            The column; it need not be declared at all.

        Returns
        -------
        bool
            False for categories and for columns that are not declared.
        """
        return isinstance(self.columns.get(name), NumericColumn)

    def buys_bounds(self, name: str) -> bool:
        """Tell whether a column asks for bounds bought from the budget: ``bounds: private``, and not both declared.

        Parameters
        ----------
        name : str
            The column; it need not be declared at all.

        Returns
        -------
        bool
            False for categories and for columns that are not declared.
        """
        column = self.columns.get(name)
        return isinstance(column, NumericColumn) and column.bounds == "private" and not column.is_declared

    def with_bounds(self, bounds: Mapping[str, tuple[float, float]], source: str) -> "Metadata":
        """Return the metadata with the bounds of some numeric columns filled in.

        Parameters
        ----------
        bounds : dict of str to (float, float)
            Lower and upper bound of each, in its unit; lower < upper.
        source : str
            Where they come from.

        Returns
        -------
        Metadata
            Never an error: a stand-in for missing cells that lies outside is moved to the nearest bound.
        """
        columns = dict(self.columns)
        for name, (lower, upper) in bounds.items():
            column = columns[name]
            missing = getattr(column, "missing", None)
            inside = None if missing is None else min(max(missing, lower), upper)
            filled = {"lower": lower, "upper": upper, "missing": inside, "source": source}
            columns[name] = column.model_copy(update=filled)
        return self.model_copy(update={"columns": columns})

    def declared(self, name: str) -> NumericColumn | CategoryColumn:
        """Return a column that can be used, or say how to declare it.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        NumericColumn or CategoryColumn
            The column, with bounds or levels.

        Raises
        ------
        MetadataError
            When the column is not in the metadata, or has no bounds or levels.
        """
        column = self.columns.get(name)
        if column is None:
            raise MetadataError(
                f"Every column used must be declared in the metadata, but column={name[:80]!r} is not. "
                f"Declared are: {', '.join(list(self.columns)[:30])}."
            )
        if not column.is_declared:
            raise MetadataError(f"Column {name[:80]!r} must have public {_how_to_declare(column)}")
        return column


def _how_to_declare(column: NumericColumn | CategoryColumn) -> str:
    if isinstance(column, CategoryColumn):
        return "levels. Declare them, such as `levels: [a, b]`, with their `source`; never read them from the rows."
    if column.bounds == "private":
        return (
            "bounds: private ones are bought by the selection of variables, not here. Declare `lower` and `upper` with "
            "their `source`, such as an earlier release that bought them."
        )
    return (
        "bounds. Declare them, such as `lower: 0, upper: 30`, with their `source`, from a code book or from "
        "subject knowledge; never read them from the rows."
    )


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    steps = [str(part) for part in first["loc"] if part not in ("integer", "real", "category")]
    path = ".".join(steps) or "metadata"
    place = "".join(char if char.isprintable() else repr(char)[1:-1] for char in path)
    message = first["msg"].removeprefix("Value error, ")
    value = first.get("input")
    found = f", found {value!r}" if isinstance(value, (str, int, float)) and len(repr(value)) < 60 else ""
    more = f" ({error.error_count() - 1} more problems)" if error.error_count() > 1 else ""
    return f"{place}: {message}{found}{more}. Check with `discreet metadata check FILE`."


def half_width(column: NumericColumn) -> tuple[float, float]:
    """Return the center and the half width of a declared column, in its unit.

    Parameters
    ----------
    column : NumericColumn
        A column with bounds.

    Returns
    -------
    tuple of float
        Center and half width; the half width is positive and finite.
    """
    if column.lower is None or column.upper is None:
        raise MetadataError(f"A numeric column must have public {_how_to_declare(column)}")
    half = column.upper / 2 - column.lower / 2
    center = column.lower / 2 + column.upper / 2
    if not (math.isfinite(half) and half > 0):
        raise MetadataError("The half width of a column must be positive and finite. Declare other bounds.")
    return center, half
