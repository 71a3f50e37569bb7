"""Tables of one value a row: whose it is, of which feature, and the value; a pair that is absent is 0."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from typing_extensions import override

from discreet.data.batch_sizes import BATCH_ROWS, rows_a_batch
from discreet.data.cells import numbers
from discreet.data.columns import Codes, code_of
from discreet.data.engine import Table
from discreet.data.engines.each import WORKERS, Progress
from discreet.data.header import refuse_stored, require, shown_type
from discreet.data.metadata import Metadata
from discreet.data.people import People, Places, one_row_each, places_in
from discreet.data.scales import Scales
from discreet.data.score_design import ScoreDesign
from discreet.data.storage_types import ColumnFit, misfit, require_fit
from discreet.data.unit_keys import is_whole, keys_of
from discreet.data.value_keys import ValueKeys, passes_of
from discreet.errors import DataMismatchError, InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.release import READ, UNSTATED
from discreet.typing import Cells, Integers

CHUNK_ROWS = 2**21
"""Values that are looked up at once."""


class LongTable(Table):
    """A table of one value a row, and the table of the people whose values they are.

    Parameters
    ----------
    values : Table
        Has the columns that ``layout`` names.
    targets : Table
        Has ``layout.row`` and the target, and a row for each person.
    metadata : Metadata
        With `layout` and `features`.

    Notes
    -----
    Each person has one value of each feature, whatever the table holds: of several, the one that is least on the grid;
    of none, 0. Of several rows in the targets, a person has the one whose target is least on the grid. Values of
    nobody in the targets, and of what is no declared feature, count for nothing. So one person more or less changes a
    score by 1 at most.
    """

    def __init__(self, values: Table, targets: Table, metadata: Metadata) -> None:
        is_read = values.rows_origin == targets.rows_origin == READ
        super().__init__(metadata, READ if is_read else UNSTATED)
        if metadata.layout is None or metadata.features is None:
            raise InvalidParameterError("A long table must have metadata with `layout` and `features`. Declare both.")
        self.values, self.targets = values, targets
        self._layout, self._features = metadata.layout, metadata.features

    @property
    @override
    def name(self) -> str:
        return self.values.name

    @property
    @override
    def locator(self) -> str | None:
        if self.values.locator is None or self.targets.locator is None:
            return None
        return f"{self.values.locator}\n{self.targets.locator}"

    @override
    def detach(self) -> None:
        self.values.detach()
        self.targets.detach()

    @override
    def holds_file(self, path: Path) -> bool:
        return self.values.holds_file(path) or self.targets.holds_file(path)

    @override
    def header(self) -> list[tuple[str, str]]:
        return [column for column in self.targets.header() if column[0] != self._layout.row]

    @override
    def storage_types(self) -> Mapping[str, str]:
        return self.targets.storage_types()

    @override
    def row_count(self) -> int | None:
        return self.targets.row_count()

    @override
    def feature_names(self, target: str) -> Sequence[str]:
        return self._features.listed() or ()

    @override
    def require_unchanged(self) -> None:
        self.values.require_unchanged()
        self.targets.require_unchanged()

    @override
    @contextmanager
    def one_state(self) -> Iterator[None]:
        with self.values.one_state(), self.targets.one_state():
            yield

    @override
    def check(self, columns: Sequence[str]) -> None:
        self.require_unchanged()
        require(self.values.header(), (self._layout.row, self._layout.feature, self._layout.value))
        require(self.targets.header(), (self._layout.row, *(n for n in columns if n in self.metadata.columns)))
        refuse_stored(self.targets.header(), self.metadata.derived)
        value = self.fit_of_values()
        if value.problem is not None:
            raise DataMismatchError(value.complaint)
        require_fit(self.metadata, self.storage_types(), [n for n in columns if n in self.metadata.columns])
        self.check_row_count()

    def fit_of_values(self) -> ColumnFit:
        """Return what is declared of the features beside the storage type of the values; no row is read."""
        name = self._layout.value
        require(self.values.header(), (name,))
        storage = self.values.storage_types().get(name)
        problem = None if storage is None else misfit(self._features, storage)
        return ColumnFit(name, self._features.type, None if storage is None else shown_type(storage), problem)

    @override
    def products(self, design: ScoreDesign, progress: Progress | None = None) -> Integers:
        as_text = self._as_text()
        people, response = self._people(design, as_text)
        scales = Scales.of([self._features]).saturated(design.saturation)
        zero = int(scales.cells(np.zeros(1))[0])
        places = _finder(design.features, self.metadata)
        n_values = self.values.about_rows() or None
        total = np.full(len(design.features), zero * int(response.sum()), dtype=np.int64)
        for first, width, part, n_parts in passes_of(n_values, people.size, len(total)):
            keys = ValueKeys(people.size, n_values, part, n_parts)
            for person, feature, cell in self._values(people, as_text, places, scales):
                if width < len(total):
                    feature = np.where((feature >= first) & (feature < first + width), feature - first, np.int32(-1))
                keys.add(person, feature, cell)
            keys.add_to(total[first : first + width], response, zero)
        if progress is not None:
            progress(len(total))
        return total

    @override
    def target_sum(self, design: ScoreDesign) -> tuple[int, int]:
        people, response = self._people(design, self._as_text())
        return int(response.sum()), people.size

    @override
    def target_counts(self, design: ScoreDesign, places: Callable[[Cells], Integers], n_points: int) -> Integers:
        _, response = self._people(design, self._as_text())
        return places(response.astype(np.int16)[:, None])

    @override
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # One row a person, with a column for each of a few features: for a model on those that were selected.
        as_text = self._as_text()
        own_columns = [name for name in columns if name in self.metadata.columns]
        features = [name for name in columns if name not in self.metadata.columns]
        people, rows = one_row_each(self.targets.batches((self._layout.row, *own_columns)), as_text)
        dense = self._dense(people, as_text, features) if features else np.empty((people.size, 0))
        if not people.size:
            return
        arrays = {name: rows[place] for place, name in enumerate(own_columns)}
        size = rows_a_batch(BATCH_ROWS, len(columns))
        for start in range(0, people.size, size):
            block = dense[start : start + size]
            part = {name: array.slice(start, size) for name, array in arrays.items()}
            part |= {name: pa.array(block[:, place]) for place, name in enumerate(features)}
            yield pa.RecordBatch.from_arrays([part[name] for name in columns], names=list(columns))

    def _dense(self, people: People, as_text: bool, features: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return each person's values of some features in their unit, clipped to the bounds and on the grid."""
        scales = Scales.of([self._features])
        keys = ValueKeys(people.size, None)
        for part in self._values(people, as_text, _finder(features, self.metadata), scales):
            keys.add(*part)
        cells = np.full((people.size, len(features)), scales.cells(np.zeros(1))[0])
        feature, person, cell = keys.distinct()
        cells[person, feature] = cell
        return np.clip(cells / GRID * scales.half + scales.middle, scales.lower, scales.upper)

    def _as_text(self) -> bool:
        """Tell whether identifiers must be compared as text: only a storage type decides."""
        for table in (self.values, self.targets):
            for batch in table.batches((self._layout.row,)):
                if not is_whole(batch.schema.field(0).type):
                    return True
                break
        return False

    def _people(self, design: ScoreDesign, as_text: bool) -> tuple[People, Integers]:
        response = design.group(0, 0)
        batches = self.targets.batches((self._layout.row, *response.columns))
        places = range(1, 1 + len(response.columns))
        return People.of(((batch.column(0), response.encode(batch.select(places))[:, 0]) for batch in batches), as_text)

    def _values(
        self, people: People, as_text: bool, places: Callable[[pa.Array], Places], scales: Scales
    ) -> Iterator[tuple[Places, Places, Cells]]:
        """Yield person, feature and integer of each value; two threads look them up while the next are read."""

        def look_up(batches: list[pa.RecordBatch]) -> tuple[Places, Places, Cells]:
            row, feature, value = (pa.chunked_array(parts).combine_chunks() for parts in zip(*batches, strict=True))
            cells = scales.cells(numbers(value)).astype(np.int16)
            return people.places(keys_of(row, as_text)), places(feature), cells

        lookups: deque[Future[tuple[Places, Places, Cells]]] = deque()
        with ThreadPoolExecutor(WORKERS) as pool:
            for batches in self._chunks():
                lookups.append(pool.submit(look_up, batches))
                if len(lookups) > WORKERS:
                    yield lookups.popleft().result()
            while lookups:
                yield lookups.popleft().result()

    def _chunks(self) -> Iterator[list[pa.RecordBatch]]:
        chunk: list[pa.RecordBatch] = []
        layout = self._layout
        for batch in self.values.batches((layout.row, layout.feature, layout.value)):
            chunk.append(batch)
            if sum(len(part) for part in chunk) >= CHUNK_ROWS:
                yield chunk
                chunk = []
        if chunk:
            yield chunk


def _finder(features: Sequence[str], metadata: Metadata) -> Callable[[pa.Array], Places]:
    """Return a function from the cells of a long table's column to the features of a design."""
    if metadata.features is None or metadata.features.names is not None:
        names = pa.array(features, pa.large_string())
        return lambda cells: places_in(keys_of(cells, as_text=True), names)
    count = metadata.features.count or 0
    if isinstance(features, Codes) and features.numbers == range(count):
        return lambda cells: _codes(cells, count)
    table = np.full(count + 1, -1, dtype=np.int32)  # the last one is for what is no code
    table[[code_of(name) for name in features]] = np.arange(len(features), dtype=np.int32)
    return lambda cells: table[_codes(cells, count)]


def _codes(cells: pa.Array, count: int) -> Places:
    """Return whole numbers in [0, count), -1 for any other cell."""
    values = numbers(cells)
    is_code = (values >= 0) & (values < count) & (values == np.floor(values))
    codes: Places = np.where(is_code, values, -1.0).astype(np.int32)
    return codes
