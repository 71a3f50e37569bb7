"""Who the people of a long table are, and their target's integers: one row a person."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.data.unit_keys import keys_of, unit_keys
from discreet.typing import Integers

Places = npt.NDArray[np.int32]


@dataclass(frozen=True)
class People:
    """The people of a long table.

    Parameters
    ----------
    keys : pyarrow.Array
        Their identifiers, as `keys_of` returns them: sorted, each once.
    """

    keys: pa.Array

    @classmethod
    def of(cls, blocks: Iterable[tuple[pa.Array, npt.NDArray[np.int16]]], as_text: bool) -> "tuple[People, Integers]":
        """Return the people of a table with a row for each, and the target's integer of each.

        Rows without an identifier are left out; of a person's several rows, the least target counts.
        """
        kind = pa.large_string() if as_text else pa.int64()
        keys, cells = [pa.array([], kind)], [pa.array([], pa.int16())]
        for identifiers, cell in blocks:
            keys.append(keys_of(identifiers, as_text))
            cells.append(pa.array(cell))
        rows, first = _sorted(pa.table({"key": pa.chunked_array(keys), "cell": pa.chunked_array(cells)}), kind)
        key = _whole(rows["key"], kind)
        response = _whole(rows["cell"], pa.int16()).to_numpy().astype(np.int64)
        return cls(key.filter(pa.array(first))), response[first]

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.keys)

    @cached_property
    def _by_number(self) -> tuple[int, Places] | None:
        """Return the least identifier and the place of each from there on, where they lie close together."""
        if not pa.types.is_integer(self.keys.type) or not self.size:
            return None
        numbers = self.keys.to_numpy()
        least, span = int(numbers[0]), int(numbers[-1]) - int(numbers[0]) + 1
        if span > 8 * self.size + 2**20:
            return None
        places = np.full(span, -1, dtype=np.int32)
        places[numbers - least] = np.arange(self.size, dtype=np.int32)
        return least, places

    def places(self, keys: pa.Array) -> Places:
        """Return the place of the person of each identifier, -1 for nobody."""
        if self._by_number is None:
            return places_in(keys, self.keys)
        least, table = self._by_number
        # A missing identifier becomes a number outside the table, without wrapping around at -2^63.
        numbers = pc.fill_null(keys, least - 1 if least > -(2**63) else 2**63 - 1).to_numpy(zero_copy_only=False)
        inside = (numbers >= least) & (numbers <= least + (len(table) - 1))
        places: Places = np.where(inside, table[np.where(inside, numbers - least, 0)], np.int32(-1))
        return places


def places_in(values: pa.Array, listed: pa.Array) -> Places:
    """Return the place of each value in a list, -1 for a value that is not in it."""
    indices = pc.fill_null(pc.index_in(values, value_set=listed, skip_nulls=True), -1)
    result: Places = indices.to_numpy(zero_copy_only=False).astype(np.int32)
    return result


def one_row_each(batches: Iterable[pa.RecordBatch], as_text: bool) -> tuple[People, list[pa.Array]]:
    """Return the people of a table, and the other columns of one row of each.

    Rows without an identifier are left out; of a person's several rows, the first by their cells' text counts.
    """
    kind = pa.large_string() if as_text else pa.int64()
    keys: list[pa.Array] = [pa.array([], kind)]
    blocks: list[list[pa.Array]] = []
    for batch in batches:
        keys.append(keys_of(batch.column(0), as_text))
        blocks.append(batch.columns[1:])
    columns = [pa.chunked_array(parts) for parts in zip(*blocks, strict=True)]
    text = [pa.chunked_array([unit_keys(part) for part in column.chunks], pa.string()) for column in columns]
    places = pa.array(np.arange(sum(len(part) for part in keys)))
    table = {"key": pa.chunked_array(keys), **{f"c{i}": cells for i, cells in enumerate(text)}, "place": places}
    rows, first = _sorted(pa.table(table), kind)
    first_rows = rows["place"].filter(pa.array(first))
    people = People(_whole(rows["key"], kind).filter(pa.array(first)))
    return people, [_whole(column.take(first_rows), column.type) for column in columns]


def _sorted(rows: pa.Table, kind: pa.DataType) -> tuple[pa.Table, npt.NDArray[np.bool_]]:
    """Return rows sorted by key, then by all other columns, and which of them are the first of their key."""
    keyed = rows.filter(pc.is_valid(rows["key"]))
    keyed = keyed.sort_by([(name, "ascending") for name in keyed.column_names])
    key = _whole(keyed["key"], kind)
    first = np.ones(len(key), dtype=np.bool_)
    first[1:] = pc.not_equal(key[1:], key[:-1]).to_numpy(zero_copy_only=False)
    return keyed, first


def _whole(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    combined = column.combine_chunks()
    if isinstance(combined, pa.ChunkedArray):  # text beyond one array's reach, or no chunk at all
        return pa.concat_arrays(combined.chunks) if combined.num_chunks else pa.array([], kind)
    return combined
