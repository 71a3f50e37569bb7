"""M-estimates on weighted public records with scikit-learn's face."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_consistent_length, column_or_1d

from discreet.data.engine import Table
from discreet.data.frame import column_of
from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicRecords
from discreet.errors import DataMismatchError, InvalidParameterError
from discreet.estimators.m_estimator import LEARNED, MEstimator, learned
from discreet.ledger import Ledger
from discreet.methods.candidates import features_in


class _Hybrid(MEstimator):
    """An estimate on public records."""

    public: Any

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        target: str | None = None,
        candidates: Sequence[str] | None = None,
        ledger: Ledger | str | Path | None = None,
    ) -> Self:
        """Weight the public records by the private rows and estimate; spends epsilon.

        Parameters
        ----------
        X : Table, DataFrame or array_like, shape (n_samples, n_features)
            The private table opened with `discreet.open_table`, or features alone.
        y : array_like, shape (n_samples,), optional
            The private target, when X holds features alone.
        target : str, optional
            The target's column: of the table, or in the metadata where y has no name.
        candidates : sequence of str, optional
            Columns beside the target, for a table; default all declared ones.
        ledger : Ledger, str or Path, optional
            Where the charge is recorded, before the private rows are read. The metadata must then declare the public
            file. Without one nothing is charged, and the release says so.

        Returns
        -------
        self
            With `release_` and what it holds.

        Raises
        ------
        InvalidParameterError
            When a parameter is out of range, or there are no public records.
        MetadataError
            When the metadata and a table do not have the same columns, or do not declare the public file.
        DataMismatchError
            When the public records lack a column, or have fewer than two distinct points.
        PolicyError
            When the public and the private file are one.
        BudgetError
            When the ledger refuses.
        """
        if self.public is None:
            raise InvalidParameterError(
                f"{type(self).__name__} must have public records, but public=None. Give a file, a frame with the "
                "target, or a pair (X, y); or use PerturbedHistogram, which needs none."
            )
        table, name, among = self._table(X, y, target, candidates, observed_bound=False)
        names = tuple(among) if among is not None else tuple(features_in(table, name))
        records = self._records(table.metadata, name, names)
        release = self._released(self._asked(public=records), table, name, among, ledger, isinstance(X, Table))
        points = records.points(table.metadata, name, tuple(self._candidates))
        self._metadata = points.design.metadata  # with the public ranges, to which cells are clipped
        self._learn(release)
        hybrid = release.hybrid
        if hybrid is None or hybrid.points is None or hybrid.public_only is None:
            raise ValueError("The release holds no public points.")
        self.weighted_public_ = points.weighted(hybrid.points.kept, hybrid.points.weights)
        self.n_points_ = len(hybrid.points.kept)
        for attribute in (f"public_only_{name}" for name in LEARNED):
            if attribute in vars(self):
                delattr(self, attribute)
        for key, value in learned(hybrid.public_only).items():
            if key != "terms_":
                setattr(self, f"public_only_{key}", value)
        return self

    def _stated(self) -> dict[str, Any]:
        # Public records are opened with the metadata, and are no plain value.
        return {key: value for key, value in super()._stated().items() if key != "public"}

    def _records(self, metadata: Metadata, target: str, names: Sequence[str]) -> PublicRecords:
        """The public records, with the columns' names of the private ones."""
        given = self.public
        if isinstance(given, (tuple, list)):
            if len(given) != 2:
                raise InvalidParameterError(
                    f"Public records in arrays must be a pair (X, y), but public has {len(given)} parts. Give two."
                )
            return PublicRecords(self._joined(given[0], given[1], metadata, target, names), metadata)
        if isinstance(given, np.ndarray):
            raise InvalidParameterError(
                "Public records in arrays must be a pair (X, y), but public is one array. Give public=(X, y)."
            )
        if "feature_names_in_" in vars(self) and self.metadata is None:
            raise InvalidParameterError(
                "Without metadata columns go by their places, so public must be a pair (X, y). Give the pair, or "
                "metadata."
            )
        return PublicRecords(given, metadata)

    def _joined(self, X: Any, y: Any, metadata: Metadata, target: str, names: Sequence[str]) -> pa.Table:
        """Features and target as one table."""
        columns: dict[str, Any] = {}
        if nw.dependencies.is_into_dataframe(X):
            frame = nw.from_native(X, eager_only=True)
            known = [str(name) for name in getattr(self, "feature_names_in_", names)]
            missing = [name for name in known if name not in frame.columns]
            if missing:
                raise DataMismatchError(
                    f"The public X must have the columns of the private one, but lacks {missing[0][:60]!r}. Add it."
                )
            columns = {name: frame[own] for name, own in zip(names, known, strict=True)}
        else:
            matrix = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else np.asarray(X)
            if matrix.ndim != 2 or matrix.shape[1] != len(names):
                raise DataMismatchError(
                    f"The public X must have the {len(names)} columns of the private one, but its shape is "
                    f"{matrix.shape}. Give the same columns in the same order."
                )
            columns = {name: matrix[:, place] for place, name in enumerate(names)}
        is_series = nw.dependencies.is_into_series(y)
        response = nw.from_native(y, series_only=True) if is_series else column_or_1d(np.asarray(y))
        check_consistent_length(X, response)
        columns[target] = response
        return pa.table({name: column_of(part, metadata.is_number(name)) for name, part in columns.items()})


