"""The same number and the same level for a cell however the table is stored."""

import importlib
import math
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.data.odd_cells import FLOATS, ODDITIES, TEXTS, WORDS

from discreet.data.cells import Compiled, grid_cells, level_codes, numbers, write_cells
from discreet.data.metadata import CategoryColumn, NumericColumn

# ---- numbers

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def as_python_reads(text: str | None) -> float:
    """A number in decimal notation, white space around it allowed, or a boolean."""
    text = (text or "").strip(" \t\n\v\f\r")
    if text.isascii() and text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    number = float(text) if NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else math.nan


@given(st.lists(st.none() | TEXTS, max_size=8))
@settings(max_examples=200)
def test_text_is_parsed_as_python_parses_it(texts: list[str | None]) -> None:
    """Good and bad cells side by side: the good ones are their numbers, the bad ones missing."""
    expected = [as_python_reads(text) for text in texts]
    assert np.array_equal(numbers(pa.array(texts, pa.string())), expected, equal_nan=True)


@pytest.mark.parametrize("beside", [None, "5", "x"])
@pytest.mark.parametrize("text", WORDS + ODDITIES)
def test_the_quick_parser_and_the_careful_one_agree(text: str, beside: str | None) -> None:
    """A cell is the same number alone, beside a good cell and beside one that makes the quick parser give up."""
    assert numbers(pa.array([text, beside]))[:1] == pytest.approx([as_python_reads(text)], rel=0, nan_ok=True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([2**63 - 1, -(2**63)]), [2.0**63, -(2.0**63)]),
        (pa.array([2**64 - 1], pa.uint64()), [2.0**64]),
        (pa.array([Decimal("1.50"), None]), [1.5, math.nan]),
        (pa.array([Decimal(10) ** 75], pa.decimal256(76, 0)), [1e75]),
        (pa.array([True, False, None]), [1.0, 0.0, math.nan]),
        (pa.array([math.inf, -math.inf, math.nan, 5e-324, 1e308]), [math.nan] * 3 + [5e-324, 1e308]),
        (pa.array([None, None]), [math.nan] * 2),
        (pa.array(["9" * 400, "-" + "9" * 400, "0" * 400 + "1"]), [math.nan, math.nan, 1.0]),
        (pa.chunked_array([], pa.string()), []),
    ],
)
def test_numbers_of_other_types(values: pa.Array, expected: list[float]) -> None:
    """Huge integers, decimals, booleans and the ends of float64 are the nearest float, or missing."""
    assert np.array_equal(numbers(values), expected, equal_nan=True)


def test_text_that_is_no_text_is_missing() -> None:
    """Bytes that are no UTF-8 in a text column are a missing cell, and their neighbors are not touched."""
    offsets, data = pa.py_buffer(np.array([0, 2, 3], dtype=np.int32)), pa.py_buffer(b"\xff12")
    values = pa.Array.from_buffers(pa.string(), 2, [None, offsets, data])
    assert np.array_equal(numbers(values), [math.nan, 2.0], equal_nan=True)
    assert level_codes(values, CategoryColumn(type="category", levels=("2", "x"))).tolist() == [-1, 0]


@given(st.lists(FLOATS, max_size=8))
def test_real_numbers_are_the_same_as_numbers_and_as_text(cells: list[float]) -> None:
    """The shortest text of a float parses to the same float, odd ones included."""
    typed, text = pa.array(cells, pa.float64()), pa.array([repr(cell) for cell in cells], pa.string())
    assert np.array_equal(numbers(typed), numbers(text), equal_nan=True)


# ---- levels


