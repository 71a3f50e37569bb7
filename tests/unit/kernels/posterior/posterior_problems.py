"""Evidence and noisy sums to test posteriors with."""

import numpy as np

from discreet.kernels.posterior.models import Evidence, Layout
from discreet.kernels.posterior.noisy_sums import NoisySums
from discreet.kernels.sufficient_statistics.cleaning import cleaned
from discreet.kernels.sufficient_statistics.gram import NoisyGram


def generator(*seed):
    """Of simulated data."""
    return np.random.default_rng(list(seed))  # noqa: TID251 - simulated data, not noise


def layout_of(sizes):
    """The constant, then units of so many columns."""
    p = 1 + sum(sizes)
    units, at = np.zeros((len(sizes), p), dtype=bool), 1
    for unit, size in zip(units, sizes, strict=True):
        unit[at : at + size] = True
        at += size
    return Layout(np.arange(p) == 0, units)


def evidence_of(rng, p, n=40):
    """Of random rows."""
    X = rng.normal(size=(n, p))
    y = 0.5 * X[:, 1] + rng.normal(size=n)
    return Evidence(X.T @ X, X.T @ y, np.full(p, 1.0), 0.0)


def noisy_sums(rng, effects, noise, n=400, sigma=0.2, correlation=0.0):
    """Sums of rows with the constant, with noise of a standard deviation on all but the count."""
    d = len(effects)
    Z = rng.uniform(-1.0, 1.0, (n, d))
    X = np.c_[np.ones(n), (1.0 - correlation) * Z + correlation * Z[:, :1]]
    y = X[:, 1:] @ effects + sigma * rng.normal(size=n)
    E = np.triu(rng.normal(size=(d + 1, d + 1)) * noise)
    E = E + np.triu(E, 1).T
    E[0, 0] = 0.0
    variance = np.full((d + 1, d + 1), noise**2)
    variance[0, 0] = 0.0
    xty, yty = X.T @ y + noise * rng.normal(size=d + 1), float(y @ y + noise * rng.normal())
    moments = NoisyGram(X.T @ X + E, xty, yty, variance, np.full(d + 1, noise**2), noise**2, float(n), 0.0)
    return NoisySums(moments, cleaned(moments, 0), layout_of((1,) * d))
