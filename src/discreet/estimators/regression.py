"""LinearRegression, LogisticRegression and PoissonRegression with scikit-learn's face."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from discreet.data.adjusted_design import Adjustment
from discreet.data.engine import Table
from discreet.data.engines.frame import column_of
from discreet.data.metadata import Metadata
from discreet.estimators.arrays import feature_columns
from discreet.estimators.coefficients import Coefficients
from discreet.estimators.face import DECLARED, PrivateEstimator
from discreet.ledger import Ledger
from discreet.methods.answers.fit_answers import FitAnswers, JointRegion, MarginalEffect
from discreet.methods.base.method import Method
from discreet.parameters.regression import LinearParameters, LogisticParameters, PoissonParameters
from discreet.release import FitRecord, Release
from discreet.typing import Floats


class _Noisy:
    """Scores on a few rows are poor; stands before scikit-learn's mixins, which make the tags it changes."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        for part in (tags.regressor_tags, tags.classifier_tags):
            if part is not None:
                part.poor_score = True
        return tags


class _Regression(Coefficients, PrivateEstimator):
    """Coefficients of given columns."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        target: str | None = None,
        candidates: Sequence[str] | None = None,
        from_release: Release | str | Path | None = None,
        ledger: Ledger | str | Path | None = None,
    ) -> Self:
        """Estimate the coefficients; spends epsilon.

        Parameters
        ----------
        X : Table, DataFrame or array_like, shape (n_samples, n_features)
            A table opened with `discreet.open_table`; or features alone, of which nothing is promised.
        y : array_like, shape (n_samples,), optional
            The target, when X holds features alone.
        target : str, optional
            The target's column: of the table, or in the metadata where y has no name.
        candidates : sequence of str, optional
            Columns of the model, for a table; default all declared ones but the target.
        from_release : Release, str or Path, optional
            An earlier private release, or its file: target and columns are those that it selected.
        ledger : Ledger, str or Path, optional
            Where the charge is recorded, for a table alone. Without one nothing is charged, and the release says so.

        Returns
        -------
        self
            With `release_`, `coef_` and `intercept_`.

        Raises
        ------
        InvalidParameterError
            When a parameter is out of range.
        PolicyError
            When `from_release` gives no guarantee, or a ledger is to be charged for arrays.
        BudgetError
            When the ledger refuses.
        """
        fit = self._fit_release(X, y, target, candidates, ledger, from_release).fit
        if fit is None:
            raise ValueError("The release holds no coefficients.")
        slopes = [term for term in fit.coefficients if term.column is not None]
        self.terms_ = tuple(term.name for term in slopes)
        self.coef_ = np.array([term.estimate for term in slopes])
        self.intercept_ = float(sum(term.estimate for term in fit.coefficients if term.column is None))
        self.intervals_ = np.array([term.interval for term in slopes]).reshape(-1, 2)
        return self

    @property
    def _adjustment(self) -> Adjustment:
        """The columns of X that have no coefficient."""
        stated = self.get_params(deep=False)
        return Adjustment(*(stated.get(role) for role in ("offset", "exposure", "weights")))

    @override
    def _table(self, X: Any, *options: Any) -> tuple[Table, str, Sequence[str] | None]:
        table, name, columns = super()._table(X, *options)
        beside = self._adjustment.columns
        self._stated = None if isinstance(X, Table) or not beside or columns is None else list(columns)
        return table, name, columns if self._stated is None else [each for each in self._stated if each not in beside]

    @override
    def _run(self, method: Method, table: Table, *options: Any) -> Release:
        release, adjustment = super()._run(method, table, *options), self._adjustment
        if adjustment.columns:  # new rows have them too
            offset = () if adjustment.offset_column is None else (adjustment.offset_column,)
            self._candidates = [*self._candidates, *offset] if self._stated is None else self._stated
            self.n_features_in_ = len(self._candidates)
            if self._stated is None:
                self.feature_names_in_ = np.array(self._candidates, dtype=object)
        return release

    @override
    def _predictor(self, X: Any, fit: FitRecord) -> Floats:
        predictor, column = super()._predictor(X, fit), self._adjustment.offset_column
        if column is None:
            return predictor
        cells = column_of(feature_columns(self, X, self._candidates)[column], is_number=True)
        return predictor + self._adjustment.values(self._metadata, cells)

    def predict_interval(self, X: Any, confidence: float | None = None) -> Floats:
        """Predict the mean of the target of new rows, with intervals; free.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n_samples, n_features)
            Features, as in the fit. No cell may be missing or beyond its bounds.
        confidence : float, optional
            Level of each interval; default that of the fit.

        Returns
        -------
        ndarray of float, shape (n_samples, 3)
            Mean, lower and upper end; an end is infinite where none can be told within the target's range. The interval
            is for the mean: single rows lie further off. Cost: some hundredths of a second a row, some tenths for a
            Poisson model without a delta.

        Raises
        ------
        InvalidParameterError
            When a value is missing or beyond its bounds, or the release cannot answer.
        """
        self._fitted()
        columns = feature_columns(self, X, self._candidates)
        fit, answers = self._fitted(), FitAnswers(self.release_)
        used = {fit.offset, fit.exposure, *(term.column for term in fit.coefficients)}
        cells = {name: column_of(columns[name], False).to_pylist() for name in columns if name in used}
        rows = zip(*cells.values(), strict=True)
        means = [answers.predict(dict(zip(cells, row, strict=True)), confidence).mean for row in rows]
        return np.array([(mean.estimate, *mean.ends) for mean in means]).reshape(-1, 3)

    def joint_region(self, columns: Sequence[str] | str, confidence: float | None = None) -> JointRegion:
        """Tell whether all coefficients of some columns can be zero together, such as those of a category; free.

        Parameters
        ----------
        columns : str or sequence of str
            Columns of the model.
        confidence : float, optional
            Level of the region; default that of the fit.

        Returns
        -------
        JointRegion
            Whether zero lies in the joint region, and intervals that hold together.

        Raises
        ------
        InvalidParameterError
            When a name is no column of the model, or the release cannot answer.
        """
        self._fitted()
        return FitAnswers(self.release_).joint_region(columns, confidence)

    def _fitted(self) -> FitRecord:
        check_is_fitted(self, "release_")
        fit = self.release_.fit
        if fit is None:
            raise ValueError("The release holds no coefficients.")
        return fit


class _Effects(_Regression):
    """Coefficients whose effect on the mean depends on where the columns are."""

    def marginal_effects(
        self, at: Mapping[str, Any] | None = None, confidence: float | None = None
    ) -> tuple[MarginalEffect, ...]:
        """Return how the mean of the target changes with each column, the others being at given values; free.

        Parameters
        ----------
        at : dict, optional
            Values of columns; default, for each that is not given, the middle of its bounds or its first level.
        confidence : float, optional
            Level of each interval; default that of the fit.

        Returns
        -------
        tuple of MarginalEffect
            One for a number, by one unit; one for each other level of a category.

        Raises
        ------
        InvalidParameterError
            When a value is beyond its bounds, or the release cannot answer.
        """
        self._fitted()
        return FitAnswers(self.release_).marginal_effects(at, confidence)


class LinearRegression(_Noisy, RegressorMixin, _Regression, LinearParameters):  # type: ignore[misc]
    """Linear regression from noisy moments, with intervals that include sampling error and privacy noise.

    Attributes
    ----------
    release_ : Release
        Coefficients with intervals, and the noisy moments: submodels are free.
    coef_ : ndarray of float, shape (n_terms,)
        In own units; a category has a coefficient for each level but its reference.
    intercept_ : float
        In own units.
    intervals_ : ndarray of float, shape (n_terms, 2)
        Of `coef_`; infinite where no lower or no upper limit can be told.
    terms_ : tuple of str
        Names of `coef_`.

    Notes
    -----
    Claim: ``methods/moments/noisy_moments.privacy.md``.

    References
    ----------
    Privacy specification 6.1.

    Examples
    --------
    Of arrays, so that nothing is promised; `PCLS` shows how a table is opened.

    >>> import numpy as np
    >>> X = np.tile([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]], (50000, 1))
    >>> LinearRegression(epsilon=1.0, delta=1e-6).fit(X, 0.5 * X[:, 0]).coef_.round(1) + 0.0
    array([0.5, 0. ])
    """

    _method = "linear"

    def predict(self, X: Any) -> Floats:
        """Predict the target of new rows.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n_samples, n_features)
            Features, as in the fit; their cells are clipped to their bounds.

        Returns
        -------
        ndarray of float, shape (n_samples,)
            In the target's unit.
        """
        return self._predictor(X, self._fitted())


class LogisticRegression(_Noisy, ClassifierMixin, _Effects, LogisticParameters):  # type: ignore[misc]
    """Logistic regression from a few noisy sums, with intervals that include sampling error and privacy noise.

    Attributes
    ----------
    release_ : Release
        Coefficients with intervals.
    classes_ : ndarray, shape (2,)
        0 and 1.
    coef_ : ndarray of float, shape (n_terms,)
        Log odds per unit of the column.
    intercept_ : float
        Log odds where all columns are 0.
    intervals_ : ndarray of float, shape (n_terms, 2)
        Of `coef_`; infinite where no lower or no upper limit can be told.
    terms_ : tuple of str
        Names of `coef_`.

    Notes
    -----
    Claims: ``methods/regression/generalized_linear.privacy.md``, without a delta
    ``methods/regression/objective_perturbation.privacy.md``.

    References
    ----------
    Privacy specification 6.2.
    """

    _method = "logistic"

    metadata: Annotated[
        Metadata | None, Field(description=f"{DECLARED} Default every column in [-1, 1], and y 0 or 1.")
    ] = None
    _target_bounds = (0.0, 1.0)

    @property
    def classes_(self) -> Any:
        """The two values of the target."""
        return np.array([0, 1])

    def decision_function(self, X: Any) -> Floats:
        """Return the log odds of new rows.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n_samples, n_features)
            Features, as in the fit.

        Returns
        -------
        ndarray of float, shape (n_samples,)
            Of the target being 1.
        """
        return self._predictor(X, self._fitted())

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of both values of the target.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n_samples, n_features)
            Features, as in the fit.

        Returns
        -------
        ndarray of float, shape (n_samples, 2)
            Of 0 and of 1.
        """
        odds = np.clip(self.decision_function(X), -700.0, 700.0)
        chance = 1.0 / (1.0 + np.exp(-odds))
        return np.column_stack([1.0 - chance, chance])

    def predict(self, X: Any) -> Any:
        """Return the more likely value of the target of new rows.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n_samples, n_features)
            Features, as in the fit.

        Returns
        -------
        ndarray of int, shape (n_samples,)
            0 or 1.
        """
        return (self.decision_function(X) > 0.0).astype(int)


