"""Fits of the right columns on drawn tables: against least squares theory where the noise is nothing."""

import math

import pytest

import discreet as dc
from discreet.errors import InvalidParameterError
from discreet.simulation.fits import expected_fit, fit_cost
from discreet.simulation.scenario import Scenario

COLUMNS = {
    "a": {"type": "real", "lower": 0, "upper": 10, "source": "test"},
    "b": {"type": "real", "lower": -1, "upper": 1, "source": "test"},
    "c": {"type": "category", "levels": ["low", "middle", "high"], "source": "test"},
    "y": {"type": "real", "lower": -40, "upper": 40, "source": "test"},
}


def scenario(effects, n_rows=2000, noise_sd=3.0):
    public = {"dataset": "toy", "unit": "person", "neighboring": "add_or_remove_one", "columns": COLUMNS}
    return Scenario.of(dc.Metadata.from_value(public), "y", effects=effects, noise_sd=noise_sd, n_rows=n_rows)


def test_without_noise_it_is_least_squares():
    """At a very large epsilon, errors and widths are those of least squares, in the unit of the effects."""
    (found,) = expected_fit(scenario({"a": 5.0, "b": -2.0}), [900.0], 1e-6, n_tables=40)
    standard_error = 3.0 / math.sqrt(2000 / 3)  # a column even on [-1, 1] has variance 1/3
    assert found.half_width == pytest.approx(1.96 * standard_error, rel=0.05)
    assert found.error == pytest.approx(math.sqrt(2 / math.pi) * standard_error, rel=0.3)
    assert found.coverage > 0.85
    assert (found.n_draws, found.n_rows, found.uninformative) == (80, 2000, 0.0)


def test_levels_are_compared_with_the_one_left_out():
    """A category's effect rises evenly over its levels, whichever of them is the reference."""
    (found,) = expected_fit(scenario({"c": 12.0}, 6000), [900.0], 1e-6, n_tables=12)
    assert found.error < 0.3
    assert found.coverage > 0.7
    assert found.n_draws == 24


def test_less_epsilon_or_fewer_rows_are_wider():
    """Widths fall with epsilon and with rows; of several columns pure privacy costs more; tiny epsilon: nothing."""
    own = scenario({"a": 5.0, "b": 3.0, "c": 4.0})
    few, more = expected_fit(own, [1.0, 5.0], 1e-6)
    assert more.half_width < few.half_width
    (pure,) = expected_fit(own, [1.0])
    assert pure.half_width > few.half_width
    (long,) = expected_fit(scenario({"a": 5.0, "b": 3.0, "c": 4.0}, 20_000), [1.0], 1e-6)
    assert long.half_width < few.half_width
    (nothing,) = expected_fit(own, [1e-3])
    assert nothing.uninformative == 1.0
    assert (nothing.coverage, nothing.half_width) == (None, None)


def test_what_cannot_be_fitted_says_why():
    """No effect, or an epsilon that no noise fits, leaves no row; the seed decides the numbers."""
    assert expected_fit(scenario({"a": 0.0}), [1.0]) == []
    assert "nothing to fit" in fit_cost(scenario({"a": 0.0}), 1.0, 0.0).reason
    own = scenario({"a": 5.0}, 100)
    assert "epsilon" in fit_cost(own, -1.0, 0.0).reason
    assert [one.epsilon for one in expected_fit(own, [-1.0, 2.0], n_tables=1)] == [2.0]
    assert expected_fit(own, [2.0], seed=4) == expected_fit(own, [2.0], seed=4) != expected_fit(own, [2.0], seed=5)
    for wrong in ({"n_tables": 0}, {"seed": -1}):
        with pytest.raises(InvalidParameterError):
            expected_fit(own, [1.0], **wrong)
