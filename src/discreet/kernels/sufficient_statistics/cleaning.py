"""Noisy second moments made into a covariance that some table can have.

Each entry is shrunk toward a prior fitted to the others, by as much as its noise says; an entry without noise stays.
"""

from typing import NamedTuple

import numpy as np

from discreet.kernels.sufficient_statistics.gram import NoisyGram
from discreet.typing import Bools, Floats

WIDEST = 1.0 / 3.0
"""Variance of the widest prior of a correlation: that of the uniform law on [-1, 1]."""

EM_STEPS = 40
"""EM steps for the prior's weights: few are enough, as the weights' influence is small long before they converge."""

NULL_WEIGHT = 4.0
"""Pseudo-count of entries that are zero but for chance, when the prior's weights are fitted (Stephens takes 9)."""

FLOOR = 1e-3
"""Smallest eigenvalue of cleaned moments, as a share of their mean diagonal: they have noise far above it."""


class CleanGram(NamedTuple):
    """Second moments that some table can have, and how uncertain each still is.

    Parameters
    ----------
    gram : ndarray of float, shape (p, p)
        X'X, symmetric; positive semidefinite up to rounding.
    error : ndarray of float, shape (p, p)
        Posterior variance of each entry; zero where it is public.
    n_rows : float
        Number of rows, at least 1.
    """

    gram: Floats
    error: Floats
    n_rows: float


def cleaned(
    moments: NoisyGram,
    constant: int | None = None,
    dummies: Bools | None = None,
    constant_value: float = 1.0,
    is_quick: bool = False,
) -> CleanGram:
    """Return second moments that some table can have, shrunk by as much as their noise asks; public entries stay.

    Where it must be quick the last digits differ. Cost: O(p^3). Source: Stephens 2017, False discovery rates: a new
    deal (the mixture of priors); Efron and Morris 1973, Stein's estimation rule and its competitors (the diagonals).
    Shapes: dummies (n_categories, p).

    Examples
    --------
    >>> gram, noise = np.array([[100.0, 90.0], [90.0, 60.0]]), np.full((2, 2), 25.0)
    >>> clean = cleaned(NoisyGram(gram, np.zeros(2), 1.0, noise, np.ones(2), 1.0, 300.0, 0.0))
    >>> bool(np.linalg.eigvalsh(clean.gram)[0] > 0.0)
    True
    """
    n_rows = max(moments.n_rows, 1.0) if moments.n_rows_variance > 0.0 else moments.n_rows
    if not (moments.gram_variance > 0.0).any():
        return CleanGram(moments.gram, np.zeros_like(moments.gram), n_rows)
    gram, variance = (moments.gram + moments.gram.T) / 2.0, moments.gram_variance.copy()
    if dummies is not None:
        _merge_dummies(gram, variance, constant, dummies, constant_value)
    noisy = variance > 0.0
    error = np.zeros_like(gram)
    # Diagonals have a normal prior with their own mean and spread. Correlations have a mixture of normal priors about
    # zero, from chance (variance 1 / n) to anything (1/3), whose weights are fitted; those with the constant, which are
    # means, have weights of their own.
    _shrink_diagonal(gram, variance, error, n_rows, constant)
    length = np.sqrt(np.maximum(gram.diagonal(), 0.0))
    scale = np.outer(length, length)
    rows, columns = np.triu_indices(len(gram), 1)
    with_constant = (rows == constant) | (columns == constant) if constant is not None else np.zeros(len(rows), bool)
    for kind in (with_constant, ~with_constant):
        at = kind & noisy[rows, columns] & (scale[rows, columns] > 0.0)
        i, j = rows[at], columns[at]
        # A correlation's noise has the variance of the entry's over the product of both diagonals.
        mean, spread = _shrunk(gram[i, j] / scale[i, j], variance[i, j] / scale[i, j] ** 2, n_rows, is_quick)
        gram[i, j] = gram[j, i] = mean * scale[i, j]
        error[i, j] = error[j, i] = spread * scale[i, j] ** 2
    return CleanGram(_possible(gram, noisy), error, n_rows)


def declared(gram: Floats, n_rows: float) -> CleanGram:
    """Return moments that the analyst states from outside the table, each with the sampling variance of normal columns.

    Source: Isserlis 1918 (fourth moments of normal columns). Shapes: gram (p, p).
    """
    square = gram.diagonal()
    return CleanGram(gram, (np.outer(square, square) + gram**2) / n_rows, n_rows)


def _merge_dummies(gram: Floats, variance: Floats, constant: int | None, dummies: Bools, value: float) -> None:
    """Use that x^2 = x for a dummy, and that two levels of a category exclude each other."""
    for category in dummies:
        levels = np.flatnonzero(category)
        pairs = np.ix_(levels, levels)
        square, noise = gram[levels, levels].copy(), variance[levels, levels].copy()
        gram[pairs] = variance[pairs] = 0.0  # two levels of a category never meet in a row
        if constant is not None:
            other, other_noise = gram[constant, levels] / value, variance[constant, levels] / value**2
            # x^2 = x: the sum stands in the constant's row, too; both are averaged by inverse variance.
            total = noise + other_noise
            share = np.divide(noise, total, out=np.zeros_like(total), where=total > 0.0)  # of the other: less noise
            square, noise = square + share * (other - square), noise * (1.0 - share)
            gram[constant, levels] = gram[levels, constant] = value * square
            variance[constant, levels] = variance[levels, constant] = value**2 * noise
        gram[levels, levels], variance[levels, levels] = square, noise


