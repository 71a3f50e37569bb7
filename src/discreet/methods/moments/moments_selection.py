"""Noisy moments of all candidates, and the best model by them."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from discreet.data.design import Design
from discreet.data.metadata import Metadata, NumericColumn, half_width
from discreet.errors import InvalidParameterError
from discreet.methods.base.ranges import RANGES
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.noisy_moments import MomentsMethod
from discreet.methods.moments.noisy_sums import NoisySums
from discreet.methods.subset_selection.model_space import ModelSpace
from discreet.release import MomentsRecord


class NoisyMoments(MomentsMethod):
    """Noisy moments of all candidates, and the best model by them.

    Parameters
    ----------
    epsilon : float
        In nats, in [1e-9, 1000].
    delta : float
        With a positive one the noise is Gaussian and much smaller; 0 is pure privacy, by Laplace noise.
    y_bound : float, "private" or None
        The target is clipped to within this of its center, in its unit. "private" estimates the quantile that serves
        the question best. Default the furthest of its bounds.
    y_quantile : float, optional
        Which quantile is estimated.
    y_center : float, optional
        The target's zero, in its unit. Public. Default the middle of its bounds.
    row_norm : float, optional
        Rows whose scaled columns have a larger l2 norm are shrunk to it.
    fit_intercept : bool
        Whether the constant is a column.
    confidence : float
        Level of the intervals of `fit`.
    question : {"selection", "coefficients"}
        What the budget inside the moments is split for.
    model_penalty : {"auto", "aic", "bic"} or float
        Penalty of a column in units of chi-squared.
    max_size : int, optional
        The most columns that may be selected besides the forced ones.
    forced : tuple of str
        Candidates in every model.
    groups : tuple of tuples of str
        Candidates that enter and leave together.
    design_moments : dict of str to dict, optional
        ``mean`` and ``sd`` of candidates whose distribution is public, in their own units: what is declared
        costs nothing.
    uncorrelated : bool
        Whether those candidates are known to be uncorrelated.
    n0 : int, optional
        Public guess of the number of rows where it is private: a private clip of the target depends on it.
    fit : bool
        Whether the release gives the coefficients of the selected model, too.

    References
    ----------
    Privacy specification 6.1.
    """

    name: ClassVar[str] = "moments"

    purpose: Literal["selection", "coefficients"] = Field(default="selection", alias="question")
    model_penalty: Annotated[float, RANGES["model_penalty"]] | Literal["auto", "aic", "bic"] = "auto"
    max_size: int | None = Field(default=None, ge=0)
    forced: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    design_moments: dict[str, dict[Literal["mean", "sd"], float]] | None = None
    uncorrelated: bool = False
    fit: bool = False

    @property
    def question(self) -> str:
        """What the budget inside the moments is split for."""
        return self.purpose

    @property
    def has_unit_rows(self) -> bool:
        """Whether rows are divided by the length of their x: far less noise, and weights in the regression."""
        return self.purpose == "selection" and self.fit_intercept and not self.design_moments

    def sums(self, metadata: Metadata, target: str, columns: Sequence[str] | None) -> NoisySums:
        """Return the sums to be estimated, with the widest bounds that can come out."""
        for name in self.design_moments or {}:
            if metadata.buys_bounds(name):
                raise InvalidParameterError(
                    f"design_moments need columns with public bounds, but those of {name[:60]!r} are private."
                )
        return super().sums(metadata, target, columns)

    def check(self, candidates: tuple[str, ...]) -> None:
        """Refuse models that do not fit the candidates."""
        ModelSpace.plan(candidates, self.forced, self.groups, self.max_size, None)

    def outcome(self, record: MomentsRecord, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the selection, the best models by size, and the coefficients where `fit` is set."""
        del names
        answers = MomentAnswers(record)
        selected, by_size = answers.select(self.model_penalty, self.max_size, self.forced, self.groups)
        fit = answers.fit(selected, self.confidence) if self.fit else None
        return {"selected": selected, "by_size": by_size, "fit": fit}

    def declared_moments(self, design: Design) -> dict[str, tuple[float, float]]:
        """Return the declared mean and variance of each candidate that has them, on the scaled columns."""
        declared = {}
        for name, stated in (self.design_moments or {}).items():
            column = design.metadata.column(name)
            if name not in design.candidates or not isinstance(column, NumericColumn) or set(stated) != {"mean", "sd"}:
                raise InvalidParameterError(
                    f"design_moments must give mean and sd of numeric candidates, but not so for {name[:60]!r}."
                )
            middle, half = half_width(column)
            if not 0.0 < stated["sd"] <= half:
                raise InvalidParameterError(
                    f"design_moments must have an sd of more than 0 and at most half the range, {half:.12g}, but that "
                    f"of {name[:60]!r} is {stated['sd']:.12g}. Give what is possible within the bounds."
                )
            mean, variance = (stated["mean"] - middle) / half, (stated["sd"] / half) ** 2
            if not (abs(mean) <= 1.0 and 0.0 < variance <= 1.0 - mean**2):
                raise InvalidParameterError(
                    f"design_moments must be possible within the column's bounds, but those of {name[:60]!r} are not."
                )
            declared[name] = (mean, variance)
        return declared
