"""M-estimates on a noisy histogram: private records alone (Lei 2011)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.accounting.guarantee import exact_epsilon
from discreet.data.engine import Table
from discreet.data.hybrid_design import HybridDesign
from discreet.data.metadata import Metadata
from discreet.mechanisms.rng import Source
from discreet.methods.base.candidates import public_candidates
from discreet.methods.base.method import Outcome, Preparation, Progress
from discreet.methods.base.request_facts import not_protected
from discreet.methods.public_records.grid_points import GridPoints
from discreet.methods.public_records.m_estimation import MEstimation
from discreet.methods.public_records.measures import Counts
from discreet.parameters.public_records import HistogramParameters
from discreet.release import HybridRecord, PublicColumn


class Histogram(HistogramParameters, MEstimation):
    """A contrast's minimum on the middles of a public grid's cells, weighted by noisy counts of them all.

    References
    ----------
    Lei 2011; privacy specification 5.5.
    """

    name: ClassVar[str] = "histogram"

    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> "PreparedHistogram":
        """Check the request, lay the grid and calibrate the noise, without any data.

        Parameters
        ----------
        metadata : Metadata
            With bounds of every column.
        target : str
            Numeric.
        candidates : sequence of str, optional
            The other columns; default all declared ones.

        Returns
        -------
        PreparedHistogram
            The cost, the noise, and a `run`.

        Raises
        ------
        MetadataError
            When a column lacks bounds or levels.
        InvalidParameterError
            When there would be too many cells, or the target does not fit the contrast.
        """
        design = HybridDesign.plan(metadata, target, candidates)
        return PreparedHistogram(self, design, exact_epsilon(self.epsilon))


class PreparedHistogram(Preparation):
    """A request of `Histogram` with its noise fixed.

    Parameters
    ----------
    method : Histogram
        The parameters.
    design : HybridDesign
        Declared bounds and levels.
    epsilon : Fraction
        In nats.
    """

    columns: Sequence[str]

    def __init__(self, method: Histogram, design: HybridDesign, epsilon: Fraction) -> None:
        self.method, metadata = method, design.metadata
        self.columns, self.target, self.candidates = design.columns, design.target, design.candidates
        grid = GridPoints.of(design, metadata, epsilon, method.n0, method.bins)
        self.counts = Counts(metadata, epsilon, design, grid.cells)
        self.objective = method.objective(design, grid.cells, np.ones(len(grid.cells)))
        part = self.counts.part("counts", "rows")
        self.event, self.noise = part.event, part.noise
        parameters: dict[str, Any] = {
            **method.release_parameters(),
            "bins": dict(grid.bins),
            "n_cells": len(grid.cells),
        }
        if self.objective.name != "own":
            parameters["contrast"] = self.objective.name
        self.parameters = parameters
        self.public: tuple[PublicColumn, ...] = public_candidates(metadata, design.target, design.candidates)
        self.not_protected = not_protected(metadata)

    @property
    def is_proved(self) -> bool:  # type: ignore[override]
        """False for a contrast of one's own: code without a proof runs beside the rows."""
        return self.objective.predicts

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Count the rows of every cell, add noise, weight the cells' middles, minimize.

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
            Coefficients.

        Notes
        -----
        Claim: ``histogram.privacy.md``. Cost: one pass, and 10 microseconds a cell for exact noise.

        References
        ----------
        Lei 2011; privacy specification 5.5.
        """
        noisy = self.counts.draw(table, rng, progress)
        X, y = self.objective.points(self.counts.cells)
        theta = self.objective.minimize(X, y, self.counts.weights(noisy), self.method.ridge)
        return Outcome(
            selected=tuple(self.candidates),
            noise=self.noise,
            fit=self.objective.record(theta),
            hybrid=HybridRecord(),
        )
