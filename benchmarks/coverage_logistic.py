"""How often private logistic intervals cover: `python -m benchmarks.coverage_logistic [--tables 1000]`.

Noise is simulated: seeded words turned into Gaussian numbers and added to the exact sums of the kernels.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import expit, ndtr, ndtri

from discreet.kernels.glm.families import LOGISTIC, Groups
from discreet.kernels.glm.noisy_newton import Fit, Problem, Request, noisy_newton
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.rng import Source

console = Console(width=150)

DELTA = 1e-6

ROWS, EPSILONS = (500, 5000, 50_000), (0.5, 1.0, 4.0)

DESIGNS = ("uniform", "correlated", "dummies", "steep", "rare")


@dataclass(frozen=True)
class Cell:
    """One setting."""

    design: str
    n: int
    epsilon: float
    replace: bool
    tables: int


class Numbers:
    """Gaussian and uniform numbers from a seeded source."""

    def __init__(self, seed: int) -> None:
        self._source = Source.seeded(seed)

    def uniform(self, *shape: int) -> Any:
        """In (0, 1)."""
        words = self._source.words(int(np.prod(shape)))
        return (((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53).reshape(shape)

    def normal(self, *shape: int) -> Any:
        """Standard Gaussian."""
        return ndtri(self.uniform(*shape))


def gaussian_mu(epsilon: float, delta: float = DELTA) -> float:
    """Return the largest mu with this guarantee (Balle and Wang 2018, Dong, Roth and Su 2022)."""
    low, high = 1e-4, 20.0
    for _ in range(100):
        mu = (low + high) / 2.0
        spent = ndtr(mu / 2.0 - epsilon / mu) - exp(epsilon) * ndtr(-mu / 2.0 - epsilon / mu)
        low, high = (low, mu) if spent > delta else (mu, high)
    return low


# ---- data


def columns(design: str, n: int, numbers: Numbers) -> tuple[Any, Any, Groups]:
    """Return covariates, true coefficients with the constant's first, and groups of dummies."""
    if design == "correlated":
        mixed = (numbers.normal(n, 3) + numbers.normal(n, 1)) / 2.0**0.5
        return np.clip(mixed / 2.5, -1.0, 1.0), np.array([-0.3, 1.5, -1.0, 0.0]), ()
    if design == "dummies":
        level = np.searchsorted([0.4, 0.7, 0.9], numbers.uniform(n))
        dummies = (level[:, None] == np.arange(1, 4)).astype(float)
        X = np.column_stack([2.0 * numbers.uniform(n, 2) - 1.0, dummies])
        return X, np.array([-1.0, 1.0, 0.0, 0.5, -0.5, 1.0]), ((3, 4, 5),)
    theta = {"uniform": (-0.3, 0.8, -0.5, 0.0), "steep": (-2.0, 3.0, -2.0, 0.0), "rare": (-3.5, 0.8, -0.5, 0.0)}
    return 2.0 * numbers.uniform(n, 3) - 1.0, np.array(theta[design]), ()


def simulated(design: str, n: int, numbers: Numbers) -> tuple[Any, Any, Groups]:
    """Return cells, true coefficients and groups."""
    X, theta, groups = columns(design, n, numbers)
    cells = np.full((n, len(theta) + 1), GRID, dtype=np.int16, order="F")
    cells[:, 1:-1] = np.rint(X * GRID)
    chance = expit(cells[:, :-1] @ theta / GRID)
    cells[:, -1] = np.where(numbers.uniform(n) < chance, GRID, -GRID)
    return cells, theta, groups


def without_privacy(cells: Any) -> tuple[Any, Any]:
    """Return the maximum likelihood estimate and its standard errors; a tiny ridge where there is none."""
    X, y = cells[:, :-1] / GRID, cells[:, -1] > 0
    theta = np.zeros(X.shape[1])
    for _ in range(50):
        mean = expit(X @ theta)
        information = (X.T * (mean * (1.0 - mean))) @ X + 1e-6 * np.eye(len(theta))
        step = np.linalg.solve(information, X.T @ (y - mean) - 1e-6 * theta)
        theta += np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-9:
            break
    return theta, np.sqrt(np.linalg.inv(information).diagonal())


# ---- estimates


def noisy(request: Request, cells: Any, numbers: Numbers) -> Any:
    """Return the request's sums with noise."""
    sums = request.row_map.sums(cells).astype(np.float64)
    p = len(sums)
    above = np.triu(numbers.normal(p, p) * request.sd_above, 1)
    sums[:, :p] += above + above.T + np.diag(numbers.normal(p) * request.sd_diagonal)
    sums[:, p] += numbers.normal(p) * request.sd_gradient
    return sums


