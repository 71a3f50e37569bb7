"""M-estimates on a noisy histogram with scikit-learn's face."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from discreet.estimators.m_estimator import MEstimator
from discreet.ledger import Ledger
from discreet.parameters.public_records import HistogramParameters


class PerturbedHistogram(MEstimator, HistogramParameters):
    """An M-estimate on the middles of a public grid's cells, weighted by noisy counts of private rows.

    Attributes
    ----------
    release_ : Release
        Coefficients, guarantee, noise, provenance. There are no intervals.
    coef_ : ndarray of float, shape (n_terms,)
        Of a regression, in own units; a category has a coefficient for each level but its first.
    intercept_ : float
        Of a regression, in own units.
    terms_ : tuple of str
        Names of `coef_`.
    location_ : float
        Of the contrasts mean, median and quantile, in the target's unit.
    theta_ : ndarray of float
        Of a contrast of your own.
    feature_names_in_ : ndarray of str
        Names of the candidates, when they have names.
    n_features_in_ : int
        Number of candidates.

    Notes
    -----
    Claim: ``methods/public_records/histogram.privacy.md``. For a few columns: the cells are the product over columns,
    and more than a million of them are refused, which two cells a column reach with twenty columns. A row counts as the
    middle of its cell: coefficients are pulled by that rounding, whatever the noise. ``score`` is R squared.

    References
    ----------
    Lei 2011; privacy specification 5.5.

    Examples
    --------
    Of arrays, so that nothing is promised; `PCLS` shows how a table is opened.

    >>> import numpy as np
    >>> X = np.tile([[-0.75], [-0.25], [0.25], [0.75]], (25000, 1))
    >>> PerturbedHistogram(epsilon=1.0, bins=4).fit(X, X[:, 0]).coef_.round(1)
    array([1.])
    """

    _method = "histogram"

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        target: str | None = None,
        candidates: Sequence[str] | None = None,
        ledger: Ledger | str | Path | None = None,
    ) -> Self:
        """Count the private rows of every cell with noise, and estimate; spends epsilon.

        Parameters
        ----------
        X : Table, DataFrame or array_like, shape (n_samples, n_features)
            A table opened with `discreet.open_table`; or features alone, of which nothing is promised.
        y : array_like, shape (n_samples,), optional
            The target, when X holds features alone.
        target : str, optional
            The target's column: of the table, or in the metadata where y has no name.
        candidates : sequence of str, optional
            Columns beside the target, for a table; default all declared ones.
        ledger : Ledger, str or Path, optional
            Where the charge is recorded, for a table alone. Without one nothing is charged, and the release says so.

        Returns
        -------
        self
            With `release_` and what it holds.

        Raises
        ------
        InvalidParameterError
            When a parameter is out of range, or there would be too many cells.
        MetadataError
            When a column lacks bounds or levels.
        BudgetError
            When the ledger refuses.
        """
        self._learn(self._fit_release(X, y, target, candidates, ledger))
        return self
