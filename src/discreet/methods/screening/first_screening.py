"""A first screening of many candidates: each by itself, so that few are left to be scored beside each other."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.accounting.events import ComposedEvent, CubeEvent, Event, SelectionEvent
from discreet.data.engine import Table
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.decorrelated_rows import BINS, SaturatedRows
from discreet.kernels.rows.decorrelated_scores import Target
from discreet.mechanisms.cube import check_cube, cube_noise, cube_variance
from discreet.mechanisms.quantile import noisy_quantile
from discreet.mechanisms.rng import Source
from discreet.mechanisms.top_k import one_shot
from discreet.methods.base.method import Outcome, Preparation, Progress
from discreet.methods.base.part import Part
from discreet.methods.base.rank_part import rank_part
from discreet.methods.screening.decorrelated_columns import cut_at
from discreet.methods.screening.decorrelated_estimates import NoisyEstimates
from discreet.methods.screening.decorrelated_plan import CLAIM, HALF, SCALES, ScorePlan
from discreet.methods.screening.units import FORCED
from discreet.release import NoiseRecord, StepRecord
from discreet.typing import Floats, Integers

NAME = "first_screening"

SHARE = 0.25
"""Of epsilon, for the whole of a first screening."""

MEDIAN_SHARE, MEAN_SHARE = Fraction(1, 5), Fraction(1, 8)
"""Of that, for the target's median where it is private, and for the mean of what lies above it less what lies below."""

FEWEST, ENOUGH = 6, 4.0
"""Units that are left with so many thousands of rows, times epsilon, that are replaced one by one, or less; more are
with more rows."""

WORTH = 8
"""With so many units or fewer a first screening costs more than it gains."""

OF_TWO_VALUED = 0.6
"""Standard deviation of a column whose spread is bought, over that of one of two values: their scores are as unlike."""

SIGNS = 1
"""Steps at which the target is cut: it counts as above, at or below its center."""


def most_beside(plan: ScorePlan, widths: Sequence[int], most_columns: int) -> int:
    """Return how many units are scored beside each other, from public facts.

    `widths` are the columns of each unit; the widest that may be left have `most_columns` together.
    """
    # The noise of the columns' products goes with the square of their number: with more rows few more are worth it.
    few = FEWEST if len(widths) > WORTH else WORTH
    n_units = plan.method.n_screened or round(few * max(plan.information / ENOUGH, 1.0) ** 0.25)
    # The widest units first: whichever are left, their columns fit.
    together = np.cumsum(sorted(widths, reverse=True))
    return min(n_units, int(np.searchsorted(together, most_columns, side="right")))