@pytest.mark.parametrize(
    ("levels", "cells", "codes"),
    [
        (["a", "b"], ["b", "a", "A", " a", "", None], [1, 0, -1, -1, -1, -1]),
        (["1", "2"], ["1", "1.0", " 2 ", "2e0", "3", None], [0, 0, 1, 1, -1, -1]),
        (["1", "2"], [1, 2, 3, None], [0, 1, -1, -1]),
        (["1", "2"], [1.0, 2.0, 1.5, math.nan], [0, 1, -1, -1]),
        (["1", "2"], [Decimal("1.00"), None], [0, -1]),
        (["1", "other"], [1, 2, None], [0, -1, -1]),
        (["1", "other"], ["1", "1.0", "other"], [0, 0, 1]),
        (["0", "1"], [0.0, -0.0, 1.0], [0, 0, 1]),
        (["01", "1", "2"], ["01", "1", "1.0", "2.0"], [0, 1, -1, 2]),
        (["01", "1", "2"], [1, 2], [1, 2]),
        (["01", "1", "2"], [1.0, 2.0], [-1, 2]),
        (["true", "false"], [True, False, None], [0, 1, -1]),
        (["true", "false"], ["True", "FALSE", "false", "yes"], [0, 1, 1, -1]),
        (["0", "1"], [True, False], [1, 0]),
        (["", "a"], ["", "a", None], [0, 1, -1]),
        (["9007199254740993", "a"], [9007199254740993, 9007199254740992], [0, 0]),
    ],
)
def test_cells_are_compared_as_text_and_then_as_numbers(levels: list[str], cells: list[Any], codes: list[int]) -> None:
    """The same level is found whether the table holds it as text, integer, float, decimal or boolean."""
    column = CategoryColumn(type="category", levels=tuple(levels))
    assert level_codes(pa.array(cells), column).tolist() == codes
    known = CategoryColumn(type="category", levels=tuple(levels), unknown=levels[1])
    assert level_codes(pa.array(cells), known).tolist() == [1 if code < 0 else code for code in codes]


def test_a_dictionary_may_be_as_large_as_its_index_allows():
    """256 entries behind one-byte indices, with a null: every cell gets the code that its text has."""
    entries = [f"l{i}" for i in range(256)]
    column = CategoryColumn(type="category", levels=entries[:100], unknown="l7")
    indices = pa.array([*range(256), None], pa.uint8())
    stored = pa.DictionaryArray.from_arrays(indices, pa.array(entries))
    expected = level_codes(pa.array([*entries, None]), column)
    np.testing.assert_array_equal(level_codes(stored, column), expected)
    assert expected.tolist() == [*range(100), *[7] * 157]


def test_decimals_are_read_to_the_nearest_number():
    """As text that says the same is: Arrow's own way from decimals to floats is off in the last bit for many."""
    cells = [f"{cents // 100}.{cents % 100:02}" for cents in range(0, 10_000, 7)]
    stored = pa.array([Decimal(cell) for cell in cells], pa.decimal128(10, 2))
    assert numbers(stored).tolist() == numbers(pa.array(cells)).tolist() == [float(cell) for cell in cells]


# ---- cells on the grid, in compiled code and without

KINDS = [pa.float64(), pa.float32(), pa.float16(), pa.int64(), pa.int8(), pa.uint64(), pa.bool_(), pa.string()]
EDGES = [-3.0, 2.5, np.nextafter(2.5, 3.0), -0.25, 1e308, -5e-324, math.nan, math.inf, -math.inf, 0.0, -0.0]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("options", [{}, {"missing": 1.7}, {"out_of_bounds": "missing"}], ids=str)
def test_compiled_cells_are_the_same(
    kind: pa.DataType, has_missing: bool, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit those of array code, of any type, at the ends of the bounds and beyond what a number can be."""
    rng = np.random.default_rng(9)  # noqa: TID251 - simulated cells, not noise
    values: Any = np.concatenate([EDGES, rng.normal(size=2000) * 3.0, rng.integers(-4, 4, 500)])
    if pa.types.is_boolean(kind):
        values = values > 0.0
    elif pa.types.is_integer(kind):
        limits = np.iinfo(kind.to_pandas_dtype())
        values = np.array([limits.min, limits.max, *rng.integers(0, 5, 2000)], dtype=kind.to_pandas_dtype())
    elif pa.types.is_string(kind):
        values = np.array([*map(repr, values.tolist()), *WORDS, *ODDITIES], dtype=object)
    with np.errstate(over="ignore"):
        values = values.astype(kind.to_pandas_dtype()) if pa.types.is_floating(kind) else values
    cells = pa.array(values, kind, mask=rng.random(len(values)) < 0.1 if has_missing else None)
    column = NumericColumn(type="real", lower=-3.0, upper=2.5, **options)
    center, half = -0.25, 1.9  # as of a target that is clipped
    expected = grid_cells(numbers(cells), column, center, half)
    for compiled in (None, importlib.import_module("discreet.kernels.rows.grid_compiled")):
        monkeypatch.setattr(Compiled, "code", compiled)
        cells_written = np.full(len(cells), 99, dtype=np.int16)
        write_cells(cells, column, center, half, cells_written)
        assert np.array_equal(cells_written, expected)
    assert {-32767, 32767} <= set(expected.tolist()) or not pa.types.is_floating(kind)
