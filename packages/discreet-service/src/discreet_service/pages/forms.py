"""The fields of a page's form, validated by the models of the API."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile

from discreet.digits import plain
from discreet.errors import InvalidParameterError

M = TypeVar("M", bound=BaseModel)

_MOST_FIELDS = 2000
_MESSAGES = {
    "string_pattern_mismatch": "letters, digits and . _ @ - alone, a letter or digit first",
    "missing": "it is needed",
    "string_too_short": "it is too short",
    "string_too_long": "it is too long",
    "float_parsing": "it must be a number",
    "int_parsing": "it must be a whole number",
    "finite_number": "it must be a finite number",
}
_LIMITS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}


@dataclass(frozen=True)
class Form:
    """The fields of a form by name; a field may have several values."""

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __contains__(self, name: object) -> bool:
        """Tell whether a field was sent."""
        return name in self.values

    def get(self, name: str, default: str = "") -> str:
        """Return a field without blanks around it."""
        texts = self.values.get(name)
        return texts[-1].strip() if texts else default

    def every(self, name: str) -> list[str]:
        """Return all values of a field, such as boxes that were ticked, in their order."""
        return list(self.values.get(name, ()))


async def read_form(request: Request) -> Form:
    """Return the fields of a form; files are texts, and lines end in a line feed."""
    values: dict[str, tuple[str, ...]] = {}
    async with request.form(max_fields=_MOST_FIELDS) as fields:
        for name, value in fields.multi_items():
            text = await _text(value) if isinstance(value, UploadFile) else value
            values[name] = (*values.get(name, ()), _plain(text.replace("\r\n", "\n")))
    return Form(values)


def _plain(text: str) -> str:
    if "\0" in text:  # not every database can keep one
        raise InvalidParameterError("A form must hold text, but one of its fields has a NUL in it. Leave it out.")
    return text


async def _text(file: UploadFile) -> str:
    try:
        return (await file.read()).decode()
    except UnicodeDecodeError:
        raise InvalidParameterError("A file must be text in UTF-8, but this one is not. Save it as such.") from None


def query_form(request: Request) -> Form:
    """Return the query of a page's address as a form."""
    values: dict[str, tuple[str, ...]] = {}
    for name, value in request.query_params.multi_items():
        values[name] = (*values.get(name, ()), _plain(value))
    return Form(values)


def validated(model: type[M], **values: Any) -> M:
    """Return a form's values as the API's model, or refuse them in one line."""
    try:
        return model.model_validate({name: value for name, value in values.items() if value not in (None, "")})
    except ValidationError as error:
        problems = "; ".join(
            dict.fromkeys(f"{_place(detail['loc'])}: {_problem(detail)}" for detail in error.errors()[:5])
        )
        raise InvalidParameterError(f"The form cannot be used yet. {problems}. Correct it and send it again.") from None


def _place(loc: tuple[int | str, ...]) -> str:
    named = [str(part) for part in loc if not isinstance(part, int)]
    return " of ".join(reversed(named)) or "it"


def _problem(error: Any) -> str:
    text = str(_MESSAGES.get(error["type"], error["msg"]))
    if error["type"] == "string_pattern_mismatch" and error["ctx"]["pattern"].startswith("^[^"):
        return "it must hold no control characters, nor such as turn a text's direction"
    if error["type"] in _LIMITS:
        words, name = _LIMITS[error["type"]]
        return f"it must be {words} {plain(float(error['ctx'][name]), 9)}"
    limit = re.search(r"at (?:least|most) \d+ character", str(error["msg"]))
    return f"it must have {limit[0]}s" if limit else text[:1].lower() + text[1:]
