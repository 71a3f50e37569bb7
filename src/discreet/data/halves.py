"""A table in two halves of its units, by secret coins that no row can move."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from threading import Lock
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from typing_extensions import override

from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.engine import Table
from discreet.data.engines.each import Progress
from discreet.data.engines.frame import FrameTable
from discreet.data.long_table import LongTable
from discreet.data.metadata import Metadata
from discreet.data.row_pass import RowPass
from discreet.data.unit_keys import is_whole, keys_of, unit_texts
from discreet.errors import InvalidParameterError
from discreet.typing import Integers, Words

Sides = npt.NDArray[np.uint8]
"""0 or 1, the half that each row is in; 2 for none."""

KEY_WORDS = 4
"""Words of the key of the coins: 256 secret bits."""
FIRST_PLACES = 2**16


def metadata_of_halves(metadata: Metadata) -> tuple[Metadata, Metadata]:
    """Return what is public about each half of a table.

    Under ``replace_one`` a half has exactly half of the rows. Where coins are thrown for identifiers, its number of
    rows is private, as that of a table with ``n_units`` is; its number of units is a public guess, half of the
    table's. Under ``add_or_remove_one`` the size of a half is as private as the table's.

    Parameters
    ----------
    metadata : Metadata
        Of the table.

    Returns
    -------
    tuple of Metadata
        Of the first and of the second half.

    Raises
    ------
    InvalidParameterError
        When a half could have no unit.
    """
    if metadata.neighboring is NeighboringRelation.ADD_OR_REMOVE_ONE:
        return metadata, metadata
    size = metadata.n_rows or metadata.n_units or 0
    if size < 2:
        counted = "n_rows" if metadata.n_units is None else "n_units"
        raise InvalidParameterError(
            f"selective_inference=split must have 2 rows or more, but {counted}={size}. Set selective_inference: none."
        )
    if metadata.unit_id is not None or metadata.layout is not None:
        n_units = metadata.n_units or max(size // metadata.rows_per_unit, 2)
        half = metadata.model_copy(update={"n_rows": None, "n_units": n_units // 2})
        return half, half
    first, second = size // 2, size - size // 2
    return metadata.model_copy(update={"n_rows": first}), metadata.model_copy(update={"n_rows": second})


def can_be_halved(metadata: Metadata) -> bool:
    """Tell whether a table can be thrown into halves.

    Parameters
    ----------
    metadata : Metadata
        Of the table.

    Returns
    -------
    bool
        Whether `metadata_of_halves` gives them.
    """
    try:
        metadata_of_halves(metadata)
    except InvalidParameterError:
        return False
    return True


def halves_of(table: Table, words: Words, columns: Sequence[str]) -> tuple[Table, Table]:
    """Return a table's two halves.

    Parameters
    ----------
    table : Table
        Whose metadata `metadata_of_halves` takes.
    words : ndarray of uint64, shape (KEY_WORDS,)
        From a source of noise: the key of the coins. Not releasable.
    columns : sequence of str
        All that will be read.

    Returns
    -------
    tuple of Table
        Each unit is in one of them, in every pass. With a `unit_id`, or people's identifiers in a long table, its coin
        is a keyed hash (BLAKE2b) of the identifier; else that of its row's place. Under ``replace_one`` and by place
        the first has exactly half of the rows, each such set with one probability.

    Notes
    -----
    The same key gives the same halves on every engine that has the rows in the same order, and of the same identifiers
    in any order. Where rows come in no certain order, from a database, a lazy expression or Spark, and have no
    identifier, the columns are held in memory as they are read once. Claim: ``halves.privacy.md``.
    """
    metadata, key = table.metadata, words.tobytes()
    first, second = metadata_of_halves(metadata)
    if isinstance(table, LongTable) and metadata.layout is not None:
        # Values of nobody among the targets count for nothing: so a half of the targets is a half of the people.
        coins: _Coins = _UnitCoins(key, metadata.layout.row)
        targets = [_Half(table.targets, half, coins, side) for side, half in enumerate((first, second))]
        first_half, second_half = (LongTable(table.values, half, half.metadata) for half in targets)
        return first_half, second_half
    if metadata.unit_id is not None:
        coins = _UnitCoins(key, metadata.unit_id)
    else:
        table = table if table.is_ordered else _in_memory(table, columns)
        coins = _PlaceCoins(key, metadata.n_rows)
    return _Half(table, first, coins, 0), _Half(table, second, coins, 1)


class _Coins(Protocol):
    """Which half each row is in."""

    @property
    def column(self) -> str | None:
        """The column of identifiers; None where a row's place says it."""

    def sides(self, batch: pa.RecordBatch, start: int) -> Sides:
        """Return the half of each row of a batch, whose first row has a place in the table."""


