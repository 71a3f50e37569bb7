"""Logistic regression with pure privacy: objective perturbation, its minimum certified (privacy specification 6.2)."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.events import ComposedEvent, LaplaceEvent, ObjectivePerturbationEvent, event_record
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.design import Design
from discreet.data.engine import Table
from discreet.errors import InvalidParameterError
from discreet.kernels.glm.logistic_sums import precise_sums
from discreet.kernels.glm.noisy_newton import BOX, Fit
from discreet.kernels.glm.objective_perturbation import OUTPUT_SHARE, minimized, perturbation, spent
from discreet.mechanisms.additive import MAX_SCALE, discrete_laplace
from discreet.mechanisms.rng import Source
from discreet.mechanisms.spherical import ACCURACY, spherical_laplace
from discreet.methods.base.method import Fitter, Outcome, Preparation, Progress
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.base.request_facts import not_protected, public_columns
from discreet.methods.regression.terms import Terms
from discreet.release import NoiseRecord, StepRecord
from discreet.typing import Cells, Floats, Integers

CLAIM = "methods/regression/perturbed_logistic.privacy.md"

STEP = 2.0**-24
"""Coefficients per half range are released in multiples of this."""

LEAST_EPSILON = 1e-12
"""Below it the parameters leave the range in which floats find them."""


class PreparedPerturbation(Preparation):
    """A logistic regression with pure privacy, its noise fixed.

    Parameters
    ----------
    method : Fitter
        The parameters.
    confidence : float
        Level of the intervals.
    design : Design
        The row map.
    budget : NoiseBudget
        Pure.

    Raises
    ------
    InvalidParameterError
        When units may own several rows, or the output's noise does not fit in 64 bits.
    """

    def __init__(self, method: Fitter, confidence: float, design: Design, budget: NoiseBudget) -> None:
        metadata = design.metadata
        if metadata.rows_per_unit > 1:
            raise InvalidParameterError(
                "Objective perturbation protects units of one row. Give a delta, such as 1e-6, for units of several."
            )
        self.confidence, self.design, self.terms = confidence, design, Terms(design)
        self.columns, self.target, self.candidates = design.columns, design.target, design.candidates
        epsilon = budget.epsilon or Fraction(0)
        if epsilon < LEAST_EPSILON:
            raise InvalidParameterError(_too_small(epsilon))
        self.output_epsilon = epsilon * Fraction(OUTPUT_SHARE).limit_denominator(1000)
        self.bound = math.sqrt(1 + len(design.candidates)) * (1.0 + 1e-12)
        self.replaces = metadata.neighboring is NeighboringRelation.REPLACE_ONE
        self.chosen = perturbation(float(epsilon), self.bound, len(self.terms.owners), self.replaces)
        self.event = ComposedEvent(
            (ObjectivePerturbationEvent(epsilon - self.output_epsilon), LaplaceEvent(self.output_epsilon))
        )
        if spent(self.chosen.ridge, self.chosen.beta, self.bound, self.replaces) > epsilon - self.output_epsilon:
            raise InvalidParameterError("The parameters of objective perturbation must fit in epsilon.")
        self.output_scale = self._output_scale()
        if self.output_scale > MAX_SCALE:
            raise InvalidParameterError(_too_small(epsilon))
        self.parameters = {**method.model_dump(mode="json", exclude_none=True), "y_center": design.center}
        self.parameters["y_bound"] = design.bound
        self.noise = NoiseRecord(
            mechanism="objective_perturbation",
            noise="gamma",
            sensitivity=self.bound * (2 if self.replaces else 1),
            scale=1.0 / self.chosen.beta,
            unit="sum of residuals times columns",
            formula="|x|, twice if replaced",
            numerics="float-safe",
            claim=CLAIM,
        )
        self.steps: tuple[StepRecord, ...] = (
            StepRecord(name="coefficients", event=event_record(self.event), noise=self.noise),
        )
        self.public, self.not_protected = tuple(public_columns(metadata, design)), not_protected(metadata)

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Minimize the perturbed objective, add noise for what the certificate leaves open, and round.

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
            Coefficients without intervals.

        Notes
        -----
        Claim: ``perturbed_logistic.privacy.md``. Cost: 5 to 9 passes over the rows of most tables; their number depends
        on the rows.
        """
        del progress
        p, lattice = len(self.terms.owners), self.chosen.lattice
        places = np.array([*self.terms.places, self.design.n_columns - 1])
        linear = spherical_laplace(p, self.chosen.beta, rng)

        def sums(numbers: tuple[int, ...]) -> Integers:
            def work(cells: Cells) -> Integers:
                return precise_sums(np.asfortranarray(cells[:, places]), lattice, numbers)

            return table.map_reduce(self.design, work, precise_sums(np.empty((0, p + 1), np.int16), lattice, numbers))

        theta, _ = minimized(sums, linear, self.chosen)
        released = np.array(self._rounded(theta, rng)) * STEP
        no_end, unknown = np.full(p, np.inf), np.zeros((p, p))
        fit = Fit(np.clip(released, -BOX, BOX), -no_end, no_end, unknown, unknown, self.confidence)
        return Outcome(
            selected=self.design.candidates, noise=self.noise, steps=self.steps, fit=self.terms.fit("logistic", fit)
        )

    def _output_scale(self) -> Fraction:
        """In whole steps: the gap to the exact minimizer, and what rounding to whole steps adds, over epsilon."""
        p, gradient = len(self.terms.owners), self.chosen.gradient + ACCURACY * self.chosen.longest
        l1 = math.sqrt(p) * 2.0 * gradient / (self.chosen.ridge * STEP) + 1.01 * p
        return Fraction(l1 * (1.0 + 1e-9)) / self.output_epsilon

    def _rounded(self, theta: Floats, rng: Source) -> list[int]:
        """Whole steps with noise for the gap to the exact minimizer, and for rounding."""
        values: list[Any] = [int(value) for value in np.rint(np.clip(theta, -BOX, BOX) / STEP)]
        return discrete_laplace(values, self.output_scale, rng)


def _too_small(epsilon: Fraction) -> str:
    return f"The noise must fit in 64 bits, but epsilon={float(epsilon):g} asks for more. Raise epsilon."
