"""The loops behind `separable`: one block of units at a time, every subset of a block.

A block's columns stand together; a matrix that is block diagonal is stored as one row a column, `packed[i, k]` being
the entry of column i and the k-th column of its block.
"""

import numba
import numpy as np

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")

TINY = 1e-290
"""Pivots below this count as it: the bound gets lower, and so stays a bound."""


@_compile
def fill_tables(packed, field, cost, columns, blocks, inside, outside, tables):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Value of each subset m of each block, cost(m) - g_m' (Lam_m)^-1 g_m; infinite where a unit is decided otherwise.

    Subsets are visited so that each shares the Cholesky rows of the one it extends.

    Parameters
    ----------
    packed : ndarray of float, shape (u, width)
        Lam.
    field : ndarray of float, shape (u,)
        g.
    cost : ndarray of float, shape (n_units,)
        Of the units, in the order of the blocks.
    columns : ndarray of int, shape (n_units + 1,)
        First column of each unit; the last entry is u.
    blocks : ndarray of int, shape (n_blocks + 1,)
        First unit of each block; the last entry is the number of units.
    inside : ndarray of int, shape (n_blocks,)
        Bits over each block's units: those decided to be in.
    outside : ndarray of int, shape (n_blocks,)
        Those decided to be out.
    tables : ndarray of float, shape (n_blocks, n_subsets)
        Values of the subsets.
    """
    width = packed.shape[1]
    row, path, used = np.empty(width, np.int64), np.empty(width + 1, np.int64), np.empty(width + 1, np.int64)
    factor, half, value = np.empty((width, width)), np.empty(width), np.empty(width + 1)
    for block in range(len(blocks) - 1):
        low, n_units = blocks[block], blocks[block + 1] - blocks[block]
        first, table = columns[low], tables[block]
        need, never = inside[block], outside[block]
        table[:] = np.inf
        used[0], value[0], depth, j, m = 0, 0.0, 0, 0, 0
        if need == 0:
            table[0] = 0.0
        while True:
            if j < n_units:
                if (never >> j) & 1:
                    j += 1
                    continue
                n, total = used[depth], value[depth] + cost[low + j]
                for column in range(columns[low + j], columns[low + j + 1]):
                    row[n] = column
                    total -= _extend(packed, field, row, n, first, factor, half)
                    n += 1
                m |= 1 << j
                path[depth] = j
                depth += 1
                used[depth], value[depth] = n, total
                if m & need == need:
                    table[m] = total
                j += 1
            elif depth == 0:
                break
            else:
                depth -= 1
                j = path[depth]
                m &= ~(1 << j)
                j += 1


@_compile
def _extend(packed, field, row, n, first, factor, half):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Append column row[n] to the Cholesky factor (its diagonal inverted); return the square it takes off."""
    column = row[n]
    t = field[column]
    for a in range(n):
        x = packed[column, row[a] - first]
        for q in range(a):
            x -= factor[n, q] * factor[a, q]
        x *= factor[a, a]
        factor[n, a] = x
        t -= x * half[a]
    x = packed[column, column - first]
    for q in range(n):
        x -= factor[n, q] * factor[n, q]
    factor[n, n] = 1.0 / np.sqrt(max(x, TINY))
    half[n] = t * factor[n, n]
    return half[n] * half[n]


@_compile
def value_of(packed, field, cost, columns, blocks, chosen):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Sum over the blocks of the value of one subset, `chosen` telling which units are in it.

    Parameters
    ----------
    packed : ndarray of float, shape (u, width)
        Lam.
    field : ndarray of float, shape (u,)
        g.
    cost : ndarray of float, shape (n_units,)
        Of the units, in the order of the blocks.
    columns : ndarray of int, shape (n_units + 1,)
        First column of each unit; the last entry is u.
    blocks : ndarray of int, shape (n_blocks + 1,)
        First unit of each block; the last entry is the number of units.
    chosen : ndarray of int, shape (n_units,)
        Whether each unit is in.

    Returns
    -------
    float
        Without the constant.
    """
    width = packed.shape[1]
    row, factor, half = np.empty(width, np.int64), np.empty((width, width)), np.empty(width)
    total = 0.0
    for block in range(len(blocks) - 1):
        first, n = columns[blocks[block]], 0
        for j in range(blocks[block], blocks[block + 1]):
            if chosen[j]:
                total += cost[j]
                for column in range(columns[j], columns[j + 1]):
                    row[n] = column
                    total -= _extend(packed, field, row, n, first, factor, half)
                    n += 1
    return total


# ---- the law of a subset whose weight is exp(-value)


@_compile
def _size(m):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    n = 0
    while m:
        m &= m - 1
        n += 1
    return n


@_compile
def log_weights(tables, limit):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Log of the sum of exp(-value) of each block, by number of units up to `limit`; one sum when it is negative.

    Parameters
    ----------
    tables : ndarray of float, shape (n_blocks, n_subsets)
        Values of the subsets.
    limit : int
        The most units; negative for no limit.

    Returns
    -------
    ndarray of float, shape (n_blocks, limit + 1)
        Minus infinity where there is no subset.
    """
    n_blocks, n_subsets = tables.shape
    logs = np.full((n_blocks, max(limit, 0) + 1), -np.inf)
    least, total = np.empty(logs.shape[1]), np.empty(logs.shape[1])
    for block in range(n_blocks):
        least[:], total[:] = np.inf, 0.0
        for m in range(n_subsets):
            k = _size(m) if limit >= 0 else 0
            if k <= max(limit, 0):
                least[k] = min(least[k], tables[block, m])
        for m in range(n_subsets):
            k = _size(m) if limit >= 0 else 0
            if k <= max(limit, 0) and tables[block, m] < np.inf:
                total[k] += np.exp(least[k] - tables[block, m])
        for k in range(logs.shape[1]):
            if total[k] > 0.0:
                logs[block, k] = np.log(total[k]) - least[k]
    return logs


