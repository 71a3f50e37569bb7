"""How often noisy moments select the right model: ``python -m benchmarks.moments_recovery --tables 100``.

Rows of one design and method, columns of epsilon; the same tables at every epsilon and for every method. `--design`
takes those whose name holds the text. `--wide` takes instead thirty designs on which nothing was tuned, epsilon .1 to
10, and adds their mean.
"""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import ndtr

import discreet as dc
from discreet.data.engines.arrays import ArraysTable
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.simulation.cached_moments import cached_moments

EPSILONS = (0.3, 0.5, 1.0, 2.0, 3.0, 5.0)
WIDE_EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
Y_BOUND = 4.0
Array = Any


class Design(NamedTuple):
    """Rows: `columns` makes them of a generator and their number; `moments` are the true mean and sd of each column."""

    name: str
    n: int
    columns: Callable[[Any, int], Array]
    effects: tuple[float, ...]
    moments: tuple[float, float]
    is_uncorrelated: bool
    center: float = 0.0


def uniform(correlation: float, d: int) -> Callable[[Any, int], Array]:
    """Uniform on [-1, 1], each correlated with the one before by a normal copula."""

    def columns(rng: Any, n: int) -> Array:
        Z = rng.standard_normal((n, d))
        for j in range(1, d):
            Z[:, j] = correlation * Z[:, j - 1] + (1.0 - correlation**2) ** 0.5 * Z[:, j]
        return 2.0 * ndtr(Z) - 1.0

    return columns


def narrow(d: int, scale: float, mean: float = 0.0) -> Callable[[Any, int], Array]:
    """Normal columns well inside their bounds, about a mean that is not their middle."""
    return lambda rng, n: np.clip(mean + scale * rng.standard_normal((n, d)), -1.0, 1.0)


def rare(d: int, share: float) -> Callable[[Any, int], Array]:
    """Ones among zeros, on [-1, 1]."""
    return lambda rng, n: np.where(rng.random((n, d)) < share, 1.0, -1.0)


THREE = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
UNEQUAL = (1.5, 1.0, 0.5, 0.0, 0.0, 0.0)
DESIGNS = (
    Design("uniform, equal", 1000, uniform(0.0, 6), THREE, (0.0, 3**-0.5), True),
    Design("uniform, unequal", 1000, uniform(0.0, 6), UNEQUAL, (0.0, 3**-0.5), True),
    Design("correlation .6, equal", 1000, uniform(0.6, 6), THREE, (0.0, 3**-0.5), False),
    Design("correlation .6, unequal", 1000, uniform(0.6, 6), UNEQUAL, (0.0, 3**-0.5), False),
    Design("uniform, few rows", 300, uniform(0.0, 6), THREE, (0.0, 3**-0.5), True),
    Design("narrow", 1000, narrow(6, 0.3, 0.2), (2.0, 2.0, 2.0, 0.0, 0.0, 0.0), (0.2, 0.3), True),
    Design("rare ones", 1000, rare(6, 0.15), THREE, (-0.7, 0.714), True, -2.1),
    Design("twelve columns", 2000, uniform(0.3, 12), (*THREE, *(0.0,) * 6), (0.0, 3**-0.5), False),
)


def skewed(d: int) -> Callable[[Any, int], Array]:
    """Columns near the lower ends of their bounds."""
    return lambda rng, n: 2.0 * rng.beta(1.0, 4.0, (n, d)) - 1.0


def uneven(d: int) -> Callable[[Any, int], Array]:
    """Ones among zeros, from a tenth to six tenths of the rows."""
    return lambda rng, n: np.where(rng.random((n, d)) < np.linspace(0.1, 0.6, d), 1.0, -1.0)


def bent(correlation: float, d: int) -> Callable[[Any, int], Array]:
    """Correlated and skewed."""
    straight = uniform(correlation, d)
    return lambda rng, n: (straight(rng, n) + 1.0) ** 2 / 2.0 - 1.0


