"""How little epsilon finds the right columns: thresholds beside what stood before, and BIC without privacy.

    python -m benchmarks.less_epsilon --tables 300 --seed 1

Lei et al.'s two designs (six columns, three of which matter, alike and unlike), pure epsilon: shares of tables whose
right columns, all and no others, are selected. Every method gets the same tables and public bounds.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dc
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.simulation.draws import normals, uniforms

DESIGNS = {"alike": (1.0, 1.0, 1.0, 0.0, 0.0, 0.0), "unlike": (1.5, 1.0, 0.5, 0.0, 0.0, 0.0)}
CELLS = {
    "replace_one": ((1000, 0.1), (1000, 0.2), (1000, 0.3), (1000, 1.0), (300, 0.3), (300, 1.0), (200, 1.0)),
    "add_or_remove_one": ((1000, 0.1), (300, 0.3), (200, 1.0)),
}
NAMES = tuple(f"x{j + 1}" for j in range(6))
RIGHT = NAMES[:3]
BOUND = 7.0
THRESHOLD = {"n_features_to_select": "auto", "y_center": "middle"}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "threshold by default": ("sis", {"n_features_to_select": "auto"}),
    "threshold, center known": ("sis", THRESHOLD),
    "threshold, signs": ("sis", THRESHOLD | {"saturation": 1e-6}),
    "threshold, signs, .2": ("sis", THRESHOLD | {"saturation": 1e-6, "max_false": 0.2}),
    "sis, k=3": ("sis", {"n_features_to_select": 3, "y_center": "middle"}),
    "moments": ("moments", {}),
    "moments, uncorrelated": ("moments", {"uncorrelated": True, "y_bound": 4.0}),
    "pcls": ("pcls", {}),
}


def table(design: str, n: int, seed: int) -> pa.Table:
    """One table: columns uniform on [-1, 1], noise of standard deviation one."""
    rng = Source.seeded(seed)
    x = 2.0 * uniforms(rng, n, 6) - 1.0
    y = x @ np.array(DESIGNS[design]) + normals(rng, n)
    return pa.table({**dict(zip(NAMES, x.T, strict=True)), "y": y})


def metadata(relation: str, n: int) -> dc.Metadata:
    """Public bounds, and the number of rows where it is public."""
    ends = dict.fromkeys(NAMES, 1.0) | {"y": BOUND}
    columns = {name: {"type": "real", "lower": -end, "upper": end, "source": "design"} for name, end in ends.items()}
    public = {"n_rows": n} if relation == "replace_one" else {}
    return dc.Metadata.from_value(
        {"dataset": "lei", "unit": "person", "neighboring": relation, "columns": columns, **public}
    )


def bic(rows: pa.Table) -> tuple[str, ...]:
    """Return the columns of the model with the least BIC, without privacy."""
    x = np.column_stack([rows[name].to_numpy() for name in NAMES])
    y, n = rows["y"].to_numpy(), rows.num_rows
    models = [[j for j in range(6) if code >> j & 1] for code in range(64)]

    def score(model: list[int]) -> float:
        design = np.column_stack([np.ones(n), x[:, model]])
        residuals = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        return n * float(np.log(residuals @ residuals / n)) + len(model) * float(np.log(n))

    return tuple(NAMES[j] for j in min(models, key=score))


def runs(relation: str, n: int, epsilon: float) -> dict[str, Callable[[pa.Table, int], Sequence[str]]]:
    """Return every method as a function of a table and a seed."""
    public = metadata(relation, n)

    def of(name: str, parameters: dict[str, Any]) -> Callable[[pa.Table, int], Sequence[str]]:
        guess = {} if relation == "replace_one" or name == "moments" else {"n0": n}
        prepared = method_of(name, epsilon=epsilon, **parameters, **guess).prepare(public, "y")
        return lambda rows, seed: prepared.run(dc.open_table(rows, public), Source.seeded(seed)).selected

    chosen = {label: of(*how) for label, how in METHODS.items()}
    return chosen | {"BIC": lambda rows, _: bic(rows)}


def main() -> None:
    """Print one row a cell: exact recovery, alike / unlike effects."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[*METHODS, "BIC"], help="Methods by their names.")
    asked = parser.parse_args()
    print("| relation | n | epsilon | " + " | ".join(asked.only) + " |")
    print("|---" * (len(asked.only) + 3) + "|")
    for relation, cells in CELLS.items():
        for n, epsilon in cells:
            shares: dict[str, list[str]] = {}
            for place, design in enumerate(DESIGNS):
                seeds = [asked.seed * 10**6 + place * 10**5 + draw for draw in range(asked.tables)]
                tables = [table(design, n, seed) for seed in seeds]
                methods = runs(relation, n, epsilon)
                for name, run in ((name, methods[name]) for name in asked.only):
                    right = sum(tuple(run(rows, seed + 7)) == RIGHT for rows, seed in zip(tables, seeds, strict=True))
                    shares.setdefault(name, []).append(f"{right / asked.tables:.2f}")
            print(f"| {relation} | {n} | {epsilon} | " + " | ".join("/".join(pair) for pair in shares.values()) + " |")


if __name__ == "__main__":
    main()
