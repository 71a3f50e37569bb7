"""At most so many rows of one unit, chosen by that unit's rows alone, in any order and any storage."""

from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.contribution_bound import UnitRows
from discreet.data.design import Design
from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.data.row_pass import owned_rows
from discreet.data.score_design import ScoreDesign
from discreet.data.unit_keys import is_whole, keys_of, parts_of, unit_keys, unit_words
from discreet.kernels.moments.moments import GRID

BOX = {"type": "real", "lower": -1, "upper": 1}
SITE = {"type": "category", "levels": ["a", "b"], "unknown": "b"}

Row = tuple[Any, float | None, str | None, float | None]
"""Identifier, x, site, y."""


def declared(rows_per_unit: int) -> Metadata:
    """A table where a person may own so many rows."""
    value = {"dataset": "t", "unit": "person", "neighboring": "add_or_remove_one", "unit_id": "pid"}
    return Metadata.from_value(value | {"rows_per_unit": rows_per_unit, "columns": {"x": BOX, "site": SITE, "y": BOX}})


def batch_of(rows: list[Row], id_type: pa.DataType | None = None) -> pa.RecordBatch:
    """Rows in the order given."""
    ids, x, site, y = zip(*rows, strict=True) if rows else ((), (), (), ())
    columns = [
        pa.array(x, pa.float64()),
        pa.array(site, pa.string()),
        pa.array(y, pa.float64()),
        pa.array(ids, id_type),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["x", "site", "y", "pid"])


def bounded(
    rows: list[Row], k: int, *, split: int | None = None, id_type: pa.DataType | None = None, n_parts: int = 1
) -> Counter:
    """The rows that remain, as a multiset of their integers."""
    design = Design.plan(declared(k), "y")
    whole = batch_of(rows, id_type)
    batches = [whole] if split is None else [whole.slice(0, split), whole.slice(split)]
    found = [np.empty((0, 5), int)]
    for part in range(n_parts):
        units = UnitRows(design.n_columns)
        for batch in batches:
            units.add(*owned_rows(batch, design, part, n_parts))
        found += units.bounded_blocks(k, 3)
    return Counter(map(tuple, np.concatenate(found).tolist()))


def encoded(rows: list[Row]) -> Counter:
    """All rows, as a multiset of their integers."""
    return Counter(map(tuple, Design.plan(declared(1), "y").encode(batch_of(rows)).tolist()))


cells = st.none() | st.floats(-1.2, 1.2) | st.sampled_from([0.0, 0.5, float("nan")])
rows = st.tuples(st.sampled_from(["p", "q", "r"]), cells, st.sampled_from(["a", "b", "z", None]), cells)
tables = st.lists(rows, max_size=14)


@given(tables, st.integers(1, 4))
@settings(max_examples=20)
def test_each_unit_keeps_its_first_rows_alone(table: list[Row], k: int) -> None:
    """What remains is, unit by unit, at most k of its own rows, and all of them when there are no more."""
    total: Counter = Counter()
    for unit in "pqr":
        own = [row for row in table if row[0] == unit]
        alone = bounded(own, k)
        assert alone <= encoded(own)
        assert alone.total() == min(k, len(own))
        total += alone
    assert bounded(table, k) == total


@given(tables, st.integers(1, 4), st.randoms(use_true_random=False), st.integers(0, 14))
@settings(max_examples=20)
def test_order_and_batches_do_not_matter(table: list[Row], k: int, random: Any, split: int) -> None:
    """Shuffled rows in other batches leave the same rows."""
    shuffled = list(table)
    random.shuffle(shuffled)
    assert bounded(shuffled, k, split=min(split, len(table))) == bounded(table, k)


