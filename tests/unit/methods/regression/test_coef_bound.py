"""The bound of the coefficients is a parameter: in the release, and no end stands where it is the bound's doing."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.mechanisms.rng import Source
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.registry import method_of

N = 20_000
SLOPE = 0.9
"""Per unit of a column that fills a twentieth of its bounds: 4.5 bounds of the target per half range."""


def facts(upper):
    """Honest bounds of a code book: income is 50, give or take 12, and declared up to 500."""
    columns = {
        "income": {"type": "real", "lower": 0.0, "upper": 500.0, "source": "code book"},
        "y": {"type": "real", "lower": 0.0, "upper": upper, "source": "code book"},
    }
    schema = {"schema": "discreet/metadata@1", "dataset": "simulated", "unit": "person"}
    return Metadata.model_validate({**schema, "neighboring": "replace_one", "n_rows": N, "columns": columns})


def released(seed, **parameters):
    """A linear fit of such a table."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    income = np.clip(50.0 + 12.0 * rng.normal(size=N), 0.0, 500.0)
    y = np.clip(SLOPE * income + 3.0 * rng.normal(size=N), 0.0, 100.0)
    metadata = facts(100.0)
    prepared = method_of("linear", epsilon=30.0, delta=1e-6, **parameters).prepare(metadata, "y", ["income"])
    assert prepared.parameters["coef_bound"] == parameters.get("coef_bound", 2.0)
    table = open_table(pa.table({"income": income, "y": y}), metadata)
    return prepared.run(table, Source.seeded(seed))


@pytest.mark.slow
def test_a_coefficient_beyond_the_bound_is_told_as_one_without_an_upper_limit():
    """And with a larger bound intervals are finite and hold it as often as they say."""
    narrow = [released(seed).fit.coefficients[1].interval for seed in range(20)]
    assert all(low < SLOPE and high == np.inf for low, high in narrow)
    wide = [released(seed, coef_bound=20.0).fit.coefficients[1].interval for seed in range(20)]
    assert all(high < 2.0 * SLOPE for _, high in wide)
    assert sum(low < SLOPE < high for low, high in wide) >= 17


def test_a_smaller_bound_makes_intervals_shorter_and_is_asked_of_released_moments_too():
    """Noise cannot explain what is beyond it."""
    answers = MomentAnswers(released(1).moments)
    widths = [np.diff(answers.fit(coef_bound=bound).coefficients[1].interval)[0] for bound in (20.0, 200.0)]
    assert 0.0 < widths[0] <= widths[1] < np.inf
    assert answers.fit().coefficients == answers.fit(coef_bound=2.0).coefficients


@pytest.mark.parametrize("bound", [0.0, -1.0, np.nan, np.inf, 1e4])
@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_a_bound_that_bounds_nothing_is_refused(family, bound):
    """Before anything is charged, by name."""
    with pytest.raises(Exception, match="coef_bound"):
        method_of(family, epsilon=1.0, delta=1e-6, coef_bound=bound)


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("bound", [1e-3, 1e3])
def test_an_empty_column_beside_one_that_is_known_exactly_ends_in_a_release(bound, relation):
    """At either end of the range and the largest epsilon: the worst conditioned of what is solved."""
    n = 3_000
    box = {"type": "real", "source": "by design", "lower": -1, "upper": 1}
    declared = {"dataset": "toy", "unit": "person", "neighboring": relation, "columns": dict.fromkeys("abcy", box)}
    metadata = Metadata.from_value(declared | ({"n_rows": n} if relation == "replace_one" else {}))
    a = np.linspace(-1.0, 1.0, n)
    table = open_table(pa.table({"a": a, "b": 0.0 * a, "c": a, "y": 0.0 * a + 1.0}), metadata)
    prepared = method_of("linear", epsilon=1000.0, delta=1e-6, coef_bound=bound).prepare(metadata, "y")
    for coefficient in prepared.run(table, Source.seeded(3)).fit.coefficients:
        low, high = coefficient.interval
        assert low <= coefficient.estimate <= high
        assert np.isfinite(coefficient.estimate)
