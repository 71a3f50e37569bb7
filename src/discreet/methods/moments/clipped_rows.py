"""How many rows' target was clipped, as far as the release tells, and what that may have done to slopes."""

import math
from fractions import Fraction

from discreet.data.bound_grid import bound_grid
from discreet.kernels.rows.target_places import CLIPS
from discreet.mechanisms.quantile import rank_sensitivity
from discreet.methods.base.private_bounds import sides_of
from discreet.methods.subset_selection.tuning_plan import Tuning
from discreet.release import ClippedRecord

CHANCE = 0.05
"""That more rows were clipped than is told."""

SCALES = 3.0
"""By which a private quantile seldom lies too far inside, in scales of its noise."""


def clipped_rows(tuning: Tuning, counted: int | None, n_rows: float, is_unbent: bool) -> ClippedRecord | None:
    """Return how many rows were clipped, from what was released; None where bounds are declared and nobody counted.

    A private clip that was not placed to bend no slope, and a count, make intervals longer by the share of rows.
    """
    if counted is not None:
        scale = tuning.metadata.rows_per_unit / float(tuning.budget["clipped"])
        margin = scale * math.log(1.0 / CHANCE)  # each side has half of CHANCE: a Laplace tail is half of exp(-t)
        high = min(max(counted, 0) + margin, n_rows)
        return ClippedRecord(low=max(min(counted - margin, high), 0.0), high=high, counted=True, stretch=high / n_rows)
    tails = _tails(tuning)
    if not tails:
        return None
    most = sum(n_rows * tail + scale * math.log(points * len(tails) / CHANCE) for tail, scale, points in tails)
    stretch = 0.0
    if "y_bound" in tuning.budget and not is_unbent:
        tail, scale, _ = tails[-1]
        stretch = min(tail + SCALES * scale / n_rows, 1.0)
    return ClippedRecord(low=0.0, high=min(most, n_rows), counted=False, stretch=stretch)


def _tails(tuning: Tuning) -> list[tuple[float, float, int]]:
    """Return each private quantile of the target: rows beyond it as a share, scale of its noise in rows, points."""
    relation, rows = tuning.metadata.neighboring, tuning.metadata.rows_per_unit

    def of(quantile: Fraction, epsilon: Fraction, points: int) -> tuple[float, float, int]:
        return float(1 - quantile), float(rank_sensitivity(quantile, relation, rows) / epsilon), points

    sides = sides_of(tuning.metadata, tuning.wide.design.columns)
    target = [side for side in sides if side[0] == tuning.wide.design.target]
    quantiles = [of(1 - tuning.tail(), tuning.budget["bounds"] / len(sides), len(bound_grid())) for _ in target]
    if "y_bound" in tuning.budget:
        quantiles.append(of(tuning.y_quantile, tuning.budget["y_bound"], len(CLIPS)))
    return quantiles
