"""Metadata from and to SmartNoise SQL."""

from typing import Any, NamedTuple, Unpack

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
from discreet.data.lint import column_place, printable
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn
from discreet.errors import MetadataError

_ROWS = ("rows", "rows_exact", "row_privacy", "max_ids", "sample_max_ids")
_OPTIONS = frozenset((*_ROWS, "clamp_counts", "clamp_columns", "use_dpsu", "censor_dims"))
"""Keys of a table that are not columns."""


class _Table(NamedTuple):
    name: str
    options: dict[str, Any]
    columns: dict[str, dict[str, Any]]


def from_smartnoise(value: Any, *, table: str | None = None, **overrides: Unpack[Overrides]) -> Converted:
    """Return the metadata of a SmartNoise SQL dictionary; an imported source says that it was not checked."""
    draft = Draft("SmartNoise")
    tables = _tables(value)
    chosen = tables[choose(draft, list(tables), table)]
    for name, column in chosen.columns.items():
        is_id = column.get("private_id", False)
        if not isinstance(is_id, bool):
            raise draft.refusal(f"private_id of column {printable(name)!r}", "be true or false")
        draft.add(name, None if is_id else _column(draft, name, column), is_id=is_id)
    if chosen.options.get("row_privacy") and draft.unit_ids:
        draft.warn("unit", "Both `row_privacy` and a `private_id` are given. The latter was taken: it protects more.")
    draft.table = chosen.name
    draft.rows_per_unit = chosen.options.get("max_ids", 1)
    draft.n_rows = chosen.options.get("rows_exact", chosen.options.get("rows"))
    return draft.settle(**overrides)


def to_smartnoise(metadata: Metadata) -> dict[str, Any]:
    """Return metadata as a SmartNoise SQL dictionary, for YAML."""
    refuse_features(metadata, "SmartNoise")
    options: dict[str, Any] = {"row_privacy": metadata.unit_id is None, "max_ids": metadata.rows_per_unit}
    if metadata.n_rows is not None:
        options |= {"rows": metadata.n_rows, "rows_exact": metadata.n_rows}
    columns = {name: _to_column(name, column) for name, column in metadata.columns.items()}
    if metadata.unit_id is not None:
        columns[metadata.unit_id] = {"name": metadata.unit_id, "type": "string", "private_id": True}
    reserved = [name for name in columns if name in _OPTIONS]
    if reserved:
        raise MetadataError(
            f"SmartNoise metadata must not have a column named as a table option, but "
            f"column={reserved[0]!r}. Rename the column."
        )
    return {"": {"": {metadata.dataset: options | columns}}}


def is_smartnoise(value: Any) -> bool:
    """Tell whether a value has the shape of SmartNoise metadata, with at least one table."""
    try:
        return bool(_tables(value))
    except MetadataError:
        return False


def _tables(value: Any) -> dict[str, _Table]:
    """Return the tables by their full names."""
    draft = Draft("SmartNoise")
    document = draft.mapping(value, "the document")
    if isinstance(document.get("columns"), dict):
        return {"table": _Table("", document, _columns(draft, document["columns"], "columns"))}
    databases = [entry for key, entry in document.items() if key != "engine"]
    if len(databases) != 1:
        raise draft.refusal("the document", f"hold one database, not {len(databases)}")
    tables = {}
    for schema, entries in draft.mapping(databases[0], "the database").items():
        for name, entry in draft.mapping(entries, f"schema {printable(schema)!r}").items():
            subject = f"table {printable(name)!r}"
            options = draft.mapping(entry, subject)
            columns = {key: part for key, part in options.items() if key not in _OPTIONS or isinstance(part, dict)}
            tables[f"{schema}.{name}" if schema else name] = _Table(name, options, _columns(draft, columns, subject))
    return tables


def _columns(draft: Draft, columns: Any, subject: str) -> dict[str, dict[str, Any]]:
    for name, column in draft.mapping(columns, subject).items():
        if "type" not in draft.mapping(column, f"column {printable(name)!r}"):
            raise draft.refusal(f"column {printable(name)!r}", "have a type")
    return dict(columns)


def _column(draft: Draft, name: str, column: dict[str, Any]) -> Declared | None:
    kind, categories, missing = column["type"], column.get("categories"), column.get("missing_value")
    if column.get("sensitivity") is not None:
        draft.warn(column_place(name), "The sensitivity must follow from the bounds. `sensitivity` was left out.")
    if kind == "boolean":
        declared, key = boolean(), "unknown"
    elif kind == "string" or (kind == "int" and categories is not None):
        declared, key = draft.category(name, categories), "unknown"
    elif kind in ("int", "float"):
        ours = "integer" if kind == "int" else "real"
        declared, key = draft.numeric(name, ours, column.get("lower"), column.get("upper")), "missing"
    else:
        draft.leave_out(name, kind)
        return None
    if missing is not None and not _fits(missing, declared):
        draft.warn(column_place(name), "`missing_value` must fit the bounds or levels. It was left out.")
        missing = None
    return declared | {key: missing}


def _fits(missing: Any, declared: Declared) -> bool:
    if declared["type"] == "category":
        return missing in declared.get("levels", ())
    if isinstance(missing, bool) or not isinstance(missing, int | float):
        return False
    lower, upper = declared["lower"], declared["upper"]
    return (lower is None or lower <= missing) and (upper is None or missing <= upper)


def _to_column(name: str, column: NumericColumn | CategoryColumn) -> dict[str, Any]:
    declared: dict[str, Any] = {"name": name}
    if isinstance(column, CategoryColumn):
        declared |= {"type": "string", "missing_value": column.unknown}
        if column.levels is not None:
            declared |= {"cardinality": len(column.levels), "categories": list(column.levels)}
    else:
        declared["type"] = "float" if column.type == "real" else "int"
        for key, value in {
            "lower": column.lower,
            "upper": column.upper,
            "missing_value": column.missing,
        }.items():
            declared[key] = plain_number(column, value)
    return without_none(declared)
