"""Whether a selection is sharper by plain rows with declared moments, or by unit rows of which all is bought."""

import numpy as np

from discreet.kernels.rows.unit_rows import CONSTANT, shortest_length
from discreet.methods.base.noise_budget import NoiseBudget, PrivateEstimate
from discreet.methods.moments.noisy_sums import BLOCKS, NoisySums
from discreet.typing import Floats

EXPLAINED = 0.5
"""Supposed share of the target's variance that the columns explain, all alike."""

COLUMN_SQUARE = 1.0 / 3.0
"""Supposed variance of a column of which nothing is declared, spread evenly over its bounds."""

TARGET_VARIANCE, CLIPPED_VARIANCE = 1.0 / 9.0, 0.4
"""Supposed of a target in public bounds, and of one that is clipped where the noise asks for it."""

MOST_ERROR = 1.0 / 3.0
"""Of a correlation, squared: noise beyond it is shrunk away (`cleaning`)."""


def predicted_error(
    sums: NoisySums,
    estimates: tuple[PrivateEstimate, ...],
    budget: NoiseBudget,
    n_rows: float,
    declared_sums: NoisySums,
    target_is_bought: bool,
) -> float:
    """Return the expected log, over candidates, of the variance of a column's standardized coefficient.

    Up to what is the same for any rows. `known` are the sums with what is declared, whether or not `sums` use it.
    """
    noise = {estimate.name: estimate.variance(budget) / float(estimate.step) ** 2 for estimate in estimates}
    mean, variance = _declared(declared_sums)
    n_columns, length, constant = len(mean), 1.0, 1.0
    if sums.is_unit:
        # Nearly all rows are divided by this length, and their target with them.
        constant, squares = CONSTANT, float((mean**2 + variance).sum())
        length = max(shortest_length(n_columns), (constant**2 + squares) ** 0.5)
        variance = variance / length**2
    scale = n_rows * np.sqrt(variance)
    first = 1 if sums.fit_intercept else 0
    noisy = sums.noisy_entries[first:, first:]
    # The intercept takes a column's mean off, with noise of its own: m / c times the noise of the constant's sums.
    centered = 1.0 + (mean / constant) ** 2
    # Correlations: bought, or those of the declared law, from which the table's differ by chance.
    entries = np.where(np.eye(n_columns, dtype=np.bool_), noise.get(BLOCKS[1], 0.0), noise.get(BLOCKS[2], 0.0))
    if sums.noisy_entries[0, first:].any():
        entries = entries * np.outer(centered, centered)
    records = 0.0 if sums.known is None or sums.known.n_records is None else 1.0 / sums.known.n_records
    error = np.where(noisy, np.minimum(entries / np.outer(scale, scale), MOST_ERROR), 1.0 / n_rows + records)
    of_target = noise[BLOCKS[0]] * centered / scale**2
    total: Floats = (
        of_target / _target_variance(sums, length, target_is_bought) + EXPLAINED * error.mean(axis=1) + 1.0 / n_rows
    )
    return float(np.log(total).mean())


def _target_variance(sums: NoisySums, length: float, is_bought: bool) -> float:
    """Of the scaled target; unit rows of public bounds make it smaller as rows are longer than the shortest."""
    if is_bought:
        return CLIPPED_VARIANCE
    return TARGET_VARIANCE * ((shortest_length(len(sums.design.candidates)) / length) ** 2 if sums.is_unit else 1.0)


def _declared(sums: NoisySums) -> tuple[Floats, Floats]:
    """Mean and variance of each column, declared or supposed."""
    if sums.known is not None:
        return sums.known.means, sums.known.covariance.diagonal()
    owners = [owner for owner in sums.owners if owner is not None]
    stated = [sums.declared.get(owner, (0.0, COLUMN_SQUARE)) for owner in owners]
    return np.array([mean for mean, _ in stated]), np.array([variance for _, variance in stated])
