"""Nearest points in compiled code: a tree of boxes, and lists of the points that can be nearest in a cell of space.

The compiler's cache does not notice when a file that another one calls has changed: remove `__pycache__` after editing
`nearest_compiled.py`. `lanes` is a tuple, as its length is known to the compiler: where it is not empty there are so
many columns, all numeric, which are compared at once.
"""

import numba
import numpy as np

from discreet.kernels.public_records.nearest_compiled import CATEGORY_COST, FAR

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")
_compile_bare = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)

LEAF = 16
"""Most points of a leaf."""

LISTED = 24
"""Most points of a cell's list; where there are more, the tree serves."""


@_compile
def _split(points, order, start, stop, n_numeric, low, high):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Sort a node's points by their first code that differs, else by their widest column, and cut them in two."""
    column, width = -1, np.int64(0)
    for j in range(n_numeric, points.shape[1]):
        if low[j] < high[j]:
            column = j
            break
    if column < 0:
        for j in range(n_numeric):
            if np.int64(high[j]) - np.int64(low[j]) > width:
                column, width = j, np.int64(high[j]) - np.int64(low[j])
    part = order[start:stop].copy()
    keys = np.empty(len(part), np.int64)
    for i in range(len(part)):
        keys[i] = np.int64(points[part[i], column]) * np.int64(2**32) + part[i]
    ranks = np.argsort(keys)
    for i in range(len(part)):
        order[start + i] = part[ranks[i]]
    cut = (start + stop) // 2
    if column < n_numeric:
        return cut
    up, down = cut, cut  # codes are cut between two of them, as near the middle as they allow
    while up < stop and points[order[up], column] == points[order[up - 1], column]:
        up += 1
    while down > start and points[order[down], column] == points[order[down - 1], column]:
        down -= 1
    return up if up < stop and (down == start or up - cut <= cut - down) else down


@_compile
def grow(points, n_numeric):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Build a tree of boxes: codes are split first, then the widest column at its median.

    Returns the points' order, in which those of a node stand together; for each node its first point, the one after its
    last and its first child or 0 (the second child is the next node), and its least and largest cells; and the depth.
    Shapes: points (m, p); returns (m,), (nodes, 3), (nodes, 2, p), int.
    """
    m, p = points.shape
    order, ends = np.arange(m), np.zeros((2 * m, 3), np.int32)
    boxes, level = np.empty((2 * m, 2, p), np.int16), np.zeros(2 * m, np.int64)
    ends[0, 1], n_nodes, node, depth = m, 1, 0, 0
    while node < n_nodes:
        start, stop = np.int64(ends[node, 0]), np.int64(ends[node, 1])
        low, high = boxes[node, 0], boxes[node, 1]
        low[:] = points[order[start]]
        high[:] = low
        for i in range(start + 1, stop):
            for j in range(p):
                low[j], high[j] = min(low[j], points[order[i], j]), max(high[j], points[order[i], j])
        if stop - start > LEAF:
            cut = _split(points, order, start, stop, n_numeric, low, high)
            ends[node, 2] = n_nodes
            for child in range(2):
                ends[n_nodes, 0], ends[n_nodes, 1] = (start, cut) if child == 0 else (cut, stop)
                level[n_nodes] = level[node] + 1
                n_nodes += 1
            depth = max(depth, level[node] + 1)
        node += 1
    return order, ends[:n_nodes].copy(), boxes[:n_nodes].copy(), depth


@_compile_bare
def _box_distance(rows, i, boxes, node, n_numeric, lanes):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Bound from below the squared distance of row i from the points of a node."""
    total = np.int64(0)
    for j in range(len(lanes)):
        cell = np.int32(rows[i, j])
        gap = np.int64(max(np.int32(boxes[node, 0, j]) - cell, cell - np.int32(boxes[node, 1, j]), np.int32(0)))
        total += gap * gap
    if len(lanes) > 0:
        return total
    for j in range(n_numeric):
        cell = np.int32(rows[i, j])
        gap = np.int64(max(np.int32(boxes[node, 0, j]) - cell, cell - np.int32(boxes[node, 1, j]), np.int32(0)))
        total += gap * gap
    for j in range(n_numeric, rows.shape[1]):
        if rows[i, j] < boxes[node, 0, j] or rows[i, j] > boxes[node, 1, j]:
            total += CATEGORY_COST
    return total


