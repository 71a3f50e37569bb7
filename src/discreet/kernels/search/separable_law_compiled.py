"""The law of one subset for each block whose weight is exp(-value), sizes limited or not: its sum, its draws."""

import numba
import numpy as np

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")

EDGE = 1e-10
"""Bounds the relative error of a cumulated weight of small numbers: sums of 2^10 terms with their logarithms."""


@_compile
def _size(m):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    n = 0
    while m:
        m &= m - 1
        n += 1
    return n


@_compile
def log_weights(tables, limit):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the log of the sum of exp(-value) of each block, by number of units up to `limit`; one sum when negative.

    Shapes: tables (n_blocks, n_subsets); returns (n_blocks, limit + 1).
    """
    n_blocks, n_subsets = tables.shape
    logs = np.full((n_blocks, max(limit, 0) + 1), -np.inf)
    least, total = np.empty(logs.shape[1]), np.empty(logs.shape[1])
    for block in range(n_blocks):
        least[:], total[:] = np.inf, 0.0
        # Weights are taken relative to the largest, exp(least - value), so that none overflows and the largest is 1.
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
    """Return the logs of the sums over j of exp(x[k - j] + y[j]); `y` ends early in practice."""
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
    """Return in row b the log weight of blocks b, b + 1, .. by the number of units in them; the last row is no block.

    Shapes: logs (n_blocks, limit + 1); returns (n_blocks + 1, limit + 1).
    """
    n_blocks = len(logs)
    if logs.shape[1] == 1:
        # A sum of logs, in the same order.
        total = np.zeros((n_blocks + 1, 1))
        for block in range(n_blocks - 1, -1, -1):
            total[block, 0] = total[block + 1, 0] + logs[block, 0]
        return total
    out = np.full((n_blocks + 1, logs.shape[1]), -np.inf)
    out[n_blocks, 0] = 0.0
    for block in range(n_blocks - 1, -1, -1):
        out[block] = _convolve(out[block + 1], logs[block])
    return out


@_compile
def log_weight(tables, limit):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the log of the total weight; minus infinity when there is no model."""
    return _log_sum_upto(suffixes(log_weights(tables, limit))[0])[-1]


@_compile
def probabilities(tables, limit, probability):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Fill each subset's probability within its block; return the log of the total weight.

    Shapes: tables, probability (n_blocks, n_subsets).
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
        # The chance of a subset with k units is its weight times that of all ways to fill the other blocks with at most
        # `limit` - k units: `head` of the blocks before, by number, and `tail` of those behind.
        upto = _log_sum_upto(tail[block + 1])
        for k in range(most + 1):
            # A block of log2(n_subsets) units holds no subset of more.
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

    Shapes: tables (n_blocks, n_subsets), uniforms (n_blocks,), picked (n_blocks,).
    """
    n_blocks, n_subsets = tables.shape
    tail = suffixes(log_weights(tables, limit))
    remaining, weight = max(limit, 0), np.empty(n_subsets)
    for block in range(n_blocks):
        room = _log_sum_upto(tail[block + 1])
        top, edge = -np.inf, EDGE
        for m in range(n_subsets):
            k = _size(m) if limit >= 0 else 0
            fits = tables[block, m] < np.inf and k <= remaining
            weight[m] = room[remaining - k] - tables[block, m] if fits else -np.inf
            top = max(top, weight[m])
            if fits and room[remaining - k] > -np.inf:
                # What cancels when large numbers are subtracted.
                edge = max(edge, EDGE + 1e-15 * n_blocks * (abs(room[remaining - k]) + abs(tables[block, m])))
        total = 0.0
        for m in range(n_subsets):
            weight[m] = np.exp(weight[m] - top)
            total += weight[m]
        mark, run, chosen = uniforms[block] * total, 0.0, -1
        for m in range(n_subsets):
            run += weight[m]
            # Rounding could put the number on the other side of this edge: whoever asked must decide it in more digits,
            # with the same bits.
            if weight[m] > 0.0 and abs(run - mark) <= edge * total:
                return block
            if run > mark:
                chosen = m
                break
        if chosen < 0:
            return block
        picked[block] = chosen
        # Sequentially: the next block is drawn from its law given the subsets chosen so far.
        remaining -= _size(chosen) if limit >= 0 else 0
    return -1
