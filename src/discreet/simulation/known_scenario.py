"""Tables whose columns are as public moments say: means, deviations, skewness, and how they go together."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri
from typing_extensions import override

from discreet.data.metadata import NumericColumn, half_width
from discreet.mechanisms.rng import Source
from discreet.parameters.public_moments import PublicMoments
from discreet.simulation.drawn_columns import derive
from discreet.simulation.draws import normals
from discreet.simulation.scenario import Scenario
from discreet.typing import Floats

SKEW_OF_LOG, MOST_LOG = 3.3, 0.6
"""Skewness of a lognormal number over the standard deviation of its logarithm, where that is small; and its most."""


@dataclass(frozen=True)
class KnownScenario(Scenario):
    """A scenario of columns with known moments: lognormal ones, more or less, or cut normal ones of two values.

    Parameters
    ----------
    known : PublicMoments, optional
        Of all candidates. Categories have their levels as often as is known, and go with nothing.
    """

    known: PublicMoments | None = None

    @override
    def _scores(self, rng: Source, n_rows: int) -> Floats:
        if self.known is None:
            return super()._scores(rng, n_rows)
        place_of = {label: place for place, label in enumerate(self.known.labels)}
        numeric = [name for name in self.candidates if name in place_of]
        at = [place_of[name] for name in numeric]
        latent = normals(rng, n_rows, len(self.candidates))
        covariance = np.array(self.known.covariance)[np.ix_(at, at)]
        sds = np.sqrt(np.maximum(covariance.diagonal(), 1e-300))
        values, vectors = np.linalg.eigh(covariance / np.outer(sds, sds))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        together = dict(zip(numeric, (latent[:, : len(numeric)] @ root.T).T, strict=True))
        scores = np.empty_like(latent)
        for j, name in enumerate(self.candidates):
            column = self.metadata.declared(name)
            if isinstance(column, NumericColumn):
                middle, half = half_width(column)
                cells = self._values(place_of[name], together[name], column.type == "integer" and half == 0.5)
                cells = np.rint(cells) if column.type == "integer" else cells
                scores[:, j] = np.clip((cells - middle) / half, -1.0, 1.0)
            else:
                levels = column.levels or ()
                ends = np.cumsum([max(self.known.means[place_of[f"{name}={level}"]], 0.0) for level in levels])
                place = np.searchsorted(ends / max(ends[-1], 1e-300), ndtr(latent[:, j]))
                scores[:, j] = np.minimum(place, len(levels) - 1) / max(len(levels) - 1, 1)
        derive(scores, self.candidates, self.metadata, rng)
        return scores

    def _values(self, place: int, latent: Floats, is_two_valued: bool) -> Floats:
        """Return the cells of a numeric column, in its unit."""
        known = self.known
        if known is None:
            return latent
        mean, sd = known.means[place], math.sqrt(max(known.covariance[place][place], 0.0))
        if is_two_valued:
            low = math.floor(mean)
            is_high = latent > -float(ndtri(min(max(mean - low, 1e-9), 1.0 - 1e-9)))
            return low + is_high.astype(np.float64)
        skewness = 0.0 if known.skewness is None else known.skewness[place]
        log_sd = min(abs(skewness) / SKEW_OF_LOG, MOST_LOG)
        if log_sd < 0.05:
            return mean + sd * latent
        side = math.copysign(1.0, skewness)
        raised = np.exp(side * log_sd * latent - log_sd**2 / 2.0) - 1.0
        return mean + sd * side * raised / math.sqrt(math.expm1(log_sd**2))
