"""The screening without privacy, against correlations as numpy computes them."""

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.errors import InvalidParameterError
from discreet.estimators.public_screening import sure_independence_screening


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_ranks_by_absolute_correlation(kind):
    """Dense or sparse, shifted or not."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    X = rng.normal(size=(60, 30)) * (rng.uniform(size=(60, 30)) < 0.4) + (kind is np.asarray) * 5.0
    y = X[:, 3] - X[:, 20] + 0.2 * rng.normal(size=60)
    expected = np.argsort(-np.abs([np.corrcoef(column, y)[0, 1] for column in X.T]))
    np.testing.assert_array_equal(sure_independence_screening(kind(X), y, 10), expected[:10])


def test_constants_come_last_and_in_order():
    """A constant has no correlation, however large it is."""
    X = np.column_stack([np.full(10, 0.1), np.arange(10.0), np.full(10, 1e9)])
    assert sure_independence_screening(X, np.arange(10.0), 3).tolist() == [1, 0, 2]


@pytest.mark.parametrize("k", [0, 4])
def test_k_must_fit(k):
    """From 1 to the number of columns."""
    with pytest.raises(InvalidParameterError, match="k must lie"):
        sure_independence_screening(np.eye(3), [1.0, 2.0, 3.0], k)
