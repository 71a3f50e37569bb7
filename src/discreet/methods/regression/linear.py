"""Coefficients of a linear regression from noisy moments (privacy specification 6.1)."""

from typing import Any, ClassVar

from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.noisy_moments import MomentsMethod
from discreet.release import MomentsRecord


class LinearModel(MomentsMethod):
    """Coefficients of a linear regression with intervals that hold the sampling and the privacy noise.

    Parameters
    ----------
    epsilon : float
        In nats, in [1e-9, 1000].
    delta : float
        With a positive one the noise is Gaussian and much smaller; 0 is pure privacy, by Laplace noise.
    y_bound : float, "private" or None
        The target is clipped to within this of its center, in its unit. "private" estimates its .95 quantile. Default
        the furthest of its bounds.
    y_quantile : float, optional
        Which quantile is estimated.
    y_center : float, optional
        The target's zero, in its unit. Public. Default the middle of its bounds.
    row_norm : float, optional
        Rows whose scaled columns have a larger l2 norm are shrunk to it.
    fit_intercept : bool
        Whether the model has a constant.
    confidence : float
        Level of the intervals.

    References
    ----------
    Privacy specification 6.1; Wang 2018 (AdaSSP).
    """

    name: ClassVar[str] = "linear"

    @property
    def question(self) -> str:
        """What the budget inside the moments is split for."""
        return "coefficients"

    def check(self, candidates: tuple[str, ...]) -> None:
        """Accept any columns."""

    def outcome(self, record: MomentsRecord, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the columns and their coefficients."""
        return {"selected": names, "fit": MomentAnswers(record).fit(names, self.confidence)}
