"""How often the intervals of regressions hold the truth: `make coverage`, or `python -m benchmarks.coverage --seed 7`.

Each cell of a covering design (`regression_designs`) is simulated, fitted by the product's default and by the
non-private fit of the same rows. A cell is as asked when 93 to 97.5 % of the intervals that are told hold the truth,
within the simulation's error, and at most 7 % of all intervals are told and wrong. `--epsilon 1000` shows in the last
figure but one how far estimates are from the non-private ones at most: half a standard error is asked.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.regression_designs import (
    Cell,
    covering_cells,
    drawn_cells,
    metadata,
    names,
    simulated,
    true_coefficients,
    with_skewed_columns,
)
from discreet.data.sources import open_table
from discreet.errors import DiscreetError
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of

LEAST, MOST, WRONG = 0.93, 0.975, 0.07
"""Asked of the intervals that are told; of all intervals."""

Z = 1.96


@dataclass(frozen=True)
class Figures:
    """What became of one cell."""

    cell: Cell
    tables: int
    intervals: int
    told: int
    right: int
    error: float
    width: float | None
    bias: float | None
    largest: float | None
    seconds: float
    refused: str | None = None

    @property
    def coverage(self) -> float | None:
        """Of the intervals that are told."""
        return self.right / self.told if self.told else None

    @property
    def silently_wrong(self) -> float:
        """Of all intervals."""
        return (self.told - self.right) / max(self.intervals, 1)

    @property
    def is_as_asked(self) -> bool:
        """Within two standard errors of the simulation."""
        if self.coverage is None:
            return True
        is_covered = LEAST - 2.0 * self.error <= self.coverage <= MOST + 2.0 * self.error
        return is_covered and self.silently_wrong <= WRONG + 2.0 * self.error


def measured(cell: Cell, tables: int, seed: int) -> Figures:
    """Fit tables of one cell; the error is that of a mean over tables, whose intervals are not independent."""
    start = time.perf_counter()
    truth, facts = true_coefficients(cell), metadata(cell)
    try:
        prepared = method_of(cell.family, epsilon=cell.epsilon, delta=cell.delta).prepare(facts, "y", names(cell))
    except DiscreetError as error:
        return Figures(cell, 0, 0, 0, 0, 0.0, None, None, None, 0.0, str(error))
    n_told, n_right, count, shares, ratios, shifts = 0, 0, 0, [], [], []
    for table in range(tables):
        rows = simulated(cell, 1000 * seed + table)
        release = prepared.run(open_table(_frame(rows.columns, facts), facts), Source.seeded(1000 * seed + table))
        assert release.fit is not None
        labels = [entry.name for entry in release.fit.coefficients]
        plain = non_private(cell, rows, labels)
        hits: list[bool] = []
        for entry in release.fit.coefficients:
            count += 1
            value = _truth(truth, entry.name, labels)
            low, high = entry.interval
            if np.isinf(low) and np.isinf(high):
                continue
            n_told += 1
            hits.append(low <= value <= high)
            if entry.name in plain:
                ratios.append((high - low) / max(2.0 * Z * plain[entry.name][1], 1e-12))
                shifts.append((entry.estimate - plain[entry.name][0]) / max(plain[entry.name][1], 1e-12))
        n_right += sum(hits)
        shares.append((sum(hits), len(hits)))
    return Figures(
        cell,
        tables,
        count,
        n_told,
        n_right,
        _ratio_error(shares),
        float(np.median(ratios)) if ratios else None,
        float(np.median(np.abs(shifts))) if shifts else None,
        float(np.max(np.abs(shifts))) if shifts else None,
        time.perf_counter() - start,
    )


def non_private(cell: Cell, rows: Any, labels: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return the maximum likelihood estimates, and their standard errors by the sandwich of people.

    With the same reference level: levels that are among the labels have a coefficient. None for a level without rows,
    or of which all counts are 0 or all classes alike.
    """
    prefix = "group="
    levels = [label for label in labels if label.startswith(prefix) and _has_estimate(cell, rows, label[len(prefix) :])]
    dummies = [(rows.columns["group"] == label[len(prefix) :]) * 1.0 for label in levels]
    X = np.column_stack([np.ones(len(rows.y)), rows.X, *dummies])
    beta = np.zeros(X.shape[1])
    for _ in range(50):
        eta = np.clip(X @ beta, -30.0, 30.0)
        mean = eta if cell.family == "linear" else np.exp(eta) if cell.family == "poisson" else 1 / (1 + np.exp(-eta))
        weight = {"linear": np.ones_like(eta), "poisson": mean, "logistic": mean * (1.0 - mean)}[cell.family]
        information = (X * weight[:, None]).T @ X + 1e-9 * np.eye(X.shape[1])
        step = np.linalg.solve(information, X.T @ (rows.y - mean))
        beta = beta + step * min(1.0, 3.0 / max(float(np.abs(X @ step).max()), 1e-12))
        if float(np.abs(step).max()) < 1e-9:
            break
    scores = X * (rows.y - mean)[:, None]
    sums = np.array([np.bincount(rows.units, weights=column) for column in scores.T])
    inverse = np.linalg.inv(information)
    errors = np.sqrt(np.maximum(np.diag(inverse @ (sums @ sums.T) @ inverse), 0.0))
    own = ["(intercept)", *(f"x{j}" for j in range(rows.X.shape[1])), *levels]
    return {name: (float(b), float(se)) for name, b, se in zip(own, beta, errors, strict=True)}


