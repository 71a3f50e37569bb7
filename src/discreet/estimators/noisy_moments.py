"""NoisyMoments with scikit-learn's face."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from discreet.data.engine import Table
from discreet.errors import InvalidParameterError
from discreet.estimators.subset_selector import SubsetSelector
from discreet.ledger import Ledger
from discreet.methods.moments import fission
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.moments_selection import NoisyMoments as NoisyMomentsMethod
from discreet.notebook import Drawing
from discreet.parameters.shared import LINEAR_COEF_BOUND
from discreet.parameters.subset_selection import MomentsParameters
from discreet.release import Release
from discreet.report.model_charts import lasso_chart
from discreet.typing import Floats
from discreet.workflow.derive import fit_from, select_from
from discreet.workflow.paid_parts import pay_as_you_go
from discreet.workflow.paid_terms import terms_for
from discreet.workflow.pooled_parts import parts_of


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

    @override
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        target: str | None = None,
        candidates: Sequence[str] | None = None,
        from_release: Release | str | Path | None = None,
        ledger: Ledger | str | Path | None = None,
        until: float | None = None,
        until_width: float | None = None,
        at_most: float | None = None,
        until_of: Literal["columns", "model"] = "columns",
        until_prior: Literal["sparse", "broad"] = "sparse",
        until_coefficient: str | None = None,
    ) -> Self:
        """Release noisy moments and select columns; spends epsilon, or with `until` what the answer needs.

        Parameters
        ----------
        X : Table, DataFrame or array_like, shape (n_samples, n_features)
            A table opened with `discreet.open_table`; or features alone, of which nothing is promised.
        y : array_like, shape (n_samples,), optional
            The target, when X holds features alone.
        target : str, optional
            The target's column: of the table, or in the metadata where y has no name.
        candidates : sequence of str, optional
            Columns of the table that may be selected; default all declared ones but the target.
        from_release : Release, str or Path, optional
            An earlier private release, or its file: target and candidates are those that it selected. With `until`
            moments to go on from: their parts count below the ceiling.
        ledger : Ledger, str or Path, optional
            Where each charge is recorded, before the data are opened; for a table alone. Without one nothing is
            charged, and the release says so.
        until : float, optional
            In (0, 1). Small parts are bought one by one, and pooled, until this chance is reached or the ceiling is.
            Whether to go on is told from what was released alone. The estimator's `epsilon` is not used.
        until_width : float, optional
            Positive, in a coefficient's own unit. In the place of `until`: parts are bought until the widest 95 %
            posterior interval of a coefficient is at most so wide.
        at_most : float, optional
            The ceiling on epsilon, of all parts together, with the estimator's delta: it is what is guaranteed.
        until_of : {"columns", "model"}
            Whose chance: of each column, that it matters or that it does not; or of the likeliest model.
        until_prior : {"sparse", "broad"}
            The prior of that chance or width: few, strong effects, or any number of effects.
        until_coefficient : str, optional
            The coefficient, or the column, whose interval alone is to be at most `until_width` wide.

        Returns
        -------
        NoisyMoments
            Itself, with `release_`; with `until` its `pooled` tells what was spent.

        Raises
        ------
        InvalidParameterError
            When a parameter is out of range, or parts are asked of arrays.
        PolicyError
            When `from_release` gives no guarantee, or a ledger is to be charged for arrays.
        BudgetError
            When the ledger refuses.

        Notes
        -----
        Claim of parts: ``workflow/paid_parts.privacy.md``.
        """
        if until is None and until_width is None and at_most is None:
            return super().fit(X, y, target=target, candidates=candidates, from_release=from_release, ledger=ledger)
        if (until is None) == (until_width is None) or at_most is None or target is None or not isinstance(X, Table):
            raise InvalidParameterError(
                "Parts must be bought of a table, below a ceiling: give a table that open_table opened, target, until "
                "or until_width, and at_most."
            )
        self._forget()
        method = cast(NoisyMomentsMethod, self._checked_method())
        with nullcontext(ledger) if ledger is None or isinstance(ledger, Ledger) else Ledger(ledger) as book:
            earlier = from_release if isinstance(from_release, Release | None) else Release.read(from_release)
            choices = {"of": until_of, "prior": until_prior, "width": until_width, "coefficient": until_coefficient}
            terms = terms_for(method, X.metadata.dataset, book, until, at_most, earlier, **choices)
            parts = () if earlier is None else parts_of(earlier, book)
            release = pay_as_you_go(
                method, terms, X, target, candidates, ledger=book, earlier=parts, rng=self._source()
            )
        self._store(release, X, target, candidates, has_names=True)
        self.support_ = np.isin(self._candidates, release.selected)
        return self

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
        answers = MomentAnswers(fission.parts_of(self.release_.moments, inference)[0])
        return *answers.lasso_path(), answers.labels

    def lasso_chart(self) -> Drawing:
        """Return the picture of the lasso's path, for free.

        Returns
        -------
        Drawing
            An SVG element as a text; a notebook shows it.
        """
        _, coefficients, labels = self.lasso_path()
        record = self.release_.moments
        # The intercept is in every model and has no owner.
        owners = {} if record is None else dict(zip(record.labels, record.owners, strict=True))
        places = [place for place, label in enumerate(labels) if owners[label] is not None]
        return lasso_chart(coefficients[:, places], [labels[place] for place in places])
