"""Metadata checked, and converted between formats."""

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.formats.convert import (
    Converted,
    detect,
    from_csvw,
    from_smartnoise,
    read_any,
    to_csvw,
    to_smartnoise,
)
from discreet.data.header import may_be_row
from discreet.data.lint import Finding, lint
from discreet.data.metadata import Metadata
from discreet.data.metadata_problems import InvalidMetadataError, Problem
from discreet.data.skeleton import skeleton
from discreet.data.yaml_text import lines_of, parse_text, yaml_text
from discreet.errors import InvalidParameterError
from discreet.files import read_text


def check_metadata(path: str | Path) -> tuple[Metadata | None, Sequence[Finding]]:
    """Read metadata and list what is missing or looks wrong, with the lines of the file.

    The metadata and the findings; an error among them keeps a column from being used. None where the schema is not
    followed: then the findings are all that keeps it from being so.
    """
    try:
        converted = read_any(path)
    except InvalidMetadataError as error:
        lines = lines_of(read_text(path, "metadata"))
        findings = [_finding(problem, lines) for problem in error.problems]
        return None, sorted(findings, key=lambda finding: finding.line or 0)
    places = {".".join(keys): line for keys, line in lines_of(read_text(path, "metadata")).items()}
    findings = [*converted.findings, *lint(converted.metadata)]
    return converted.metadata, [replace(each, line=places.get(each.place)) for each in findings]


def check_metadata_text(text: str) -> tuple[Metadata | None, Sequence[Finding]]:
    """Do what `check_metadata` does, for a text; a file that it names is not opened."""
    value = parse_text(text, "the text")
    lines = lines_of(text)
    try:
        kind = detect(value)
        if kind == "discreet":
            converted = Converted(Metadata.from_value(value, "the text"))
        else:
            converted = (from_csvw if kind == "csvw" else from_smartnoise)(value)
    except InvalidMetadataError as error:
        problems = [_finding(problem, lines) for problem in error.problems]
        return None, sorted(problems, key=lambda finding: finding.line or 0)
    places = {".".join(keys): line for keys, line in lines.items()}
    findings = [*converted.findings, *lint(converted.metadata)]
    return converted.metadata, [replace(each, line=places.get(each.place)) for each in findings]


def metadata_of_header(text: str, *, dataset: str, unit: str, n_rows: int | None = None) -> str:
    """Write a metadata skeleton from a pasted header: one line of names, or a name and its type on each line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1:
        delimiter = max(",;\t|", key=lines[0].count)
        names = next(csv.reader([lines[0]], delimiter=delimiter), [])
        header, is_typed = [(name.strip(), "VARCHAR") for name in names], False
    else:
        pairs = [re.split(r"[\s:,]+", line.rstrip(","), maxsplit=1) for line in lines]
        header, is_typed = [(pair[0].strip('"'), pair[-1]) for pair in pairs if len(pair) == 2], True
        if len(header) < len(lines) or any(re.match(r"[\d.,;-]", storage) for _, storage in header):
            raise InvalidParameterError(
                "Each line must hold a column and its type, such as `age INTEGER`, but one does not. Paste the first "
                "line of the table alone, or names with types. Never paste rows."
            )
    if not header or (not is_typed and may_be_row([name for name, _ in header])):
        raise InvalidParameterError(
            "The line must name the table's columns, but it may be a person's row: a cell is empty, repeats, or looks "
            "like a value. Paste the line of names."
        )
    neighboring = "add_or_remove_one" if n_rows is None else "replace_one"
    return skeleton(header, dataset=dataset, unit=unit, neighboring=neighboring, n_rows=n_rows, typed=is_typed)


def _finding(problem: Problem, lines: Mapping[tuple[str, ...], int]) -> Finding:
    """A problem as a finding, at the line of the nearest key that is there."""
    path = problem.path
    while path and path not in lines:
        path = path[:-1]
    return Finding(
        "error", problem.place, problem.message + ("" if problem.message.endswith("?") else "."), lines.get(path)
    )


def derived_columns(metadata: Metadata) -> dict[str, dict[str, Any]]:
    """Return expression and bounds of each derived column, as they are in the metadata or follow from them."""
    facts = {name: metadata.columns[name].model_dump() for name in metadata.derived}
    return {name: {key: column[key] for key in ("derived", "lower", "upper")} for name, column in facts.items()}


def convert_metadata(path: str | Path, to: str, **overrides: Any) -> tuple[str, Sequence[Finding]]:
    """Convert metadata between formats.

    The text in the other format, and what was lost or should be looked at.
    """
    converted = read_any(path, **{key: value for key, value in overrides.items() if value is not None})
    if to == "discreet":
        return converted.metadata.to_yaml(), converted.findings
    if to == "csvw":
        return json.dumps(to_csvw(converted.metadata), indent=2, ensure_ascii=False) + "\n", converted.findings
    if to == "smartnoise":
        value = to_smartnoise(converted.metadata)
        return yaml_text(value), converted.findings
    raise InvalidParameterError(
        f"The format must be discreet, csvw or smartnoise, but it is {to[:40]!r}. Choose one of them."
    )


def metadata_schema() -> str:
    """Return the JSON Schema of metadata, as text: what an editor completes and checks.

    What pydantic cannot say of the model in it, a condition between fields, stands under `allOf`.
    """
    schema = Metadata.model_json_schema(by_alias=True)
    level: dict[str, Any] = {"type": ["string", "number", "boolean"]}
    category = schema["$defs"]["CategoryColumn"]["properties"]
    for name in ("unknown", "reference"):
        category[name]["anyOf"][0] = level  # a level is compared as text, and may be written as a number
    category["levels"]["anyOf"][0]["items"] = level
    number = {"type": "integer"}
    is_public = {"properties": {"neighboring": {"const": NeighboringRelation.REPLACE_ONE.value}}}
    public = {"anyOf": [{"required": [name], "properties": {name: number}} for name in ("n_rows", "n_units")]}
    private = {"properties": {name: {"type": "null"} for name in ("n_rows", "n_units")}}
    schema["allOf"] = [{"if": is_public, "then": public, "else": private}]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "discreet/metadata@1"}
    return json.dumps({**schema, **head}, indent=2, ensure_ascii=False) + "\n"
