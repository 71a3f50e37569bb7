"""Noisy information matrices, shrunk to what is supposed of them."""

import numpy as np

from discreet.typing import Floats

MISMATCH = 0.3
"""Relative error of the curve's slope that is supposed at least; a larger one shows in the passes."""

LARGEST_MISMATCH = 10.0
"""More tells nothing else: the curve is of no use."""


def shrunk(
    above: list[Floats],
    noises: list[Floats],
    slope: Floats,
    curve_noise: Floats | None = None,
    is_apart: bool = False,
    is_even: bool = False,
) -> tuple[list[Floats], list[Floats], Floats, float]:
    """Shrink what noisy slopes are above the curve's by how much of it is noise.

    In the basis of the curve's eigenvectors, with eigenvalues l, entry ij is supposed to vary by tau^2 l_i l_j. What is
    shrunk away is not known either, as far as the curve itself has noise: of a level that no row has it is all noise.
    Returns the shrunken matrices, the variances of what is not known of them in that basis, the basis, and tau.
    In even coordinates l is not below its mean: where scores vary more than the curve has it, so may slopes.
    Shapes: above, noises (p, p) each, slope, curve_noise (p, p).
    """
    values, basis = np.linalg.eigh(slope)
    values = np.maximum(values, 1e-9 * max(float(values[-1]), 1e-12))
    sizes = np.maximum(values, float(values.mean())) if is_even else values
    size = np.outer(sizes, sizes)
    turned = [basis.T @ matrix @ basis for matrix in above]
    variances = [(basis**2).T @ noise @ basis**2 for noise in noises]  # a rotation mixes variances by squares
    # Moments: the mean square of the last one's entries, less their noise, weighted by how well each is known.
    trust = 1.0 / (variances[-1] / size + MISMATCH**2) ** 2
    excess = float(np.sum(trust * (turned[-1] ** 2 - variances[-1]) / size) / np.sum(trust))
    mismatch = min(max(excess, MISMATCH**2), LARGEST_MISMATCH**2) ** 0.5
    of_curve = np.zeros_like(size) if curve_noise is None else (basis**2).T @ curve_noise @ basis**2
    prior = mismatch**2 * size + (of_curve if is_apart else 0.0)
    shares = [prior / np.maximum(prior + variance, 1e-300) for variance in variances]
    rests = [basis @ (share * matrix) @ basis.T for share, matrix in zip(shares, turned, strict=True)]
    of_curve = of_curve * (not is_apart)
    # Of share * (truth + noise) for a truth of variance tau^2 l l + that of the curve's noise.
    errors = [s * variance + (1.0 - s) ** 2 * of_curve for s, variance in zip(shares, variances, strict=True)]
    return rests, errors, basis, mismatch


def positive(matrix: Floats) -> Floats:
    """Return the nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    projected: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return projected
