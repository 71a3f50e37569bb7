"""The row map: total, row-local, on the grid, and the same for a cell however the table is stored."""

import datetime
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.data.odd_cells import FLOATS, TEXTS

from discreet.data.cells import level_codes, numbers
from discreet.data.design import Design
from discreet.data.metadata import CategoryColumn, Metadata
from discreet.errors import InvalidParameterError, MetadataError

GRID = 32767

COLUMNS: dict[str, Any] = {
    "clipped": {"type": "real", "lower": -3.0, "upper": 5.0},
    "strict": {"type": "integer", "lower": 0, "upper": 10, "out_of_bounds": "missing", "missing": 2},
    "tiny": {"type": "real", "lower": 1.0, "upper": 1.0 + 1e-9},
    "huge": {"type": "real", "lower": -1e100, "upper": 1e100},
    "words": {"type": "category", "levels": ["a", "b", "1", ""]},
    "digits": {"type": "category", "levels": ["0", "1", "2.5", "-3"], "unknown": "0"},
    "answers": {"type": "category", "levels": ["true", "false"]},
    "y": {"type": "real", "lower": 0, "upper": 8},
}


def a_table(columns: dict[str, Any], **changes: Any) -> Metadata:
    """Metadata of a small table."""
    value = {"dataset": "t", "unit": "person", "neighboring": "add_or_remove_one", "columns": columns}
    return Metadata.from_value(value | changes)


DESIGN = Design.plan(a_table(COLUMNS), "y", center=3.0, bound=4.0)


def encoded(values: Any, design: Design = DESIGN) -> np.ndarray:
    """Integers of a table whose every column is this one."""
    return design.encode(pa.RecordBatch.from_arrays([values] * len(design.columns), names=list(design.columns)))


# ---- any storage type

MOMENTS = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))

STORED: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "null": (pa.null(), st.none()),
    "boolean": (pa.bool_(), st.booleans()),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), st.integers(-5, 15) | st.integers(-(2**63), 2**63 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float16": (pa.float16(), st.floats(width=16).map(np.float16)),
    "float32": (pa.float32(), st.floats(width=32)),
    "float64": (pa.float64(), FLOATS),
    "decimal": (pa.decimal128(12, 3), st.decimals(-(10**8), 10**8, places=3)),
    "wide decimal": (pa.decimal256(76, 0), st.integers(-(10**75), 10**75).map(Decimal)),
    "date": (pa.date32(), MOMENTS.map(datetime.datetime.date)),
    "timestamp": (pa.timestamp("us", "UTC"), MOMENTS),
    "time": (pa.time64("us"), MOMENTS.map(datetime.datetime.time)),
    "duration": (pa.duration("us"), st.timedeltas(datetime.timedelta(-9), datetime.timedelta(9))),
    "text": (pa.string(), TEXTS),
    "large text": (pa.large_string(), TEXTS),
    "text view": (pa.string_view(), TEXTS),
    "bytes": (pa.binary(), st.binary(max_size=4)),
    "fixed bytes": (pa.binary(2), st.binary(min_size=2, max_size=2)),
    "list": (pa.list_(pa.float64()), st.lists(FLOATS, max_size=2)),
    "struct": (pa.struct([("a", pa.int64())]), st.fixed_dictionaries({"a": st.integers(0, 3)})),
    "map": (pa.map_(pa.string(), pa.int64()), st.just([("a", 1)])),
}


@st.composite
def arrays(draw: st.DrawFn) -> pa.Array:
    """Up to eight cells of any storage type, some of them missing, some types coded by a dictionary."""
    kind, cells = STORED[draw(st.sampled_from(sorted(STORED)))]
    values = pa.array(draw(st.lists(st.none() | cells, max_size=8)), type=kind)
    codable = not (pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_float16(kind))
    if not codable or not draw(st.booleans()):
        return values
    distinct = values.cast(pa.string()) if kind == pa.string_view() else values
    coded = distinct.dictionary_encode()
    return (
        pa.DictionaryArray.from_arrays(coded.indices, coded.dictionary.cast(kind)) if distinct is not values else coded
    )


