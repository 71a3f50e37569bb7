"""The private choice of the best public subset, and of its rivals (Wang et al. 2018, Algorithm 2, corrected)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator

from discreet.accounting.events import Event, SelectionEvent
from discreet.accounting.guarantee import exact, exact_epsilon
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.kernels.glm.bounded_loss import LOSS_ONE
from discreet.kernels.moments.moments import GRID
from discreet.kernels.public_records.nearest_order import farthest_first, merge_sequence
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import NOISE_OF_MECHANISM, noisy_min
from discreet.methods.base.method import Outcome, Preparation, Progress
from discreet.methods.base.part import Part
from discreet.methods.base.request_facts import rows_progress
from discreet.methods.public_records.grid_points import GridPoints
from discreet.methods.public_records.hybrid import HybridMethod, PreparedPoints
from discreet.methods.public_records.hybrid_published import PreparedPublished
from discreet.methods.public_records.measures import Counts
from discreet.methods.subset_selection.subset_regression import events_of
from discreet.parameters.public_records import PublicSubsetParameters
from discreet.release import CandidateRecord, HybridRecord, NoiseRecord
from discreet.typing import Cells, Floats, Integers

CLAIM = "methods/public_records/public_subset.privacy.md"

VALIDATION_SHARE = 0.15
"""Of epsilon, for the choice: it tells apart what differs by a few rows, and the measure is what the estimate rests
on."""


SIZES = 4
"""Subset sizes, each half of the next."""

LEAN = 4.0
"""Odds of the first estimate, all points without a further ridge, against all others together, before any row speaks.

