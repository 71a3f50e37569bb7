"""What the estimators of M-estimates share: contrasts, attributes and predictions."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from discreet.data.metadata import half_width
from discreet.errors import InvalidParameterError
from discreet.estimators.coefficients import Coefficients
from discreet.estimators.face import PrivateEstimator
from discreet.release import FitRecord, Release
from discreet.typing import Floats

LOCATIONS = ("mean", "median", "quantile")

LARGEST_LOGARITHM = 700.0
"""Of a Poisson mean, so that it is finite."""


class MEstimator(RegressorMixin, Coefficients, PrivateEstimator):  # type: ignore[misc]
    """An estimator of coefficients, of a location, or of the parameters of a contrast of one's own."""

    def predict(self, X: Any) -> Floats:
        """Predict the mean of the target of new rows: of a target of 0 and 1, the probability of 1.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n_samples, n_features)
            Features, as in the fit; their cells are clipped to the ranges of the fit.

        Returns
        -------
        ndarray of float, shape (n_samples,)
            In the target's unit. Of a location, the same for all rows.

        Raises
        ------
        InvalidParameterError
            When the contrast is one's own: nothing says how it predicts.
        """
        check_is_fitted(self, "release_")
        fit = _fit_of(self.release_)
        if fit.family == "own":
            raise InvalidParameterError(
                "Predictions must come from a named contrast, but this one is your own, and nothing says how it "
                "predicts. Compute them from theta_."
            )
        predictor = self._predictor(X, fit)
        if fit.family == "logistic":
            target = self._metadata.declared(str(self.release_.request["target"]))
            middle, half = half_width(target)  # type: ignore[arg-type] # a target is numeric
            return np.asarray(middle + half * np.tanh(predictor / 2.0), dtype=np.float64)
        if fit.family == "poisson":
            return np.exp(np.clip(predictor, -LARGEST_LOGARITHM, LARGEST_LOGARITHM))
        return predictor

    def _learn(self, release: Release) -> None:
        """Set the attributes of this contrast."""
        for name, value in learned(_fit_of(release)).items():
            setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # of a few rows the noise hides everything
        return tags


def learned(fit: FitRecord) -> dict[str, Any]:
    """Return the attributes that hold a fit.

    Parameters
    ----------
    fit : FitRecord
        Of a release.

    Returns
    -------
    dict of str to Any
        `coef_`, `intercept_` and `terms_`; or `location_`; or `theta_`.
    """
    if fit.family == "own":
        return {"theta_": np.array([term.estimate for term in fit.coefficients])}
    if fit.family in LOCATIONS:
        return {"location_": float(fit.coefficients[0].estimate)}
    slopes = [term for term in fit.coefficients if term.column is not None]
    return {
        "coef_": np.array([term.estimate for term in slopes]),
        "intercept_": float(sum(term.estimate for term in fit.coefficients if term.column is None)),
        "terms_": tuple(term.name for term in slopes),
    }


def _fit_of(release: Release) -> FitRecord:
    if release.fit is None:
        raise ValueError("The release holds no coefficients.")
    return release.fit
