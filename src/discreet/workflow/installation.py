"""What an installation has: versions, optional parts, and the compiled code, which a first use would wait for."""

import importlib
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib.metadata import version

import numpy as np
import pyarrow as pa

from discreet.data.cells import Compiled, write_cells
from discreet.data.metadata import Metadata, NumericColumn
from discreet.data.sources import open_table
from discreet.kernels.glm.families import LOGISTIC, score_map
from discreet.kernels.glm.precise_sums import LOGISTIC_LOSS, Lattice, precise_sums
from discreet.kernels.glm.turned_rows import Turn
from discreet.kernels.glm.unit_scores import unit_scores
from discreet.kernels.moments.moments import compiled_moments
from discreet.kernels.public_records.nearest import COMPILE_FROM, NearestPoints
from discreet.mechanisms.rng import Source
from discreet.mechanisms.top_k import SMALL, canonical_lipschitz
from discreet.methods.subset_selection.pcls import PenalizedLeastSquares

PARTS = {
    "discreet_service": ("the service", "pip install discreet-service"),
    "discreet_papers": ("the papers' tables", "pip install discreet-papers"),
    "psycopg": ("ledgers in PostgreSQL", "pip install 'discreet[postgres]'"),
    "adbc_driver_postgresql": ("tables in PostgreSQL", "pip install 'discreet[postgres]'"),
    "pyspark": ("tables on Spark", "pip install 'discreet[spark]'"),
}
"""Optional parts by module: what they are for, and how to install them."""


@dataclass(frozen=True)
class Part:
    """An optional part of an installation."""

    name: str
    purpose: str
    is_installed: bool
    remedy: str


def versions() -> dict[str, str]:
    """Return the versions of Discreet, of Python and of what the numbers come from, and the system."""
    libraries = {name: version(name) for name in ("discreet", "opendp", "numpy", "scipy", "numba", "pyarrow")}
    return {**libraries, "python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}


def parts() -> list[Part]:
    """Return the optional parts; one counts as installed when it can be loaded."""
    return [Part(name, *_tried(name, *facts)) for name, facts in PARTS.items()]


def _tried(name: str, purpose: str, remedy: str) -> tuple[str, bool, str]:
    try:
        importlib.import_module(name)
    except ImportError:
        return purpose, False, remedy
    return purpose, True, ""


def warm() -> Iterator[tuple[str, float]]:
    """Run what is compiled on first use, on invented rows; yield what it was and the seconds it took."""
    for name, task in _TASKS.items():
        start = time.perf_counter()
        task()
        yield name, time.perf_counter() - start


def _search(n_columns: int) -> None:
    """Select by penalized least squares on invented rows with three effects; the release is thrown away."""
    names = [*(f"x{place}" for place in range(n_columns)), "y"]
    columns = {name: {"type": "real", "lower": -1, "upper": 1, "source": "invented"} for name in names}
    metadata = Metadata.from_value(
        {"dataset": "invented", "unit": "row", "neighboring": "replace_one", "n_rows": 200, "columns": columns}
    )
    cells = Source.seeded(1).words(200 * len(names)).reshape(len(names), 200) / 2.0**63 - 1.0
    cells[-1] = cells[:3].mean(axis=0)
    table = open_table(pa.table(dict(zip(names, cells, strict=True))), metadata)
    PenalizedLeastSquares(epsilon=1.0, l1_radius=1.0).prepare(metadata, "y").run(table, Source.seeded(1))


def _choose() -> None:
    scores = np.arange(SMALL + 1, dtype=np.float64)
    for kind in (np.float64, np.int64):
        canonical_lipschitz(scores.astype(kind), 2, Fraction(1), 1, Source.seeded(1))


def _find_nearest() -> None:
    for p in (3, 5, 7, 30):
        n_points = 1000
        cells = (Source.seeded(p).words(2 * n_points * p) >> np.uint64(49)).astype(np.int16).reshape(-1, p)
        rows = np.resize(cells[n_points:], (COMPILE_FROM // (n_points * p) + 1, p))
        NearestPoints(cells[:n_points], p).nearest(rows)


def _add_up() -> None:
    row_map = score_map(LOGISTIC, np.zeros(2), (-1.0, 1.0), turn=Turn.of(np.eye(2), 1.0))
    for sums in (row_map.sums, unit_scores(row_map, np.eye(2), 1.0, 1, 1).sums):
        sums(np.zeros((1, 3), dtype=np.int16))
    precise_sums(np.zeros((1, 3), dtype=np.int16), LOGISTIC_LOSS, Lattice(2, 1.0), (0, 0))


def _put_on_the_grid() -> None:
    Compiled.load()
    compiled_moments(np.zeros((1, 2), dtype=np.int16))
    column, cells = NumericColumn(type="real", lower=0.0, upper=1.0), np.empty(1, dtype=np.int16)
    for kind in (pa.float64(), pa.float32(), pa.int64(), pa.int32()):
        write_cells(pa.array([0], kind), column, 0.5, 0.5, cells)


_TASKS: dict[str, Callable[[], object]] = {
    "scores of every model": partial(_search, 10),
    "search among many columns": partial(_search, 30),
    "top columns of many": _choose,
    "nearest public records": _find_nearest,
    "sums of regressions": _add_up,
    "cells of large tables": _put_on_the_grid,
}
N_TASKS = len(_TASKS)