def _has_estimate(cell: Cell, rows: Any, level: str) -> bool:
    """Whether the maximum likelihood estimate of a level is finite."""
    y = rows.y[rows.columns["group"] == level]
    if cell.family == "linear" or not len(y):
        return bool(len(y))
    return bool(y.max() > 0.0 and (cell.family == "poisson" or y.min() < 1.0))


def _truth(truth: dict[str, float], name: str, labels: Sequence[str]) -> float:
    """The level that has no coefficient is the reference: the intercept holds its effect, others are against it."""
    levels = [label for label in truth if label.startswith("group=")]
    reference = next((truth[label] for label in levels if label not in labels), 0.0)
    if name == "(intercept)":
        return truth[name] + reference
    return truth[name] - (reference if name in levels else 0.0)


def _frame(columns: dict[str, Any], facts: Any) -> Any:
    import pyarrow as pa

    return pa.table({name: values for name, values in columns.items() if name != "person" or facts.unit_id})


def _ratio_error(shares: list[tuple[int, int]]) -> float:
    """The standard error of right / told, tables drawn independently."""
    n_right, n_told = np.array(shares, dtype=float).T
    if not n_told.sum():
        return 0.0
    rate = n_right.sum() / n_told.sum()
    rate = min(max(rate, 0.02), 0.96)  # a run without a miss is no proof that there are none
    spread = np.sum((n_right - rate * n_told) ** 2) ** 0.5 / n_told.sum()
    return float(max(spread, (rate * (1.0 - rate) / n_told.sum()) ** 0.5))


def tables_of(cell: Cell, tables: int) -> int:
    """Fewer tables where they are large; a linear fit of 20,000 rows takes no longer than one of 300."""
    if cell.n_rows > 100_000:
        return max(tables // (4 if cell.family == "linear" else 8), 1)
    return max(tables // 2, 1) if cell.n_rows > 10_000 and cell.family != "linear" else tables


def _measured(task: tuple[Cell, int, int]) -> Figures:
    return measured(*task)


def main() -> None:
    """Print a line for each cell, and how many are as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200, help="simulated tables of a cell; fewer of large ones")
    parser.add_argument("--cells", type=int, default=150)
    parser.add_argument("--seed", type=int, help="draw 20 other cells, and other tables")
    parser.add_argument("--only", nargs="+", default=[], metavar="FACTOR=LEVEL", help="such as family=logistic")
    parser.add_argument("--processes", type=int, help="at once; default one a core")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--epsilon", type=float, help="of all cells, in place of their own")
    parser.add_argument("--rows-per-unit", type=int, help="of all cells, in place of their own")
    parser.add_argument("--skewed", action="store_true", help="columns like incomes in place of each cell's own")
    options = parser.parse_args()
    cells = covering_cells(options.cells) if options.seed is None else drawn_cells(20, options.seed)
    levels = [word.split("=") for word in options.only]
    cells = [cell for cell in cells if all(str(getattr(cell, name)) == level for name, level in levels)]
    cells = cells if options.epsilon is None else [replace(cell, epsilon=options.epsilon) for cell in cells]
    several = options.rows_per_unit
    cells = cells if several is None else [replace(cell, rows_per_unit=several) for cell in cells]
    cells = [with_skewed_columns(cell) for cell in cells] if options.skewed else cells
    cells.sort(key=lambda cell: (cell.family, cell.delta, cell.n_rows, cell.epsilon))
    tasks = [(cell, tables_of(cell, options.tables), options.seed or 0) for cell in cells]
    console = Console(width=170, stderr=False)
    with ProcessPoolExecutor(options.processes) as pool:
        results = list(track(pool.map(_measured, tasks), total=len(tasks), console=Console(file=sys.stderr)))
    console.print(_printed(results))
    answered = [result for result in results if result.refused is None]
    short = [result for result in answered if not result.is_as_asked]
    n_intervals = max(sum(result.intervals for result in answered), 1)
    n_told, n_right = (sum(getattr(result, name) for result in answered) for name in ("told", "right"))
    console.print(
        f"{len(answered) - len(short)} of {len(answered)} cells as asked; {len(results) - len(answered)} refused for "
        f"free; {n_told / n_intervals:.0%} of the intervals are told; {(n_told - n_right) / n_intervals:.1%} are "
        "silently wrong."
    )
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1))


def _printed(results: list[Figures]) -> Table:
    out = Table(title="Intervals of 95 %", title_justify="left")
    for name in ("design", "n", "eps", "delta", "relation", "told %", "right % of told", "+-", "wrong % of all"):
        out.add_column(name, justify="left" if name == "design" else "right")
    for name in ("width / non-private", "|shift| / se", "largest", "s a fit", ""):
        out.add_column(name, justify="right")
    for r in results:
        cell = r.cell
        head = [cell.unlike, str(cell.n_rows), f"{cell.epsilon:g}", f"{cell.delta:g}", cell.neighboring.split("_")[0]]
        if r.refused is not None:
            out.add_row(*head, "refused", "", "", "", "", "", "", "", r.refused[:30])
            continue
        out.add_row(
            *head,
            f"{100 * r.told / max(r.intervals, 1):.0f}",
            "-" if r.coverage is None else f"{100 * r.coverage:.1f}",
            f"{100 * r.error:.1f}",
            f"{100 * r.silently_wrong:.1f}",
            "-" if r.width is None else f"{r.width:.2f}",
            "-" if r.bias is None else f"{r.bias:.2f}",
            "-" if r.largest is None else f"{r.largest:.2f}",
            f"{r.seconds / max(r.tables, 1):.2f}",
            "" if r.is_as_asked else "SHORT",
        )
    return out


if __name__ == "__main__":
    main()