@pytest.mark.slow
@given(arrays())
@settings(max_examples=200)
def test_every_cell_of_every_type_becomes_integers_on_the_grid(values: pa.Array) -> None:
    """Whatever the cells, no error, one row a row, and nothing beyond 32767."""
    cells = encoded(values)
    assert cells.shape == (len(values), DESIGN.n_columns)
    assert cells.dtype == np.int16
    assert (np.abs(cells.astype(np.int64)) <= GRID).all()
    assert (cells[:, 0] == GRID).all()


@pytest.mark.slow
@given(arrays())
@settings(max_examples=200)
def test_a_row_is_read_alone(values: pa.Array) -> None:
    """Each row is what it is in a table of its own: no other row, whatever it holds, has a say."""
    cells = encoded(values)
    for i in range(len(values)):
        assert np.array_equal(cells[i : i + 1], encoded(values.slice(i, 1)))


@given(arrays())
def test_other_rows_may_be_anything(values: pa.Array) -> None:
    """Rows keep their integers in any order and beside any other rows of the column."""
    cells = encoded(values)
    again = encoded(pa.concat_arrays([values.slice(1), values, values.slice(0, 1)]))
    assert np.array_equal(again[max(len(values) - 1, 0) :][: len(values)], cells)


@pytest.mark.slow
@given(st.lists(st.none() | TEXTS, max_size=8))
def test_the_storage_of_text_does_not_matter(texts: list[str | None]) -> None:
    """Plain, large, viewed, coded and chunked text give the same numbers and the same levels."""
    plain = pa.array(texts, pa.string())
    coded = plain.dictionary_encode()
    viewed = pa.DictionaryArray.from_arrays(coded.indices, coded.dictionary.cast(pa.string_view()))
    stored = [plain.cast(pa.large_string()), plain.cast(pa.string_view()), coded, viewed]
    chunked = [
        pa.chunked_array([plain.slice(0, 2), plain.slice(2)]),
        pa.chunked_array([coded.slice(0, 1), coded.slice(1)]),
    ]
    columns = [COLUMNS[name] for name in ("words", "digits", "answers")]
    for values in (*stored, *chunked):
        assert np.array_equal(numbers(values), numbers(plain), equal_nan=True)
        for column in map(CategoryColumn.model_validate, columns):
            assert np.array_equal(level_codes(values, column), level_codes(plain, column))


@given(st.lists(st.none() | st.integers(-5, 15) | st.integers(-(2**62), 2**62), max_size=8))
def test_whole_numbers_are_the_same_as_numbers_and_as_text(cells: list[int | None]) -> None:
    """An integer is the same cell in a column of integers and in one of text."""
    typed = pa.array(cells, pa.int64())
    assert np.array_equal(encoded(typed), encoded(typed.cast(pa.string())))


@pytest.mark.slow
@given(st.lists(st.none() | st.booleans(), max_size=8))
def test_truth_is_the_same_as_boolean_and_as_text(cells: list[bool | None]) -> None:
    """True and false are the same cells in a column of booleans and in one of text, upper case or lower."""
    typed = pa.array(cells, pa.bool_())
    assert np.array_equal(encoded(typed), encoded(typed.cast(pa.string())))
    shouted = pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
    for name in ("clipped", "digits", "answers"):
        design = Design.plan(a_table({name: COLUMNS[name], "y": COLUMNS["y"]}), "y")
        assert np.array_equal(encoded(typed, design), encoded(shouted, design))


# ---- levels


def test_a_level_is_one_dummy() -> None:
    """A cell sets the dummy of its level alone; one of no level sets none, or that of the unknown level."""
    columns = {"words": COLUMNS["words"], "digits": COLUMNS["digits"], "y": COLUMNS["y"]}
    design = Design.plan(a_table(columns), "y")
    dummies = encoded(pa.array(["b", "2.5", "1", None]), design)[:, 1:9] // GRID
    assert dummies.tolist() == [
        [0, 1, 0, 0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 0],
        [0, 0, 1, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 1, 0, 0, 0],
    ]


# ---- the grid


def one_column(column: dict[str, Any]) -> Design:
    """A design of one numeric candidate."""
    return Design.plan(a_table({"x": {"type": "real"} | column, "y": COLUMNS["y"]}), "y")


