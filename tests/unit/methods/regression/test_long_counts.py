"""Poisson fits of relations that are no exponential: few rows that lie far out have most of the score."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.kernels.glm import noisy_newton
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of

ROWS, LARGEST = 20_000, 100


def counts(rng, n):
    """Grow with the logarithm of an income in wide bounds."""
    income, treated = np.exp(rng.normal(3.5, 0.9, n)).clip(0, 500), (rng.random(n) < 0.5).astype(int)
    y = rng.poisson(np.exp(-1.2 + 0.6 * np.log(income + 1) + 0.3 * treated))
    return {"income": income, "treated": treated, "y": np.minimum(y, LARGEST)}


def maximum_likelihood(n=1_000_000):
    """The population's coefficients, but for what a million rows leave of chance."""
    table = counts(np.random.default_rng(1), n)  # noqa: TID251 - simulated data, not noise
    X, beta = np.column_stack([np.ones(n), table["income"] / 500, table["treated"]]), np.zeros(3)
    for _ in range(30):
        mean = np.exp(X @ beta)
        beta += np.linalg.solve((X * mean[:, None]).T @ X, X.T @ (table["y"] - mean)).clip(-1, 1)
    return beta / [1, 500, 1]


def share_of_held(n_tables):
    """Of intervals that are told."""
    truth = maximum_likelihood()
    columns = {
        "income": {"type": "real", "lower": 0, "upper": 500, "source": "design"},
        "treated": {"type": "integer", "lower": 0, "upper": 1, "source": "design"},
        "y": {"type": "integer", "lower": 0, "upper": LARGEST, "source": "design"},
    }
    facts = {"dataset": "simulated", "unit": "person", "neighboring": "replace_one", "n_rows": ROWS}
    metadata = Metadata.from_value(facts | {"columns": columns})
    request = method_of("poisson", epsilon=8.0, delta=1e-6).prepare(metadata, "y")
    held = []
    for seed in range(n_tables):
        table = open_table(pa.table(counts(np.random.default_rng(seed), ROWS)), metadata)  # noqa: TID251 - data
        outcome = request.run(table, Source.seeded(seed))
        assert outcome.fit is not None
        ends = np.array([entry.interval for entry in outcome.fit.coefficients], dtype=float)
        held.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    return np.mean(held)


@pytest.mark.statistics
def test_intervals_hold_the_coefficients_of_the_population():
    """Of 24 coefficients .95 are expected."""
    assert share_of_held(8) > 0.75


@pytest.mark.statistics
def test_a_law_of_clipped_counts_is_found_out(monkeypatch):
    """A control: while later passes took counts for clipped Poisson ones, at most half were held."""
    monkeypatch.setattr(noisy_newton, "whole_counts", lambda family: family)
    monkeypatch.setattr(noisy_newton, "poisson", lambda _: replace(noisy_newton.clipped_poisson(24.0)))
    assert share_of_held(4) < 0.75
