"""Releases as anybody asks for them, with the system's entropy: their noise against what they print."""

import math

import numpy as np
from scipy.special import gammainc, ndtr

import discreet as dc
from discreet.selftest.evidence import Evidence, misfit_of_chances, misfit_of_noise
from discreet.selftest.tables import opened
from discreet.typing import Floats

COLUMNS = 20
"""So that one release has 252 noisy sums."""
DELTA = 1e-6
RELEASES = {0.0: 36, DELTA: 12}
"""Together 36 lengths of noise in an ellipsoid, 3,000 numbers with Gaussian: a tenth less is 8 standard errors off."""
GRID = 32767
"""Steps of a half width: releases of moments say so."""


def _releases(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`LinearRegression`: all its noisy sums, in units of the noise that the release prints."""
    if epsilon != 1.0 or relation != "replace_one":
        return []
    return [_of_sums(relation, epsilon, delta, n * effort) for delta, n in RELEASES.items()]


def _of_sums(relation: str, epsilon: float, delta: float, n: int) -> Evidence:
    names = [f"x{place}" for place in range(COLUMNS)]
    rows = np.array([[math.cos(1.0 + row * (place + 1)) for place in range(COLUMNS + 1)] for row in range(5)])
    table = opened([*names, "y"], rows.tolist(), relation)
    drawn = [_noise(table, rows, epsilon, delta) for _ in range(n)]
    noise = np.concatenate(drawn)
    misfit = misfit_of_noise(noise, "normal") if delta else _misfit_of_vectors(drawn)
    return Evidence(
        subject="LinearRegression",
        case=f"the noise of {len(noise)} sums as it is printed, delta {delta:g}",
        claim="methods/moments/noisy_moments.privacy.md",
        neighboring=relation,
        epsilon=epsilon,
        delta=delta,
        shown=epsilon,
        how="draws",
        n_draws=len(noise),
        misfit=misfit,
    )


def _misfit_of_vectors(drawn: list[Floats]) -> float:
    """Return the p-value of noise in an ellipsoid: of its lengths, one by one and together, and of its directions."""
    lengths = np.array([np.linalg.norm(vector) * (len(vector) + 1) ** 0.5 for vector in drawn])
    size = len(drawn[0])
    whole = float(gammainc(size * len(drawn), lengths.sum()))
    directions = np.concatenate([vector / np.linalg.norm(vector) for vector in drawn]) * size**0.5
    each = (
        misfit_of_chances(gammainc(size, lengths)),
        misfit_of_chances(ndtr(directions)),
        2.0 * min(whole, 1.0 - whole),
    )
    return min(1.0, 3.0 * min(each))


def _noise(table: object, rows: Floats, epsilon: float, delta: float) -> Floats:
    """Return what a release adds to the exact sums, in its printed standard deviations."""
    record = dc.LinearRegression(epsilon, delta=delta).fit(table, target="y").release_.moments
    cells = np.rint(np.column_stack([np.ones(len(rows)), rows]) * GRID)
    products = cells.T @ cells
    upper = np.triu_indices(COLUMNS + 1)
    exact = np.concatenate([products[:-1, :-1][upper], products[:-1, -1], products[-1:, -1]])
    noisy = np.concatenate([np.array(record.gram, dtype=np.float64)[upper], record.xty, [record.yty]])
    variance = np.concatenate([np.array(record.gram_variance)[upper], record.xty_variance, [record.yty_variance]])
    has_noise = variance > 0
    noise: Floats = (noisy - exact)[has_noise] / np.sqrt(variance[has_noise])
    return noise


CHECKS = (_releases,)
"""Under a relation, at an epsilon."""
