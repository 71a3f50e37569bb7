"""Tables of which a logistic or Poisson regression can tell nothing: it says so, or refuses for free."""

import numpy as np
import pyarrow as pa
import pytest
from tests.effort import either

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.errors import InvalidParameterError
from discreet.kernels.glm.open_ways import OpenWays
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


TWO = {"type": "integer", "lower": 0, "upper": 1}
OPEN = {
    "level": {"c=v": "high"},
    "reference level": {"(intercept)": "high", "c=v": "low", "c=w": "low"},
    "column of two values": {"two": "high"},
    "empty level": {"c=w": "both"},
}


def separated(kind, seed):
    """Rows of which those of one value have one response."""
    two = np.random.default_rng(seed).integers(0, 2, N_ROWS)  # noqa: TID251 - simulated data
    columns = rows("logistic", seed=seed, two=two)
    words, y = columns["c"], columns["y"]
    if kind == "empty level":
        return {**columns, "c": np.where(words == "w", "v", words)}
    chosen = {"level": words == "v", "reference level": words == "u", "column of two values": columns["two"] == 1}
    return {**columns, "y": np.where(chosen[kind], 1, y)}


@pytest.mark.parametrize(("delta", "epsilon"), [(1e-6, 1.0), (1e-6, 4.0), (1e-6, 100.0), (0.0, 100.0)])
@pytest.mark.parametrize("kind", OPEN)
def test_a_value_whose_rows_have_one_response_is_open_on_that_side(kind, delta, epsilon, monkeypatch):
    """And at enough epsilon nowhere else; the control, without the directions, tells an end."""
    metadata = facts("logistic", two=TWO)
    # Of noise one draw in six leaves the end of the intercept, or the control's, open at epsilon 4.
    terms = fitted("logistic", separated(kind, 4), metadata, epsilon, delta, seed=4)
    for name, entry in terms.items():
        side = OPEN[kind].get(name)
        if side in ("low", "both"):
            assert entry.low is None
        if side in ("high", "both"):
            assert entry.high is None
        if side is None and epsilon > 1.0:
            assert None not in (entry.low, entry.high)
        if side in ("low", "high") and epsilon > 1.0:
            assert (entry.low is None) is not (entry.high is None)
    if epsilon == 4.0 and kind in ("reference level", "column of two values"):
        monkeypatch.setattr("discreet.kernels.glm.noisy_newton.OpenWays", lambda *ways: OpenWays())
        told = fitted("logistic", separated(kind, 4), metadata, epsilon, delta, seed=4)
        assert any(None not in (told[name].low, told[name].high) for name in OPEN[kind])


@pytest.mark.parametrize(("delta", "epsilon"), [(1e-6, 4.0), (1e-6, 100.0), (0.0, 100.0)])
@pytest.mark.parametrize("kind", ["level", "column of two values"])
def test_a_value_without_a_count_is_open_below(kind, delta, epsilon, monkeypatch):
    """No count rules out a mean of zero; upward an end is told. The control, without the directions, tells both."""
    (name,) = OPEN[kind]
    columns, words = rows("poisson", two=np.arange(N_ROWS) % 2), {"level": "c", "column of two values": "two"}[kind]
    chosen = columns[words] == ("v" if words == "c" else 1)
    table, metadata = {**columns, "y": np.where(chosen, 0, columns["y"])}, facts("poisson", two=TWO)
    entry = fitted("poisson", table, metadata, epsilon, delta)[name]
    assert entry.low is None
    assert epsilon < 100.0 or entry.high is not None
    if delta and epsilon == 100.0:
        monkeypatch.setattr("discreet.kernels.glm.noisy_newton.OpenWays", lambda *ways: OpenWays())
        assert fitted("poisson", table, metadata, epsilon, delta)[name].low is not None


@pytest.mark.parametrize(("delta", "epsilon"), [(1e-6, 1.0), (1e-6, 100.0), (0.0, 100.0)])
def test_where_all_responses_are_equal_no_slope_is_told(delta, epsilon):
    """The constant is open toward the response that all have, and slopes on both sides."""
    terms = fitted("logistic", rows("logistic", y=np.ones(N_ROWS, dtype=int)), facts("logistic"), epsilon, delta)
    assert terms["(intercept)"].high is None
    assert all(terms[name].uninformative for name in "ab")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("delta", "epsilon"), [(1e-6, 4.0), (1e-6, 100.0), (0.0, 100.0)])
def test_nothing_is_told_of_equal_columns_alone(family, delta, epsilon):
    """Their slopes have no end, and the others' have."""
    columns = rows(family)
    terms = fitted(family, {**columns, "b": columns["a"]}, facts(family), epsilon, delta)
    assert all(terms[name].uninformative for name in "ab")
    if family == "logistic":
        assert not any(terms[name].uninformative for name in ("c=v", "c=w"))


@pytest.mark.parametrize(("delta", "epsilon"), [(1e-6, 4.0), (1e-6, 100.0), (0.0, 100.0)])
def test_nothing_is_told_of_dummies_that_add_up_to_one(delta, epsilon):
    """Nor of the constant; of other columns something is."""
    columns = rows("logistic", seed=6)
    dummies = {f"is_{word}": (columns["c"] == word).astype(int) for word in LEVELS}
    metadata = facts("logistic", **dict.fromkeys(dummies, TWO))
    columns.pop("c")
    columns["c"] = np.array(LEVELS)[np.arange(N_ROWS) % 3]
    terms = fitted("logistic", {**columns, **dummies}, metadata, epsilon, delta)
    assert all(terms[name].uninformative for name in ("(intercept)", *dummies))
    assert not any(terms[name].uninformative for name in "ab")


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


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_without_a_delta_an_end_is_told_that_a_weaker_prior_does_not_move(family, monkeypatch):
    """Of independent columns under much noise; the control tells of no direction without information, and so less."""

    def told():
        draws = [fitted(family, rows(family, seed=seed), facts(family), 0.5, 0.0, seed) for seed in range(4)]
        return sum(np.isfinite(terms[name].interval).any() for terms in draws for name in "ab")

    n_told = told()
    monkeypatch.setattr("discreet.kernels.glm.score_fit.MOVED", -1.0)
    assert n_told >= 6
    assert told() < n_told
