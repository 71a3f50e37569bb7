"""NoisyMoments with scikit-learn's face."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from sklearn.utils.validation import check_is_fitted

from discreet.estimators.subset_selector import SubsetSelector
from discreet.methods.moments.fission import parts_of
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.parameters.shared import LINEAR_COEF_BOUND
from discreet.parameters.subset_selection import MomentsParameters
from discreet.release import Release
from discreet.typing import Floats
from discreet.workflow.derive import fit_from, select_from


class NoisyMoments(SubsetSelector, MomentsParameters):
    """Release one noisy matrix of second moments; then any model, criterion or coefficient is free.

    Attributes
    ----------
    release_ : Release
        The noisy moments, the selection, the best models by size.
    called_noise_ : bool or None
        Whether chance alone gives what was selected; None where it is not known.
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

    def select(self, **parameters: Any) -> Release:
        """Return another selection, for free.

        Parameters
        ----------
        **parameters : Any
            ``model_penalty``, ``max_size``, ``forced``, ``groups``, ``max_false``.

        Returns
        -------
        Release
            Under the same guarantee.
        """
        check_is_fitted(self, "release_")
        return select_from(self.release_, **parameters)

    def coefficients(
        self,
        columns: Sequence[str] | None = None,
        confidence: float = 0.95,
        coef_bound: float = LINEAR_COEF_BOUND,
        selective_inference: Literal["fission", "none"] | None = None,
    ) -> Release:
        """Return the coefficients of any model, for free.

        Parameters
        ----------
        columns : sequence of str, optional
            Columns of the model; default those that were selected.
        confidence : float
            Level of the intervals.
        coef_bound : float
            Largest absolute coefficient of a scaled column that is thought possible; an interval that reaches it has
            no end there.
        selective_inference : {"fission", "none"}, optional
            Where no columns are named, one part of the moments selects anew and the other is fitted, so that intervals
            hold after the selection (``fission``). ``none`` fits what was selected from all of the moments: of columns
            that do not matter such intervals of 95 % held in half of the cases.

        Returns
        -------
        Release
            With `fit`, under the same guarantee.
        """
        check_is_fitted(self, "release_")
        return fit_from(self.release_, columns, confidence, coef_bound, selective_inference)

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
        inference = self.release_.request["parameters"].get("selective_inference")
        answers = MomentAnswers(parts_of(self.release_.moments, inference)[0])
        return *answers.lasso_path(), answers.labels
