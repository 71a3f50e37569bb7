"""Cells of drawn columns from their places between bounds or among levels, and the noise beside them."""

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from discreet.data.arrow_arrays import number_array, place_array, text_array
from discreet.data.cells import bounded, declared_batch, numbers
from discreet.data.derived_columns import columns_read
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn, half_width
from discreet.mechanisms.rng import Source
from discreet.simulation.draws import uniforms
from discreet.simulation.public_pattern import level_places
from discreet.typing import Floats

ALIKE = 1e-10
"""Of the largest eigenvalue of their products: columns that add no more to others are those."""


def placed(even: Floats, names: Sequence[str], metadata: Metadata) -> Floats:
    """Return columns of which categories are at the places of their levels, from 0 to 1, and integers at integers.

    An integer column has the scores of its integers alone, so that the target follows the cells.
    Shapes: even (n_rows, n_columns), from -1 to 1, which is overwritten and returned.
    """
    for j, name in enumerate(names):
        column = metadata.declared(name)
        if isinstance(column, CategoryColumn):
            n_levels = len(column.levels or ())
            place = np.minimum(((even[:, j] + 1.0) / 2.0 * n_levels).astype(int), n_levels - 1)
            even[:, j] = place / max(n_levels - 1, 1)
        elif getattr(column, "type", "") == "integer":
            middle, half = half_width(column)
            lower, upper = math.ceil(middle - half), math.floor(middle + half)
            integers = np.minimum(np.floor((even[:, j] + 1.0) / 2.0 * (upper - lower + 1.0)), upper - lower) + lower
            even[:, j] = (integers - middle) / half if half > 0 else 0.0
    return even


def derive(scores: Floats, names: Sequence[str], metadata: Metadata, rng: Source) -> None:
    """Compute the scores of derived columns from their sources'; sources that are none of these are spread evenly.

    Shapes: scores (n_rows, n_columns), of which derived columns are overwritten.
    """
    derived = [name for name in names if name in metadata.derived]
    if not derived:
        return
    place = {name: j for j, name in enumerate(names)}
    cells = {}
    for source in columns_read(metadata.derived, derived):
        if source in place:
            own = scores[:, place[source]]
        else:
            share = uniforms(rng, len(scores))
            own = 2.0 * share - 1.0 if metadata.is_number(source) else share
        cells[source] = cells_of(own, metadata.declared(source))
    batch = declared_batch(pa.RecordBatch.from_pydict(cells), metadata, derived)
    for name in derived:
        column = metadata.declared(name)
        if isinstance(column, NumericColumn):
            middle, half = half_width(column)
            scores[:, place[name]] = (bounded(numbers(batch.column(name)), column) - middle) / half


def cells_of(scores: Floats, column: NumericColumn | CategoryColumn) -> pa.Array:
    """Return the cells of a column, in its unit or by its levels. Shapes: scores (n_rows,)."""
    if isinstance(column, NumericColumn):
        middle, half = half_width(column)
        values = middle + half * scores
        return number_array(np.rint(values) if column.type == "integer" else values)
    levels = column.levels or ()
    return pa.DictionaryArray.from_arrays(place_array(level_places(scores, len(levels))), text_array(levels))


def as_of_more(noise: Floats, scores: Floats, repeats: int) -> Floats:
    """Return noise that goes with the columns as little as it does in a table of so many times the rows.

    With k repeats of r rows, X'e must have the variance of k r rows: k r sigma^2 S, not k^2 r sigma^2 S. So the part of
    the noise that the columns explain by chance is divided by the root of k; the rest is left as it is.
    Shapes: noise (n_rows,), scores (n_rows, n_columns).
    """
    columns = np.column_stack([np.ones(len(scores)), scores])
    if columns.shape[1] > len(columns) // 4:  # more columns than such rows can tell apart
        return noise
    inverse = np.linalg.pinv(columns.T @ columns, rcond=ALIKE, hermitian=True)
    by_chance = columns @ (inverse @ (columns.T @ noise))
    return np.asarray(noise - (1.0 - 1.0 / math.sqrt(repeats)) * by_chance)