def wide() -> tuple[Design, ...]:
    """Five kinds of columns, 6 and 12 of them, of 300 to 3,000 rows."""
    designs = list[Design]()
    for n in (300, 1000, 3000):
        for d in (6, 12):
            none = (0.0,) * (d - 3)
            even, unlike = (1.0, 1.0, 1.0, *none), (1.5, 1.0, 0.5, *none)
            designs += [
                Design(f"even, {d} of {n}", n, uniform(0.0, d), even, (0.0, 3**-0.5), True),
                Design(f"correlation .6, {d} of {n}", n, uniform(0.6, d), unlike, (0.0, 3**-0.5), False),
                Design(f"skewed, {d} of {n}", n, skewed(d), (2.0, 2.0, 2.0, *none), (-0.6, 0.327), True, -3.6),
                Design(f"uneven ones, {d} of {n}", n, uneven(d), unlike, (-0.7, 0.7), False, -2.0),
                Design(f"bent, {d} of {n}", n, bent(0.6, d), even, (-0.33, 0.6), False, -1.0),
            ]
    return tuple(designs)


METHODS: dict[str, dict[str, Any]] = {
    "pure": {},
    "delta": {"delta": 1e-6},
    "pure, declared": {"declared": True},
    "delta, declared": {"delta": 1e-6, "declared": True},
}


def table(design: Design, seed: int, relation: str) -> ArraysTable:
    """Rows of a design with a residual of N(0, 1), and their metadata."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    X = design.columns(rng, design.n)
    y = X @ np.array(design.effects) - design.center + rng.standard_normal(design.n)
    names = [f"x{j}" for j in range(1, X.shape[1] + 1)]
    box = {"type": "real", "lower": -1, "upper": 1, "source": "design"}
    bound = {"type": "real", "lower": -Y_BOUND, "upper": Y_BOUND, "source": "design"}
    known = {"n_rows": design.n} if relation == "replace_one" else {}
    columns = dict.fromkeys(names, box) | {"y": bound}
    metadata = {"dataset": "toy", "unit": "row", "neighboring": relation, "columns": columns} | known
    return ArraysTable({**dict(zip(names, X.T, strict=True)), "y": y}, dc.Metadata.from_value(metadata))


def asked(design: Design, parameters: dict[str, Any], epsilon: float) -> Any:
    """The method with its parameters."""
    given = dict(parameters)
    if given.pop("declared", False):
        mean, sd = design.moments
        names = [f"x{j}" for j in range(1, len(design.effects) + 1)]
        given |= {"design_moments": {name: {"mean": mean, "sd": sd} for name in names}}
        given |= {"uncorrelated": design.is_uncorrelated}
    return method_of("moments", epsilon=epsilon, y_bound="private", n0=design.n, **given)


def share(design: Design, parameters: dict[str, Any], epsilon: float, tables: list[Any]) -> float:
    """The share of tables whose selection is exactly the columns with an effect."""
    right = tuple(f"x{j}" for j, effect in enumerate(design.effects, start=1) if effect)
    prepared = cached_moments(asked(design, parameters, epsilon).prepare(tables[0].metadata, "y"))
    hits = [prepared.run(rows, Source.seeded(2**20 + k)).selected == right for k, rows in enumerate(tables)]
    return float(np.mean(hits))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="first seed of the tables")
    parser.add_argument("--design", default="", help="designs whose name holds this")
    parser.add_argument("--method", default="", help="methods whose name starts with this")
    parser.add_argument("--relation", default="replace_one,add_or_remove_one")
    parser.add_argument("--wide", action="store_true", help="other designs, and their mean")
    given = parser.parse_args()
    designs, epsilons = (wide(), WIDE_EPSILONS) if given.wide else (DESIGNS, EPSILONS)
    for relation in given.relation.split(","):
        shown = Table(title=f"Exactly right models, {given.tables} tables, {relation}", title_justify="left")
        for column in ("design", "method", *(f"{epsilon:g}" for epsilon in epsilons)):
            shown.add_column(column)
        means: dict[str, list[list[float]]] = {}
        for design in designs:
            if given.design in design.name:
                tables = [table(design, given.first + seed, relation) for seed in range(given.tables)]
                for name, parameters in METHODS.items():
                    if name.startswith(given.method):
                        found = [share(design, parameters, epsilon, tables) for epsilon in epsilons]
                        means.setdefault(name, []).append(found)
                        shown.add_row(design.name, name, *(f"{value:.2f}" for value in found))
        for name, rows in means.items():
            shown.add_row("mean", name, *(f"{value:.3f}" for value in np.mean(rows, axis=0)))
        Console(width=100).print(shown)


if __name__ == "__main__":
    main()
