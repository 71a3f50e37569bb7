"""How many of the best columns each mechanism finds at equal epsilon: microarrays and Fan and Lv's design."""

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from benchmarks.tables import SHARED
from discreet.kernels.top_k.top_k_metrics import top_k_metrics
from discreet.mechanisms.rng import Source
from discreet.mechanisms.top_k import one_shot
from discreet.methods.screening.top_k_choice import EXPECTED_SHARE
from discreet.report.accuracy_chart import accuracy_chart
from discreet.simulation.top_k import top_k_accuracy
from discreet_papers.swope_draws import votes
from discreet_papers.swope_tables import by_lasso, fan_lv, microarray, scaled

EPSILONS = (1, 2, 5, 10, 20)
NAMED = {
    "auto": "auto",
    "g .5": "canonical_lipschitz, gamma=0.5",
    "g .9": "canonical_lipschitz, gamma=0.9",
    "g 1": "canonical_lipschitz, gamma=1",
    "peeling": "peeling",
    "one shot": "one_shot",
}
PEERS = ("g .5", "g .9", "g 1", "peeling", "two-stage")


def two_stage(X: Any, y: Any, k: int, truths: list[Any], draws: int) -> dict[int, list[float]]:
    """Overlaps of votes of root-n blocks, drawn anew each time, by one-shot noise."""
    source, found = Source(), {epsilon: [] for epsilon in EPSILONS}
    for _ in range(draws):
        counts = votes(X, y, k, source)
        for epsilon in EPSILONS:
            chosen = one_shot(counts, k, epsilon, 1, source)
            found[epsilon].append([top_k_metrics(chosen, truth).overlap for truth in truths])
    return {epsilon: list(np.mean(rows, axis=0)) for epsilon, rows in found.items()}


def study(asked: tuple[str, int]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """All rows of one table: share of the top k of |x'y|, and of the lasso's, by mechanism and epsilon."""
    name, draws = asked
    if name == "synth":
        X, y, _ = fan_lv(Source.seeded(0))
    else:
        X, y = microarray(pq.read_table(SHARED / "microarray" / f"{name}.parquet"))
    X, y = scaled(X), scaled(y)
    (n, d), scores, lasso = X.shape, np.abs(X.T @ y), by_lasso(X, y)
    rows, charts = [], {}
    for k in (5, 8 if name == "synth" else int(math.log(d))):
        declared = 2.0 ** round(math.log2(np.sort(scores)[-k]))
        common: dict[str, Any] = {"n_draws": draws}
        rated = top_k_accuracy(
            scores, k, EPSILONS, mechanisms=tuple(NAMED.values()), expected_score=EXPECTED_SHARE * n, **common
        )
        told = top_k_accuracy(scores, k, EPSILONS, mechanisms=("auto",), expected_score=declared, **common)
        against = top_k_accuracy(
            scores,
            k,
            EPSILONS,
            mechanisms=tuple(NAMED.values()),
            expected_score=EXPECTED_SHARE * n,
            truth=lasso,
            **common,
        )
        voted = two_stage(X, y, k, [scores, lasso], draws)
        for at, epsilon in enumerate(EPSILONS):
            row = {short: rated[i * len(EPSILONS) + at] for i, short in enumerate(NAMED)}
            row_lasso = {short: against[i * len(EPSILONS) + at].overlap for i, short in enumerate(NAMED)}
            rows.append({
                "table": f"{name} {n}x{d}", "k": k, "epsilon": epsilon,
                **{short: each.overlap for short, each in row.items()},
                "auto, scale": told[at].overlap, "two-stage": voted[epsilon][0], "great": row["auto"].great,
                "lasso: auto": row_lasso["auto"], "lasso: best": max(row_lasso[peer] for peer in PEERS[:4]),
                "lasso: two-stage": voted[epsilon][1],
            })  # fmt: skip
        charts[f"{name}-{k}"] = accuracy_chart([each for each in rated if each.mechanism not in ("one_shot",)])
    return rows, charts


def main() -> None:
    """Print the table; write charts and rows where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=100, help="draws of each cell")
    parser.add_argument("--charts", type=Path, help="folder for an SVG a table and k")
    arguments, console = parser.parse_args(), Console(width=190)
    names = ["synth", *sorted(path.stem for path in (SHARED / "microarray").glob("*.parquet"))]
    shown = ("auto", "auto, scale", *PEERS, "one shot", "great", "lasso: auto", "lasso: best", "lasso: two-stage")
    table = Table(title=f"Share of the top k of |x'y| found, add or remove, {arguments.tables} draws")
    for column in ("table", "k", "epsilon", *shown):
        table.add_column(column, justify="right")
    short: dict[str, list[float]] = {"auto": [], "auto, scale": []}
    below: dict[str, int] = {"auto": 0, "auto, scale": 0}
    with ProcessPoolExecutor(2) as pool:
        for rows, charts in pool.map(study, [(name, arguments.tables) for name in names]):
            for row in rows:
                table.add_row(row["table"], str(row["k"]), str(row["epsilon"]), *(f"{row[name]:.2f}" for name in shown))
                for name, behind in short.items():
                    behind.append(max(row[peer] for peer in PEERS) - row[name])
                    below[name] += row[name] < row["g .5"] - 0.03
            if arguments.charts is not None:
                arguments.charts.mkdir(parents=True, exist_ok=True)
                for name, chart in charts.items():
                    (arguments.charts / f"{name}.svg").write_text(chart, encoding="utf-8")
    console.print(table)
    for name, behind in short.items():
        console.print(
            f"{name}: more than .03 behind the best of the others in {sum(gap > 0.03 for gap in behind)} of "
            f"{len(behind)} rows, at most {max(behind):.2f}; more than .03 below gamma = .5 in {below[name]}"
        )


if __name__ == "__main__":
    main()
