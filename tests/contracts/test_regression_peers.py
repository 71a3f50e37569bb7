"""Peers in `benchmarks.regression_accuracy` are what they are said to be: without noise the non-private fit."""

import math

import numpy as np
import pytest
from benchmarks import regression_peers as peers
from scipy.integrate import quad
from scipy.stats import norm

DELTA = 1e-6


def rows(family: str, n: int = 1_000, p: int = 3):
    """Rows in the unit ball, responses of the family within [-1, 1] where linear, and offsets."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated data, not noise
    X = np.column_stack([np.ones(n), rng.uniform(-1.0, 1.0, (n, p))]) / math.sqrt(1 + p)
    offset = rng.uniform(-0.5, 0.0, n) if family == "poisson" else np.zeros(n)
    eta = X @ np.array([0.3, 0.5, -0.4, 0.1]) + offset
    if family == "linear":
        return X, np.clip(eta + 0.05 * rng.normal(size=n), -1.0, 1.0), offset
    if family == "logistic":
        return X, (rng.uniform(size=n) < peers.MEANS["logistic"](eta)) * 1.0, offset
    return X, rng.poisson(np.exp(eta)) * 1.0, offset


def generator():
    return np.random.default_rng(1)  # noqa: TID251 - a simulation


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0])
def test_mu_gives_the_delta_of_two_normals(epsilon):
    """Delta is the integral of what N(mu, 1) exceeds e^epsilon N(0, 1) by."""
    mu = peers.gaussian_mu(epsilon, DELTA)
    start = epsilon / mu + mu / 2.0  # where the densities' ratio is e^epsilon
    excess = norm.sf(start - mu) - math.exp(epsilon) * norm.sf(start)
    assert excess == pytest.approx(DELTA, rel=1e-6)


@pytest.mark.parametrize("analytic", [False, True])
def test_without_noise_adassp_is_least_squares(analytic):
    X, y, _ = rows("linear")
    found = peers.adassp(X, y, 1e5, DELTA, generator(), analytic)
    assert found == pytest.approx(np.linalg.lstsq(X, y)[0], abs=2e-3)


def test_without_noise_hessian_mixing_is_least_squares():
    """Each pass takes the error down by the sketch's."""
    X, y, _ = rows("linear")
    found = peers.hessian_mixing(X, y, 1e6, DELTA, generator(), passes=20, size=2_000)
    assert found == pytest.approx(np.linalg.lstsq(X, y)[0], abs=1e-3)


@pytest.mark.parametrize(("alpha", "gamma"), [(1.5, 4.0), (3.0, 20.0)])
def test_the_divergence_of_a_sketch_is_that_of_its_normals(alpha, gamma):
    """One normal of variance gamma against gamma - 1, by quadrature; both ways are within the bound."""
    wide, narrow = norm(scale=gamma**0.5), norm(scale=(gamma - 1.0) ** 0.5)

    def divergence(first, second):
        value = quad(lambda z: math.exp(alpha * first.logpdf(z) + (1.0 - alpha) * second.logpdf(z)), -80, 80, limit=500)
        return math.log(value[0]) / (alpha - 1.0)

    bound = peers.sketch_divergence(alpha, gamma, 1)
    assert bound == pytest.approx(divergence(wide, narrow), rel=1e-6)
    assert divergence(narrow, wide) <= bound
    assert peers.sketch_divergence(alpha, gamma, 7) == pytest.approx(7.0 * bound)


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_without_noise_descent_is_the_non_private_fit(family):
    """Of some setting: that of the least deviance, with passes enough."""
    X, y, offset = rows(family)
    best = peers.maximum_likelihood(family, X, y, offset)
    found = peers.descents(family, X, y, offset, math.inf, generator(), passes=(1_000,))
    deviances = [peers.deviance(family, y, X @ coef + offset) for coef in found.coef if np.all(np.isfinite(coef))]
    assert min(deviances) == pytest.approx(peers.deviance(family, y, X @ best + offset), rel=1e-6)
    mean = peers.MEANS[family](X @ best + offset)
    assert np.abs(X.T @ (y - mean)).max() < 1e-4 * len(y) ** 0.5


def test_descents_noise_is_that_of_gaussian_composition():
    """One pass from zero: the clipped gradient's noise times the step over n."""
    X, y, offset = rows("linear", n=50)
    mu, n = 0.5, len(y)
    draws = np.array([
        peers.descents("linear", X, y, offset, mu, np.random.default_rng(seed), passes=(4,)).coef  # noqa: TID251
        for seed in range(400)
    ])  # fmt: skip
    places = [j for j, step in enumerate(step for step in peers.STEPS for _ in peers.CLIPS) if step == peers.STEPS[0]]
    clip = np.array(peers.CLIPS) * np.sqrt(np.mean(y**2))
    # A quarter step hardly contracts: the sum of four noises of sd step clip sqrt(4) / (mu n) each.
    contraction = 1.0 - peers.STEPS[0] * np.linalg.eigvalsh(X.T @ X / n)
    most = peers.STEPS[0] * clip * 2.0 / (mu * n) * 2.0
    spread = draws[:, places].std(axis=0)
    assert np.all(spread < most[:, None] * 1.12)
    assert np.all(spread > most[:, None] * contraction.min() ** 3 * 0.88)
