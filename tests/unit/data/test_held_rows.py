"""Rows that are encoded once give every later pass the same integers, and nothing of a pass that broke off."""

from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from discreet.data import engine
from discreet.data.design import Design
from discreet.data.engines.frame import FrameTable
from discreet.data.held_rows import HeldRows
from discreet.data.metadata import Metadata
from discreet.kernels.moments.moments import exact_moments

N_ROWS = 70_000
COLUMNS = {name: {"type": "real", "lower": -1, "upper": 1} for name in ("a", "b", "y")}
START = np.zeros((4, 4), dtype=np.int64)


def table(**facts: object) -> FrameTable:
    """Two batches of rows."""
    cells = np.random.default_rng(5).uniform(-1.2, 1.2, (3, N_ROWS))  # noqa: TID251 - simulated rows, not noise
    rows = pa.table({**dict(zip("aby", cells, strict=True)), "who": pa.array(np.arange(N_ROWS) // 2)})
    declared = {"dataset": "d", "unit": "person", "neighboring": "add_or_remove_one", "columns": COLUMNS, **facts}
    return FrameTable(rows, Metadata.from_value(declared))


def scaled(factor: int, cells: np.ndarray) -> np.ndarray:
    """A pass that differs from the others."""
    return exact_moments(cells) * factor


def test_later_passes_add_up_the_same_integers_and_encode_nothing() -> None:
    """The first pass encodes each batch once; what is encoded is changed by no pass."""
    rows, design = table(), Design.plan(table().metadata, "y")
    held = rows.held(design)
    assert isinstance(held, HeldRows)
    for factor in (1, 2, 3):
        work = partial(scaled, factor)
        assert np.array_equal(rows.map_reduce(held, work, START), rows.map_reduce(design, work, START))
    assert held.blocks is not None
    assert sum(map(len, held.blocks)) == N_ROWS


def test_a_pass_that_breaks_off_leaves_nothing_behind() -> None:
    """Its rows would count twice in the next one."""
    rows, design = table(), Design.plan(table().metadata, "y")
    held = rows.held(design)

    def breaks(cells: np.ndarray) -> np.ndarray:
        if len(cells) < 2**16:
            raise ArithmeticError
        return exact_moments(cells)

    with pytest.raises(ArithmeticError):
        rows.map_reduce(held, breaks, START)
    for _ in range(2):
        assert np.array_equal(rows.map_reduce(held, exact_moments, START), rows.moments(design))


def test_rows_are_not_held_where_memory_or_the_contribution_bound_forbids(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the size of the table alone; units must be seen together."""
    design = Design.plan(table().metadata, "y")
    assert table(unit_id="who", rows_per_unit=2).held(design) is design
    monkeypatch.setattr(engine, "HELD_BYTES", 2 * 4 * N_ROWS - 1)
    assert table().held(design) is design
    monkeypatch.setattr(engine, "HELD_BYTES", 2 * 4 * N_ROWS)
    assert table().held(design) is not design
