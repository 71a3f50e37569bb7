"""Metadata from a header, checked, converted; and a fake table of their shape."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from discreet.data.dummy import dummy_table
from discreet.data.engine import Table
from discreet.data.engines.csv_file import CsvTable
from discreet.data.engines.file_table import FileTable
from discreet.data.engines.parquet import ParquetTable
from discreet.data.engines.parquet_files import PARQUET_SUFFIXES
from discreet.data.formats.convert import read_any, to_csvw, to_smartnoise
from discreet.data.header import may_be_row
from discreet.data.lint import Finding, lint
from discreet.data.metadata import Metadata
from discreet.data.skeleton import skeleton
from discreet.data.sources import undeclared_table
from discreet.data.yaml_text import yaml_text
from discreet.errors import DataMismatchError, InvalidParameterError
from discreet.files import write_whole
from discreet.mechanisms.rng import Source


def new_metadata(
    data: str,
    *,
    table: str | None = None,
    dataset: str | None = None,
    header: bool = False,
    confirm: Callable[[str], None] | None = None,
    **facts: Any,
) -> str:
    """Write a metadata skeleton from a table's header; no row is read.

    YAML with blanks to fill in.
    """
    opened = undeclared_table(data, table)
    names = [name for name, _ in opened.header()]
    if not header and isinstance(opened, CsvTable) and may_be_row(names):
        doubt = (
            "The first line of a CSV file must name its columns, but this one may be a person's row: a cell is empty, "
            "repeats, or looks like a number, a date or another value."
        )
        if confirm is None:
            raise DataMismatchError(f"{doubt} Write a line of names above it; if it holds names, add --header.")
        confirm(doubt)
    stem = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in _stem(opened)).strip("-._")
    stated_facts = {key: value for key, value in facts.items() if value is not None}
    return skeleton(opened.header(), dataset=dataset or stem or "my-data", **stated_facts)


def _stem(opened: Table) -> str:
    """The public name without a file's ending: a dot in the name of a table or a folder ends nothing."""
    name = PurePath(opened.name)  # an address may hold a password
    if isinstance(opened, FileTable) or (isinstance(opened, ParquetTable) and name.suffix.lower() in PARQUET_SUFFIXES):
        return name.stem
    return opened.name


def check_metadata(path: str | Path) -> tuple[Metadata, Sequence[Finding]]:
    """Read metadata and list what is missing or looks wrong.

    The metadata and the findings; an error among them keeps a column from being used.
    """
    converted = read_any(path)
    return converted.metadata, [*converted.findings, *lint(converted.metadata)]


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
    raise InvalidParameterError(f"The format must be discreet, csvw or smartnoise, but it is {to[:40]!r}.")


def write_dummy(metadata: Metadata, n_rows: int, out: Path) -> Path:
    """Write a fake table of the declared shape, to write code against.

    The file written.
    """
    if out.exists():
        raise InvalidParameterError(f"A fake table must not replace a file, but {out} exists. Choose another path.")
    sink = pa.BufferOutputStream()
    writers = {
        ".csv": pyarrow.csv.write_csv,
        ".parquet": pyarrow.parquet.write_table,
        ".arrow": pyarrow.feather.write_feather,
    }
    if out.suffix not in writers:
        raise InvalidParameterError(f"The file's name must end in {', '.join(writers)}, but it is {out.name!r}.")
    writers[out.suffix](dummy_table(metadata, n_rows, Source().words), sink)
    return write_whole(out, sink.getvalue().to_pybytes())