class _UnitCoins:
    """A coin for each identifier: one bit of a keyed hash of its text."""

    def __init__(self, key: bytes, column: str) -> None:
        self._key, self._column = key, column

    @property
    def column(self) -> str:
        return self._column

    def sides(self, batch: pa.RecordBatch, start: int) -> Sides:  # noqa: ARG002 - a unit is where its name is
        owners = batch.column(batch.schema.get_field_index(self.column))
        texts = unit_texts(keys_of(owners, as_text=not is_whole(owners.type))).dictionary_encode()
        coins = np.array([self._coin(text) for text in texts.dictionary.to_pylist()] + [2], dtype=np.uint8)
        sides: Sides = coins[texts.indices.fill_null(len(coins) - 1).to_numpy(zero_copy_only=False)]
        return sides

    def _coin(self, text: bytes) -> int:
        return hashlib.blake2b(text, digest_size=1, key=self._key).digest()[0] & 1


class _PlaceCoins:
    """A coin for each place of a row; with a public number of rows, a set of exactly half of the places."""

    def __init__(self, key: bytes, n_rows: int | None) -> None:
        self._key, self._n_rows, self._lock = key, n_rows, Lock()
        self._sides: Sides = np.empty(0, dtype=np.uint8) if n_rows is None else self._half_of(n_rows)

    @property
    def column(self) -> None:
        return None

    def sides(self, batch: pa.RecordBatch, start: int) -> Sides:
        end = start + batch.num_rows
        if self._n_rows is None:
            with self._lock:
                if end > len(self._sides):
                    self._sides = self._bits(max(end, 2 * len(self._sides), FIRST_PLACES))
        sides = self._sides[start:end]
        # More rows than were declared are in no half.
        return (
            sides if len(sides) == batch.num_rows else np.append(sides, np.full(end - start - len(sides), 2, np.uint8))
        )

    def _bits(self, n_places: int) -> Sides:
        stream = hashlib.shake_256(self._key).digest(-(-n_places // 8))
        return np.unpackbits(np.frombuffer(stream, dtype=np.uint8))

    def _half_of(self, n_rows: int) -> Sides:
        """All sets of half of the places are alike: the least of words that are all different."""
        for attempt in count():
            stream = hashlib.shake_256(self._key + attempt.to_bytes(8, "little")).digest(8 * n_rows)
            words = np.frombuffer(stream, dtype=np.uint64)
            if len(np.unique(words)) == n_rows:
                break
        sides = np.ones(n_rows, dtype=np.uint8)
        sides[np.argpartition(words, n_rows // 2 - 1)[: n_rows // 2]] = 0
        return sides


class _Half(Table):
    """The rows of a table that are on one side."""

    is_ordered: ClassVar[bool] = False

    def __init__(self, whole: Table, metadata: Metadata, coins: _Coins, side: int) -> None:
        super().__init__(metadata, whole.rows_origin)
        self._whole, self._coins, self._side = whole, coins, side

    @property
    @override
    def name(self) -> str:
        return self._whole.name

    @override
    def header(self) -> list[tuple[str, str]]:
        return self._whole.header()

    @override
    def storage_types(self) -> Mapping[str, str]:
        return self._whole.storage_types()

    @override
    def holds_file(self, path: Path) -> bool:
        return self._whole.holds_file(path)

    @override
    def require_unchanged(self) -> None:
        self._whole.require_unchanged()

    @override
    def one_state(self) -> AbstractContextManager[object]:
        return self._whole.one_state()

    @override
    def row_count(self) -> int | None:
        return self.metadata.n_rows

    @override
    def about_rows(self) -> int:
        return self._whole.about_rows()

    @override
    def feature_names(self, target: str) -> Sequence[str]:
        return self._whole.feature_names(target)

    @property
    @override
    def group_columns(self) -> int:
        return self._whole.group_columns

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        owner, start = self._coins.column, 0
        read = list(columns) if owner is None or owner in columns else [*columns, owner]
        for batch in self._whole.batches(read):
            mine = pa.array(self._coins.sides(batch, start) == self._side)
            start += batch.num_rows
            yield batch.select(range(len(columns))).filter(mine)

    @override
    def _reduced(self, row_pass: RowPass, progress: Progress | None) -> Integers:
        return super()._reduced(row_pass, None)  # it would tell how many rows are in this half


def _in_memory(table: Table, columns: Sequence[str]) -> Table:
    """Return a table whose rows were read once, in some order that stays."""
    batches = list(table.batches(columns))
    held = (
        pa.Table.from_batches(batches) if batches else pa.table({name: pa.array([], pa.string()) for name in columns})
    )
    return FrameTable(held, table.metadata)
