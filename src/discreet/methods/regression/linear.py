"""Coefficients of a linear regression from noisy moments, in one pass or two (privacy specification 6.1)."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from discreet.data.adjusted_design import Adjustment, LinearDesign
from discreet.data.design import Design
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.kernels.sufficient_statistics.score_lengths import OCTAVES, LengthLimit, length_limit
from discreet.kernels.sufficient_statistics.whitening import Seen, Whitening, squares_stretch, whitening
from discreet.mechanisms.rng import Source
from discreet.methods.base.noise_budget import NoiseBudget, PrivateEstimate, drawn_together
from discreet.methods.moments.level import SHARE_OF_MEDIAN, SHARE_OF_SUM, level_share, sum_of_target, with_level
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.moments_method import MomentsMethod
from discreet.methods.moments.noisy_moments import PreparedMoments, check_scale
from discreet.methods.moments.noisy_sums import NoisySums
from discreet.methods.moments.pooled_records import pooled
from discreet.methods.moments.whitened_sums import Directions, WhitenedSums, sums_of_directions
from discreet.methods.subset_selection.tuning import Tuned
from discreet.methods.subset_selection.tuning_plan import Tuning
from discreet.parameters.regression import LinearParameters
from discreet.release import MomentsRecord
from discreet.typing import Integers

PILOT = Fraction(3, 10)
"""Of the budget, for the moments that a second pass starts from."""

LOOK = Fraction(8, 100)
"""Of the budget, for how long the scores of a second pass are."""

ENOUGH = 110.0
"""Rows over the noise of the first pass, per root of the number of columns: with fewer a second pass is of no use."""


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

    def size_of(self, sums: NoisySums) -> tuple[int, int]:
        """Return the most numbers that are released in two passes, and a bound of their scales in whole steps."""
        n_numbers, smallest = sums.size
        return 6 * n_numbers, smallest

    def prepared(self, sums: NoisySums, tuning: Tuning, budget: NoiseBudget) -> PreparedMoments:
        """Return the request in two passes, where they are of use or nobody knows yet."""
        n_rows = None if sums.count_is_noisy else tuning.metadata.n_rows
        two = PreparedLinear(self, sums, tuning, budget)
        is_useful = bool(sums.columns) and (n_rows is None or two.is_enough(n_rows))
        if is_useful:
            return two
        return PreparedLeveled(self, sums, tuning, budget)


class PreparedLeveled(PreparedMoments):
    """A linear regression of few rows: the moments in one pass, and the target's level once more by itself."""

    def _of_first_pass(self, budget: NoiseBudget) -> NoiseBudget:
        """What the moments may spend; the level has the rest."""
        self.level_share = level_share(self.sums, budget, self.tuning.metadata.n_rows or 1)
        return budget.part(1 - self.level_share)

    def _with_later_passes(
        self, record: MomentsRecord, tuned: Tuned, sums: NoisySums, table: Table, rng: Source
    ) -> MomentsRecord:
        """Return the record with the level. Claim: ``noisy_moments.privacy.md``."""
        if not self.level_share:
            return record
        return with_level(record, sums, tuned.moments, table, self.whole, self.level_share, rng)

    def _check_scales(self) -> None:
        """Refuse noise of either pass that does not fit in 64 bits."""
        super()._check_scales()
        check_scale(sum_of_target(self.sums).scale(self.whole.part(SHARE_OF_SUM)))


