"""The nearest public point of each private row beside SciPy's tree and scikit-learn's brute force; merging."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from sklearn.metrics import pairwise_distances_argmin
from threadpoolctl import ThreadpoolController

from benchmarks.timing import seconds
from discreet.kernels.public_records.nearest import NearestPoints
from discreet.kernels.public_records.nearest_order import merge_sequence

Cells = npt.NDArray[np.int16]

N_POINTS = 10**4
PROBLEMS = tuple((n, p, kind) for n, p in ((10**6, 2), (10**6, 20), (10**5, 101)) for kind in ("normal", "uniform"))
TREE_SAMPLE, BRUTE_SAMPLE = 500, 20_000
"""Rows that a peer is timed on where all of them would take minutes."""

MERGES = ((3, range(10, 3_000, 50)), (101, range(100, 10_000, 165)))


def table(kind: str, n: int, p: int, seed: int) -> Cells:
    """Standard normal cells clipped at 4, or uniform ones, on the grid."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    unit = np.clip(rng.standard_normal((n, p)), -4, 4) / 4 if kind == "normal" else rng.uniform(-1, 1, (n, p))
    return np.rint(32767 * unit).astype(np.int16)


def in_threads(nearest: Callable[[Cells], npt.NDArray[np.int64]], rows: Cells) -> npt.NDArray[np.int64]:
    """Both cores, as an engine's blocks would."""
    n_threads = min(2, os.cpu_count() or 1)
    with ThreadpoolController().limit(limits=1, user_api="blas"), ThreadPoolExecutor(n_threads) as pool:
        return np.concatenate(list(pool.map(nearest, np.array_split(rows, n_threads))))


def _peer(work: Callable[[Cells], object], rows: Cells, sample: int) -> tuple[float, str]:
    """Time of all rows, from a sample where that is smaller."""
    few = rows[:sample]
    time = seconds(lambda: work(few), 1 if len(few) < len(rows) else 5) * len(rows) / len(few)
    return time, f"{time:.2f} s" + "+" * (len(few) < len(rows))


def rows() -> list[list[str]]:
    """One row a problem: building counts on all sides."""
    found = []
    for n, p, kind in PROBLEMS:
        points, private = table(kind, N_POINTS, p, 1), table(kind, n, p, 2)
        ours = seconds(lambda: in_threads(NearestPoints(points, p).nearest, private), 5 if p == 2 else 1)  # noqa: B023
        tree = _peer(
            lambda few: cKDTree(points).query(few, workers=2),  # noqa: B023
            private, n if p == 2 else TREE_SAMPLE,
        )  # fmt: skip
        brute = _peer(
            lambda few: pairwise_distances_argmin(few.astype(np.float32), points.astype(np.float32)),  # noqa: B023
            private, BRUTE_SAMPLE,
        )  # fmt: skip
        found.append(
            [f"{n:,}, {p}, {kind}", f"{ours:.2f} s", tree[1], brute[1], f"{min(tree[0], brute[0]) / ours:.1f}"]
        )
    return found


def merge_ratio(p: int, sizes: range) -> float:
    """Time of all sizes of kept points over that of the largest alone."""
    points = table("normal", N_POINTS, p, 1)
    order = np.random.default_rng(3).permutation(N_POINTS)  # noqa: TID251 - simulated data, not noise
    one = seconds(lambda: merge_sequence(points, p, order, [sizes[-1]]), 3)
    return seconds(lambda: merge_sequence(points, p, order, sizes), 3) / one


COLUMNS = ["rows, columns", "nearest", "SciPy cKDTree", "scikit-learn brute force", "times the better"]


def title() -> str:
    """What was asked, and how merging at many sizes compares with one."""
    ratios = ", ".join(f"{merge_ratio(p, sizes):.1f} with {p} columns" for p, sizes in MERGES)
    return (
        f"Nearest of {N_POINTS:,} public points to private rows, exact, two threads (asked: no slower than "
        f"the better peer). Merging at 60 sizes takes, times one size (asked: 3): {ratios}. + is extrapolated"
    )


if __name__ == "__main__":
    print(title(), *(COLUMNS, *rows()), sep="\n")
