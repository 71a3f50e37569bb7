"""Constrained least squares on simulated tables: scores are computed once a table, noise is drawn again and again."""

import copy
from functools import cached_property
from typing import Any

import numpy as np
from typing_extensions import override

from discreet.data.engine import Table
from discreet.kernels.subsets.l1_ball import solve_on_l1_ball
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.kernels.subsets.subsets import constrained_scores
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noisy_min
from discreet.methods.base.method import Outcome, Preparation, Progress
from discreet.methods.base.public_check import LookedAt
from discreet.methods.moments.noisy_moments import PreparedMoments
from discreet.methods.screening.decorrelated_scores import PreparedScores
from discreet.methods.screening.first_screening import ScreenedScores
from discreet.methods.screening.sis import PreparedScreening
from discreet.methods.subset_selection.calibration import Calibration
from discreet.methods.subset_selection.pcls import PreparedLeastSquares
from discreet.methods.subset_selection.setting import Setting
from discreet.methods.subset_selection.tuning import Tuned, estimate_privately
from discreet.simulation.cached_moments import cached_moments
from discreet.simulation.cached_threshold import cached_scores, cached_threshold
from discreet.simulation.simulated_table import SimulatedTable, design_key
from discreet.typing import Floats, Masks

MOST_MODELS = 2**12
"""Up to this many are scored; a lazy search is faster beyond."""

COMPILED_FROM = 2**10
"""From this many on, compiled code scores them: once it is on disk, a twentieth of the time."""

FEW_MODELS = 2**6
"""Up to this many are solved at once, rather than size by size."""

LEAST_RIDGE = 1e-13
"""Of the mean of a matrix's diagonal: no score moves by what its tolerance would notice."""


class CachedLeastSquares(PreparedLeastSquares):
    """A request of `PenalizedLeastSquares` whose scores a simulated table remembers.

    Notes
    -----
    Neither epsilon nor the penalty changes the residual sums of squares: they serve all epsilons. The law of what is
    selected is that of `PreparedLeastSquares`; the words it takes from a source are not.
    """

    @override
    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        if not isinstance(table, SimulatedTable):
            return super().run(table, rng, progress)
        tuned = estimate_privately(self.tuning, table, rng)
        calibration = self._of(tuned) if self.tuning.budget else self.calibration
        masks = table.cached(("masks", self.candidates), self.space.masks)
        counted = table.cached(("counted", self.candidates), lambda: tuned.setting.counted(masks))
        scores = self._sums(table, tuned, float(calibration.tolerance)) + float(calibration.penalty) * counted
        gamma = calibration.gamma + calibration.inflation
        chosen = int(masks[noisy_min(scores, gamma, calibration.epsilon, rng, calibration.noise)])
        return Outcome(self.space.names(chosen), self.noise)

    def _of(self, tuned: Tuned) -> Calibration:
        """The calibration of private estimates, which lie on a grid, so that the same ones come again."""
        key = (*design_key(tuned.setting.design), tuned.setting.radius, tuned.sigma2, tuned.n_rows)
        if key not in self._calibrations:
            self._calibrations[key] = self._tuned(tuned)
        return self._calibrations[key]

    @cached_property
    def _calibrations(self) -> dict[Any, Calibration]:
        return {}

    def _sums(self, table: SimulatedTable, tuned: Tuned, tolerance: float) -> Floats:
        setting: Setting = tuned.setting
        masks = table.cached(("masks", self.candidates), self.space.masks)

        def computed() -> Floats:
            problem = setting.problem(tuned.moments, tolerance)
            if len(masks) >= COMPILED_FROM:
                return constrained_scores(problem, masks, compiled=True)[0]
            sums = _inside(problem, masks)
            unsolved = np.isnan(sums)
            if 0 < unsolved.sum() <= FEW_MODELS:
                columns = problem.columns(masks[unsolved])
                start = np.zeros(columns.shape, dtype=np.int8)
                values, gaps, _ = solve_on_l1_ball(problem.gram, problem.xty, problem.radius, columns, start, tolerance)
                sums[unsolved] = np.where(gaps <= tolerance, np.maximum(problem.yty + values, 0.0), np.nan)
                unsolved = np.isnan(sums)
            if unsolved.any():
                sums[unsolved] = setting.scores(tuned.moments, masks[unsolved], tolerance)
            return sums

        key = ("scores", *design_key(setting.design), setting.ratio, setting.intercept)
        sums: Floats = table.cached(key, computed)
        return sums


def _inside(problem: SubsetProblem, masks: Masks) -> Floats:
    """Residual sums of squares of models whose least squares lie inside the l1 ball; NaN of the others."""
    gram, xty, yty, radius, units, always, _ = problem
    p, none = len(xty), np.full(len(masks), np.nan)
    bits = (masks[:, None] >> np.arange(len(units), dtype=np.uint64)) & np.uint64(1)
    columns = (bits.astype(np.int64) @ units.astype(np.int64) > 0) | always
    scale = max(float(np.trace(gram)) / p, 1.0)
    grams = np.where(columns[:, :, None] & columns[:, None, :], gram, np.eye(p) * scale)
    sides = np.where(columns, xty, 0.0)
    try:
        # A constant beside all levels of a category leaves a direction free: the least ridge decides it.
        coef = np.linalg.solve(grams + np.eye(p) * (LEAST_RIDGE * scale), sides[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return none
    gradient = np.abs(np.einsum("mij,mj->mi", grams, coef) - sides).max(axis=1)
    exact = gradient <= 1e-9 * max(float(np.abs(xty).max()), 1.0)  # of a convex function: its minimum
    return np.where(exact & (np.abs(coef).sum(axis=1) <= radius), yty - (sides * coef).sum(axis=1), np.nan)


def cached_preparation(prepared: Preparation) -> Preparation:
    """Return a request that selects by the same law in less time, or itself where there is none."""
    if isinstance(prepared, LookedAt):
        return LookedAt(prepared.look, cached_preparation(prepared.used), cached_preparation(prepared.bought))
    if isinstance(prepared, PreparedMoments):
        return cached_moments(prepared)
    if isinstance(prepared, PreparedScreening):
        return cached_threshold(_untested(prepared))
    if isinstance(prepared, PreparedScores | ScreenedScores):
        return cached_scores(prepared)
    if type(prepared) is not PreparedLeastSquares or prepared.method.as_published:
        return prepared
    space = prepared.space
    plain = not (space.must_be_listed or space.forced or prepared.method.groups or space.listed is not None)
    if not plain or prepared.method.max_size is not None or space.n_models > MOST_MODELS:
        return prepared
    return CachedLeastSquares(prepared.method, prepared.setting, prepared.tuning)


def _untested(prepared: PreparedScreening) -> PreparedScreening:
    """The same choice, at what the noise test leaves of epsilon, without the test, which selects nothing."""
    if prepared.test is None:
        return prepared
    quick = copy.copy(prepared)
    quick.test = None
    return quick
