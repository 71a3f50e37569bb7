"""Projection on the simplex and raking, against their definitions."""

import numpy as np
import pytest

from discreet.kernels.public_records.raking import on_simplex, raked


def columns(n, q, seed):
    """Features in [-1, 1], and how many records stand behind each point."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    return rng.uniform(-1, 1, (n, q)), rng.integers(1, 5, n).astype(float)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("total", [0.5, 40.0, 3000.0])
def test_projection_is_the_nearest_point_of_the_simplex(seed, total):
    """Its conditions: a common shift where weights are positive, and no gain where they are 0."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    values = rng.normal(3, 30, 200)
    found = on_simplex(values, total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, rel=1e-9)
    shift = (values - found)[found > 0]
    np.testing.assert_allclose(shift, shift[0], atol=1e-9)
    assert (values[found == 0] <= shift[0] + 1e-9).all()


def test_projection_of_what_is_on_the_simplex_changes_nothing():
    """Counts without noise are weights already; ties share alike."""
    counts = np.array([5.0, 0.0, 7.0, 0.0])
    np.testing.assert_allclose(on_simplex(counts, 12.0), counts)
    np.testing.assert_allclose(on_simplex([1.0, 1.0, -9.0], 4.0), [2.0, 2.0, 0.0])
    np.testing.assert_array_equal(on_simplex(counts, 0.0), np.zeros(4))
    np.testing.assert_array_equal(on_simplex(counts, -3.0), np.zeros(4))
    assert on_simplex([], 5.0).shape == (0,)
    np.testing.assert_allclose(on_simplex([-1e6], 3.0), [3.0])


@pytest.mark.parametrize("seed", range(4))
def test_raking_meets_exact_targets(seed):
    """With hardly any noise the weighted means are the private ones, and the weights have the entropy form."""
    features, base = columns(500, 4, seed)
    away = np.exp(features @ np.array([0.8, -0.5, 0.3, 0.0]))
    private = base * away / (base * away).sum()
    target = private @ features
    found = raked(features, base, target, np.full(4, 1e-16))
    assert found.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found @ features, target, atol=1e-7)
    np.testing.assert_allclose(found, private, rtol=1e-4)  # the tilt that made the target is the only one


def test_raking_keeps_the_base_where_nothing_is_known():
    """A target that is all noise moves the weights hardly; doubt lets it move them more."""
    features, base = columns(500, 3, 0)
    shares = base / base.sum()
    gap = np.array([0.05, -0.03, 0.02])
    target = shares @ features + gap
    small = raked(features, base, target, np.full(3, 4.0))
    np.testing.assert_allclose(small, shares, rtol=0.02)
    moved = [
        np.abs(raked(features, base, target, np.full(3, 0.001), doubt) - shares).sum() for doubt in (10.0, 1.0, 0.1)
    ]
    assert moved[0] < moved[1] < moved[2]


def test_raking_solves_its_problem():
    """Stationary: the misfit in units of the noise is the trust times the tilt."""
    features, base = columns(300, 3, 7)
    shares = base / base.sum()
    variance = np.array([0.01, 0.02, 0.005])
    target = shares @ features + np.array([0.2, -0.1, 0.15])
    found = raked(features, base, target, variance)
    logs = np.log(found / shares)
    tilt = np.linalg.lstsq(np.column_stack([np.ones(300), features]), logs, rcond=None)[0][1:]
    np.testing.assert_allclose(
        np.column_stack([np.ones(300), features])[:, 1:] @ tilt + (logs[0] - features[0] @ tilt), logs, atol=1e-9
    )
    trust = (target - found @ features) / (variance * tilt)
    np.testing.assert_allclose(trust, trust[0], rtol=1e-5)
    assert trust[0] > 0


@pytest.mark.parametrize("case", ["beyond", "constant", "copies"])
def test_raking_always_has_an_answer(case):
    """Targets out of reach, features that do not vary, features that repeat."""
    features, base = columns(200, 3, 1)
    target, variance = np.array([0.1, 0.1, 0.1]), np.full(3, 1e-6)
    if case == "beyond":
        target = np.array([1.0, -1.0, 1.0])
    elif case == "constant":
        features[:, 1] = 0.0
    else:
        features[:, 1] = features[:, 0]
    found = raked(features, base, target, variance)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1.0)
