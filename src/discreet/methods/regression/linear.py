"""Coefficients of a linear regression from noisy moments (privacy specification 6.1)."""

from typing import Any, ClassVar

from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.noisy_moments import MomentsMethod
from discreet.parameters.regression import LinearParameters
from discreet.release import MomentsRecord


class LinearModel(LinearParameters, MomentsMethod):
    """Coefficients of a linear regression with intervals that hold the sampling and the privacy noise.

    References
    ----------
    Privacy specification 6.1; Wang 2018 (AdaSSP).
    """

    name: ClassVar[str] = "linear"

    @property
    def purpose(self) -> str:
        """What the budget inside the moments is split for."""
        return "coefficients"

    def check(self, candidates: tuple[str, ...]) -> None:
        """Accept any columns."""

    def outcome(self, record: MomentsRecord, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the columns and their coefficients."""
        return {"selected": names, "fit": MomentAnswers(record).fit(names, self.confidence, self.coef_bound)}
