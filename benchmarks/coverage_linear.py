"""How often private intervals hold the true coefficients: `python -m benchmarks.coverage_linear [--tables 1000]`.

Three columns beside the constant in [-1, 1], normal errors, y clipped to [-1, 1], delta 1e-6, level 95%.
The truth is the model before clipping, so clipping must be rare: where it touched .6% of the rows, at n = 50 000 it
moved coefficients by .7 standard errors, and intervals of plain least squares would cover 90% too.
"""

import argparse
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import ndtr

from benchmarks.linear_accuracy import noisy_moments
from discreet.kernels.sufficient_statistics.regression import LARGEST_COEFFICIENT, coefficients
from discreet.kernels.sufficient_statistics.shares import Relation
from discreet.mechanisms.rng import Source

ROWS, EPSILONS, ERROR = (500, 5_000, 50_000), (0.5, 1.0, 4.0), 0.25
UNITS = 4.0  # the constant and three columns, or two and a category: the largest squared norm of a row


def simulated(design: str, n: int, seed: int) -> tuple[Any, Any, Any]:
    """X with the constant first, y, and the true coefficients."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    b = np.array([0.1, 0.3, -0.2, 0.0])
    Z = rng.uniform(-1.0, 1.0, (n, 3))
    if design == "correlated":  # .8 between the first two
        normal = rng.normal(size=(n, 3))
        normal[:, 1] = 0.8 * normal[:, 0] + 0.6 * normal[:, 1]
        Z = 2.0 * ndtr(normal) - 1.0
    if design == "category":  # three levels, the first one the reference
        level = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
        Z, b = np.column_stack([Z[:, :2], level == 1, level == 2]), np.array([-0.05, 0.25, -0.2, 0.1, 0.0])
    X = np.column_stack([np.ones(n), Z])
    return X, np.clip(X @ b + ERROR * rng.normal(size=n), -1.0, 1.0), b


def cell(design: str, n: int, epsilon: float, tables: int, relation: Relation) -> tuple[Any, Any, Any, Any]:
    """Coverage and median width of each coefficient, share of whole boxes, mean share of privacy in the variance."""
    hits, widths, boxes, private = [], [], [], []
    for seed in range(tables):
        X, y, b = simulated(design, n, seed)
        moments = noisy_moments(X, y, UNITS, epsilon, relation, Source.seeded(seed))
        if design == "category":  # two levels never meet: a public zero
            for i, j in ((3, 4), (4, 3)):
                moments.gram[i, j] = moments.gram_variance[i, j] = 0.0
        found = coefficients(moments, range(len(b)), box=LARGEST_COEFFICIENT, constant=0)
        hits.append((found.low <= b) & (b <= found.high))
        widths.append(found.high - found.low)
        boxes.append(found.uninformative)
        noise, sampling = np.diag(found.covariance_privacy), np.diag(found.covariance_sampling)
        private.append(noise / np.maximum(noise + sampling, 1e-12))
    return np.mean(hits, axis=0), np.median(widths, axis=0), np.mean(boxes), np.mean(private)


def main() -> None:
    """Print one table for each design."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--designs", nargs="+", default=["independent", "correlated", "category"])
    parser.add_argument("--relation", default="add_or_remove_one", choices=["add_or_remove_one", "replace_one"])
    arguments = parser.parse_args()
    for design in arguments.designs:
        title = f"95% intervals, {arguments.tables} tables, {design} columns, {arguments.relation}"
        out = Table(title=title, title_justify="left")
        for name in ("n", "epsilon", "coverage %", "of each coefficient", "median widths", "whole box %", "privacy %"):
            out.add_column(name, justify="right")
        for n in ROWS:
            for epsilon in EPSILONS:
                hits, widths, boxes, private = cell(design, n, epsilon, arguments.tables, arguments.relation)
                each, wide = " ".join(f"{100 * h:.1f}" for h in hits), " ".join(f"{w:.3f}" for w in widths)
                mean = f"{100 * hits.mean():.1f}"
                out.add_row(str(n), str(epsilon), mean, each, wide, f"{100 * boxes:.1f}", f"{100 * private:.0f}")
        Console(width=120).print(out)


if __name__ == "__main__":
    main()
