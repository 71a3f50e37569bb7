"""What a method of noisy moments asks for: its columns, its private estimates, and how the budget is shared."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from discreet.accounting.guarantee import exact, exact_delta, exact_epsilon
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.kernels.rows.unit_rows import shortest_length
from discreet.kernels.sufficient_statistics.clip import SCALES, most_clipped, widening
from discreet.kernels.sufficient_statistics.regression import coefficient_shares
from discreet.kernels.sufficient_statistics.shares import clip_level, cost, selection_shares
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Fitter, Preparation
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.base.private_bounds import sides_of, widest
from discreet.methods.base.request_facts import check_slopes
from discreet.methods.moments.column_scales import ColumnScales
from discreet.methods.moments.noisy_sums import NoisySums
from discreet.methods.subset_selection.model_space import ModelSpace
from discreet.methods.subset_selection.setting import Setting
from discreet.methods.subset_selection.target_scale import MOST_SHARES, TYPICAL_ROWS
from discreet.methods.subset_selection.tuning_plan import Tuning
from discreet.parameters.regression import SumsParameters
from discreet.parameters.shared import Confidence
from discreet.parameters.subset_selection import Uncorrelated
from discreet.release import MomentsRecord

Shares4 = tuple[Fraction, Fraction, Fraction, Fraction]

TUNING_SHARES = {
    "bounds": Fraction(1, 10),
    "y_center": MOST_SHARES["y_center"],
    "y_bound": Fraction(3, 100),
    "clipped": Fraction(1, 20),
}
"""Of epsilon, for each private estimate before the moments; of the center at most."""

UNBENT_SHARE = Fraction(1, 10)
"""The same for a clip of the target that is to bend no slope: fewer rows may lie beyond it."""

NOISE = 10.0
"""Of X'y, a rough figure: standard deviation at a delta of 1e-6, times epsilon over the root of its columns."""

COUNT_SHARE = 0.02
"""Of the budget for the moments, for the number of rows where it is private."""


