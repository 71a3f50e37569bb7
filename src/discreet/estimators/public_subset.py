"""The best of several M-estimates on weighted public records with scikit-learn's face."""

from collections.abc import Sequence
from typing import Any

from discreet.data.metadata import Metadata
from discreet.estimators.weighted_public import WeightedPublic
from discreet.release import Release


class PublicSubset(WeightedPublic):
    """The best of several M-estimates on weighted public records, chosen privately by their loss on the private rows.

    Parameters
    ----------
    public : path, DataFrame or (array_like, array_like), default=None
        Public records of other people, with the columns of the private table: a file; a frame with features and target;
        or a pair (X, y). Needed. A record with a missing cell is left out.
    epsilon : float, default=1.0
        In nats, in (0, 1000], of the measure and the choice together.
    contrast : str, default="auto"
        "linear", "huber", "logistic" or "poisson" on the columns; "mean", "median" or "quantile" of the target. "auto"
        is logistic for a target of two values, else linear. One of your own makes no predictions to choose by.
    quantile : float, default=0.5
        Of the contrast "quantile", in (0, 1).
    huber_delta : float, default=None
        Of the contrast "huber", in the target's unit. None is a tenth of the target's range.
    ridge : float, default=0.0
        Of the estimates on public records alone and on a histogram: half the penalty of a squared coefficient per
        standard deviation of its column, beside the mean contrast.
    fit_intercept : bool, default=True
        Whether a regression has a constant.
    measure : {"auto", "counts", "margins"}, default="auto"
        What is estimated from the private rows: see `HybridEstimator`.
    n_points : int, "auto" or "all", default="auto"
        Public points to count beside. "auto" takes one for about 30 / epsilon private rows.
    n0 : int, default=None
        A public guess of the number of rows where it is private, for the rules alone.
    twins : int, default=0
        Private tables to simulate from the public records, to say what errors to expect.
    sizes : sequence of int, default=None
        Numbers of public points to choose between, of those counted beside. None is all of them, half, a quarter and an
        eighth. Margins have none.
    order : {"farthest", "weight"}, default="farthest"
        Which points are kept: those that lie far apart, or those of the largest noisy counts. The others' counts go to
        the nearest kept one.
    ridges : sequence of float, default=(0.0, 0.03)
        Ridge strengths to choose between.
    loss : {"squared", "log"}, default="squared"
        Of a private row: the squared error of its prediction, of a quantile the pinball loss; or for a target of two
        values the negative logarithm of the chance, cut.
    log_clip : float, default=0.01
        Of the loss "log": chances are cut at this and at one less this; in (0, 0.5).
    mechanism : {"permute_and_flip", "exponential", "laplace"}, default="permute_and_flip"
        Of the choice.
    shares : dict of str to float, default=None
        Share of epsilon of "validation", the choice, 0.15 by default; and of "histogram", a histogram of the private
        rows as one more estimate to choose, none by default.
    as_published : bool, default=False
        The algorithm of the paper with its errors, for study: no guarantee, and no ledger takes it.
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
    candidates_ : tuple of CandidateRecord
        What the choice was among; the chosen one is marked.
    coef_ : ndarray of float, shape (n_terms,)
        Of a regression, in own units; a category has a coefficient for each level but its first.
    intercept_ : float
        Of a regression, in own units.
    terms_ : tuple of str
        Names of `coef_`.
    location_ : float
        Of the contrasts mean, median and quantile, in the target's unit.
    weighted_public_ : pyarrow.Table
        The public records that the chosen estimate rests on, with their `weight`; none where it rests on none.
    n_points_ : int
        How many they are.
    public_only_coef_, public_only_intercept_, public_only_location_
        The same estimate on the public records alone, which costs nothing: for comparison.
    feature_names_in_ : ndarray of str
        Names of the candidates, when they have names.
    n_features_in_ : int
        Number of candidates.

    Notes
    -----
    Claims: ``methods/public_records/public_subset.privacy.md`` and ``methods/public_records/hybrid.privacy.md``; with a
    histogram ``methods/public_records/histogram.privacy.md`` as well. Where no estimate is clearly better the choice
    leans to all points without a ridge, by a public amount. ``score`` is R squared.

    References
    ----------
    Wang et al. 2018, Algorithm 2; McKenna and Sheldon 2020 (permute and flip); privacy specification 5.2 and 5.3.

    Examples
    --------
    Of arrays, so that nothing is promised; `PCLS` shows how a table is opened.

    >>> import numpy as np
    >>> X = np.tile([[-1.0], [-0.5], [0.5], [1.0]], (25000, 1))
    >>> public = (np.tile(X[:4], (2, 1)), np.append(0.5 * X[:4, 0], -0.5 * X[:4, 0]))
    >>> found = PublicSubset(public, epsilon=1.0).fit(X, 0.5 * X[:, 0])
    >>> found.coef_.round(1), found.public_only_coef_.round(1) + 0.0
    (array([0.5]), array([0.]))
    >>> sorted({candidate.n_points for candidate in found.candidates_})
    [0, 2, 4, 8]
    """

    _method = "public-subset"

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
        sizes: Sequence[int] | None = None,
        order: str = "farthest",
        ridges: Sequence[float] = (0.0, 0.03),
        loss: str = "squared",
        log_clip: float = 0.01,
        mechanism: str = "permute_and_flip",
        shares: dict[str, float] | None = None,
        as_published: bool = False,
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
        self.sizes = sizes
        self.order = order
        self.ridges = ridges
        self.loss = loss
        self.log_clip = log_clip
        self.mechanism = mechanism
        self.shares = shares
        self.as_published = as_published
        self.random_state = random_state
        self.metadata = metadata

    def _learn(self, release: Release) -> None:
        super()._learn(release)
        self.candidates_ = () if release.hybrid is None else release.hybrid.candidates
