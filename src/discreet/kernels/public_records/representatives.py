"""A few public points that represent many, chosen before any private row is read."""

import warnings

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells, Floats, Integers

BATCH = 4096
ROUNDS = 15

FEW = 2 * 10**7
"""Points times centers, up to which every round takes all points."""


def representatives(cells: Cells, n_numeric: int, records: Integers, k: int) -> Integers:
    """Return increasing places of at most k points, each near the middle of a part of the records.

    The same in every run: its seed is fixed. Cost: O(m k p) for each of up to 15 rounds; by batches where points are
    many.
    Shapes: cells (m, p), records (m,).
    """
    if k >= len(cells):
        return np.arange(len(cells))
    from sklearn.cluster import KMeans, MiniBatchKMeans  # slow to load

    # k-means on the points, then the point nearest to each center.
    points = _coordinates(cells, n_numeric)
    kind = KMeans if len(cells) * k <= FEW else MiniBatchKMeans
    options = {"batch_size": BATCH} if kind is MiniBatchKMeans else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clusters = kind(k, n_init=1, max_iter=ROUNDS, random_state=0, **options).fit(points, sample_weight=records)
    centers = np.asarray(clusters.cluster_centers_, dtype=np.float64)
    return np.unique([int(((points - center) ** 2).sum(axis=1).argmin()) for center in centers])


def _coordinates(cells: Cells, n_numeric: int) -> Floats:
    """Return points as floats: numeric ranges of length 1, and levels of a category at distance 1."""
    parts: list[Floats] = [cells[:, :n_numeric] / (2.0 * GRID)]
    for column in cells[:, n_numeric:].T:
        # Dummies of two levels are sqrt(2) apart.
        parts.append((column[:, None] == np.unique(column)[None, :]) * np.sqrt(0.5))
    return np.concatenate(parts, axis=1)
