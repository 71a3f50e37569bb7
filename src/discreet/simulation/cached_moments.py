"""Selections from noisy moments on simulated tables: the same model in less time, or nearly."""

from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from discreet.data.engine import Table
from discreet.kernels.sufficient_statistics.selection import Penalty, best_models
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Outcome, Progress
from discreet.methods.moments.fission import FISSION, parts_of
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

    @cached_property
    def release_key(self) -> str:
        """All that decides the released moments: requests that differ in their penalty alone read one release."""
        facts = {name: value for name, value in self.parameters.items() if name not in ("model_penalty", "max_false")}
        return repr((facts, self.sums.design.candidates))

    def released(self, table: Table, rng: Source) -> "ReadMoments":
        """Draw moments, to be read under any penalty."""
        tuned = estimate_privately(self.tuning, table, rng)
        sums = replace(self.sums, design=tuned.setting.design)
        record = sums.draw(tuned.moments, self.estimates, self.budget, rng)
        selects_by_part = self.parameters.get("selective_inference") == FISSION
        return ReadMoments(
            parts_of(self.method.divided(record, rng), FISSION)[0] if selects_by_part else record, MOST_WORK
        )

    def read(self, released: "ReadMoments") -> tuple[str, ...]:
        """Return the columns that its penalty selects from released moments."""
        return released.under(self.method.model_penalty, self.method.max_false)  # type: ignore[attr-defined]

    @override
    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        return Outcome(self.read(self.released(table, rng)), self.noise)


class ReadMoments(MomentAnswers):
    """The model that `MomentAnswers.select` finds, by a look at all of them."""

    def under(self, penalty: Penalty, max_false: float | None = None) -> tuple[str, ...]:
        """Columns of the best model under a penalty."""
        penalties = self.penalties(penalty, self._units, max_false)
        sums = self._misfits
        if sums is None:
            best = best_models(self._weighted, self._units, self._owned((None,)), penalties, None, self.most_work)
            return tuple(name for j, name in enumerate(self.candidates) if best.mask >> j & 1)
        bits = _models(len(self._units))
        inside = bits[int((sums + bits @ penalties).argmin())]
        return tuple(name for name, is_inside in zip(self.candidates, inside, strict=True) if is_inside)

    @cached_property
    def _units(self) -> npt.NDArray[np.bool_]:
        return np.array([self._owned((name,)) for name in self.candidates], dtype=np.bool_)

    @cached_property
    def _misfits(self) -> Floats | None:
        """What each model leaves, in units of chi-squared; None where a search or exact elimination is needed."""
        if len(self.candidates) > MOST_UNITS:
            return None
        models = (_models(len(self._units)) @ self._units.astype(np.int64) > 0) | self._owned((None,))
        sums = _residuals(self._weighted.gram, self._weighted.xty, self._weighted.yty, models)
        return None if sums is None else np.maximum(sums, 0.0) / self._weighted.residual_variance


def _models(n_units: int) -> npt.NDArray[np.int64]:
    return np.asarray((np.arange(2**n_units)[:, None] >> np.arange(n_units)) & 1, dtype=np.int64)


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
