"""Best subsets beside plain enumeration: ``python -m benchmarks.best_subsets``; each row measured in the same run."""

import time
from itertools import combinations
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import discreet as dc

ENUMERATED = 16
"""Columns up to which all models are solved one by one."""


def autoregressive(d: int, n: int, effects: int) -> tuple[Any, Any, float]:
    """X'X, X'y and y'y of an AR(0.5) table, some of whose columns have an effect."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    beta = np.zeros(d)
    beta[rng.choice(d, effects, replace=False)] = 0.3 * rng.standard_normal(effects)
    y = X @ beta + rng.standard_normal(n)
    X, y = X - X.mean(axis=0), y - y.mean()
    return X.T @ X, X.T @ y, float(y @ y)


def enumerate_all(gram: Any, xty: Any, yty: float) -> list[float]:
    """The smallest residual sum of squares of each size, one linear system a model, solved in batches."""
    d, found = len(xty), []
    for size in range(1, d + 1):
        models = np.array(list(combinations(range(d), size)))
        systems = gram[models[:, :, None], models[:, None, :]]
        sides = xty[models]
        found.append(float((yty - (sides * np.linalg.solve(systems, sides[:, :, None])[:, :, 0]).sum(axis=1)).min()))
    return found


def timed(work: Any) -> tuple[float, Any]:
    """Wall time of a call, and what it returns."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def main() -> None:
    """Print the table."""
    table = Table(title="The best model of each size, seconds", title_justify="left")
    for column in ("columns", "rows", "effects", "n_best", "best_subsets", "enumeration", "largest difference"):
        table.add_column(column, justify="right")
    dc.best_subsets(np.eye(2), np.zeros(2), 1.0)  # compiles
    cases = [(16, 1000, 16, 1), (30, 1000, 30, 1), (30, 100, 10, 1), (30, 100, 10, 5), (40, 1000, 10, 1)]
    for d, n, effects, n_best in [*cases, (40, 1000, 40, 1), (40, 100, 10, 1), (40, 100, 10, 5)]:
        moments = autoregressive(d, n, effects)
        taken, models = timed(lambda m=moments, k=n_best: dc.best_subsets(*m, n_best=k))
        row = [str(d), str(n), str(effects), str(n_best), f"{taken:.3f}", "-", "-"]
        if d <= ENUMERATED:
            other, expected = timed(lambda m=moments: enumerate_all(*m))
            first = {model.size: model.rss for model in reversed(models)}
            apart = max(abs(first[size] / value - 1.0) for size, value in enumerate(expected, start=1))
            row[5:] = [f"{other:.3f}", f"{apart:.1e}"]
        table.add_row(*row)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