def estimated(problem: Problem, cells: Any, numbers: Numbers) -> Fit:
    """Run the passes."""
    steps = noisy_newton(problem)
    request = next(steps)
    while True:
        try:
            request = steps.send(noisy(request, cells, numbers))
        except StopIteration as done:
            fit: Fit = done.value
            return fit


def gradient_descent(problem: Problem, cells: Any, numbers: Numbers, steps: int = 20) -> Any:
    """Return the last point of plain noisy gradient descent: equal steps of length 4 / C^2 on the mean loss."""
    X, y, n = cells[:, :-1] / GRID, cells[:, -1] > 0, len(cells)
    theta, bound = np.zeros(X.shape[1]), problem.squared_norm**0.5
    sd = (2.0 if problem.replace else 1.0) * bound * steps**0.5 / problem.mu
    for _ in range(steps):
        gradient = X.T @ (y - expit(X @ theta)) + sd * numbers.normal(len(theta))
        theta = np.clip(theta + 4.0 / bound**2 * gradient / n, -10.0, 10.0)
    return theta


def measured(cell: Cell) -> list[str]:
    """Return a row of the table."""
    mu, start = gaussian_mu(cell.epsilon), time.process_time()
    found = []
    for table in range(cell.tables):
        numbers = Numbers(table)
        cells, theta, groups = simulated(cell.design, cell.n, numbers)
        problem = Problem(LOGISTIC, len(theta), groups, mu, cell.replace, cell.n)
        fit = estimated(problem, cells, numbers)
        mle, se = without_privacy(cells)
        plain = gradient_descent(problem, cells, numbers)
        covers = (fit.low <= theta) & (theta <= fit.high)
        ends = (fit.low <= -problem.box + 1e-6).astype(int) + (fit.high >= problem.box - 1e-6)
        parts = np.sqrt(fit.covariance_sampling.diagonal()), np.sqrt(fit.covariance_privacy.diagonal())
        errors = ((estimate - theta) ** 2 for estimate in (fit.coef, plain, mle))
        found.append([covers, ends > 0, ends > 1, fit.high - fit.low, 3.92 * se, *parts, *errors])
    every = np.array(found, dtype=float)
    covers, open_, boxed = every[:, :3].mean(axis=0)
    width, free, sampling, privacy = np.median(every[:, 3:7], axis=0)[:, 1:].mean(axis=1)
    errors = np.sqrt(every[:, 7:].mean(axis=0)[:, 1:].mean(axis=1))
    return [
        cell.design,
        f"{cell.n:,}",
        f"{cell.epsilon:g}",
        " ".join(f"{100 * c:.1f}" for c in covers),
        f"{100 * open_[1:].mean():.0f} / {100 * boxed[1:].mean():.0f}",
        f"{width:.3f}",
        f"{free:.3f}",
        f"{sampling:.3f} / {privacy:.3f}",
        *(f"{error:.3f}" for error in errors),
        f"{1e3 * (time.process_time() - start) / cell.tables:.0f}",
    ]


def main() -> None:
    """Print a line a cell as it is done, then the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--designs", nargs="+", default=["uniform"], choices=DESIGNS)
    parser.add_argument("--relation", default="replace_one", choices=["add_or_remove_one", "replace_one"])
    given = parser.parse_args()
    replace = given.relation == "replace_one"
    cells = [Cell(d, n, e, replace, given.tables) for d in given.designs for n in ROWS for e in EPSILONS]
    table = Table(title=f"Coverage of 95 % intervals, {given.tables} tables a cell, delta {DELTA:g}, {given.relation}")
    for head in (
        "design",
        "n",
        "epsilon",
        "coverage % (constant, slopes)",
        "open / whole box %",
        "width",
        "width, no privacy",
    ):
        table.add_column(head, justify="right", no_wrap="coverage" in head)
    for head in ("se sampling / privacy", "rmse", "rmse, plain GD", "rmse, no privacy", "ms"):
        table.add_column(head, justify="right", no_wrap="coverage" in head)
    with ProcessPoolExecutor(2) as pool:
        for row in pool.map(measured, cells):
            console.print(" | ".join(row), highlight=False)
            table.add_row(*row)
    console.print(table)
    console.print("Widths are medians; widths, errors and open ends are means over the slopes.")


if __name__ == "__main__":
    main()
