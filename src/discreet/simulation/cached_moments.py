"""Selections from noisy moments on simulated tables: the same model in less time, or nearly."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from discreet.data.engine import Table
from discreet.kernels.sufficient_statistics.selection import Penalty, best_models
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Outcome, Progress
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.methods.moments.noisy_moments import PreparedMoments
from discreet.methods.subset_selection.tuning import estimate_privately
from discreet.typing import Floats

MOST_UNITS = 10
"""Of up to so many columns all models are looked at, which needs no compiler."""

MOST_WORK = 1e6
"""Multiplications of a search among more: a plan draws hundreds of releases, and the best model is found first."""


class CachedMoments(PreparedMoments):
    """A request of `NoisyMoments` that returns the selected columns alone.

    Notes
    -----
    Noise and selection are those of `PreparedMoments`, from the same words of a source; among many columns the search
    ends earlier. Left out is what a plan does not need: the best models of each size and their R^2.
    """

    @override
    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        tuned = estimate_privately(self.tuning, table, rng)
        sums = replace(self.sums, design=tuned.setting.design)
        record = sums.draw(tuned.moments, self.estimates, self.budget, rng)
        method = self.method
        answers = _Selection(record, MOST_WORK)
        if not isinstance(method, NoisyMoments):  # never: see `cached_moments`
            return Outcome(noise=self.noise, **method.outcome(record, self.sums.design.candidates))
        selected = (
            answers.selected(method.model_penalty, method.max_false) if len(answers.candidates) <= MOST_UNITS else None
        )
        if selected is None:
            selected = answers.searched(method.model_penalty, method.max_false)
        return Outcome(selected, self.noise)


class _Selection(MomentAnswers):
    """The model that `MomentAnswers.select` finds, by a look at all of them."""

    def searched(self, penalty: Penalty, max_false: float | None) -> tuple[str, ...]:
        """Columns of the best model that a search finds, without the best of the other sizes."""
        units = np.array([self._owned((name,)) for name in self.candidates], dtype=np.bool_)
        penalties = self.penalties(penalty, units, max_false)
        best = best_models(self._weighted, units, self._owned((None,)), penalties, None, self.most_work)
        return tuple(name for j, name in enumerate(self.candidates) if best.mask >> j & 1)

    def selected(self, penalty: Penalty, max_false: float | None) -> tuple[str, ...] | None:
        """Columns of the best model; None where the moments are too close to singular for plain elimination."""
        units = np.array([self._owned((name,)) for name in self.candidates], dtype=np.bool_)
        always = self._owned((None,))
        penalties = self.penalties(penalty, units, max_false)
        bits = (np.arange(2 ** len(units))[:, None] >> np.arange(len(units))) & 1
        models = (bits @ units.astype(np.int64) > 0) | always
        sums = _residuals(self._weighted.gram, self._weighted.xty, self._weighted.yty, models)
        if sums is None:
            return None
        best = int((np.maximum(sums, 0.0) / self._weighted.residual_variance + bits @ penalties).argmin())
        return tuple(name for name, inside in zip(self.candidates, bits[best], strict=True) if inside)


def _residuals(gram: Floats, xty: Floats, yty: float, models: npt.NDArray[np.bool_]) -> Floats | None:
    """Residual sums of squares of models; None where one of them cannot be had exactly."""
    size = np.sqrt(np.maximum(gram.diagonal(), 1e-300))
    scaled = gram / size[:, None] / size[None, :]
    if float(np.linalg.eigvalsh(scaled)[0]) < 1e-9:
        return None
    side = xty / size
    grams = np.where(models[:, :, None] & models[:, None, :], scaled, np.eye(len(xty)))
    sides = np.where(models, side, 0.0)
    coef = np.linalg.solve(grams, sides[:, :, None])[:, :, 0]
    return np.asarray(yty - (sides * coef).sum(axis=1), dtype=np.float64)


def cached_moments(prepared: PreparedMoments) -> PreparedMoments:
    """Return a plain selection from moments that takes less time and selects the same columns; any other request
    itself.
    """
    method = prepared.method
    if type(prepared) is not PreparedMoments or not isinstance(method, NoisyMoments):
        return prepared
    plain = not (method.forced or method.groups or method.fit) and method.max_size is None
    if not plain:
        return prepared
    return CachedMoments(method, prepared.sums, prepared.tuning, prepared.budget)