@_compile
def _convolve(x, y):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Logs of the sums over j of exp(x[k - j] + y[j]); `y` ends early in practice."""
    out, reach = np.full(len(x), -np.inf), 0
    for j in range(len(y)):
        if y[j] > -np.inf:
            reach = j
    for k in range(len(x)):
        out[k] = _log_sum(x[max(k - reach, 0) : k + 1], y, k - max(k - reach, 0))
    return out


@_compile
def _log_sum(x, y, last):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Log of the sum over i of exp(x[i] + y[last - i])."""
    top, total = -np.inf, 0.0
    for i in range(len(x)):
        top = max(top, x[i] + y[last - i])
    if top == -np.inf:
        return top
    for i in range(len(x)):
        total += np.exp(x[i] + y[last - i] - top)
    return top + np.log(total)


@_compile
def _log_sum_upto(x):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Running log of the sum of exponentials."""
    out, run = np.empty(len(x)), -np.inf
    for k in range(len(x)):
        top = max(run, x[k])
        if top > -np.inf:
            run = top + np.log(np.exp(run - top) + np.exp(x[k] - top))
        out[k] = run
    return out


@_compile
def suffixes(logs):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Row b: log weight of blocks b, b+1, .. by the number of units in them; the last row is no block.

    Parameters
    ----------
    logs : ndarray of float, shape (n_blocks, limit + 1)
        As `log_weights` returns them.

    Returns
    -------
    ndarray of float, shape (n_blocks + 1, limit + 1)
        Logs.
    """
    n_blocks = len(logs)
    out = np.full((n_blocks + 1, logs.shape[1]), -np.inf)
    out[n_blocks, 0] = 0.0
    for block in range(n_blocks - 1, -1, -1):
        out[block] = _convolve(out[block + 1], logs[block])
    return out


@_compile
def probabilities(tables, limit, probability):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Fill each subset's probability within its block; return the log of the total weight.

    Parameters
    ----------
    tables : ndarray of float, shape (n_blocks, n_subsets)
        Values of the subsets.
    limit : int
        The most units; negative for no limit.
    probability : ndarray of float, shape (n_blocks, n_subsets)
        Of each subset within its block.

    Returns
    -------
    float
        Minus infinity when no model is left.
    """
    n_blocks, n_subsets = tables.shape
    logs = log_weights(tables, limit)
    tail = suffixes(logs)
    total = _log_sum_upto(tail[0])[-1]
    if total == -np.inf:
        probability[:, :] = 0.0
        return total
    most = max(limit, 0)
    head, room = np.full(most + 1, -np.inf), np.empty(most + 1)
    head[0] = 0.0
    for block in range(n_blocks):
        upto = _log_sum_upto(tail[block + 1])
        for k in range(most + 1):
            room[k] = _log_sum(head[: most - k + 1], upto, most - k) if n_subsets >> k > 0 else -np.inf
        for m in range(n_subsets):
            k = _size(m) if limit >= 0 else 0
            fits = tables[block, m] < np.inf and k <= most
            probability[block, m] = np.exp(room[k] - tables[block, m] - total) if fits else 0.0
        head = _convolve(head, logs[block])
    return total


@_compile
def draw(tables, limit, uniforms, picked):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Draw each block's subset in turn; return the block whose uniform number fell too close to an edge, or -1.

    Parameters
    ----------
    tables : ndarray of float, shape (n_blocks, n_subsets)
        Values of the subsets.
    limit : int
        The most units; negative for no limit.
    uniforms : ndarray of float, shape (n_blocks,)
        On (0, 1).
    picked : ndarray of int, shape (n_blocks,)
        Filled with the subsets.

    Returns
    -------
    int
        -1 when every block is drawn.
    """
    n_blocks, n_subsets = tables.shape
    tail = suffixes(log_weights(tables, limit))
    left, weight = max(limit, 0), np.empty(n_subsets)
    for block in range(n_blocks):
        room = _log_sum_upto(tail[block + 1])
        top, edge = -np.inf, EDGE
        for m in range(n_subsets):
            k = _size(m) if limit >= 0 else 0
            fits = tables[block, m] < np.inf and k <= left
            weight[m] = room[left - k] - tables[block, m] if fits else -np.inf
            top = max(top, weight[m])
            if fits and room[left - k] > -np.inf:
                # What cancels when large numbers are subtracted.
                edge = max(edge, EDGE + 1e-15 * n_blocks * (abs(room[left - k]) + abs(tables[block, m])))
        total = 0.0
        for m in range(n_subsets):
            weight[m] = np.exp(weight[m] - top)
            total += weight[m]
        mark, run, chosen = uniforms[block] * total, 0.0, -1
        for m in range(n_subsets):
            run += weight[m]
            if weight[m] > 0.0 and abs(run - mark) <= edge * total:
                return block
            if run > mark:
                chosen = m
                break
        if chosen < 0:
            return block
        picked[block] = chosen
        left -= _size(chosen) if limit >= 0 else 0
    return -1


