"""Cells of text that are no text: missing, wherever they are stored, and nothing else is forgiven."""

import sqlite3
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

from discreet.data.design import Design
from discreet.data.engines.text_cells import checked
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table

CELLS = [
    b"a",
    b"\xff",
    None,
    "\u00e9".encode(),
    b"",
    b"a longer one \xed\xa0\x80 than a view holds",
    b"a longer one of text",
]
SEEN = ["a", None, None, "\u00e9", "", None, "a longer one of text"]
KINDS = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}


def unchecked(kind, cells=CELLS):
    """Text whose bytes nobody has looked at."""
    stored = pa.array(cells, KINDS[kind])
    return pa.Array.from_buffers(kind, len(stored), stored.buffers())


def of(column):
    return pa.RecordBatch.from_arrays([column], names=["x"])


def coded(entries, indices):
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), entries, safe=False)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_is_no_text_is_missing(kind):
    """In text of every kind, also coded, in whole batches and in parts of them; types stay."""
    for column in (unchecked(kind), coded(unchecked(kind), range(len(CELLS)))):
        for batch in (of(column), of(column).slice(1, 5), of(column).slice(4, 0)):
            found = checked(batch)
            found.validate(full=True)
            assert found.schema == batch.schema
        assert checked(of(column)).column(0).to_pylist() == SEEN
        assert checked(of(column).slice(1, 5)).column(0).to_pylist() == SEEN[1:6]


def test_what_is_text_stays_as_it_is():
    """Nothing is copied."""
    batch = of(pa.array(["a", None]))
    assert checked(batch).column(0).buffers()[2].address == batch.column(0).buffers()[2].address


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int64()], ids=str)
def test_a_place_in_no_dictionary_is_a_missing_cell(kind, tmp_path):
    """Such as the -1 by which pandas counts one: the row that has it does not decide whether there is an answer."""
    places = pa.array([0, 99, 1, None], kind) if kind == pa.uint8() else pa.array([0, -1, 1, None], kind)
    column = pa.DictionaryArray.from_arrays(places, pa.array(["a", "b"]), safe=False)
    assert checked(of(column)).column(0).to_pylist() == ["a", None, "b", None]
    assert checked(of(column).slice(1, 2)).column(0).to_pylist() == [None, "b"]
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(str(path), of(column).schema) as writer:
        writer.write_batch(of(column))
    facts = {"dataset": "d", "unit": "person", "neighboring": "add_or_remove_one"}
    metadata = Metadata.from_value(facts | {"columns": {"x": {"type": "category", "levels": ["a", "b"]}}})
    for source in (path, pa.table({"x": pa.chunked_array([column, column[:0]])})):
        found = [cell for batch in open_table(source, metadata).batches(["x"]) for cell in batch.column(0).to_pylist()]
        assert found == ["a", None, "b", None]


@pytest.mark.parametrize("damage", ["offset", "offset in a dictionary"])
def test_a_damaged_batch_is_refused(damage):
    """Also where one of its cells is no text: what points elsewhere in memory is never followed."""
    offsets = pa.py_buffer(np.array([0, 10**6, 3], dtype=np.int32))
    wrong = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xffa")])
    column = {
        "offset": wrong,
        "offset in a dictionary": coded(wrong, [0, 1]),
    }[damage]
    with pytest.raises(pa.ArrowInvalid):
        checked(of(column))


def to_arrow(folder, table):
    path = folder / "t.arrow"
    pyarrow.feather.write_feather(table, str(path), compression="uncompressed")
    return path


def to_sqlite(folder, table):
    path = folder / "t.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x REAL, y REAL, g TEXT, who TEXT)")
        rows = zip(*(column.cast(KINDS.get(column.type, column.type)).to_pylist() for column in table), strict=True)
        connection.executemany("INSERT INTO t VALUES (?, ?, CAST(? AS TEXT), CAST(? AS TEXT))", rows)
    connection.close()
    return path


@pytest.mark.parametrize("unit_id", [None, "who"])
@pytest.mark.parametrize("to_file", [to_arrow, to_sqlite])
def test_a_cell_that_is_no_text_counts_as_a_missing_one(tmp_path, to_file, unit_id):
    """The pass comes to its end, and to the same integers; two identifiers that are no text are not one unit."""
    number = {"type": "real", "lower": 0, "upper": 10}
    columns = {"x": number, "y": number, "g": {"type": "category", "levels": ["a", "b"]}}
    facts = {"dataset": "d", "unit": "person", "neighboring": "add_or_remove_one", "columns": columns}
    metadata = Metadata.from_value(facts | ({"unit_id": unit_id} if unit_id else {}))
    numbers = {"x": [1.0, 2.0, 3.0, 4.0], "y": [5.0, 3.0, 1.0, 2.0]}
    bad = {"g": [b"a", b"b\xff", b"b", b"a"], "who": [b"1", b"2", b"\xff", b"\xfe"]}
    table = pa.table({**numbers, **{name: unchecked(pa.string(), cells) for name, cells in bad.items()}})
    mended = pa.table({**numbers, "g": ["a", None, "b", "a"], "who": ["1", "2", None, None]})
    design = Design.plan(metadata, "y")
    found = open_table(to_file(tmp_path, table), metadata).moments(design)
    np.testing.assert_array_equal(found, open_table(mended, metadata).moments(design))
    assert found[0, 0] == (2 if unit_id else 4) * 32767**2


@pytest.mark.parametrize(
    ("make", "digits", "most"),
    [(pa.decimal32, 3, 9), (pa.decimal64, 3, 18), (pa.decimal128, 3, 38), (pa.decimal256, 3, 76)],
)
@pytest.mark.parametrize("scale", [1, 0, -2])
def test_a_decimal_of_too_many_digits_is_missing(make, digits, most, scale):
    """Of any storage and scale; the others stay to the last digit, also in a slice."""
    unit = Decimal(1).scaleb(-scale)
    wide = pa.array([15 * unit, 999 * unit, None, 1000 * unit, -1000 * unit, -999 * unit], make(most, scale))
    narrow = pa.Array.from_buffers(make(digits, scale), len(wide), wide.buffers())
    with pytest.raises(pa.ArrowInvalid):
        narrow.validate(full=True)
    seen = [15 * unit, 999 * unit, None, None, None, -999 * unit]
    assert checked(of(narrow)).column(0).to_pylist() == seen
    assert checked(of(narrow[3:])).column(0).to_pylist() == seen[3:]


def test_a_file_with_such_a_decimal_is_read(tmp_path):
    """An Arrow file whose cell has more digits than it declares is a table like any other, its cell missing."""
    wide = pa.array([Decimal("1.5"), Decimal("12345.5"), Decimal("2.5")], pa.decimal128(38, 1))
    narrow = pa.Array.from_buffers(pa.decimal128(3, 1), 3, wide.buffers())
    table = pa.Table.from_batches([pa.RecordBatch.from_arrays([narrow, pa.array([0.5] * 3)], names=["x", "y"])])
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    box = {"type": "real", "lower": 0, "upper": 4}
    metadata = Metadata.from_value(
        {"dataset": "d", "unit": "p", "neighboring": "add_or_remove_one", "columns": {"x": box, "y": box}}
    )
    design = Design.plan(metadata, "y")
    missing = pa.table({"x": [1.5, None, 2.5], "y": [0.5] * 3})
    expected = open_table(missing, metadata).moments(design)
    np.testing.assert_array_equal(open_table(tmp_path / "t.arrow", metadata).moments(design), expected)
