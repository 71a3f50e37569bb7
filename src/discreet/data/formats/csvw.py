"""Metadata from and to CSVW-EO, earlier named CSVW-SAFE and CSVW-DP, as the Lomas service keeps them."""

import re
from typing import Any, Unpack

from discreet.data.formats.draft import (
    Converted,
    Declared,
    Draft,
    Overrides,
    boolean,
    choose,
    without_none,
)
from discreet.data.formats.outward import plain_number, refuse_features
from discreet.data.metadata import SCHEMA, CategoryColumn, Metadata, NumericColumn

OURS = "discreet:"
"""Prefix of the keys that hold what CSVW-EO has no word for."""

_UNSIGNED = ("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte")
_SIGNED = ("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger")
_INTEGERS = frozenset(("integer", "long", "int", "short", "byte", *_UNSIGNED, *_SIGNED))
_REALS = frozenset(("decimal", "double", "float", "number"))
_STRINGS = frozenset(("string", "normalizedString", "token"))


def from_csvw(value: Any, *, table: str | None = None, **overrides: Unpack[Overrides]) -> Converted:
    """Return the metadata that a CSVW-EO document holds."""
    draft = Draft("CSVW-EO")
    body = _table(draft, draft.mapping(value, "the document"), table)
    draft.ours = f"{OURS}schema" in body
    schema = draft.mapping(_get(draft, "tableSchema", body), "tableSchema")
    columns = _get(draft, "columns", schema)
    if not isinstance(columns, list):
        raise draft.refusal("tableSchema.columns", "be a list of columns")
    privacy_unit = _get(draft, "privacyUnit", body, schema)
    draft.unit_id = None if privacy_unit == "" else privacy_unit
    draft.rows_per_unit = _get(draft, "maxContributions", body, schema)
    lengths = [_get(draft, key, body, schema) for key in ("publicLength", "tableLength", "length")]
    draft.n_rows = next((length for length in lengths if length is not None), None)
    draft.table = re.split(r"[/\\]", str(_get(draft, "url", body) or ""))[-1].split(".")[0]
    for key in ("unit", "neighboring", "dataset", "description"):
        setattr(draft, key, body.get(OURS + key))
    for position, entry in enumerate(columns, start=1):
        column = draft.mapping(entry, f"column {position}")
        name = _name(draft, column, position)
        is_id = name == draft.unit_id or _get(draft, "privacyId", column) is True
        declared = None if is_id else _column(draft, name, column)
        draft.add(name, declared, is_id=is_id)
    return draft.settle(**overrides)


def to_csvw(metadata: Metadata) -> dict[str, Any]:
    """Return metadata as a CSVW-EO document.

    A document for JSON. What CSVW-EO cannot hold stands under ``discreet:`` keys, which its tools ignore and
    `from_csvw` reads back: the round trip is exact.

    Examples
    --------
    >>> metadata = Metadata.model_validate({
    ...     "dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 9,
    ...     "columns": {"age": {"type": "integer", "lower": 0, "upper": 110, "source": "by definition"}}})
    >>> from_csvw(to_csvw(metadata)).metadata == metadata
    True
    """
    refuse_features(metadata, "CSVW-EO")
    columns = [_to_column(name, column) for name, column in metadata.columns.items()]
    if metadata.unit_id is not None:
        unit = {"@type": "Column", "name": metadata.unit_id, "datatype": "string", "privacyId": True}
        columns.insert(0, unit)
    document = {
        "@context": ["http://www.w3.org/ns/csvw", "csvw-eo-context.jsonld"],
        "@type": "Table",
        "privacyUnit": metadata.unit_id,
        "maxContributions": metadata.rows_per_unit,
        "maxLength": metadata.n_rows,
        "publicLength": metadata.n_rows,
        f"{OURS}schema": SCHEMA,
        f"{OURS}dataset": metadata.dataset,
        f"{OURS}unit": metadata.unit,
        f"{OURS}neighboring": metadata.neighboring.value,
        f"{OURS}description": metadata.description,
        "tableSchema": {"columns": columns},
    }
    return without_none(document)


def local_name(key: Any) -> str:
    """Return a key without its prefix.

    The last part of its name.

    Examples
    --------
    >>> local_name("csvw-safe:bounds.maxContributions")
    'maxContributions'
    """
    return re.split(r"[:#./]", str(key))[-1]


