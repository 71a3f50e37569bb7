"""Noisy moments: sums of products released once, then any model, coefficient or criterion for free."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from discreet.accounting.events import ComposedEvent, Event, event_record
from discreet.accounting.guarantee import exact, exact_delta, exact_epsilon
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.design import Design
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.unit_rows import shortest_length
from discreet.kernels.sufficient_statistics.clip import SCALES, most_clipped, widening
from discreet.kernels.sufficient_statistics.regression import coefficient_shares
from discreet.kernels.sufficient_statistics.shares import clip_level, cost, selection_shares
from discreet.mechanisms.additive import MAX_SCALE
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Fitter, Outcome, Preparation, Progress
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.base.private_bounds import sides_of, widest
from discreet.methods.base.request_facts import check_slopes, not_protected, public_columns, rows_progress
from discreet.methods.moments.clipped_rows import clipped_rows
from discreet.methods.moments.noisy_sums import CLAIM, NoisySums
from discreet.methods.subset_selection.model_space import ModelSpace
from discreet.methods.subset_selection.setting import Setting
from discreet.methods.subset_selection.target_scale import MOST_SHARES, TYPICAL_ROWS
from discreet.methods.subset_selection.tuning import Tuned, Tuning, estimate_privately
from discreet.parameters.regression import SumsParameters
from discreet.parameters.shared import Confidence
from discreet.parameters.subset_selection import Uncorrelated
from discreet.release import MomentsRecord, StepRecord

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
        """Refuse what the answers would refuse, before anything is spent.

        Parameters
        ----------
        candidates : tuple of str
            Columns of the moments.
        """

    @abstractmethod
    def outcome(self, record: MomentsRecord, names: tuple[str, ...]) -> dict[str, Any]:
        """Return what the method makes of its moments.

        Parameters
        ----------
        record : MomentsRecord
            The released moments.
        names : tuple of str
            Their columns.

        Returns
        -------
        dict
            Fields of an `Outcome`.
        """

    def declared_moments(self, design: Design) -> dict[str, tuple[float, float]]:
        """Return mean and variance, on the scaled columns, of what is declared public.

        Parameters
        ----------
        design : Design
            The row map.

        Returns
        -------
        dict of str to (float, float)
            By candidate.
        """
        del design
        return {}

    def divided(self, record: MomentsRecord, rng: Source) -> MomentsRecord:
        """Return the moments as they are told: a method that selects may divide them.

        Parameters
        ----------
        record : MomentsRecord
            The released moments.
        rng : Source
            Where noise that divides them comes from.

        Returns
        -------
        MomentsRecord
            The same here.
        """
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
        """Return the sums to be estimated.

        Parameters
        ----------
        metadata : Metadata
            What is public about the table.
        target : str
            The response.
        columns : sequence of str or None
            Columns of the moments; default all declared ones but the target.

        Returns
        -------
        NoisySums
            With the widest bounds that can come out, where bounds are private.
        """
        design = self._design(metadata, target, columns)
        if self.row_norm is not None:
            design = replace(design, row_norm=self.row_norm)
        elif self.has_unit_rows and not metadata.buys_bounds(target):
            shortest = shortest_length(len(design.candidates))
            design = replace(design, unit_bound=design.bound, bound=design.bound / shortest)  # nothing is clipped
        return NoisySums(design, self.fit_intercept, self.declared_moments(design), self.uncorrelated)

    def _design(self, metadata: Metadata, target: str, columns: Sequence[str] | None) -> Design:
        center, bound = self._public_level
        return Design.plan(widest(metadata), target, columns, center, bound, least=int(columns is None))

    @property
    def _public_level(self) -> tuple[float | None, float | None]:
        """Center and bound of the target, as far as they are stated as numbers."""
        center, bound = (value if isinstance(value, float) else None for value in (self.y_center, self.y_bound))
        return center, bound

    def shares_of_target(self, metadata: Metadata, target: str) -> dict[str, Fraction]:
        """Return the share of epsilon of each private estimate of the target.

        Parameters
        ----------
        metadata : Metadata
            What is public about the table.
        target : str
            The response.

        Returns
        -------
        dict of str to Fraction
            By name.
        """
        del metadata, target
        share = UNBENT_SHARE if self._is_unbent else TUNING_SHARES["y_bound"]
        return {"y_bound": share} if self.y_bound == "private" else {}

    def check_columns(self, metadata: Metadata, target: str, columns: Sequence[str]) -> None:
        """Refuse columns of which one has a coefficient that no float can hold.

        Parameters
        ----------
        metadata : Metadata
            What is public about the table.
        target : str
            The response.
        columns : sequence of str
            Numeric, and any number of them.

        Raises
        ------
        InvalidParameterError
            Naming the first such column.
        """
        check_slopes(self._design(metadata, target, columns))

    def size(self, metadata: Metadata, target: str, columns: Sequence[str] | None = None) -> tuple[int, int]:
        """Return what a noise budget must know before the columns of a later selection are known.

        Parameters
        ----------
        metadata : Metadata
            What is public about the table.
        target : str
            The response.
        columns : sequence of str, optional
            The most columns there can be.

        Returns
        -------
        tuple of int
            The most numbers that are released, and a bound of their scales in whole steps: see `NoiseBudget.of`.
        """
        return self.size_of(self.sums(metadata, target, columns))

    def size_of(self, sums: NoisySums) -> tuple[int, int]:
        """Return `size` where the sums are known.

        Parameters
        ----------
        sums : NoisySums
            Of the first pass.

        Returns
        -------
        tuple of int
            See `size`.
        """
        return sums.size

    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> "PreparedMoments":
        """Check the request and calibrate its noise, from public facts alone.

        Parameters
        ----------
        metadata : Metadata
            What is public about the table.
        target : str
            The response, numeric.
        candidates : sequence of str, optional
            Columns of the moments; default all declared ones but the target.

        Returns
        -------
        PreparedMoments
            The cost, the noise, and a `run`.

        Raises
        ------
        InvalidParameterError
            When names or parameters do not fit.
        MetadataError
            When a column lacks bounds or levels.
        """
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
    ) -> "PreparedMoments":
        """Check a request and fix its noise so that it spends a given budget.

        Parameters
        ----------
        metadata : Metadata
            What is public about the table.
        target : str
            The response.
        columns : sequence of str or None
            Columns of the moments.
        budget : NoiseBudget
            What it may spend.

        Returns
        -------
        PreparedMoments
            The noise, and a `run`.
        """
        sums = self.sums(metadata, target, columns)
        if self._private_parts(metadata, sums.design):
            raise InvalidParameterError(
                "A later step must have public bounds: declare the bounds of its columns, give y_bound a number, and "
                "leave count_clipped out."
            )
        return self.prepared(sums, self._tuning(metadata, sums, {}), budget)

    def prepared(self, sums: NoisySums, tuning: Tuning, budget: NoiseBudget) -> "PreparedMoments":
        """Return the request with its noise fixed.

        Parameters
        ----------
        sums : NoisySums
            The sums.
        tuning : Tuning
            The private estimates before them.
        budget : NoiseBudget
            Of the sums.

        Returns
        -------
        PreparedMoments
            With a `run`.
        """
        return PreparedMoments(self, sums, tuning, budget)

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
        """Return the chance of a false column that a penalty is set for; None where nothing is selected by one.

        Parameters
        ----------
        xty_variance : float
            Of the noise in X'y, on scaled columns.
        metadata : Metadata
            With the number of rows, where it is public.

        Returns
        -------
        float or None
            Where no column goes with the target.
        """
        del xty_variance, metadata
        return None

    def shares(self, relation: NeighboringRelation, sums: NoisySums) -> Shares4:
        """Return how the budget inside the moments is split.

        Parameters
        ----------
        relation : NeighboringRelation
            Of the metadata.
        sums : NoisySums
            The sums.

        Returns
        -------
        tuple of Fraction
            Of X'y, X'X, y'y and the number of rows.
        """
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


class PreparedMoments(Preparation):
    """A request of a `MomentsMethod` with its noise fixed.

    Parameters
    ----------
    method : MomentsMethod
        The parameters.
    sums : NoisySums
        The sums.
    tuning : Tuning
        The private estimates before them.
    budget : NoiseBudget
        Of all sums, those of later passes too.
    """

    def __init__(self, method: MomentsMethod, sums: NoisySums, tuning: Tuning, budget: NoiseBudget) -> None:
        self.method, self.sums, self.tuning, self.whole = method, sums, tuning, budget
        self.budget = self._of_first_pass(budget)
        design, metadata = sums.design, tuning.metadata
        method.check(design.candidates)
        check_slopes(design)
        self.columns, self.target, self.candidates = design.columns, design.target, design.candidates
        events: tuple[Event, ...] = (*(part.event for part in tuning.parts), self.whole.event())
        self.event = events[0] if len(events) == 1 else ComposedEvent(events)
        self.delta = exact_delta(method.delta)
        self.estimates = sums.estimates(method.shares(metadata.neighboring, sums))
        self._check_scales()
        variance = self.estimates[0].variance(self.budget) / GRID**4 * sums.largest_scale**2
        chance = {"max_false": method.false_chance(variance, metadata)}
        self.noise = self.estimates[0].noise(self.budget, CLAIM).model_copy(update=chance)
        self.steps = (*(part.record() for part in tuning.parts), *self._moments_steps())
        self.parameters = {
            **method.model_dump(mode="json", exclude_none=True, by_alias=True),
            "y_bound": "private"
            if "y_bound" in tuning.budget
            else method._public_level[1] or design.unit_bound or design.bound,
            "y_center": "private" if "y_center" in tuning.budget else design.center,
        }
        self.public, self.not_protected = tuple(public_columns(metadata, design)), not_protected(metadata)

    def _moments_steps(self) -> tuple[StepRecord, ...]:
        """One privacy cost for all sums: what one row does to them together."""
        record = StepRecord(name="moments", event=event_record(self.whole.event()), noise=self.noise)
        return (record,)

    def _drawn(self, table: Table, rng: Source, progress: Progress | None) -> tuple[Tuned, NoisySums, MomentsRecord]:
        """Return the private estimates, the sums with the bounds that these set, and their moments with noise."""
        tuned = estimate_privately(self.tuning, table, rng, rows_progress(progress, table))
        sums = replace(self.sums, design=tuned.setting.design)
        record = sums.draw(tuned.moments, self.estimates, self.budget, rng)
        clipped = clipped_rows(self.tuning, tuned.clipped, record.n_rows, self.method._is_unbent)
        return tuned, sums, record.model_copy(update={"clipped": clipped})

    def _with_later_passes(
        self, record: MomentsRecord, tuned: Tuned, sums: NoisySums, table: Table, rng: Source
    ) -> MomentsRecord:
        """Return the moments with those of later passes: of none."""
        del tuned, sums, table, rng
        return record

    def _of_first_pass(self, budget: NoiseBudget) -> NoiseBudget:
        """What the moments may spend: all of it."""
        return budget

    def _check_scales(self) -> None:
        """Refuse noise that no word can hold."""
        check_scale(max(estimate.scale(self.budget) for estimate in self.estimates))

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Add up the moments, add the noise, and compute what was asked from the result alone.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Called as rows are read, where their number is public.

        Returns
        -------
        Outcome
            The moments, and what the method makes of them.

        Notes
        -----
        Claim: ``noisy_moments.privacy.md``. Cost: one pass over the rows, one more for each kind of private bound.
        """
        tuned, sums, record = self._drawn(table, rng, progress)
        record = self._with_later_passes(record, tuned, sums, table, rng)
        record = self.method.divided(record, rng)
        answers = self.method.outcome(record, self.sums.design.candidates)
        return Outcome(noise=self.noise, steps=(*tuned.steps, *self._moments_steps()), moments=record, **answers)


def check_scale(scale: Fraction) -> None:
    """Refuse noise that does not fit in 64 bits.

    Parameters
    ----------
    scale : Fraction
        In whole steps.

    Raises
    ------
    InvalidParameterError
        Saying what to change.
    """
    if scale > MAX_SCALE:
        raise InvalidParameterError("The noise must fit in 64 bits. Raise epsilon, or lower rows_per_unit.")
