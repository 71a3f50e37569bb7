"""Coefficients of logistic and Poisson regressions from noisy sums at a few points (privacy specification 6.2)."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.accounting.events import event_record
from discreet.accounting.guarantee import exact_delta
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.contribution_bound import OfUnits
from discreet.data.design import Design
from discreet.data.design import RowMap as EncodedRows
from discreet.data.engine import Table
from discreet.errors import InvalidParameterError
from discreet.kernels.glm.count_bound import Histogram, HistogramRequest
from discreet.kernels.glm.families import Columns, RowMap
from discreet.kernels.glm.noisy_newton import AnyRequest, noisy_newton
from discreet.kernels.glm.problem import Problem
from discreet.kernels.glm.requests import attainable_sd
from discreet.kernels.glm.score_fit import Fit
from discreet.kernels.glm.score_looks import Directions, LookRequest
from discreet.kernels.glm.unit_scores import UnitScores
from discreet.mechanisms.additive import MAX_SCALE, discrete_gaussian
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Outcome, Preparation, Progress
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.base.request_facts import not_protected, public_columns, rows_progress
from discreet.methods.regression.bound_release import bound_record
from discreet.methods.regression.score_answers import score_record, with_answers
from discreet.methods.regression.terms import Terms
from discreet.release import NoiseRecord, StepRecord
from discreet.typing import Cells, Floats, Integers

AnyMap = RowMap | UnitScores | Histogram | Directions

CLAIM = "methods/regression/generalized_linear.privacy.md"

LEAST_SCALE = 2**22
"""No noise is smaller than this many whole steps: it bounds what the lattice costs, and is far below any noise."""

TYPICAL_ROWS = 10_000
"""Guess of the number of rows where it is private: it decides how many passes there are, nothing else."""


class PreparedGlm(Preparation):
    """A request of a `GeneralizedLinear` with its budget fixed.

    Parameters
    ----------
    method : GeneralizedLinear
        The parameters.
    design : Design
        The row map.
    budget : NoiseBudget
        Gaussian.
    """

    def __init__(self, method: Any, design: Design, budget: NoiseBudget) -> None:
        self.method, self.design, self.budget = method, design, budget
        metadata = design.metadata
        self.terms = Terms(design)
        self.problem = self._problem()
        self.columns, self.target, self.candidates = design.columns, design.target, design.candidates
        self.event = budget.event()
        self.delta = exact_delta(method.delta)
        self.parameters = {**method.model_dump(mode="json", exclude_none=True), "y_center": design.center}
        self.parameters["y_bound"] = design.bound
        self.noise = self._noise()
        self.steps: tuple[StepRecord, ...] = (
            StepRecord(name="coefficients", event=event_record(self.event), noise=self.noise),
        )
        self.public, self.not_protected = tuple(public_columns(metadata, design)), not_protected(metadata)

    @property
    def _rho(self) -> Fraction:
        return self.budget.rho or Fraction(0)

    def _noise(self) -> NoiseRecord:
        mu = math.sqrt(2.0 * float(self._rho))
        return NoiseRecord(
            mechanism="discrete_gaussian",
            noise="gaussian",
            sensitivity=1.0,
            scale=1.0 / mu,
            unit="what one unit can change in all sums together",
            formula="1: of residuals times columns and weighted products of columns, over a few passes"
            + ("; of a unit's squared score in a last one" if self.method.robust else ""),
            numerics="exact draw on whole steps",
            claim=CLAIM,
        )

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Ask for the sums of a few passes, add the noise, and compute the coefficients from the results alone.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Called as rows of the first pass are read, where their number is public.

        Returns
        -------
        Outcome
            Coefficients with intervals.

        Notes
        -----
        Claim: ``generalized_linear.privacy.md``. Cost: two to eight passes over the rows, one more where robust.
        """
        report_rows, held = rows_progress(progress, table), table.held(self.design)
        steps = noisy_newton(self.problem)
        remaining = 2 * self._rho
        request = next(steps)
        while True:  # every pass takes from what is left, and the number of passes is public
            remaining -= (Fraction(request.mu) * self.design.metadata.rows_per_unit) ** 2
            if remaining < 0:
                raise ArithmeticError("the passes cost more than was reserved")
            answer = self._noisy(table, request, rng, report_rows, held)
            report_rows = None
            try:
                request = steps.send(answer)
            except StopIteration as done:
                fit: Fit = done.value
                break
        middle, _ = self.method.adjustment.scale(self.design.metadata)
        record = self.terms.fit(self.method.family_name, fit, middle)
        score = score_record(fit, *self.terms.scales(), middle)
        more: dict[str, Any] = dict(self.method.adjustment.roles)
        if fit.clipped is not None:
            more |= bound_record(fit.clipped)
        return Outcome(
            selected=self.design.candidates,
            noise=self.noise,
            steps=self.steps,
            fit=with_answers(record.model_copy(update=more), score),
        )

    def _problem(self) -> Problem:
        """What the passes are planned from; its noise can be drawn, whatever the passes find."""
        metadata = self.design.metadata
        family, _, _ = self.method.family(metadata, self.design.target)
        adjustment = self.method.adjustment
        _, offset = adjustment.scale(metadata)
        problem = Problem(
            family=family,
            n_coefficients=len(self.terms.owners),
            groups=self.terms.groups,
            # Of one row, in all passes together; a hair less, for the sum of squares is taken in floating point.
            mu=math.sqrt(2.0 * float(self._rho)) / metadata.rows_per_unit * (1.0 - 1e-12),
            replace=metadata.neighboring is NeighboringRelation.REPLACE_ONE,
            n_rows=metadata.n_rows or self.method.n0 or TYPICAL_ROWS,
            level=self.method.confidence,
            box=self.method.coef_bound,
            largest_sd=MAX_SCALE * (1.0 - 1e-9),
            constant=self.terms.constant,
            offset=offset if adjustment.has_offset else None,
            weighted=adjustment.weights is not None,
            count_is_public=metadata.n_rows is not None,
            robust=self.method.robust,
            rows_per_unit=metadata.rows_per_unit,
            n_units=metadata.n_units,
            finds_bound=self.method.finds_bound(family),
            two_valued=self.terms.two_valued,
        )
        if not problem.mu > 0.0 or attainable_sd(problem) > problem.largest_sd:
            raise InvalidParameterError(
                f"The noise must fit in 64 bits, but epsilon={self.method.epsilon:g} and rows_per_unit="
                f"{metadata.rows_per_unit} ask for more. Raise epsilon, or lower rows_per_unit."
            )
        return problem

    def columns_of(self, row_map: AnyMap) -> Columns:
        """Return the places of what a pass takes of an encoded row.

        Parameters
        ----------
        row_map : RowMap, UnitScores, Histogram or Directions
            Of the pass.

        Returns
        -------
        Columns
            Among the design's cells.
        """
        target = 1 + sum(self.design.widths)
        offset = target + 1 if self.problem.offset is not None else None
        weight = self.design.n_columns - 1 if self.problem.weighted else None
        # The first pass has the offset as a column.
        is_first = isinstance(row_map, RowMap) and len(row_map.theta) > self.problem.n_coefficients
        places = np.array([*self.terms.places, *([offset] if is_first else []), target])
        return Columns(places, None if is_first else offset, weight)

    def sums_of(self, request: AnyRequest) -> Callable[[Cells], Integers]:
        """Return what a pass adds up over encoded rows, as a function that takes along nothing else.

        Parameters
        ----------
        request : HistogramRequest, Request, LookRequest or SpreadRequest
            The pass.

        Returns
        -------
        callable
            From rows of the design to weighted products of columns, and in the last column residuals times columns; or
            to the numbers of rows in bins.
        """
        row_map, columns = request.row_map, self.columns_of(request.row_map)

        def work(cells: Cells) -> Integers:
            return row_map.sums(*columns.of(cells))

        return work

    def _of_units(self, row_map: AnyMap) -> OfUnits | None:
        """The sum over units whose rows must be seen together; None where each row counts by itself."""
        if not isinstance(row_map, UnitScores) or self.design.metadata.rows_per_unit == 1:
            return None
        return partial(row_map.sums_of_units, columns=self.columns_of(row_map))

    def _noisy(self, table: Table, request: AnyRequest, rng: Source, report_rows: Any, held: EncodedRows) -> Floats:
        """One pass: exact sums plus noise on each, those below the diagonal mirrored."""
        p = request.row_map.n_columns
        start = np.zeros(_shape(request), dtype=np.int64)
        exact = table.map_reduce(held, self.sums_of(request), start, report_rows, self._of_units(request.row_map))
        if isinstance(request, HistogramRequest | LookRequest):
            return _with_noise(exact.ravel(), request.sd, rng).reshape(exact.shape)
        noisy = np.zeros((p, p + 1))
        upper = np.triu_indices(p, 1)
        parts = (
            (request.sd_gradient, (np.arange(p), np.full(p, p))),
            (request.sd_diagonal, (np.arange(p), np.arange(p))),
            (request.sd_above, upper),
        )
        for scale, at in parts:
            noisy[at] = _with_noise(exact[at], scale, rng)
        noisy[upper[1], upper[0]] = noisy[upper]
        return noisy


def _shape(request: AnyRequest) -> tuple[int, ...]:
    """Of the sums of a pass."""
    p = request.row_map.n_columns
    if isinstance(request, HistogramRequest):
        return (p,)
    return request.row_map.shape if isinstance(request, LookRequest) else (p, p + 1)


def _with_noise(exact: Integers, scale: float, rng: Source) -> Floats:
    """Return integers with Gaussian noise of a scale, or a hair more."""
    least = max(Fraction(scale) * (1 + Fraction(1, 2**40)), Fraction(LEAST_SCALE))
    return np.array([float(value) for value in discrete_gaussian([int(value) for value in exact], least, rng)])
