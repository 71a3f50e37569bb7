"""Ranges of numbers: for errors, schemas, forms and help.

All computations are tested at both ends. A number beyond them is refused before anything is charged.
"""

from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, core_schema

from discreet.digits import plain

REMEDIES = {
    "epsilon": "Common choices are 0.1 to 3.",
    "delta": "Common choices are far below one over the number of people, such as 0.000001.",
}
"""What to do about a parameter out of range, beyond choosing another value."""


NEARLY_ZERO, VAST = 1e-30, 1e30
"""Ends beyond these are there for the computer alone: a range is said to begin above 0, or to have no end."""

SMALL = 1e-9
"""A range that begins below this, and holds 0 too, is said to begin at 0."""


@dataclass(frozen=True)
class Between:
    """A closed range of numbers, as an annotation of a field.

    Parameters
    ----------
    low, high : float
        Its ends.
    or_zero : bool
        Whether 0 is allowed too.
    """

    low: float
    high: float
    or_zero: bool = False

    def __str__(self) -> str:
        """Return the range in words."""
        return f"{'be 0 or ' if self.or_zero else ''}lie in [{plain(self.low, 12)}, {plain(self.high, 12)}]"

    def for_people(self, value: float) -> str:
        """Return the range in words, its ends for the computer alone only where the value is beyond them."""
        is_small, is_large = self.low < NEARLY_ZERO, self.high > VAST
        if (is_small and 0 < value < self.low) or (is_large and value > self.high):
            return str(self)
        if is_large and self.or_zero and self.low < SMALL:
            return str(self) if 0 < value < self.low else "be at least 0"
        if is_large:
            return "be above 0" if is_small else f"be {'0 or ' if self.or_zero else ''}at least {plain(self.low, 12)}"
        if is_small:
            return f"lie in {'[' if self.or_zero else '('}0, {plain(self.high, 12)}]"
        return str(self)

    def __call__(self, value: float, info: ValidationInfo) -> float:
        """Return a number within the range, or refuse it."""
        if self.low <= value <= self.high or (self.or_zero and value == 0):
            return value
        remedy = REMEDIES.get(str(info.field_name), "Choose a value in that range.")
        raise ValueError(
            f"{info.field_name} must {self.for_people(value)}, but {info.field_name}={plain(value, 12)}. {remedy}"
        )

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), **self.json_schema()}

    def json_schema(self) -> dict[str, Any]:
        """Return the range as JSON Schema, without a type."""
        ends = {"minimum": self.low, "maximum": self.high}
        return {"anyOf": [{"const": 0}, ends]} if self.or_zero else ends


SIZE = Between(1e-100, 1e100)
"""As large as bounds of columns may be: squares, times the most rows, are finite and normal floats."""

MAX_ROWS = 2**33 - 1
"""The cap below which integer moments on the 15-bit grid cannot overflow (privacy specification 8.1)."""

SHARE = Between(1e-6, 1 - 1e-6)


@dataclass(frozen=True)
class SharesOf:
    """Shares of epsilon for the parts of a request, as an annotation of a mapping.

    Parameters
    ----------
    parts : tuple of str
        Those that may have one.
    """

    parts: tuple[str, ...]

    def __call__(self, value: dict[str, float] | None) -> dict[str, float] | None:
        """Return shares within the range, or refuse them."""
        for name, share in (value or {}).items():
            if name not in self.parts:
                raise ValueError(f"shares must name parts among {', '.join(self.parts)}, not {name[:40]!r}.")
            if not SHARE.low <= share <= SHARE.high:
                raise ValueError(f"shares must {SHARE}, but that of {name} is {plain(share, 12)}.")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self, handler(source))

    def json_schema(self) -> dict[str, Any]:
        """Return the range of a share as JSON Schema."""
        return {"additionalProperties": SHARE.json_schema()}
