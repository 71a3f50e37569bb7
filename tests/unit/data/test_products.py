"""Scores of many features: the same integers from every kind of table, and one person moves each by 1 at most."""

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import either

from discreet.data import batch_sizes, engine, long_table, people, value_keys
from discreet.data.columns import Codes
from discreet.data.design import Design
from discreet.data.engine import Table
from discreet.data.engines.sparse import SparseTable
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.data.sources import open_table
from discreet.errors import DataMismatchError, InvalidParameterError, MetadataError
from discreet.kernels.moments import long_products
from discreet.kernels.moments.long_products import add_firsts
from discreet.mechanisms.rng import Source

GRID = 32767
LAYOUT = {"row": "who", "feature": "what", "value": "how much"}
FEATURES: dict[str, Any] = {"type": "real", "lower": -2.0, "upper": 6.0}


def metadata_of(features: dict[str, Any] | None = None, **changes: Any) -> Metadata:
    """A target in [0, 10], and features in [-2, 6]."""
    columns = {"y": {"type": "real", "lower": 0, "upper": 10}}
    value = {"dataset": "t", "unit": "person", "neighboring": "add_or_remove_one", "columns": columns}
    return Metadata.from_value({**value, "features": {**FEATURES, **(features or {})}, **changes})


def plan(table: Table, **how: Any) -> ScoreDesign:
    """Every feature against the target."""
    return ScoreDesign.plan(table.metadata, "y", table.feature_names("y"), **{"center": 4.0, **how})


def scores(table: Table, **how: Any) -> np.ndarray:
    """Every feature's score."""
    table.check(("y",))
    return table.products(plan(table, **how))


def uniform(seed: int, *shape: int) -> np.ndarray:
    """Numbers in [0, 1)."""
    return (Source.seeded(seed).words(int(np.prod(shape))) / 2.0**64).reshape(shape)


N, P = 60, 260
VALUES = np.where(uniform(1, N, P) < 0.3, np.round(20 * uniform(2, N, P) - 8, 2), 0.0)
VALUES[3, 5], VALUES[4, 5], VALUES[5, 6], VALUES[6, 7] = np.nan, np.inf, -np.inf, 1e300
VALUES[:, 9], VALUES[:, 10] = 0.0, 2.5
Y = np.round(12 * uniform(3, N) - 1, 3)


def by_hand() -> np.ndarray:
    """The scores by plain arithmetic on the very definition, in Python's integers."""
    x = np.rint(np.where(np.isfinite(VALUES), (np.clip(np.nan_to_num(VALUES, posinf=0), -2, 6) - 2) / 4, 0) * GRID)
    y = np.rint((np.clip(Y, 0, 10) - 4) / 6 * GRID)
    return np.array([sum(int(a) * int(b) for a, b in zip(column, y, strict=True)) for column in x.T])


def wide() -> pa.Table:
    """A column a feature."""
    return pa.table({**{str(j): VALUES[:, j] for j in range(P)}, "y": Y})


def long() -> tuple[pa.Table, pa.Table]:
    """A row for each value that is not 0, in some order, and the targets in another."""
    row, column = np.nonzero(VALUES)
    order = np.argsort(Source.seeded(8).words(len(row)))
    value = VALUES[row, column]
    cells = pa.table({"who": row[order] + 100, "what": column[order], "how much": value[order]})
    return cells, pa.table({"y": Y[::-1], "who": np.arange(N)[::-1] + 100})


def stored_parquet(folder: Any) -> Table:
    pq.write_table(wide(), folder / "t.parquet", row_group_size=25)
    return open_table(folder / "t.parquet", metadata_of())


def stored_csv(folder: Any) -> Table:
    pyarrow.csv.write_csv(wide(), folder / "t.csv")
    return open_table(folder / "t.csv", metadata_of())


def stored_arrow(folder: Any) -> Table:
    pyarrow.feather.write_feather(wide(), folder / "t.arrow", chunksize=17)
    return open_table(folder / "t.arrow", metadata_of())


def stored_long(folder: Any) -> Table:
    pq.write_table(long()[0], folder / "values.parquet", row_group_size=100)
    pyarrow.csv.write_csv(long()[1], folder / "people.csv")
    metadata = metadata_of({"count": P}, layout=LAYOUT)
    return open_table(folder / "values.parquet", metadata, targets=folder / "people.csv")


