"""Swope et al. 2024, figure 1: without privacy, screening finds the true features more often than block-wise lassos."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from discreet import sure_independence_screening

N_TABLES = 500
BAND = 25
PUBLISHED = {"W1": (970, 480), "W1/W2": (926, 390)}
"""How often of 1000 times a true feature is chosen by screening and by two stages, read off the figure."""


def table(rng, name):
    """100 rows, 100 features of which the first five matter; in W1/W2 each tenth row has five others."""
    X = rng.standard_normal((100, 100))
    y = X[:, :5].sum(axis=1)
    if name == "W1/W2":
        y[9::10] = X[9::10, 95:].sum(axis=1)
    return X, y + np.sqrt(0.1) * rng.standard_normal(100)


def most_voted(X, y, rng):
    """The five features in the supports of the most lassos on ten blocks of ten rows as they are; ties at random."""
    votes = np.zeros(100)
    for block in range(10):
        rows = slice(10 * block, 10 * block + 10)
        votes += Lasso(alpha=0.1).fit(X[rows], y[rows]).coef_ != 0.0
    return np.lexsort((rng.random(100), -votes))[:5]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", PUBLISHED)
def test_true_features_are_chosen_as_often_as_published(name):
    """Both counts of 1000 lie within 25 of the figure's."""
    rng = np.random.default_rng(1974)  # noqa: TID251 - simulated data, not noise
    screened, voted = 0, 0
    for _ in range(N_TABLES):
        X, y = table(rng, name)
        screened += np.sum(sure_independence_screening(X, y, 5) < 5)
        voted += np.sum(most_voted(X, y, rng) < 5)
    counts = [1000 * chosen / (5 * N_TABLES) for chosen in (screened, voted)]
    assert counts == pytest.approx(PUBLISHED[name], abs=BAND)
