"""What is bought from the private rows: sums, their sensitivity, their noise, the weights they give."""

from fractions import Fraction

import numpy as np
import pytest
from hybrid_problems import metadata, nearest, problem, rows

import discreet as dc
from discreet.kernels.moments import GRID
from discreet.mechanisms.rng import Source
from discreet.methods.measures import Counts, Margins
from discreet.methods.rows_in_memory import all_rows

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
    features = measure._features(cells).astype(np.int64)
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
    features = measure._features(all_rows(table, points.design)).astype(np.int64)
    sums = (features[:, :-1] * features[:, -1:]).sum(axis=0)
    np.testing.assert_allclose(noisy[: len(sums)], sums, atol=1.0)
    assert len(noisy) == len(sums) + (neighboring == "add_or_remove_one")
    weights = measure.weights(noisy)
    assert len(weights) == len(points)
    assert weights.sum() == pytest.approx(3000)
    at_points = measure._features(points.cells) / GRID
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
