"""Rows of bounded norm are weighted rows: slopes are those of weighted least squares, and of a linear model."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.methods.regression.linear import LinearModel

ROWS, SLOPES = 4_000, np.array([0.3, -0.2, 0.1])


def a_table(error, relation="replace_one", constant=0.5):
    """Cells of y = constant + x b + error, and the metadata."""
    rng = np.random.default_rng(7)  # noqa: TID251 - simulated data, not noise
    x = rng.uniform(-1.0, 1.0, (ROWS, 3))
    y = constant + x @ SLOPES + error * rng.normal(size=ROWS)
    columns = {name: {"type": "real", "lower": -1, "upper": 1, "source": "s"} for name in "abc"}
    columns["y"] = {"type": "real", "lower": -4, "upper": 4, "source": "s"}
    value = {"schema": "discreet/metadata@1", "dataset": "t", "unit": "person", "columns": columns}
    value |= {"neighboring": relation, **({"n_rows": ROWS} if relation == "replace_one" else {})}
    metadata = Metadata.from_value(value)
    cells = {**dict(zip("abc", x.T, strict=True)), "y": y}
    return x, y, metadata, FrameTable(pa.table(cells), metadata, "test")


def fitted(metadata, table, method=LinearModel, **parameters):
    """The coefficients' records of a fit with next to no noise."""
    prepared = method(epsilon=1000.0, delta=1e-6, **parameters).prepare(metadata, "y")
    return prepared.run(table, Source.seeded(3)).fit


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("norm", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_slopes_of_an_exact_line_are_the_lines(relation, norm, intercept):
    """Without an error every weight gives the line itself; x shortened without y gave .36 for .30."""
    _, _, metadata, table = a_table(0.0, relation, 0.5 if intercept else 0.0)
    found = fitted(metadata, table, row_norm=norm, fit_intercept=intercept).coefficients
    truth = [0.5, *SLOPES] if intercept else [*SLOPES]
    assert [c.estimate for c in found] == pytest.approx(truth, abs=0.01)


@pytest.mark.parametrize("norm", [0.5, 1.0])
@pytest.mark.parametrize("method", [LinearModel, NoisyMoments])
def test_estimates_are_those_of_weighted_least_squares(norm, method):
    """Within half a standard error of an independent solver's; sampling errors are no smaller than the true ones."""
    x, y, metadata, table = a_table(0.5)
    more = (
        {"fit": True, "max_size": 3, "forced": ("a", "b", "c"), "selective_inference": "none"}
        if method is NoisyMoments
        else {}
    )
    found = fitted(metadata, table, method, row_norm=norm, **more)
    factor = np.minimum(1.0, norm / np.linalg.norm(x, axis=1))
    rows = np.column_stack([np.ones(ROWS), x]) * factor[:, None]
    wanted = np.linalg.lstsq(rows, factor * y, rcond=None)[0]
    inverse = np.linalg.inv(rows.T @ rows)
    covariance = 0.25 * inverse @ (rows.T * factor**2) @ rows @ inverse  # of equal errors under these weights
    error = np.sqrt(np.diagonal(covariance))
    estimates = np.array([c.estimate for c in found.coefficients])
    assert (np.abs(estimates - wanted) < error / 2).all()
    told = np.array([c.sampling_variance for c in found.coefficients]) ** 0.5
    assert (told > 0.95 * error).all()
    assert (told < 1.1 * error / factor.mean()).all()
    assert found.residual_sd == pytest.approx(0.5, rel=0.05)
    assert found.r_squared is None


def test_a_norm_that_no_row_exceeds_changes_no_estimate():
    """Then all weights are 1, and only the noise is another."""
    _, _, metadata, table = a_table(0.5)
    plain, bounded = (fitted(metadata, table, row_norm=norm).coefficients for norm in (None, 2.0))
    for one, other in zip(plain, bounded, strict=True):
        assert one.estimate == pytest.approx(other.estimate, abs=0.2 * one.sampling_variance**0.5)
        # Squares of scores are cut as far out as their noise allows: it is some percent of the variance.
        assert one.sampling_variance == pytest.approx(other.sampling_variance, rel=0.1)


def test_declared_moments_are_not_those_of_weighted_rows():
    """What is declared of all rows says nothing of weighted ones: refused before the charge."""
    _, _, metadata, _ = a_table(0.5)
    method = NoisyMoments(row_norm=1.0, design_moments={"a": {"mean": 0.0, "sd": 0.5}})
    with pytest.raises(InvalidParameterError, match="row_norm weights them"):
        method.prepare(metadata, "y")
