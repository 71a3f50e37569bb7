"""Noisy moments of all candidates, and the best model by them."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, cast

from pydantic import Field

from discreet.accounting.guarantee import exact_delta, exact_epsilon
from discreet.data.design import Design
from discreet.data.metadata import Metadata, NumericColumn, half_width
from discreet.errors import InvalidParameterError
from discreet.kernels.sufficient_statistics.selection import default_max_false
from discreet.mechanisms.rng import Source
from discreet.methods.base.known_columns import KnownColumns
from discreet.methods.base.method import Preparation
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.moments.fission import FISSION, parts_of, with_parts
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.moments_method import UNBENT_SHARE, MomentsMethod
from discreet.methods.moments.noisy_moments import PreparedMoments
from discreet.methods.moments.noisy_sums import NoisySums
from discreet.methods.moments.row_choice import predicted_error
from discreet.methods.subset_selection.model_space import ModelSpace
from discreet.methods.subset_selection.target_scale import target_shares
from discreet.methods.subset_selection.tuning_plan import Tuning
from discreet.parameters.public_moments import PublicMoments
from discreet.parameters.subset_selection import MomentsParameters
from discreet.release import MomentsRecord


class NoisyMoments(MomentsParameters, MomentsMethod):
    """Noisy moments of all candidates, and the best model by them.

    References
    ----------
    Privacy specification 6.1.
    """

    name: ClassVar[str] = "moments"

    fit: Annotated[bool, Field(description="Whether the release has the coefficients of the selected model, too.")] = (
        False
    )

    @property
    def purpose(self) -> str:
        """What the budget inside the moments is split for."""
        return self.question

    @property
    def tells_slopes(self) -> bool:
        """Whether coefficients are told, which a clip must not bend."""
        return self.fit or super().tells_slopes

    @property
    def has_unit_rows(self) -> bool:
        """Whether rows are divided by the length of their x: far less noise, and weights in the regression."""
        return self.question == "selection" and self.fit_intercept

    def shares_of_target(self, metadata: Metadata, target: str) -> dict[str, Fraction]:
        """Return the share of epsilon of each private estimate of the target; none but what is asked for where
        coefficients are told, or clipped rows are counted.
        """
        bound = "private" if self.y_bound is None and self.y_quantile is not None else self.y_bound
        by_name = {"y_center": self.y_center, "y_bound": bound}
        if self.tells_slopes or self.count_clipped:
            by_name = {name: value for name, value in by_name.items() if value is not None}
        shares = target_shares(by_name, metadata, target, metadata.n_rows or self.n0, self.epsilon)
        return shares | ({"y_bound": UNBENT_SHARE} if "y_bound" in shares and self._is_unbent else {})

    def prepared(self, sums: NoisySums, tuning: Tuning, budget: NoiseBudget) -> PreparedMoments:
        """Return the request with its noise fixed, in one pass; say whether public products are used."""
        prepared = PreparedMoments(self, sums, tuning, budget)
        if self.public_moments is not None:
            prepared.parameters["products"] = "bought" if sums.known is None else "public"
        return prepared

    def sums(self, metadata: Metadata, target: str, columns: Sequence[str] | None) -> NoisySums:
        """Return the sums to be estimated, with the widest bounds that can come out."""
        if (self.design_moments or self.public_moments) and self.row_norm is not None:
            raise InvalidParameterError(
                "design_moments and public_moments are of all rows as they are, but row_norm weights them. Leave it or "
                "them out."
            )
        if self.public_moments is not None:
            return self._known_sums(metadata, target, columns)
        for name in self.design_moments or {}:
            if metadata.buys_bounds(name):
                raise InvalidParameterError(
                    f"design_moments need columns with public bounds, but those of {name[:60]!r} are private."
                )
        if self.design_moments and self.row_norm is None and self.has_unit_rows and not metadata.buys_bounds(target):
            return self._declared_sums(metadata, target, columns)
        return super().sums(metadata, target, columns)

    def _known_sums(self, metadata: Metadata, target: str, columns: Sequence[str] | None) -> NoisySums:
        """Return the sums of plain rows without X'X, or those of which all is bought."""
        if self.design_moments or self.uncorrelated:
            raise InvalidParameterError(
                "public_moments say what design_moments and uncorrelated would. Leave those out."
            )
        design = self._design(metadata, target, columns)
        private = [name for name in (target, *design.candidates) if metadata.buys_bounds(name)]
        if private:
            raise InvalidParameterError(
                f"public_moments need columns and a target with public bounds, but those of {private[0][:60]!r} are "
                "private."
            )
        known = KnownColumns.of(cast("PublicMoments", self.public_moments), design)
        plain = NoisySums(design, self.fit_intercept, {}, False, known)
        return self._sharper(metadata, target, columns, plain)

    def _declared_sums(self, metadata: Metadata, target: str, columns: Sequence[str] | None) -> NoisySums:
        """Return the sums of plain rows, with what is declared, or those of unit rows, of which all is bought."""
        design = self._design(metadata, target, columns)
        plain = NoisySums(design, self.fit_intercept, self.declared_moments(design), self.uncorrelated)
        return self._sharper(metadata, target, columns, plain)

    def _sharper(self, metadata: Metadata, target: str, columns: Sequence[str] | None, plain: NoisySums) -> NoisySums:
        """Return these sums, or those of which all is bought: what is told sharper, by public facts."""
        bought = replace(super().sums(metadata, target, columns), declared={}, uncorrelated=False)
        epsilon, delta = exact_epsilon(self.epsilon), exact_delta(self.delta)
        is_bought = "y_bound" in self.shares_of_target(metadata, target)

        def error(sums: NoisySums) -> float:
            budget = NoiseBudget.of(epsilon, delta, *self.size_of(sums))
            estimates = sums.estimates(self.shares(metadata.neighboring, sums))
            n_rows = float(self._n_guess(metadata))
            return predicted_error(sums, estimates, budget, n_rows, plain, is_bought)

        return min((plain, bought), key=error)

    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> Preparation:
        """Check the request and calibrate its noise, from public facts alone; say whether moments are divided."""
        if metadata.rows_per_unit > 1 and self.selective_inference == FISSION:
            raise InvalidParameterError(
                "selective_inference=fission must know how much a selection owes to chance, but rows of one unit may "
                f"be alike, and rows_per_unit={metadata.rows_per_unit}. Leave it out, or run a plan with split."
            )
        if self.public_moments is not None and self.selective_inference == FISSION:
            raise InvalidParameterError(
                "selective_inference=fission divides what the rows tell, but public_moments are one for both parts. "
                "Leave it out, or run a plan with split."
            )
        unset = self.selective_inference is None and self.fit
        is_one = metadata.rows_per_unit > 1 or self.public_moments is not None
        inference = ("none" if is_one else FISSION) if unset else self.selective_inference
        method = self.model_copy(update={"selective_inference": inference})
        return super(NoisyMoments, method).prepare(metadata, target, candidates)

    def divided(self, record: MomentsRecord, rng: Source) -> MomentsRecord:
        """Return the moments with the part that columns are selected by, here or later, where it can be known."""
        if self.selective_inference == "none" or record.rows_per_unit > 1 or record.known is not None:
            return record
        return with_parts(record, rng)

    def false_chance(self, xty_variance: float, metadata: Metadata) -> float | None:
        """Return what the penalty auto keeps to, where public facts tell it."""
        if self.model_penalty != "auto" or self.max_false is not None:
            return self.max_false
        # Parts of the moments have more noise, weighted rows another number.
        if metadata.n_rows is None or self.selective_inference == FISSION or self.row_norm is not None:
            return None
        return default_max_false(xty_variance, metadata.n_rows)

    def check(self, candidates: tuple[str, ...]) -> None:
        """Refuse models that do not fit the candidates."""
        ModelSpace.plan(candidates, self.forced, self.groups, self.max_size, None)

    def outcome(self, record: MomentsRecord, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the selection, the best models by size, and the coefficients where `fit` is set."""
        del names
        select_by, estimate_from = parts_of(record, self.selective_inference)
        options = (self.model_penalty, self.max_size, self.forced, self.groups, self.max_false)
        selected, by_size = MomentAnswers(select_by).select(*options)
        fit = MomentAnswers(estimate_from).fit(selected, self.confidence) if self.fit else None
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
