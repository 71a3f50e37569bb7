"""What a public table of the columns is worth: right columns found without buying their products.

    python -m benchmarks.public_tables --tables 100 --seed 1
    python -m benchmarks.public_tables --wrong

The designs of `less_epsilon`, pure epsilon, replace_one unless said; each private table has a public one of its own,
without the target. With --wrong the public table has uncorrelated columns and the private one correlated ones.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

import discreet as dc
from benchmarks.less_epsilon import DESIGNS, NAMES, RIGHT, bic, metadata, table
from discreet.data.public_moments import public_moments
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.parameters.public_moments import PublicMoments

CELLS = (
    ("replace_one", "chain", 1000, 1.0, ".94 / .68"),
    ("replace_one", "uniform", 300, 1.0, ".79 / .40"),
    ("replace_one", "uniform", 1000, 0.3, ".90 / .64"),
    ("replace_one", "mixed chain", 1000, 1.0, ""),
    ("add_or_remove_one", "chain", 1000, 0.5, ""),
    ("add_or_remove_one", "uniform", 300, 0.5, ""),
)
WRONG = (("replace_one", "chain", 1000, 1.0, ""), ("replace_one", "chain", 1000, 4.0, ""))
METHODS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "decorrelated, public": ("decorrelated", {}, True),
    "decorrelated, public, .3": ("decorrelated", {"max_false": 0.3}, True),
    "moments, public": ("moments", {}, True),
    "moments, public, delta": ("moments", {"delta": 1e-6, "y_bound": "private"}, True),
    "decorrelated": ("decorrelated", {}, False),
    "moments": ("moments", {}, False),
    "moments, delta": ("moments", {"delta": 1e-6, "y_bound": "private"}, False),
}
"""Method, parameters, whether the public table is used."""


def run(
    name: str, relation: str, columns: str, n: int, epsilon: float
) -> Callable[[pa.Table, PublicMoments, int], Sequence[str]]:
    """Return a method as a function of a table, what is public of its columns, and a seed."""
    if name == "BIC":
        return lambda rows, _, __: bic(rows)
    method, parameters, is_public = METHODS[name]
    public = metadata(relation, n, columns)
    guess = {} if relation == "replace_one" or method == "decorrelated" else {"n0": n}

    def selected(rows: pa.Table, known: PublicMoments, seed: int) -> Sequence[str]:
        more = {"public_moments": known} if is_public else {}
        prepared = method_of(method, epsilon=epsilon, **parameters, **guess, **more).prepare(public, "y")
        return prepared.run(dc.open_table(rows, public), Source.seeded(seed)).selected

    return selected


def main() -> None:
    """Print one row a cell: exact recovery, alike / unlike effects."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--records", type=int, default=1000, help="Of each public table.")
    parser.add_argument("--only", nargs="*", default=[*METHODS, "BIC"], help="Methods by their names.")
    parser.add_argument("--cells", nargs="*", type=int, help="Numbers of cells, from 0.")
    parser.add_argument("--wrong", action="store_true", help="Public columns are uncorrelated, private ones are not.")
    asked = parser.parse_args()
    cells = WRONG if asked.wrong else CELLS
    print("| relation | columns | n | epsilon | asked | " + " | ".join(asked.only) + " |")
    print("|---" * (len(asked.only) + 5) + "|")
    for relation, columns, n, epsilon, wanted in cells if asked.cells is None else [cells[k] for k in asked.cells]:
        shares: dict[str, list[str]] = {}
        for place, design in enumerate(DESIGNS):
            seeds = [asked.seed * 10**6 + place * 10**5 + draw for draw in range(asked.tables)]
            tables = [table(design, n, seed, columns) for seed in seeds]
            public = "uniform" if asked.wrong else columns
            known = [
                public_moments(
                    table(design, asked.records, seed + 5 * 10**8, public), metadata(relation, n, public), NAMES
                )
                for seed in seeds
            ]
            for name in asked.only:
                method = run(name, relation, columns, n, epsilon)
                right = sum(
                    tuple(method(rows, moments, seed + 7)) == RIGHT
                    for rows, moments, seed in zip(tables, known, seeds, strict=True)
                )
                shares.setdefault(name, []).append(f"{right / asked.tables:.2f}")
        figures = " | ".join("/".join(pair) for pair in shares.values())
        print(f"| {relation} | {columns} | {n} | {epsilon} | {wanted} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
