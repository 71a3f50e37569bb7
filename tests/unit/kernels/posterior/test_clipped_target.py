"""What a clip leaves of effects, beside rows that are clipped."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from tests.unit.kernels.posterior.posterior_problems import generator, noisy_sums

from discreet.kernels.posterior.clipped_target import MOST_EXPLAINED, squared_correlation, squared_shrinkage
from discreet.kernels.posterior.noisy_sums import CoefMoments, Turn

ROWS = 400_000


def clipped(clip, effects, kind="normal"):
    """Effects in residual standard deviations before and after a clip in standard deviations; residual, squares."""
    rng = generator(11, int(10 * clip), len(effects))
    X = (
        rng.standard_normal((ROWS, len(effects)))
        if kind == "normal"
        else rng.uniform(-1, 1, (ROWS, len(effects))) * 3**0.5
    )
    y = X @ effects + rng.standard_normal(ROWS)
    t = np.clip(y / (clip * y.std()), -1.0, 1.0)
    slope = np.linalg.lstsq(X, t, rcond=None)[0]
    s2 = float(np.mean((t - X @ slope) ** 2))
    return slope / s2**0.5, s2, float(t.var()), float(np.mean(t**2))


@pytest.mark.parametrize("clip", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("effects", [(0.3, 0.0), (1.0, -0.5), (2.0, 2.0)])
def test_normal_rows_are_told_as_much_weaker_as_they_are(clip, effects):
    """By Bussgang's theorem. Control: the effects as they were are far off."""
    after, s2, variance, square = clipped(clip, np.array(effects))
    squared, _ = squared_shrinkage(np.array([s2]), variance, square)
    np.testing.assert_allclose(after, np.array(effects) * squared**0.5, atol=0.015)
    if clip < 2.0 and effects[0] > 1.0:
        assert abs(after[0] / effects[0] - 1.0) > 0.25


@pytest.mark.parametrize("effects", [(0.3, 0.0), (1.0, -0.5), (1.5, 1.5)])
def test_uniform_columns_are_told_nearly_so(effects):
    """Whose sum with a normal error is no normal: within a fifth."""
    after, s2, variance, square = clipped(1.0, np.array(effects), "uniform")
    squared, _ = squared_shrinkage(np.array([s2]), variance, square)
    np.testing.assert_allclose(after[0], effects[0] * squared[0] ** 0.5, rtol=0.2)


def test_the_density_is_that_of_the_change_of_variable():
    """Of the length c = g b: d log c / d log b = 1 / (1 + (1 - r) q), by differences; no gain where nothing is cut."""
    r, step = squared_correlation(0.516), 1e-5
    for length in (0.1, 1.0, 3.0):

        def after(b):
            return b * (r / (1.0 + (1.0 - r) * b**2)) ** 0.5

        by_difference = np.log(after(length * (1 + step)) / after(length * (1 - step))) / (2.0 * step)
        s2 = 1.0 - r * length**2 / (1.0 + length**2)  # of a variance of 1
        assert length**2 / (1.0 + length**2) < MOST_EXPLAINED
        _, gained = squared_shrinkage(np.array([s2]), 1.0, 0.516)
        assert gained[0] == pytest.approx(-np.log(by_difference), abs=1e-6)
    squared, gained = squared_shrinkage(np.array([0.5]), 1.0, 1e-3)
    assert (squared[0], gained[0]) == pytest.approx((1.0, 0.0), abs=1e-6)


def test_the_correlation_is_that_of_the_normal_law():
    """Of clips between a tenth and three standard deviations, from the mean square alone, by quadrature."""
    points = np.linspace(-9.0, 9.0, 200_001)
    mass = np.diff(ndtr(points))
    middle = (points[1:] + points[:-1]) / 2.0
    for clip in (0.1, 0.65, 1.0, 3.0):
        t = np.clip(middle / clip, -1.0, 1.0)
        square = float(mass @ t**2)
        assert squared_correlation(square) == pytest.approx(float(mass @ (t * middle)) ** 2 / square, abs=1e-4)


def test_the_prior_of_effects_shrinks_where_the_target_is_clipped():
    """By what the residual's variance leaves to explain, without the mean; not without a clip, nor where turned."""
    sums = noisy_sums(generator(12), np.array([1.0, 0.04, 0.0]), 3.0, 1000, 0.3)
    s2, law = np.array([0.12, 0.35]), CoefMoments(np.zeros((2, 4)), np.zeros((2, 4, 4)))
    plain, bent = (replace(sums, is_clipped=is_clipped).evidence(s2, law) for is_clipped in (False, True))
    moments, n = sums.moments, sums.clean.n_rows
    variance = moments.yty / n - moments.xty[0] ** 2 / sums.clean.gram[0, 0] / n
    squared, _ = squared_shrinkage(s2, variance, moments.yty / n)
    assert squared[0] < 0.95 * squared[1]
    np.testing.assert_allclose(bent.unit, plain.unit / squared[:, None])
    np.testing.assert_array_equal(bent.information, plain.information)
    turned = replace(sums, is_clipped=True, turn=Turn(np.eye(4), np.zeros(4)))
    np.testing.assert_allclose(turned.evidence(s2, law).unit, plain.unit)
