"""Coefficients of a fitted estimator, by the names that statsmodels gives them."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from discreet.release import Release
from discreet.release.views import Backend


class Coefficients:
    """Estimates, standard errors and intervals of the release of the last fit."""

    release_: Release

    @property
    def params(self) -> dict[str, float]:
        """Estimates by term, the intercept first."""
        return self._answered().params

    @property
    def bse(self) -> dict[str, float]:
        """Standard errors by term, of sampling and of the noise for privacy together."""
        return self._answered().bse

    def conf_int(self) -> dict[str, tuple[float, float]]:
        """Return intervals by term.

        Returns
        -------
        dict of str to tuple of float
            In the columns' own units; an unknown end is infinite.
        """
        return self._answered().conf_int()

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return the coefficients as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Its library; default the first that is installed.

        Returns
        -------
        DataFrame
            A row a term, as `Release.to_frame` has it.
        """
        return self._answered().to_frame(backend)

    def _answered(self) -> Release:
        check_is_fitted(self, "release_")
        return self.release_
