"""The share of exactly right models of the product's own methods, as users call them: the table of `right_models`."""

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import discreet as dc
from benchmarks.right_models import BETAS, N_ROWS, RELATIONS, Y_BOUND, normals, uniforms
from discreet.data.engines.arrays import ArraysTable
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.workflow.request import answer

NAMES = [f"x{j}" for j in range(1, 7)]
CLIP = {"y_bound": "private", "y_quantile": 0.5, "shares": {"y_bound": 0.05}}
BOUND = {"n0": N_ROWS, "delta": 1e-6}
METHODS = {
    "NoisyMoments, y_bound private": ("moments", {"delta": 1e-6, "y_bound": "private", "n0": N_ROWS}),
    "NoisyMoments, y_bound 4": ("moments", {"delta": 1e-6, "n0": N_ROWS}),
    "NoisyMoments, pure, y_bound private": ("moments", {"y_bound": "private", "n0": N_ROWS}),
    "PCLS, y_bound private at .5, R 1.5": ("pcls", {**CLIP, "l1_radius": 1.5}),
    "PCLS, y_bound 4, R 3": ("pcls", {"l1_radius": 3.0}),
    "PCPL, y_bound private at .5, R 1": ("pcpl", {**CLIP, **BOUND, "l1_radius": 1.0, "rss_guess": 500.0}),
    "PCPL, y_bound 4, R 3": ("pcpl", {**BOUND, "l1_radius": 3.0, "rss_guess": 1000.0}),
}
"""How the product's methods are asked; n0 is a public guess of the number of rows where it is private."""


def metadata(relation: str) -> dc.Metadata:
    """Public bounds: 1 for the columns, 4 for the target."""
    box = {"type": "real", "lower": -1, "upper": 1, "source": "design"}
    y = {"type": "real", "lower": -Y_BOUND, "upper": Y_BOUND, "source": "design"}
    known = {"n_rows": N_ROWS} if relation == "replace_one" else {}
    return dc.Metadata.from_value(
        {"dataset": "toy", "unit": "row", "neighboring": relation, "columns": dict.fromkeys(NAMES, box) | {"y": y}}
        | known
    )


def share(name: str, relation: str, beta: tuple[float, ...], tables: int, first: int) -> float:
    """The share of exactly right models, no intercept in what is selected."""
    method, parameters = METHODS[name]
    asked = method_of(method, epsilon=1.0, fit_intercept=True, **parameters)
    right = tuple(column for column, effect in zip(NAMES, beta, strict=True) if effect)
    hits = 0
    for seed in range(first, first + tables):
        source = Source.seeded(seed)
        X = 2.0 * uniforms(source, N_ROWS, 6) - 1.0
        y = X @ np.array(beta) + normals(source, N_ROWS)
        table = ArraysTable({**dict(zip(NAMES, X.T, strict=True)), "y": y}, metadata(relation))
        hits += answer(asked, table, "y", rng=source).release.selected == right
    return hits / tables


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--tables", type=int, default=500)
    arguments.add_argument("--first", type=int, default=10_000, help="first seed")
    arguments.add_argument("--only", default="", help="methods whose name holds this")
    given = arguments.parse_args()
    shown = Table(title=f"Exactly right models, {given.tables} tables, n = {N_ROWS}, epsilon 1")
    for column in ("method", *(f"{relation}, {beta[:3]}" for relation in RELATIONS for beta in BETAS), "s"):
        shown.add_column(column)
    for name in METHODS:
        if given.only in name:
            start = time.perf_counter()
            cells = [share(name, r, beta, given.tables, given.first) for r in RELATIONS for beta in BETAS]
            took = time.perf_counter() - start
            shown.add_row(name, *(f"{cell:.3f}" for cell in cells), f"{took:.0f}")
    Console(width=120).print(shown)


if __name__ == "__main__":
    main()
