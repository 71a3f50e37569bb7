"""Linear fits of targets with long tails and of curved relations: what long rows and residuals say is not cut off."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.kernels.sufficient_statistics.score_lengths import OCTAVES, length_limit, octaves
from discreet.kernels.sufficient_statistics.shares import Shares, cost_of_scores
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of

COLUMNS = {
    "treated": {"type": "integer", "lower": 0, "upper": 1, "source": "design"},
    "age": {"type": "integer", "lower": 18, "upper": 95, "source": "design"},
    "income": {"type": "real", "lower": 0, "upper": 500, "source": "design"},
}
ROWS = 20_000


def costs(rng, n):
    """Of a stay in hospital: log-normal, and dearer for the old by a factor."""
    treated, age = (rng.random(n) < 0.4).astype(int), rng.integers(20, 90, n)
    y = np.exp(7.0 + 0.5 * treated + 0.02 * (age - 50) + 1.2 * rng.normal(size=n))
    return {"treated": treated, "age": age, "y": np.clip(y, 0, 100_000)}


def days(rng, n):
    """In hospital: mostly none, sometimes many."""
    treated, age = (rng.random(n) < 0.3).astype(int), rng.integers(20, 90, n)
    mean = np.exp(0.2 + 0.7 * treated + 0.02 * (age - 50))
    return {"treated": treated, "age": age, "y": np.minimum(rng.poisson(mean * rng.gamma(0.25, 4.0, n)), 60)}


def curved(rng, n):
    """A target that grows with the logarithm of an income, whose bounds are wide."""
    income, treated = np.exp(rng.normal(3.5, 0.9, n)).clip(0, 500), (rng.random(n) < 0.5).astype(int)
    y = np.clip(10 * np.log(income + 1) + 2 * treated + rng.normal(0, 6, n), 0, 100)
    return {"income": income, "treated": treated, "y": y}


DESIGNS = {costs: 100_000, days: 60, curved: 100}


def least_squares(draw, n=1_000_000):
    """The population's coefficients, but for what a million rows leave of chance."""
    table = draw(np.random.default_rng(1), n)  # noqa: TID251 - simulated data, not noise
    names = [name for name in table if name != "y"]
    return names, np.linalg.lstsq(np.column_stack([np.ones(n), *(table[name] for name in names)]), table["y"])[0]


@pytest.mark.parametrize("draw", DESIGNS)
@pytest.mark.parametrize("epsilon", [2.0, 10.0])
def test_intervals_hold_the_coefficients_of_the_population(draw, epsilon):
    """Of 24 slopes .95 are expected. While residuals were cut at four root mean squares, at most .5 held them."""
    names, truth = least_squares(draw)
    y = {"type": "real", "lower": 0, "upper": DESIGNS[draw], "source": "design"}
    facts = {"dataset": "simulated", "unit": "person", "neighboring": "replace_one", "n_rows": ROWS}
    metadata = Metadata.from_value(facts | {"columns": {**{name: COLUMNS[name] for name in names}, "y": y}})
    held = []
    for seed in range(12):
        table = open_table(pa.table(draw(np.random.default_rng(seed), ROWS)), metadata)  # noqa: TID251 - data
        outcome = (
            method_of("linear", epsilon=epsilon, delta=1e-6).prepare(metadata, "y").run(table, Source.seeded(seed))
        )
        assert outcome.moments.whitened is not None
        ends = np.array([entry.interval for entry in outcome.fit.coefficients], dtype=float)
        held.append((ends[1:, 0] <= truth[1:]) & (truth[1:] <= ends[1:, 1]))
    assert np.mean(held) > 0.75


def test_a_rare_column_with_large_errors_has_an_interval_as_wide_as_without_noise():
    """What is cut off and added back varies, too: while squared scores were cut as far in, it was .8 as wide."""
    n, rng = 50_000, np.random.default_rng(8)  # noqa: TID251 - simulated data, not noise
    y = {"type": "real", "lower": -25, "upper": 25, "source": "design"}
    facts = {"dataset": "simulated", "unit": "person", "neighboring": "replace_one", "n_rows": n}
    metadata = Metadata.from_value(facts | {"columns": {"treated": COLUMNS["treated"], "y": y}})
    ratios = []
    for seed in range(5):
        treated = (rng.random(n) < 0.02).astype(int)
        rows = {"treated": treated, "y": (treated + (1 + 3 * treated) * rng.normal(size=n)).clip(-25, 25)}
        table, method = open_table(pa.table(rows), metadata), method_of("linear", epsilon=8.0, delta=1e-6)
        low, high = method.prepare(metadata, "y").run(table, Source.seeded(seed)).fit.coefficients[1].interval
        of_level = [rows["y"][treated == level] for level in (0, 1)]
        ratios.append((high - low) / 3.92 / sum(part.var() / len(part) for part in of_level) ** 0.5)
    assert 0.92 < np.median(ratios) < 1.2


