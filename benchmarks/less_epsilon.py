"""How little epsilon finds the right columns: thresholds beside what stood before, and BIC without privacy.

    python -m benchmarks.less_epsilon --tables 300 --seed 1
    python -m benchmarks.less_epsilon --columns chain --only decorrelated moments "moments, delta" BIC
    python -m benchmarks.less_epsilon --columns chain --only decorrelated --effects 1.5,0,0,0,0,0 0,1,0,1,0,0 --false
    python -m benchmarks.less_epsilon --columns chain --n-columns 19 --only decorrelated BIC
    python -m benchmarks.less_epsilon --columns wide --n-columns 15 --only decorrelated --false

Lei et al.'s two designs (six columns, three of which matter, alike and unlike), or more columns without an effect
beside these, pure epsilon but where a delta is named: shares of tables whose right columns, all and no others, are
selected; with --false, of tables of which a column is selected that does not matter, and of those where the release
does not say that it may be correlated only. Every method gets the same tables and public bounds.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import ndtr, ndtri

import discreet as dc
from discreet.kernels.subsets.best_subsets import best_subsets
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Outcome
from discreet.methods.registry import method_of
from discreet.report.chance_words import LARGEST_CHANCE
from discreet.simulation.draws import normals, uniforms
from discreet.typing import Floats

DESIGNS = ((1.0, 1.0, 1.0, 0.0, 0.0, 0.0), (1.5, 1.0, 0.5, 0.0, 0.0, 0.0))
"""Effects alike and unlike."""

CELLS = {
    "replace_one": ((1000, 0.1), (1000, 0.2), (1000, 0.3), (1000, 1.0), (300, 0.3), (300, 1.0), (200, 1.0)),
    "add_or_remove_one": ((1000, 0.1), (1000, 0.5), (300, 0.3), (200, 1.0)),
}
CELLS_OF_OTHERS = {
    "replace_one": ((1000, 1.0), (300, 1.0)),
    "add_or_remove_one": ((1000, 0.5), (1000, 1.0), (300, 1.0)),
}
"""Where columns are not uniform and independent."""
CELLS_OF_MANY = {
    "replace_one": ((300, 1.0), (1000, 1.0), (3000, 1.0), (10_000, 1.0)),
    "add_or_remove_one": ((1000, 1.0), (3000, 1.0)),
}
"""Where there are more than six columns."""
NAMES = tuple(f"x{j + 1}" for j in range(6))
RIGHT = NAMES[:3]
BOUND = 7.0
THRESHOLD = {"n_features_to_select": "auto", "y_center": "middle"}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "threshold by default": ("sis", {"n_features_to_select": "auto"}),
    "threshold, center known": ("sis", THRESHOLD),
    "threshold, signs": ("sis", THRESHOLD | {"saturation": 1e-6}),
    "threshold, signs, .2": ("sis", THRESHOLD | {"saturation": 1e-6, "max_false": 0.2}),
    "sis, k=3, by default": ("sis", {"n_features_to_select": 3, "noise_test": False}),
    "sis, k=3, center known, cut": (
        "sis",
        {"n_features_to_select": 3, "y_center": "middle", "saturation": 0.1, "noise_test": False},
    ),
    "moments": ("moments", {}),
    "moments, uncorrelated": ("moments", {"uncorrelated": True, "y_bound": 4.0}),
    "pcls": ("pcls", {}),
    "decorrelated": ("decorrelated", {}),
    "moments, delta": ("moments", {"delta": 1e-6, "y_bound": "private"}),
}
COLUMNS = {
    "uniform": ("uniform", 0.0),
    "chain": ("uniform", 0.6),
    "mixed": ("mixed", 0.0),
    "mixed chain": ("mixed", 0.5),
    "wide": ("wide", 0.6),
}
"""Shapes, and the correlation of each column with the one before. Mixed: some of two values, unevenly, others skewed.
Wide: skewed ones, rare ones of two values, and narrow ones that fill a 16th of their bounds, in turn."""

KINDS = (
    {"type": "real", "lower": 0, "upper": 200},
    {"type": "integer", "lower": 0, "upper": 1},
    {"type": "real", "lower": -50, "upper": 50},
)
"""Of wide columns, in turn: log-normal, rare, and 8 with a standard deviation of 3."""

SHARES = {"x1": 0.2, "x4": 0.7, "x5": 0.3}
"""Of ones, where columns are mixed."""

SKEWED, LONGEST = ("x2", "x3", "x6"), 5.0
"""Exponential, and the bound beyond which they are cut."""

ASKED = {
    ("uniform", 1000, 1.0): ".96 / .85",
    ("chain", 1000, 1.0): ".79 / .78",
    ("uniform", 300, 1.0): ".35 / .12",
    ("mixed", 1000, 1.0): ".80 / .75",
    ("mixed chain", 1000, 1.0): ".60 / .57",
}
"""Of replace_one, where nothing is declared of the columns."""


def names_of(p: int) -> tuple[str, ...]:
    """Return the names of the columns."""
    return tuple(f"x{j + 1}" for j in range(p))


def table(design: Sequence[float], n: int, seed: int, columns: str = "uniform") -> pa.Table:
    """One table: columns as named, effects per standard deviation of a uniform one, noise of standard deviation one."""
    rng, p = Source.seeded(seed), len(design)
    shape, correlation = COLUMNS[columns]
    u = uniforms(rng, n, p) if not correlation else ndtr(_chain(normals(rng, n, p), correlation))
    x = {"uniform": lambda u: 2.0 * u - 1.0, "mixed": mixed, "wide": wide}[shape](u)
    # Standard deviations over that of a uniform column.
    sds = {"uniform": 1.0, "mixed": SDS[:p] * np.sqrt(3.0), "wide": x.std(axis=0) * np.sqrt(3.0)}[shape]
    center = x.mean(axis=0) if shape == "wide" else 0.0
    y = (x - center) @ (np.array(design) / sds) + normals(rng, n)
    return pa.table({**dict(zip(names_of(p), x.T, strict=True)), "y": y})


def _chain(normal: Floats, correlation: float) -> Floats:
    for j in range(1, normal.shape[1]):
        normal[:, j] = correlation * normal[:, j - 1] + np.sqrt(1.0 - correlation**2) * normal[:, j]
    return normal


def mixed(u: Floats) -> Floats:
    """Columns of two values and skewed ones, of uniform numbers."""
    x = np.minimum(-np.log1p(-u), LONGEST)
    for name, share in SHARES.items():
        place = NAMES.index(name)
        x[:, place] = u[:, place] > 1.0 - share
    return x


def wide(u: Floats) -> Floats:
    """Skewed columns, rare ones of two values and narrow ones, in turn, of uniform numbers."""
    x = ndtri(u)
    x[:, ::3] = np.minimum(20.0 * np.exp(0.8 * x[:, ::3]), 200.0)
    x[:, 1::3] = u[:, 1::3] > 0.8
    x[:, 2::3] = 8.0 + 3.0 * x[:, 2::3]
    return x


SDS = mixed((np.arange(100_000) + 0.5)[:, None] / 100_000 * np.ones(6)).std(axis=0)


def metadata(relation: str, n: int, columns_are: str = "uniform", p: int = 6) -> dc.Metadata:
    """Public bounds, and the number of rows where it is public."""
    ends = dict.fromkeys(names_of(p), 1.0) | {"y": BOUND}
    columns = {name: {"type": "real", "lower": -end, "upper": end, "source": "design"} for name, end in ends.items()}
    shape = COLUMNS[columns_are][0]
    if shape == "wide":
        columns |= {name: {**KINDS[j % 3], "source": "design"} for j, name in enumerate(names_of(p))}
        columns["y"] = {"type": "real", "lower": -20, "upper": 20, "source": "design"}
    if shape == "mixed":
        columns |= {name: {"type": "integer", "lower": 0, "upper": 1, "source": "design"} for name in SHARES}
        columns |= {name: {"type": "real", "lower": 0, "upper": LONGEST, "source": "design"} for name in SKEWED}
    public = {"n_rows": n} if relation == "replace_one" else {}
    return dc.Metadata.from_value(
        {"dataset": "lei", "unit": "person", "neighboring": relation, "columns": columns, **public}
    )


def bic(rows: pa.Table) -> tuple[str, ...]:
    """Return the columns of the model with the least BIC, without privacy."""
    p, n = rows.num_columns - 1, rows.num_rows
    cells = np.column_stack([np.ones(n), *(rows[name].to_numpy() for name in (*names_of(p), "y"))])
    products = cells.T @ cells
    gram, xty, yty = products[:-1, :-1], products[:-1, -1], float(products[-1, -1])
    units, always = np.eye(p + 1, dtype=np.bool_)[1:], np.arange(p + 1) == 0
    rss, masks = best_subsets(gram, xty, yty, units, always, p, 1)
    of_size = [yty - xty[0] ** 2 / n, *rss[:, 0]]
    size = int(np.argmin(n * np.log(np.array(of_size) / n) + np.arange(p + 1) * np.log(n)))
    return tuple(name for j, name in enumerate(names_of(p)) if size and int(masks[size - 1, 0]) >> j & 1)


Run = Callable[[pa.Table, int], tuple[set[str], set[str]]]
"""From a table and a seed to the selected columns, and those that the release does not call unsure."""


def runs(relation: str, n: int, epsilon: float, columns: str, p: int) -> dict[str, Run]:
    """Return every method."""
    public = metadata(relation, n, columns, p)

    def of(name: str, parameters: dict[str, Any]) -> Run:
        guess = {} if relation == "replace_one" or name in ("moments", "decorrelated") else {"n0": n}
        prepared = method_of(name, epsilon=epsilon, **parameters, **guess).prepare(public, "y")
        return lambda rows, seed: _told(prepared.run(dc.open_table(rows, public), Source.seeded(seed)))

    chosen = {label: of(*how) for label, how in METHODS.items()}
    return chosen | {"BIC": lambda rows, _: (set(bic(rows)), set(bic(rows)))}


def _told(outcome: Outcome) -> tuple[set[str], set[str]]:
    return set(outcome.selected), {
        name for name in outcome.selected if outcome.chances.get(name, 0.0) <= LARGEST_CHANCE
    }


def _written(effects: Sequence[float]) -> str:
    return ",".join(f"{effect:g}" for effect in effects)


def main() -> None:
    """Print one row a cell: exact recovery, alike / unlike effects, or other designs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[*METHODS, "BIC"], help="Methods by their names.")
    parser.add_argument("--columns", choices=COLUMNS, default="uniform")
    parser.add_argument("--n-columns", type=int, default=6, help="Those without a stated effect have none.")
    parser.add_argument("--effects", nargs="*", default=[_written(effects) for effects in DESIGNS])
    parser.add_argument("--false", action="store_true", help="Tables with a column that does not matter.")
    asked = parser.parse_args()
    p, stated = asked.n_columns, [tuple(map(float, effects.split(","))) for effects in asked.effects]
    designs = [(*effects[:p], *[0.0] * (p - len(effects))) for effects in stated]
    cells_of = CELLS if asked.columns == "uniform" else CELLS_OF_OTHERS
    print(f"columns: {p}, {asked.columns}; effects: {' / '.join(asked.effects)}")
    print("| relation | n | epsilon | asked, nothing declared | " + " | ".join(asked.only) + " |")
    print("|---" * (len(asked.only) + 4) + "|")
    for relation, cells in (cells_of if p == 6 else CELLS_OF_MANY).items():
        for n, epsilon in cells:
            shares: dict[str, list[str]] = {}
            for place, design in enumerate(designs):
                seeds = [asked.seed * 10**6 + place * 10**5 + draw for draw in range(asked.tables)]
                tables = [table(design, n, seed, asked.columns) for seed in seeds]
                methods = runs(relation, n, epsilon, asked.columns, p)
                for name, run in ((name, methods[name]) for name in asked.only):
                    selections = [run(rows, seed + 7) for rows, seed in zip(tables, seeds, strict=True)]
                    true = {name for name, effect in zip(names_of(p), design, strict=True) if effect}
                    if asked.false:
                        false = [[bool(each - true) for each in pair] for pair in selections]
                        all_of, sure = (sum(pair[place] for pair in false) / asked.tables for place in (0, 1))
                        share = f"{all_of:.2f} ({sure:.2f} sure)"
                    else:
                        share = f"{sum(pair[0] == true for pair in selections) / asked.tables:.2f}"
                    shares.setdefault(name, []).append(share)
            wanted = ASKED.get((asked.columns, n, epsilon), "") if relation == "replace_one" and p == 6 else ""
            figures = " | ".join("/".join(pair) for pair in shares.values())
            print(f"| {relation} | {n} | {epsilon} | {wanted} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
