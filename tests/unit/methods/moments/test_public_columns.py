"""Noisy moments of which X'X is public: what is bought, how sure intervals are, and when all is bought all the same."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import InvalidParameterError
from discreet.kernels.sufficient_statistics.gram import KnownGram, NoisyGram, known_error
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of

NAMES = ("a", "b", "c")
BOX = {"type": "real", "lower": -4, "upper": 4}
EFFECTS = {"a": 1.0, "b": 0.5, "c": 0.0}


def metadata_of(n, relation="replace_one"):
    facts = {"n_rows": n} if relation == "replace_one" else {}
    columns = {**dict.fromkeys(NAMES, BOX), "y": {"type": "real", "lower": -8, "upper": 8}}
    return dc.Metadata.from_value(
        {"dataset": "d", "unit": "person", "neighboring": relation, "columns": columns, **facts}
    )


def drawn(n, seed, correlation=0.6):
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    x = rng.standard_normal((n, 3))
    for j in (1, 2):
        x[:, j] = correlation * x[:, j - 1] + (1 - correlation**2) ** 0.5 * x[:, j]
    y = x @ np.array(list(EFFECTS.values())) + rng.standard_normal(n)
    return pa.table({**dict(zip(NAMES, x.T, strict=True)), "y": y})


def asked(n, epsilon, known, **parameters):
    stated = {"public_moments": known, "y_bound": 8.0, "y_center": 0.0, "question": "coefficients", **parameters}
    return method_of("moments", epsilon=epsilon, **stated).prepare(metadata_of(n), "y")


def known_of(m, seed, correlation=0.6):
    return dc.public_moments(drawn(m, 1000 + seed, correlation), metadata_of(m), NAMES)


def test_only_the_target_is_bought():
    """X'y and y'y have noise and all of the budget; X'X stands as public in the release, with its records."""
    prepared = asked(1000, 1.0, known_of(500, 0))
    assert [estimate.name for estimate in prepared.estimates] == ["X'y", "y'y"]
    record = prepared.run(dc.open_table(drawn(1000, 1), metadata_of(1000)), Source.seeded(1)).moments
    assert record.known.n_records == 500
    assert not np.any(record.gram_variance)
    bought = asked(1000, 1.0, None)
    assert prepared.estimates[0].variance(prepared.budget) < bought.estimates[0].variance(bought.budget) / 2
    assert record.fission is None


SAMPLE_SIZE, LEAST, MOST = 80, 0.91, 0.995
"""Intervals of 95 %, three in each table."""


@pytest.mark.parametrize(("n", "m", "epsilon"), [(1000, 300, 6.0), (300, 5000, 5.0)])
def test_intervals_know_that_public_moments_are_an_estimate(n, m, epsilon):
    """Few public records or few rows: what X'X is off by is counted."""
    held, narrow = [], []
    for seed in range(SAMPLE_SIZE):
        table = dc.open_table(drawn(n, seed), metadata_of(n))
        fit = asked(n, epsilon, known_of(m, seed), fit=True, forced=NAMES).run(table, Source.seeded(seed)).fit
        for term in fit.coefficients[1:]:
            low, high = (-np.inf if term.low is None else term.low), (np.inf if term.high is None else term.high)
            held.append(low <= EFFECTS[term.name] <= high)
            # Control: the same interval, were X'X the rows' own.
            half = 1.96 * (term.privacy_variance + 1.0 / (n * 0.64)) ** 0.5
            narrow.append(abs(term.estimate - EFFECTS[term.name]) <= half)
    assert LEAST <= np.mean(held) <= MOST
    assert np.mean(narrow) < np.mean(held)


def test_what_is_known_is_bought_where_that_tells_more():
    """With much epsilon the rows' own X'X is sharper than that of a few public records."""
    few = known_of(50, 0)
    assert asked(20_000, 1000.0, few).sums.known is None
    assert asked(1000, 1.0, few).sums.known is not None


def test_the_error_of_public_moments_is_that_of_drawn_tables():
    """Of (X'X - n S) b, normal columns with means of their own: over tables, its covariance is the formula's."""
    rng = np.random.default_rng(2)  # noqa: TID251 - simulated data, not noise
    n, means, coef = 50, np.array([1.0, 0.3, -0.2]), np.array([0.2, 0.5, -0.4])
    root = np.array([[0.0, 0.0], [0.5, 0.0], [0.3, 0.4]])
    second = np.outer(means, means) + root @ root.T
    x = means + rng.standard_normal((20_000, n, 2)) @ root.T
    errors = np.einsum("tni,tnj,j->ti", x, x, coef) - n * second @ coef
    moments = NoisyGram(
        n * second, np.zeros(3), 1.0, np.zeros((3, 3)), np.zeros(3), 0.0, n, 0.0, KnownGram(n, means, n)
    )
    assert np.allclose(known_error(moments, coef), np.cov(errors.T), rtol=0.05, atol=0.1)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"uncorrelated": True}, "would"),
        ({"row_norm": 1.0}, "of all rows as they are"),
        ({"selective_inference": "fission"}, "one for both parts"),
    ],
)
def test_what_contradicts_public_moments_is_refused(parameters, words):
    """In one line, before anything is charged."""
    with pytest.raises(InvalidParameterError, match=words):
        asked(100, 1.0, known_of(100, 0), **parameters)
