"""NoisyMoments with scikit-learn's face."""

from collections.abc import Sequence
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from discreet.data.metadata import Metadata
from discreet.estimators.subset_selector import SubsetSelector
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.release import Release
from discreet.typing import Floats
from discreet.workflow.derive import fit_from, select_from


class NoisyMoments(SubsetSelector):
    """Release one noisy matrix of second moments; then any model, criterion or coefficient is free.

    Parameters
    ----------
    epsilon : float, default=1.0
        In nats, in (0, 1000].
    delta : float, default=0.0
        With a positive one, such as 1e-6, the noise is Gaussian and much smaller; 0 is pure privacy.
    question : {"selection", "coefficients"}, default="selection"
        What the budget inside is split for.
    model_penalty : {"auto", "aic", "bic"} or float, default="auto"
        Penalty of a column in units of chi-squared; "auto" lets a column that does not matter enter in 2% of releases.
    max_size : int, default=None
        The most columns that may be selected besides the forced ones.
    forced : sequence of str, default=()
        Candidates in every model.
    groups : sequence of sequences of str, default=()
        Candidates that enter and leave together. A category is a group by itself.
    y_bound : float or "private", default=None
        The target is clipped to within this of its center. "private" estimates the quantile that serves the question
        best. None is the furthest of its bounds.
    y_quantile : float, default=None
        Which quantile is estimated.
    y_center : float, default=None
        The target's zero, in its unit. Public. None is the middle of its bounds.
    row_norm : float, default=None
        Rows whose scaled columns have a larger l2 norm are shrunk to it.
    design_moments : dict of str to dict, default=None
        ``mean`` and ``sd`` of columns whose distribution is public: what is declared costs nothing.
    uncorrelated : bool, default=False
        Whether those columns are known to be uncorrelated.
    fit_intercept : bool, default=True
        Whether models have a constant.
    random_state : int, default=None
        A seed for simulations alone: the release then carries no guarantee.
    metadata : Metadata, default=None
        What is public about X and y, when they are arrays or frames, of which nothing is promised. None takes every
        column and the target to lie in [-1, 1]. A table has its own.

    Attributes
    ----------
    release_ : Release
        The noisy moments, the selection, the best models by size.
    support_ : ndarray of bool, shape (n_features,)
        Which columns were selected.

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
    >>> moments = NoisyMoments(epsilon=1.0, delta=1e-6).fit(X, 0.5 * X[:, 0])
    >>> [round(term.estimate, 1) for term in moments.coefficients(["x0"]).fit.coefficients][1:]
    [0.5]
    """

    _method: ClassVar[str] = "moments"

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float = 0.0,
        question: str = "selection",
        model_penalty: float | str = "auto",
        max_size: int | None = None,
        forced: Sequence[str] = (),
        groups: Sequence[Sequence[str]] = (),
        y_bound: float | str | None = None,
        y_quantile: float | None = None,
        y_center: float | None = None,
        row_norm: float | None = None,
        design_moments: dict[str, dict[str, float]] | None = None,
        uncorrelated: bool = False,
        fit_intercept: bool = True,
        random_state: int | None = None,
        metadata: Metadata | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.question = question
        self.model_penalty = model_penalty
        self.max_size = max_size
        self.forced = forced
        self.groups = groups
        self.y_bound = y_bound
        self.y_quantile = y_quantile
        self.y_center = y_center
        self.row_norm = row_norm
        self.design_moments = design_moments
        self.uncorrelated = uncorrelated
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.metadata = metadata

    def select(self, **parameters: Any) -> Release:
        """Return another selection, for free.

        Parameters
        ----------
        **parameters : Any
            ``model_penalty``, ``max_size``, ``forced``, ``groups``.

        Returns
        -------
        Release
            Under the same guarantee.
        """
        check_is_fitted(self, "release_")
        return select_from(self.release_, **parameters)

    def coefficients(self, columns: Sequence[str] | None = None, confidence: float = 0.95) -> Release:
        """Return the coefficients of any model, for free.

        Parameters
        ----------
        columns : sequence of str, optional
            Columns of the model; default those that were selected.
        confidence : float
            Level of the intervals.

        Returns
        -------
        Release
            With `fit`, under the same guarantee.
        """
        check_is_fitted(self, "release_")
        return fit_from(self.release_, columns, confidence)

    def lasso_path(self) -> tuple[Floats, Floats, tuple[str, ...]]:
        """Return the lasso's path on the scaled columns, for free.

        Returns
        -------
        penalties : ndarray of float, shape (n_knots,)
            Decreasing.
        coefficients : ndarray of float, shape (n_knots, p)
            In units of y's bound per half range of a column; straight between knots.
        labels : tuple of str
            Of the p columns.
        """
        check_is_fitted(self, "release_")
        if self.release_.moments is None:
            raise ValueError("The release holds no moments.")
        answers = MomentAnswers(self.release_.moments)
        return *answers.lasso_path(), answers.labels