def long_frames(folder: Any) -> Table:
    cells, targets = long()
    return open_table(cells.to_pandas(), metadata_of({"count": P}, layout=LAYOUT), targets=pl.from_arrow(targets))


def long_named(folder: Any) -> Table:
    cells, targets = long()
    names = [f'gene "{j}", é ' for j in range(P)]
    cells = cells.set_column(1, "what", [[names[j] for j in cells["what"].to_pylist()]])
    return open_table(cells, metadata_of({"names": names}, layout=LAYOUT), targets=targets)


def sparse(kind: str) -> Any:
    def opened(folder: Any) -> Table:
        return SparseTable(scipy.sparse.coo_array(VALUES).asformat(kind), Y, metadata_of())

    return opened


TABLES = {
    "parquet": stored_parquet,
    "csv": stored_csv,
    "arrow file": stored_arrow,
    "arrow": lambda _: open_table(wide(), metadata_of()),
    "pandas": lambda _: open_table(wide().to_pandas(), metadata_of()),
    "pandas untyped": lambda _: open_table(wide().to_pandas().astype(object), metadata_of()),
    "polars": lambda _: open_table(pl.from_arrow(wide()), metadata_of()),
    "long file": stored_long,
    "long frames": long_frames,
    "long, named": long_named,
    "csr": sparse("csr"),
    "csc": sparse("csc"),
    "coo": sparse("coo"),
}


@pytest.fixture(params=TABLES, ids=lambda name: name.replace(" ", "_"))
def table(request, tmp_path):
    """The same data in one kind of table."""
    return TABLES[request.param](tmp_path)


def test_scores_are_the_same_integers(table):
    """Whatever the table; an infinite cell is a missing one, and a cell that is not stored is 0."""
    np.testing.assert_array_equal(scores(table), by_hand())
    total, n_rows = table.target_sum(plan(table))
    assert (total, n_rows) == (int(np.rint((np.clip(Y, 0, 10) - 4) / 6 * GRID).sum()), N)


@pytest.mark.slow
@pytest.mark.parametrize(("batch", "group"), either([(50, 3)], [(7, 1), (1000, 13), (2**16, 1000)]))
def test_blocks_do_not_matter(table, batch, group, monkeypatch):
    """Nor do the size of batches, of groups and of what is kept at once."""
    monkeypatch.setattr(batch_sizes, "BATCH_CELLS", batch)
    monkeypatch.setattr(engine, "GROUP", group)
    monkeypatch.setattr(long_table, "CHUNK_ROWS", batch)
    monkeypatch.setattr(value_keys, "MOST_KEYS", 700 + group)
    monkeypatch.setattr(value_keys, "LEAST_KEYS", batch)
    monkeypatch.setattr(long_products, "BLOCK_KEYS", batch)
    monkeypatch.setattr("discreet.data.engines.sparse.BLOCK_VALUES", batch)
    np.testing.assert_array_equal(scores(table), by_hand())


def test_some_features_have_the_scores_that_they_have_among_all(table):
    """In any order; and what is told of the work is the number of features."""
    names = [table.feature_names("y")[j] for j in (17, 3, 259, 5)]
    told: list[int] = []
    found = table.products(ScoreDesign.plan(table.metadata, "y", names, center=4.0), told.append)
    np.testing.assert_array_equal(found, by_hand()[[17, 3, 259, 5]])
    assert sum(told) == 4


def test_moments_of_a_few_features_are_those_of_the_wide_table(table):
    """A model on screened features reads the same integers from every kind of table."""
    names = [table.feature_names("y")[j] for j in (5, 17)]
    design = Design.plan(table.metadata, "y", names)
    expected = open_table(wide(), metadata_of()).moments(Design.plan(metadata_of(), "y", ["5", "17"]))
    np.testing.assert_array_equal(table.moments(design), expected)


# ---- people, duplicates, and what is nobody's


