"""Small tables for the tests of generalized linear models."""

from typing import Any

import numpy as np
from scipy.special import expit

from discreet.kernels.glm.families import Family
from discreet.kernels.glm.noisy_newton import noisy_newton
from discreet.kernels.glm.problem import Problem
from discreet.kernels.glm.requests import Request
from discreet.kernels.glm.score_fit import Fit
from discreet.kernels.glm.score_looks import LookRequest
from discreet.kernels.moments.moments import GRID

THETA = np.array([-0.3, 0.8, -0.5, 0.0])


def logistic_cells(n: int, rng: Any, theta: np.ndarray = THETA) -> np.ndarray:
    """Rows with uniform columns."""
    cells = np.full((n, len(theta) + 1), GRID, dtype=np.int16, order="F")
    cells[:, 1:-1] = np.rint(rng.uniform(-1, 1, (n, len(theta) - 1)) * GRID)
    cells[:, -1] = np.where(rng.random(n) < expit(cells[:, :-1] @ theta / GRID), GRID, -GRID)
    return cells


def poisson_cells(n: int, rng: Any, largest: int = 20, theta: np.ndarray = THETA) -> np.ndarray:
    """Rows with uniform columns and counts up to a bound."""
    cells = logistic_cells(n, rng, theta)
    counts = np.minimum(rng.poisson(np.exp(1.0 + cells[:, :-1] @ theta / GRID)), largest)
    cells[:, -1] = np.rint((2.0 * counts / largest - 1.0) * GRID)
    return cells


def natural(cells: np.ndarray, family: Family) -> tuple[np.ndarray, np.ndarray]:
    """Columns and response in natural units."""
    return cells[:, :-1] / GRID, family.middle + family.half * cells[:, -1] / GRID


def with_noise(request: Request, cells: np.ndarray, rng: Any | None) -> np.ndarray:
    """The sums of a request; exact without a generator."""
    sums = request.row_map.sums(cells).astype(float)
    if rng is not None and isinstance(request, LookRequest):
        sums += rng.normal(size=sums.shape) * request.sd
    elif rng is not None:
        p = len(sums)
        above = np.triu(rng.normal(size=(p, p)) * request.sd_above, 1)
        sums[:, :p] += above + above.T + np.diag(rng.normal(size=p) * request.sd_diagonal)
        sums[:, p] += rng.normal(size=p) * request.sd_gradient
    return sums


def fitted(problem: Problem, cells: np.ndarray, rng: Any | None = None) -> tuple[Fit, list[Request]]:
    """Run all passes."""
    steps, requests = noisy_newton(problem), []
    request = next(steps)
    while True:
        requests.append(request)
        try:
            request = steps.send(with_noise(request, cells, rng))
        except StopIteration as done:
            return done.value, requests