@given(tables, st.integers(1, 4), st.integers(2, 5), st.sampled_from([pa.string(), pa.large_string()]))
@settings(max_examples=20)
def test_parts_of_the_units_make_the_whole(table: list[Row], k: int, n_parts: int, id_type: pa.DataType) -> None:
    """Units that are looked at a part at a time leave the same rows as all at once."""
    assert bounded(table, k, n_parts=n_parts, id_type=id_type) == bounded(table, k)


@pytest.mark.parametrize("as_text", [False, True])
def test_parts_are_of_about_the_same_size(as_text: bool) -> None:
    """Neighboring identifiers are spread evenly, and an identifier is in the same part in every slice."""
    keys = keys_of(pa.array(range(-2000, 6000)), as_text)
    found = parts_of(keys, 5)
    assert found.min() == 0
    assert found.max() == 4
    assert np.abs(np.bincount(found) - 1600).max() < 5 * 36
    assert np.array_equal(parts_of(keys.slice(700, 300), 5), found[700:1000])


def test_equal_words_of_different_rows_leave_the_choice_to_the_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a hash tells rows apart no more, what remains still does not depend on their order."""
    monkeypatch.setattr("discreet.kernels.rows.contribution_bound.mixed", lambda words: words * np.uint64(0))
    table: list[Row] = [("p", x / 10, "a", 0.0) for x in range(6)]
    assert bounded(table, 2) == bounded(table[::-1], 2) == bounded([table[i] for i in (3, 0, 5, 1, 4, 2)], 2)


@given(tables, st.lists(rows.map(lambda row: ("p", *row[1:])), max_size=9), st.integers(1, 3))
@settings(max_examples=20)
def test_one_unit_changes_at_most_k_rows(table: list[Row], others: list[Row], k: int) -> None:
    """When all rows of a person are replaced, at most k rows go and at most k come."""
    replaced = [row for row in table if row[0] != "p"] + others
    before, after = bounded(table, k), bounded(replaced, k)
    assert (before - after).total() <= k
    assert (after - before).total() <= k


@pytest.mark.parametrize("most", [1, 3])
def test_every_way_to_the_rows_is_cut(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Sums, scores and rows in memory: of a person with ten rows in five batches no more count than declared."""
    monkeypatch.setattr("discreet.data.engines.frame.BATCH_ROWS", 2)
    pids = pa.array(["p"] * 10)
    table = FrameTable(pa.table({"x": [0.5] * 10, "site": ["a"] * 10, "y": [1.0] * 10, "pid": pids}), declared(most))
    design, scores = Design.plan(table.metadata, "y"), ScoreDesign.plan(table.metadata, "y", ["x"])
    assert table.moments(design)[0, 0] == most * GRID**2
    assert sum(map(len, table.encoded(design))) == most
    assert table.target_sum(scores) == (most * GRID, most)
    assert table.products(scores).tolist() == [most * round(GRID / 2) * GRID]


def test_the_choice_favors_no_value() -> None:
    """Among many units with a low and a high row, about half keep each: the hash decides, not the cells' size."""
    table = [(unit, sign * (unit + 1) / 1000, "a", 0.0) for unit in range(400) for sign in (-1, 1)]
    found = bounded(table, 1)
    low = sum(count for row, count in found.items() if row[1] < 0)
    assert found.total() == 400
    assert 120 < low < 280


def test_rows_of_nobody_are_left_out() -> None:
    """A row without an identifier, or with one that is not finite, could be anybody's: none remains."""
    table: list[Row] = [(None, 0.1, "a", 0.0), (None, 0.2, "a", 0.0), ("p", 0.3, "a", 0.0)]
    assert bounded(table, 5) == encoded(table[2:])
    numbered = [(float("nan"), 0.1, "a", 0.0), (float("inf"), 0.2, "a", 0.0), (7.0, 0.3, "a", 0.0)]
    assert bounded(numbered, 5) == encoded(numbered[2:])