class HybridEstimator(_Hybrid):
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
        Half the price of a squared coefficient per standard deviation of its column, beside the mean contrast; of a
        contrast of your own, of a squared parameter.
    fit_intercept : bool, default=True
        Whether a regression has a constant.
    measure : {"auto", "counts", "margins"}, default="auto"
        What is bought: how many private rows are nearest to each of some public points; or noisy sums of the target
        times each column, to which all public records are re-weighted. "auto" takes margins for regressions on many
        columns.
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
        What is public about X and y, when they are arrays or frames. None declares every column and the target to lie
        in [-1, 1], clips them there, and takes their number of rows as public.

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
    Claims: ``methods/hybrid.privacy.md``, ``methods/measures.privacy.md``. The public records are released as they are
    and are not protected. Private cells beyond the public range are clipped to it, and rows are told apart only as far
    as public records lie near them. ``score`` is R squared.

    References
    ----------
    Wang et al. 2018, Definition 6 and Algorithm 1; privacy specification 5.1.

    Examples
    --------
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


class PublicSubset(_Hybrid):
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
        Of the estimates on public records alone and on a histogram: half the price of a squared coefficient per
        standard deviation of its column, beside the mean contrast.
    fit_intercept : bool, default=True
        Whether a regression has a constant.
    measure : {"auto", "counts", "margins"}, default="auto"
        What is bought: see `HybridEstimator`.
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
        What is public about X and y, when they are arrays or frames. None declares every column and the target to lie
        in [-1, 1], clips them there, and takes their number of rows as public.

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
    Claims: ``methods/public_subset.privacy.md``, ``methods/hybrid.privacy.md``, ``methods/measures.privacy.md``; with a
    histogram ``methods/histogram.privacy.md`` as well. Where no estimate is clearly better the choice leans to all
    points without a ridge, by a public amount. ``score`` is R squared.

    References
    ----------
    Wang et al. 2018, Algorithm 2; McKenna and Sheldon 2020 (permute and flip); privacy specification 5.2 and 5.3.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.tile([[-1.0], [-0.5], [0.5], [1.0]], (25000, 1))
    >>> public = (np.tile(X[:4], (2, 1)), np.append(0.5 * X[:4, 0], -0.5 * X[:4, 0]))
    >>> found = PublicSubset(public, epsilon=1.0).fit(X, 0.5 * X[:, 0])
    >>> found.coef_.round(1), found.public_only_coef_.round(1) + 0.0
    (array([0.5]), array([0.]))
    >>> sorted({one.n_points for one in found.candidates_})
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

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        target: str | None = None,
        candidates: Sequence[str] | None = None,
        ledger: Ledger | str | Path | None = None,
    ) -> Self:
        """Weight the public records by the private rows, estimate in several ways, choose one; spends epsilon.

        Parameters
        ----------
        X : Table, DataFrame or array_like, shape (n_samples, n_features)
            The private table opened with `discreet.open_table`, or features alone.
        y : array_like, shape (n_samples,), optional
            The private target, when X holds features alone.
        target : str, optional
            The target's column: of the table, or in the metadata where y has no name.
        candidates : sequence of str, optional
            Columns beside the target, for a table; default all declared ones.
        ledger : Ledger, str or Path, optional
            Where the charge is recorded, before the private rows are read. The metadata must then declare the public
            file. Without one nothing is charged, and the release says so.

        Returns
        -------
        self
            With `release_`, `candidates_` and what they hold. Raises what `HybridEstimator.fit` does.
        """
        super().fit(X, y, target=target, candidates=candidates, ledger=ledger)
        self.candidates_ = () if self.release_.hybrid is None else self.release_.hybrid.candidates
        return self
