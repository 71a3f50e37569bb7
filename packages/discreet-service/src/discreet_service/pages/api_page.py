"""The API in words: a page made from the OpenAPI description, without any script."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Response

from discreet.digits import plain
from discreet_service.access.roles import EVERYONE
from discreet_service.pages.visit import Visit, signed_in

router = APIRouter()

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True)
class Field:
    """A parameter of a call, or a field of a body."""

    name: str
    kind: str
    is_needed: bool
    text: str


@dataclass(frozen=True)
class Call:
    """One method of one path."""

    method: str
    path: str
    id: str
    title: str
    text: str
    parameters: tuple[Field, ...]
    body: str | None  # name of its schema
    answers: tuple[tuple[str, str, str | None], ...]  # status, meaning, name of a schema


@router.get("/api")
def show_api(visit: Annotated[Visit, signed_in(*EVERYONE)]) -> Response:
    """Show all calls of the API and the bodies that they take and give."""
    description = visit.request.app.openapi()
    groups: dict[str, list[Call]] = {}
    for tag, call in _calls(description):
        groups.setdefault(tag, []).append(call)
    schemas = {name: (schema, _fields(schema)) for name, schema in sorted(description["components"]["schemas"].items())}
    return visit.page("api", groups=groups, schemas=schemas, version=description["info"]["version"])


def _calls(description: dict[str, Any]) -> Iterator[tuple[str, Call]]:
    for path, methods in description["paths"].items():
        for method, call in methods.items():
            if method not in METHODS:
                continue
            answers = tuple(
                (status, answer["description"], _schema_name(_content(answer)))
                for status, answer in sorted(call["responses"].items())
                if status < "400"
            )
            parameters = tuple(
                Field(each["name"], _kind(each["schema"]), each.get("required", False), _text(each))
                for each in call.get("parameters", ())
            )
            yield (
                (call.get("tags") or ["other"])[0],
                Call(
                    method.upper(),
                    path,
                    call["operationId"],
                    call["summary"],
                    call.get("description", ""),
                    parameters,
                    _schema_name(_content(call.get("requestBody", {}))),
                    answers,
                ),
            )


def _content(part: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a body; empty where there is none."""
    contents = list(part.get("content", {}).values())
    schema: dict[str, Any] = contents[0].get("schema", {}) if contents else {}
    return schema


def _schema_name(schema: dict[str, Any]) -> str | None:
    reference = schema.get("$ref") or schema.get("items", {}).get("$ref")
    return None if reference is None else str(reference).rpartition("/")[2]


def _fields(schema: dict[str, Any]) -> tuple[Field, ...]:
    needed = schema.get("required", ())
    return tuple(
        Field(name, _kind(field), name in needed, _text(field)) for name, field in schema.get("properties", {}).items()
    )


def _text(field: dict[str, Any]) -> str:
    return str(field.get("description", ""))


def _kind(schema: dict[str, Any]) -> str:
    """Return the type of a value in words, with its limits."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(each) for each in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    limits = [
        f"{words} {plain(schema[key], 12)}"
        for key, words in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "below"),
        )
        if isinstance(schema.get(key), int | float)
    ]
    name = {"null": "none", "string": "text", "object": "object"}.get(
        str(schema.get("type")), schema.get("type", "any")
    )
    return ", ".join([str(name), *limits])
