"""Directions of which a noisy information does not tell that rows vary there: coefficients have no ends along them.

Where x'v is the same 0 for all rows, as of equal columns or of columns that add up to the constant, v'Wv is 0 for every
weighted sum W of products x x', and what is released of it is noise. A weak prior would end an interval there.
"""

import numpy as np

from discreet.typing import Floats

STANDS_OUT = 2.5
"""Standard deviations of its noise that an information must have, or nothing is told along its direction."""


def variance_of(direction: Floats, variances: Floats) -> float:
    """Return the variance of v'Ev for a symmetric E; an entry and its mirror share one draw."""
    squares = direction**2
    return float(2.0 * squares @ variances @ squares - np.diagonal(variances) @ squares**2)


def undetermined(information: Floats, variances: Floats, turn: Floats | None = None) -> Floats:
    """Return an orthonormal basis of the coefficients' directions of which the information tells nothing.

    Shapes: information, variances (p, p), of rows turn @ x; turn (p, p), default the identity; returns (m, p).
    """
    p = len(information)
    turn = np.eye(p) if turn is None else turn
    sizes, vectors = np.linalg.eigh(information)
    hidden = [
        turn.T @ vector
        for size, vector in zip(sizes, vectors.T, strict=True)
        if size <= STANDS_OUT * variance_of(vector, variances) ** 0.5 + 1e-9 * max(float(sizes[-1]), 1e-300)
    ]
    if not hidden:
        return np.zeros((0, p))
    lengths = np.linalg.norm(hidden, axis=1, keepdims=True)
    basis: Floats = np.linalg.qr((np.array(hidden) / lengths).T)[0].T
    return basis


def pooled_information(grams: list[Floats], variances: list[Floats]) -> tuple[Floats, Floats]:
    """Return the mean of noisy informations and the variances of its entries, each weighted by what is known of it."""
    weights = np.array([1.0 / max(float(variance.mean()), 1e-300) for variance in variances])
    weights /= weights.sum()
    mean = sum(weight * gram for weight, gram in zip(weights, grams, strict=True))
    error = sum(weight**2 * variance for weight, variance in zip(weights, variances, strict=True))
    return np.asarray(mean), np.asarray(error)
