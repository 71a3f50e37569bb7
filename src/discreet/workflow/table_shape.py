"""From the shape of a table a skeleton of its metadata, and from metadata a fake table of their shape."""

from collections.abc import Callable, Iterable, Mapping, Sequence
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
from discreet.data.header import may_be_row
from discreet.data.lint import Finding
from discreet.data.long_table import LongTable
from discreet.data.metadata import Metadata
from discreet.data.skeleton import skeleton
from discreet.data.sources import open_table, undeclared_table
from discreet.data.storage_types import ColumnFit, compared
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
    ask: Callable[[Sequence[tuple[str, str]], Mapping[str, Any]], dict[str, Any]] | None = None,
    **facts: Any,
) -> str:
    """Write a metadata skeleton from a table's header; no row is read.

    YAML with blanks to fill in, but for what whoever is asked knows.
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
    typed = not isinstance(opened, CsvTable)
    if ask is not None:
        stated_facts |= ask(opened.header(), stated_facts)
    return skeleton(opened.header(), dataset=dataset or stem or "my-data", typed=typed, **stated_facts)


def compare_header(
    metadata: Metadata,
    data: str,
    *,
    table: str | None = None,
    targets: str | None = None,
) -> list[ColumnFit]:
    """Compare what is declared with a table's header; no row is read.

    One entry a declared column, then the unit's and all features together.
    """
    opened = open_table(data, metadata, table, targets)
    fits = compared(metadata, opened.header(), opened.storage_types())
    if isinstance(opened, LongTable):
        fits.append(opened.fit_of_values())
    return fits


def misfits(fits: Iterable[ColumnFit]) -> list[Finding]:
    """Return an error for each column whose declared and stored types do not fit."""
    return [Finding("error", fit.place, fit.complaint) for fit in fits if fit.problem is not None]


def _stem(opened: Table) -> str:
    """The public name without a file's ending: a dot in the name of a table or a folder ends nothing."""
    name = PurePath(opened.name)  # an address may hold a password
    if isinstance(opened, FileTable) or (isinstance(opened, ParquetTable) and name.suffix.lower() in PARQUET_SUFFIXES):
        return name.stem
    return opened.name


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
        raise InvalidParameterError(
            f"The name {out.name!r} must end in one of {', '.join(writers)}. Choose one of these."
        )
    writers[out.suffix](dummy_table(metadata, n_rows, Source().words), sink)
    return write_whole(out, sink.getvalue().to_pybytes())
