"""What keeps a text from being metadata, in plain words: all of it at once, with what was probably meant."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from discreet.data.columns import CategoryColumn, Features, Long, NumericColumn, PublicTwin
from discreet.errors import MetadataError

TYPES = ("integer", "real", "category")
MOST_COMPARED = 1000
"""Names among which one that was meant is looked for."""
_OWN_WORDS = {
    "missing": "must be given",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "string_type": "must be a text",
    "dict_type": "must be a mapping",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
}
_LIMITS = {
    "greater_than_equal": "at least",
    "less_than_equal": "at most",
    "greater_than": "more than",
    "less_than": "less than",
}
_TIMES = ("date", "datetime", "time", "timestamp")
_OF_TIMES = ". Store a date as a number, such as days since a day that you choose, and declare that"
_PARTS = {
    "columns": (NumericColumn, CategoryColumn),
    "features": (Features,),
    "layout": (Long,),
    "public": (PublicTwin,),
}


@dataclass(frozen=True)
class Problem:
    """One thing that must be corrected.

    Parameters
    ----------
    path : tuple of str
        Where in the metadata.
    message : str
        What must hold and what was found, as the end of a sentence.
    """

    path: tuple[str, ...]
    message: str

    @property
    def place(self) -> str:
        """The path as text that is safe to print."""
        path = ".".join(self.path) or "metadata"
        return "".join(char if char.isprintable() else repr(char)[1:-1] for char in path)


class InvalidMetadataError(MetadataError):
    """Metadata of another shape than the schema's; all problems are known."""

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        first, n_more = self.problems[0], len(self.problems) - 1
        more = f" ({n_more} more problem{'s' if n_more > 1 else ''})" if n_more else ""
        file = shlex.quote(name) if Path(name).suffix else "FILE"
        super().__init__(
            f"{name}: {first.place}: {first.message}{more}. `discreet metadata check {file}` lists all problems."
        )


def problems(error: ValidationError, keys: Sequence[str]) -> list[Problem]:
    """Return what is wrong, in the order of the schema; `keys` are those of the whole."""
    details = [_problem(detail, keys) for detail in error.errors()]
    meant = {(*problem.path[:-1], near) for problem, near in details if near}
    return [
        problem for problem, _ in details if not (problem.path in meant and problem.message == _OWN_WORDS["missing"])
    ]


def _problem(detail: Any, keys: Sequence[str]) -> tuple[Problem, str]:
    """A problem, and the key that was probably meant by an unknown one."""
    path = tuple(str(step) for step in detail["loc"] if step not in TYPES)
    kind, value = detail["type"], detail.get("input")
    value_shown = f", but it is {value!r}" if isinstance(value, str | int | float) and len(repr(value)) < 60 else ""
    if kind == "extra_forbidden":
        near = _near(path[-1], _allowed_keys(detail["loc"], keys))
        of = f" of a column of type {detail['loc'][-2]}" if detail["loc"][-2:-1] and detail["loc"][-2] in TYPES else ""
        return Problem(path, f"is not a known key{of}{_meant(near)}"), near
    if kind == "union_tag_invalid":
        tag = str(detail["ctx"]["tag"])[:60]
        hint = _OF_TIMES if tag in _TIMES else _meant(_near(tag, TYPES))
        message = f"must be integer, real or category, but it is {tag!r}{hint}"
        return Problem((*path, "type"), message), ""
    if kind == "union_tag_not_found":
        return Problem((*path, "type"), "must be given: integer, real or category"), ""
    if kind in _OWN_WORDS:
        return Problem(path, _OWN_WORDS[kind] + ("" if kind == "missing" else value_shown)), ""
    if kind in _LIMITS:
        return Problem(path, f"must be {_LIMITS[kind]} {next(iter(detail['ctx'].values()))}{value_shown}"), ""
    if kind == "invalid_key":
        return Problem(path, "is not a known key: write a decimal with a point, such as 0.5"), ""
    message = detail["msg"].removeprefix("Value error, ")
    if kind in ("enum", "literal_error") and isinstance(value, str):
        allowed = str(detail.get("ctx", {}).get("expected", "")).replace("'", "").replace(" or ", ", ").split(", ")
        return Problem(path, f"must be {' or '.join(allowed)}{value_shown}{_meant(_near(value, allowed))}"), ""
    input_shown = f", found {value!r}" if value_shown else ""
    return Problem(path, f"{message}{input_shown}"), ""


def _allowed_keys(path: Sequence[Any], keys: Sequence[str]) -> list[str]:
    models = _PARTS.get(str(path[0]), ()) if len(path) > 1 else ()
    if len(models) > 1 and path[-2] in TYPES:
        models = (CategoryColumn,) if path[-2] == "category" else (NumericColumn,)
    return [name for model in models for name in model.model_fields] or list(keys)


def _near(name: str, allowed: Sequence[str]) -> str:
    return next(iter(get_close_matches(name[:60], allowed, 1)), "")


def did_you_mean(name: str, allowed: Sequence[str]) -> str:
    """Return a question for a name that is unknown but near a known one; nothing where none is near."""
    near = _near(name, allowed[:MOST_COMPARED])
    return f"Did you mean {near}? " if near else ""


def _meant(near: str) -> str:
    return f". Did you mean {near}?" if near else ""
