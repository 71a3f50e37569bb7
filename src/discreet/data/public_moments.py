"""Means and covariances of the columns of a public table, whose records pass through the same map as private rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.data.cells import bounded, declared_batch, level_codes, numbers
from discreet.data.derived_columns import columns_read
from discreet.data.header import require
from discreet.data.metadata import CategoryColumn, Metadata
from discreet.data.public_records import PublicRecords
from discreet.errors import DataMismatchError, InvalidParameterError, MetadataError
from discreet.parameters.public_moments import PublicMoments
from discreet.typing import Floats

MOST_LABELS = 512
"""Columns, levels counted: the covariances stand in the request."""


def public_moments(
    source: Any, metadata: Metadata, candidates: Sequence[str], table: str | None = None
) -> PublicMoments:
    """Return means and covariances of the candidates in a public table; it needs no target.

    Parameters
    ----------
    source : path or frame
        A file that the metadata declare public by its digest; or a frame, which is taken to be public.
    metadata : Metadata
        Of the private table: bounds and levels are those of both.
    candidates : sequence of str
        Columns with bounds or levels.
    table : str, optional
        Which table of a database file.

    Returns
    -------
    PublicMoments
        For the parameter of that name.

    Raises
    ------
    MetadataError
        When the metadata declare no public file, or another one, or a column lacks bounds.
    InvalidParameterError
        When there is no such file, or there are too many columns.
    DataMismatchError
        When a column is missing, or there are fewer than two records.
    """
    if isinstance(source, (str, Path)) and metadata.public is None:
        raise MetadataError(
            "The metadata must say which file is public, so that no private one is taken for it. Declare "
            "`public: {sha256: ..., source: ...}`, the sha256 as `sha256sum FILE` prints it."
        )
    records = PublicRecords(source, metadata, table)
    stored = columns_read(metadata.derived, candidates)
    require(records.table.header(), stored)
    labels = [label for name in candidates for label in _labels(name, metadata)]
    if len(labels) > MOST_LABELS:
        raise InvalidParameterError(
            f"Public moments must be of at most {MOST_LABELS} columns, levels counted, but these are {len(labels)}. "
            "Name fewer candidates."
        )
    blocks = [
        _cells(declared_batch(batch, metadata, tuple(dict.fromkeys((*candidates, *stored)))), metadata, candidates)
        for batch in records.table.batches(stored)
    ]
    n_records = sum(map(len, blocks))
    if n_records < 2:
        raise DataMismatchError("The public table must have two records or more, but it has fewer.")
    means = sum(block.sum(axis=0) for block in blocks) / n_records
    covariance = sum((block - means).T @ (block - means) for block in blocks) / (n_records - 1)
    cubes = sum(((block - means) ** 3).sum(axis=0) for block in blocks) / n_records
    sds = np.sqrt(covariance.diagonal())
    skewness = np.divide(cubes, sds**3, out=np.zeros_like(sds), where=sds > 0.0)
    return PublicMoments(
        labels=tuple(labels),
        means=tuple(means.tolist()),
        covariance=tuple(map(tuple, ((covariance + covariance.T) / 2.0).tolist())),
        skewness=tuple(skewness.tolist()),
        n_records=n_records,
        source="" if metadata.public is None else metadata.public.source,
        sha256=records.file_sha256,
    )


def _labels(name: str, metadata: Metadata) -> list[str]:
    column = metadata.declared(name)
    return [f"{name}={level}" for level in column.levels or ()] if isinstance(column, CategoryColumn) else [name]


def _cells(batch: pa.RecordBatch, metadata: Metadata, candidates: Sequence[str]) -> Floats:
    """Return cells in their own units within their bounds, of a category one column a level."""
    columns = list[Floats]()
    for name in candidates:
        column, values = metadata.declared(name), batch.column(name)
        if isinstance(column, CategoryColumn):
            codes = level_codes(values, column)
            columns += [(codes == place).astype(np.float64) for place in range(len(column.levels or ()))]
        else:
            columns.append(bounded(numbers(values), column))
    return np.column_stack(columns)