class MomentsMethod(SumsParameters, Fitter):
    """A method that releases noisy moments. Its subclasses say what they make of them."""

    confidence: Confidence = 0.95
    uncorrelated: Uncorrelated = False

    @property
    @abstractmethod
    def purpose(self) -> str:
        """What the budget inside the moments is split for: "selection" or "coefficients"."""

    @abstractmethod
    def check(self, candidates: tuple[str, ...]) -> None:
        """Refuse what the answers would refuse, before anything is spent."""

    @abstractmethod
    def outcome(self, record: MomentsRecord, names: tuple[str, ...]) -> dict[str, Any]:
        """Return what the method makes of its moments."""

    def declared_moments(self, design: Design) -> dict[str, tuple[float, float]]:
        """Return mean and variance, on the scaled columns, of what is declared public."""
        del design
        return {}

    def divided(self, record: MomentsRecord, rng: Source) -> MomentsRecord:
        """Return the moments as they are told: a method that selects may divide them."""
        del rng
        return record

    @property
    def tells_slopes(self) -> bool:
        """Whether coefficients are told, which a clip must not bend."""
        return self.purpose == "coefficients"

    @property
    def has_unit_rows(self) -> bool:
        """Whether rows are divided by the length of their x: far less noise, and weights in the regression."""
        return False

    def sums(self, metadata: Metadata, target: str, columns: Sequence[str] | None) -> NoisySums:
        """Return the sums to be estimated."""
        design = self._design(metadata, target, columns)
        if self.row_norm is not None:
            design = replace(design, row_norm=self.row_norm)
        elif self.has_unit_rows and not metadata.buys_bounds(target):
            shortest = shortest_length(len(design.candidates))
            design = replace(design, unit_bound=design.bound, bound=design.bound / shortest)  # nothing is clipped
        return NoisySums(design, self.fit_intercept, self.declared_moments(design), self.uncorrelated)

    def column_scales(self, sums: NoisySums, metadata: Metadata, budget: NoiseBudget) -> ColumnScales | None:
        """Return what is bought of the columns before unit rows, where public facts say that it is of use."""
        design = sums.design
        if not sums.is_unit or design.scaling is not None or sides_of(metadata, design.columns):
            return None
        scales = ColumnScales(design)
        return scales if scales.is_worth_it(budget, float(self._n_guess(metadata))) else None

    def _design(self, metadata: Metadata, target: str, columns: Sequence[str] | None) -> Design:
        center, bound = self._public_level
        return Design.plan(widest(metadata), target, columns, center, bound, least=int(columns is None))

    @property
    def _public_level(self) -> tuple[float | None, float | None]:
        """Center and bound of the target, as far as they are stated as numbers."""
        center, bound = (value if isinstance(value, float) else None for value in (self.y_center, self.y_bound))
        return center, bound

    def shares_of_target(self, metadata: Metadata, target: str) -> dict[str, Fraction]:
        """Return the share of epsilon of each private estimate of the target."""
        del metadata, target
        share = UNBENT_SHARE if self._is_unbent else TUNING_SHARES["y_bound"]
        return {"y_bound": share} if self.y_bound == "private" else {}

    def check_columns(self, metadata: Metadata, target: str, columns: Sequence[str]) -> None:
        """Refuse columns of which one has a coefficient that no float can hold."""
        check_slopes(self._design(metadata, target, columns))

    def size(self, metadata: Metadata, target: str, columns: Sequence[str] | None = None) -> tuple[int, int]:
        """Return what a noise budget must know before the columns of a later selection are known."""
        return self.size_of(self.sums(metadata, target, columns))

    def size_of(self, sums: NoisySums) -> tuple[int, int]:
        """Return `size` where the sums are known."""
        return sums.size

    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> Preparation:
        """Check the request and calibrate its noise, from public facts alone."""
        sums = self.sums(metadata, target, candidates)
        shares = self._private_parts(metadata, sums.design)
        if self.count_clipped and getattr(self, "offset", None) is not None:
            raise InvalidParameterError(
                "count_clipped counts targets as they are, but an offset is taken off them. Leave out count_clipped or "
                "offset."
            )
        if self.count_clipped and self.y_bound == "private" and sums.design.unit_bound is not None:
            raise InvalidParameterError(
                "count_clipped counts targets as they are, but a selection's private y_bound clips weighted ones. Give "
                "y_bound a number, or leave count_clipped out."
            )
        epsilon = exact_epsilon(self.epsilon)
        tuning = self._tuning(metadata, sums, {name: epsilon * share for name, share in shares.items()})
        others = tuple(part.event for part in tuning.parts)
        budget = NoiseBudget.of(epsilon, exact_delta(self.delta), *self.size_of(sums), others)
        return self.prepared(sums, tuning, budget)

    def prepare_within(
        self, metadata: Metadata, target: str, columns: Sequence[str] | None, budget: NoiseBudget
    ) -> Preparation:
        """Check a request and fix its noise so that it spends a given budget."""
        sums = self.sums(metadata, target, columns)
        if self._private_parts(metadata, sums.design):
            raise InvalidParameterError(
                "A later step must have public bounds: declare the bounds of its columns, give y_bound a number, and "
                "leave count_clipped out."
            )
        return self.prepared(sums, self._tuning(metadata, sums, {}), budget)

    @abstractmethod
    def prepared(self, sums: NoisySums, tuning: Tuning, budget: NoiseBudget) -> Preparation:
        """Return the request with its noise fixed, `budget` being of the sums."""

    def _private_parts(self, metadata: Metadata, design: Design) -> dict[str, Fraction]:
        """The share of epsilon of each private estimate before the moments, in their order."""
        of_target = self.shares_of_target(metadata, design.target)
        is_private = {
            "bounds": bool(sides_of(metadata, design.columns)),
            "y_center": "y_center" in of_target,
            "y_bound": "y_bound" in of_target,
            "clipped": self.count_clipped,
        }
        return {name: of_target.get(name, share) for name, share in TUNING_SHARES.items() if is_private[name]}

    def _tuning(self, metadata: Metadata, sums: NoisySums, budget: dict[str, Fraction]) -> Tuning:
        # The exponential mechanism: it costs an eighth of epsilon^2 beside Gaussian noise (privacy specification 7.1).
        setting = Setting(sums.design, ModelSpace.plan(sums.design.candidates[:1]), 1.0, self.fit_intercept)
        center, bound = self._public_level
        level = self._clip_level(metadata, sums)
        most = self._most_clipped(metadata, sums) if self.tells_slopes else None
        return Tuning(
            metadata,
            setting,
            "gumbel",
            "exponential",
            budget,
            exact_epsilon(self.epsilon) - sum(budget.values(), Fraction(0)),
            center,
            bound,
            1.0,
            level,
            None,
            metadata.n_rows,
            widening(float(1 - level) / 2, most / 2) if most is not None and self._is_unbent else 1.0,
            most,
        )

    @property
    def _is_unbent(self) -> bool:
        """Whether a private clip of the target is placed where it bends no slope."""
        return self.tells_slopes and self.y_quantile is None

    def _n_guess(self, metadata: Metadata) -> int:
        return metadata.n_rows or self.n0 or TYPICAL_ROWS

    def _most_clipped(self, metadata: Metadata, sums: NoisySums) -> float:
        """Share of rows that may be clipped without bending slopes."""
        return most_clipped(NOISE * len(sums.columns) ** 0.5 / self.epsilon, self._n_guess(metadata))

    def _clip_level(self, metadata: Metadata, sums: NoisySums) -> Fraction:
        """Which quantile of |y - y_center| the target is clipped to, where that is private."""
        if self.y_quantile is not None:
            return exact(self.y_quantile, "y_quantile")
        if self._is_unbent:
            scale = 2 * metadata.rows_per_unit / (self.epsilon * float(UNBENT_SHARE))
            tail = max(SCALES * scale / self._n_guess(metadata), self._most_clipped(metadata, sums))
            return 1 - Fraction(round(10_000 * min(max(tail, 0.0001), 0.5)), 10_000)
        # The noise of X'y at a delta of about 1e-6: it need not be exact, the best level is flat.
        noise = (8.4 if metadata.n_rows is not None else 4.2) / self.epsilon
        level = clip_level(noise, self._n_guess(metadata), 1.0 / max(len(sums.columns) - 1, 1))
        return min(exact(level, "y_quantile"), Fraction(99, 100))

    def false_chance(self, xty_variance: float, metadata: Metadata) -> float | None:
        """Return the chance of a false column that a penalty is set for; None where nothing is selected by one."""
        del xty_variance, metadata
        return None

    def shares(self, relation: NeighboringRelation, sums: NoisySums) -> Shares4:
        """Return how the budget inside the moments is split."""
        replaces = relation is NeighboringRelation.REPLACE_ONE
        name: Literal["replace_one", "add_or_remove_one"] = "replace_one" if replaces else "add_or_remove_one"
        public = not sums.noisy_entries.any()
        of_slopes = self.purpose == "coefficients" and not public
        shares = coefficient_shares(name) if of_slopes else selection_shares(name, public)
        shares = shares._replace(rows=COUNT_SHARE if sums.count_is_noisy else 0.0)
        # Homogeneous in the shares, so that dividing by the cost makes it 1; a hair more, for it is a float.
        total = exact(cost(shares, name), "share") * (1 + Fraction(1, 10**12))
        xty, gram, yty, rows = (exact(share, "share") / total for share in shares)
        return xty, gram, yty, rows
