"""Tables of which a linear regression can tell nothing: it says so, or refuses for free."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of

LEVELS = ["u", "v", "w"]


def facts(relation="add_or_remove_one", n_rows=None, **columns):
    plain = {"type": "real", "lower": -1, "upper": 1}
    declared = {"a": plain, "b": plain, "c": {"type": "category", "levels": LEVELS}, "y": plain, **columns}
    known = {"n_rows": n_rows} if n_rows is not None else {}
    return Metadata.from_value(
        {"dataset": "d", "unit": "person", "neighboring": relation, "columns": declared, **known}
    )


def rows(n, **columns):
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated data, not noise
    a, b = rng.uniform(-1, 1, (2, n))
    words = np.array(LEVELS)[rng.integers(0, 3, n)]
    made = {"a": a, "b": b, "c": words, "y": np.clip(0.5 * a + 0.1 * rng.normal(size=n), -1, 1)}
    return pa.table({**made, **columns})


def fitted(table, metadata, delta=1e-6, **options):
    method = method_of("linear", epsilon=1.0, delta=delta, **options)
    fit = method.prepare(metadata, "y").run(open_table(table, metadata), Source.seeded(3)).fit
    assert fit is not None
    assert all(np.isfinite(entry.estimate) for entry in fit.coefficients)
    assert all(entry.interval[0] <= entry.estimate <= entry.interval[1] for entry in fit.coefficients)
    return {entry.name: entry for entry in fit.coefficients}


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n", [0, 1])
def test_no_row_and_one_row_tell_nothing_of_slopes(n, delta):
    """The release is like any other, and no slope has two ends."""
    found = fitted(rows(n), facts(), delta)
    assert all(np.isinf(found[name].interval[1] - found[name].interval[0]) for name in ("a", "b"))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_equal_responses_have_slopes_about_zero(delta):
    """What is told holds the truth."""
    found = fitted(rows(20_000, y=np.full(20_000, 0.25)), facts(), delta)
    assert all(found[name].interval[0] <= 0.0 <= found[name].interval[1] for name in ("a", "b"))
    assert found["(intercept)"].interval[0] <= 0.25 <= found["(intercept)"].interval[1]


@pytest.mark.parametrize("n", [300, 20_000])
def test_equal_columns_leave_their_slopes_open(n):
    """Only the sum of both is known: at least one end of each is the bound's, and so open."""
    table = rows(n)
    found = fitted(table.set_column(1, "b", table["a"]), facts())
    assert all(np.isinf(np.abs(found[name].interval)).any() for name in ("a", "b"))


@pytest.mark.parametrize("column", ["constant", "middle"])
def test_a_column_without_variation_is_left_open(column):
    """It goes with the intercept, or says nothing."""
    found = fitted(rows(20_000, b=np.full(20_000, 1.0 if column == "constant" else 0.0)), facts())
    assert np.isinf(np.abs(found["b"].interval)).any()


def test_a_level_that_nobody_has_is_left_open():
    """Its effect lacks an end."""
    found = fitted(rows(20_000, c=["u", "v"] * 10_000), facts())
    assert np.isinf(np.abs(found["c=w"].interval)).any()


def test_a_division_by_zero_ends_in_a_release():
    """Rows of which the derived column is no number count as its middle."""
    ratio = {"derived": "a / b", "type": "real", "lower": -5, "upper": 5}
    found = fitted(rows(2000, b=np.zeros(2000)), facts(ratio=ratio))
    assert "ratio" in found


def test_an_offset_beyond_its_bounds_ends_in_a_release():
    """It is clipped, as every cell is."""
    assert fitted(rows(2000, b=np.full(2000, 1e9)), facts(), offset="b")