EDGE = 1e-10
"""Bounds the relative error of a cumulated weight of small numbers: sums of 2^10 terms with their logarithms."""


CAP = 2.0
"""The bound is far below a model's score once it is this many nats below: further does not matter."""


# ---- what Newton's method and the choice of Lam need to know


@_compile
def block_moments(packed, field, columns, blocks, probability, mean, covariance, slope, rest, point, spread):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """E[b] of the subset's own minimizer b_m = Lam_m^-1 g_m, its covariance, and dE[b]/dg = E[Lam_m^-1] + 2 Cov(b).

    Parameters
    ----------
    packed : ndarray of float, shape (u, width)
        Lam.
    field : ndarray of float, shape (u,)
        g.
    columns : ndarray of int, shape (n_units + 1,)
        First column of each unit; the last entry is u.
    blocks : ndarray of int, shape (n_blocks + 1,)
        First unit of each block; the last entry is the number of units.
    probability : ndarray of float, shape (n_blocks, n_subsets)
        Of each subset within its block.
    mean : ndarray of float, shape (u,)
        Filled with E[b].
    covariance : ndarray of float, shape (u, width)
        The covariance of b within each block.
    slope : ndarray of float, shape (u, width)
        Filled with dE[b]/dg.
    rest : ndarray of float, shape (u,)
        Diagonal of S - Lam.
    point : ndarray of float, shape (u,)
        a.
    spread : ndarray of float, shape (u,)
        Filled with how far the bound lies below the scores, in nats, capped, by column.
    """
    width = packed.shape[1]
    factor, inverse, half, b = np.empty((width, width)), np.empty((width, width)), np.empty(width), np.empty(width)
    row, away = np.empty(width, np.int64), np.empty(width)
    mean[:], covariance[:, :], slope[:, :], spread[:] = 0.0, 0.0, 0.0, 0.0
    for block in range(len(blocks) - 1):
        low, first = blocks[block], columns[blocks[block]]
        last = columns[blocks[block + 1]]
        for m in range(1, 1 << (blocks[block + 1] - low)):
            p = probability[block, m]
            if p < 1e-5:
                continue
            n = 0
            for j in range(blocks[block + 1] - low):
                if (m >> j) & 1:
                    for column in range(columns[low + j], columns[low + j + 1]):
                        row[n] = column
                        _extend(packed, field, row, n, first, factor, half)
                        n += 1
            for i in range(n - 1, -1, -1):
                t = half[i]
                for q in range(i + 1, n):
                    t -= factor[q, i] * b[q]
                b[i] = t * factor[i, i]
            for i in range(first, last):
                away[i - first] = -point[i]
            for i in range(n):
                away[row[i] - first] += b[i]
                mean[row[i]] += p * b[i]
            # About the point, which is close to the mean: nothing is lost where one subset has all the probability.
            for i in range(first, last):
                x = away[i - first]
                spread[i] += p * min(rest[i] * x * x, CAP)
                for q in range(first, i + 1):
                    covariance[i, q - first] += p * x * away[q - first]
            if p > 3e-3:
                _add_inverse(factor, n, p, row, first, inverse, slope)
        p = max(probability[block, 0], 0.0)
        for i in range(first, last):
            spread[i] += p * min(rest[i] * point[i] * point[i], CAP)
            for q in range(first, i + 1):
                covariance[i, q - first] += p * point[i] * point[q]
                covariance[i, q - first] -= (mean[i] - point[i]) * (mean[q] - point[q])
                covariance[q, i - first] = covariance[i, q - first]
        for i in range(first, last):
            for q in range(first, last):
                slope[i, q - first] += 2.0 * covariance[i, q - first]


@_compile
def _add_inverse(factor, n, p, row, first, inverse, out):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Add p times the inverse of the factored matrix."""
    for i in range(n):
        inverse[i, i] = factor[i, i]
        for q in range(i):
            t = 0.0
            for r in range(q, i):
                t -= factor[i, r] * inverse[r, q]
            inverse[i, q] = t * factor[i, i]
    for i in range(n):
        for q in range(i + 1):
            t = 0.0
            for r in range(i, n):
                t += inverse[r, i] * inverse[r, q]
            out[row[i], row[q] - first] += p * t
            if q < i:
                out[row[q], row[i] - first] += p * t