class PoissonRegression(_Noisy, RegressorMixin, _Effects, PoissonParameters):  # type: ignore[misc]
    """Poisson regression from noisy sums, or without a delta from a perturbed objective, with intervals.

    Attributes
    ----------
    release_ : Release
        Coefficients with intervals.
    coef_ : ndarray of float, shape (n_terms,)
        Change of the logarithm of the mean per unit of the column.
    intercept_ : float
        Logarithm of the mean where all columns are 0.
    intervals_ : ndarray of float, shape (n_terms, 2)
        Of `coef_`; infinite where no lower or no upper limit can be told.
    terms_ : tuple of str
        Names of `coef_`.

    Notes
    -----
    Claims: ``methods/regression/generalized_linear.privacy.md``, without a delta
    ``methods/regression/objective_perturbation.privacy.md``.

    References
    ----------
    Privacy specification 6.2.
    """

    _method = "poisson"

    metadata: Annotated[Metadata | None, Field(description=f"{DECLARED} The target's upper bound is needed.")] = None

    def predict(self, X: Any) -> Floats:
        """Predict the mean of the target of new rows.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n_samples, n_features)
            Features, as in the fit; their cells are clipped to their bounds.

        Returns
        -------
        ndarray of float, shape (n_samples,)
            In the target's unit.
        """
        return np.exp(np.clip(self._predictor(X, self._fitted()), -700.0, 700.0))
