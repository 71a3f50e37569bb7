"""A service's problems (RFC 9457) as the errors that the service raised."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.errors import (
    BudgetError,
    BudgetExceededError,
    ConflictError,
    DataMismatchError,
    DiscreetError,
    ForbiddenError,
    InvalidParameterError,
    MetadataError,
    NotFoundError,
    NotSignedInError,
    PolicyError,
    ServiceError,
    TooManyRequestsError,
    UnreachableError,
    VerificationError,
)

KINDS: dict[str, type[DiscreetError]] = {
    "not-signed-in": NotSignedInError,
    "forbidden": ForbiddenError,
    "policy": PolicyError,
    "not-found": NotFoundError,
    "budget": BudgetError,
    "budget-exceeded": BudgetError,
    "conflict": ConflictError,
    "data-mismatch": DataMismatchError,
    "verification": VerificationError,
    "invalid-parameter": InvalidParameterError,
    "invalid-request": InvalidParameterError,
    "metadata": MetadataError,
    "too-large": InvalidParameterError,
    "not-ready": UnreachableError,
    "too-many-requests": TooManyRequestsError,
}
"""The error of each kind of problem."""

PREFIX = "urn:discreet:problem:"
MOST_TEXT = 2000


def error_of(value: Any, status: int) -> DiscreetError:
    """Return the error that a service answered with, in the service's own text."""
    if not isinstance(value, Mapping) or not isinstance(value.get("detail"), str):
        return ServiceError(f"A service must say what is wrong, but it answered {status} without. Ask who runs it.")
    kind = str(value.get("type", "")).removeprefix(PREFIX)
    text = _text(value)
    if kind == "budget-exceeded" and {"requested", "remaining"} <= value.keys():
        return BudgetExceededError(text, _amount(value["requested"]), _amount(value["remaining"]))
    return KINDS.get(kind, ServiceError)(text)


def _text(value: Mapping[str, Any]) -> str:
    """Return the service's text, with the fields that were wrong."""
    errors = value.get("errors")
    places = [place for place in errors if isinstance(place, Mapping)] if isinstance(errors, list) else []
    details = "; ".join(f"{place.get('place')}: {place.get('problem')}" for place in places[:5])
    return (str(value["detail"]) + (f" ({details})" if details else ""))[:MOST_TEXT]


def _amount(value: Any) -> Fraction:
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        return Fraction(0)
