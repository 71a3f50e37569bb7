"""How a release is read in Python: as numbers by name, as a frame, as a summary, as a card of a notebook."""

import importlib
import math
from importlib.util import find_spec
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import InvalidParameterError, NotInstalledError

if TYPE_CHECKING:
    from discreet.release.fits import FitRecord

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")


class ReleaseViews:
    """Coefficients and words of a release, as statistical software names them."""

    fit: "FitRecord | None"

    @property
    def params(self) -> dict[str, float]:
        """Estimates by term, the intercept first; `pandas.Series` takes them as they are."""
        return {term.name: term.estimate for term in self._fitted().coefficients}

    @property
    def bse(self) -> dict[str, float]:
        """Standard errors by term, of sampling and of the noise for privacy together; NaN where an end is not told.

        Half the interval's length over the normal quantile of its level: where noise is large the interval is longer,
        and not symmetric.
        """
        quantile = NormalDist().inv_cdf((1.0 + self._fitted().confidence) / 2.0)
        ends = self.conf_int()
        return {
            name: (high - low) / 2.0 / quantile if _is_told(low, high) else math.nan
            for name, (low, high) in ends.items()
        }

    def conf_int(self) -> dict[str, tuple[float, float]]:
        """Return intervals by term, in the columns' own units; an end that cannot be told is infinite."""
        return {term.name: term.interval for term in self._fitted().coefficients}

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return the coefficients as a data frame of `backend`, by default the first library that is installed.

        A row a term: `term`, `estimate`, `std_error`, `low`, `high`, and `privacy_share`, the share of the variance
        that is noise for privacy.
        """
        installed = [name for name in BACKENDS if find_spec(name) is not None]
        if backend is not None and backend not in BACKENDS:
            raise InvalidParameterError(f"backend must be one of {', '.join(BACKENDS)}, but backend={backend!r}.")
        if backend is not None and backend not in installed:
            raise NotInstalledError(f"A frame of {backend}", backend)
        narwhals = importlib.import_module("narwhals")
        terms, errors = self._fitted().coefficients, self.bse
        columns = {
            "term": [term.name for term in terms],
            "estimate": [term.estimate for term in terms],
            "std_error": list(errors.values()),
            "low": [term.interval[0] for term in terms],
            "high": [term.interval[1] for term in terms],
            "privacy_share": [_share(term.privacy_variance, term.sampling_variance) for term in terms],
        }
        return narwhals.from_dict(columns, backend=backend or installed[0]).to_native()

    def summary(self) -> str:
        """Return the answer and the guarantee as a text of 80 columns, for `print`."""
        return str(_views().summary(self))

    def __repr__(self) -> str:
        return str(_views().line(self))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return str(_views().html(self))

    def _fitted(self) -> "FitRecord":
        if self.fit is None:
            raise InvalidParameterError("This release must hold a regression, but it has no coefficients. Fit one.")
        return self.fit


def _is_told(low: float, high: float) -> bool:
    return math.isfinite(low) and math.isfinite(high)


def _share(privacy: float, sampling: float) -> float:
    return privacy / (privacy + sampling) if privacy + sampling > 0.0 else math.nan


def _views() -> Any:
    """The words of a report, which stands above the releases: loaded by name when somebody looks at one."""
    return importlib.import_module("discreet.report.notebook")
