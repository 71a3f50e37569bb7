"""What may be declared of a column: bounds or levels, alone or for many columns that are alike."""

import math
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Any, Literal, overload

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from typing_extensions import override

from discreet.data.expressions import parsed
from discreet.errors import MetadataError

MAX_BOUND = 1e100
MAX_LEVELS = 10_000
MAX_FEATURES = 2**31 - 1


def _level_text(value: Any) -> Any:
    """Return a level as text, as levels are compared; YAML reads 1, true and 2.0 as other types."""
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
    bounds: Literal["private"] | None = Field(
        default=None, description="ask for private bounds instead, at a privacy cost"
    )
    derived: str | None = Field(default=None, description="computed from other columns of the row: an expression")

    @field_validator("derived")
    @classmethod
    def _derived_fits(cls, value: str | None) -> str | None:
        if value is not None and not parsed(value).sources():
            raise ValueError("derived must name a column, or it is the same in every row")
        return value

    @model_validator(mode="after")
    def _bounds_fit(self) -> "NumericColumn":
        if self.derived is not None and self.bounds is not None:
            raise ValueError("bounds of a derived column cannot be private: declare lower and upper, or leave both out")
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
    reference: Level | None = Field(
        default=None, description="level that a regression compares the others with; default the first"
    )

    @model_validator(mode="after")
    def _levels_fit(self) -> "CategoryColumn":
        if self.levels is None:
            return self
        if len(self.levels) < 2:
            raise ValueError("levels must list at least two values")
        if len(set(self.levels)) < len(self.levels):
            raise ValueError("levels must not repeat")
        if self.unknown is not None and self.unknown not in self.levels:
            raise ValueError("unknown must be one of the levels")
        if self.reference is not None and self.reference not in self.levels:
            raise ValueError("reference must be one of the levels")
        return self

    @property
    def is_declared(self) -> bool:
        """Tell whether the column has what a computation needs."""
        return self.levels is not None

    @property
    def reference_level(self) -> str:
        """The level that a regression compares the others with."""
        return self.reference if self.reference is not None else (self.levels or ("",))[0]

    @property
    def compared(self) -> tuple[int, ...]:
        """Places of the other levels, which have a coefficient each."""
        return tuple(place for place, level in enumerate(self.levels or ()) if level != self.reference_level)


def _derived_is_real(value: Any) -> Any:
    is_untyped = isinstance(value, dict) and "derived" in value and "type" not in value
    return {"type": "real", **value} if is_untyped else value


Column = Annotated[NumericColumn | CategoryColumn, Field(discriminator="type"), BeforeValidator(_derived_is_real)]


class Codes(Sequence[str]):
    """The numbers of features as their names, made when they are asked for.

    Parameters
    ----------
    numbers : range
        Which ones, such as ``range(count)``.

    Examples
    --------
    >>> codes = Codes(range(10**7))
    >>> len(codes), codes[-1], list(codes[5:7])
    (10000000, '9999999', ['5', '6'])
    """

    def __init__(self, numbers: range) -> None:
        self.numbers = numbers

    @override
    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> "Codes": ...
    @override
    def __getitem__(self, place: int | slice) -> "str | Codes":
        numbers = self.numbers[place]
        return Codes(numbers) if isinstance(numbers, range) else str(numbers)

    @override
    def __iter__(self) -> Iterator[str]:
        return map(str, self.numbers)

    @override
    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and code_of(name) in self.numbers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Codes) and self.numbers == other.numbers

    def __hash__(self) -> int:
        return hash(self.numbers)

    def __repr__(self) -> str:
        return f"Codes({self.numbers})"


def code_of(name: str) -> int:
    """Return the number that a name is, -1 for any other name.

    A whole number of at most ten digits, written without zeros before it.

    Examples
    --------
    >>> code_of("12"), code_of("012"), code_of("x")
    (12, -1, -1)
    """
    return int(name) if re.fullmatch(r"0|[1-9][0-9]{0,9}", name, re.ASCII) else -1


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def has_control(name: str) -> bool:
    r"""Tell whether a column's name holds a control character, which ends lines and texts where others read it.

    True for NUL, line breaks, tabs and their like.

    Examples
    --------
    >>> has_control("income (EUR)"), has_control("income\n(EUR)")
    (False, True)
    """
    return _CONTROL.search(name) is not None


def _no_control(name: str) -> str:
    if has_control(name):
        raise ValueError(
            "the name of a column must hold no control character, such as NUL or a line break: rename it in the table"
        )
    return name


ColumnName = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_no_control)]


