"""How often a table without any effect gives a column, where .05 is stated: `python -m benchmarks.false_columns`.

Correlated columns that are even, rare, skewed, constant and narrow, beside targets whose center and scale say little.
"""

import argparse
import itertools
import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.typing import Floats

STATED = 0.05
METHODS = {"sis, above a threshold": ("sis", {"n_features_to_select": "auto"}), "decorrelated": ("decorrelated", {})}
N_ROWS, EPSILONS = (300, 1000, 5000), (0.5, 1.0, 4.0)
CORRELATION, RARE = 0.6, 1.6
TARGETS = {
    "normal": lambda rng, n: 10.0 + 3.0 * rng.standard_normal(n),
    "exponential": lambda rng, n: rng.exponential(1.0, n),
    "log-normal": lambda rng, n: np.exp(rng.standard_normal(n)),
    "narrow": lambda rng, n: 10.0 + 0.01 * rng.standard_normal(n),
    "a count": lambda rng, n: rng.poisson(1.0, n) * 1.0,
    "a fifth ones": lambda rng, n: 20.0 * (rng.random(n) < 0.2),
    "two heaps": lambda rng, n: np.where(rng.random(n) < 0.5, 4.0, 15.0) + rng.standard_normal(n),
}
LINE = "{:24} {:14} {:>6} {:>5} {:>9}  {:>14} {:>6}"


def metadata(n_rows: int, is_public: bool) -> Metadata:
    """Return what is public about the tables."""
    even = {"type": "real", "lower": -1, "upper": 1, "source": "study design"}
    columns = {
        "even": even,
        "rare": {**even, "type": "integer", "lower": 0},
        "skewed": {**even, "lower": 0, "upper": 5},
        "constant": even,
        "narrow": even,
        "y": {**even, "lower": 0, "upper": 20},
    }
    relation = {"neighboring": "replace_one", "n_rows": n_rows} if is_public else {"neighboring": "add_or_remove_one"}
    return Metadata.from_value({"dataset": "without-effects", "unit": "person", "columns": columns, **relation})


def table(target: str, n_rows: int, seed: int) -> pa.Table:
    """Return rows of which the target goes with no column."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    latent = rng.standard_normal((n_rows, 4))
    for j in range(1, 4):
        latent[:, j] = CORRELATION * latent[:, j - 1] + (1.0 - CORRELATION**2) ** 0.5 * latent[:, j]
    y: Floats = np.clip(TARGETS[target](rng, n_rows), 0.0, 20.0)
    return pa.table(
        {
            "even": np.clip(latent[:, 0] / 3.0, -1.0, 1.0),
            "rare": (latent[:, 1] > RARE).astype(np.int64),
            "skewed": np.minimum(np.exp(latent[:, 2]), 5.0),
            "constant": np.zeros(n_rows),
            "narrow": 0.02 * np.tanh(latent[:, 3]),
            "y": y,
        }
    )


def n_false(cell: tuple[str, str, int, float, bool], n_tables: int, seed: int) -> int:
    """Return how many of the tables give a column."""
    method, target, n_rows, epsilon, is_public = cell
    name, parameters = METHODS[method]
    guess = {} if is_public or name != "sis" else {"n0": n_rows}
    facts = metadata(n_rows, is_public)
    prepared = method_of(name, epsilon=epsilon, **parameters, **guess).prepare(facts, "y")
    return sum(
        bool(prepared.run(open_table(table(target, n_rows, draw), facts), Source.seeded(draw)).selected)
        for draw in range(seed, seed + n_tables)
    )


def main() -> None:
    """Print a line for each cell, and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200, help="of each cell")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=METHODS, default=list(METHODS), help="methods")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    console, results = Console(width=120), list[dict[str, Any]]()
    console.print(LINE.format("method", "target", "rows", "eps", "relation", "false (stated)", "error"))
    cells = list(itertools.product(given.only, given.targets, N_ROWS, EPSILONS, (True, False)))
    with ProcessPoolExecutor() as pool:
        counts = pool.map(n_false, cells, [given.tables] * len(cells), [given.seed] * len(cells))
        for (method, target, n_rows, epsilon, is_public), count in zip(cells, counts, strict=True):
            share = count / given.tables
            error = (STATED * (1.0 - STATED) / given.tables) ** 0.5
            relation = "replace" if is_public else "add"
            told = f"{share:.3f} ({STATED})"
            console.print(LINE.format(method, target, n_rows, epsilon, relation, told, f"{error:.3f}"))
            results.append({"method": method, "target": target, "share": share})
    for method, target in itertools.product(given.only, given.targets):
        shares = [row["share"] for row in results if (row["method"], row["target"]) == (method, target)]
        console.print(f"{method}, {target}: mean {np.mean(shares):.3f}, largest {max(shares):.3f}")
    if given.json is not None:
        given.json.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
