"""Test R^2 of private linear regression beside AdaSSP in the same run: `python -m benchmarks.linear_accuracy`.

Rows lie in the unit ball, y in [-1, 1]. The noise is seeded: these are simulations, no releases.
"""

import argparse
import math
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri

from discreet.kernels.sufficient_statistics.gram import NoisyGram
from discreet.kernels.sufficient_statistics.regression import coefficient_shares
from discreet.kernels.sufficient_statistics.regression_shrink import shrunken_coefficients
from discreet.kernels.sufficient_statistics.shares import Relation, noise_levels
from discreet.mechanisms.rng import Source

DELTA = 1e-6
CASES = (  # rows, columns, epsilon, R^2 of least squares: those of the peers' page, then a sweep around them
    (1_000, 6, 1.0, 0.416),
    (10_000, 20, 1.0, 0.186),
    (10_000, 6, 0.1, 0.417),
    (10_000, 6, 1.0, 0.417),
    (1_000, 6, 0.3, 0.416),
    (1_000, 6, 3.0, 0.416),
    (3_000, 20, 1.0, 0.186),
    (10_000, 20, 0.3, 0.186),
    (100_000, 20, 1.0, 0.186),
)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu whose Gaussian mechanism is (epsilon, delta) private (Balle and Wang 2018)."""

    def excess(mu: float) -> float:
        """Delta of mu less the one asked for."""
        high, low = log_ndtr(mu / 2 - epsilon / mu), log_ndtr(-mu / 2 - epsilon / mu)
        return float(np.exp(high) - np.exp(epsilon + low) - delta)

    return float(brentq(excess, 1e-6, 100.0))


def normals(source: Source, *shape: int) -> Any:
    """Standard normals from a source's words."""
    words = source.words(math.prod(shape))
    return ndtri(((words >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53).reshape(shape)


def noisy_moments(X: Any, y: Any, norm_squared: float, epsilon: float, relation: Relation, source: Source) -> NoisyGram:
    """Return moments with the noise that the shares for coefficients ask for."""
    p = X.shape[1]
    shares = coefficient_shares(relation)
    xty, gram, yty = noise_levels(shares, norm_squared, gaussian_mu(epsilon, DELTA), relation, p)
    if relation == "replace_one" and np.all(X[:, 0] == 1.0):
        gram[0, 0] = 0.0  # the number of rows
    upper = np.triu(normals(source, p, p))
    noise = gram * (upper + np.triu(upper, 1).T)
    return NoisyGram(
        X.T @ X + noise,
        X.T @ y + xty * normals(source, p),
        float(y @ y + yty * normals(source, 1)[0]),
        gram**2,
        np.full(p, xty**2),
        yty**2,
        len(y),
        0.0,
    )


def adassp(X: Any, y: Any, epsilon: float, source: Source, analytic: bool = False, failure: float = 0.05) -> Any:
    """AdaSSP of Wang 2018, rows in the unit ball: as published, or with the noise its three releases need at least."""
    p, log_term = X.shape[1], math.log(6.0 / DELTA)
    gram = X.T @ X
    scale = math.sqrt(3.0) / gaussian_mu(epsilon, DELTA) if analytic else math.sqrt(log_term) / (epsilon / 3.0)
    bias = 0.0 if analytic else log_term / (epsilon / 3.0)
    lowest = max(float(np.linalg.eigvalsh(gram)[0] + scale * normals(source, 1)[0] - bias), 0.0)
    ridge = max(0.0, math.sqrt(p * math.log(2.0 * p**2 / failure)) * scale - lowest)
    upper = np.triu(normals(source, p, p))
    gram = gram + scale * (upper + np.triu(upper, 1).T) + ridge * np.eye(p)
    return np.linalg.solve(gram, X.T @ y + scale * normals(source, p))


def table(kind: str, n: int, d: int, r2: float, seed: int) -> tuple[Any, Any]:
    """Rows in the unit ball and responses of which a linear model explains r2; 5000 more rows to test on.

    "ball": evenly spread; "short": normal, of length about one half; "correlated": the same with a common factor.
    """
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    Z = rng.normal(size=(n + 5_000, d))
    if kind == "correlated":
        Z = 0.6 * Z + 0.8 * rng.normal(size=(len(Z), 1))
    if kind == "ball":
        X = Z / np.linalg.norm(Z, axis=1)[:, None] * rng.uniform(size=(len(Z), 1)) ** (1 / d)
    else:
        X = Z / math.sqrt(4 * d)
        X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    b = rng.normal(size=d)
    b *= (0.33 if kind == "ball" else 1.0) / np.linalg.norm(b)
    error = np.std(X @ b) * math.sqrt((1 - r2) / r2)
    return X, np.clip(X @ b + error * rng.normal(size=len(X)), -1.0, 1.0)


def score(coef: Any, X: Any, y: Any) -> float:
    """Test R^2."""
    return float(1.0 - np.sum((y - X @ coef) ** 2) / np.sum((y - y.mean()) ** 2))


def one(kind: str, n: int, d: int, epsilon: float, r2: float, seed: int) -> list[float]:
    """R^2 of every contestant on one table."""
    X, y = table(kind, n, d, r2, seed)
    X, y, test_X, test_y = X[:n], y[:n], X[n:], y[n:]
    fits = [np.linalg.lstsq(X, y)[0]]
    fits += [adassp(X, y, epsilon, Source.seeded(2 * seed), analytic) for analytic in (False, True)]
    relations: tuple[Relation, ...] = ("add_or_remove_one", "replace_one")
    for relation in relations:
        moments = noisy_moments(X, y, 1.0, epsilon, relation, Source.seeded(2 * seed + 1))
        fits.append(shrunken_coefficients(moments).coef)
    return [score(fit, test_X, test_y) for fit in fits]


def main() -> None:
    """Print one table for each kind of rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=15)
    tables = parser.parse_args().tables
    for kind in ("ball", "short", "correlated"):
        out = Table(title=f"Test R^2, median of {tables}, delta 1e-6, rows: {kind}", title_justify="left")
        for name in ("n, d, epsilon", "OLS", "AdaSSP", "AdaSSP, least noise", "ours", "ours, replace"):
            out.add_column(name, justify="right")
        for n, d, epsilon, r2 in CASES:
            found = np.median([one(kind, n, d, epsilon, r2, seed) for seed in range(tables)], axis=0)
            out.add_row(f"{n}, {d}, {epsilon}", *(f"{value:.3f}" for value in found))
        Console(width=110).print(out)


if __name__ == "__main__":
    main()
