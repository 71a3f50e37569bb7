"""Lei et al. 2018, figure 1, upper right: the algorithm as printed gives the published shares of right models."""

import numpy as np
import pytest

from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noisy_min
from discreet.methods.subset_selection.pcls import PenalizedLeastSquares
from tests.privacy.pairs import recorded

pytestmark = pytest.mark.statistics

N_TABLES = 500
BAND = 0.03
PUBLISHED = {1: 0.34, 5: 0.99, 10: 1.00}
"""Read off the figure at n = 1000, R = 2.5, the best phi; beta = (1, 1, 1, 0, 0, 0), unit noise."""

PENALTY = 150.0
"""Best of a grid of step 10 over [0, n / 2] on other tables."""

TRUE_MODEL = 0b000111


@pytest.fixture(scope="module")
def drawn():
    """What reaches the noise on each of 500 tables: scores of 63 models, and the scale that the data set."""
    rng = np.random.default_rng(20180)  # noqa: TID251 - simulated data, not noise
    patch, found = pytest.MonkeyPatch(), []
    method = PenalizedLeastSquares(epsilon=1.0, l1_radius=2.5, model_penalty=PENALTY, as_published=True)
    for _ in range(N_TABLES):
        X = rng.uniform(-1.0, 1.0, (1000, 6))
        y = X[:, :3].sum(axis=1) + rng.normal(size=1000)
        bound = 1.0001 * float(np.abs(y).max())
        found.append(recorded(patch, method, np.column_stack([X, y]), bound=bound))
    return found


@pytest.mark.parametrize("epsilon", PUBLISHED)
def test_share_of_right_models(drawn, epsilon):
    """The share of exactly right models lies within .03 of the figure."""
    source = Source.seeded(5)
    picks = [noisy_min(each.scores, each.gamma, epsilon, source, each.noise) for each in drawn]
    share = np.mean([pick + 1 == TRUE_MODEL for pick in picks])  # the empty model is no candidate
    assert share == pytest.approx(PUBLISHED[epsilon], abs=BAND)


def test_noise_is_the_papers(drawn):
    """63 models, Laplace noise, scale 2 (r + R)^2 / epsilon with r the largest |y| of the table."""
    assert {len(each.scores) for each in drawn} == {63}
    assert {each.noise for each in drawn} == {"laplace"}
    rows = np.array([[0.5, 1.0], [-0.5, -3.0], [0.2, 0.1]])
    method = PenalizedLeastSquares(epsilon=1.0, l1_radius=2.5, as_published=True)
    seen = recorded(pytest.MonkeyPatch(), method, rows, bound=6.0)
    assert float(seen.gamma) * 6.0**2 == pytest.approx(2 * (3.0 + 2.5) ** 2, rel=1e-4)
