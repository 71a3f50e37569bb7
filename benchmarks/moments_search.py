"""The search for the best models in noisy moments beside leaps and bounds: ``python -m benchmarks.moments_search``.

Both have the same moments and the same work, in the same run. `gap` is how much better another model could be, in units
of chi-squared: 0 where the selected model is proven.
"""

import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import discreet as dc
from discreet.data.engines.arrays import ArraysTable
from discreet.kernels.subsets.best_subsets import search_subsets
from discreet.kernels.sufficient_statistics.selection import MOST_WORK, best_models, unit_penalties
from discreet.mechanisms.rng import Source
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.registry import method_of

CASES = (
    (40, 1000, 3, 0.0, 1.0),
    (50, 1000, 3, 0.0, 1.0),
    (60, 1000, 3, 0.0, 1.0),
    (60, 20_000, 10, 0.5, 1.0),
    (100, 1000, 5, 0.3, 1.0),
    (128, 1000, 5, 0.0, 0.3),
    (128, 20_000, 10, 0.5, 1.0),
    (127, 100_000, 10, 0.5, 1.0),
    (127, 400_000, 20, 0.5, 1.0),
)
"""Columns, rows, effects, correlation with the column before, epsilon."""


def answers(d: int, n: int, effects: int, correlation: float, epsilon: float) -> MomentAnswers:
    """Moments of a simulated table, with the noise of a request at delta 1e-6."""
    rng = np.random.default_rng(1)  # noqa: TID251 - simulated data, not noise
    Z = rng.standard_normal((n, d))
    for j in range(1, d):
        Z[:, j] = correlation * Z[:, j - 1] + (1.0 - correlation**2) ** 0.5 * Z[:, j]
    X, beta = np.clip(Z / 3.0, -1.0, 1.0), np.zeros(d)
    beta[rng.choice(d, effects, replace=False)] = 1.5
    y = X @ beta + 0.7 * rng.standard_normal(n)
    names = [f"x{j}" for j in range(d)]
    box = {"type": "real", "lower": -1, "upper": 1, "source": "design"}
    columns = dict.fromkeys(names, box) | {"y": {"type": "real", "lower": -4, "upper": 4, "source": "design"}}
    metadata = {"dataset": "toy", "unit": "row", "neighboring": "add_or_remove_one", "columns": columns}
    table = ArraysTable({**dict(zip(names, X.T, strict=True)), "y": y}, dc.Metadata.from_value(metadata))
    prepared = method_of("moments", epsilon=epsilon, delta=1e-6).prepare(table.metadata, "y")
    return MomentAnswers(prepared.run(table, Source.seeded(3)).moments)


def timed(work: Any) -> tuple[float, Any]:
    """CPU time of a call, and what it returns."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def row(case: tuple[int, int, int, float, float]) -> list[str]:
    """One row of the table."""
    found = answers(*case)
    moments, d = found._weighted, len(found.candidates)
    each = np.eye(d + 1, dtype=np.bool_)
    units, always = each[1:], each[0]
    penalties = unit_penalties("auto", units, moments.n_rows)
    ours, best = timed(lambda: best_models(moments, units, always, penalties))
    problem = (moments.gram, moments.xty, moments.yty, units, always, d, 1, MOST_WORK)
    peer, leaps = timed(lambda: search_subsets(*problem))
    s2, paid = moments.residual_variance, penalties[0] * np.arange(1, d + 1)
    of_leaps = min(best.criteria[0], float((leaps.rss[:, 0] / s2 + paid).min()))
    unlisted = np.where(leaps.is_proven, leaps.rss[:, 0], leaps.least) / s2 + paid
    gaps = [max(best.criterion - float(best.least.min()), 0.0), max(of_leaps - float(unlisted.min()), 0.0)]
    n_proven = [int(np.isinf(best.least[1:]).sum()), int(leaps.is_proven.sum())]
    told = [f"{ours:.2f}", f"{gaps[0]:.1f}", str(n_proven[0]), f"{peer:.2f}", f"{gaps[1]:.1f}", str(n_proven[1])]
    return [*(f"{value:g}" for value in case), str(best.mask.bit_count()), *told]


def main() -> None:
    """Print the table."""
    table = Table(title="The best models by noisy moments, CPU seconds", title_justify="left")
    for column in ("columns", "rows", "effects", "corr.", "epsilon", "chosen", "s", "gap", "sizes"):
        table.add_column(column, justify="right")
    for column in ("leaps s", "gap", "sizes"):
        table.add_column(column, justify="right")
    row((20, 500, 3, 0.0, 1.0))  # compiles
    for case in CASES:
        table.add_row(*row(case))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
