"""An M-estimate on weighted public records with scikit-learn's face."""

from typing import Any

from discreet.data.metadata import Metadata
from discreet.estimators.weighted_public import WeightedPublic


class HybridEstimator(WeightedPublic):
    """An M-estimate on public records, each weighted by the private rows that it stands for.

    Parameters
    ----------
    public : path, DataFrame or (array_like, array_like), default=None
        Public records of other people, with the columns of the private table: a file; a frame with features and target;
        or a pair (X, y). Needed. A record with a missing cell is left out.
    epsilon : float, default=1.0
        In nats, in (0, 1000].
    contrast : str or object, default="auto"
        What is minimized: "linear", "huber", "logistic" or "poisson" on the columns; "mean", "median" or "quantile" of
        the target; or an object of your own, with ``n_parameters(n_features)`` and
        ``value_and_gradient(theta, X, y)``, which returns the contrast at each point, shape (m,), and its gradients,
        shape (m, n_parameters), in the columns' own units, a category as one dummy a level but its first. "auto" is
        logistic for a target of two values, else linear.
    quantile : float, default=0.5
        Of the contrast "quantile", in (0, 1).
    huber_delta : float, default=None
        Of the contrast "huber", in the target's unit. None is a tenth of the target's range.
    ridge : float, default=0.0
        Half the penalty of a squared coefficient per standard deviation of its column, beside the mean contrast; of a
        contrast of your own, of a squared parameter.
    fit_intercept : bool, default=True
        Whether a regression has a constant.
    measure : {"auto", "counts", "margins"}, default="auto"
        What is estimated from the private rows: how many are nearest to each of some public points; or noisy sums of
        the target times each column, to which all public records are re-weighted. "auto" takes margins for regressions
        on many columns.
    n_points : int, "auto" or "all", default="auto"
        Public points to count beside, chosen from the public records alone. "auto" takes one for about 30 / epsilon
        private rows.
    n0 : int, default=None
        A public guess of the number of rows where it is private, for the rules alone.
    twins : int, default=0
        Private tables to simulate from the public records, up to 100, to say in ``release_.hybrid.twins`` what errors
        to expect.
    random_state : int, default=None
        A seed for simulations alone: the release then carries no guarantee, and no ledger takes it. None draws from
        the system's entropy.
    metadata : Metadata, default=None
        What is public about X and y, when they are arrays or frames, of which nothing is promised. None takes every
        column and the target to lie in [-1, 1], and clips them there. A table has its own.

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

    def __init__(
        self,
        public: Any = None,
        *,
        epsilon: float = 1.0,
        contrast: Any = "auto",
        quantile: float = 0.5,
        huber_delta: float | None = None,
        ridge: float = 0.0,
        fit_intercept: bool = True,
        measure: str = "auto",
        n_points: int | str = "auto",
        n0: int | None = None,
        twins: int = 0,
        random_state: int | None = None,
        metadata: Metadata | None = None,
    ) -> None:
        self.public = public
        self.epsilon = epsilon
        self.contrast = contrast
        self.quantile = quantile
        self.huber_delta = huber_delta
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.measure = measure
        self.n_points = n_points
        self.n0 = n0
        self.twins = twins
        self.random_state = random_state
        self.metadata = metadata
