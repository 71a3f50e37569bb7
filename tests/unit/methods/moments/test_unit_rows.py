"""Intervals from moments of rows that are divided by their length: their sampling variance, beside that of the rows."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import ndtr

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.kernels.rows.unit_rows import CONSTANT, shortest_length
from discreet.mechanisms.rng import Source
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.moments_selection import NoisyMoments

N_ROWS, NAMES, ERROR = 50_000, ("x1", "x2", "x3", "x4", "x5", "rare"), 0.5


@pytest.fixture(scope="module")
def rows():
    """Five columns that go together, and ones in one row of twenty."""
    rng = np.random.default_rng(7)  # noqa: TID251 - simulated data, not noise
    z = rng.standard_normal((N_ROWS, 6))
    for j in range(1, 5):
        z[:, j] = 0.9 * z[:, j - 1] + (1.0 - 0.9**2) ** 0.5 * z[:, j]
    x = np.column_stack([2.0 * ndtr(z[:, :5]) - 1.0, z[:, 5] > 1.645])
    return x, x @ np.array([0.5, 0.0, 0.3, 0.0, 0.0, 0.4]) + ERROR * rng.standard_normal(N_ROWS)


@pytest.fixture(scope="module")
def record(rows):
    """Moments with next to no noise."""
    columns = {name: {"type": "real", "lower": -1, "upper": 1} for name in NAMES[:5]}
    columns |= {"rare": {"type": "integer", "lower": 0, "upper": 1}, "y": {"type": "real", "lower": -5, "upper": 5}}
    facts = Metadata.from_value(
        {"dataset": "d", "unit": "person", "neighboring": "replace_one", "n_rows": N_ROWS, "columns": columns}
    )
    table = open_table(pa.table(dict(zip(NAMES, rows[0].T, strict=True)) | {"y": rows[1]}), facts)
    method = NoisyMoments(epsilon=200.0, delta=1e-6, fit=True, selective_inference="none")
    return method.prepare(facts, "y").run(table, Source.seeded(8)).moments


def told(record, names=NAMES):
    """Sampling variances of a model's coefficients."""
    fit = MomentAnswers(record).fit(names)
    return np.array([entry.sampling_variance for entry in fit.coefficients if entry.column is not None])


def by_rows(rows, record):
    """The same of least squares with their weights, of all columns."""
    scaled = (rows[0] - np.array(record.centers[1:])) / np.array(record.half_widths[1:])
    weights = 1.0 / np.maximum(CONSTANT**2 + (scaled**2).sum(axis=1), shortest_length(len(NAMES)) ** 2)
    X = np.column_stack([np.ones(N_ROWS), rows[0]])
    inverse = np.linalg.inv((X * weights[:, None]).T @ X)
    return np.diagonal(inverse @ (X * weights[:, None] ** 2).T @ X @ inverse)[1:] * ERROR**2


def test_sampling_variances_are_those_of_the_rows(rows, record):
    """Control: without the ends of columns, as in older releases, they are those of rows of one length, and are not."""
    assert told(record) == pytest.approx(by_rows(rows, record), rel=0.12)
    older = told(record.model_copy(update={"ends": ()})) / by_rows(rows, record)
    assert np.all(older[:5] < 0.85)
    assert older[5] > 2.0


def test_ends_are_what_bounds_allow(record):
    """In own units the bounds; a release holds them, and reads them."""
    centers, halves = np.array(record.centers)[1:, None], np.array(record.half_widths)[1:, None]
    assert centers + halves * np.array(record.ends)[1:] == pytest.approx(np.array([(-1.0, 1.0)] * 5 + [(0.0, 1.0)]))
    assert type(record).model_validate_json(record.model_dump_json()) == record