@_compile_bare
def _distance(rows, i, points, k, n_numeric, lanes):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the exact squared distance of row i and point k."""
    total = np.int64(0)
    for j in range(len(lanes)):
        gap = np.int64(np.int32(rows[i, j]) - np.int32(points[k, j]))
        total += gap * gap
    if len(lanes) > 0:
        return total
    for j in range(n_numeric):
        gap = np.int64(np.int32(rows[i, j]) - np.int32(points[k, j]))
        total += gap * gap
    for j in range(n_numeric, points.shape[1]):
        if rows[i, j] != points[k, j]:
            total += CATEGORY_COST
    return total


@_compile_bare
def _search(rows, i, points, labels, ends, boxes, n_numeric, lanes, leave_out, nodes, bounds):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the label of row i's nearest point, and the number of points and boxes compared."""
    best, label, size, looks = FAR, np.int64(-1), 1, 0
    nodes[0], bounds[0] = 0, 0
    while size > 0:
        size -= 1
        node, bound = nodes[size], bounds[size]
        while bound <= best and ends[node, 2] > 0:
            child = np.int64(ends[node, 2])
            other_child = child + 1
            near = _box_distance(rows, i, boxes, child, n_numeric, lanes)
            far = _box_distance(rows, i, boxes, other_child, n_numeric, lanes)
            looks += 2
            if far < near:
                child, other_child, near, far = other_child, child, far, near
            if far <= best:
                nodes[size], bounds[size] = other_child, far
                size += 1
            node, bound = child, near
        if bound > best:
            continue
        for k in range(ends[node, 0], ends[node, 1]):
            distance = _distance(rows, i, points, k, n_numeric, lanes)
            looks += 1
            if leave_out and distance == 0:
                continue
            if distance < best or (distance == best and labels[k] < label):
                best, label = distance, labels[k]
    return label, looks


@_compile
def search(rows, points, labels, ends, boxes, depth, n_numeric, lanes, leave_out, nearest):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Find the nearest point of each row in a tree; return the number of points and boxes compared.

    Shapes: rows (n, p), points (m, p), labels (m,), nearest (n,).
    """
    nodes, bounds, total = np.empty(depth + 2, np.int64), np.empty(depth + 2, np.int64), 0
    for i in range(len(rows)):
        nearest[i], looks = _search(rows, i, points, labels, ends, boxes, n_numeric, lanes, leave_out, nodes, bounds)
        total += looks
    return total


@_compile
def list_cells(points, seeds, ends, boxes, depth, p, bits):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """List, for each cell of a grid over all space, the points that can be nearest to a row in it; none where too many.

    Returns where each cell's list starts, and the lists. Shapes: points (m, p or more), seeds (cells,); returns
    (cells + 1,).
    """
    # A row's nearest point is no farther from the row than the seed, so no farther from the cell than the cell's
    # farthest corner is from the seed.
    width = np.int64(2 ** (16 - bits))
    starts, listed = np.zeros(len(seeds) + 1, np.int64), np.empty(len(seeds) * 8, np.int32)
    nodes, low = np.empty(depth + 2, np.int64), np.empty(p, np.int64)
    for cell in range(len(seeds)):
        reach, at, size = np.int64(0), starts[cell], 1
        if at + LISTED >= len(listed):
            listed = np.append(listed, np.empty(len(listed), np.int32))
        for j in range(p):
            low[j] = ((cell >> (bits * j)) & (2**bits - 1)) * width - 32768
            gap = max(points[seeds[cell], j] - low[j], low[j] + width - 1 - points[seeds[cell], j])
            reach += gap * gap
        nodes[0] = 0
        while size > 0:
            size -= 1
            node = nodes[size]
            if _gap(low, width, boxes[node, 0], boxes[node, 1]) > reach:
                continue
            if ends[node, 2] > 0:
                nodes[size], nodes[size + 1] = ends[node, 2], ends[node, 2] + 1
                size += 2
                continue
            for k in range(ends[node, 0], ends[node, 1]):
                if at <= starts[cell] + LISTED and _gap(low, width, points[k], points[k]) <= reach:
                    listed[at] = k
                    at += 1
        starts[cell + 1] = at if at <= starts[cell] + LISTED else starts[cell]
    return starts, listed[: starts[-1]].copy()


@_compile
def _gap(low, width, least, most):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the squared distance of a cell and a box."""
    total = np.int64(0)
    for j in range(len(low)):
        gap = max(np.int64(least[j]) - (low[j] + width - 1), low[j] - np.int64(most[j]), np.int64(0))
        total += gap * gap
    return total


@_compile
def look_up(rows, points, labels, ends, boxes, depth, n_numeric, lanes, starts, listed, p, bits, nearest):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Find the nearest point of each row in its cell's list, else in the tree.

    Shapes: rows (n, at least p), points (m, at least p), labels (m,), nearest (n,).
    """
    nodes, bounds = np.empty(depth + 2, np.int64), np.empty(depth + 2, np.int64)
    for i in range(len(rows)):
        cell = 0
        for j in range(p):
            cell |= ((np.int64(rows[i, j]) + 32768) >> (16 - bits)) << (bits * j)
        best, label = FAR, np.int64(-1)
        for at in range(starts[cell], starts[cell + 1]):
            k = np.int64(listed[at])
            distance = _distance(rows, i, points, k, n_numeric, lanes)
            if distance < best or (distance == best and labels[k] < label):
                best, label = distance, labels[k]
        if label < 0:
            label, _ = _search(rows, i, points, labels, ends, boxes, n_numeric, lanes, False, nodes, bounds)
        nearest[i] = label