def test_no_rows_leave_no_rows() -> None:
    """An empty table, and one of nobody's rows, are cut to nothing."""
    assert bounded([], 3, id_type=pa.string()) == Counter()
    assert bounded([(None, 0.1, "a", 0.0)], 3, id_type=pa.int64()) == Counter()


IDS = {
    "integers": pa.array([7, 7, 8, 7]),
    "small integers": pa.array([7, 7, 8, 7], pa.uint8()),
    "floats": pa.array([7.0, 7.0, 8.0, 7.0]),
    "decimals": pa.array([Decimal("7.00"), Decimal("7.00"), Decimal("8.00"), Decimal("7.00")]),
    "text": pa.array(["7", "7", "8", "7"]),
    "large text": pa.array(["7", "7", "8", "7"], pa.large_string()),
    "text view": pa.array(["7", "7", "8", "7"], pa.string_view()),
    "coded text": pa.array(["7", "7", "8", "7"]).dictionary_encode(),
    "coded integers": pa.array([7, 7, 8, 7]).dictionary_encode(),
    "chunks": pa.chunked_array([["7"], ["7", "8", "7"]]),
}


WHOLE = [0, 7, -3, 1100, 2**53 - 1]
STORED = {
    "integers": pa.array(WHOLE),
    "unsigned": pa.array([max(number, 0) for number in WHOLE], pa.uint64()),
    "floats": pa.array([float(number) for number in WHOLE]),
    "decimals": pa.array([Decimal(number) for number in WHOLE], pa.decimal128(30, 5)),
    "text": pa.array(map(str, WHOLE)),
    "text of floats": pa.array([f"{number}.0" for number in WHOLE]),
    "text of decimals": pa.array([f"{number}.00" for number in WHOLE], pa.string_view()),
    "coded text": pa.array(map(str, WHOLE)).dictionary_encode(),
    "bytes": pa.array([str(number).encode() for number in WHOLE]),
}
"""The same numbers; the last as Spark's workers get them."""


@pytest.mark.parametrize("storage", STORED)
def test_a_unit_s_sample_is_the_same_in_every_storage(storage: str) -> None:
    """A number has one hash, however it is stored or written."""
    values = STORED[storage]
    keys = values if storage == "bytes" else keys_of(values, as_text=not is_whole(values.type))
    expected = unit_words(pa.array(WHOLE))
    same = np.array(WHOLE) >= 0 if storage == "unsigned" else np.full(len(WHOLE), True)
    assert unit_words(keys)[same].tolist() == expected[same].tolist()
    assert len(set(expected.tolist())) == len(WHOLE)


def test_names_that_are_no_numbers_have_hashes_of_their_own() -> None:
    """Codes, dates and addresses with dots or zeros stay apart; no text is refused."""
    names = [
        "7",
        "07",
        "7.",
        "7.5",
        "7.05",
        "-7",
        "1.2.3",
        "10.0.0.0",
        "10.0.0",
        ".0",
        ".",
        "a.0",
        "a",
        "٣.0",
        "٣",
        "1e3",
    ]
    words = unit_words(pa.array(names)).tolist()
    assert len(set(words)) == len(names) - 1
    assert words[0] == words[2]
    assert unit_words(pa.array([b"\xff.0", b"\xff"])).tolist()[0] not in words


@given(st.lists(st.text(max_size=9), max_size=20), st.integers(1, 5))
@settings(max_examples=20)
def test_a_hash_is_of_one_name_alone(names: list[str], at_once: int) -> None:
    """Whatever is hashed beside it, and however many at once."""
    alone = [unit_words(pa.array([name])).tolist()[0] for name in names]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.data.unit_keys.HASHED_KEYS", at_once)
        assert unit_words(pa.array(names, pa.string())).tolist() == alone


@pytest.mark.parametrize("storage", IDS)
def test_identifiers_are_the_same_in_every_storage(storage: str) -> None:
    """Seven is one unit, and eight another, however the column is typed."""
    assert unit_keys(IDS[storage]).to_pylist() == ["7", "7", "8", "7"]