The choice tells estimates apart whose losses differ by several times its noise. Below that it would draw one at random,
so it leans, by a public amount, to the one that simulations found best."""

MOST_LEAN = 2.0**51
"""Whole steps: with the losses of the most rows, still whole numbers of a float64."""

DOUBTS = (1.0, 0.1)
"""Factors on the trust in the public records, of margins: see `raked`."""


class PublicSubset(PublicSubsetParameters, HybridMethod):
    """The best of several estimates on weighted public points, chosen by their loss on the private rows.

    References
    ----------
    Wang et al. 2018, Algorithm 2; privacy specification 5.2 and 5.3.
    """

    name: ClassVar[str] = "public-subset"

    @field_validator("shares")
    @classmethod
    def _leave_something(cls, value: dict[str, float] | None) -> dict[str, float] | None:
        if sum({"validation": VALIDATION_SHARE, **(value or {})}.values()) >= 1:
            raise ValueError(
                "shares must leave something for the counts, but with that of validation they add up to 1 or more."
            )
        return value

    @field_validator("sizes")
    @classmethod
    def _sizes_differ(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if value is not None and (not value or len(set(value)) < len(value)):
            raise ValueError("sizes must be different numbers, at least one.")
        return value

    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> Preparation:
        """Check the request, choose the public points and calibrate the noise, without any private data.

        Parameters
        ----------
        metadata : Metadata
            What is public about the private table.
        target : str
            Numeric.
        candidates : sequence of str, optional
            The other columns; default all listed ones.

        Returns
        -------
        Preparation
            The cost, the noise, and a `run`.

        Raises
        ------
        InvalidParameterError
            When sizes, losses or the contrast do not fit.
        """
        if self.as_published:
            return PreparedPublished(self, self.sizes, metadata, target, candidates)
        return PreparedSubset(self, metadata, target, candidates)


@dataclass(frozen=True)
class Candidate:
    """An estimate to choose: post-processing of what was measured.

    Parameters
    ----------
    record : CandidateRecord
        What it is called.
    theta : ndarray of float
        Parameters.
    places : ndarray of int64
        Places of the public points that it rests on; none for one that rests on none.
    weights : ndarray of float
        Of these points.
    """

    record: CandidateRecord
    theta: Floats
    places: Integers
    weights: Floats


class PreparedSubset(PreparedPoints):
    """A request of `PublicSubset` with its noise fixed.

    Parameters
    ----------
    method : PublicSubset
        The parameters.
    metadata : Metadata
        Of the private table.
    target : str
        Numeric.
    candidates : sequence of str or None
        The other columns.
    """

    def __init__(self, method: PublicSubset, metadata: Metadata, target: str, candidates: Sequence[str] | None) -> None:
        self.method = method
        epsilon = exact_epsilon(method.epsilon)
        shares = {"validation": VALIDATION_SHARE, **(method.shares or {})}
        parts = {name: epsilon * exact(share, f"shares[{name!r}]") for name, share in shares.items()}
        super().__init__(method, metadata, target, candidates, epsilon - sum(parts.values(), Fraction(0)))
        if not self.objective.predicts:
            raise InvalidParameterError(
                "A contrast of your own makes no predictions to choose by. Use an estimate on one set of weights."
            )
        if method.loss == "log" and self.objective.name != "logistic":
            raise InvalidParameterError("The loss log is for a logistic contrast. Use loss squared.")
        self.grid = None
        if "histogram" in parts:
            grid = GridPoints.of(self.points.design, metadata, parts["histogram"], method.n0)
            self.grid = Counts(metadata, parts["histogram"], self.points.design, grid.cells)
        self.sizes = self._sizes()
        self.n_candidates = 2 + len(method.ridges) * (len(self.sizes) or len(DOUBTS)) + (self.grid is not None)
        self.choosing = self._choosing(parts["validation"])
        estimates = [self.measuring] + ([] if self.grid is None else [self.grid.part("histogram", "rows")])
        self.event: Event = events_of(*(part.event for part in estimates), self.choosing.event)
        self.noise = self.choosing.noise
        self.steps = (*(part.record() for part in estimates), self.choosing.record())
        self.parameters["sizes"] = list(self.sizes)

    def _sizes(self) -> tuple[int, ...]:
        """Increasing; of margins none, as all points keep their weights."""
        if not isinstance(self.measure, Counts):
            if self.method.sizes is not None:
                raise InvalidParameterError("sizes are for counts: margins weight all public points. Leave one out.")
            return ()
        most = len(self.places)
        if self.method.sizes is not None:
            if max(self.method.sizes) > most:
                raise InvalidParameterError(
                    f"sizes must be at most the {most} public points that are counted beside, but one is "
                    f"{max(self.method.sizes)}. Give a larger n_points, or smaller sizes."
                )
            return tuple(sorted(self.method.sizes))
        return tuple(sorted({max(most >> step, min(most, 2)) for step in range(SIZES)}))

    def _choosing(self, epsilon: Fraction) -> Part:
        metadata, noise = self.metadata, NOISE_OF_MECHANISM[self.method.mechanism]
        n_rows_changed = 2 if metadata.neighboring is NeighboringRelation.REPLACE_ONE else 1
        self.range = n_rows_changed * metadata.rows_per_unit * LOSS_ONE
        factor = "2 x " if n_rows_changed == 2 else ""
        box = NoiseRecord(
            mechanism=self.method.mechanism,
            noise=noise,
            n_candidates=self.n_candidates,
            sensitivity=self.range / LOSS_ONE,
            scale=float(self.range / epsilon) / LOSS_ONE,
            unit="rows predicted as wrongly as can be",
            formula=f"{factor}{metadata.rows_per_unit}, rows of one unit, losses from 0 to 1",
            numerics="exact draw; losses are whole steps",
            claim=CLAIM,
        )
        self.choice_epsilon = epsilon
        return Part("validation", SelectionEvent(epsilon, noise), box)

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Measure, estimate on every subset for free, rate all estimates on the rows, choose one after noise.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Called for work whose length is public.

        Returns
        -------
        Outcome
            The chosen estimate, and its weighted points.

        Notes
        -----
        Claim: ``public_subset.privacy.md``. Cost: two passes over the private rows, three with a histogram, and a
        minimum on public points for each candidate.
        """
        twins = self.twins(progress)
        noisy = self.measure.draw(table, rng, progress)
        candidates = self._candidates(noisy, progress)
        if self.grid is not None:
            candidates.append(self._of_grid(self.grid.draw(table, rng, progress)))
        losses = self._losses(
            table, np.array([self.objective.per_half_range(candidate.theta) for candidate in candidates]), progress
        )
        noise = NOISE_OF_MECHANISM[self.method.mechanism]
        chosen = noisy_min(losses + self._leaning(candidates), self.range, self.choice_epsilon, rng, noise)
        best = candidates[chosen]
        records = [
            candidate.record.model_copy(update={"chosen": place == chosen})
            for place, candidate in enumerate(candidates)
        ]
        return Outcome(
            selected=tuple(self.candidates),
            noise=self.noise,
            steps=self.steps,
            fit=self.objective.record(best.theta),
            hybrid=HybridRecord(
                points=self.weighted(noisy, best.places, best.weights),
                public_only=self.objective.record(self.public_theta),
                candidates=tuple(records),
                twins=twins,
            ),
        )

    def _leaning(self, candidates: Sequence[Candidate]) -> Integers:
        """Public steps added to the losses: the log of the odds, in units of the noise."""
        sizes = [candidate.record.n_points or 0 for candidate in candidates]
        favored = sizes.index(max(self.sizes), 2) if self.sizes else 2
        advantage = float(self.range / self.choice_epsilon) * math.log(LEAN * max(len(candidates) - 1, 1))
        return np.where(np.arange(len(candidates)) == favored, 0, round(min(advantage, MOST_LEAN))).astype(np.int64)

    def _candidates(self, noisy: Any, progress: Progress | None) -> list[Candidate]:
        """All of them but the histogram, in an order that the sizes and ridges fix."""
        none = np.zeros(0, dtype=np.int64)
        candidates = [
            Candidate(CandidateRecord(name="no effect", n_points=0), self.objective.nothing(), none, np.zeros(0)),
            self._public_only(),
        ]
        if isinstance(self.measure, Counts):
            subsets = self._subsets(noisy, self.measure)
        else:
            subsets = [
                (f"margins, trust x {doubt:g}", self.places, self.measure.weights(noisy, doubt)) for doubt in DOUBTS
            ]
        for name, places, weights in subsets:
            X, y = self.X[places], self.y[places]
            theta: Floats | None = None
            for ridge in sorted(self.method.ridges):
                theta = self.objective.minimize(X, y, weights, ridge, theta)
                record = CandidateRecord(name=f"{name}, ridge {ridge:g}", n_points=len(places), ridge=ridge)
                candidates.append(Candidate(record, theta, places, weights))
            if progress is not None:
                progress("Estimating on public points", 1, len(subsets))
        return candidates

    def _public_only(self) -> Candidate:
        record = CandidateRecord(name="public records alone", n_points=len(self.points), ridge=self.method.ridge)
        weights = self.points.records.astype(np.float64)
        return Candidate(record, self.public_theta, np.arange(len(self.points)), weights)

    def _subsets(self, noisy: Integers, measure: Counts) -> list[tuple[str, Integers, Floats]]:
        """Points dropped give their signed noisy counts to the nearest kept: one measure serves all sizes."""
        numeric = len(measure.design.numeric)
        order = np.argsort(-noisy, kind="stable")
        if self.method.order == "farthest":
            order = farthest_first(measure.cells, numeric, len(measure.cells))[0]
        subsets = []
        for size, nearest in zip(self.sizes, merge_sequence(measure.cells, numeric, order, self.sizes), strict=True):
            places = np.sort(order[:size])
            totals = np.zeros(len(noisy), dtype=np.int64)
            np.add.at(totals, nearest, noisy)
            subsets.append((f"{size} points", self.places[places], measure.weights(totals[places])))
        return subsets

    def _of_grid(self, noisy: Integers) -> Candidate:
        grid = self.grid
        if grid is None:
            raise InvalidParameterError("A histogram must have a share of epsilon.")
        X, y = self.objective.points(grid.cells)
        theta = self.objective.minimize(X, y, grid.weights(noisy), self.method.ridge)
        record = CandidateRecord(name="histogram", n_points=0, ridge=self.method.ridge)
        return Candidate(record, theta, np.zeros(0, dtype=np.int64), np.zeros(0))

    def _losses(self, table: Table, models: Floats, progress: Progress | None) -> Integers:
        """The sum over rows of each model's bounded loss, in whole steps: exact."""
        design = self.points.design
        if self.objective.is_location:
            models = models[:, :1]
        tables = self.objective.losses(models, self.method.log_clip if self.method.loss == "log" else None)
        terms: Callable[[Cells], Cells] = design.terms
        if self.objective.is_location:
            terms = _constant

        def work(cells: Cells) -> Integers:
            return tables.sums(terms(cells), cells[:, design.target_place])

        return table.map_reduce(design, work, np.zeros(len(models), dtype=np.int64), rows_progress(progress, table))


def _constant(cells: Cells) -> Cells:
    return np.full((len(cells), 1), GRID, dtype=np.int16)
