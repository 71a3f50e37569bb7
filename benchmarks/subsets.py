"""How fast every subset is scored, beside a batched numpy solve of the same subsets."""

import os
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.timing import seconds
from discreet.kernels.subsets.l1_ball import solve_on_l1_ball
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.kernels.subsets.subsets import score_blocks

console = Console(width=120)

SHARES = (0.2, 0.5, 1.0, 2.0)
"""Radii, as shares of the l1 norm of the least squares fit of all columns."""


def every_subset(dims: tuple[int, ...] = (13, 20, 24), peer_up_to: int = 20) -> None:
    """Every subset's constrained score, with its certificate, against every subset's unconstrained one by numpy."""
    rows = []
    for d in dims:
        rss, peer = None, None
        if d <= peer_up_to:
            start = time.perf_counter()
            rss = batched_rss(*moments(d))
            peer = time.perf_counter() - start
        for share in SHARES:
            problem = bounded(d, share)
            repeats = 5 if d <= peer_up_to else 1
            one, both = (seconds(lambda: drain(problem, threads), repeats) for threads in (1, 2))  # noqa: B023
            worst, active = differences(problem, rss)
            rows.append([
                str(d), f"{share:.1f}", f"{active:.0%}" if rss is not None else "", f"{peer:.2f} s" if peer else "",
                f"{1e3 * one:,.0f} ms", f"{1e3 * both:,.0f} ms", f"{1e9 * one / 2**d:.0f} ns",
                f"{peer / one:.1f}" if peer else "", f"{worst:.0e}", f"{peak_mb(d, share)} MB",
            ])  # fmt: skip
    columns = ["d", "R / |OLS|", "bound active", "numpy, RSS only", "one core", "both cores", "a model", "ratio"]
    table = Table(
        title="Every subset on the l1 ball, certified; the peer solves the same subsets in batches, without the bound",
        caption=f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; ratio: numpy to one core",
        title_justify="left",
    )
    for column in [*columns, "difference / y'y", "peak"]:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def moments(d: int, n: int = 1000, seed: int = 1) -> tuple[Any, Any, float]:
    """X'X, X'y and y'y of correlated uniform columns, all with an effect."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    X = rng.uniform(-1, 1, (n, d))
    X[:, 1] = 0.9 * X[:, 0] + 0.1 * X[:, 1]
    y = X @ (0.5 * rng.normal(size=d)) + 0.3 * rng.normal(size=n)
    return X.T @ X, X.T @ y, float(y @ y)


def bounded(d: int, share: float) -> SubsetProblem:
    """The radius a share of the full fit's norm; the tolerance that the selection asks for, at 1,000 rows."""
    gram, xty, yty = moments(d)
    radius = share * float(np.abs(np.linalg.solve(gram, xty)).sum())
    units, none = np.eye(d, dtype=bool), np.zeros(d, dtype=bool)
    return SubsetProblem(gram, xty, yty, radius, units, none, 1e-4 * (1.0 + radius) ** 2)


def batched_rss(gram: Any, xty: Any, yty: float, batch: int = 2**12) -> tuple[Any, Any]:
    """Residual sum of squares and l1 norm by mask: stacked k x k systems, all subsets of a size after another."""
    d = len(xty)
    masks = np.arange(2**d, dtype=np.uint32)
    sizes = np.bitwise_count(masks)
    rss, norms = np.full(2**d, yty), np.zeros(2**d)
    for k in range(1, d + 1):
        of_size = masks[sizes == k]
        for low in range(0, len(of_size), batch):
            part = of_size[low : low + batch]
            columns = np.nonzero(part[:, None] >> np.arange(d, dtype=np.uint32) & 1)[1].reshape(-1, k)
            sides = xty[columns]
            b = np.linalg.solve(gram[columns[:, :, None], columns[:, None, :]], sides[:, :, None])[:, :, 0]
            rss[part] -= np.einsum("ij,ij->i", sides, b)
            norms[part] = np.abs(b).sum(axis=1)
    return rss, norms


def drain(problem: SubsetProblem, threads: int) -> None:
    """Score all models and keep none."""
    for _ in score_blocks(problem, compiled=True, threads=threads):
        pass


def differences(problem: SubsetProblem, rss: Any) -> tuple[float, float]:
    """Worst difference to an independent score, relative to y'y, and the share of models that the bound holds back."""
    sharp = problem._replace(tolerance=1e-9 * problem.yty)
    worst, active = 0.0, 0
    for i, (masks, scores, _) in enumerate(score_blocks(problem, compiled=True)):
        if rss is not None:
            inside = rss[1][masks] <= problem.radius
            worst = max(worst, np.abs(scores - rss[0][masks])[inside].max(initial=0.0))
            active += int((~inside).sum())
        if i < 8:  # the bounded ones, by the array code
            some = masks[:: max(1, len(masks) // 256)]
            columns = problem.columns(some)
            start = np.zeros(columns.shape, dtype=np.int8)
            values, _, _ = solve_on_l1_ball(problem.gram, problem.xty, problem.radius, columns, start, sharp.tolerance)
            worst = max(worst, np.abs(scores[:: max(1, len(masks) // 256)] - problem.yty - values).max())
    return worst / problem.yty, active / 2 ** len(problem.units)


def peak_mb(d: int, share: float) -> int:
    """Most memory of a process of its own that scores all models on both cores."""
    code = f"from benchmarks.subsets import *; drain(bounded({d}, {share}), 2); print(peak())"
    return int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def peak() -> int:
    """Most memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    every_subset(tuple(int(word) for word in sys.argv[1:]) or (13, 20, 24))
