"""M-estimates on a noisy histogram with scikit-learn's face."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from discreet.data.metadata import Metadata
from discreet.estimators.m_estimator import MEstimator
from discreet.ledger import Ledger


class PerturbedHistogram(MEstimator):
    """An M-estimate on the middles of a public grid's cells, weighted by noisy counts of private rows.

    Parameters
    ----------
    epsilon : float, default=1.0
        In nats, in (0, 1000].
    contrast : str or object, default="auto"
        What is minimized: "linear", "huber", "logistic" or "poisson" on the columns; "mean", "median" or "quantile" of
        the target; or an object of your own, see `HybridEstimator`. "auto" is logistic for a target that is declared
        an integer of two values, else linear.
    bins : int, default=None
        Cells along each numeric column. An integer column gets at most a cell a value, a category a cell a level. None
        leaves about 50 / epsilon rows a cell, with at least two cells a column.
    quantile : float, default=0.5
        Of the contrast "quantile", in (0, 1).
    huber_delta : float, default=None
        Of the contrast "huber", in the target's unit. None is a tenth of the target's range.
    ridge : float, default=0.0
        Half the penalty of a squared coefficient per standard deviation of its column, beside the mean contrast.
    fit_intercept : bool, default=True
        Whether a regression has a constant.
    n0 : int, default=None
        A public guess of the number of rows where it is private, for the rule alone.
    random_state : int, default=None
        A seed for simulations alone: the release then carries no guarantee, and no ledger takes it. None draws from
        the system's entropy.
    metadata : Metadata, default=None
        What is public about X and y, when they are arrays or frames, of which nothing is promised. None takes every
        column and the target to lie in [-1, 1], and clips them there. A table has its own.

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

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        contrast: Any = "auto",
        bins: int | None = None,
        quantile: float = 0.5,
        huber_delta: float | None = None,
        ridge: float = 0.0,
        fit_intercept: bool = True,
        n0: int | None = None,
        random_state: int | None = None,
        metadata: Metadata | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.contrast = contrast
        self.bins = bins
        self.quantile = quantile
        self.huber_delta = huber_delta
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.n0 = n0
        self.random_state = random_state
        self.metadata = metadata

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
