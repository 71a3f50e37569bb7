"""Fitted estimators give their coefficients by the names of statsmodels."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import discreet as dc

X = np.tile([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]], (5000, 1))


def test_a_fit_has_what_its_release_has():
    """By term, the intercept first."""
    fit = dc.LinearRegression(epsilon=1.0, delta=1e-6).fit(X, 0.5 * X[:, 0])
    assert fit.params == fit.release_.params
    assert next(iter(fit.params)) == "(intercept)"
    assert fit.bse == fit.release_.bse
    assert fit.conf_int() == fit.release_.conf_int()
    assert list(fit.to_frame("pyarrow")["estimate"].to_pylist()) == list(fit.params.values())


@pytest.mark.parametrize("kind", [dc.LinearRegression, dc.LogisticRegression, dc.HybridEstimator])
def test_before_a_fit_there_are_none(kind):
    """The error is scikit-learn's."""
    with pytest.raises(NotFittedError):
        kind().params  # noqa: B018
    with pytest.raises(NotFittedError):
        kind().conf_int()
