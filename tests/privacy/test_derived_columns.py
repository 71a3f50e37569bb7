"""A derived cell is a function of its own row alone, whatever rows hold; and the faults that break this are flagged."""

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.data import derived_columns
from discreet.data.design import Design
from discreet.data.hybrid_design import HybridDesign
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.data.sources import open_table
from discreet.kernels.moments.moments import GRID
from tests.contracts.test_engines import to_arrow_file, to_csv, to_duckdb, to_parquet, to_sqlite

SEED = 20261123
DERIVED = {
    "ratio": {"derived": "a / b", "lower": -5, "upper": 5},
    "log_b": {"derived": "log(b)", "lower": -3, "upper": 3, "missing": -3},
    "chain": {"derived": "log1p(exp(a) ** 2) / sqrt(b + 0.1) - min(a, 1 / b, b)", "lower": -50, "upper": 50},
    "root": {"derived": "sqrt(a) + is(g, 'plain')", "out_of_bounds": "missing"},
    "strict": {"derived": "a * b", "lower": -1, "upper": 1, "out_of_bounds": "missing"},
    "above": {"derived": "max(a, b) >= is(g, 'two\nlines')"},
}
METADATA = Metadata.from_value(
    {
        "dataset": "odd",
        "unit": "person",
        "neighboring": "add_or_remove_one",
        "columns": {
            "a": {"type": "real", "lower": -4, "upper": 4, "out_of_bounds": "missing"},
            "b": {"type": "real", "lower": 0, "upper": 2, "missing": 0},
            "g": {"type": "category", "levels": ["plain", "two\nlines"]},
            "y": {"type": "real", "lower": -2, "upper": 2},
            **DERIVED,
        },
    }
)
DESIGNS: dict[str, Any] = {
    "regression": Design.plan(METADATA, "y"),
    "derived target": Design.plan(METADATA, "chain", ["a", "ratio"]),
    "scores": ScoreDesign.plan(METADATA, "log_b", ["ratio", "chain", "a"]),
    "points": HybridDesign.plan(METADATA, "y", ["a", "g", "ratio", "above"]),
}
CELLS = [
    "0",
    "-0",
    "1",
    "-1.5",
    "0.3",
    "2",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "4.5",
    "1e-320",
    "",
    "no number",
    "9" * 2000,
]
LEVELS = ["plain", "two\nlines", "", "other", "x" * 3000]
ROWS = [(a, b, LEVELS[(i + j) % 5], CELLS[(i * j) % 15]) for i, a in enumerate(CELLS) for j, b in enumerate(CELLS)]


def batch_of(rows: list[tuple[str, ...]], columns: tuple[str, ...]) -> pa.RecordBatch:
    """Rows as text; a cell without text is missing."""
    table = {name: [row[i] or None for row in rows] for i, name in enumerate("abgy")}
    return pa.RecordBatch.from_arrays([pa.array(table[name], pa.string()) for name in columns], names=list(columns))


def complaints(design: Any) -> list[str]:
    """What is wrong with a row map: errors, warnings, cells off the grid, rows that are others beside other rows."""
    problems = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            alone = np.concatenate([design.encode(batch_of([row], design.columns)) for row in ROWS])
            rng = np.random.default_rng(SEED)  # noqa: TID251 - simulated data, not noise
            for size in (2, 3, 7, 8, 9, 31, 64, 225):
                places = rng.choice(len(ROWS), size, replace=False)
                together = design.encode(batch_of([ROWS[place] for place in places], design.columns))
                if not np.array_equal(together, alone[places]):
                    problems.append(f"rows differ in a batch of {size}")
        except Exception as error:
            return [f"{type(error).__name__}"]
    if alone.dtype != np.int16 or alone.min() < -GRID or alone.max() > GRID:
        problems.append("cells beyond the grid")
    return problems


@pytest.mark.parametrize("name", DESIGNS)
def test_each_row_becomes_its_own_cells_without_error_or_warning(name: str) -> None:
    """Zero divisors, logarithms of 0, missing cells, text of any length: no row has a say in another's cells."""
    assert complaints(DESIGNS[name]) == []


