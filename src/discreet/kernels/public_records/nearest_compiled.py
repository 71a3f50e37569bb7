"""Nearest points in compiled code: a filter of float32 products, and the traversal by distance.

Integers decide everywhere: float32 only rules out points that cannot win.
"""

import numba
import numpy as np

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")
# Without reference counts, which cost more than the arithmetic on short slices; so this code allocates nothing.
_compile_bare = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)

CATEGORY_COST = 4 * 32767**2
"""Squared distance of two codes that differ."""

CHUNK = 128
"""Points ruled out at once; a multiple of the lanes of every processor's vectors."""

FAR_BLOCK = 1024
"""Points whose distances are found at once; they stay in the nearest cache."""

FAR = np.iinfo(np.int64).max
"""Beyond every squared distance."""


@_compile_bare
def squared_distance(rows, i, points, k, n_numeric):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the exact squared distance of row i and point k."""
    total = np.int64(0)
    for j in range(n_numeric):
        gap = np.int64(rows[i, j]) - np.int64(points[k, j])
        total += gap * gap
    for j in range(n_numeric, points.shape[1]):
        if rows[i, j] != points[k, j]:
            total += CATEGORY_COST
    return total


@_compile_bare
def _limit(best, square, slack):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Round up to float32 the largest approximation that a point at least as near as `best` can have."""
    exact = (np.float64(best) - square) / 2.0 + slack
    return np.float32(exact + abs(exact) * 2.0**-22)


@_compile_bare
def improve(near, rows, points, labels, n_numeric, squares, slacks, best, nearest):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Update rows' nearest points: integers decide among those that the float32 products do not rule out.

    Shapes: near (n, m), rows (n, p), points (m, p), labels (m,), squares, slacks, best, nearest (n,).
    """
    m, p = points.shape
    half = np.float32(CATEGORY_COST // 2)
    for i in range(len(rows)):
        square, slack = squares[i], slacks[i]
        limit = _limit(best[i], square, slack)
        for start in range(0, m, CHUNK):
            line = near[i, start : min(start + CHUNK, m)]
            for j in range(n_numeric, p):
                code, codes = rows[i, j], points[start : start + len(line), j]
                for k in range(len(line)):
                    line[k] += half if codes[k] != code else np.float32(0.0)
            n_close = np.int32(0)
            for k in range(len(line)):
                n_close += np.int32(1) if line[k] <= limit else np.int32(0)
            if n_close == 0:
                continue
            for k in range(len(line)):
                if line[k] <= limit:
                    distance, label = squared_distance(rows, i, points, start + k, n_numeric), labels[start + k]
                    if distance < best[i] or (distance == best[i] and label < nearest[i]):
                        best[i], nearest[i] = distance, label
                        limit = _limit(distance, square, slack)


@_compile_bare
def _distances_to(columns, taken, start, n_numeric, distances):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Write the squared distances of one point from others, the first of them at `start`."""
    distances[:] = 0
    for j in range(len(columns)):
        cells, cell = columns[j, start : start + len(distances)], columns[j, taken]
        if j < n_numeric:
            for i in range(len(distances)):
                gap = np.int64(cells[i]) - np.int64(cell)
                distances[i] += gap * gap
        else:
            for i in range(len(distances)):
                distances[i] += CATEGORY_COST if cells[i] != cell else 0


@_compile
def farthest_first(columns, n_numeric, order):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Take again and again the point farthest from those taken; return its last squared distance.

    Shapes: columns (p, m), order (k,).
    """
    m = columns.shape[1]
    best, room = np.full(m, FAR), np.empty(FAR_BLOCK, np.int64)
    for step in range(len(order)):
        taken, farthest, place = order[step], np.int64(-1), 0
        best[taken] = -1
        for start in range(0, m, FAR_BLOCK):
            stop = min(start + FAR_BLOCK, m)
            least, distances = best[start:stop], room[: stop - start]
            _distances_to(columns, taken, start, n_numeric, distances)
            most = np.int64(-1)
            for i in range(len(least)):
                least[i] = min(least[i], distances[i])
                most = max(most, least[i])
            if most > farthest:
                farthest, i = most, 0
                while least[i] != most:  # it is one of them
                    i += 1
                place = start + i
        if step + 1 < len(order):
            order[step + 1] = place
    return max(farthest, np.int64(0))
