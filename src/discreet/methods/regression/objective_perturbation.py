"""Regressions with pure privacy: objective perturbation, its minimum certified (privacy specification 6.2)."""

import math
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet.accounting.events import (
    ComposedEvent,
    CubeEvent,
    LaplaceEvent,
    ObjectivePerturbationEvent,
    event_record,
)
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.design import Design
from discreet.data.design import RowMap as EncodedRows
from discreet.data.engine import Table
from discreet.errors import InvalidParameterError
from discreet.kernels.glm.families import (
    Columns,
    Family,
    RowMap,
    clipped_poisson,
    predictor_bounds,
    score_map,
    squared_norm,
)
from discreet.kernels.glm.minimizer_score import Minimum, minimizer_fit, planned_spread
from discreet.kernels.glm.objective_perturbation import OUTPUT_SHARE, Change, information_share, minimized, perturbation
from discreet.kernels.glm.precise_sums import Loss, precise_sums
from discreet.kernels.glm.sandwich import Units
from discreet.kernels.glm.score_fit import Fit
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.additive import MAX_SCALE, discrete_laplace
from discreet.mechanisms.cube import check_cube, cube_noise, cube_variance
from discreet.mechanisms.rng import Source
from discreet.mechanisms.spherical import ACCURACY, spherical_laplace
from discreet.methods.base.method import Outcome, Preparation, Progress
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.base.request_facts import not_protected, public_columns
from discreet.methods.regression.bound_release import SHARE as BOUND_SHARE
from discreet.methods.regression.bound_release import BoundRelease, bound_record
from discreet.methods.regression.score_answers import score_record, with_answers
from discreet.methods.regression.spread_release import SHARE as SPREAD_SHARE
from discreet.methods.regression.spread_release import SpreadRelease
from discreet.methods.regression.terms import Terms
from discreet.release import NoiseRecord, StepRecord
from discreet.typing import Cells, Floats, Integers

CLAIM = "methods/regression/objective_perturbation.privacy.md"

STEP = 2.0**-24
"""Coefficients per half range are released in multiples of this."""

FURTHEST = 1000.0
"""Coefficients per half range are clipped to this before their noise."""

INFORMATION_SHARE = 0.3
"""Of epsilon, for the information matrix, where it may not depend on the columns."""

TYPICAL_ROWS = 2_000
"""Guess of the number of rows where it is private: it decides what the information matrix gets, nothing else."""

LEAST_EPSILON = 1e-12
"""Below it the parameters leave the range in which floats find them."""

LARGEST_COUNT = 1e9
"""Of a Poisson response: a larger one is beyond what 16 bits of a cell can tell."""