def test_large_numbers_are_units_of_their_own() -> None:
    """Beyond 64 bits with a sign, too, a real number is written out, and stays apart from its neighbors."""
    numbers = [2.0**62, 2.0**63, -(2.0**63), 1.5 * 2.0**63, 2.0**64, -1e30, 0.1, -0.5, 2.0**51 + 0.5, -0.0]
    expected = [str(int(number)) for number in numbers[:6]] + ["0.1", "-0.5", "2251799813685248.5", "0"]
    assert unit_keys(pa.array([*numbers, None, float("nan")])).to_pylist() == [*expected, None, None]


def test_empty_texts_are_identifiers() -> None:
    """The empty text is a unit like any other, wherever it stands."""
    keys = pa.array(["", "a", "", "bb", ""], pa.large_string())
    found = parts_of(keys, 7)
    assert len({found[0], found[2], found[4]}) == 1
    assert parts_of(pa.array(["", ""], pa.large_string()), 7).tolist() == [found[0]] * 2
    beside, alone = keys, keys.take(pa.array([1, 3]))
    assert parts_of(beside, 10**6)[[1, 3]].tolist() == parts_of(alone, 10**6).tolist()


@pytest.mark.parametrize("scale", [0, 2, 10, 20])
def test_a_decimal_is_one_unit_at_every_scale(scale: int) -> None:
    """However many digits a storage keeps, and however it writes small numbers."""
    cells = [Decimal(0), Decimal(-0), Decimal(7), Decimal(-100)] + [Decimal("0.0000001")] * (scale >= 10)
    keys = unit_keys(pa.array(cells, pa.decimal128(38, scale))).to_pylist()
    assert keys == ["0", "0", "7", "-100", "0.0000001"][: len(cells)]
    assert unit_keys(pa.array([float(cell) for cell in cells])).to_pylist() == keys


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=8))
def test_whole_numbers_stay_apart(ids: list[int | None]) -> None:
    """No two integers become one identifier, beyond what floats hold too, and text agrees with them."""
    keys = unit_keys(pa.array(ids, pa.int64())).to_pylist()
    assert keys == unit_keys(pa.array([None if i is None else str(i) for i in ids], pa.string())).to_pylist()
    assert len(set(keys)) == len(set(ids))


@pytest.mark.parametrize("mixture", [[7, 7.0, "7", np.int64(7)], ["7", 7.0, "x", None], [Decimal(7), 7.0, True, -7]])
def test_a_number_is_one_unit_in_a_column_of_anything(mixture: list[Any]) -> None:
    """In an untyped column the cells 7, 7.0 and "7" are one unit: a person is not split by how a number was written."""
    sevens = [cell for cell in mixture if cell is not True and cell in (7, "7")]
    frame = pd.DataFrame({"pid": pd.Series(mixture, dtype=object), "x": 0.1, "site": "a", "y": 0.0})
    (batch,) = FrameTable(frame, declared(1)).batches(["pid"])
    keys = unit_keys(batch.column("pid")).to_pylist()
    assert keys.count("7") == len(sevens)


@pytest.mark.parametrize("rows_per_unit", [1, 2])
def test_moments_are_those_of_the_rows_that_remain(rows_per_unit: int) -> None:
    """An engine whose metadata name the unit's column cuts before it adds up, even to one row."""
    table = [(unit, x / 10, "a", 0.5) for unit in range(6) for x in range(unit)]
    metadata = declared(rows_per_unit)
    design = Design.plan(metadata, "y")
    moments = FrameTable(pa.table(batch_of(table).to_pydict()), metadata).moments(design)
    assert moments[0, 0] == sum(min(unit, rows_per_unit) for unit in range(6)) * 32767**2
    remaining = np.array(sorted(bounded(table, rows_per_unit).elements()))
    assert np.array_equal(moments, remaining.T @ remaining)
