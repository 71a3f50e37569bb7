"""What noisy sums tell of models: without noise what the rows tell, with noise no more than they can."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.kernels.posterior.posterior_problems import generator, noisy_sums

from discreet.kernels.posterior.models import Prior
from discreet.kernels.posterior.noisy_sums import CoefMoments, NoisySums, Turn

PRIOR = Prior((0.25, 0.5, 1.0), False)
SAMPLE_SIZE, ERRORS = 60, 4.0


def test_without_noise_the_evidence_is_that_of_the_rows():
    """Information X'X / s^2 and shift X'y / s^2."""
    sums = noisy_sums(generator(1), np.array([0.2, 0.0, 0.1]), 0.0)
    told = sums.evidence(np.array([0.04]), CoefMoments(np.zeros((1, 4)), np.zeros((1, 4, 4))))
    np.testing.assert_allclose(told.information[0], sums.moments.gram / 0.04, rtol=1e-8)
    np.testing.assert_allclose(told.shift[0], sums.moments.xty / 0.04, rtol=1e-8)


def test_the_variance_is_that_of_what_was_drawn():
    """V is the covariance of X'y + noise - (X'X + noise) b over draws of all of it."""
    rng, b, n, sigma, noise = generator(2), np.array([0.1, 0.4, -0.3]), 200, 0.3, 6.0
    X = np.c_[np.ones(n), rng.uniform(-1, 1, (n, 2))]
    drawn = []
    for _ in range(20_000):
        E = np.triu(rng.normal(size=(3, 3)) * noise)
        E = E + np.triu(E, 1).T
        drawn.append(X.T @ (sigma * rng.normal(size=n)) + noise * rng.normal(size=3) - E @ b)
    sums = noisy_sums(rng, np.zeros(2), noise, n)
    clean = sums.clean._replace(gram=X.T @ X, error=np.full((3, 3), noise**2))
    known = CoefMoments(b[None], np.outer(b, b)[None])
    expected = replace(sums, clean=clean)._variance(np.array([sigma**2]), known)[0]
    np.testing.assert_allclose(np.cov(np.array(drawn).T), expected, atol=0.04 * expected.max())


def test_a_large_table_is_sure_of_the_right_columns():
    """And the more noise, the less sure."""
    effects = np.array([0.2, 0.0, 0.2, 0.0])
    clear = noisy_sums(generator(3), effects, 1.0, 3000).posterior(PRIOR)
    assert tuple(clear.models[0]) == (True, False, True, False)
    assert (clear.chances[[0, 2]] > 0.999).all()
    hidden = noisy_sums(generator(3), effects, 500.0, 3000).posterior(PRIOR)
    assert (np.abs(hidden.chances - 0.5) < 0.35).all()


def without_noise(sums):
    """Control: the noise is left out of what is known."""
    moments, none = sums.moments, np.zeros_like(sums.clean.error)
    bare = moments._replace(gram_variance=none, xty_variance=np.zeros(len(none)), yty_variance=0.0)
    return NoisySums(bare, sums.clean._replace(error=none), sums.layout)


@pytest.mark.parametrize(("broken", "is_sure"), [(None, False), (without_noise, True)])
def test_columns_that_do_not_matter_are_seldom_called_sure(broken, is_sure):
    """The prior is the tables' own, the noise large. Control: a posterior that takes noisy sums as they are."""
    said, true = [], []
    for seed in range(SAMPLE_SIZE):
        rng = generator(7, seed)
        share = rng.random()
        effects = (rng.random(4) < share) * rng.choice(PRIOR.scales) * rng.normal(size=4) * 0.2 * 3**0.5
        sums = noisy_sums(rng, effects, 12.0)
        said.append((broken(sums) if broken else sums).posterior(PRIOR).chances)
        true.append(effects != 0.0)
    chances, truths = np.ravel(said), np.ravel(true)
    gap = float(np.mean(chances - truths))
    error = float(np.sqrt(np.sum(chances * (1 - chances)))) / len(chances)
    at_top = chances > 0.9
    wrong = float(np.mean(~truths[at_top])) if at_top.any() else 0.0
    assert (wrong > 0.1) == is_sure
    if not is_sure:
        assert abs(gap) < ERRORS * error


def test_sums_of_turned_columns_tell_the_same():
    """Of z = W x and residuals from a start: the same sums without noise, the same posterior."""
    rng = generator(5)
    sums = noisy_sums(rng, np.array([0.2, 0.0, 0.1]), 0.0)
    W, start = np.eye(4) + 0.3 * np.tril(rng.normal(size=(4, 4))), np.array([0.1, 0.2, 0.0, 0.0])
    moments, gram = sums.moments, sums.moments.gram
    rest = moments.xty - gram @ start
    turned_moments = moments._replace(
        gram=W @ gram @ W.T, xty=W @ rest, yty=moments.yty - 2 * start @ moments.xty + start @ gram @ start
    )
    clean = sums.clean._replace(gram=turned_moments.gram)
    turned = NoisySums(turned_moments, clean, sums.layout, 1, Turn(W, start))
    np.testing.assert_allclose(turned.posterior(PRIOR).chances, sums.posterior(PRIOR).chances, atol=0.02)
    np.testing.assert_allclose(turned.posterior(PRIOR).coef, sums.posterior(PRIOR).coef, atol=1e-3)
