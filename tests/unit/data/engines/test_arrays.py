"""Features and a target in memory as one table: which column is which, and what is stated of them when."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.preprocessing import StandardScaler

from discreet.data.engines import frame, own_memory, sparse
from discreet.data.long_table import LongTable
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.data.sources import open_table, table_at
from discreet.errors import DataMismatchError, InvalidParameterError, MetadataError
from discreet.release import READ, STATED, UNSTATED

BOX = {"type": "real", "lower": -9, "upper": 9, "source": "by design"}
METADATA = Metadata.from_value(
    {"dataset": "toy", "unit": "row", "neighboring": "replace_one", "n_rows": 3, "columns": dict.fromkeys("aby", BOX)}
)
A, B, Y = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]
X = np.array([A, B]).T
FRAME = pd.DataFrame({"b": B, "a": A})


def cells(table):
    """Each declared column's cells; those of a list are read as text, so that none decides how others are read."""
    columns = pa.Table.from_batches(table.batches(tuple("aby"))).to_pydict()
    return {name: [float(cell) for cell in column] for name, column in columns.items()}


@pytest.mark.parametrize(
    "pair",
    [
        (X, np.array(Y)),
        (X.tolist(), Y),
        (X, np.array(Y)[:, None]),
        (scipy.sparse.csc_matrix(X), Y),
        (FRAME, Y),
        (FRAME, pd.Series(Y, name="y")),
        (pl.from_pandas(FRAME), pl.Series(Y)),
        (pa.table({"b": B, "a": A}), np.array(Y)),
        (FRAME.rename(columns={"b": "y"}), pd.Series(B, name="b")),
        (pl.DataFrame({"y": Y, "a": A, "further": Y}), B),
        (np.array([A, Y]).T, pd.Series(B, name="b")),
    ],
)
def test_each_cell_is_in_its_column(pair):
    """Names decide where there are any, else the order in which columns are declared, the last one being y."""
    expected = {"a": A, "b": B, "y": Y}
    if isinstance(pair[0], pd.DataFrame) and "y" in pair[0]:
        expected["y"] = B  # as it was renamed
    assert cells(open_table(pair, METADATA)) == expected


@pytest.mark.parametrize(
    ("pair", "error", "message"),
    [
        ((X,), InvalidParameterError, "pair"),
        ((X, Y, Y), InvalidParameterError, "pair"),
        ((X, Y[:2]), InvalidParameterError, "same number of rows"),
        ((scipy.sparse.csr_array(X), Y[:2]), InvalidParameterError, "same number of rows"),
        ((X, X), InvalidParameterError, "one dimension"),
        ((X[:, 0], Y), InvalidParameterError, "two dimensions"),
        ((X[:, :1], Y), MetadataError, "declare 2 columns"),
        ((np.hstack([X, X]), Y), MetadataError, "declare 2 columns"),
        ((X, pd.Series(Y, name="log y")), MetadataError, "'log y' is not declared"),
        ((FRAME[["a"]], Y), DataMismatchError, "lacks 'b', 'y'"),
        ((FRAME.assign(y=Y), Y), DataMismatchError, "lacks none"),
        ((FRAME, pd.Series(Y, name="log y")), DataMismatchError, "named 'log y'"),
        ((FRAME.rename(columns={"b": "a"}), Y), DataMismatchError, "distinct names"),
    ],
)
def test_what_is_not_all_declared_columns_is_refused(pair, error, message):
    """From names and shapes alone, in one line."""
    with pytest.raises(error, match=message) as refused:
        open_table(pair, METADATA)
    assert "\n" not in str(refused.value)


def test_only_opening_states_anything(tmp_path):
    """Nobody states of public records, or of what is read, that it is what is declared."""
    pq = pa.table({"a": A, "b": B, "y": Y})
    pd.DataFrame({"a": A, "b": B, "y": Y}).to_csv(tmp_path / "rows.csv", index=False)
    sources = [pq, pl.DataFrame(pq), pl.LazyFrame(pq.to_pydict()), (X, Y), (scipy.sparse.csr_array(X), Y)]
    assert {table_at(source, METADATA).rows_origin for source in sources} == {UNSTATED}
    assert {open_table(source, METADATA).rows_origin for source in sources} == {STATED}
    assert open_table(tmp_path / "rows.csv", METADATA).rows_origin == READ


def arrow(*columns):
    """Columns in the memory of their arrays."""
    return {name: pa.array(column) for name, column in zip("aby"[-len(columns) :], columns, strict=True)}


def features(X):
    return dict(zip("ab", arrow(*X.T).values(), strict=True))


def arrow_typed(column):
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(column)]))


def levels(column):
    return pd.Categorical.from_codes([0, 1, 2], categories=pd.Index(arrow_typed(column)))