class PreparedPerturbation(Preparation):
    """A logistic or Poisson regression with pure privacy, its noise fixed.

    Parameters
    ----------
    method : GeneralizedLinear
        The parameters.
    design : Design
        The row map.
    budget : NoiseBudget
        Pure.
    for_columns : bool
        Whether the parts of the budget may depend on the columns; not where these are selected privately, for the price
        is fixed before.

    Raises
    ------
    InvalidParameterError
        When the noise does not fit in 64 bits, or counts have too large a bound.
    """

    def __init__(self, method: Any, design: Design, budget: NoiseBudget, for_columns: bool = False) -> None:
        metadata = design.metadata
        self.method, self.design, self.terms = method, design, Terms(design)
        self.columns, self.target, self.candidates = design.columns, design.target, design.candidates
        epsilon = budget.epsilon or Fraction(0)
        if epsilon < LEAST_EPSILON:
            raise InvalidParameterError(_too_small(epsilon))
        family = method.family(metadata, design.target)[0]
        self.loss = Loss(_bounded(family))
        self.change = self._change()
        self.bound, self.spread = self._bound(epsilon, family), self._spread(epsilon)
        epsilon -= sum((part.epsilon for part in (self.bound, self.spread) if part), Fraction(0))
        share = self._share(float(epsilon)) if for_columns else INFORMATION_SHARE
        self.information_epsilon = epsilon * Fraction(share).limit_denominator(1000)
        rest = epsilon - self.information_epsilon
        self.output_epsilon = rest * Fraction(OUTPUT_SHARE).limit_denominator(1000)
        self.minimizer_epsilon = rest - self.output_epsilon
        self.chosen = perturbation(float(rest), self.change, self.loss)
        first = ComposedEvent((ObjectivePerturbationEvent(self.minimizer_epsilon), LaplaceEvent(self.output_epsilon)))
        second = CubeEvent(self.information_epsilon)
        before, after = ([part.event] if part else [] for part in (self.bound, self.spread))
        self.event = ComposedEvent((*before, *first.events, second, *after))
        if self.change.spent(self.chosen.ridge, self.chosen.beta) > self.minimizer_epsilon:
            raise InvalidParameterError("The parameters of objective perturbation must fit in epsilon.")
        self.output_scale, self.information_scale = self._output_scale(), self._information_scale()
        of_squares, of_bins = max(self.spread.scales) if self.spread else 0.0, self.bound.scale if self.bound else 0
        if max(self.output_scale, self.information_scale, Fraction(of_squares), of_bins) > MAX_SCALE:
            raise InvalidParameterError(_too_small(epsilon))
        check_cube(self._n_entries, self.information_scale, "the information")
        self.parameters = {**method.model_dump(mode="json", exclude_none=True), "y_center": design.center}
        self.parameters["y_bound"] = design.bound
        self.noise, information_noise = self._noise(), self._information_noise()
        named = [
            ("count_bound", self.bound and self.bound.event, self.bound and self.bound.noise(CLAIM)),
            ("coefficients", first, self.noise),
            ("information", second, information_noise),
            ("dispersion", self.spread and self.spread.event, self.spread and self.spread.noise(CLAIM)),
        ]
        self.steps = tuple(
            StepRecord(name=name, event=event_record(event), noise=noise) for name, event, noise in named if event
        )
        self.public, self.not_protected = tuple(public_columns(metadata, design)), not_protected(metadata)

    @property
    def n_coefficients(self) -> int:
        """With the constant."""
        return len(self.terms.owners)

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Find where counts are clipped, minimize the perturbed objective, add noise for what the certificate leaves
        open, ask for the information, and, of counts or of units of several rows, for how much their scores vary.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Not called: the number of passes depends on the rows.

        Returns
        -------
        Outcome
            Coefficients with intervals.

        Notes
        -----
        Claim: ``objective_perturbation.privacy.md``. Cost: 6 to 10 passes over the rows of most tables; their number
        depends on the rows.
        """
        del progress
        if self.bound is None:
            return self._minimized(table, rng)
        noise = math.sqrt(self.n_coefficients + 1.0) / self.chosen.beta
        counts = self.bound.chosen(table, self.design, noise, rng)
        outcome = self.clipped_to(counts.bound)._minimized(table, rng)
        if outcome.fit is None:
            return outcome
        return replace(outcome, fit=outcome.fit.model_copy(update=bound_record(counts)))

    def clipped_to(self, bound: int) -> "PreparedPerturbation":
        """Return the request with larger counts taken for a bound, its parts of epsilon the same.

        Parameters
        ----------
        bound : int
            Of counts.

        Returns
        -------
        PreparedPerturbation
            This one, where the bound is no less or the noise would not fit.
        """
        declared = self.loss.family.high if self.bound is None else self.bound.family.high
        clipped = copy(self)
        clipped.loss = Loss(clipped_poisson(bound, declared))
        clipped.change = clipped._change()
        clipped.chosen = perturbation(float(self.minimizer_epsilon + self.output_epsilon), clipped.change, clipped.loss)
        clipped.output_scale = clipped._output_scale()
        clipped.noise = clipped._noise()
        clipped.steps = tuple(
            step.model_copy(update={"noise": clipped.noise}) if step.name == "coefficients" else step
            for step in self.steps
        )
        is_spent = clipped.change.spent(clipped.chosen.ridge, clipped.chosen.beta) <= self.minimizer_epsilon
        fits = is_spent and clipped.output_scale <= MAX_SCALE
        return clipped if bound < self.loss.family.high and fits else self

    def _minimized(self, table: Table, rng: Source) -> Outcome:
        p, lattice, loss, columns = self.n_coefficients, self.chosen.lattice, self.loss, self._columns
        linear, held = spherical_laplace(p, self.chosen.beta, rng), table.held(self.design)

        def sums(numbers: tuple[int, ...]) -> Integers:
            def work(cells: Cells) -> Integers:
                return precise_sums(columns.of(cells)[0], loss, lattice, numbers)

            nothing = precise_sums(np.empty((0, p + 1), np.int16), loss, lattice, numbers)
            return table.map_reduce(held, work, nothing)

        theta, _ = minimized(sums, linear, self.chosen)
        released = np.array(self._rounded(theta, rng)) * STEP
        minimum = self._minimum(released, *self._information(table, held, released, rng))
        fit = self._fit(minimum, table, held, rng)
        family: Literal["logistic", "poisson"] = self.method.family_name
        record = with_answers(self.terms.fit(family, fit), score_record(fit, *self.terms.scales()))
        return Outcome(selected=self.design.candidates, noise=self.noise, steps=self.steps, fit=record)

    @property
    def _columns(self) -> Columns:
        return Columns(np.array([*self.terms.places, self.design.n_columns - 1]))

    # ---- the minimizer

    def _change(self) -> Change:
        metadata = self.design.metadata
        return Change(
            bound=math.sqrt(squared_norm(self.n_coefficients, self.terms.groups)) * (1.0 + 1e-12),
            n_coefficients=self.n_coefficients,
            replaces=metadata.neighboring is NeighboringRelation.REPLACE_ONE,
            weight=self.loss.weight,
            n_rows=metadata.rows_per_unit,
        )

    def _output_scale(self) -> Fraction:
        """In whole steps: the gap to the exact minimizer, and what rounding to whole steps adds, over epsilon."""
        p, gradient = self.n_coefficients, self.chosen.gradient + ACCURACY * self.chosen.longest
        l1 = math.sqrt(p) * 2.0 * gradient / (self.chosen.ridge * STEP) + 1.01 * p
        return Fraction(l1 * (1.0 + 1e-9)) / self.output_epsilon

    def _rounded(self, theta: Floats, rng: Source) -> list[int]:
        """Whole steps with noise for the gap to the exact minimizer, and for rounding."""
        values: list[Any] = [int(value) for value in np.rint(np.clip(theta, -FURTHEST, FURTHEST) / STEP)]
        return discrete_laplace(values, self.output_scale, rng)

    def _noise(self) -> NoiseRecord:
        high = self.loss.family.high
        return NoiseRecord(
            mechanism="objective_perturbation",
            noise="gamma",
            sensitivity=self.change.pull * high,
            scale=high / self.chosen.beta,
            unit="sum of residuals times columns",
            formula="largest residual times |x|, times the rows of a unit, twice if replaced",
            numerics="float-safe",
            claim=CLAIM,
        )

    # ---- the information

    def _share(self, epsilon: float) -> float:
        """Of epsilon for the information, from public facts."""
        guess = self.design.metadata.n_rows or self.method.n0 or TYPICAL_ROWS
        noise = cube_variance(self._n_entries, 1e9) ** 0.5 * 1e-9 * self._entry_change
        return information_share(epsilon, self.change, self.loss, noise, guess)

    @property
    def _entry_change(self) -> int:
        """The most that any number changes, in largest weights: a product where diagonal ones count twice if replaced.

        A product is in [-1, 1], a squared cell in [0, 1]; a unit's rows, at most c, are added, or replaced by others.
        """
        return self.change.n_rows * (2 if self.change.replaces else 1)

    @property
    def _n_entries(self) -> int:
        """On and above the diagonal, and the number of rows where it is not public."""
        return int(np.triu(self._drawn()).sum()) + (self.design.metadata.n_rows is None)

    @property
    def _of_diagonal(self) -> int:
        """What squared cells count: their part of the change is brought up to that of products."""
        return 2 if self.change.replaces else 1

    def _information_scale(self) -> Fraction:
        """In products of cells: an entry is a sum of whole numbers of at most GRID^2, cut toward zero."""
        return self._entry_change * GRID**2 / self.information_epsilon

    def _information_noise(self) -> NoiseRecord:
        return NoiseRecord(
            mechanism="cube",
            noise="cube",
            sensitivity=float(self._entry_change),
            scale=float(self.information_scale) / GRID**2,
            unit="largest weight of a row",
            formula="the most that any weighted product of columns changes",
            numerics="exact draw on whole steps",
            claim=CLAIM,
        )

    def _row_map(self, theta: Floats) -> RowMap:
        within = np.clip(theta, -FURTHEST, FURTHEST)
        return score_map(self.loss.family, within, predictor_bounds(within, self.terms.groups))

    def _drawn(self) -> Floats:
        """1 for an entry that is drawn, 0 for a product of two levels of one category, which is none."""
        drawn = np.ones((self.n_coefficients, self.n_coefficients))
        for group in self.terms.groups:
            drawn[np.ix_(group, group)] = np.eye(len(group))
        return drawn

    def _information(self, table: Table, held: EncodedRows, theta: Floats, rng: Source) -> tuple[Floats, Floats, float]:
        """One pass: the noisy sum of weighted products, the variances of its entries, and the number of rows."""
        columns, p, row_map = self._columns, self.n_coefficients, self._row_map(theta)

        def work(cells: Cells) -> Integers:
            sums = row_map.sums(columns.of(cells)[0])
            return np.append(sums[:, :p].ravel(), len(cells))

        exact = table.map_reduce(held, work, np.zeros(p * p + 1, dtype=np.int64))
        times = 1 + (self._of_diagonal - 1) * np.eye(p, dtype=np.int64)
        upper = np.nonzero(np.triu(self._drawn()))
        values = [int(value) for value in (exact[:-1].reshape(p, p) * times)[upper]]
        public = self.design.metadata.n_rows
        counted = [int(exact[-1]) * GRID**2] if public is None else []
        noisy = cube_noise([*values, *counted], self.information_scale, rng)
        sums = np.zeros((p, p))
        sums[upper] = sums[upper[::-1]] = [float(value) for value in noisy[: len(values)]]
        unit = row_map.weight_unit / GRID**2
        variance = cube_variance(self._n_entries, self.information_scale) * unit**2 * self._drawn() / times**2
        n_rows = max(noisy[-1] / GRID**2, 1.0) if public is None else public
        return sums / times * unit, variance, float(n_rows)

    def _minimum(self, theta: Floats, information: Floats, variances: Floats, n_rows: float) -> Minimum:
        """What was released so far, in the response's unit."""
        high, p = self.loss.family.high, self.n_coefficients
        return Minimum(
            family=self.loss.family,
            theta=theta,
            ridge=self.chosen.ridge * high,
            linear_variance=(p + 1) * (high / self.chosen.beta) ** 2,
            output_variance=2.0 * (float(self.output_scale) * STEP) ** 2,
            information=information,
            variances=variances,
            n_rows=n_rows,
            level=self.method.confidence,
            box=self.method.coef_bound,
            constant=self.terms.constant,
            groups=self.terms.groups,
        )

    def _fit(self, minimum: Minimum, table: Table, held: EncodedRows, rng: Source) -> Fit:
        """Return estimates and intervals from what was released alone, and from a last pass where there is one."""
        if self.spread is None:
            return minimizer_fit(minimum)
        metadata = self.design.metadata
        count = metadata.n_units or max(minimum.n_rows / metadata.rows_per_unit, 1.0)
        units = Units(count, metadata.rows_per_unit, self.change.bound, self.change.replaces)
        spread = planned_spread(minimum, self.terms.groups, self.spread.mu, units)
        return minimizer_fit(minimum, spread, self.spread.sums(table, held, spread, self._columns, rng))

    def _bound(self, epsilon: Fraction, family: Family) -> BoundRelease | None:
        """The pass that finds where counts are clipped."""
        if not self.method.finds_bound(family):
            return None
        return BoundRelease(epsilon * BOUND_SHARE, family, self.change.replaces, self.change.n_rows)

    def _spread(self, epsilon: Fraction) -> SpreadRelease | None:
        """The pass that tells how much scores vary; that of one row's class follows from its mean."""
        if not (self.method.robust and (self.loss.family.counts or self.change.n_rows > 1)):
            return None
        return SpreadRelease(epsilon * SPREAD_SHARE, self.n_coefficients, self.change.replaces)


def _bounded(family: Family) -> Family:
    """Return the family with a mean that is smooth and bounded by the response's public range."""
    if not family.counts:
        return family
    if family.high > LARGEST_COUNT:
        raise InvalidParameterError(
            f"The upper bound of a count must be at most {LARGEST_COUNT:g}, but it is {family.high:g}. Lower it."
        )
    return clipped_poisson(family.high)


def _too_small(epsilon: Fraction) -> str:
    return f"The noise must fit in 64 bits, but epsilon={float(epsilon):g} asks for more. Raise epsilon."