def _shrink_diagonal(gram: Floats, variance: Floats, error: Floats, n_rows: float, constant: int | None) -> None:
    """Shrink diagonals toward their mean and into (0, n]; the constant's, which is a count, is left out."""
    diagonal, noise = gram.diagonal().copy(), variance.diagonal().copy()
    alike = noise > 0.0
    if constant is not None and alike[constant]:
        alike[constant] = False
        error[constant, constant] = noise[constant]
    if alike.any():
        mean = float(np.average(diagonal[alike], weights=1.0 / noise[alike]))
        # Method of moments, and no less than the sampling variance of a mean square.
        spread = max(float(np.mean((diagonal[alike] - mean) ** 2 - noise[alike])), mean**2 / n_rows)
        shrinkage = spread / (spread + noise[alike])
        diagonal[alike] = mean + shrinkage * (diagonal[alike] - mean)
        error[alike, alike] = shrinkage * noise[alike]
    # A square below its noise is as good as unknown: half a standard deviation keeps correlations finite.
    lowest = np.minimum(np.sqrt(noise) / 2.0, n_rows)
    np.fill_diagonal(gram, np.where(noise > 0.0, np.clip(diagonal, lowest, n_rows), diagonal))


def _shrunk(values: Floats, noise: Floats, n_rows: float, is_quick: bool) -> tuple[Floats, Floats]:
    """Posterior means and variances under a mixture of normal priors whose weights are fitted."""
    if values.size == 0:
        return values, noise
    chance = min(1.0 / n_rows, WIDEST)
    priors = chance * 4.0 ** np.arange(np.ceil(np.log(WIDEST / chance) / np.log(4.0)) + 1.0)
    priors = np.minimum(priors, WIDEST)[:, None]
    total = priors + noise
    log_density = -0.5 * (np.log(total) + values**2 / total)
    density = np.exp(log_density - log_density.max(axis=0))
    weights = _quick_weights(density) if is_quick else _fitted_weights(density)
    belongs = weights * density
    belongs /= belongs.sum(axis=0)
    shrinkage = priors / total
    mean: Floats = (belongs * shrinkage).sum(axis=0) * values
    # E[r^2] over the mixture: of each part its posterior variance plus its squared posterior mean.
    square = (belongs * (shrinkage * noise + (shrinkage * values) ** 2)).sum(axis=0)
    return mean, square - mean**2


def _fitted_weights(density: Floats) -> Floats:
    """Return the prior's weights, fitted by EM. Shapes: density (k, n); returns (k, 1)."""
    weights = np.full((len(density), 1), 1.0 / len(density))
    for _ in range(EM_STEPS):
        belongs = weights * density
        belongs /= belongs.sum(axis=0)
        weights = belongs.sum(axis=1, keepdims=True)
        weights[0] += NULL_WEIGHT
        weights /= weights.sum()
    return weights


def _quick_weights(density: Floats) -> Floats:
    """Return the same, but for the order of sums, in a quarter of the time."""
    weights = np.full(len(density), 1.0 / len(density))
    for _ in range(EM_STEPS):
        weights = weights * (density @ (1.0 / (weights @ density)))
        weights[0] += NULL_WEIGHT
        weights /= weights.sum()
    return weights[:, np.newaxis]


def _possible(gram: Floats, noisy: Bools) -> Floats:
    """Raise the eigenvalues to a floor, leaving public entries as they are."""
    floor = FLOOR * max(float(gram.diagonal().mean()), 0.0)
    values, vectors = np.linalg.eigh(gram)
    if values[0] >= floor:
        return gram
    raised = (vectors * np.maximum(values, floor)) @ vectors.T
    raised = (raised + raised.T) / 2.0
    mixed = np.where(noisy, raised, gram)
    plain = np.where(noisy & ~np.eye(len(gram), dtype=np.bool_), 0.0, mixed)
    lowest, of_plain = float(np.linalg.eigvalsh(mixed)[0]), float(np.linalg.eigvalsh(plain)[0])
    if lowest >= floor / 2.0:
        return mixed
    if of_plain < floor / 2.0:  # a public column is nothing, or public entries contradict a noisy diagonal
        return raised if of_plain < 0.0 or noisy.all() else mixed + _share(lowest, of_plain, 0.0) * (plain - mixed)
    # The smallest eigenvalue is concave: this share of the matrix without noisy correlations is enough.
    return mixed + _share(lowest, of_plain, floor / 2.0) * (plain - mixed)


def _share(lowest: float, of_plain: float, goal: float) -> float:
    """How far to go from one matrix to the other for the smallest eigenvalue to reach the goal."""
    return min(max((goal - lowest) / max(of_plain - lowest, 1e-300), 0.0), 1.0)
