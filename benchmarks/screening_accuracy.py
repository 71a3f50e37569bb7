"""How many of the best columns each mechanism finds at equal epsilon: microarrays and Fan and Lv's design."""

import argparse
import json
import math
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import Lasso

from benchmarks.tables import SHARED
from discreet.kernels.block_lasso import named_by_lasso
from discreet.kernels.top_k_metrics import top_k_metrics
from discreet.mechanisms.rng import Source
from discreet.mechanisms.top_k import one_shot
from discreet.methods.top_k_choice import EXPECTED_SHARE
from discreet.planning.top_k import top_k_accuracy
from discreet.report.accuracy_chart import accuracy_chart

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


def fan_lv(n: int = 100, d: int = 2000) -> tuple[Any, Any]:
    """Fan and Lv 2008, 3.3.1: independent normal columns, eight effects of random sign and size."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    X, effects = rng.standard_normal((n, d)), np.zeros(d)
    signs = np.where(rng.random(8) < 0.4, -1.0, 1.0)
    effects[:8] = signs * (4 * math.log(n) / math.sqrt(n) + np.abs(rng.standard_normal(8)))
    return X, X @ effects + 1.5 * rng.standard_normal(n)


def microarray(path: Path) -> tuple[Any, Any]:
    """Columns, and classes numbered in the source's order."""
    table = pq.read_table(path)
    classes = json.loads(table.schema.metadata[b"classes"])
    y = np.array([classes.index(str(label)) + 1.0 for label in table.column("y").to_pylist()])
    return np.column_stack([table.column(name).to_numpy() for name in table.column_names if name != "y"]), y


def scaled(values: Any) -> Any:
    """Centered, and divided by the largest absolute value: bounds as they would be declared for such a study."""
    centered = np.asarray(values, dtype=np.float64) - np.mean(values, axis=0)
    most = np.abs(centered).max(axis=0)
    return centered / np.where(most > 0, most, 1.0)


def by_lasso(X: Any, y: Any) -> Any:
    """Absolute coefficients of a lasso of all rows on standardized columns, price .1."""
    spread = X.std(axis=0)
    standard = X / np.where(spread > 0, spread, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.abs(Lasso(alpha=0.1, max_iter=3000).fit(standard, y / y.std()).coef_)


def two_stage(X: Any, y: Any, k: int, truths: list[Any], draws: int) -> dict[int, list[float]]:
    """Overlaps of votes of root-n blocks, drawn anew each time, by one-shot noise."""
    cells, source = np.rint(np.column_stack([X, y]) * 32767).astype(np.int16), Source()
    n_blocks, found = round(math.sqrt(len(y))), {epsilon: [] for epsilon in EPSILONS}
    for _ in range(draws):
        blocks, votes = source.words(len(y)) % np.uint64(n_blocks), np.zeros(X.shape[1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for block in range(n_blocks):
                votes[named_by_lasso(cells[blocks == block], k, 0.1)] += 1
        for epsilon in EPSILONS:
            chosen = one_shot(votes, k, epsilon, 1.0, source)
            found[epsilon].append([top_k_metrics(chosen, truth).overlap for truth in truths])
    return {epsilon: list(np.mean(rows, axis=0)) for epsilon, rows in found.items()}


def study(asked: tuple[str, int]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """All rows of one table: share of the top k of |x'y|, and of the lasso's, by mechanism and epsilon."""
    name, draws = asked
    X, y = fan_lv() if name == "synth" else microarray(SHARED / "microarray" / f"{name}.parquet")
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
        votes = two_stage(X, y, k, [scores, lasso], draws)
        for at, epsilon in enumerate(EPSILONS):
            row = {short: rated[i * len(EPSILONS) + at] for i, short in enumerate(NAMED)}
            row_lasso = {short: against[i * len(EPSILONS) + at].overlap for i, short in enumerate(NAMED)}
            rows.append({
                "table": f"{name} {n}x{d}", "k": k, "epsilon": epsilon,
                **{short: each.overlap for short, each in row.items()},
                "auto, scale": told[at].overlap, "two-stage": votes[epsilon][0], "great": row["auto"].great,
                "lasso: auto": row_lasso["auto"], "lasso: best": max(row_lasso[peer] for peer in PEERS[:4]),
                "lasso: two-stage": votes[epsilon][1],
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
