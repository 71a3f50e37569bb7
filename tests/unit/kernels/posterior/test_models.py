"""The posterior of models: every model by hand, the walk beside it, intervals of a mixture."""

import itertools

import numpy as np
import pytest
from scipy.special import beta
from tests.unit.kernels.posterior.posterior_problems import evidence_of, generator, layout_of

from discreet.kernels.posterior import models
from discreet.kernels.posterior.models import Prior, posterior

SAMPLER_ERRORS = 5.0
"""The walk draws from a fixed sequence: a test that holds once holds always."""


def by_hand(evidences, layout, prior):
    """Weights of every model from the determinants and inverses of its own block."""
    d, weights = len(layout.units), {}
    for bits in itertools.product((False, True), repeat=d):
        columns = layout.always | layout.units[np.array(bits)].any(axis=0)
        b = float(d) if prior.is_sparse else 1.0
        size = beta(1 + sum(bits), b + d - sum(bits)) / beta(1, b)
        total = 0.0
        for known, scale in itertools.product(evidences, prior.scales):
            precision = np.where(layout.always, 0.0, known.unit / scale**2)[columns]
            whole = known.information[np.ix_(columns, columns)] + np.diag(precision)
            shift = known.shift[columns]
            root = np.sqrt(np.prod(precision[precision > 0]) / np.linalg.det(whole))
            total += root * np.exp(0.5 * shift @ np.linalg.solve(whole, shift) + known.offset)
        weights[bits] = size * total
    return weights


@pytest.mark.parametrize("is_sparse", [False, True])
def test_every_model_has_its_weight(is_sparse):
    """Units of one and of two columns, two nodes, three scales."""
    rng, layout = generator(1), layout_of((1, 2, 1))
    evidences = [evidence_of(rng, 5)._replace(offset=offset) for offset in (0.0, 0.7)]
    prior = Prior((0.3, 1.0, 2.0), is_sparse)
    weights = by_hand(evidences, layout, prior)
    total, found = sum(weights.values()), posterior(evidences, layout, prior)
    expected = [sum(weight for bits, weight in weights.items() if bits[unit]) / total for unit in range(3)]
    np.testing.assert_allclose(found.chances, expected, rtol=1e-9)
    best = max(weights, key=weights.get)
    assert tuple(found.models[0]) == best
    np.testing.assert_allclose(found.model_chances[0], weights[best] / total, rtol=1e-9)
    assert found.error is None


def test_coefficients_are_averaged_over_models():
    """Zero where a unit is not in, the posterior mean where it is."""
    known, layout, prior = evidence_of(generator(2), 3), layout_of((1, 1)), Prior((1.0,), False)
    weights, mean = by_hand([known], layout, prior), np.zeros(3)
    for bits, weight in weights.items():
        columns = layout.always | layout.units[np.array(bits)].any(axis=0)
        precision = np.diag(np.where(layout.always, 0.0, known.unit)[columns])
        whole = known.information[np.ix_(columns, columns)] + precision
        mean[columns] += weight / sum(weights.values()) * np.linalg.solve(whole, known.shift[columns])
    np.testing.assert_allclose(posterior([known], layout, prior).coef, mean, rtol=1e-9)


def test_the_walk_tells_what_all_models_tell(monkeypatch):
    """Within its own stated error."""
    known, layout, prior = evidence_of(generator(3), 8), layout_of((1,) * 7), Prior((0.3, 1.0), True)
    exact = posterior([known], layout, prior)
    monkeypatch.setattr(models, "MOST_EXACT", 3)
    walked = posterior([known], layout, prior)
    assert walked.error is not None
    assert 0.0 < walked.error < 0.03
    np.testing.assert_allclose(walked.chances, exact.chances, atol=SAMPLER_ERRORS * walked.error)
    np.testing.assert_allclose(walked.coef, exact.coef, atol=0.02)
    again = posterior([known], layout, prior)
    np.testing.assert_array_equal(again.chances, walked.chances)


def test_an_interval_holds_its_share_of_the_mixture():
    """Drawn from the models that are averaged."""
    found = posterior([evidence_of(generator(4), 4)], layout_of((1, 1, 1)), Prior((1.0,), False))
    rng, direction = generator(5), np.array([0.0, 2.0, 0.0, 1.0])
    at = rng.choice(len(found.weights), 20_000, p=found.weights)
    spread = np.sqrt(np.einsum("i,kij,j->k", direction, found.covariances, direction))
    drawn = found.means[at] @ direction + spread[at] * rng.normal(size=len(at))
    low, high = found.interval(direction, 0.9)
    assert abs(np.mean((drawn >= low) & (drawn <= high)) - 0.9) < 0.01
    assert abs(np.mean(drawn < low) - 0.05) < 0.01


def test_columns_that_add_up_to_others_are_no_error():
    """Two equal columns share a chance."""
    known = evidence_of(generator(6), 3)
    twice = [0, 1, 2, 1]
    doubled = known._replace(
        information=known.information[np.ix_(twice, twice)], shift=known.shift[twice], unit=known.unit[twice]
    )
    found = posterior([doubled], layout_of((1, 1, 1)), Prior((1.0,), False))
    assert np.isfinite(found.chances).all()
    assert found.chances[0] == pytest.approx(found.chances[2])
