"""Public records beside a private table: opened, tried out by simulation, and written with a release's weights."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicRecords
from discreet.errors import (
    DataMismatchError,
    InvalidParameterError,
    MetadataError,
    PolicyError,
    VerificationError,
)
from discreet.files import writable, write_whole
from discreet.methods.base.method import Method, Progress
from discreet.release import Release, TwinRecord
from discreet.report.escape import to_cell

WEIGHTED = (".parquet", ".pq", ".csv")
"""Endings of a file of weighted public records."""


def open_public(source: str | Path, metadata: Metadata, table: str | None = None) -> PublicRecords:
    """Open the public table that the metadata of a private one declare.

    Read when its points are asked for.
    """
    if metadata.public is None:
        raise MetadataError(
            "The metadata must say which file is public, so that no private one is taken for it, but they do not. "
            "Declare `public: {sha256: ..., source: ...}`, the sha256 as `sha256sum FILE` prints it."
        )
    try:
        return PublicRecords(source, metadata, table)
    except (InvalidParameterError, DataMismatchError) as error:
        message = str(error)  # of a table's own complaints none says which of the two it is
        is_told = message.startswith(("The public", "Public"))
        raise type(error)(message if is_told else f"In the public table: {message}") from None


def expected_errors(
    method: Method,
    metadata: Metadata,
    target: str,
    candidates: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> tuple[TwinRecord, ...]:
    """Return how well an estimate on public records can be expected to do, from public records alone.

    Public records alone first, then by number of points; empty for a method that has none, or simulates nothing.

    No private table is opened and nothing is spent. Cost: that of an estimate, times simulated tables and sizes.
    """
    if not getattr(method, "twins", 0):
        return ()
    prepared: Any = method.prepare(metadata, target, candidates)
    records: tuple[TwinRecord, ...] = prepared.twins(progress)
    return records


def check_weighted(path: str | Path) -> None:
    """Refuse a file for weighted public records that could not be written, before anything is spent."""
    if Path(path).suffix.lower() not in WEIGHTED:
        raise InvalidParameterError(
            f"The name of the file of weighted public records must end in one of {', '.join(WEIGHTED)}, but it is "
            f"{Path(path).name[:80]!r}."
        )
    writable(path)


def weighted_records(release: Release, metadata: Metadata, public: PublicRecords) -> pa.Table:
    """Return the public records that a release gave weights, in their own units.

    Post-processing: whatever is computed from a release keeps its guarantee.
    """
    points = None if release.hybrid is None else release.hybrid.points
    if points is None:
        raise InvalidParameterError(
            "A release must have weighted public records, but this one has none. Make one with `discreet hybrid`."
        )
    if not release.private:
        raise PolicyError(
            "Weights must come from a private release, but this one gives no guarantee. Estimate again, from a table "
            "that was opened, and without as_published."
        )
    candidates = release.request.get("candidates")
    names = tuple(candidates) if isinstance(candidates, (list, tuple)) else None  # of very many only a digest is kept
    records = public.points(metadata, str(release.request.get("target", "")), names)
    if records.sha256 != points.sha256:
        raise VerificationError(
            "The public records and the metadata must be those of the release, but their columns, ranges or points "
            "differ. Give the files that it was made with."
        )
    weighted = [(place, weight) for place, weight in zip(points.kept, points.weights, strict=True) if weight > 0]
    return records.weighted([place for place, _ in weighted], [weight for _, weight in weighted])


def write_weighted(path: str | Path, release: Release, metadata: Metadata, public: PublicRecords) -> int:
    """Write the public records that a release gave weights, whole or not at all; nothing if there are none.

    Number of records written; 0 for an estimate that rests on none, and then there is no file.
    """
    check_weighted(path)
    rows = weighted_records(release, metadata, public)
    if rows.num_rows:
        sink = pa.BufferOutputStream()
        if Path(path).suffix.lower() == ".csv":
            importlib.import_module("pyarrow.csv").write_csv(_quoted(rows), sink)
        else:
            importlib.import_module("pyarrow.parquet").write_table(rows, sink)  # loads file systems, too
        write_whole(path, sink.getvalue().to_pybytes())
    return int(rows.num_rows)


def _quoted(rows: pa.Table) -> pa.Table:
    """Text that a spreadsheet would run gets a quote in front; numbers stay numbers."""
    columns = [_harmless(column) if pa.types.is_string(column.type) else column for column in rows.columns]
    return pa.table(columns, names=[to_cell(name) for name in rows.column_names])


def _harmless(column: pa.ChunkedArray) -> pa.Array:
    coded = column.combine_chunks().dictionary_encode()  # of a category, a few texts for many rows
    texts = [to_cell(text) for text in coded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(coded.indices)
