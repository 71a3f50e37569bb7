"""Selections from noisy moments on simulated tables: the same model in less time, or nearly."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from discreet.data.engine import Table
from discreet.kernels.subsets.best_subsets import project, search_subsets, stepwise_models
from discreet.kernels.sufficient_statistics.cleaning import CleanGram, cleaned
from discreet.kernels.sufficient_statistics.selection import Penalty
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Outcome, Progress
from discreet.methods.moments.fission import FISSION, parts_of
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.methods.moments.noisy_moments import PreparedMoments
from discreet.typing import Bools, Floats

MOST_UNITS = 10
"""Of up to so many columns all models are looked at, which needs no compiler."""

MOST_SEARCHED, MOST_WORK = 64, 1e3
"""Columns that are searched, and multiplications after which that ends; among more, stepwise regression upward."""

LEAST_EIGENVALUE = 1e-9
"""Of correlations whose columns can be taken out one by one."""

SIZES = (16, 48)
"""Of models among more columns, by steps; of all sizes only where the largest is the best."""


class CachedMoments(PreparedMoments):
    """A request of `NoisyMoments` that returns the selected columns alone.

    Notes
    -----
    Noise and selection are those of `PreparedMoments`, from the same words of a source; among many columns a search
    that ends early, or stepwise regression, nearly always selects the same columns. Left out is what a plan does not
    need: the best models of each size and their R^2.
    """

    @cached_property
    def release_key(self) -> str:
        """All that decides the released moments: requests that differ in their penalty alone read one release."""
        facts = {name: value for name, value in self.parameters.items() if name not in ("model_penalty", "max_false")}
        return repr((facts, self.sums.design.candidates))

    def released(self, table: Table, rng: Source) -> "ReadMoments":
        """Draw moments, to be read under any penalty."""
        tuned = self._tuned(table, rng)
        sums = self.sums.under(tuned.setting.design)
        record = sums.draw(tuned.moments, self.estimates, self.budget, rng)
        selects_by_part = self.parameters.get("selective_inference") == FISSION
        return ReadMoments(parts_of(self.method.divided(record, rng), FISSION)[0] if selects_by_part else record)

    def read(self, released: "ReadMoments") -> tuple[str, ...]:
        """Return the columns that its penalty selects from released moments."""
        return released.under(self.method.model_penalty, self.method.max_false)  # type: ignore[attr-defined]

    @override
    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        return Outcome(self.read(self.released(table, rng)), self.noise)


class ReadMoments(MomentAnswers):
    """The model that `MomentAnswers.select` finds, by a look at all of them; among many columns nearly always."""

    def under(self, penalty: Penalty, max_false: float | None = None) -> tuple[str, ...]:
        """Columns of the best model under a penalty."""
        penalties = self.penalties(penalty, self._units, max_false)
        sums = self._misfits
        if sums is None:
            return self._best(penalties)
        bits = _models(len(self._units))
        inside = bits[int((sums + bits @ penalties).argmin())]
        return tuple(name for name, is_inside in zip(self.candidates, inside, strict=True) if is_inside)

    def _best(self, penalties: Floats) -> tuple[str, ...]:
        """Columns of the best of good models of each size; larger ones are looked at where the largest is the best."""
        d, variance = len(self.candidates), self._weighted.residual_variance
        for size in sorted({min(size, d) for size in (*SIZES, d)}):
            sums, models = self._of_sizes(size)
            criteria = sums / variance + models @ penalties
            place = int(criteria.argmin())
            if place + 1 < size:
                break
        if criteria[place] >= self._empty / variance:
            return ()
        return tuple(name for name, is_inside in zip(self.candidates, models[place], strict=True) if is_inside)

    def _of_sizes(self, max_size: int) -> tuple[Floats, Bools]:
        """Good models of each size, the same for all penalties."""
        if max_size not in self._steps:
            facts = (*self._weighted[:3], self._units, self._owned((None,)), max_size)
            if len(self.candidates) <= MOST_SEARCHED:
                search = search_subsets(*facts, most_work=MOST_WORK)
                self._steps[max_size] = search.rss[:, 0], search.models[:, 0]
            else:
                self._steps[max_size] = stepwise_models(*facts)
        return self._steps[max_size]

    @cached_property
    def _steps(self) -> dict[int, tuple[Floats, Bools]]:
        return {}

    @cached_property
    def _empty(self) -> float:
        """Residual sum of squares without any candidate."""
        gram, xty, yty = self._weighted[:3]
        moments = np.block([[gram, xty[:, None]], [xty[None, :], np.array([[yty]])]])
        return max(float(project(moments, self._owned((None,)))[-1, -1]), 0.0)

    @cached_property
    def _units(self) -> npt.NDArray[np.bool_]:
        place = {name: j for j, name in enumerate(self.candidates)}
        units = np.zeros((len(self.candidates), len(self._owners)), dtype=np.bool_)
        for j, owner in enumerate(self._owners):
            if owner is not None:
                units[place[owner], j] = True
        return units

    @cached_property
    @override
    def _whole(self) -> CleanGram:
        return cleaned(self._moments, self.constant, self.dummies, is_quick=True)

    @cached_property
    def _misfits(self) -> Floats | None:
        """What each model leaves, in units of chi-squared; None where a search or exact elimination is needed."""
        if len(self.candidates) > MOST_UNITS:
            return None
        moments = self._weighted
        size = np.sqrt(np.maximum(moments.gram.diagonal(), 1e-300))
        gram, side = moments.gram / size[:, None] / size[None, :], moments.xty / size
        if float(np.linalg.eigvalsh(gram)[0]) < LEAST_EIGENVALUE:
            return None
        always = self._owned((None,))
        order = np.argsort(np.where(always, -1, self._units.argmax(axis=0)), kind="stable")
        whole = np.block([[gram, side[:, None]], [side[None, :], np.array([[moments.yty]])]])
        whole = whole[np.ix_(np.append(order, len(gram)), np.append(order, len(gram)))]
        sums = _residuals(whole, int(always.sum()), self._units.sum(axis=1).tolist())
        return np.maximum(sums, 0.0) / moments.residual_variance


def _residuals(moments: Floats, n_always: int, widths: Sequence[int]) -> Floats:
    """Residual sums of squares of all models, in the order of `_models`: each unit's columns taken out, or left.

    Shapes: moments (p + 1, p + 1), the columns of all models first, then unit by unit, the target last.
    """
    sums = moments[np.newaxis]
    for _ in range(n_always):
        sums = _taken_out(sums)
    for width in widths:
        inside = sums
        for _ in range(width):
            inside = _taken_out(inside)
        sums = np.concatenate([sums[:, width:, width:], inside])
    return np.asarray(sums[:, 0, 0])


def _taken_out(moments: Floats) -> Floats:
    """Moments of what the first column leaves of the others. Shapes: (m, p, p); returns (m, p - 1, p - 1)."""
    return np.asarray(moments[:, 1:, 1:] - moments[:, 1:, :1] * (moments[:, :1, 1:] / moments[:, :1, :1]))


def _models(n_units: int) -> npt.NDArray[np.int64]:
    return np.asarray((np.arange(2**n_units)[:, None] >> np.arange(n_units)) & 1, dtype=np.int64)


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
    return CachedMoments(method, prepared.sums, prepared.tuning, prepared.whole)
