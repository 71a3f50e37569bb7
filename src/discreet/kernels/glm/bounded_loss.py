"""How well each of several models predicts rows, as whole numbers: the sum over rows of a bounded loss of each row.

A row's linear predictor is an exact integer and its loss is looked up in a public table of integers, so a row's part
depends on that row and the model alone, bit for bit, and the sums are the same by any blocks.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells, Floats, Integers

LOSS_ONE = 2**18
"""The largest loss of a row: sums over 2^33 rows stay whole numbers of a float64, with room for as much again."""

THETA_UNIT = 2.0**-16
"""Coefficients are rounded to multiples of this."""

LARGEST_PREDICTOR = 32.0
STEPS = 2**8
"""Entries of a table per unit of the linear predictor, which ends at `LARGEST_PREDICTOR`."""

BLOCK = 2**13

HALF = int(LARGEST_PREDICTOR * STEPS)


@dataclass(frozen=True)
class LossTables:
    """Models in whole numbers, with the tables that their losses are looked up in.

    Parameters
    ----------
    theta : ndarray of float, shape (n_models, q)
        Whole multiples of `THETA_UNIT`, in those units: of the constant, then of the columns.
    tables : ndarray of int64, shape (n_tables, 2 * HALF + 1)
        By the rounded linear predictor: predictions in units of 1 / 32767, or losses of a row of a class.
    by_class : bool
        Whether there is a table for each of two classes.
    quantile : int, optional
        In 1024ths: the loss is the pinball loss of this quantile; default the squared error.
    """

    theta: Floats
    tables: Integers
    by_class: bool = False
    quantile: int | None = None

    def sums(self, cells: Cells, targets: Cells) -> Integers:
        """Return each model's sum of losses in units of 1 / `LOSS_ONE`; a row adds at most that. Cost: O(n q n_models).

        Shapes: cells (n, q), targets (n,); returns (n_models,).
        """
        totals = np.zeros(len(self.theta), dtype=np.int64)
        for start in range(0, len(cells), BLOCK):
            block = np.asarray(cells[start : start + BLOCK], dtype=np.float64)
            exact = block @ self.theta.T  # `largest` keeps the sums below 2^53: exact in any order
            places = np.rint(np.clip(exact * (THETA_UNIT / GRID * STEPS), -HALF, HALF)).astype(np.int64) + HALF
            totals += self._losses(places, targets[start : start + BLOCK].astype(np.int64)).sum(axis=0)
        return totals

    def _losses(self, places: Integers, targets: Integers) -> Integers:
        if self.by_class:
            losses = np.where(targets[:, None] > 0, self.tables[1][places], self.tables[0][places])
            return np.asarray(losses, dtype=np.int64)
        misses = self.tables[0][places] - targets[:, None]
        if self.quantile is None:
            return np.asarray(misses * misses * LOSS_ONE // (2 * GRID) ** 2, dtype=np.int64)
        weighted = np.where(misses < 0, -self.quantile, 1024 - self.quantile) * misses
        return np.asarray(weighted * LOSS_ONE // (2 * GRID * 1024), dtype=np.int64)


def loss_tables(
    models: Floats, mean: Callable[[Floats], Floats], clip: float | None = None, quantile: float | None = None
) -> LossTables:
    """Return the tables of a bounded loss, with values from 0 to `LOSS_ONE`: squared, pinball, or a clipped log loss.

    Shapes: models (n_models, q).
    """
    # |x'theta| <= q GRID max |theta| < 2^53, theta in units of THETA_UNIT.
    largest = 2.0**52 / (GRID * max(models.shape[1], 1)) - 1.0
    theta = np.rint(np.clip(models / THETA_UNIT, -largest, largest))
    predictions = np.clip(mean(np.arange(-HALF, HALF + 1) / STEPS), -1.0, 1.0)
    if clip is None:
        tau = None if quantile is None else round(1024 * quantile)
        return LossTables(theta, np.rint(predictions * GRID).astype(np.int64)[None], quantile=tau)
    chance = np.clip((1.0 + predictions) / 2.0, clip, 1.0 - clip)
    # The log loss of a clipped chance lies in [-log(1 - clip), -log(clip)], which is mapped to [0, 1].
    least, most = -np.log1p(-clip), -np.log(clip)
    losses = (np.stack([-np.log1p(-chance), -np.log(chance)]) - least) / (most - least)
    return LossTables(theta, np.rint(np.clip(losses, 0.0, 1.0) * LOSS_ONE).astype(np.int64), by_class=True)
