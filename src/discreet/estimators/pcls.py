"""PCLS with scikit-learn's face."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.estimators.arrays import table_of
from discreet.ledger import Ledger
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.workflow.request import answer


class PCLS(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Select the columns of a linear regression by penalized constrained least squares, privately.

    Parameters
    ----------
    epsilon : float, default=1.0
        In nats, in (0, 1000].
    delta : float, default=0.0
        Accepted for the sake of other methods: this one spends none.
    mechanism : {"permute_and_flip", "exponential", "laplace"}, default="permute_and_flip"
        Law of the noise.
    l1_radius : float, default=None
        R: bound on the sum of the absolute coefficients, in units of the target per half range of a column, the
        intercept included. Public. None is twice `y_bound`.
    model_penalty : float or "auto", default="auto"
        phi: added for each selected column, in squared units of the target. "auto" is
        log(2 d) times the scale of the noise, d the number of free columns.
    max_size : int, default=None
        The most columns that may be selected besides the forced ones.
    forced : sequence of str, default=()
        Candidates in every model.
    groups : sequence of sequences of str, default=()
        Candidates that enter and leave together. A category is a group by itself.
    models : sequence of sequences of str, default=None
        The candidate models themselves, instead of all subsets.
    y_bound : float, default=None
        r: the target is clipped to within this of its center, in its unit. Public. None is the furthest of its bounds.
    y_center : float, default=None
        The target's zero, in its unit. Public. None is the middle of its bounds.
    fit_intercept : bool, default=True
        Whether every model has a constant, which shares the l1 bound.
    as_published : bool, default=False
        Run Algorithm 1 as printed, its errors included, for study: gives no guarantee.
    random_state : int, default=None
        A seed for simulations alone: the release then carries no guarantee, and no ledger takes it. None draws from
        the system's entropy.
    metadata : Metadata, default=None
        What is public about X and y, when they are arrays or frames. None declares every column and the target to lie
        in [-1, 1], clips them there, and takes their number of rows as public.

    Attributes
    ----------
    release_ : Release
        What was released: selection, guarantee, noise, provenance.
    support_ : ndarray of bool, shape (n_features,)
        Which columns were selected.
    feature_names_in_ : ndarray of str
        Names of the candidates, when they have names.
    n_features_in_ : int
        Number of candidates.

    Notes
    -----
    Claim: ``methods/pcls.privacy.md``.

    References
    ----------
    Lei, Charest, Slavkovic, Smith, Fienberg 2018, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.tile([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]], (5000, 1))
    >>> PCLS(epsilon=1.0, l1_radius=1.0, max_size=1).fit(X, 0.5 * X[:, 0]).get_support()
    array([ True, False])
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float = 0.0,
        mechanism: str = "permute_and_flip",
        l1_radius: float | None = None,
        model_penalty: float | str = "auto",
        max_size: int | None = None,
        forced: Sequence[str] = (),
        groups: Sequence[Sequence[str]] = (),
        models: Sequence[Sequence[str]] | None = None,
        y_bound: float | None = None,
        y_center: float | None = None,
        fit_intercept: bool = True,
        as_published: bool = False,
        random_state: int | None = None,
        metadata: Metadata | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.l1_radius = l1_radius
        self.model_penalty = model_penalty
        self.max_size = max_size
        self.forced = forced
        self.groups = groups
        self.models = models
        self.y_bound = y_bound
        self.y_center = y_center
        self.fit_intercept = fit_intercept
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
        """Select columns; spends epsilon.

        Parameters
        ----------
        X : Table, DataFrame or array_like, shape (n_samples, n_features)
            A table opened with `discreet.open_table`, or features alone.
        y : array_like, shape (n_samples,), optional
            The target, when X holds features alone.
        target : str, optional
            The target's column: of the table, or in the metadata where y has no name.
        candidates : sequence of str, optional
            Columns of the table that may be selected; default all declared ones but the target.
        ledger : Ledger, str or Path, optional
            Where the charge is recorded, before the data are opened. Without one nothing is charged, and the release
            says so.

        Returns
        -------
        PCLS
            Itself, with `release_`.

        Raises
        ------
        InvalidParameterError
            When a parameter is out of range.
        BudgetError
            When the ledger refuses.
        """
        table, target, candidates = self._table(X, y, target, candidates)
        names = [name for name in self.get_params(deep=False) if name not in ("metadata", "random_state")]
        method = method_of("pcls", **{name: _plain(getattr(self, name)) for name in names})
        with nullcontext(ledger) if ledger is None or isinstance(ledger, Ledger) else Ledger(ledger) as book:
            release = answer(method, table, target, candidates, ledger=book, rng=self._source()).release
        among = list(release.request["candidates"])
        self.release_ = release
        self.support_ = np.isin(among, release.selected)
        if isinstance(X, Table):
            self.feature_names_in_ = np.array(among, dtype=object)
        self.n_features_in_ = len(among)
        return self

    def _table(
        self, X: Any, y: Any, target: str | None, candidates: Sequence[str] | None
    ) -> tuple[Table, str, Sequence[str] | None]:
        if isinstance(X, Table):
            if target is None or y is not None:
                raise InvalidParameterError("A table must come with target=NAME and without y. Name its target column.")
            return X, target, candidates
        if candidates is not None:
            raise InvalidParameterError("candidates must not be given beside X and y. Drop columns of X instead.")
        return table_of(self, X, y, target, self.metadata, observed_bound=self.as_published)

    def _source(self) -> Source | None:
        seed = self.random_state
        if seed is None:
            return None
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise InvalidParameterError(f"random_state must be None or an integer of at least 0, but it is {seed!r}.")
        return Source.seeded(int(seed))

    def _get_support_mask(self) -> Any:
        check_is_fitted(self, "support_")
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True  # a missing cell becomes the middle of its bounds
        tags.input_tags.string = True  # text that is no number is a missing cell
        return tags


def _plain(value: Any) -> Any:
    """Lists, arrays and numpy scalars of a parameter grid, as plain values."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple(_plain(item) for item in value)
    return value
