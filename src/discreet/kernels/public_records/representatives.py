"""A few points that stand for many: public, chosen before anything private is looked at."""

import warnings

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.typing import Cells, Floats, Integers

BATCH = 4096
ROUNDS = 15

FEW = 2 * 10**7
"""Points times centers, up to which all points are looked at in every round."""


def representatives(cells: Cells, n_numeric: int, records: Integers, k: int) -> Integers:
    """Return places of k points or fewer, each near the middle of a part of the records.

    Increasing, all different; every point where there are no more than k.

    k-means on the points, a category as dummies over sqrt 2, then the point nearest to each center. The same in every
    run: its seed is fixed. Cost: O(m k p) for each of up to 15 rounds; by batches where points are many.

    Shapes: cells (m, p), records (m,).
    """
    if k >= len(cells):
        return np.arange(len(cells))
    from sklearn.cluster import KMeans, MiniBatchKMeans  # slow to load

    points = _coordinates(cells, n_numeric)
    kind = KMeans if len(cells) * k <= FEW else MiniBatchKMeans
    options = {"batch_size": BATCH} if kind is MiniBatchKMeans else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clusters = kind(k, n_init=1, max_iter=ROUNDS, random_state=0, **options).fit(points, sample_weight=records)
    centers = np.asarray(clusters.cluster_centers_, dtype=np.float64)
    return np.unique([int(((points - center) ** 2).sum(axis=1).argmin()) for center in centers])


def _coordinates(cells: Cells, n_numeric: int) -> Floats:
    """Ranges of length 1, and levels at distance 1."""
    parts: list[Floats] = [cells[:, :n_numeric] / (2.0 * GRID)]
    for column in cells[:, n_numeric:].T:
        parts.append((column[:, None] == np.unique(column)[None, :]) * np.sqrt(0.5))
    return np.concatenate(parts, axis=1)