@pytest.mark.parametrize(
    ("column", "cell", "expected"),
    [
        *[({}, cell, cell / 5 - 1) for cell in (0, 5, 10, 2.5)],
        *[({}, cell, 0) for cell in (None, math.nan, math.inf, -math.inf)],
        *[({}, cell, 1) for cell in (10.1, 1e308, 1e100)],
        *[({}, cell, -1) for cell in (-0.0, 5e-324, -1e308, -5e-324)],
        *[({"missing": 2}, cell, -0.6) for cell in (None, math.nan, math.inf)],
        ({"missing": 2}, 11.0, 1),
        ({"missing": 0}, None, -1),
        *[({"out_of_bounds": "missing"}, cell, 0) for cell in (10.1, -5e-324, 1e308, None, math.inf)],
        *[({"out_of_bounds": "missing", "missing": 10}, cell, 1) for cell in (10.1, -1.0, None)],
        *[({"out_of_bounds": "missing"}, cell, cell / 5 - 1) for cell in (0.0, 10.0)],
    ],
)
def test_cells_are_clipped_or_missing_as_declared(column: dict[str, Any], cell: Any, expected: float) -> None:
    """Bounds 0 .. 10 become -1 .. 1; what is missing, odd or outside becomes what the metadata say."""
    design = one_column({"lower": 0, "upper": 10} | column)
    assert encoded(pa.array([cell, 5.0], pa.float64()), design)[0, 1] == round(expected * GRID)


def test_bounds_may_end_at_zero() -> None:
    """Nothing is cut between -4 and 0."""
    design = one_column({"lower": -4, "upper": 0})
    assert encoded(pa.array([-4.0, -2.0, -0.5, 0.0, 1.0]), design)[:, 1].tolist() == [
        -GRID, 0, round(0.75 * GRID), GRID, GRID
    ]  # fmt: skip


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5))
def test_cells_are_the_nearest_point_of_the_grid(lower: float, width: float, cells: list[float]) -> None:
    """Clipped, centered and scaled exactly, a cell is within rounding of half a step of its integer."""
    upper = lower + width
    found = encoded(pa.array(cells), one_column({"lower": lower, "upper": upper}))[:, 1]
    for cell, integer in zip(cells, found.tolist(), strict=True):
        value = min(max(Fraction(cell), Fraction(lower)), Fraction(upper))
        exact = (value - (Fraction(lower) + Fraction(upper)) / 2) / ((Fraction(upper) - Fraction(lower)) / 2) * GRID
        assert abs(exact - integer) <= Fraction(1, 2) + Fraction(1, 10**5)


@pytest.mark.parametrize(
    ("center", "bound", "cell", "expected"),
    [
        (None, None, 8.0, 1.0),
        (None, None, None, 0.0),
        (0.0, None, 8.0, 1.0),
        (0.0, None, None, 0.0),
        (0.0, 4.0, 8.0, 1.0),
        (0.0, 4.0, 1.0, 0.25),
        (2.0, None, 0.0, -1 / 3),
        (2.0, None, 8.0, 1.0),
        (2.0, 1.0, 0.0, -1.0),
        (2.0, 1.0, 2.5, 0.5),
        (8.0, 8.0, 0.0, -1.0),
        (8.0, 2.0, 7.0, -0.5),
    ],
)
def test_the_target_is_centered_and_bounded_as_asked(
    center: float | None, bound: float | None, cell: float | None, expected: float
) -> None:
    """The target lies in [-1, 1] around its center in units of its bound; a missing one is the center."""
    design = Design.plan(a_table(COLUMNS), "y", center=center, bound=bound)
    assert encoded(pa.array([cell, 1.0], pa.float64()), design)[0, -1] == round(expected * GRID)


def test_a_missing_target_becomes_what_is_declared() -> None:
    """The declared value of a missing target is centered and bounded like any other."""
    columns = COLUMNS | {"y": COLUMNS["y"] | {"missing": 6}}
    design = Design.plan(a_table(columns), "y", center=4.0, bound=8.0)
    assert encoded(pa.array([None], pa.float64()), design)[0, -1] == round(0.25 * GRID)


# ---- rows of bounded length


