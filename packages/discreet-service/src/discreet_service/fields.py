"""What a field of a body may hold: names, texts, amounts and free-form parts."""

import json
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue

from discreet.accounting.guarantee import MAX_EPSILON, MIN_EPSILON

MOST_TEXT = 65_536
"""The most characters of JSON in a free-form part of a body; names of columns do not count."""


def plain(value: JsonValue) -> JsonValue:
    """Refuse what no digest, ledger or database can hold as it is: NaN, infinity, NUL, half characters."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (ValueError, RecursionError):
        raise ValueError("must be finite, of whole characters and not nested deeply") from None
    if "\\u0000" in text:
        raise ValueError("must have no NUL")
    return value


def _short(value: JsonValue) -> JsonValue:
    """Refuse what would fill the ledger and every list."""
    if len(json.dumps(value)) > MOST_TEXT:
        raise ValueError(f"must have at most {MOST_TEXT} characters as JSON")
    return value


_CONTROL_CHARACTERS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069"
"""Characters that control terminals and databases, or the direction of a text."""

FreeForm = Annotated[dict[str, JsonValue], AfterValidator(plain), AfterValidator(_short)]
"""Parameters and the like, whose names and meanings belong to a method."""


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$")]
"""The name of an account, project or data set: of no meaning to pages, paths and spreadsheets."""
Column = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Line = Annotated[str, Field(max_length=200, pattern=rf"^[^\t\n\r{_CONTROL_CHARACTERS}]*$")]
Prose = Annotated[str, Field(max_length=1000, pattern=rf"^[^{_CONTROL_CHARACTERS}]*$")]
Amount = Annotated[float, Field(ge=float(MIN_EPSILON), le=MAX_EPSILON, allow_inf_nan=False, description="nats")]
Cap = Annotated[float, Field(ge=0, le=MAX_EPSILON, allow_inf_nan=False, description="nats; 0 closes")]
Delta = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
State = Literal["waiting", "approved", "running", "released", "failed", "rejected", "withdrawn"]
MethodName = Literal[
    "pcls", "pcpl", "moments", "sis", "two-stage", "linear", "logistic", "poisson", "run", "hybrid", "public-subset",
    "histogram", "decorrelated",
]  # fmt: skip


Id = Annotated[str, Field(pattern=r"^[a-z2-7]{8,32}$")]
"""The id of a request or key, as `workflow.token` makes it."""