def _no_path(value: Any) -> Any:
    if isinstance(value, str):
        raise ValueError("the file with the names is found beside the metadata's own file: use Metadata.read")  # noqa: TRY004
    return value


class Features(NumericColumn):
    """Numeric columns that are alike, too many to list."""

    match: str = Field(default="*", max_length=1000, description="pattern of their names: * ? [a-z] [!a-z]")
    names: Annotated[tuple[ColumnName, ...] | None, BeforeValidator(_no_path)] = Field(
        default=None, min_length=1, description="their names, or the path of a text file with one a line"
    )
    count: int | None = Field(default=None, ge=1, le=MAX_FEATURES, description="how many they are")

    @model_validator(mode="after")
    def _features_fit(self) -> "Features":
        if self.bounds is not None:
            raise ValueError(
                "bounds of features cannot be private, each would cost: declare lower and upper, the same for all"
            )
        if self.derived is not None:
            raise ValueError("features cannot be derived: declare the derived column under columns")
        if problem := _glob_problem(self.match):
            raise ValueError(f"match must be a pattern of names, such as gene_*, but {problem}")
        if self.names is None:
            return self
        if self.match != "*":
            raise ValueError("match and names say the same thing twice: give one of them")
        if len(self.places) < len(self.names):
            raise ValueError("names must not repeat")
        if self.count not in (None, len(self.names)):
            raise ValueError(f"count must be the number of names, {len(self.names)}, but count={self.count}")
        return self

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of each name, where names are given."""
        return {name: place for place, name in enumerate(self.names or ())}

    def listed(self) -> Sequence[str] | None:
        """Return all names where they are public without a table's header: the names, or the numbers from 0."""
        if self.names is not None:
            return self.names
        return None if self.count is None else Codes(range(self.count))

    def holds(self, name: str, is_long: bool) -> bool:
        """Tell whether a name is one of the features."""
        if self.names is not None:
            return name in self.places
        if is_long:
            return 0 <= code_of(name) < (self.count or 0)
        return fnmatchcase(name, self.match) and not has_control(name)


def _glob_problem(pattern: str) -> str | None:
    """Return what is wrong with a pattern, which the library would read as plain text."""
    if not pattern:
        return "it is empty"
    at = 0
    while (at := pattern.find("[", at)) >= 0:
        start = at + 1 + pattern.startswith("!", at + 1)
        end = pattern.find("]", start + 1)
        if end < 0:
            return "its [ is not closed by ]; a [ itself is written [[]"
        if any(low > high for low, high in re.findall("(?s)(.)-(.)", pattern[start:end])):
            return "a range in its [ ] runs backwards"
        at = end + 1
    return None


class Long(BaseModel):
    """A table of one value a row: whose it is, of which feature, and the value."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    row: ColumnName = Field(description="column that tells whose the value is")
    feature: ColumnName = Field(description="column of the feature's number or name")
    value: ColumnName = Field(description="column of the value; a pair that is absent is 0")

    @model_validator(mode="after")
    def _names_differ(self) -> "Long":
        if len({self.row, self.feature, self.value}) < 3:
            raise ValueError("row, feature and value must be three columns")
        return self


class PublicTwin(BaseModel):
    """Public records with the same columns as the private table, of other people: which file, and why it is public."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="of the file, as `sha256sum FILE` prints it")]
    source: Annotated[str, Field(min_length=1, max_length=1000, description="why the records are public")]


def how_to_declare(column: NumericColumn | CategoryColumn) -> str:
    """Return what a column lacks, and how to declare it, as the end of a sentence."""
    if isinstance(column, CategoryColumn):
        return "levels. Declare them, such as `levels: [a, b]`, with their `source`; never read them from the rows."
    if column.bounds == "private":
        return (
            "bounds: private ones are estimated by the selection of variables, not here. Declare `lower` and `upper` "
            "with their `source`, such as an earlier release that estimated them."
        )
    return (
        "bounds. Declare them, such as `lower: 0, upper: 30`, with their `source`, from a code book or from "
        "subject knowledge; never read them from the rows."
    )


def half_width(column: NumericColumn) -> tuple[float, float]:
    """Return the center and the half width of a declared column, in its unit; the half width is positive and finite."""
    if column.lower is None or column.upper is None:
        raise MetadataError(f"A numeric column must have public {how_to_declare(column)}")
    half = column.upper / 2 - column.lower / 2
    center = column.lower / 2 + column.upper / 2
    if not (math.isfinite(half) and half > 0):
        raise MetadataError("The half width of a column must be positive and finite. Declare other bounds.")
    return center, half
