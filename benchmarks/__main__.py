"""Print one table a question; each row stands beside a named peer measured in the same run."""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import lars_path_gram

from benchmarks import beside, nearest, top_k, waiting, wide
from benchmarks.lazy import lazy_search
from benchmarks.subsets import every_subset
from benchmarks.tables import FREMTPL_METADATA, SHARED
from benchmarks.timing import seconds
from discreet.kernels.moments.moments import exact_moments
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.kernels.subsets.subsets import constrained_scores
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noisy_min

console = Console(width=110)


def show(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def regression(d: int, n: int = 1000, seed: int = 1) -> tuple[Any, Any, float]:
    """X'X, X'y and y'y of correlated uniform columns, all with an effect."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    X = rng.uniform(-1, 1, (n, d))
    X[:, 1] = 0.9 * X[:, 0] + 0.1 * X[:, 1]
    y = X @ (0.5 * rng.normal(size=d)) + 0.3 * rng.normal(size=n)
    return X.T @ X, X.T @ y, float(y @ y)


def lars_score(gram: Any, xty: Any, yty: float, radius: float, columns: Any) -> tuple[float, bool]:
    """Least squares on the l1 ball by scikit-learn's path, interpolated; and whether the bound is active."""
    _, _, path = lars_path_gram(Xy=xty[columns], Gram=gram[np.ix_(columns, columns)], n_samples=1000, method="lasso")
    norms = np.abs(path).sum(axis=0)
    active = bool(norms[-1] > radius)
    if active:
        at = int(np.searchsorted(norms, radius))
        share = (radius - norms[at - 1]) / (norms[at] - norms[at - 1])
        b = path[:, at - 1] + share * (path[:, at] - path[:, at - 1])
    else:
        b = path[:, -1]
    return float(yty - 2 * xty[columns] @ b + b @ gram[np.ix_(columns, columns)] @ b), active


def all_subsets(d: int = 13) -> None:
    """Every model's constrained score against a loop over lars_path_gram."""
    gram, xty, yty = regression(d)
    norm = float(np.abs(np.linalg.solve(gram, xty)).sum())
    models, units, none = np.arange(2**d, dtype=np.uint64), np.eye(d, dtype=bool), np.zeros(d, dtype=bool)
    rows = []
    for share in (0.2, 0.4, 0.6):
        radius = share * norm

        def ours(compiled: bool, radius: float = radius) -> Any:
            problem = SubsetProblem(gram, xty, yty, radius, units, none, 1e-6)
            return constrained_scores(problem, models, compiled=compiled)[0]

        start = time.perf_counter()
        peers = [
            lars_score(gram, xty, yty, radius, np.flatnonzero(int(mask) >> np.arange(d) & 1)) for mask in models[1:]
        ]
        peer = time.perf_counter() - start
        active = sum(flag for _, flag in peers) / len(peers)
        worst = np.abs(ours(True)[1:] - [score for score, _ in peers]).max() / yty
        compiled, plain = seconds(lambda: ours(True)), seconds(lambda: ours(False), 3)
        rows.append([
            f"{share:.1f}", f"{active:.0%}", f"{peer:.2f} s", f"{1e3 * compiled:.1f} ms", f"{peer / compiled:,.0f}",
            f"{1e3 * plain:.0f} ms", f"{peer / plain:,.0f}", f"{worst:.0e}",
        ])  # fmt: skip
    show(
        f"All {2**d:,} models of d = {d} on the l1 ball, one core for the peer and for us (asked: 1,000 times faster)",
        ["R / |OLS|", "bound active", "lars_path_gram", "compiled", "ratio", "array code", "ratio", "difference / y'y"],
        rows,
    )


def moments() -> None:
    """Exact integer moments against one float64 product of the same block."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    cells = rng.integers(-32767, 32768, size=(10**6, 20), dtype=np.int16)
    floats = cells.astype(np.float64)
    peer, ours = seconds(lambda: floats.T @ floats), seconds(lambda: exact_moments(cells))
    exact = sum(part.astype(np.int64).T @ part.astype(np.int64) for part in np.array_split(cells, 100))
    wrong = int((exact_moments(cells) != exact).sum())
    show(
        "Moments of 10^6 x 20 (asked: at most 3 times one float64 product, and exact)",
        ["float64 product", "exact moments", "ratio", "entries that differ from int64 arithmetic"],
        [[f"{1e3 * peer:.0f} ms", f"{1e3 * ours:.0f} ms", f"{ours / peer:.2f}", str(wrong)]],
    )


def selection() -> None:
    """The noisy minimum against OpenDP's, which is permute-and-flip too."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    theirs = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=1.0, negate=True)
    rows = []
    for n in (2**10, 2**13, 2**17):
        scores = np.linspace(0, 50, n)
        as_list = scores.tolist()
        peer = seconds(lambda: theirs(as_list), 3)  # noqa: B023 - called at once
        ours = seconds(lambda: noisy_min(scores, 1.0, 1.0, Source()))  # noqa: B023 - called at once
        rows.append([f"{n:,}", f"{1e3 * peer:.1f} ms", f"{1e3 * ours:.2f} ms", f"{peer / ours:,.0f}"])
    show("One private selection, exact, system entropy", ["candidates", "OpenDP", "noisy_min", "ratio"], rows)


def select() -> None:
    """The command on 677,991 policies, start to finish."""
    data = SHARED / "fremtpl2freq.parquet"
    if not data.is_file():
        console.print(f"fremtpl2freq is not at {data.name}: set DISCREET_SHARED to the folder that holds data/.")
        return
    walls, peak = [], 0
    with tempfile.TemporaryDirectory() as folder:
        metadata, ledger = Path(folder, "metadata.yaml"), str(Path(folder, "ledger.sqlite"))
        metadata.write_text(FREMTPL_METADATA)
        grant = ["budget", "grant", "fremtpl2freq", "--epsilon", "100", "--ledger", ledger]
        command(grant)
        for _ in range(6):
            start = time.perf_counter()
            command([
                "select", "--data", str(data), "--metadata", str(metadata), "--target", "ClaimNb", "--epsilon", "1",
                "--l1-radius", "1", "--y-center", "0", "--ledger", ledger, "--fresh", "--yes",
            ])  # fmt: skip
            walls.append(time.perf_counter() - start)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    show(
        "discreet select on fremtpl2freq: 677,991 rows, 10 candidates, 4 of them groups (asked: 3 s, 600 MB)",
        ["first run", "median wall", "worst wall", "peak memory"],
        [[f"{walls[0]:.2f} s", f"{median(walls):.2f} s", f"{max(walls):.2f} s", f"{peak} MB"]],
    )


def top_k_search() -> None:
    """Canonical Lipschitz beside a sort, the plain loop, and OpenDP's peeling."""
    show(top_k.title(), top_k.COLUMNS, top_k.rows())


def screening() -> None:
    """DP-SIS on wide and long tables, start to finish."""
    show("discreet select --method sis, 10 columns", wide.COLUMNS, wide.rows())


def nearest_points() -> None:
    """The nearest public point of each private row, and subsets of the points."""
    show(nearest.title(), nearest.COLUMNS, nearest.rows())


def command(arguments: list[str]) -> None:
    """Run `discreet` as a process of its own."""
    subprocess.run([sys.executable, "-m", "discreet", *arguments], check=True, capture_output=True)


if __name__ == "__main__":
    questions = (select, moments, all_subsets, every_subset, lazy_search, selection, top_k_search, screening)
    for question in (*questions, nearest_points, beside.main, waiting.main):
        question()