@dataclass(frozen=True)
class FirstScreening:
    """The public plan of a first screening: which units go most with the target, each by itself.

    Parameters
    ----------
    plan : ScorePlan
        Of all candidates.
    n_units : int
        How many are left.
    epsilon : Fraction
        In nats.
    """

    plan: ScorePlan
    n_units: int
    epsilon: Fraction

    @property
    def scales(self) -> list[Part]:
        """The parts that tell where all candidates are cut: before all others where spreads are bought."""
        return [self.plan.parts[name] for name in SCALES if name in self.plan.parts and self.has_scales]

    @property
    def has_scales(self) -> bool:
        """Whether all candidates' spreads are bought."""
        return "x_scale" in self.plan.bought

    @property
    def _has_median(self) -> bool:
        return self.plan.method.y_center == "private"

    @property
    def budget(self) -> dict[str, Fraction]:
        """Epsilon of each part."""
        median = self.epsilon * MEDIAN_SHARE if self._has_median else Fraction(0)
        mean = self.epsilon * MEAN_SHARE
        parts = {"y_median": median, "y_mean": mean, NAME: self.epsilon - median - mean}
        return {name: epsilon for name, epsilon in parts.items() if epsilon}

    @property
    def _is_cube(self) -> bool:
        """Whether noise on all scores is less than noise of `n_units` rounds: their standard deviations."""
        n = self.plan.entering.n_units
        # One-shot noise is exponential of scale 2 k D / epsilon, its own deviation; the cube's scale is D / epsilon.
        return cube_variance(n, self._scale(NAME)) < (2.0 * self.n_units * float(self._scale(NAME))) ** 2

    def _scale(self, name: str) -> Fraction:
        return self.plan.moved / self.budget[name]

    def parts(self) -> list[Part]:
        """Return the parts with their privacy costs, in their order."""
        n_means = 1 + self.plan.buys_count
        parts = [self._cube_part("y_mean", n_means, "cells in half ranges", GRID), self._choice_part()]
        if self._has_median:
            law = (self.budget["y_median"], HALF, self.plan.metadata, BINS)
            parts.insert(0, rank_part("y_median", *law, words="the median"))
        return parts

    def _choice_part(self) -> Part:
        n = self.plan.entering.n_units
        if self._is_cube:
            return self._cube_part(NAME, n, "products of saturated columns", GRID**2)
        scale = 2 * self.n_units * self._scale(NAME)
        box = NoiseRecord(
            mechanism="one_shot",
            noise="exponential",
            n_candidates=n,
            sensitivity=float(2 * self.n_units * self.plan.moved),
            scale=float(scale),
            unit="products of saturated columns",
            formula=f"2 x {self.n_units} columns x {self._most}",
            numerics="exact draw; scores are whole numbers",
            claim=CLAIM,
        )
        return Part(NAME, SelectionEvent(self.budget[NAME], "exponential"), box)

    @property
    def _most(self) -> str:
        return f"{self.plan.moved}, the most that one {self.plan.metadata.unit} changes a sum by"

    def _cube_part(self, name: str, n_numbers: int, unit: str, steps: int) -> Part:
        check_cube(n_numbers, self._scale(name) * steps, f"the {n_numbers} sums of {name}")
        box = NoiseRecord(
            mechanism="cube",
            noise="cube",
            sensitivity=float(self.plan.moved),
            scale=float(self._scale(name)),
            unit=unit,
            formula=self._most,
            numerics="exact draw on whole steps",
            claim=CLAIM,
        )
        return Part(name, CubeEvent(self.budget[name]), box)

    def run(self, table: Table, rng: Source) -> tuple[float, list[int], list[float | None], SaturatedRows | None]:
        """Return the target's center in its unit, the chosen units, what each part tells, and where columns are cut.

        Claim: ``decorrelated_scores.privacy.md``. Cost: three passes over the rows, two where the center is public.
        """
        plan, values = self.plan, list[float | None]([None] * len(self.scales))
        rows = NoisyEstimates(plan, table, rng).rows() if self.has_scales else cut_at(plan.rows, plan.saturation)
        alone = replace(plan.design, candidates=())
        center = plan.public_center
        if self._has_median:
            counts = table.map_reduce(alone, plan.rows.bins, np.zeros(BINS, dtype=np.int64))
            law = (plan.metadata.neighboring, plan.rows_per_unit, self.budget["y_median"], rng)
            center = plan.center_of_bin(noisy_quantile(counts, HALF, *law))
            values.append(plan.in_units(center))
        target = Target(center, SIGNS)
        sums = table.map_reduce(alone, partial(plan.rows.target_sum, target=target), np.zeros(2, dtype=np.int64))
        excess = self._excess(sums, rng)
        values.append(excess / GRID)
        work = partial(rows.own_scores, target=target, excess=excess)
        scores = np.abs(table.map_reduce(plan.design, work, np.zeros(plan.width, dtype=np.int64)))
        units = self._chosen(plan.entering.scores(scores), rng)
        return plan.in_units(center), units, [*values, None], rows if self.has_scales else None

    def _excess(self, sums: Integers, rng: Source) -> int:
        """The noisy mean of the cut target, in steps."""
        sums_of_columns = sums if self.plan.buys_count else sums[1:]
        noisy = cube_noise(sums_of_columns.tolist(), self._scale("y_mean") * GRID, rng)
        n_rows = float(self.plan.metadata.n_rows or 1)
        if self.plan.buys_count:
            n_rows = max(noisy[0] / GRID, math.sqrt(cube_variance(2, self._scale("y_mean"))))
        return round(min(max(noisy[-1] / n_rows, -GRID), GRID))

    def _chosen(self, scores: Integers, rng: Source) -> list[int]:
        scale = self._scale(NAME)
        if not self._is_cube:
            sensitivity = self.plan.moved * GRID**2
            return sorted(int(unit) for unit in one_shot(scores, self.n_units, self.budget[NAME], sensitivity, rng))
        noisy = cube_noise(scores.tolist(), scale * GRID**2, rng)
        weighed = np.array(noisy, dtype=np.float64) * self._weights
        return sorted(np.argsort(-weighed, kind="stable")[: self.n_units].tolist())

    @property
    def _weights(self) -> Floats:
        """By how much less the noisy scores of units of two-valued columns count. Shapes: returns (n_units,)."""
        weights, owners = np.ones(self.plan.entering.n_units), self.plan.entering.owners(self.plan.width)
        if self.has_scales:
            weights[owners[(owners != FORCED) & self.plan.rows.is_two_valued]] = OF_TWO_VALUED
        return weights


class ScreenedScores(Preparation):
    """A request that screens its candidates first, and scores those that are left beside each other.

    Parameters
    ----------
    first : FirstScreening
        The choice among all candidates.
    then : callable
        From the columns that are left and the target's center to the request among them: its event is the same
        whichever are left.
    stated : dict
        The parameters of the whole request.
    """

    def __init__(
        self,
        first: FirstScreening,
        then: Callable[[Sequence[str], float | None, SaturatedRows | None], Preparation],
        stated: dict[str, Any],
    ) -> None:
        self.first, self.then = first, then
        plan = first.plan
        self.parts = [*first.scales, *first.parts()]
        self.rest = then(self._names(list(range(first.n_units))), None, first.plan.rows if first.has_scales else None)
        self.columns, self.target, self.candidates = plan.design.columns, plan.design.target, plan.design.candidates
        self.noise, self.public, self.not_protected = self.rest.noise, self.rest.public, self.rest.not_protected
        events: list[Event] = [part.event for part in self.parts]
        if self.rest.event is not None:
            events.append(self.rest.event)
        self.event = ComposedEvent(tuple(events))
        self.steps = (*(part.record() for part in self.parts), *self.rest.steps)
        self.parameters: dict[str, Any] = {**self.rest.parameters, **stated, "n_screened": first.n_units}

    def _names(self, units: list[int]) -> tuple[str, ...]:
        """The candidates of chosen units, and those that always enter."""
        return tuple(self.first.plan.design.candidates[place] for place in self.first.plan.units.columns(units))

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Screen all candidates, and go on with those that are left. Claim: ``decorrelated_scores.privacy.md``."""
        center, units, values, rows = self.first.run(table, rng)
        names = self._names(units)
        outcome = self.then(names, center, rows).run(table, rng, progress)
        steps: list[StepRecord] = [part.record(value) for part, value in zip(self.parts, values, strict=True)]
        steps[-1] = steps[-1].model_copy(update={"columns": names})
        return replace(outcome, steps=(*steps, *outcome.steps))
