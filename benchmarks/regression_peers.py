"""Private regressions of others, for `benchmarks.regression_accuracy`: written from their publications.

All of them release with noise under adding or removing one row. Rows of X lie in the unit ball by public bounds. The
noise is seeded and in floating point: these are simulations, no releases.
"""

import math
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, xlogy

from discreet.typing import Floats

MEANS = {"linear": lambda eta: eta, "logistic": expit, "poisson": lambda eta: np.exp(np.minimum(eta, 30.0))}


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu whose Gaussian mechanism is (epsilon, delta) private (Balle and Wang 2018)."""

    def excess(mu: float) -> float:
        """Delta of mu less the one asked for."""
        high, low = log_ndtr(mu / 2 - epsilon / mu), log_ndtr(-mu / 2 - epsilon / mu)
        return float(np.exp(high) - np.exp(epsilon + low) - delta)

    return float(brentq(excess, 1e-6, 1e3))


def symmetric_noise(rng: Any, p: int) -> Floats:
    """Standard normals on and above the diagonal, mirrored."""
    upper = np.triu(rng.normal(size=(p, p)))
    noise: Floats = upper + np.triu(upper, 1).T
    return noise


# ---- linear regressions


def adassp(
    X: Floats, y: Floats, epsilon: float, delta: float, rng: Any, analytic: bool = False, failure: float = 0.05
) -> Floats:
    """AdaSSP of Wang 2018, y in [-1, 1]: as published, or with the noise that its three releases need at least."""
    p, log_term = X.shape[1], math.log(6.0 / delta)
    gram = X.T @ X
    scale = math.sqrt(3.0) / gaussian_mu(epsilon, delta) if analytic else math.sqrt(log_term) / (epsilon / 3.0)
    bias = 0.0 if analytic else log_term / (epsilon / 3.0)
    lowest = max(float(np.linalg.eigvalsh(gram)[0] + scale * rng.normal() - bias), 0.0)
    ridge = max(0.0, math.sqrt(p * math.log(2.0 * p**2 / failure)) * scale - lowest)
    noisy = gram + scale * symmetric_noise(rng, p) + ridge * np.eye(p)
    solved: Floats = np.linalg.solve(noisy, X.T @ y + scale * rng.normal(size=p))
    return solved


def sketch_divergence(alpha: float, gamma: float, size: int) -> float:
    """Renyi divergence of `size` normals whose covariance, of least eigenvalue gamma, loses one row of norm 1."""
    total = alpha * math.log1p(-1.0 / gamma) - math.log1p(-alpha / gamma)
    return size / (2.0 * (alpha - 1.0)) * total


def sketch_epsilon(gamma: float, size: int, passes: int, delta: float) -> float:
    """Epsilon of some sketches and of the noisy least eigenvalue before them, each at delta."""
    found = math.inf
    for alpha in 1.0 + np.geomspace(1e-3, 1e5, 400):
        if alpha < gamma:
            to_dp = (math.log(1.0 / delta) + (alpha - 1.0) * math.log1p(-1.0 / alpha) - math.log(alpha)) / (alpha - 1.0)
            found = min(found, passes * sketch_divergence(alpha, gamma, size) + max(to_dp, 0.0))
    return found + math.sqrt(2.0 * math.log(1.25 / delta)) * math.sqrt(size) / gamma


def hessian_mixing(
    X: Floats, y: Floats, epsilon: float, delta: float, rng: Any, passes: int = 3, size: int | None = None
) -> Floats:
    """Iterative Hessian mixing of Lev, Shenfeld, Srinivasan, Ligett and Wilson 2026, y in [-1, 1].

    Half of epsilon is for Gaussian sketches of X, half for the clipped residuals times X: three passes, and sketches of
    six rows a column, as published. A sketch of n rows has the law of as many normals of covariance X'X.
    """
    p = X.shape[1]
    size = size or math.ceil(6.0 * max(p, math.log(4.0 * passes / (delta / 10.0))))
    part, tail = delta / 4.0, math.sqrt(2.0 * math.log(4.0 / (delta / 10.0)))
    gamma = math.exp(
        brentq(lambda at: sketch_epsilon(math.exp(at), size, passes, part) - epsilon / 2.0, 0.01, 40.0, xtol=1e-6)
    )
    gram = X.T @ X
    scale = gamma / math.sqrt(size)
    lowest = float(np.linalg.eigvalsh(gram)[0]) + scale * rng.normal() - tail * scale
    root = np.linalg.cholesky(gram + max(gamma - max(lowest, 0.0), 1e-12) * np.eye(p))
    noise = math.sqrt(passes) / gaussian_mu(epsilon / 2.0, part)
    coef = np.zeros(p)
    for _ in range(passes):
        sketch = rng.normal(size=(size, p)) @ root.T
        gradient = X.T @ np.clip(y - X @ coef, -1.0, 1.0) + noise * rng.normal(size=p)
        coef = coef + np.linalg.solve(sketch.T @ sketch / size, gradient)
    return coef


# ---- gradient descent for any family


@dataclass(frozen=True)
class Descents:
    """Coefficients of many settings of noisy gradient descent on one table.

    Parameters
    ----------
    names : list of str
        Of the settings, the same for all tables of a cell.
    coef : ndarray of float, shape (n_settings, p)
        Not finite where a setting diverges.
    """

    names: list[str]
    coef: Floats


PASSES = (5, 20, 80)
STEPS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
CLIPS = (0.5, 1.5, 5.0)


def descents(
    family: str, X: Floats, y: Floats, offset: Floats, mu: float, rng: Any, passes: tuple[int, ...] = PASSES
) -> Descents:
    """Clipped noisy full-batch gradient descent under Gaussian composition, for a grid of settings.

    Clips and steps go by the response's mean, and the number of rows divides the gradient: neither is charged.
    """
    n, p = X.shape
    level = max(float(np.mean(y)), 1.0 / n) if family == "poisson" else 1.0
    typical = (
        math.sqrt(level) if family == "poisson" else 0.5 if family == "logistic" else float(np.sqrt(np.mean(y**2)))
    )
    curvature = {"linear": 1.0, "logistic": 0.25, "poisson": level}[family]
    grid = [(step, clip) for step in STEPS for clip in CLIPS]
    steps = np.array([step for step, _ in grid]) / curvature
    clips = np.array([clip for _, clip in grid]) * typical
    lengths = np.linalg.norm(X, axis=1)[:, None]
    names, found = [], []
    for count in passes:
        B, tail = np.zeros((p, len(grid))), np.zeros((p, len(grid)))
        noise = clips * math.sqrt(count) / mu if math.isfinite(mu) else 0.0 * clips
        with np.errstate(over="ignore", invalid="ignore"):
            for place in range(count):
                residual = MEANS[family](X @ B + offset[:, None]) - y[:, None]
                bound = clips / lengths
                gradient = X.T @ np.clip(residual, -bound, bound) + noise * rng.normal(size=B.shape)
                B = B - steps * gradient / n
                if 2 * place >= count:
                    tail += B / (count - (count + 1) // 2)
        for kind, coefficients in (("last", B), ("mean", tail)):
            names += [f"{count} passes, step {step:g}, clip {clip:g}, {kind}" for step, clip in grid]
            found.append(coefficients.T)
    return Descents(names, np.concatenate(found))


# ---- without privacy


def maximum_likelihood(family: str, X: Floats, y: Floats, offset: Floats, ridge: float = 1e-9) -> Floats:
    """Newton's method, halved where the deviance grows; the ridge keeps separated tables finite."""
    coef = np.zeros(X.shape[1])
    if family == "linear":
        least: Floats = np.linalg.lstsq(X, y)[0]
        return least
    start = math.log(max(float(y.sum()), 0.5) / float(np.exp(offset).sum()))
    coef = np.linalg.lstsq(X, np.full(len(X), start if family == "poisson" else 0.0))[0]
    value = deviance(family, y, X @ coef + offset)
    for _ in range(60):
        mean = MEANS[family](X @ coef + offset)
        weight = mean if family == "poisson" else mean * (1.0 - mean)
        step = np.linalg.solve((X * weight[:, None]).T @ X + ridge * np.eye(len(coef)), X.T @ (y - mean))
        size = 1.0
        while size > 1e-6 and deviance(family, y, X @ (coef + size * step) + offset) > value + 1e-12:
            size /= 2.0
        coef = coef + size * step
        after = deviance(family, y, X @ coef + offset)
        if value - after < 1e-9 * max(value, 1.0):
            break
        value = after
    return coef


