"""Records of people who let theirs be used openly: read whole, made points beside which private rows are counted."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.data.cells import declared_batch, level_codes, numbers
from discreet.data.derived_columns import columns_read
from discreet.data.engine import Table
from discreet.data.header import refuse_stored, require
from discreet.data.hybrid_design import HybridDesign
from discreet.data.metadata import MAX_BOUND, CategoryColumn, Metadata, NumericColumn
from discreet.data.storage_types import require_fit
from discreet.errors import DataMismatchError, InvalidParameterError, MetadataError, PolicyError
from discreet.release import canonical_sha256
from discreet.typing import Cells, Floats, Integers

RANGE = "range of the public records"

NOTES = {"source", "description"}
"""Of a column, that change nothing."""

LATER = {"derived", "reference"}
"""Fields that columns had not from the first: digests are without them where they are empty."""

MOST_RECORDS = 10**7


@dataclass(frozen=True)
class PublicPoints:
    """The distinct points of public records, and the records of each.

    Parameters
    ----------
    design : HybridDesign
        With the public ranges.
    cells : ndarray of int16, shape (m, n_columns)
        Distinct, in lexicographic order: the same whatever the order of the records.
    records : ndarray of int64, shape (m,)
        How many records fall on each.
    rows : pyarrow.Table
        A record of each point, in its own units: numbers clipped at declared bounds, cells of a category as
        its levels.
    n_dropped : int
        Records left out, for a missing cell.
    """

    design: HybridDesign
    cells: Cells
    records: Integers
    rows: pa.Table
    n_dropped: int

    def __len__(self) -> int:
        return len(self.cells)

    def weighted(self, places: Sequence[int], weights: Sequence[float]) -> pa.Table:
        """Return public records in their own units, with the weights that a release gave them as the column `weight`.

        With an underscore where a column has that name.
        """
        name = "weight"
        while name in self.rows.column_names:
            name += "_"
        rows = self.rows.take(pa.array(np.asarray(places, dtype=np.int64)))
        return rows.append_column(name, pa.array(np.asarray(weights, dtype=np.float64)))

    @cached_property
    def sha256(self) -> str:
        """Digest of the columns, the ranges and the points."""
        names = self.design.declared_columns
        declared = {name: self.design.metadata.declared(name) for name in names}
        ranges = {name: _range_record(column) for name, column in declared.items()}
        points = hashlib.sha256(self.cells.tobytes() + self.records.tobytes()).hexdigest()
        return canonical_sha256({"columns": list(names), "ranges": ranges, "points": points})


class PublicRecords:
    """A public table.

    Parameters
    ----------
    source : path or frame
        A file of a known kind, or a frame in memory.
    metadata : Metadata
        Of the private table: both have the same columns. What it declares public under `public` must be this file.
    table : str, optional
        Which table of a database file.

    Raises
    ------
    MetadataError
        When the metadata declare another file public.
    InvalidParameterError
        When there is no such file, or the metadata have a layout.
    """

    def __init__(self, source: Any, metadata: Metadata, table: str | None = None) -> None:
        if metadata.layout is not None:
            raise InvalidParameterError("Public records go with a table of a row a person. Leave out the layout.")
        own = metadata.model_copy(update={"unit_id": None, "rows_per_unit": 1})
        self.path = _one_file(source) if isinstance(source, (str, Path)) else None
        self.file_sha256 = None if self.path is None else _digest(self.path)
        from discreet.data.sources import table_at  # all engines, which a request without public records needs not

        self.table: Table = table_at(source, own, table)
        self._check_declared(metadata)
        self._points_cache: dict[tuple[str, str, tuple[str, ...]], PublicPoints] = {}

    @property
    def name(self) -> str:
        """Public name of the source, without its folder."""
        return self.table.name

    def _check_declared(self, metadata: Metadata) -> None:
        """Refuse a file that is not the one declared public, before a row of it is read."""
        if self.file_sha256 is not None and metadata.public is not None and self.file_sha256 != metadata.public.sha256:
            raise MetadataError(
                "The file given as public must be the one that the metadata declare public, but its sha256 is not the "
                "public.sha256 of the metadata. Is it the private one? Give the public file, or correct the metadata."
            )

    def check_beside(self, private: Table, charged: bool) -> None:
        """Refuse a public table that nobody declared public, or that is the private one."""
        if self.path is not None and private.holds_file(self.path):
            raise PolicyError(
                "The private and the public table must be two, but one file is given as both. Give the private one as "
                "data."
            )
        self._check_declared(private.metadata)
        if (charged and private.metadata.public is None) or (
            self.file_sha256 is None and (charged or private.metadata.public is not None)
        ):
            raise MetadataError(
                "The metadata must say which file is public, so that no private one is taken for it, and that file "
                "must be given. Declare `public: {sha256: ..., source: ...}`, the sha256 as `sha256sum FILE` prints it."
            )

    def check_types(self) -> None:
        """Compare the storage types of all declared columns that the table has; no row is read."""
        try:
            require_fit(self.table.metadata, self.table.storage_types(), self.table.metadata.stored)
        except DataMismatchError as error:
            raise DataMismatchError(f"In the public table: {error}") from None

    def points(self, metadata: Metadata, target: str, candidates: Sequence[str] | None) -> PublicPoints:
        """Return the distinct points of some columns, on the public ranges; the result is cached."""
        self._check_declared(metadata)
        names = tuple(n for n in metadata.columns if n != target) if candidates is None else tuple(candidates)
        key = (metadata.sha256, target, names)
        if key not in self._points_cache:
            self._points_cache[key] = self._points(metadata, target, names)
        return self._points_cache[key]

    def _points(self, metadata: Metadata, target: str, names: tuple[str, ...]) -> PublicPoints:
        _check_names(metadata, target, names)
        columns = (*names, target)
        stored = columns_read(metadata.derived, columns)
        try:
            require(self.table.header(), stored)
            refuse_stored(self.table.header(), metadata.derived)
            require_fit(metadata, self.table.storage_types(), stored)
        except DataMismatchError as error:
            raise DataMismatchError(f"In the public table: {error}") from None
        every = tuple(dict.fromkeys((*columns, *stored)))
        batches = [declared_batch(b, metadata, every) for b in self.table.batches(stored) if b.num_rows]
        if self.path is not None and _digest(self.path) != self.file_sha256:
            raise DataMismatchError(
                "The public file must stay as it is while it is read, but it has changed. Ask again."
            )
        if not batches:
            raise DataMismatchError("The public table must have records, but it has none.")
        read = _decoded(pa.Table.from_batches(batches))
        if read.num_rows > MOST_RECORDS:
            raise InvalidParameterError(
                f"Public records must be at most {MOST_RECORDS:,}, but there are more. Take a sample."
            )
        complete, bounds = _complete(read, metadata, columns)
        n_dropped = read.num_rows - int(complete.sum())
        read = read.filter(pa.array(complete))
        if read.num_rows == 0:
            raise DataMismatchError(
                "The public table must have complete records in the columns used, but has none. Numbers must be stored "
                "as numbers, or be text that reads as one."
            )
        design = HybridDesign.plan(metadata.with_bounds(bounds, RANGE), target, names, metadata)
        read = read.sort_by([(name, "ascending") for name in columns])  # whichever record stands for a point
        parts = [design.encode(batch) for batch in read.select(list(design.columns)).to_batches()]
        cells, first, records = np.unique(np.concatenate(parts), axis=0, return_index=True, return_counts=True)
        if len(cells) < 2:
            raise DataMismatchError(
                "The public table must have at least two distinct points in the columns used, but it has one: there is "
                "nothing to choose between."
            )
        rows = _as_encoded(read.select(list(columns)).take(pa.array(first)), metadata)
        return PublicPoints(design, cells, records.astype(np.int64), rows, n_dropped)


def _range_record(column: NumericColumn | CategoryColumn) -> dict[str, Any]:
    fields = column.model_dump(mode="json", exclude=NOTES)
    return {key: value for key, value in fields.items() if key not in LATER or value is not None}


def _decoded(read: pa.Table) -> pa.Table:
    """Return text as text, however it is stored: dictionary codes have no order."""
    kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in read.schema.types]
    return read.cast(pa.schema(list(zip(read.column_names, kinds, strict=True))))


def _check_names(metadata: Metadata, target: str, names: tuple[str, ...]) -> None:
    if target in names or len(set(names)) < len(names):
        raise InvalidParameterError("Columns must not repeat, nor be the target. Name each column once.")
    if not names:
        raise InvalidParameterError("At least one column besides the target is needed. Name some with --candidates.")
    for name in (*names, target):
        if name not in metadata.columns:
            raise MetadataError(f"Column {name[:80]!r} is not declared in the metadata. Declare it.")
    if not metadata.is_number(target):
        raise MetadataError(f"The target must be numeric, but {target!r} is a category. Declare it as 0 and 1.")


def _complete(
    read: pa.Table, metadata: Metadata, columns: tuple[str, ...]
) -> tuple[npt.NDArray[np.bool_], dict[str, tuple[float, float]]]:
    """Return which records have all cells, and the ranges of their numeric columns."""
    complete, values = np.ones(read.num_rows, dtype=np.bool_), {}
    for name in columns:
        column = metadata.columns[name]
        if isinstance(column, NumericColumn):
            values[name] = _declared(_within(numbers(read.column(name)), column, name), column)
            complete &= ~np.isnan(values[name])
        else:
            _check_levels(read.column(name), metadata.declared(name), name)
    return complete, {name: _range(cells[complete], metadata.columns[name]) for name, cells in values.items()}


def _declared(values: Floats, column: NumericColumn) -> Floats:
    """Return cells as the row map sees them: clipped at declared bounds, missing ones replaced where declared."""
    if column.is_declared:
        lower, upper = column.lower or 0.0, column.upper or 0.0
        outside = (values < lower) | (values > upper)
        clipped = (
            np.where(outside, np.nan, values) if column.out_of_bounds == "missing" else np.clip(values, lower, upper)
        )
        values = np.asarray(clipped, dtype=np.float64)
    return values if column.missing is None else np.where(np.isnan(values), column.missing, values)


def _within(values: Floats, column: NumericColumn, name: str) -> Floats:
    """Refuse a column all of whose numbers lie beyond the declared bounds: clipped, they would say nothing."""
    present = values[~np.isnan(values)]
    if len(present) and np.abs(present).max() > MAX_BOUND and not column.is_declared:
        raise MetadataError(
            f"Public numbers must lie within {MAX_BOUND:g}, but column {name[:60]!r} has others. Declare its bounds."
        )
    lower, upper = (column.lower or 0.0, column.upper or 0.0) if column.is_declared else (-np.inf, np.inf)
    if len(present) and not ((present >= lower) & (present <= upper)).any():
        raise MetadataError(
            f"Public records must lie within the bounds that the metadata declare, but none does in column "
            f"{name[:60]!r}. Compare the units of both tables, or correct the bounds."
        )
    return values


def _as_encoded(read: pa.Table, metadata: Metadata) -> pa.Table:
    """Return records as the row map sees them, so that other software that weights them gets the same."""
    for place, name in enumerate(read.column_names):
        column, values = metadata.columns[name], read.column(place)
        if isinstance(column, NumericColumn):
            decoded = _declared(numbers(values), column)
            is_number = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
            if not is_number or not np.array_equal(decoded, numbers(values)):
                whole = (
                    column.type == "integer"
                    and bool((decoded == np.rint(decoded)).all())
                    and np.abs(decoded).max() < 2**53
                )
                read = read.set_column(place, name, pa.array(decoded.astype(np.int64) if whole else decoded))
        else:
            levels = pa.array(metadata.declared(name).levels or (), pa.string())  # type: ignore[union-attr]
            read = read.set_column(place, name, levels.take(pa.array(level_codes(values, column))))
    return read


def _range(values: Floats, column: Any) -> tuple[float, float]:
    lower, upper = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    if upper - lower > 1e-9 * max(abs(lower), abs(upper)):
        return lower, upper
    if column.is_declared:
        return float(column.lower), float(column.upper)
    room = max(abs(lower), 1.0) / 2.0
    return lower - room, lower + room


def _check_levels(values: Any, column: NumericColumn | CategoryColumn, name: str) -> None:
    if isinstance(column, CategoryColumn) and column.unknown is None:
        is_level = level_codes(values, column) >= 0
        if not is_level.all():
            raise DataMismatchError(  # no cell is shown: it might be the wrong file
                f"Column {name[:60]!r} of the public table must hold declared levels alone, but it holds others. "
                "Declare them, or name a level with `unknown` that takes others."
            )


def _one_file(source: str | Path) -> Path:
    if "://" in str(source) or str(source).startswith("spark:"):
        raise InvalidParameterError(  # which is not shown: it may hold a password
            "The public table must be one local file, but it is an address. Copy its records to a file."
        )
    return Path(source).expanduser().resolve()


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    except IsADirectoryError:
        raise InvalidParameterError(
            "The public table must be one local file, but it is a folder. Write its records into one file."
        ) from None
    except OSError:
        raise InvalidParameterError(
            "The public file must be readable, but what is given is not. Check the path."
        ) from None
    return digest.hexdigest()