def long_of(cells: list[tuple[Any, Any, Any]], targets: list[tuple[Any, Any]], count: int = 3) -> Table:
    """A long table of rows as they are, in frames without types."""
    values = pd.DataFrame(cells, columns=["who", "what", "how much"], dtype=object)
    people_ = pd.DataFrame(targets, columns=["who", "y"], dtype=object)
    return open_table(values, metadata_of({"count": count}, layout=LAYOUT), targets=people_)


def test_a_person_has_one_value_of_a_feature_the_least_and_one_target_the_least():
    """Of several, in any order; a missing cell is the middle of the bounds there, too."""
    cells = [("a", 0, 5.0), ("a", 0, 3.0), ("b", 1, None), ("b", 1, 4.0), ("a", 2, -1.5)]
    targets = [("a", 8.0), ("b", 2.0), ("a", 9.0), ("a", 7.0)]
    expected = scores(long_of([cells[1], cells[2], cells[4]], [targets[3], targets[1]]))
    for turned in (slice(None), slice(None, None, -1)):
        np.testing.assert_array_equal(scores(long_of(cells[turned], targets[turned])), expected)


def test_what_belongs_to_nobody_or_to_no_feature_counts_for_nothing():
    """Unknown people, missing identifiers, codes beyond the count, halves and words."""
    cells = [("a", 0, 5.0), ("b", 2, 1.0)]
    odd = [
        ("c", 0, 5.0),
        (None, 0, 5.0),
        ("a", 3, 5.0),
        ("a", -1, 5.0),
        ("a", 0.5, -2.0),
        ("a", "x", 1.0),
        ("a", None, 1),
    ]
    targets = [("a", 8.0), ("b", 2.0)]
    expected = scores(long_of(cells, targets))
    np.testing.assert_array_equal(scores(long_of(cells + odd, [*targets, (None, 9.0)])), expected)


def test_identifiers_mean_the_same_as_numbers_and_as_text():
    """7, 7.0 and "7" are one person; so are numbers far apart, which no table of places holds."""
    for who in (7, 2**40):
        expected = scores(long_of([(str(who), 1, 5.0), ("9", 1, 1.0)], [(str(who), 8.0), ("9", 1.0)]))
        values = pa.table({"who": [who, 9], "what": [1, 1], "how much": [5.0, 1.0]})
        metadata = metadata_of({"count": 3}, layout=LAYOUT)
        for keys in (pa.array([who, 9]), pa.array([float(who), 9.0]), pa.array([str(who), "9"])):
            found = scores(open_table(values, metadata, targets=pa.table({"who": keys, "y": [8.0, 1.0]})))
            np.testing.assert_array_equal(found, expected)


CELLS = st.tuples(
    st.sampled_from(["a", "b", "c", "new", None]),
    st.integers(-1, 3),
    st.floats(allow_subnormal=False) | st.sampled_from([0.0, -2.0, 6.0, 1e308]) | st.none(),
)
ROWS = st.tuples(st.sampled_from("abc"), st.integers(-2, 6), st.integers(0, 10))
TARGETS = st.tuples(st.sampled_from(["a", "b", "c", None]), st.floats() | st.none())


EXTREMES = st.sampled_from([6.0, 10.0, 0.0, -2.0])
OWN = st.tuples(st.just("new"), st.integers(0, 1), EXTREMES | st.floats() | st.none())


@settings(max_examples=either(40, 100), deadline=None)
@given(
    cells=st.lists(CELLS, max_size=12),
    targets=st.lists(TARGETS, max_size=5),
    own_cells=st.lists(OWN, max_size=8),
    own_targets=st.lists(EXTREMES | st.floats() | st.none(), min_size=1, max_size=3),
)
def test_one_person_moves_each_score_by_1_at_most(cells, targets, own_cells, own_targets):
    """Whatever rows are there, and however many cells and targets the person has."""
    without = long_of([cell for cell in cells if cell[0] != "new"], targets)
    table = long_of(cells + own_cells, targets + [("new", value) for value in own_targets])
    assert np.abs(scores(table) - scores(without)).max() <= GRID**2
    sums = [t.target_sum(plan(t)) for t in (table, without)]
    assert sums[0][1] - sums[1][1] == 1
    assert abs(sums[0][0] - sums[1][0]) <= GRID


