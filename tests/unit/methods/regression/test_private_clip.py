"""A private clip of the target bends no slope by what matters, and the old default is found out."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.mechanisms.rng import Source
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.methods.regression.linear import LinearModel

LEVELS = {"normal": 0.15, "lognormal": 0.3, "t3": 0.3}
"""Most that the mean bend of a few tables may be, in standard errors; over many tables it was .05 to .12."""


def a_table(kind, rows, seed):
    """Columns in a box, and a target of standard deviation about 1.15 within bounds of 20."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    x = rng.uniform(-1.0, 1.0, (rows, 2))
    errors = {
        "normal": lambda: rng.normal(size=rows),
        "lognormal": lambda: (np.exp(rng.normal(size=rows)) - np.exp(0.5)) / 2.16,
        "t3": lambda: rng.standard_t(3, size=rows) / np.sqrt(3.0),
    }
    y = 1.0 + x[:, 0] + errors[kind]()
    columns = {name: {"type": "real", "lower": -1, "upper": 1, "source": "s"} for name in "ab"}
    columns["y"] = {"type": "real", "lower": -20, "upper": 20, "source": "s"}
    value = {"schema": "discreet/metadata@1", "dataset": "t", "unit": "person", "neighboring": "replace_one"}
    metadata = Metadata.from_value(value | {"n_rows": rows, "columns": columns})
    return x, y, metadata, FrameTable(pa.table({"a": x[:, 0], "b": x[:, 1], "y": y}), metadata, "test")


def bend(kind, rows, epsilon, seed, method=LinearModel, **parameters):
    """What the clip moved the slope by, in standard errors with the noise's part: of the exact least squares fits."""
    x, y, metadata, table = a_table(kind, rows, seed)
    prepared = method(epsilon=epsilon, delta=1e-6, y_bound="private", **parameters).prepare(metadata, "y")
    found = prepared.run(table, Source.seeded(seed))
    slope = found.fit.coefficients[1]
    bound = found.steps[0].value
    columns = np.column_stack([np.ones(rows), x])
    moved = np.linalg.lstsq(columns, np.clip(y, -bound, bound) - y, rcond=None)[0][1]
    return moved / np.sqrt(1.2 / (rows / 3.0) + slope.privacy_variance)


@pytest.mark.statistics
@pytest.mark.parametrize("kind", LEVELS)
@pytest.mark.parametrize(("rows", "epsilon"), [(1_000, 4.0), (10_000, 1.0), (100_000, 1.0)])
def test_the_clip_bends_no_slope(kind, rows, epsilon):
    """In the mean of some tables; a slope with correlation .5."""
    moved = [bend(kind, rows, epsilon, seed) for seed in range(8 if rows < 100_000 else 4)]
    assert abs(np.mean(moved)) < LEVELS[kind]


def test_a_quantile_of_ninety_five_per_cent_is_found_out():
    """Control: what was the default bends the slope by several standard errors."""
    assert np.mean([bend("normal", 100_000, 1.0, seed, y_quantile=0.95) for seed in range(4)]) < -3.0


def test_a_selection_that_tells_slopes_does_not_bend_them_either():
    """With `fit` the clip is that of coefficients and not that of the best selection."""
    asked = {"method": NoisyMoments, "forced": ("a", "b"), "fit": True, "row_norm": 2.0}
    moved = [bend("normal", 10_000, 1.0, seed, **asked) for seed in range(6)]
    assert abs(np.mean(moved)) < LEVELS["normal"]


def test_private_bounds_are_wider_where_slopes_are_told():
    """For a column of normal cells the factor makes up for the rows that noise lets lie beyond."""
    _, _, metadata, _ = a_table("normal", 100_000, 0)
    columns = {name: {"type": "real", "bounds": "private"} for name in "aby"}
    value = {"schema": "discreet/metadata@1", "dataset": "t", "unit": "person", "neighboring": "replace_one"}
    metadata = Metadata.from_value(value | {"n_rows": 100_000, "columns": columns})
    fit, selection = (
        method(epsilon=1.0, delta=1e-6).prepare(metadata, "y").tuning for method in (LinearModel, NoisyMoments)
    )
    assert selection.bounds_factor == 1.0
    assert 1.2 < fit.bounds_factor < 3.0
