"""Algorithm 2 of Lei et al. as printed, its errors included: for study, without any guarantee."""

import math

import numpy as np

from discreet.data.engine import Table
from discreet.methods.subset_selection.setting import Setting
from discreet.methods.subset_selection.subset_regression import largest_target
from discreet.typing import Floats


def published_scale(least: float, size: float, noise: float, epsilon: float, delta: float, n_rows: int) -> float:
    """Return 2 |G(D)| / epsilon as printed: where G is negative, a symmetric noise loses its sign.

    Source: Lei et al. 2018, Algorithm 2; privacy specification 2.3.
    """
    denominator = least - size + size / epsilon * (noise - math.log(1.0 / (2.0 * delta)))
    return 2.0 * n_rows * size / max(abs(denominator), 1e-300) / epsilon


def published_scores(sums: Floats, penalties: Floats, n_rows: int) -> Floats:
    """Return l* + phi |M| as printed: the sign of the likelihood is wrong, so the worst fit is the best.

    Shapes: sums (n_models,), penalties (n_models,).
    """
    scores: Floats = -0.5 * n_rows * np.log(np.maximum(sums, 1e-300) / n_rows) + penalties
    return scores


def published_noise(
    table: Table, setting: Setting, sums: Floats, epsilon: float, delta: float, n_rows: int, noise: float
) -> float:
    """Return the scale of Algorithm 2's noise, at most 1e200: r is the largest |y| of the table, as in the paper.

    Shapes: sums (n_models,).
    """
    size = (largest_target(table, setting.design) + setting.radius / setting.design.bound) ** 2
    return min(published_scale(float(sums.min()), size, noise, epsilon, delta, n_rows), 1e200)