@settings(max_examples=either(25, 60), deadline=None)
@given(
    rows=st.lists(st.tuples(st.sampled_from("abc"), st.integers(-2, 6), st.integers(0, 10)), max_size=12),
    most=st.integers(1, 3),
)
def test_a_unit_has_so_many_rows_in_a_score_and_no_more(rows, most):
    """And the score does not depend on the order of rows or on what else is scored."""
    changes = {"unit_id": "who", "rows_per_unit": most}
    frame = pd.DataFrame([(who, x, 4 - x, y) for who, x, y in rows], columns=["who", "g1", "g2", "y"]).astype(
        {"g1": float, "g2": float, "y": float, "who": str}
    )

    def found(part: pd.DataFrame, names: list[str]) -> np.ndarray:
        table = open_table(part, metadata_of({"match": "g*"}, **changes))
        return table.products(ScoreDesign.plan(table.metadata, "y", names, center=4.0))

    both = found(frame, ["g1", "g2"])
    np.testing.assert_array_equal(found(frame[::-1], ["g2", "g1"])[::-1], both)
    np.testing.assert_array_equal(found(frame, ["g1"]), both[:1])
    assert np.abs(both - found(frame[frame.who != "a"], ["g1", "g2"])).max(initial=0) <= most * GRID**2
    table = open_table(frame, metadata_of({"match": "g*"}, **changes))
    counts = frame.groupby("who").size() if len(frame) else pd.Series(dtype=int)
    assert table.target_sum(plan(table))[1] == counts.clip(upper=most).sum()


