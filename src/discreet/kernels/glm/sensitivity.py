"""How far one record can move the sums of a generalized linear model, residuals and weighted products together."""

import numpy as np

from discreet.kernels.glm.families import WEIGHT_ONE, RowMap
from discreet.kernels.moments.moments import GRID
from discreet.typing import Floats

ROUNDING = 1.0 + 1e-9
"""Covers the float arithmetic of this file, by far."""


def joint_sensitivity(
    row_map: RowMap,
    squared_norm: float,
    ratios: Floats,
    replace: bool,
    weighted: bool = False,
    longest: float | None = None,
) -> Floats:
    """Bound the l2 distance of neighbors' sums, residuals and products together, the products divided by a ratio.

    With weights a row's residual and weight are any part of what they are without. A row whose squared norm, at most
    `longest`, is above `squared_norm` counts so much less. Shapes: ratios (k,); returns (k,).
    """
    # With x, z the rows, r, q their residuals, w, v their weights and t = x'z, the squared change under `replace` is
    #     r^2 |x|^2 + q^2 |z|^2 - 2 r q t + (w^2 |x|^4 + v^2 |z|^4 - 2 w v t^2) / ratio^2,
    # which grows with both norms and then, as |t| <= C^2, is at most a quadratic in tau = |t| / C^2 on [0, 1].
    # Residuals and weights are taken from the tables by ranges of the linear predictor, every pair of ranges: 32^2
    # pairs a ratio.
    residual, low, high = row_map.bins()
    if row_map.turn is not None:  # whatever the residual, r x is no longer than this
        residual = np.full_like(residual, row_map.longest_score / squared_norm**0.5)
    beta = (squared_norm / ratios[:, None]) ** 2
    own = squared_norm * residual**2 + beta * np.maximum(np.abs(low), np.abs(high)) ** 2
    # Truncating a weighted product to an integer moves an entry by less than one unit.
    truncation = row_map.units[1] * GRID * len(row_map.theta) / ratios
    # A row that counts the part u is one of x sqrt(u) with the residual r sqrt(u) and the weight w: no longer than
    # `squared_norm`, its residual no larger. Both are rounded to the nearest unit, beside a whole row.
    longest = squared_norm if longest is None else longest
    if weighted or longest > squared_norm:
        # With a, b what the rows add and u, v in [0, 1] their weights, |u a - v b| is convex in (u, v), so largest at a
        # corner: |a - b|, bounded below, or |a| or |b|, which that bound is not less than, as it is not at tau = 0.
        # Rounding of u r and u w moves a row's part by half a unit of each, and makes neither larger.
        truncation = truncation + 0.5 * np.hypot(
            longest**0.5 * row_map.residual_unit / GRID,
            longest * row_map.weight_unit / WEIGHT_ONE / ratios,
        )
    if not replace:
        added: Floats = (np.sqrt(own.max(axis=1)) + truncation) * ROUNDING
        return added
    ends = np.stack([low, high])
    least = (ends[:, None, :, None] * ends[None, :, None, :]).min(axis=(0, 1))
    cross = 2.0 * squared_norm * residual[:, None] * residual
    bend = 2.0 * beta[:, :, None] * least
    # Where the parabola opens downwards its top may be inside.
    has_top = (bend > 0.0) & (cross < 2.0 * bend)
    tau = np.where(has_top, cross / np.where(has_top, 2.0 * bend, 1.0), 1.0)
    both = own[:, :, None] + own[:, None, :] + cross * tau - bend * tau**2
    if row_map.turn is not None:
        # Scores r x, q z of length A at most, at an angle of cosine c, change by 2 A^2 (1 + |c|) at most. The products'
        # part is convex in |x|^2 and in |z|^2, so largest where each is 0 or C^2: both C^2 with tau = |c|, as above, or
        # one of them, where all is at most 4 A^2 and that row's own part.
        both = np.maximum(both, own[:, :, None] + 3.0 * squared_norm * residual.max() ** 2)
    replaced: Floats = (np.sqrt(both.max(axis=(1, 2))) + 2.0 * truncation) * ROUNDING
    return replaced


def attainable_sensitivity(squared_norm: float, p: int, ratios: Floats, replace: bool) -> float:
    """Bound, over all row maps, the larger of the two parts' distances at the ratio where that is least.

    In the integers' units: divided by mu, a scale that both parts can keep to. Shapes: ratios (k,).
    """
    # No residual is above the residual unit R and no weight above the weight unit, so at ratio q the joint distance is
    # at most 2 R (C sqrt(1 + 1 / q^2) + p / (q GRID)), half of that without `replace`. In integers it is GRID^2 / R
    # times as much on the residuals, and C q times that on the diagonal. Larger for a larger C or p.
    norm = squared_norm**0.5
    moved = (2.0 if replace else 1.0) * (norm * np.hypot(1.0, 1.0 / ratios) + p / (ratios * GRID))
    # Rounding weights adds half a unit in GRID to both parts.
    return float((moved * np.maximum(1.0, ratios * norm)).min()) * GRID**2 * (1.0 + 1.0 / GRID)
