"""The range of every real number that a request may give, stated once: for errors, schemas, forms and help.

All computations are tested at both ends. A number beyond them is refused before anything is charged.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, core_schema

from discreet.accounting.guarantee import MAX_EPSILON, MIN_EPSILON


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
        return f"{'be 0 or ' if self.or_zero else ''}lie in [{self.low:.12g}, {self.high:.12g}]"

    def __call__(self, value: float, info: ValidationInfo) -> float:
        """Return a number within the range, or refuse it."""
        if self.low <= value <= self.high or (self.or_zero and value == 0):
            return value
        raise ValueError(f"{info.field_name} must {self}, but {info.field_name}={value:.12g}.")

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), **self.json_schema()}

    def json_schema(self) -> dict[str, Any]:
        """Return the range as JSON Schema, without a type."""
        ends = {"minimum": self.low, "maximum": self.high}
        return {"anyOf": [{"const": 0}, ends]} if self.or_zero else ends


_SIZE = Between(1e-100, 1e100)
"""As large as bounds of columns may be: squares, times the most rows, are finite and normal floats."""
_SHARE = Between(1e-6, 1 - 1e-6)

RANGES = {
    "epsilon": Between(float(MIN_EPSILON), MAX_EPSILON),
    "delta": Between(1e-300, 1 - 1e-9, or_zero=True),
    "l1_radius": _SIZE,
    "l1_grid": _SIZE,
    "y_bound": _SIZE,
    "y_center": Between(-1e100, 1e100),
    "y_quantile": _SHARE,
    "model_penalty": Between(1e-12, 1e220, or_zero=True),
    "rss_guess": Between(1e-200, 1e220),
    "variance_floor": Between(1e-220, 1e220),
    "shares": _SHARE,
    "row_norm": Between(1e-3, 1e6),
    "confidence": Between(1e-6, 1 - 1e-9),
    "gamma": Between(1e-6, 1.0, or_zero=True),
    "expected_score": Between(1e-9, 1e18),
    "codes": Between(-1e100, 1e100),
    "alpha": Between(1e-9, 1e9),
    "quantile": _SHARE,
    "huber_delta": _SIZE,
    "ridge": Between(1e-12, 1e6, or_zero=True),
    "ridges": Between(1e-12, 1e6, or_zero=True),
    "log_clip": Between(1e-9, 0.499),
    "sensitivity": _SIZE,
}
"""By parameter: one that several methods have means the same in each, in the units that the method names."""


def ranges_as_schema() -> dict[str, Any]:
    """Return the ranges of numbers as JSON Schema, by parameter; those of a mapping or a list are of its members."""
    members = {"shares": "additionalProperties", "codes": "additionalProperties", "l1_grid": "items", "ridges": "items"}
    return {
        name: {members[name]: between.json_schema()} if name in members else between.json_schema()
        for name, between in RANGES.items()
    }


def check_share(name: str, share: float) -> None:
    """Refuse a share of epsilon that is out of range."""
    if not _SHARE.low <= share <= _SHARE.high:
        raise ValueError(f"shares must {_SHARE}, but that of {name} is {share:.12g}.")


Epsilon = Annotated[float, RANGES["epsilon"]]
Delta = Annotated[float, RANGES["delta"]]