def frame_of(kind, X, y):
    return pd.DataFrame({"a": kind(X[:, 0]), "b": kind(X[:, 1]), "y": kind(y)}, copy=False)


IMMUTABLE = {
    "polars": lambda X, y: pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}),
    "polars with objects": lambda X, y: pl.DataFrame(
        {"a": X[:, 0], "o": pl.Series([object()] * 3, dtype=pl.Object), "b": X[:, 1], "y": y}
    ),
    "Arrow": lambda X, y: pa.table(arrow(*X.T, y)),
    "polars of Arrow": lambda X, y: pl.from_arrow(pa.table(arrow(*X.T, y))),
    "pandas of Arrow": lambda X, y: frame_of(arrow_typed, X, y),
    "levels of Arrow": lambda X, y: frame_of(levels, X, y),
    "Arrow and a chunked array": lambda X, y: (pa.table(features(X)), pa.chunked_array([pa.array(y)])),
    "polars and a series": lambda X, y: (pl.DataFrame(features(X)), pl.Series(y)),
}
"""Their columns are called immutable, so that their own copies share what they were made of."""

SPARSE = {
    "sparse": lambda X, y: (scipy.sparse.csr_array(X), y),
    "sparse and pandas": lambda X, y: (scipy.sparse.csr_array(X), pd.Series(y, copy=False)),
    "sparse and pandas of Arrow": lambda X, y: (scipy.sparse.csc_array(X), pd.Series(arrow_typed(y), copy=False)),
    "sparse and polars": lambda X, y: (scipy.sparse.csr_array(X), pl.Series(y)),
    "sparse and a chunked array": lambda X, y: (scipy.sparse.coo_array(X), pa.chunked_array([pa.array(y)])),
}
SOURCES = {
    "arrays": lambda X, y: (X, y),
    "frame": lambda X, y: (pd.DataFrame(X, columns=["a", "b"], copy=False), pd.Series(y, copy=False)),
    "one frame": lambda X, y: frame_of(np.asarray, X, y),
    **IMMUTABLE,
    **SPARSE,
}


def rewritten(kind, open_):
    """The cells of a table whose source's buffers are written into once it is open."""
    own_x, own_y = np.array(X, order="F"), np.array(Y)
    source = SOURCES[kind](own_x, own_y)
    opened = open_(source, METADATA)
    StandardScaler(copy=False).fit_transform(own_x)
    own_x[:], own_y[:] = 0.0, 0.0
    if isinstance(source, pd.DataFrame):
        del source["b"]
    return cells(opened)


@pytest.mark.parametrize("kind", SOURCES)
def test_what_is_done_to_the_rows_later_does_not_reach_the_table(kind):
    """A scaler that works in place leaves the table as it was stated to be."""
    assert rewritten(kind, open_table) == {"a": A, "b": B, "y": Y}


@pytest.mark.parametrize("kind", [*IMMUTABLE, "sparse and pandas", "sparse and pandas of Arrow", "sparse and polars"])
def test_copies_that_share_their_buffers_are_flagged(kind, monkeypatch):
    """Control: a library's own copy, as it was taken before, follows what is written into the array it came of."""
    for module in (frame, own_memory):
        monkeypatch.setattr(module, "own_frame", lambda shared: shared.clone())
    monkeypatch.setattr(sparse, "own_arrow", lambda shared: shared)
    columns = rewritten(kind, open_table)
    assert columns["y"] == [0.0] * 3
    assert kind in SPARSE or columns == dict.fromkeys("aby", [0.0] * 3)


LONG = Metadata.from_value(
    {
        "dataset": "toy",
        "unit": "person",
        "neighboring": "add_or_remove_one",
        "columns": {"y": BOX},
        "features": {"type": "real", "lower": -9, "upper": 9, "count": 1},
        "layout": {"row": "who", "feature": "what", "value": "how much"},
    }
)


@pytest.mark.parametrize("kind", [partial(pd.DataFrame, copy=False), pl.DataFrame, pa.table])
def test_neither_part_of_a_long_table_follows_its_source(kind):
    """Scores before and after the values and the targets are written over; control: tables of which nothing is said."""
    value, y = np.array(B), np.array(Y)
    who = np.arange(3)
    values = {"who": pa.array(who), "what": pa.array(np.zeros(3, dtype=np.int64)), "how much": value}
    sources = (kind(values), kind({"who": who, "y": y}))
    stated = open_table(sources[0], LONG, targets=sources[1])
    live = LongTable(*(table_at(source, LONG) for source in sources), LONG)
    before = score(stated)
    assert before == score(live)
    value[:] = 0.0
    assert before == score(stated) != score(live)
    y[:] = 0.0
    assert before == score(stated)


def score(table):
    design = ScoreDesign.plan(table.metadata, "y", table.feature_names("y"), center=0.0)
    return table.products(design).tolist()
