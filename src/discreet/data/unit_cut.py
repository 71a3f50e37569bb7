"""At most so many rows of one unit: the rest are left out before anything else sees them."""

from collections.abc import Iterable, Iterator

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.data.design import Cells, RowMap, numbers


def cut_blocks(batches: Iterable[pa.RecordBatch], design: RowMap, unit_id: str, rows_per_unit: int) -> Iterator[Cells]:
    """Return the encoded rows that remain, at most ``rows_per_unit`` of each unit.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        The design's columns and the unit's.
    design : RowMap
        The row map.
    unit_id : str
        The unit's column.
    rows_per_unit : int
        The most rows that remain of one unit.

    Yields
    ------
    ndarray of int16, shape (n, n_columns)
        Encoded rows.

    Notes
    -----
    Which rows of a unit remain depends on that unit's encoded rows alone: the first ones by a public hash of their
    cells, so that the choice is the same in any order of rows and favors no value. A row without an identifier is left
    out: it could be anybody's. Cost: one sort; holds the encoded rows in memory, about 2 bytes a cell.

    References
    ----------
    Privacy specification 0.1 (unit of privacy).
    """
    names = [f"c{i}" for i in range(design.n_columns)]

    def encoded() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            cells = design.encode(batch)
            columns = [pa.array(np.ascontiguousarray(cells[:, i])) for i in range(design.n_columns)]
            yield pa.record_batch([unit_keys(batch.column(unit_id)), *columns], names=["unit", *names])

    schema = pa.schema([("unit", pa.string()), *((name, pa.int16()) for name in names)])
    cells = ", ".join(names)
    with duckdb.connect(config={"temp_directory": "", "autoload_known_extensions": "false"}) as connection:
        connection.execute("SET enable_progress_bar = false")  # it would tell how many rows there are
        connection.register("encoded", pa.RecordBatchReader.from_batches(schema, encoded()))
        kept = connection.sql(
            f"SELECT {cells} FROM (SELECT *, row_number() OVER (PARTITION BY unit ORDER BY hash({cells}), {cells}) "
            f"AS place FROM encoded WHERE unit IS NOT NULL) WHERE place <= {int(rows_per_unit)}"
        )
        for batch in kept.to_arrow_reader(2**16):
            yield np.stack([column.to_numpy() for column in batch.columns], axis=1)


def unit_keys(values: pa.Array) -> pa.Array:
    """Return identifiers as text that is the same whatever the storage: the numbers 7 and 7.0 are one unit, and "7".

    Parameters
    ----------
    values : pyarrow.Array
        Identifiers of any type.

    Returns
    -------
    pyarrow.Array
        Text; null for a missing identifier.
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_decimal(values.type):  # exactly: neighbors beyond 2^53 are two units
        text = pc.replace_substring_regex(pc.cast(values, pa.string()), r"(\.[0-9]*?)0+$", r"\1")
        return pc.replace_substring_regex(text, r"\.$", "")
    if pa.types.is_floating(values.type):
        found = numbers(values)
        text = [None if np.isnan(v) else str(int(v)) if float(v).is_integer() else repr(float(v)) for v in found]
        return pa.array(text, type=pa.string())
    return pc.cast(values, pa.string())
