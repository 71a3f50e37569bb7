"""What people wait for, each beside a peer and a physical limit, in turns, by processor time.

Run as ``python -m benchmarks.waiting [--repeats 3] [--rows 1000000] [--only start plan ...]``. Least / median of each.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from scipy.linalg.blas import ssyrk
from sklearn.linear_model import LogisticRegression, PoissonRegressor

import discreet as dc
from benchmarks.scale import METADATA, TARGET, made
from benchmarks.subsets import batched_rss, bounded, drain
from benchmarks.subsets import moments as moments_of_subsets
from benchmarks.tables import FREMTPL_METADATA
from benchmarks.wide import wide_file
from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.kernels.moments.moments import compiled_moments
from discreet.mechanisms.rng import Source

Work = Callable[[], Any]
LIBRARIES = "import numpy, pyarrow.compute, pydantic, typer"
N_COLUMNS = 20


class Row(NamedTuple):
    """One piece of work, its peer and a limit that no program passes; each with what it is."""

    what: str
    asked: str
    ours: Work
    peer: tuple[str, Work]
    limit: tuple[str, Work]


class Place(NamedTuple):
    """Where tables are made, and how many rows they have."""

    folder: Path
    n_rows: int


def process(*words: str) -> Work:
    """A Python process of its own; from the second turn on its bytecode is on disk, as that of an installed one."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return lambda: subprocess.run([sys.executable, *words], check=True, capture_output=True, env=own)


def used() -> float:
    """Processor seconds of this process and of those that it waited for."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def in_turns(works: list[Work], repeats: int) -> list[list[float]]:
    """Processor seconds of each call, children included; the first turn is not counted."""
    times: list[list[float]] = [[] for _ in works]
    for turn in range(repeats + 1):
        for place, work in enumerate(works):
            start = used()
            work()
            if turn:
                times[place].append(used() - start)
    return times


def start(place: Place) -> Iterator[Row]:
    """Commands that read no row."""
    metadata = place.folder / "start.yaml"
    metadata.write_text(FREMTPL_METADATA)
    peer, nothing = ("its libraries alone", process("-c", LIBRARIES)), ("python", process("-c", "pass"))
    dry = ["select", "--metadata", str(metadata), "--target", "ClaimNb", "--epsilon", "1", "--dry-run", "--quiet"]
    yield Row("--version", ".25 s", process("-m", "discreet", "--version"), peer, nothing)
    yield Row("metadata check", ".25 s", process("-m", "discreet", "metadata", "check", str(metadata)), peer, nothing)
    yield Row("dry run", ".4 s", process("-m", "discreet", *dry), peer, nothing)


def plan(place: Place) -> Iterator[Row]:
    """A plan of 677,991 rows, each time with another seed so that none is remembered."""
    metadata, seeds = place.folder / "plan.yaml", iter(range(10**6))
    metadata.write_text(FREMTPL_METADATA)
    words = ["-m", "discreet", "plan", "--metadata", str(metadata), "--target", "ClaimNb", "--quiet", "--candidates"]
    names = "VehPower,VehAge,DrivAge,BonusMalus,VehGas,Area"
    yield Row(
        "plan, 6 candidates",
        "8 s",
        lambda: process(*words, names, "--seed", str(next(seeds)))(),
        ("its libraries alone", process("-c", LIBRARIES)),
        ("python", process("-c", "pass")),
    )


def moments(place: Place) -> Iterator[Row]:
    """Exact moments of integers in memory."""
    cells = (
        (Source.seeded(1).words(place.n_rows * N_COLUMNS) >> np.uint64(49)).astype(np.int16).reshape(N_COLUMNS, -1).T
    )
    floats = cells.astype(np.float64)
    single = np.asfortranarray(cells.T.astype(np.float32))
    product = ("product of doubles", lambda: floats.T @ floats)
    limit = ("BLAS on floats", lambda: ssyrk(1.0, single))
    yield Row(f"moments, {place.n_rows:,} x {N_COLUMNS}", "3 products", lambda: compiled_moments(cells), product, limit)


def parquet(place: Place) -> Iterator[Row]:
    """One pass over a Parquet file."""
    path, design = made(place.folder, place.n_rows), Design.plan(METADATA, TARGET)
    numbers = [name for name in METADATA.columns if METADATA.is_number(name)]
    sums = f"SELECT {', '.join(f'sum({name})' for name in numbers)} FROM '{path}'"
    peer = ("DuckDB's sums of its numbers", lambda: duckdb.sql(sums).fetchall())
    limit = ("its bytes read", path.read_bytes)
    ours = lambda: open_table(path, METADATA).moments(design)  # noqa: E731
    yield Row(f"Parquet pass, {place.n_rows:,} x {N_COLUMNS}", "1.5 of sums", ours, peer, limit)


def subsets(_: Place) -> Iterator[Row]:
    """Every model's score with the bound active for half of them, on one core; the peer solves without the bound."""
    peer = ("numpy in batches, no bound", lambda: batched_rss(*moments_of_subsets(20)))
    free = ("the same, bound inactive", lambda: drain(bounded(24, 2.0), 1))
    for d, asked, beside in ((20, "numpy", peer), (24, "2 s", free)):
        limit = ("a copy of the scores", np.ones(2**d).copy)
        yield Row(f"models of {d} columns, bound active", asked, partial(drain, bounded(d, 0.5), 1), beside, limit)


