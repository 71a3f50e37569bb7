"""The form in which a command prints its table: text for people, CSV for spreadsheets, JSON for programs."""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from discreet.cli.console import as_json, result
from discreet.errors import InvalidParameterError


class Form(StrEnum):
    """What is printed on standard output."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


Format = Annotated[
    Form | None,
    typer.Option("--format", help="Form of the result: table (the default), csv or json. --json is the same as json."),
]


def form_of(format_: Form | None, is_json: bool) -> Form:
    """Return the form that was asked for, by either option."""
    if is_json and format_ not in (None, Form.JSON):
        raise InvalidParameterError(
            f"A result has one form, but both --json and --format {format_} are given. Drop one."
        )
    return Form.JSON if is_json else format_ or Form.TABLE


def as_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print records as CSV, a line each; what is nested has a column for each part, its name joined by dots."""
    from discreet.report.tidy import table_csv  # loads slowly, and help must not wait for it

    flat = [_flat(row) for row in rows]
    head = list(dict.fromkeys(name for row in flat for name in row))
    result(table_csv(head, ([row.get(name) for name in head] for row in flat)))


def is_for_programs(
    schema: str, name: str, rows: Sequence[Mapping[str, Any]], format_: Form | None, is_json: bool
) -> bool:
    """Print a list of records as JSON or CSV where that was asked for, and tell whether it was."""
    form = form_of(format_, is_json)
    if form is Form.CSV:
        as_csv(rows)
    elif form is Form.JSON:
        as_json(schema, **{name: rows})
    return form is not Form.TABLE


def _flat(value: Mapping[str, Any], start: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, part in value.items():
        if isinstance(part, Mapping):
            flat |= _flat(part, f"{start}{name}.")
        elif isinstance(part, str | int | float | None):
            flat[start + name] = part
        else:
            flat[start + name] = json.dumps(part, ensure_ascii=False, default=str)
    return flat