@given(st.lists(st.tuples(*[st.floats(-1, 1)] * 4), min_size=1, max_size=6), st.sampled_from([0.3, 1.0, 1.5]))
def test_longer_rows_are_weighted_down_to_the_norm(rows: list[tuple[float, ...]], norm: float) -> None:
    """No x is longer; constant, x and y of a longer row have one factor, by x alone; others stay."""
    columns = {name: {"type": "real", "lower": -1, "upper": 1} for name in "abcy"}
    plain = Design.plan(a_table(columns), "y")
    weighted = replace(plain, row_norm=norm)
    batch = pa.RecordBatch.from_arrays([pa.array(column) for column in zip(*rows, strict=True)], names=list("abcy"))
    before, after = (plan.encode(batch).astype(np.int64) for plan in (plain, weighted))
    assert after.shape[1] == weighted.n_columns == before.shape[1] + 1
    assert (after[:, 0] == GRID).all()
    assert weighted.constant == int(GRID * min(norm, 1.0) / 2)
    for long, short in zip(before, after[:, 1:], strict=True):
        whole = np.append(weighted.constant, long[1:])
        squares, most = int((long[1:-1] ** 2).sum()), Fraction(norm) ** 2 * GRID**2
        assert int((short[1:-1] ** 2).sum()) <= most
        if squares <= most - 1:
            assert np.array_equal(short, whole)
        else:
            # Half a step is rounding; of a root of three half steps' length is left for the rounding of x.
            room = 0.5 + math.sqrt(3) / 2 / math.sqrt(squares) * GRID
            assert np.abs(short - whole * (norm * GRID / math.sqrt(squares))).max() <= room + 1e-6


@given(st.tuples(*[st.integers(-GRID, GRID)] * 3).filter(any), st.sampled_from([-0.0002, 0.01]))
def test_the_norm_is_kept_to_less_than_a_step(cells: tuple[int, ...], more: float) -> None:
    """A row that is longer by a millionth of a step is shortened, one that is not is left as it is."""
    squares = sum(cell**2 for cell in cells)
    norm = math.sqrt(squares + more) / GRID
    columns = {name: {"type": "real", "lower": -1, "upper": 1} for name in "abcy"}
    design = replace(Design.plan(a_table(columns), "y"), row_norm=norm)
    values = [pa.array([cell / GRID]) for cell in (*cells, 0)]
    found = design.encode(pa.RecordBatch.from_arrays(values, names=list("abcy")))[0, 2:-1].tolist()
    if more < 0:
        assert sum(cell**2 for cell in found) < squares
        assert all(abs(abs(cell) - abs(less)) <= 2 for cell, less in zip(cells, found, strict=True))
    else:
        assert found == list(cells)


@given(st.lists(st.tuples(*[st.floats(-6, 6)] * 2, st.floats(-1, 9)), min_size=1, max_size=6))
def test_unit_rows_are_weighted_rows(rows: list[tuple[float, ...]]) -> None:
    """The target is clipped around its center, all is divided by the length of x, and the target is clipped again."""
    columns = {name: {"type": "real", "lower": -4, "upper": 4} for name in "ab"}
    metadata = a_table(columns | {"y": COLUMNS["y"]})
    design = replace(Design.plan(metadata, "y", center=3.0, bound=1.5), unit_bound=4.0)
    batch = pa.RecordBatch.from_arrays([pa.array(column) for column in zip(*rows, strict=True)], names=["a", "b", "y"])
    found = design.encode(batch).astype(float) / GRID
    assert design.n_columns == found.shape[1] == 5
    x = np.clip(np.array(rows)[:, :2], -4, 4) / 4
    y = np.clip(np.clip(np.array(rows)[:, 2], 0, 8) - 3.0, -4.0, 4.0)
    length = np.maximum(np.sqrt(0.25 + (x**2).sum(axis=1)), math.sqrt(0.25 + 2 / 6))
    expected = [np.ones(len(rows)), 0.5 / length, *(x.T / length), np.clip(y / length, -1.5, 1.5) / 1.5]
    assert np.abs(found - np.column_stack(expected)).max() < 6 / GRID
    assert ((found[:, 1:-1] ** 2).sum(axis=1) <= 1.0).all()


# ---- the plan