def test_a_limit_lies_between_noise_and_what_is_cut_off():
    """Where noise is small it is long, where large it is short; then what is cut off is told, and it was that much."""
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated data, not noise
    lengths = rng.pareto(2.5, 40_000) * 0.2
    place = octaves(lengths, 1.0)
    sums = np.array([[np.sum(place == j + 1), 0.0] for j in range(OCTAVES)])
    limits = [length_limit(sums, 3.0, 1.0, 99.0, 100.0, noise) for noise in (1e-3, 30.0, 1e3, 1e5)]
    assert [limit.longest for limit in limits] == sorted((limit.longest for limit in limits), reverse=True)
    assert limits[0].longest > 8.0
    assert limits[-1].longest == 1.0
    for limit in limits:
        cut_off = np.array([np.maximum(lengths - limit.longest, 0.0).sum(), 0.0])
        assert np.all(np.abs(limit.left_out - cut_off) <= 2.0 * limit.errors)


def test_squares_tell_which_coordinate_has_long_scores():
    """Few long scores hide in the noise of all octaves: their squares make the error of what is cut off larger."""
    rng = np.random.default_rng(5)  # noqa: TID251 - noise of a simulation
    is_within = []
    for _ in range(200):
        truth = 20.0 * 0.45 ** np.arange(OCTAVES)[:, None] * rng.normal(size=(OCTAVES, 1)) * [1.0, 0.0, 0.0, 0.0]
        limit = length_limit(truth + 10.0 * rng.normal(size=truth.shape), 10.0, 1.0, 99.0, 200.0, 200.0)
        cut_off = np.maximum(1.4 * 2.0 ** np.arange(OCTAVES) - limit.longest, 0.0) @ truth
        left_out, errors = limit.beside(np.array([9.0, 1.0, 1.0, 1.0]) * 200.0**2, 200.0**2 * 0.1, 1)
        assert errors[1:].tolist() == limit.errors[1:].tolist()
        both = ((limit.left_out, limit.errors), (left_out, errors))
        is_within.append([abs(estimate - cut_off)[0] < 1.96 * error[0] for estimate, error in both])
    alike, beside = np.mean(is_within, axis=0)
    assert beside > 0.75 > 0.4 > alike
    assert limit.beside(np.full(4, 9.0 * 200.0**2), 0.0, 9)[1].tolist() == limit.errors.tolist()  # one unit's rows


def test_noise_is_not_taken_for_what_is_cut_off():
    """Of sums of noise alone next to nothing is added; where no row is longer than the limit, nothing."""
    rng = np.random.default_rng(4)  # noqa: TID251 - noise of a simulation
    added = [
        np.abs(length_limit(10.0 * rng.normal(size=(OCTAVES, 4)), 10.0, 1.0, 99.0, 200.0, 20.0).left_out).max()
        for _ in range(200)
    ]
    assert np.quantile(added, 0.95) < 20.0
    assert length_limit(np.full((OCTAVES, 4), 50.0), 10.0, 1.0, 1.0, 200.0, 1.0).left_out.tolist() == [0.0] * 4


@pytest.mark.parametrize("shares", [Shares(0.9, 0.25, 0.08), Shares(0.5, 0.4, 0.1), Shares(0.9, 0.05, 0.02)])
def test_no_pair_of_scores_costs_more_than_the_bound(shares):
    """Rows of any lengths and directions whose scores have any length up to 1; the bound is nearly attained."""
    rng = np.random.default_rng(2)  # noqa: TID251 - rows, not noise
    f, g, h = shares[:3]
    worst = 0.0
    for _ in range(20_000):
        a, b = rng.choice([0.0, 1.0, rng.random()], 2) ** 0.5
        cosine = rng.choice([1.0, rng.random()])
        z, w = a * np.array([1.0, 0.0]), b * np.array([cosine, (1 - cosine**2) ** 0.5])
        s, t = np.array([1.0, 0.0]), -np.array([cosine, (1 - cosine**2) ** 0.5])
        squares = np.sum((s - t) ** 2), np.sum((np.outer(z, z) - np.outer(w, w)) ** 2)
        worst = max(worst, f * squares[0] / 4 + g * squares[1] / 2 + h)
    assert 0.99 * cost_of_scores(shares, "replace_one") < worst <= cost_of_scores(shares, "replace_one") + 1e-12
