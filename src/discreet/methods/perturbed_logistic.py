"""Logistic regression with pure privacy: objective perturbation, its minimum certified (privacy specification 6.2)."""

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.accounting.events import ComposedEvent, LaplaceEvent, ObjectivePerturbationEvent, event_record
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.design import Cells, Design
from discreet.data.engine import Table
from discreet.errors import InvalidParameterError
from discreet.kernels.noisy_newton import BOX, Fit
from discreet.kernels.objective_perturbation import OUTPUT_SHARE, minimized, perturbation, precise_sums, spent
from discreet.mechanisms.additive import discrete_laplace
from discreet.mechanisms.rng import Source
from discreet.mechanisms.spherical import spherical_laplace
from discreet.methods.base import Outcome, Preparation, Progress
from discreet.methods.noise_budget import NoiseBudget
from discreet.methods.request_facts import not_protected, public_columns
from discreet.methods.terms import Terms
from discreet.release import NoiseRecord, StepRecord

if TYPE_CHECKING:
    from discreet.methods.generalized_linear import GeneralizedLinear

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

CLAIM = "methods/perturbed_logistic.privacy.md"

STEP = 2.0**-24
"""Coefficients per half range are released in multiples of this."""

ROUNDING, LONGEST = 1e-12, 4.0
"""Bounds, relative to its length, how far the linear term that was drawn lies from the real vector that it stands for;
and its length, in units of (p + 40) / beta, but for a probability of e^-80."""


class PreparedPerturbation(Preparation):
    """A logistic regression with pure privacy, its noise fixed.

    Parameters
    ----------
    method : GeneralizedLinear
        The parameters.
    design : Design
        The row map.
    budget : NoiseBudget
        Pure.
    """

    def __init__(self, method: "GeneralizedLinear", design: Design, budget: NoiseBudget) -> None:
        metadata = design.metadata
        if metadata.rows_per_unit > 1:
            raise InvalidParameterError(
                "Objective perturbation protects units of one row. Give a delta, such as 1e-6, for units of several."
            )
        self.method, self.design, self.terms = method, design, Terms(design)
        self.columns, self.target, self.candidates = design.columns, design.target, design.candidates
        epsilon = budget.epsilon or Fraction(0)
        self.output_epsilon = epsilon * Fraction(OUTPUT_SHARE).limit_denominator(1000)
        self.bound = math.sqrt(1 + len(design.candidates)) * (1.0 + 1e-12)
        self.replaces = metadata.neighboring is NeighboringRelation.REPLACE_ONE
        self.chosen = perturbation(float(epsilon), self.bound, len(self.terms.owners), self.replaces)
        self.event = ComposedEvent(
            (ObjectivePerturbationEvent(epsilon - self.output_epsilon), LaplaceEvent(self.output_epsilon))
        )
        paid = Fraction(spent(self.chosen.ridge, self.chosen.beta, self.bound, self.replaces))
        if paid > (epsilon - self.output_epsilon) * (1 + Fraction(1, 10**9)):
            raise InvalidParameterError("The parameters of objective perturbation must fit in epsilon.")
        self.parameters = {**method.model_dump(mode="json", exclude_none=True), "y_center": design.center}
        self.parameters["y_bound"] = design.bound
        self.noise = NoiseRecord(
            mechanism="objective_perturbation",
            noise="gamma",
            sensitivity=self.bound * (2 if self.replaces else 1),
            scale=1.0 / self.chosen.beta,
            unit="sum of residuals times columns",
            formula="|x|, twice if replaced",
            numerics="idealized; the minimum is certified, and what is left gets discrete Laplace noise",
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
            Not told: the number of passes depends on the rows.

        Returns
        -------
        Outcome
            Coefficients without intervals.

        Notes
        -----
        Claim: ``perturbed_logistic.privacy.md``. Cost: about five passes over the rows; their number depends on them.
        """
        del progress
        p = len(self.terms.owners)
        places = np.array([*self.terms.places, self.design.n_columns - 1])
        linear = spherical_laplace(p, self.chosen.beta, rng)

        def sums(theta: Floats) -> Integers:
            def work(cells: Cells) -> Integers:
                return precise_sums(np.asfortranarray(cells[:, places]), theta)

            return table.map_reduce(self.design, work, np.zeros((p + 4, p), dtype=np.int64))

        theta, _ = minimized(sums, linear, self.chosen, self.bound)
        released = np.array(self._rounded(theta, rng)) * STEP
        whole = np.full(p, BOX)
        nothing = np.zeros((p, p))
        fit = Fit(np.clip(released, -BOX, BOX), -whole, whole, nothing, nothing, self.method.confidence)
        return Outcome(
            selected=self.candidates, noise=self.noise, steps=self.steps, fit=self.terms.fit("logistic", fit)
        )

    def _rounded(self, theta: Floats, rng: Source) -> list[int]:
        """Whole steps with noise for the gap to the exact minimizer, and for rounding."""
        gradient = self.chosen.gradient + ROUNDING * LONGEST * (len(theta) + 40) / self.chosen.beta
        l1 = math.sqrt(len(theta)) * 2.0 * gradient / (self.chosen.ridge * STEP) + len(theta)
        values: list[Any] = [int(value) for value in np.rint(np.clip(theta, -1e6, 1e6) / STEP)]
        return discrete_laplace(values, Fraction(l1 * (1.0 + 1e-9)) / self.output_epsilon, rng)