def _get(draft: Draft, name: str, *places: dict[str, Any]) -> Any:
    """Return the value under a name, whatever its prefix, from the first place that has it."""
    for place in places:
        keys = [key for key in place if local_name(key) == name and not key.startswith(OURS)]
        values = [place[key] for key in keys if place[key] is not None]
        if any(value != values[0] for value in values):
            raise draft.refusal(repr(name), "be given once")
        if values:
            return values[0]
    return None


def _table(draft: Draft, document: dict[str, Any], requested: str | None) -> dict[str, Any]:
    tables = _get(draft, "tables", document)
    if tables is None:
        return document
    if not isinstance(tables, list):
        raise draft.refusal("tables", "be a list of tables")
    named = {}
    for position, entry in enumerate(tables, start=1):
        table = draft.mapping(entry, f"table {position}")
        name = _get(draft, "url", table) or _get(draft, "name", table) or f"table {position}"
        named[str(name)] = table
    if len(named) < len(tables):
        raise draft.refusal("tables", "differ in their `url`")
    return named[choose(draft, list(named), requested)]


def _name(draft: Draft, column: dict[str, Any], position: int) -> str:
    name = _get(draft, "name", column)
    if name is None:
        titles = _get(draft, "titles", column)
        name = titles[0] if isinstance(titles, list) and titles else titles
    if not isinstance(name, str):
        raise draft.refusal(f"the name of column {position}", "be text")
    return name


def _column(draft: Draft, name: str, column: dict[str, Any]) -> Declared | None:
    datatype = _get(draft, "datatype", column) or "string"
    facets = draft.mapping(datatype, "a datatype") if isinstance(datatype, dict) else {"base": datatype}
    kind = local_name(facets.get("base", "string"))
    lower, upper = _get(draft, "minimum", column, facets), _get(draft, "maximum", column, facets)
    levels = _levels(draft, column)
    if kind == "boolean":
        return boolean()
    if kind not in _INTEGERS | _REALS | _STRINGS:
        draft.leave_out(name, kind)
        return None
    if kind in _STRINGS or (levels is not None and lower is None and upper is None):
        declared = draft.category(name, levels)
    else:
        declared = draft.numeric(name, "integer" if kind in _INTEGERS else "real", lower, upper)
    if draft.ours:
        own_fields = {key.removeprefix(OURS): value for key, value in column.items() if key.startswith(OURS)}
        declared = {**declared, "source": None, **own_fields}
    return declared


def _levels(draft: Draft, column: dict[str, Any]) -> Any:
    """Return the public values of a column, from whichever of the formats' names they stand under."""
    for key in ("keyValues", "keys", "publicPartitions", "partitions"):
        values = _get(draft, key, column)
        if isinstance(values, list) and any(isinstance(value, dict) for value in values):
            values = _partition_values(draft, key, values)
        if values is not None:
            return values
    return None


def _partition_values(draft: Draft, key: str, partitions: list[Any]) -> list[Any] | None:
    """Return the value of each partition; None when they are intervals."""
    parts = [draft.mapping(part, f"each of {key}") for part in partitions]
    predicates = [draft.mapping(_get(draft, "predicate", part) or part, f"each of {key}") for part in parts]
    if not all(any(local_name(name) == "partitionValue" for name in predicate) for predicate in predicates):
        return None
    return [_get(draft, "partitionValue", predicate) for predicate in predicates]


def _to_column(name: str, column: NumericColumn | CategoryColumn) -> dict[str, Any]:
    declared: dict[str, Any] = {"@type": "Column", "name": name, "datatype": "string", "required": False}
    if isinstance(column, CategoryColumn):
        declared["keyValues"] = None if column.levels is None else list(column.levels)
    else:
        declared["datatype"] = "double" if column.type == "real" else "integer"
        declared["minimum"] = plain_number(column, column.lower)
        declared["maximum"] = plain_number(column, column.upper)
    rest = column.model_dump(mode="json", exclude_defaults=True, exclude={"type", "lower", "upper", "levels"})
    return without_none(declared) | {OURS + key: value for key, value in rest.items()}
