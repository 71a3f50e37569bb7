"""Coefficients of a linear regression from noisy moments (privacy specification 6.1)."""

from collections.abc import Sequence
from typing import Any, ClassVar

from typing_extensions import override

from discreet.data.adjusted_design import Adjustment, LinearDesign
from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
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

    @property
    def adjustment(self) -> Adjustment:
        """The columns that take part without a coefficient."""
        return Adjustment(self.offset, None, self.weights)

    @override
    def _design(self, metadata: Metadata, target: str, columns: Sequence[str] | None) -> Design:
        adjustment = self.adjustment
        if not adjustment.columns:
            return super()._design(metadata, target, columns)
        names = adjustment.candidates(metadata, target, columns) or ()
        if self.y_bound == "private" or any(metadata.buys_bounds(name) for name in (target, *names)):
            raise InvalidParameterError(
                f"A regression with {next(iter(adjustment.roles))} must have public bounds, but some are to be "
                "estimated. Declare the bounds of its columns, and give y_bound a number."
            )
        least = int(columns is None)
        return LinearDesign.plan_adjusted(metadata, target, columns, self.y_center, self.y_bound, least, adjustment)

    def check(self, candidates: tuple[str, ...]) -> None:
        """Accept any columns."""

    def outcome(self, record: MomentsRecord, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the columns and their coefficients."""
        return {"selected": names, "fit": MomentAnswers(record).fit(names, self.confidence, self.coef_bound)}