def test_the_plan_is_what_the_metadata_declare() -> None:
    """Candidates are all columns but the target, in their order; a category is as wide as its levels."""
    design = Design.plan(a_table(COLUMNS), "y")
    assert design.candidates == tuple(COLUMNS)[:-1]
    assert design.columns == tuple(COLUMNS)
    assert (design.center, design.bound) == (4.0, 4.0)
    assert design.widths == (1, 1, 1, 1, 4, 4, 2)
    assert design.n_columns == 2 + 14
    units = design.units()
    assert units.shape == (7, 15)
    assert not units[:, 0].any()
    assert (units.sum(axis=0)[1:] == 1).all()
    assert [np.flatnonzero(unit).tolist() for unit in units[[3, 4, 6]]] == [[4], [5, 6, 7, 8], [13, 14]]


def test_the_bound_is_the_furthest_end_of_the_target() -> None:
    """With a center off the middle, no value within the bounds is clipped."""
    metadata = a_table(COLUMNS)
    assert Design.plan(metadata, "y", center=1.0).bound == 7.0
    assert Design.plan(metadata, "y", center=8.0).bound == 8.0
    assert Design.plan(metadata, "y", bound=8.0).bound == 8.0
    elsewhere = a_table(COLUMNS | {"y": {"type": "real", "lower": 2, "upper": 10}})
    assert [Design.plan(elsewhere, "y", center=at).bound for at in (5.0, 6.0, 9.0)] == [5.0, 4.0, 7.0]
    assert Design.plan(metadata, "y", bound=4.1e-12).bound == 4.1e-12
    assert Design.plan(metadata, "y", ["huge", "words"], bound=2.0).candidates == ("huge", "words")


INCOMPLETE = COLUMNS | {"half": {"type": "real", "lower": 0}, "open": {"type": "category"}}


@pytest.mark.parametrize(
    ("target", "candidates", "choices", "error", "words"),
    [
        ("words", None, {}, MetadataError, "must be numeric"),
        ("none", ["tiny"], {}, MetadataError, "is not declared"),
        ("half", ["tiny"], {}, MetadataError, "public bounds"),
        ("y", ["tiny", "none"], {}, MetadataError, "is not declared"),
        ("y", ["tiny", "half"], {}, MetadataError, "public bounds"),
        ("y", ["tiny", "open"], {}, MetadataError, "public levels"),
        ("y", [], {}, InvalidParameterError, "At least one candidate"),
        ("y", ["tiny", "y"], {}, InvalidParameterError, "cannot be a candidate"),
        ("y", ["tiny", "tiny"], {}, InvalidParameterError, "must not repeat"),
        ("y", ["tiny"], {"center": -0.1}, InvalidParameterError, "y_center=-0.1"),
        ("y", ["tiny"], {"center": 8.1}, InvalidParameterError, "0 .. 8"),
        ("y", ["tiny"], {"center": math.nan}, InvalidParameterError, "y_center"),
        ("y", ["tiny"], {"bound": 0.0}, InvalidParameterError, "y_bound"),
        ("y", ["tiny"], {"bound": -1.0}, InvalidParameterError, "y_bound"),
        ("y", ["tiny"], {"bound": 3.9e-12}, InvalidParameterError, "y_bound"),
        ("y", ["tiny"], {"bound": 7.9e-12, "center": 8.0}, InvalidParameterError, "y_bound"),
        ("y", ["tiny"], {"bound": 1e-13}, InvalidParameterError, "y_bound"),
        ("y", ["tiny"], {"bound": 8.1}, InvalidParameterError, "at most the target's range 8"),
        ("y", ["tiny"], {"bound": math.nan}, InvalidParameterError, "y_bound"),
        ("y", ["tiny"], {"bound": math.inf}, InvalidParameterError, "y_bound"),
    ],
)
def test_requests_that_do_not_fit_are_refused(
    target: str, candidates: list[str] | None, choices: dict[str, float], error: type[Exception], words: str
) -> None:
    """What the metadata lack, or the request gets wrong, is said before any row is read."""
    with pytest.raises(error) as caught:
        Design.plan(a_table(INCOMPLETE), target, candidates, **choices)
    assert words in str(caught.value)
