"""Tables of which a logistic or Poisson regression can tell nothing: it says so, or refuses for free."""

import numpy as np
import pyarrow as pa
import pytest
from tests.effort import either

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of

N_ROWS = 2000
LEVELS = ["u", "v", "w"]
PLAIN = {"type": "real", "lower": -1, "upper": 1}
FAMILIES = ["logistic", "poisson"]


def facts(family, **columns):
    y = {"type": "integer", "lower": 0, "upper": 1 if family == "logistic" else 12}
    declared = {"a": PLAIN, "b": PLAIN, "c": {"type": "category", "levels": LEVELS}, "y": y, **columns}
    return Metadata.from_value(
        {"dataset": "d", "unit": "person", "neighboring": "add_or_remove_one", "columns": declared}
    )


def rows(family, n=N_ROWS, seed=5, **columns):
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    a, b = rng.uniform(-1, 1, (2, n))
    words = np.array(LEVELS)[rng.integers(0, 3, n)]
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-a)) if family == "logistic" else rng.poisson(np.exp(0.5 + 0.5 * a))
    return {"a": a, "b": b, "c": words, "y": np.minimum(y.astype(int), 12), **columns}


def fitted(family, columns, metadata, epsilon=5.0, delta=1e-6, seed=3, **options):
    method = method_of(family, epsilon=epsilon, delta=delta, **options)
    fit = method.prepare(metadata, "y").run(open_table(pa.table(columns), metadata), Source.seeded(seed)).fit
    assert fit is not None
    assert all(np.isfinite(entry.estimate) for entry in fit.coefficients)
    assert all(entry.interval[0] <= entry.estimate <= entry.interval[1] for entry in fit.coefficients)
    return {entry.name: entry for entry in fit.coefficients}


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_column_that_separates_the_outcomes_has_no_upper_limit(delta):
    """Complete separation: the likelihood rises for ever, and no finite end is told."""
    columns = rows("logistic")
    terms = fitted("logistic", {**columns, "y": (columns["a"] > 0).astype(int)}, facts("logistic"), delta=delta)
    assert terms["a"].high is None


def test_where_only_the_middle_overlaps_the_slope_is_steep_or_open():
    """Quasi-complete separation: nothing that is told rules out a slope that separates nearly all rows."""
    columns = rows("logistic")
    steps = np.round(2.0 * columns["a"]) / 2.0
    y = np.where(steps == 0.0, columns["y"], steps > 0.0).astype(int)
    terms = fitted("logistic", {**columns, "a": steps, "y": y}, facts("logistic"))
    assert terms["a"].interval[1] > 10.0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n", [0, 1])
def test_no_row_and_one_row_tell_nothing_of_slopes(family, delta, n):
    """The release is like any other; no slope has an end."""
    terms = fitted(family, rows(family, n), facts(family), delta=delta)
    assert all(entry.uninformative for name, entry in terms.items() if name != "(intercept)")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("word", ["middle", "end"])
def test_a_column_without_variation_is_left_open(family, word):
    """In the middle of its bounds it says nothing; at an end it goes with the intercept, and nothing is ruled out."""
    terms = fitted(family, rows(family, b=np.full(N_ROWS, 0.0 if word == "middle" else 1.0)), facts(family))
    low, high = terms["b"].interval
    assert high - low > 20.0


@pytest.mark.parametrize("family", FAMILIES)
def test_equal_columns_leave_their_slopes_open(family):
    """Only the sum of both is known: an interval is many times wider than that of a slope that is told."""
    columns = rows(family)
    apart, alike = (fitted(family, {**columns, "b": b}, facts(family)) for b in (columns["b"], columns["a"]))
    for name in "ab":
        known, unknown = (np.subtract(*terms[name].interval[::-1]) for terms in (apart, alike))
        assert unknown > 10.0 * known


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("response", [0, 1])
def test_equal_responses_leave_slopes_about_zero(family, response):
    """The intercept has no limit toward a response that all have, or one beyond all reason; slopes may be zero."""
    columns = rows(family, y=np.full(N_ROWS, response))
    terms = fitted(family, columns, facts(family))
    low, high = terms["(intercept)"].interval
    if response == 0:
        assert low < -20.0
    elif family == "logistic":
        assert high > 20.0
    else:
        assert low <= 0.0 <= high
    assert all(terms[name].interval[0] < 1.0 and terms[name].interval[1] > -1.0 for name in "ab")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_division_by_zero_ends_in_a_release(family, delta):
    """Rows of which the derived column is no number count as its middle: it has no variation, and is left open."""
    ratio = {"derived": "a / b", "type": "real", "lower": -5, "upper": 5}
    terms = fitted(family, rows(family, b=np.zeros(N_ROWS)), facts(family, ratio=ratio), delta=delta)
    assert np.subtract(*terms["ratio"].interval[::-1]) > 2.0


@pytest.mark.parametrize("family", FAMILIES)
def test_an_offset_beyond_its_bounds_is_clipped(family):
    """As every cell is: all rows have the offset of the bound, which the intercept makes up for."""
    columns = rows(family)
    terms, plain = (
        fitted(family, {**columns, "b": np.full(N_ROWS, b)}, facts(family), epsilon=50.0, offset="b")
        for b in (1e9, 1.0)
    )
    assert terms["a"].interval == plain["a"].interval


@pytest.mark.parametrize("family", FAMILIES)
def test_an_offset_without_a_delta_is_refused_before_the_charge(family):
    """A refusal, not a failure: from public facts alone."""
    with pytest.raises(InvalidParameterError, match="needs a delta"):
        method_of(family, epsilon=1.0, delta=0.0, offset="b").prepare(facts(family), "y")


SAMPLE_SIZE = either(12, 24)
P_THRESHOLD = 1e-3
"""Of so many wrong intervals, where one in twenty is."""
MOST_WRONG = either(5, 6)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["linear", *FAMILIES])
def test_a_level_that_nobody_has_is_told_no_more_often_than_it_is_right(family):
    """Whatever its coefficient is thought to be, the interval holds it; and in most draws no end is told."""
    metadata = facts("logistic" if family == "linear" else family)
    n_open, wrong = 0, np.zeros(3)
    for seed in range(SAMPLE_SIZE):
        words = np.array(["u", "v"] * (N_ROWS // 2))
        columns = rows("logistic" if family == "linear" else family, seed=seed, c=words)
        low, high = fitted(family, columns, metadata, epsilon=20.0, seed=seed)["c=w"].interval
        n_open += np.isinf(low) and np.isinf(high)
        wrong += [not low <= effect <= high for effect in (-1.0, 0.0, 1.0)]
    assert wrong.max() <= MOST_WRONG
    assert n_open >= SAMPLE_SIZE / 2
