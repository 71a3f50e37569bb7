"""Nearest points: every path beside plain integers."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from nearest_problems import NAMES, cells, shell, simulated, squared_distances

from discreet.kernels.public_records import nearest
from discreet.kernels.public_records.nearest import GRID, NearestPoints

NEVER = 2**62
PATHS: dict[str, dict[str, float]] = {
    "arrays": {"COMPILE_FROM": NEVER, "TABLE_SIZE": 0},
    "tree": {"COMPILE_FROM": 0, "TABLE_SIZE": 0, "TREE_SHARE": np.inf, "CELLS_FROM": NEVER},
    "cells": {"COMPILE_FROM": 0, "TABLE_SIZE": 0, "TREE_SHARE": np.inf, "CELLS_FROM": 0},
    "filter": {"COMPILE_FROM": 0, "TABLE_SIZE": 0, "TREE_SHARE": 0.0, "BLOCK": 48},
}


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """One of the ways to the same answer, taken whatever the size."""
    for name, value in PATHS[request.param].items():
        monkeypatch.setattr(nearest, name, value)
    return str(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_nearest_point_is_that_of_plain_integers(name: str, path: str) -> None:
    """Ties go to the smallest place, and each path really is the one taken."""
    rows, points, n_numeric = simulated(name)
    public = NearestPoints(points, n_numeric)
    assert np.array_equal(public.nearest(rows), squared_distances(rows, points, n_numeric).argmin(axis=1))
    assert ("_tree" in vars(public)) == (path != "arrays")
    assert ("_filter" in vars(public)) == (path == "filter")
    if path == "cells":
        assert ("_cells" in vars(public._tree)) == (n_numeric == points.shape[1] <= 3)


def test_the_plain_integers_are_those_of_the_definition() -> None:
    """A code differs or not, whatever its value; -1 is a code."""
    row, points = cells([-GRID], [-1], [7]), cells([GRID, GRID, 0], [-1, 0, 8], [7, 7, 7])
    assert squared_distances(row, points, 1).tolist() == [[(2 * GRID) ** 2, 2 * (2 * GRID) ** 2, 5 * GRID**2]]
    assert NearestPoints(points, 1).nearest(row).tolist() == [0]


def test_a_table_answers_for_all_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among them those of no point."""
    rng = np.random.default_rng(2)  # noqa: TID251 - simulated data, not noise
    for p in (1, 2, 5):
        points = rng.integers(-1, 4, (30, p), np.int16)
        rows = cells(*(grid.ravel() for grid in np.meshgrid(*[[-1, 0, 1, 2, 3, 4, GRID]] * p)))
        public = NearestPoints(points, 0)
        monkeypatch.setattr(public, "_n_seen", NEVER)
        assert np.array_equal(public.nearest(rows), squared_distances(rows, points, 0).argmin(axis=1))
        assert "_table" in vars(public)
        assert "_tree" not in vars(public)


def test_no_table_is_built_beyond_its_size() -> None:
    """Nor where a column is numeric."""
    codes = np.arange(2_000, dtype=np.int16)
    assert NearestPoints(cells(codes, codes), 0)._table_size == 0
    assert NearestPoints(cells(codes, codes % 3), 1)._table_size == 0
    assert NearestPoints(cells(codes, codes % 3), 0)._table_size == 2_001 * 4


@pytest.mark.parametrize("name", ["ties", "shell", "mixed ties", "codes"])
def test_answers_do_not_depend_on_order_blocks_or_threads(name: str, path: str) -> None:
    """A row's answer is a function of that row and the points."""
    rows, points, n_numeric = simulated(name)
    public = NearestPoints(points, n_numeric)
    whole = public.nearest(rows)
    order = np.random.default_rng(3).permutation(len(rows))  # noqa: TID251 - simulated data, not noise
    assert np.array_equal(public.nearest(rows[order]), whole[order]), path
    assert np.array_equal(np.concatenate([public.nearest(row[None]) for row in rows]), whole)
    assert np.array_equal(public.nearest(np.asfortranarray(rows)), whole)
    with ThreadPoolExecutor(2) as pool:
        assert np.array_equal(np.concatenate(list(pool.map(public.nearest, np.array_split(rows, 7)))), whole)


def test_paths_change_in_use_without_a_change_of_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code takes over once enough cells have been compared."""
    rows, points, n_numeric = simulated("mixed")
    public = NearestPoints(points, n_numeric)
    monkeypatch.setattr(nearest, "COMPILE_FROM", 3 * rows.size * len(points) // 2)
    first = public.nearest(rows)
    assert "_tree" not in vars(public)
    assert np.array_equal(public.nearest(rows), first)
    assert "_tree" in vars(public)


def test_float32_alone_errs_on_a_near_tie(path: str) -> None:
    """A negative control: distances that differ by 1 in 2^30."""
    row, points = cells([0], [0]), cells([GRID, GRID], [1, 0])
    gaps = row.astype(np.float32) - points.astype(np.float32)
    assert (gaps * gaps).sum(axis=1, dtype=np.float32).argmin() == 0
    assert NearestPoints(points, 2).nearest(row).tolist() == [1], path


def test_the_filter_errs_without_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A negative control: the points of a shell need the error bound."""
    for name, value in PATHS["filter"].items():
        monkeypatch.setattr(nearest, name, value)
    row, wrong = np.full((1, 60), 10_000, np.int16), 0
    for seed in range(60):
        points = shell(400, 60, seed)
        public, right = NearestPoints(points, 60), squared_distances(row, points, 60).argmin()
        assert public.nearest(row)[0] == right
        monkeypatch.setattr(public._filter, "_unit", 0.0)
        wrong += int(public.nearest(row)[0] != right)
    assert wrong > 10


def test_the_bound_holds() -> None:
    """The float32 products are off by less than what is allowed for, and by something."""
    rows, points, p = simulated("wide")
    kernel = nearest.Filter(points, np.arange(len(points)), p)
    left = np.ones((len(rows), p + 1), np.float32)
    left[:, :-1] = rows - kernel._center
    about = (rows - kernel._center).astype(np.int64)
    exact = squared_distances(rows, points, p) - (about**2).sum(axis=1)[:, None]
    error = np.abs((left @ kernel._right.T).astype(np.float64) - exact / 2).max(axis=1)
    allowed = kernel._unit * (kernel._reach / 2 + np.sqrt((about**2).sum(axis=1) * kernel._reach))
    assert (error <= allowed).all()
    assert error.max() > 0
