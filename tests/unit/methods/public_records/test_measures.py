"""What is bought from the private rows: sums, their sensitivity, their noise, the weights they give."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hybrid_problems import metadata, nearest, problem, rows

import discreet as dc
from discreet.data.public_records import PublicRecords
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.rng import Source
from discreet.methods.base.rows_in_memory import all_rows
from discreet.methods.public_records.measures import Counts, Margins

KINDS = ["linear", "logistic", "poisson"]


@pytest.mark.parametrize("neighboring", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("kind", ["counts", "margins"])
def test_noise_is_scaled_to_the_rows_of_a_unit(neighboring, count, kind):
    """Twice where a unit is replaced, once for each of its rows; where rows are private they are counted too."""
    unit = {"rows_per_unit": count, "unit_id": "id"} if count > 1 else {}
    own = metadata("linear", neighboring, **unit)
    _, plain, public = problem("linear")
    points = public.points(plain, "y", None)
    half = Fraction(1, 2)
    measure = Counts(own, half, points.design, points.cells) if kind == "counts" else Margins(own, half, points)
    both = 2 if neighboring == "replace_one" else 1
    one = 1 if kind == "counts" else (3 + 1 + (both == 1)) * GRID**2
    assert measure.row_size == one
    assert measure.sensitivity == both * count * one
    assert measure.scale == 2 * both * count * one
    part = measure.part("bought", "rows")
    assert part.event.epsilon == half
    assert part.noise.scale == pytest.approx(2 * both * count * one / measure.step)


@pytest.mark.parametrize("kind", KINDS)
def test_no_row_adds_more_than_is_paid_for(kind):
    """Margins of the most extreme rows, of cells without a level, of anything that can be encoded."""
    _, own, public = problem(kind)
    points = public.points(own, "y", None)
    measure = Margins(own, Fraction(1), points)
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated rows, not noise
    n = 20_000
    numeric = rng.choice([-GRID, -GRID + 1, 0, 1, GRID], (n, 3)).astype(np.int16)
    cells = np.column_stack([numeric, rng.integers(-1, 3, n)]).astype(np.int16)
    features = measure._features(cells, *measure._scales).astype(np.int64)
    added = np.abs(features[:, :-1] * features[:, -1:]).sum(axis=1)
    assert added.max() <= measure.row_size
    assert added.max() > 0.6 * measure.row_size  # and hardly less
    assert np.abs(features).max() <= GRID


@pytest.mark.parametrize("k", [5, 40])
def test_counts_are_those_of_nearest_points(k):
    """Each row once, at the first of the nearest; empty points are counted as well."""
    table, own, public = problem("linear")
    points = public.points(own, "y", None)
    places = np.linspace(0, len(points) - 1, k).astype(int)
    measure = Counts(own, Fraction(10_000), points.design, points.cells[places])
    found = measure.draw(table, Source.seeded(0))
    expected = np.bincount(nearest(all_rows(table, points.design), points.cells[places], 3), minlength=k)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(measure.weights(found), expected)


def test_noise_on_counts_has_its_scale():
    """Mean absolute size of discrete Laplace noise, over four thousand counts; weights add up to the rows for sure."""
    table, own, public = problem("linear")
    points = public.points(own, "y", None)
    measure = Counts(own, Fraction(1, 5), points.design, points.cells)
    exact = np.bincount(nearest(all_rows(table, points.design), points.cells, 3), minlength=len(points))
    away = np.concatenate([measure.draw(table, Source.seeded(seed)) - exact for seed in range(4)])
    assert np.abs(away).mean() == pytest.approx(10.0, rel=0.25)
    weights = measure.weights(exact + away[: len(points)])
    assert weights.min() == 0
    assert weights.sum() == pytest.approx(3000)


@pytest.mark.parametrize("neighboring", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("kind", KINDS)
def test_margins_are_sums_and_raking_brings_them_to_the_public_points(kind, neighboring):
    """Without noise the re-weighted public table has the private rows' margins."""
    table, own, public = problem(kind, neighboring)
    points = public.points(own, "y", None)
    measure = Margins(own, Fraction(10**12), points)
    noisy = measure.draw(table, Source.seeded(0))
    features = measure._features(all_rows(table, points.design), *measure._scales).astype(np.int64)
    sums = (features[:, :-1] * features[:, -1:]).sum(axis=0)
    np.testing.assert_allclose(noisy[: len(sums)], sums, atol=1.0)
    assert len(noisy) == len(sums) + (neighboring == "add_or_remove_one")
    weights = measure.weights(noisy)
    assert len(weights) == len(points)
    assert weights.sum() == pytest.approx(3000)
    at_points = measure._features(points.cells, *measure._scales) / GRID
    np.testing.assert_allclose(
        weights @ (at_points[:, :-1] * at_points[:, -1:]) / 3000, sums / GRID**2 / 3000, atol=2e-6
    )