class PreparedLinear(PreparedMoments):
    """A linear regression in two passes, its noise fixed.

    Parameters
    ----------
    method : LinearModel
        The parameters.
    sums : NoisySums
        Of the first pass.
    tuning : Tuning
        The private estimates before.
    budget : NoiseBudget
        Of both passes.
    """

    method: LinearModel

    def _of_first_pass(self, budget: NoiseBudget) -> NoiseBudget:
        """What the first pass may spend; the second has the rest, but for a look at how long its scores are."""
        self.second_budget = budget.part(1 - PILOT - LOOK)
        return budget.part(PILOT)

    def is_enough(self, n_rows: float) -> bool:
        """Tell whether so many rows make a second pass useful: what the first one says of them must be seen."""
        noise = math.sqrt(max(estimate.variance(self.budget) for estimate in self.estimates)) / self.estimates[0].step
        return n_rows >= ENOUGH * noise / math.sqrt(len(self.sums.columns))

    def _with_later_passes(
        self, record: MomentsRecord, tuned: Tuned, sums: NoisySums, table: Table, rng: Source
    ) -> MomentsRecord:
        """Return the record with a second pass: of whitened columns, or the same moments again and the level.

        Where the number of rows is private, the noisy one decides. Claim: ``noisy_moments.privacy.md``.
        """
        if self.is_enough(record.n_rows):
            return self._whitened(record, sums, table, rng)
        of_level = level_share(sums, self.whole, record.n_rows)
        rest = 1 - PILOT - of_level
        again = sums.draw(tuned.moments, self.estimates, self.whole.part(rest), rng)
        both = pooled((record, again))
        return with_level(both, sums, tuned.moments, table, self.whole, of_level, rng) if of_level else both

    def _whitened(self, record: MomentsRecord, sums: NoisySums, table: Table, rng: Source) -> MomentsRecord:
        """Return the record with a second pass, whose row map follows from the record alone."""
        answers = MomentAnswers(record)
        places = answers.places
        second = WhitenedSums(sums.design, tuple(sums.columns[j] for j in places), self.method.robust)
        estimates = second.estimates()
        units = [record.constant if record.owners[j] is None else 1.0 for j in places]
        row_map, seen = whitening(*answers.pilot(), units, self._sd(estimates, "diagonal of X'X"))
        of_columns = np.array([*second.columns, second.design.n_columns - 1])
        limit = self._limit(row_map, seen, of_columns, self._sd(estimates, "X'r"), table, rng)
        stretch = 1.0
        if second.robust:
            noise = self._sd(estimates, "diagonal of scores")
            stretch = squares_stretch(seen, limit.longest, self.tuning.metadata.rows_per_unit, noise)
        row_map = replace(row_map, longest=limit.longest, stretch=stretch)
        exact = second.exact(table, row_map)
        whitened = second.draw(exact, row_map, places, limit, estimates, self.second_budget, rng)
        return record.model_copy(update={"whitened": whitened})

    def _limit(
        self, row_map: Whitening, seen: Seen, places: Integers, noise: float, table: Table, rng: Source
    ) -> LengthLimit:
        """Return how long scores may be, by a look at those that are. Claim: ``noisy_moments.privacy.md``."""
        p = len(row_map.start)
        estimate, budget = sums_of_directions(self.tuning.metadata, p), self.whole.part(LOOK)
        work, start = Directions(row_map, places).rows, np.zeros((OCTAVES, p), dtype=np.int64)
        exact = table.map_reduce(self.sums.design, work, start) * GRID
        noisy = drawn_together([estimate], {estimate.name: exact.ravel().tolist()}, budget, rng)[estimate.name]
        sd = math.sqrt(estimate.variance(budget)) / estimate.step
        directions = np.array([float(value) / estimate.step for value in noisy]).reshape(OCTAVES, p)
        sampling = seen.error * math.sqrt(seen.n_rows)
        return length_limit(directions, sd, row_map.longest, seen.largest, sampling, noise)

    def _sd(self, estimates: tuple[PrivateEstimate, ...], name: str) -> float:
        estimate = next(entry for entry in estimates if entry.name == name)
        return math.sqrt(estimate.variance(self.second_budget)) / estimate.step

    def _check_scales(self) -> None:
        """Refuse noise of either pass that does not fit in 64 bits."""
        super()._check_scales()
        second = WhitenedSums(self.sums.design, self.sums.columns, self.method.robust).estimates()
        check_scale(sums_of_directions(self.tuning.metadata, len(self.sums.columns)).scale(self.whole.part(LOOK)))
        check_scale(max(estimate.scale(self.second_budget) for estimate in second))
        least = self.whole.part(1 - PILOT - SHARE_OF_MEDIAN)
        check_scale(max(estimate.scale(least) for estimate in self.estimates))
        check_scale(sum_of_target(self.sums).scale(self.whole.part(SHARE_OF_SUM)))