def test_an_evaluator_that_centers_by_the_batch_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: what is taken away is a mean of other people's cells."""
    evaluated = derived_columns.evaluated

    def mean_of_finite(*given: Any) -> Any:
        values = evaluated(*given)
        finite = values[np.isfinite(values)]
        return values - (finite.mean() if len(finite) else 0.0)

    monkeypatch.setattr(derived_columns, "evaluated", mean_of_finite)
    assert complaints(DESIGNS["regression"])


def test_an_evaluator_that_raises_on_a_zero_divisor_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: an error tells that some row has a 0 there."""

    def strict(a: Any, b: Any) -> Any:
        with np.errstate(divide="raise"):
            return a / b

    monkeypatch.setitem(derived_columns._STEPS, "/", strict)
    assert complaints(DESIGNS["regression"]) == ["FloatingPointError"]


def test_an_evaluator_that_warns_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: a warning in a log tells the same."""

    def loud(expression: Any, values: Any, n_rows: int) -> Any:
        with np.errstate(all="warn"):
            return derived_columns._value(expression, values, n_rows)

    monkeypatch.setattr(derived_columns, "evaluated", loud)
    assert complaints(DESIGNS["regression"]) == ["RuntimeWarning"]


def test_a_source_that_is_not_clipped_is_flagged() -> None:
    """Control: with the source's bounds taken away, a cell beyond them reaches the derived one."""
    row = [("100", "1", "plain", "0")]
    clipped = {**METADATA.columns, "a": METADATA.columns["a"].model_copy(update={"out_of_bounds": "clip"})}
    design = Design.plan(METADATA.model_copy(update={"columns": clipped}), "y", ["ratio"])
    wide = {**clipped, "a": clipped["a"].model_copy(update={"lower": -1000.0, "upper": 1000.0})}
    other = Design.plan(METADATA.model_copy(update={"columns": wide}), "y", ["ratio"])
    cell = design.encode(batch_of(row, design.columns))[0, 1]
    assert cell == round(4 / 5 * GRID)
    assert other.encode(batch_of(row, other.columns))[0, 1] != cell


STORAGES: dict[str, Any] = {
    "csv": to_csv,
    "parquet": to_parquet,
    "arrow": to_arrow_file,
    "duckdb": to_duckdb,
    "sqlite": to_sqlite,
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: __import__("polars").from_arrow(table),
    "lazy": lambda table, _: __import__("polars").from_arrow(table).lazy(),
}


@pytest.mark.parametrize("storage", STORAGES)
def test_every_engine_has_the_same_sums(storage: str, tmp_path: Any) -> None:
    """The engines read the sources alone; what is made of them is made where rows become cells."""
    design = DESIGNS["regression"]
    rows = [row for row in ROWS if len(row[2]) < 100 and len(row[0]) < 100]
    batch = batch_of(rows, ("a", "b", "g", "y"))
    cells = design.encode(batch.select(list(design.columns))).astype(np.int64)
    table = open_table(STORAGES[storage](pa.Table.from_batches([batch]), tmp_path), METADATA)
    assert np.array_equal(table.moments(design), cells.T @ cells)


def test_a_unit_changes_its_own_rows_alone() -> None:
    """Within the contribution bound, too: which rows of a unit count is a function of its derived cells and key."""
    metadata = METADATA.model_copy(update={"unit_id": "who", "rows_per_unit": 2})
    design = Design.plan(metadata, "y", ["ratio", "above"])

    def sums(rows: list[tuple[str, ...]], owners: list[str]) -> Any:
        table = pa.Table.from_batches([batch_of(rows, ("a", "b", "g", "y"))]).append_column("who", pa.array(owners))
        return open_table(table, metadata).moments(design)

    rows, owners = ROWS[:30], [f"p{i // 3}" for i in range(30)]
    one, rest = sums(rows[:3], owners[:3]), sums(rows[3:], owners[3:])
    assert np.array_equal(sums(rows, owners), one + rest)
    assert one[0, 0] == 2 * GRID**2
