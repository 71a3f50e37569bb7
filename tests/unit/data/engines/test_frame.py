"""Frames in memory: no cell may decide how another is read."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.data.design import Design
from discreet.data.engines.frame import FrameTable, column_of
from discreet.data.metadata import Metadata
from discreet.data.unit_keys import unit_keys
from discreet.errors import DataMismatchError, InvalidParameterError

METADATA = Metadata.from_value(
    {
        "dataset": "d",
        "unit": "person",
        "neighboring": "add_or_remove_one",
        "columns": {
            "x": {"type": "real", "lower": 0, "upper": 10},
            "s": {"type": "category", "levels": ["1", "2", "x", "1.10"]},
            "y": {"type": "real", "lower": 0, "upper": 10},
        },
    }
)
DESIGN = Design.plan(METADATA, "y", ["x", "s"])

ODD = [
    *(b"q", "x", None, float("nan"), float("inf"), 2**70, -(2**2000), True, Decimal("1.10"), Decimal("1e500"), 1.5),
    *(
        np.float32(0.1),
        np.int64(3),
        np.bool_(False),
        [1],
        {"a": 1},
        pd.Timestamp("2020-01-01"),
        "\ud800",
        "1\x00",
        1 + 2j,
    ),
]


def encoded(frame):
    return np.concatenate([DESIGN.encode(batch) for batch in FrameTable(frame, METADATA).batches(DESIGN.columns)])


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD, ids=lambda cell: type(cell).__name__ + repr(cell)[:12])
@pytest.mark.parametrize("usual", ["1", 1, 1.0, Decimal("1.10"), None, True])
@pytest.mark.parametrize("place", [5, 150])
def test_an_odd_cell_changes_its_own_row_alone(odd, usual, place):
    """One cell of an untyped column replaced: the integers of all other rows stay as they were."""
    column = [None] * 100 + [usual] * 100
    other = [*column]
    other[place] = odd
    frames = []
    for cells in (column, other):
        untyped = pd.Series(cells, dtype=object)
        frames.append(pd.DataFrame({"x": untyped, "s": untyped, "y": 1.0}))
    one, two = (np.delete(encoded(frame), place, axis=0) for frame in frames)
    np.testing.assert_array_equal(one, two)


def test_the_same_cells_in_any_frame_give_the_same_integers():
    """Typed and untyped pandas, polars and Arrow agree."""
    cells = {"x": [1.5, None, 11.0, -3.0], "s": ["1", "x", None, "zzz"], "y": [0.0, 10.0, None, 5.0]}
    expected = encoded(pa.table(cells))
    for frame in (pl.DataFrame(cells), pd.DataFrame(cells), pd.DataFrame(cells, dtype=object)):
        np.testing.assert_array_equal(encoded(frame), expected)


def _fails(*_):
    raise RuntimeError("secret-cell")


@pytest.mark.parametrize(("kind", "cell"), [(int, 3), (str, "x"), (Decimal, Decimal(1)), (float, 1.0), (object, None)])
def test_an_object_that_fails_at_everything_is_a_missing_cell(kind, cell):
    """Its class may do as it likes, when it is written, compared or encoded."""
    own = type(
        "Own", (kind,), dict.fromkeys(("__str__", "__repr__", "__eq__", "__abs__", "encode", "is_finite"), _fails)
    )
    odd = own() if cell is None else own(cell)
    for is_unit in (False, True):
        first, _, last = column_of([1, odd, "x"], is_unit=is_unit).to_pylist()
        assert (first, last) == ("1", "x")


def test_a_type_without_a_word_is_refused_before_a_charge():
    """As an identifier, too: of what the library has no name for, Arrow has one."""
    metadata = Metadata.from_value({**METADATA.to_dict(), "unit_id": "who"})
    who = pa.array([1.0, 1.0], pa.run_end_encoded(pa.int32(), pa.float64()))
    table = dc.open_table(pa.table({"who": who, "x": [1.0, 2.0], "s": ["1", "x"], "y": [1.0, 2.0]}), metadata)
    with pytest.raises(DataMismatchError, match="must hold numbers or text"):
        table.check(DESIGN.columns)
    nothing = pa.table({"who": pa.nulls(2), "x": pa.nulls(2), "s": ["1", "x"], "y": [1.0, 2.0]})
    dc.open_table(nothing, metadata).check(DESIGN.columns)


def test_what_is_no_frame_is_refused():
    """Something else, and doubled names, are refused without a cell."""
    with pytest.raises(InvalidParameterError, match="pandas, polars or Arrow"):
        dc.open_table(3, METADATA)
    with pytest.raises(DataMismatchError):
        dc.open_table(pd.DataFrame([[1, 2]], columns=["x", "x"]), METADATA).check(("x",))


def test_identifiers_beyond_floats_stay_apart():
    """Neighboring large identifiers are two units; 7 and 7.0 are one; a missing one is nobody."""
    big = [Decimal(10**18), Decimal(10**18 + 1)]
    assert unit_keys(pa.array(big)).to_pylist() == ["1000000000000000000", "1000000000000000001"]
    assert unit_keys(pa.array([Decimal("7.00"), Decimal("7.10"), None])).to_pylist() == ["7", "7.1", None]
    assert unit_keys(pa.array([7.0, 7.5, float("nan")])).to_pylist() == ["7", "7.5", None]
    assert unit_keys(pa.array([7, None])).to_pylist() == ["7", None]


def test_equal_identifiers_are_one_unit_however_they_are_written():
    """A column of objects, as drivers of databases return NUMERIC: one person's rows stay one person's."""
    spellings = [Decimal("7"), Decimal("7.0"), Decimal("7.000"), Decimal("70E-1"), 7, 7.0]
    small = [1e-7, Decimal("1E-7"), Decimal("0.00000010")]
    assert set(column_of(spellings, is_unit=True).to_pylist()) == {"7"}
    assert set(column_of(small, is_unit=True).to_pylist()) == set(unit_keys(pa.array([1e-7])).to_pylist())
    odd = [Decimal("-0"), Decimal("1E+2"), Decimal("1E+999")]
    assert column_of(odd, is_unit=True).to_pylist() == ["0", "100", None]
    metadata = Metadata.from_value({**METADATA.to_dict(), "unit_id": "who"})
    who = pd.Series([*spellings, *small], dtype=object)
    frame = pd.DataFrame({"who": who, "x": 1.0, "s": "1", "y": 1.0})
    table = dc.open_table(frame, metadata)
    n_rows = table.map_reduce(DESIGN, lambda cells: np.array([len(cells)]), np.zeros(1, np.int64))
    assert n_rows.tolist() == [2]


@pytest.mark.parametrize("cell", ["secret-cell", b"secret-cell", float("inf"), 2**70, np.longdouble("1e310"), None])
@pytest.mark.parametrize("where", ["X", "y", "frame"])
def test_arrays_are_taken_whatever_their_cells(cell, where, recwarn):
    """No cell of X or y can raise, or show itself in a warning."""
    X, y = [[0.1, 0.2] for _ in range(40)], [0.1] * 40
    if where == "y":
        y[7] = cell
    else:
        X[7][1] = cell
    if where == "frame":
        declared = {**METADATA.to_dict(), "columns": {n: METADATA.to_dict()["columns"]["x"] for n in ("a", "b", "y")}}
        dc.PCLS(metadata=Metadata.from_value(declared)).fit(pd.DataFrame(X, columns=["a", "b"]), y, target="y")
    else:
        dc.PCLS().fit(X, y)
    assert [str(w.message) for w in recwarn] == []


def test_an_empty_table_is_an_answer_where_its_size_is_private():
    """Under add_or_remove_one no row at all selects as any table does."""
    declared = {**METADATA.to_dict(), "columns": {n: METADATA.to_dict()["columns"]["x"] for n in ("a", "y")}}
    rows = (np.empty((0, 1)), np.empty(0))
    assert dc.PCLS(metadata=Metadata.from_value(declared)).fit(*rows, target="y").release_.selected is not None
    table = dc.open_table(rows, Metadata.from_value(declared))
    assert dc.PCLS().fit(table, target="y").release_.private
