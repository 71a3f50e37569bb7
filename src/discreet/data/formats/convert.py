"""Metadata in other formats: which one it is, and into Discreet's own.

``docs/reference/metadata-formats.md`` holds the table of what becomes what, and what is lost.
"""

from pathlib import Path
from typing import Any, Literal, Unpack

from discreet.data.formats.csvw import from_csvw, local_name, to_csvw
from discreet.data.formats.draft import Converted, Overrides
from discreet.data.formats.smartnoise import from_smartnoise, is_smartnoise, to_smartnoise
from discreet.data.metadata import SCHEMA, Metadata, with_names
from discreet.data.yaml_text import parse_text
from discreet.errors import InvalidParameterError, MetadataError
from discreet.files import read_text

__all__ = ["Converted", "detect", "from_csvw", "from_smartnoise", "read_any", "to_csvw", "to_smartnoise"]

Format = Literal["discreet", "csvw", "smartnoise"]


def read_any(path: str | Path, *, table: str | None = None, **overrides: Unpack[Overrides]) -> Converted:
    """Read metadata from a file of any known format, with the findings of the conversion."""
    value = parse_text(read_text(path, "metadata"), str(path))
    kind = detect(value)
    if kind != "discreet":
        return (from_csvw if kind == "csvw" else from_smartnoise)(value, table=table, **overrides)
    if table is not None or any(override is not None for override in overrides.values()):
        raise InvalidParameterError(
            f"Metadata of the schema {SCHEMA} are read as they are, but other values were given for {path}. "
            "Edit the file instead."
        )
    return Converted(Metadata.from_value(with_names(value, path), str(path)))


def detect(value: Any) -> Format:
    """Tell the format of metadata from their shape.

    The format.

    Examples
    --------
    >>> detect({"tableSchema": {"columns": []}})
    'csvw'
    """
    if isinstance(value, dict):
        keys = {local_name(key) for key in value}
        if str(value.get("schema", "")).startswith("discreet/") or {"dataset", "neighboring"} <= value.keys():
            return "discreet"
        if keys & {"tableSchema", "tables"}:
            return "csvw"
        if is_smartnoise(value):
            return "smartnoise"
    if value is None:
        raise MetadataError("The metadata file is empty. Write a skeleton with `discreet metadata new`.")
    raise MetadataError(
        f"Metadata must follow {SCHEMA}, CSVW-EO (with `tableSchema`) or SmartNoise (database, schema, "
        "table, columns with `type`), but this file follows none of them. "
        "Write a skeleton with `discreet metadata new`."
    )
