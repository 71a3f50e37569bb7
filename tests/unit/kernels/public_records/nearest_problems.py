"""Rows and points that are hard to compare, and their distances in plain integers."""

import numpy as np
import numpy.typing as npt

from discreet.kernels.public_records.nearest import CATEGORY_COST, GRID

Cells = npt.NDArray[np.int16]
Integers = npt.NDArray[np.int64]


def squared_distances(rows: Cells, points: Cells, n_numeric: int) -> Integers:
    """All of them, in 64-bit integers."""
    total = np.zeros((len(rows), len(points)), dtype=np.int64)
    for j in range(points.shape[1]):
        one, other = rows[:, j, None].astype(np.int64), points[None, :, j].astype(np.int64)
        total += (one - other) ** 2 if j < n_numeric else CATEGORY_COST * (one != other)
    return total


def cells(*parts: npt.ArrayLike) -> Cells:
    """Join columns."""
    return np.column_stack(parts).astype(np.int16)


def shell(n: int, p: int, seed: int) -> Cells:
    """Points whose distances from (10,000, ...) agree but for a few units, and their mirror images about 0.

    About 0 half a point's square is close to its product with that row: float32 subtracts one from the other.
    """
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    gaps = rng.integers(-17_000, 17_000, p - 1)
    near = cells(10_000 + np.array([rng.permutation(gaps) for _ in range(n)]), 10_000 + rng.integers(-20, 21, n))
    return np.concatenate([near, -near])


def simulated(name: str) -> tuple[Cells, Cells, int]:
    """Rows, points and the number of numeric columns."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated data, not noise
    if name == "plain":
        return rng.integers(-GRID, GRID + 1, (150, 3), np.int16), rng.integers(-GRID, GRID + 1, (400, 3), np.int16), 3
    if name == "line":
        return cells(np.arange(-60, 60)), cells(rng.integers(-50, 50, 90)), 1
    if name == "ties":
        return rng.integers(-2, 3, (200, 4), np.int16), rng.integers(-2, 3, (500, 4), np.int16), 4
    if name == "corners":
        return (
            rng.choice([-GRID, GRID], (100, 7)).astype(np.int16),
            rng.choice([-GRID, 0, GRID], (300, 7)).astype(np.int16),
            7,
        )
    if name == "far corner":
        return (
            np.full((3, 100), GRID, np.int16),
            cells(np.full((200, 100), -GRID) + rng.integers(0, 2, (200, 100))),
            100,
        )
    if name == "copies":
        points = np.repeat(rng.integers(-GRID, GRID + 1, (20, 5), np.int16), 15, axis=0)
        return points[rng.permutation(300)], points[rng.permutation(300)], 5
    if name == "wide":
        return (
            rng.integers(-GRID, GRID + 1, (60, 100), np.int16),
            rng.integers(-GRID, GRID + 1, (250, 100), np.int16),
            100,
        )
    if name == "shell":
        return np.full((4, 60), 10_000, np.int16) + np.arange(4, dtype=np.int16)[:, None] // 3, shell(400, 60, 1), 60
    if name == "mixed":
        both = cells(rng.integers(-9_000, 9_000, (700, 3)), rng.integers(-1, 3, (700, 3)))
        return both[:200], both[200:], 3
    if name == "mixed ties":
        both = cells(rng.choice([-GRID, GRID], (400, 2)), rng.integers(-1, 4, (400, 2)))
        both[:50, 3] = 30_000
        return both[:150], both[150:], 2
    if name == "codes":
        rows, points = rng.integers(-1, 5, (300, 4), np.int16), rng.integers(-1, 3, (70, 4), np.int16)
        rows[:40, 1] = GRID
        return rows, points, 0
    if name == "one point":
        return rng.integers(-GRID, GRID + 1, (9, 2), np.int16), np.array([[5, 5]], dtype=np.int16), 2
    return np.empty((0, 3), np.int16), rng.integers(-9, 9, (50, 3), np.int16), 2


NAMES = (
    "plain", "line", "ties", "corners", "far corner", "copies", "wide", "shell", "mixed", "mixed ties", "codes",
    "one point", "no rows",
)  # fmt: skip
