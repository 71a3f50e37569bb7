"""Features and a target in memory as one table: which column is which, and what is stated of them when."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.preprocessing import StandardScaler

from discreet.data.metadata import Metadata
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


SOURCES = {
    "arrays": lambda X, y: (X, y),
    "sparse": lambda X, y: (scipy.sparse.csr_array(X), y),
    "frame": lambda X, y: (pd.DataFrame(X, columns=["a", "b"], copy=False), pd.Series(y, copy=False)),
    "one frame": lambda X, y: pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}, copy=False),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_what_is_done_to_the_rows_later_does_not_reach_the_table(kind):
    """A scaler that works in place leaves the table as it was stated to be; control: a table of which nothing was."""
    own_x, own_y = np.array(X, order="F"), np.array(Y)
    source = SOURCES[kind](own_x, own_y)
    stated, unstated = open_table(source, METADATA), table_at(source, METADATA)
    StandardScaler(copy=False).fit_transform(own_x)
    own_x[:], own_y[:] = 0.0, 0.0
    assert cells(stated) == {"a": A, "b": B, "y": Y}
    assert kind == "sparse" or cells(unstated) == dict.fromkeys("aby", [0.0] * 3)
    if isinstance(source, pd.DataFrame):
        del source["b"]
        assert cells(stated) == {"a": A, "b": B, "y": Y}
