"""An M-estimate on weighted public records with scikit-learn's face."""

from discreet.estimators.weighted_public import WeightedPublic
from discreet.parameters.public_records import HybridParameters


class HybridEstimator(HybridParameters, WeightedPublic):
    """An M-estimate on public records, each weighted by the private rows that it stands for.

    Attributes
    ----------
    release_ : Release
        Coefficients, weights, guarantee, noise, provenance. There are no intervals.
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
    weighted_public_ : pyarrow.Table
        The public records that the estimate rests on with their `weight` in private rows: any other analysis of them
        costs nothing more.
    n_points_ : int
        How many they are.
    public_only_coef_, public_only_intercept_, public_only_location_, public_only_theta_
        The same estimate on the public records alone, which costs nothing: for comparison.
    feature_names_in_ : ndarray of str
        Names of the candidates, when they have names.
    n_features_in_ : int
        Number of candidates.

    Notes
    -----
    Claim: ``methods/public_records/hybrid.privacy.md``. The public records are released as they are and are not
    protected. Private cells beyond the public range are clipped to it, and rows are told apart only as far as public
    records lie near them. ``score`` is R squared.

    References
    ----------
    Wang et al. 2018, Definition 6 and Algorithm 1; privacy specification 5.1.

    Examples
    --------
    Of arrays, so that nothing is promised; `PCLS` shows how a table is opened.

    >>> import numpy as np
    >>> X = np.tile([[-1.0], [-0.5], [0.5], [1.0]], (25000, 1))
    >>> public = (np.tile(X[:4], (2, 1)), np.append(0.5 * X[:4, 0], -0.5 * X[:4, 0]))
    >>> found = HybridEstimator(public, epsilon=1.0).fit(X, 0.5 * X[:, 0])
    >>> found.coef_.round(2), found.public_only_coef_.round(2) + 0.0
    (array([0.5]), array([0.]))
    >>> found.weighted_public_.column_names
    ['x0', 'target', 'weight']

    A contrast of your own, here the expectile of the target that 0.8 of the squared errors pull up:

    >>> class Expectile:
    ...     def n_parameters(self, n_features):
    ...         return 1
    ...
    ...     def value_and_gradient(self, theta, X, y):
    ...         pull = np.where(y > theta[0], 0.8, 0.2)
    ...         return pull * (y - theta[0]) ** 2, (2 * pull * (theta[0] - y))[:, None]
    >>> HybridEstimator(public, contrast=Expectile()).fit(X, 0.5 * X[:, 0]).theta_.round(1)
    array([0.2])
    """

    _method = "hybrid"
