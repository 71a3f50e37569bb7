"""Each piece of work beside a named peer and beside a physical limit, in turns, by processor time.

Run as ``python -m benchmarks.beside [--repeats 5] [--seed 1]``. Prints least and median of each, and what was asked.
"""

import argparse

import numpy as np
from scipy.spatial import cKDTree

from benchmarks.nearest import N_POINTS, table
from benchmarks.timing import interleaved, shown
from benchmarks.top_k import peeling_of_opendp, scores_of
from discreet.kernels.public_records.nearest import NearestPoints
from discreet.mechanisms.rng import Source
from discreet.mechanisms.top_k import canonical_lipschitz, peeling
from discreet.methods.screening.threshold_choice import threshold_of

SIZES = ((10**5, 100), (10**6, 100))
COLUMNS = (2, 3, 4, 5, 6, 7, 8)
N_ROWS = 100_000


def top_k(repeats: int) -> None:
    """Peeling and canonical Lipschitz beside OpenDP's peeling and one sort."""
    for d, k in SIZES:
        scores = scores_of(d, k)
        works = [
            lambda: peeling(scores, k, 1.0, 1.0, Source()),  # noqa: B023 - called at once
            lambda: canonical_lipschitz(scores, k, 1.0, 1.0, Source()),  # noqa: B023
            lambda: np.sort(scores),  # noqa: B023
            peeling_of_opendp(scores, k, 1.0),
        ]
        peeled, lipschitz, sort, opendp = interleaved(works, repeats)
        beside = f"OpenDP {shown(opendp)}, a sort {shown(sort)}"
        print(f"exponential peeling, {d:,} scores, {k}: {shown(peeled)}; {beside}. Asked: below OpenDP")
        print(f"canonical Lipschitz, {d:,} scores, {k}: {shown(lipschitz)}; a sort {shown(sort)}. Asked: .02 s at 10^6")


def nearest(repeats: int, seed: int) -> None:
    """The nearest of 10,000 points beside SciPy's tree and a copy of the cells."""
    for p in COLUMNS:
        points, rows = table("normal", N_POINTS, p, seed), table("normal", N_ROWS, p, seed + 1)
        works = [
            lambda: NearestPoints(points, p).nearest(rows),  # noqa: B023 - called at once
            lambda: cKDTree(points).query(rows),  # noqa: B023
            rows.copy,
        ]
        ours, tree, copy = interleaved(works, repeats)
        speed = tree[0] / ours[0]
        print(f"nearest, {N_ROWS:,} rows, {p} columns: {shown(ours)}; cKDTree {shown(tree)}; a copy {shown(copy)}. "
              f"{speed:.2f} times cKDTree's speed. Asked: at least 1")  # fmt: skip


def thresholds(repeats: int) -> None:
    """The threshold of a screening beside a sort of the tables that are drawn for it."""
    for d in (300, 3000):
        tables = Source.seeded(1).words(4_000_000 // d * d).reshape(-1, d)
        works = [lambda: threshold_of.__wrapped__(d, 30.0, 50.0, d // 3, 0.05), lambda: np.sort(tables, axis=1)]  # noqa: B023
        ours, sort = interleaved(works, repeats)
        print(f"threshold of {d:,} columns: {shown(ours)}; a sort of its tables {shown(sort)}. Before: 2.5 and 7.7 s")


def main() -> None:
    """Print one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    top_k(given.repeats)
    nearest(given.repeats, given.seed)
    thresholds(given.repeats)


if __name__ == "__main__":
    main()