def test_without_crowds_the_cut_changes_nothing_and_rows_of_nobody_are_left_out():
    """Units with as many rows as they may have; an identifier that is missing is nobody's."""
    frame = wide().to_pandas().assign(who=[str(i // 2) for i in range(N)])
    table = open_table(frame, metadata_of(unit_id="who", rows_per_unit=2))
    np.testing.assert_array_equal(scores(table), by_hand())
    lost = pd.concat([frame, frame[:5].assign(who=None)])
    np.testing.assert_array_equal(scores(open_table(lost, metadata_of(unit_id="who", rows_per_unit=2))), by_hand())


# ---- odd tables


@pytest.mark.parametrize("n_rows", [0, 1])
def test_no_row_and_one_row(n_rows, tmp_path):
    """A table without rows has scores of 0."""
    part = wide().slice(0, n_rows)
    pq.write_table(part, tmp_path / "t.parquet")
    pyarrow.csv.write_csv(part, tmp_path / "t.csv")
    matrix = scipy.sparse.csr_array(VALUES[:n_rows])
    cells, targets = long()
    kept = cells.filter(pa.array(cells["who"].to_numpy() < 100 + n_rows))
    tables = [open_table(tmp_path / f"t.{kind}", metadata_of()) for kind in ("parquet", "csv")]
    tables += [open_table(part, metadata_of()), SparseTable(matrix, Y[:n_rows], metadata_of())]
    present = targets.filter(pa.array(targets["who"].to_numpy() < 100 + n_rows))
    tables += [open_table(kept, metadata_of({"count": P}, layout=LAYOUT), targets=present)]
    for table in tables:
        found = scores(table)
        np.testing.assert_array_equal(found, scores(tables[0]))
        assert table.target_sum(plan(table))[1] == n_rows
        assert n_rows or not found.any()


def test_text_cells_are_read_as_everywhere(tmp_path):
    """Numbers in text, words, blanks, and bytes that are no text, in few columns and in many."""
    cells = ["1.5", " 2 ", "x", "", "inf", "nan", "1e400", "TRUE", "-7"]
    values = np.array([1.5, 2, np.nan, np.nan, np.nan, np.nan, np.nan, 1, -7])
    for p in (2, 300):
        path = tmp_path / f"{p}.csv"
        lines = [",".join(["y", *(f"g{j}" for j in range(p))])]
        lines += [",".join([str(i), *([cell] * p)]) for i, cell in enumerate(cells)]
        path.write_bytes("\n".join(lines).encode() + b"\n" + b",".join([b"3", *([b"\xff"] * p)]) + b"\n")
        table = open_table(path, metadata_of({"match": "g*"}))
        x = np.rint(np.nan_to_num((np.clip(values, -2, 6) - 2) / 4) * GRID)
        y = np.rint((np.arange(9) - 4) / 6 * GRID)
        assert scores(table).tolist() == [int(x @ y)] * p


def test_short_and_long_records_of_a_wide_file(tmp_path):
    """Short ones are padded, long ones cut, empty ones left out, as in a narrow file."""
    for p in (3, 300):
        path = tmp_path / f"{p}.csv"
        full = ",".join(["1"] * p)
        lines = [",".join(["y", *(f"g{j}" for j in range(p))]), f"2,{full}", "3,4", f"5,{full},7,7", "", f'"6","{"8"}"']
        path.write_text("\n".join(lines) + "\n")
        table = open_table(path, metadata_of({"match": "g*"}))
        found = scores(table)
        y = np.rint((np.array([2, 3, 5, 6]) - 4) / 6 * GRID).astype(int)
        first = np.rint((np.array([1, 4, 1, 6]) - 2) / 4 * GRID).astype(int)
        assert found[0] == first @ y
        assert set(found[1:].tolist()) == {int(np.rint(-0.25 * GRID)) * (y[0] + y[2])}


def test_mixed_storage_types_and_specifications_in_one_group():
    """Integers, floats, truth values, categories of text and listed columns beside the features."""
    columns = {
        "y": {"type": "real", "lower": 0, "upper": 10},
        "strict": {"type": "integer", "lower": 0, "upper": 4, "out_of_bounds": "missing", "missing": 1},
    }
    frame = pd.DataFrame(
        {
            "strict": [0, 5, 2],
            "a": pd.Categorical(["1", "5", "x"]),
            "b": [True, False, True],
            "c": pd.array([1, None, 3], dtype="Int64"),
            "y": [0.0, 10.0, 7.0],
        }
    )
    metadata = metadata_of(columns=columns)
    table = open_table(frame, metadata)
    names = table.feature_names("y")
    assert list(names) == ["strict", "a", "b", "c"]
    cells = Design.plan(metadata, "y", names).encode(next(iter(table.batches((*names, "y"))))).astype(np.int64)
    np.testing.assert_array_equal(
        table.products(ScoreDesign.plan(metadata, "y", names)), cells[:, 1:-1].T @ cells[:, -1]
    )


def test_sparse_cells_in_parts_are_summed_and_the_matrix_stays_as_it_is():
    """As SciPy does; a cell that is stored as NaN is missing, and a stored 0 is 0."""
    data, columns = np.array([1.0, 2.0, np.nan, 0.0, 9.0]), np.array([0, 0, 1, 0, 1])
    X = scipy.sparse.csr_array((data, columns, np.array([0, 2, 4, 5])), shape=(3, 2))
    assert not X.has_canonical_format
    found = scores(SparseTable(X, [1.0, 2.0, 9.0], metadata_of()))
    dense = pd.DataFrame({"0": [3.0, 0, 0], "1": [0, np.nan, 9], "y": [1.0, 2, 9]})
    np.testing.assert_array_equal(found, scores(open_table(dense, metadata_of())))
    assert X.nnz == len(data)


@pytest.mark.parametrize(
    ("kind", "places"), [(scipy.sparse.csr_array, [0, 100]), (scipy.sparse.csc_array, [0, 100, 100])]
)
def test_a_sparse_cell_in_many_parts_moves_a_score_as_one_cell_does(kind, places):
    """One person whose cell is stored in a hundred parts is clipped once, and not a hundred times."""
    X = kind((np.full(100, 6.0), np.zeros(100, dtype=np.int64), np.array(places)), shape=(1, 2))
    assert X.nnz == 100
    dense = pd.DataFrame({"0": [600.0], "1": [0.0], "y": [10.0]})
    score = scores(SparseTable(X, [10.0], metadata_of()))
    np.testing.assert_array_equal(score, scores(open_table(dense, metadata_of())))
    assert abs(score).max() <= GRID**2


def test_sums_that_pass_64_bits_on_the_way_come_back():
    """Partial sums wrap around; the score is below 2^63."""
    total = np.array([2**63 - 5], dtype=np.int64)
    keys = np.array([(0 << 17 | person << 16) | 65535 for person in (0, 1)], dtype=np.uint64)
    add_firsts(keys, 1, np.array([GRID, -GRID]), -GRID, total)
    assert total[0] == 2**63 - 5


def test_places_of_people_by_number_and_by_search():
    """The table of places and the search agree, at the ends and beyond them."""
    keys = pa.array([-(2**63), -3, 0, 5], pa.int64())
    asked = pa.array([-(2**63), -4, -3, 0, 4, 5, 6, 2**63 - 1, None], pa.int64())
    assert people.People(keys).places(asked).tolist() == [0, -1, 1, 2, -1, 3, -1, -1, -1]
    assert people.People(keys[1:]).places(asked).tolist() == [-1, -1, 0, 1, -1, 2, -1, -1, -1]
    assert people.People(keys[:1]).places(asked).tolist() == [0, *[-1] * 8]
    assert people.People(keys[:0]).places(asked).tolist() == [-1] * 9


def test_values_and_targets_in_one_database(tmp_path):
    """Each table by its name."""
    cells, targets = long()
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        for name, table in (("values", cells), ("people", targets)):
            connection.register("given", table)
            connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')
    metadata, path = metadata_of({"count": P}, layout=LAYOUT), tmp_path / "d.duckdb"
    table = open_table(path, metadata, "values", targets=path, targets_table="people")
    np.testing.assert_array_equal(scores(table), by_hand())
    assert table.locator == f"{path}#values\n{path}#people"


# ---- what is refused


def test_tables_that_do_not_fit_are_refused():
    """From headers and metadata alone."""
    cells, targets = long()
    metadata = metadata_of({"count": P}, layout=LAYOUT)
    with pytest.raises(InvalidParameterError, match="none is given"):
        open_table(cells, metadata)
    with pytest.raises(InvalidParameterError, match="no layout"):
        open_table(wide(), metadata_of(), targets=targets)
    with pytest.raises(DataMismatchError, match="'how much'"):
        open_table(cells.drop_columns("how much"), metadata, targets=targets).check(("y",))
    with pytest.raises(DataMismatchError, match="'who'"):
        open_table(cells, metadata, targets=targets.drop_columns("who")).check(("y",))
    stated = metadata_of({"count": P}, neighboring="replace_one", n_rows=61, layout=LAYOUT)
    with pytest.raises(DataMismatchError, match="n_rows=61"):
        open_table(cells, stated, targets=targets).check(("y",))
    table = open_table(wide(), metadata_of({"count": 5}))
    with pytest.raises(DataMismatchError, match=f"the 5 columns named as '.'.*has {P}"):
        table.check((*table.feature_names("y"), "y"))
    with pytest.raises(DataMismatchError, match="unit_id"):
        SparseTable(scipy.sparse.csr_array(VALUES), Y, metadata_of(unit_id="who")).check(("y",))
    with pytest.raises(InvalidParameterError, match="sparse matrix"):
        SparseTable(VALUES, Y, metadata_of())
    with pytest.raises(InvalidParameterError, match="same number of rows"):
        SparseTable(scipy.sparse.csr_array(VALUES), Y[:-1], metadata_of())
    with pytest.raises(MetadataError, match=f"declare 5 columns.*X has {P}"):
        SparseTable(scipy.sparse.csr_array(VALUES), Y, metadata_of({"count": 5}))


def test_ten_million_features_are_planned_at_once():
    """Names of numbered features are made when they are asked for."""
    metadata = metadata_of({"count": 10**7}, layout=LAYOUT)
    cells = pa.table({"who": [1], "what": [9_999_999], "how much": [6.0]})
    table = open_table(cells, metadata, targets=pa.table({"who": [1, 2], "y": [10.0, 10.0]}))
    names = table.feature_names("y")
    assert isinstance(names, Codes)
    assert (len(names), names[-1], list(names[3:5]), "10000000" in names) == (10**7, "9999999", ["3", "4"], False)
    found = scores(table)
    zero = -round(0.5 * GRID + 0.25)
    assert found[0] == 2 * zero * GRID
    assert found[-1] == (GRID + zero) * GRID