def deviance(family: str, y: Floats, eta: Floats) -> float:
    """Twice the log likelihood that the saturated model has more; the sum of squares for linear ones."""
    if family == "linear":
        return float(np.sum((y - eta) ** 2))
    if family == "logistic":
        return float(2.0 * np.sum(np.logaddexp(0.0, eta) - y * eta))
    mean = np.exp(np.minimum(eta, 700.0))
    return float(2.0 * np.sum(xlogy(y, np.maximum(y, 1e-300)) - y * np.maximum(eta, -700.0) - y + mean))


# ---- diffprivlib, which needs an older scikit-learn, in an environment of its own

SCRIPT = """
import sys, warnings
import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression
warnings.simplefilter("ignore")
family, source, target = sys.argv[1:]
given, found = np.load(source), {}
for name in [key for key in given if key.startswith("X")]:
    X, y, (epsilon, seed) = given[name], given["y" + name[1:]], given["s" + name[1:]]
    rng = np.random.RandomState(int(seed))
    if family == "linear":
        model = LinearRegression(epsilon=epsilon, bounds_X=(-1.0, 1.0), bounds_y=(-1.0, 1.0), random_state=rng)
    else:
        norm = float(X.shape[1]) ** 0.5
        model = LogisticRegression(epsilon=epsilon, data_norm=norm, max_iter=1000, random_state=rng)
    try:
        model.fit(X, y if family == "linear" else y.astype(int))
        found["b" + name[1:]] = np.append(np.ravel(model.intercept_), np.ravel(model.coef_))
    except Exception as error:
        found["b" + name[1:]] = np.full(X.shape[1] + 1, np.nan)
np.savez(target, **found)
"""
"""Columns of X in [-1, 1] without the constant; the intercept comes first. It is pure epsilon, without the delta."""


def diffprivlib_python() -> str | None:
    """Return the interpreter that has diffprivlib, named by DISCREET_DIFFPRIVLIB; None where there is none."""
    python = os.environ.get("DISCREET_DIFFPRIVLIB")
    if not python:
        return None
    done = subprocess.run([python, "-c", "import diffprivlib.models"], capture_output=True)
    return python if done.returncode == 0 else None


def diffprivlib(python: str, family: str, jobs: list[tuple[Floats, Floats, float, int]]) -> list[Floats]:
    """Fit tables, each with its epsilon and seed, in one run of another interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "given.npz"), Path(folder, "found.npz")
        given: dict[str, Any] = {}
        for place, (X, y, epsilon, seed) in enumerate(jobs):
            given |= {f"X{place}": X, f"y{place}": y, f"s{place}": np.array([epsilon, seed])}
        np.savez(source, **given)
        subprocess.run([python, "-W", "ignore", "-c", SCRIPT, family, str(source), str(target)], check=True)
        with np.load(target) as found:
            return [found[f"b{place}"] for place in range(len(jobs))]
