"""The best of several M-estimates on weighted public records with scikit-learn's face."""

from discreet.estimators.weighted_public import WeightedPublic
from discreet.parameters.public_records import PublicSubsetParameters
from discreet.release import Release


class PublicSubset(PublicSubsetParameters, WeightedPublic):
    """The best of several M-estimates on weighted public records, chosen privately by their loss on the private rows.

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

    def _learn(self, release: Release) -> None:
        super()._learn(release)
        self.candidates_ = () if release.hybrid is None else release.hybrid.candidates
