"""What the selectors of columns share with scikit-learn's face."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from discreet.estimators.arrays import refuse_table
from discreet.estimators.face import PrivateEstimator
from discreet.ledger import Ledger
from discreet.release import Release


class SubsetSelector(SelectorMixin, PrivateEstimator):  # type: ignore[misc]
    """A selector of columns: its subclasses name a method and store its parameters."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        target: str | None = None,
        candidates: Sequence[str] | None = None,
        from_release: Release | str | Path | None = None,
        ledger: Ledger | str | Path | None = None,
    ) -> Self:
        """Select columns; spends epsilon.

        Parameters
        ----------
        X : Table, DataFrame or array_like, shape (n_samples, n_features)
            A table opened with `discreet.open_table`; or features alone, of which nothing is promised. Screenings
            take a sparse matrix, too.
        y : array_like, shape (n_samples,), optional
            The target, when X holds features alone.
        target : str, optional
            The target's column: of the table, or in the metadata where y has no name.
        candidates : sequence of str, optional
            Columns of the table that may be selected; default all declared ones but the target, of a screening the
            numeric ones.
        from_release : Release, str or Path, optional
            An earlier private release, or its file: target and candidates are those that it selected.
        ledger : Ledger, str or Path, optional
            Where the charge is recorded, before the data are opened; for a table alone. Without one nothing is
            charged, and the release says so.

        Returns
        -------
        SubsetSelector
            Itself, with `release_`.

        Raises
        ------
        InvalidParameterError
            When a parameter is out of range.
        PolicyError
            When `from_release` gives no guarantee, or a ledger is to be charged for arrays or for a score of one's own.
        BudgetError
            When the ledger refuses.
        """
        is_published = getattr(self, "as_published", False)
        release = self._fit_release(X, y, target, candidates, ledger, from_release, observed_bound=is_published)
        self.support_ = np.isin(self._candidates, release.selected)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Select columns of arrays and return them; for arrays alone, so without a guarantee.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n_samples, n_features)
            Features.
        y : array_like, shape (n_samples,)
            The target.
        **fit_params : Any
            As `fit` takes them.

        Returns
        -------
        DataFrame or ndarray, shape (n_samples, n_selected)
            The selected columns.

        Raises
        ------
        InvalidParameterError
            When X is a table, as in the middle of a pipeline; nothing is charged then.
        """
        refuse_table(X)
        return super().fit_transform(X, y, **fit_params)

    def transform(self, X: Any) -> Any:
        """Return the selected columns of new rows.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n_samples, n_features)
            Features, as in the fit.

        Returns
        -------
        DataFrame or ndarray, shape (n_samples, n_selected)
            As they are.
        """
        refuse_table(X)
        return super().transform(X)

    def _get_support_mask(self) -> Any:
        check_is_fitted(self, "support_")
        return self.support_