def fits(place: Place) -> Iterator[Row]:
    """Regressions in memory beside lbfgs."""
    columns, response = uniform(place.n_rows, N_COLUMNS), uniform(place.n_rows, 1, 2)[:, 0]
    mean = columns[:, :3] @ np.array([1.0, -1.0, 0.5])
    one, count = (response < np.tanh(mean)).astype(int), np.floor(3.0 * np.abs(response) * np.exp(0.2 * mean))
    declared: dict[str, Any] = {f"x{j}": {"type": "real", "lower": -1, "upper": 1} for j in range(N_COLUMNS)}
    declared |= {"y": {"type": "integer", "lower": 0, "upper": 4}}
    facts = {"dataset": "made", "unit": "person", "neighboring": "replace_one", "n_rows": place.n_rows}
    poisson = dc.PoissonRegression(epsilon=1.0, metadata=Metadata.from_value(facts | {"columns": declared}))
    copy = ("a copy", columns.copy)
    for name, ours, peer, y in (
        ("logistic", dc.LogisticRegression(epsilon=1.0), LogisticRegression(C=np.inf, tol=1e-4), one),
        ("logistic without delta", dc.LogisticRegression(epsilon=1.0, delta=0.0), LogisticRegression(C=np.inf), one),
        ("Poisson", poisson, PoissonRegressor(alpha=0.0), np.minimum(count, 4.0)),
    ):
        work = lambda ours=ours, y=y: ours.fit(columns, y)  # noqa: E731
        lbfgs = lambda peer=peer, y=y: peer.fit(columns, y)  # noqa: E731
        yield Row(f"{name}, {place.n_rows:,} x {N_COLUMNS}", "lbfgs", work, ("scikit-learn's lbfgs", lbfgs), copy)


def wide(place: Place) -> Iterator[Row]:
    """Screening of a Parquet file with 22,283 columns, the whole command."""
    options, ledger = wide_file(place.folder), str(place.folder / "wide.db")
    path = options[1]
    process("-m", "discreet", "budget", "grant", "wide", "--epsilon", "1000", "--ledger", ledger)()
    select = ["select", *options, "--target", "y", "--method", "sis", "--epsilon", "1", "--n-features", "10"]
    ours = process("-m", "discreet", *select, "--ledger", ledger, "--fresh", "--yes", "--quiet")
    code = (
        f"import pandas as pd, numpy as np; t = pd.read_parquet({path!r}); y = np.where(t.pop('y') == 'a', 1.0, -1.0); "
        "print(np.argsort(-np.abs(y @ t.to_numpy()))[:10])"
    )
    limit = ("its bytes read", Path(path).read_bytes)
    yield Row("SIS, 100 x 22,283", "pandas", ours, ("pandas and numpy", process("-c", code)), limit)


def uniform(n_rows: int, n_columns: int, seed: int = 1) -> npt.NDArray[np.float64]:
    """Cells from -1 to 1."""
    words = Source.seeded(seed).words(n_rows * n_columns) >> np.uint64(11)
    return (words.astype(np.float64) * 2.0**-52 - 1.0).reshape(n_rows, n_columns)


QUESTIONS = {each.__name__: each for each in (start, plan, moments, parquet, subsets, fits, wide)}


def shown(times: list[float]) -> str:
    """Least and median in seconds."""
    return f"{min(times):.3g} / {median(times):.3g}"


def main() -> None:
    """Print a line for each row as it is done, then all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--only", nargs="+", choices=QUESTIONS, default=list(QUESTIONS))
    given, _ = parser.parse_known_args()
    console = Console(width=150)
    table = Table(title="Processor seconds, least / median, in turns; wall time differs where cores are shared")
    for head in ("work", "asked", "ours", "peer", "", "limit", "", "peer / ours"):
        table.add_column(head)
    with tempfile.TemporaryDirectory() as folder:
        for name in given.only:
            for row in QUESTIONS[name](Place(Path(folder), given.rows)):
                ours, peer, limit = in_turns([row.ours, row.peer[1], row.limit[1]], given.repeats)
                cells = [row.what, row.asked, shown(ours), row.peer[0], shown(peer), row.limit[0], shown(limit)]
                table.add_row(*cells, f"{min(peer) / max(min(ours), 1e-9):.2f}")
                console.print("; ".join(cells), markup=False, highlight=False)
    console.print(table)


if __name__ == "__main__":
    main()