def test_margins_of_a_table_without_rows_keep_the_public_weights():
    """Where the number of rows is private and comes out below 1."""
    _, own, public = problem("linear", "add_or_remove_one")
    points = public.points(own, "y", None)
    measure = Margins(own, Fraction(1), points)
    np.testing.assert_array_equal(measure.weights(np.full(6, -5.0 * GRID**2)), points.records)
    empty = dc.open_table(rows("linear").slice(0, 0), own)
    counts = Counts(own, Fraction(1000), points.design, points.cells)
    assert counts.weights(counts.draw(empty, Source.seeded(0))).sum() == 0


def test_all_rows_of_margins_are_cut_alike(monkeypatch):
    """The centers and reaches are there before the first row, not made by whichever thread asks first."""
    table, own, public = problem("linear")
    measure = Margins(own, Fraction(1), public.points(own, "y", None))
    known = []
    read = type(table).map_reduce

    def spied(*arguments):
        known.append("_scales" in vars(measure))
        return read(*arguments)

    monkeypatch.setattr(type(table), "map_reduce", spied)
    measure.draw(table, Source.seeded(0))
    assert known == [True]


def test_a_column_that_no_public_record_varies_keeps_the_whole_range():
    """A standard deviation of nothing is no reach: private rows that differ would all be cut to the two ends."""
    columns = {
        "x": {"type": "real", "lower": 0, "upper": 10, "source": "design"},
        "h": {"type": "category", "levels": ["no", "yes"], "source": "design"},
        "z": {"type": "real", "source": "design"},
        "y": {"type": "real", "lower": -1, "upper": 3, "source": "design"},
    }
    own = dc.Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 3, "columns": columns}
    )
    z = np.linspace(-1.0, 1.0, 997) ** 3
    public = pa.table({"x": np.full(997, 7.0), "h": ["no"] * 997, "z": z, "y": np.full(997, 0.3)})
    points = PublicRecords(public, own).points(own, "y", None)
    measure = Margins(own, Fraction(1), points)
    _, reach = measure._scales
    # The further of the two ends of the range, in half ranges: of x from 7 to 0, of y from 0.3 to 3.
    np.testing.assert_allclose(reach, [1.4, 1.0, 2.0 * np.std(z), 1.35], rtol=1e-3)
    private = pa.table({"x": [7.0, 3.5, 0.0], "h": ["no", "yes", "no"], "z": [0.0, 0.0, 0.0], "y": [0.3, 1.65, 3.0]})
    rows_of = all_rows(dc.open_table(private, own), points.design)
    features = measure._features(rows_of, *measure._scales) / GRID
    np.testing.assert_allclose(features[:, 1], [0.0, -0.5, -1.0], atol=1e-3)
    np.testing.assert_allclose(features[:, 2], [0.0, 1.0, 0.0], atol=1e-3)
    np.testing.assert_allclose(features[:, 4], [0.0, 0.5, 1.0], atol=1e-3)
