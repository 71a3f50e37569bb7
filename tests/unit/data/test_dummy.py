"""A dummy table has the declared shape, and every value that is declared."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metadata_strategies import metadatas
from numpy.typing import NDArray

from discreet.data.dummy import dummy_table
from discreet.data.metadata import CategoryColumn, Metadata
from discreet.errors import InvalidParameterError, MetadataError


class Words:
    """Words of a fixed stream: SplitMix64."""

    def __init__(self) -> None:
        self.state = 1

    def __call__(self, n: int) -> NDArray[np.uint64]:
        """Return the next n words."""
        mask = 2**64 - 1
        words = []
        for _ in range(n):
            self.state = (self.state + 0x9E3779B97F4A7C15) & mask
            z = ((self.state ^ (self.state >> 30)) * 0xBF58476D1CE4E5B9) & mask
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
            words.append(z ^ (z >> 31))
        return np.array(words, dtype=np.uint64)


def shape(columns: dict[str, Any], **more: Any) -> Metadata:
    value = {"dataset": "toy", "unit": "person", "neighboring": "add_or_remove_one", "columns": columns}
    return Metadata.from_value(value | more)


@pytest.mark.slow
@settings(deadline=None)
@given(metadatas(declared=True), st.integers(1, 20))
def test_any_declared_metadata_give_a_table_within_it(metadata: Metadata, n_rows: int) -> None:
    """Every cell lies within bounds or levels, and every column has its storage type."""
    try:
        table = dummy_table(metadata, n_rows, Words())
    except MetadataError as error:
        assert "64-bit integer within its bounds" in str(error)  # noqa: PT017
        return
    assert table.num_rows == n_rows
    assert table.column_names == [
        *([metadata.unit_id] if metadata.unit_id is not None else []),
        *metadata.columns,
    ]
    for name, column in metadata.columns.items():
        cells = table[name]
        if isinstance(column, CategoryColumn):
            assert cells.type == pa.string()
            assert set(cells.to_pylist()) <= set(column.levels or ())
        else:
            assert cells.type == (pa.int64() if column.type == "integer" else pa.float64())
            assert all(column.lower <= cell <= column.upper for cell in cells.to_pylist())


def test_values_are_uniform() -> None:
    """Each value of a die comes as often as a uniform law allows, and reals fill their range."""
    columns = {
        "die": {"type": "integer", "lower": 0.5, "upper": 6.5},
        "site": {"type": "category", "levels": ["a", "b", "c"]},
        "height": {"type": "real", "lower": -1, "upper": 3},
    }
    table = dummy_table(shape(columns), 6000, Words())
    faces, counts = np.unique(table["die"].to_numpy(), return_counts=True)
    assert faces.tolist() == [1, 2, 3, 4, 5, 6]
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)
    assert min(table["site"].to_pylist().count(level) for level in "abc") > 1800
    quantiles = np.quantile(table["height"].to_numpy(), [0, 0.25, 0.5, 0.75, 1])
    assert quantiles == pytest.approx([-1, 0, 1, 2, 3], abs=0.1)


def test_the_widest_integers_fit() -> None:
    """Bounds beyond 64 bits are cut to what a column can store."""
    cells = dummy_table(shape({"x": {"type": "integer", "lower": -1e30, "upper": 1e30}}), 1000, Words())["x"]
    assert cells.to_numpy().min() < -(2**62)
    assert cells.to_numpy().max() > 2**62


@pytest.mark.parametrize("rows_per_unit", [1, 3, 1_000_000])
def test_no_unit_owns_more_rows_than_declared(rows_per_unit: int) -> None:
    """Units own from one to `rows_per_unit` rows, and some own several where they may."""
    metadata = shape({"age": {"type": "integer", "lower": 0, "upper": 9}}, unit_id="pid", rows_per_unit=rows_per_unit)
    _, counts = np.unique(dummy_table(metadata, 300, Words())["pid"].to_numpy(), return_counts=True)
    assert counts.max() == min(rows_per_unit, 300)


def test_what_is_not_declared_is_refused() -> None:
    """Blanks, bounds without an integer between them and empty tables each give one line."""
    with pytest.raises(MetadataError, match="'age' must have public bounds"):
        dummy_table(shape({"age": {"type": "integer"}}), 3, Words())
    with pytest.raises(MetadataError, match="'age' has none"):
        dummy_table(shape({"age": {"type": "integer", "lower": 0.2, "upper": 0.8}}), 3, Words())
    with pytest.raises(InvalidParameterError, match="n_rows=0"):
        dummy_table(shape({"age": {"type": "integer", "lower": 0, "upper": 9}}), 0, Words())
