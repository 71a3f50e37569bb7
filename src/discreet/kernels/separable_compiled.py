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
    """Sum over the blocks of the value of one subset, `chosen` telling which units are in it."""
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
    """Log of the sum of exp(-value) of each block, by number of units up to `limit`; one sum when it is negative."""
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
    """Row b: log weight of blocks b, b+1, .. by the number of units in them; the last row is no block."""
    n_blocks = len(logs)
    out = np.full((n_blocks + 1, logs.shape[1]), -np.inf)
    out[n_blocks, 0] = 0.0
    for block in range(n_blocks - 1, -1, -1):
        out[block] = _convolve(out[block + 1], logs[block])
    return out


@_compile
def probabilities(tables, limit, probability):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Fill each subset's probability within its block; return the log of the total weight."""
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
    """Draw each block's subset in turn; return the block whose uniform number fell too close to an edge, or -1."""
    n_blocks, n_subsets = tables.shape
    tail = suffixes(log_weights(tables, limit))
    left, weight = max(limit, 0), np.empty(n_subsets)
    for block in range(n_blocks):
        room = _log_sum_upto(tail[block + 1])
        top = -np.inf
        for m in range(n_subsets):
            k = _size(m) if limit >= 0 else 0
            fits = tables[block, m] < np.inf and k <= left
            weight[m] = room[left - k] - tables[block, m] if fits else -np.inf
            top = max(top, weight[m])
        total = 0.0
        for m in range(n_subsets):
            weight[m] = np.exp(weight[m] - top)
            total += weight[m]
        mark, run, chosen = uniforms[block] * total, 0.0, -1
        for m in range(n_subsets):
            run += weight[m]
            if weight[m] > 0.0 and abs(run - mark) <= EDGE * total:
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
"""Bounds the relative error of a cumulated weight: sums of 2^10 terms, each with an exponential and a logarithm."""


CAP = 2.0
"""The bound is far below a model's score once it is this many nats below: further does not matter."""


# ---- what Newton's method and the choice of Lam need to know


@_compile
def block_moments(packed, field, columns, blocks, probability, mean, covariance, slope, rest, point, spread):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """E[b] of the subset's own minimizer b_m = Lam_m^-1 g_m, its covariance, and dE[b]/dg = E[Lam_m^-1] + 2 Cov(b)."""
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


@_compile
def invert_blocks(packed, columns, blocks):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Invert a block diagonal matrix in place."""
    width = packed.shape[1]
    matrix, factor = np.empty((width, width)), np.empty((width, width))
    for block in range(len(blocks) - 1):
        c0, w = columns[blocks[block]], columns[blocks[block + 1]] - columns[blocks[block]]
        matrix[:w, :w] = packed[c0 : c0 + w, :w]
        _invert(matrix, w, factor)
        packed[c0 : c0 + w, :w] = matrix[:w, :w]


@_compile
def balance(inverse, packed, covariance, columns, blocks, mu, first_time):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """One sweep over the blocks towards the Lam with the highest bound, keeping S - Lam positive definite.

    The bound rises with Lam_B at the rate Cov_B(b), and Cov_B = Lam^-1 N Lam^-1 for a nearly constant N. With
    T = Lam_B + (S - Lam)/B the most that the block could take, stationarity of the bound plus mu log det(S - Lam)
    is mu Lam N^-1 Lam + Lam = T, solved in closed form in coordinates where N = I. `inverse` is that of S - Lam and
    is kept up to date.
    """
    width = packed.shape[1]
    new = np.zeros_like(packed)
    old, spare, most = np.zeros((width, width)), np.zeros((width, width)), np.zeros((width, width))
    noise, root, work = np.zeros((width, width)), np.zeros((width, width)), np.zeros((width, width))
    vectors, values = np.zeros((width, width)), np.zeros(width)
    for block in range(len(blocks) - 1):
        c0 = columns[blocks[block]]
        w = columns[blocks[block + 1]] - c0
        for i in range(w):
            for k in range(w):
                old[i, k] = packed[c0 + i, k]
                spare[i, k] = inverse[c0 + i, c0 + k]
        _invert(spare, w, work)
        for i in range(w):
            for k in range(w):
                most[i, k] = old[i, k] + spare[i, k]
        if first_time:
            noise[:w, :w] = most[:w, :w]
        else:
            for i in range(w):
                for k in range(w):
                    t = 0.0
                    for q in range(w):
                        t += old[i, q] * covariance[c0 + q, k]
                    work[i, k] = t
            for i in range(w):
                for k in range(w):
                    t = 0.0
                    for q in range(w):
                        t += work[i, q] * old[q, k]
                    noise[i, k] = t
        trace = 0.0
        for i in range(w):
            trace += noise[i, i]
        for i in range(w):
            noise[i, i] += 1e-6 * trace / w + 1e-6 * mu * old[i, i] + 1e-12 * most[i, i]
        _solve_block(most, noise, w, mu, root, work, vectors, values)
        # root root' is the new block; what is left to the others is spare - (new - old)
        for i in range(w):
            for k in range(w):
                t = 0.0
                for q in range(w):
                    t += root[i, q] * root[k, q]
                new[c0 + i, k] = t
                work[i, k] = most[i, k] - t
        _update_inverse(inverse, spare, work, c0, w, noise, vectors)
    return new


@_compile
def _solve_block(most, noise, w, mu, root, work, vectors, values):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Leave in `root` a factor of the solution of mu X N^-1 X + X = T."""
    for i in range(w):
        for k in range(i + 1):
            t = 0.5 * (noise[i, k] + noise[k, i])
            for q in range(k):
                t -= root[i, q] * root[k, q]
            root[i, k] = np.sqrt(max(t, TINY)) if i == k else t / root[k, k]
    # work = L^-1 T L^-T
    for k in range(w):
        for i in range(w):
            t = 0.5 * (most[i, k] + most[k, i])
            for q in range(i):
                t -= root[i, q] * work[q, k]
            work[i, k] = t / root[i, i]
    for i in range(w):
        for k in range(w):
            t = work[i, k]
            for q in range(k):
                t -= root[k, q] * work[i, q]
            work[i, k] = t / root[k, k]
    _eigen(work, w, vectors, values)
    for k in range(w):
        x = max(values[k], 0.0)
        scale = np.sqrt(2.0 * x / (1.0 + np.sqrt(1.0 + 4.0 * mu * x)))
        for i in range(w):
            vectors[i, k] *= scale
    for i in range(w - 1, -1, -1):
        for k in range(w):
            t = 0.0
            for q in range(i + 1):
                t += root[i, q] * vectors[q, k]
            work[i, k] = t
    for i in range(w):
        for k in range(w):
            root[i, k] = work[i, k]


@_compile
def _update_inverse(inverse, spare, left, c0, w, middle, half):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Inverse of S - Lam after a block's Schur complement went from `spare` (destroyed) to `left`."""
    u = len(inverse)
    _invert(left, w, half)
    for i in range(w):
        for k in range(w):
            t = 0.0
            for q in range(w):
                t += left[i, q] * spare[q, k]
            half[i, k] = t
    for i in range(w):
        for k in range(w):
            t = -spare[i, k]
            for q in range(w):
                t += spare[i, q] * half[q, k]
            middle[i, k] = t
    strip = inverse[:, c0 : c0 + w].copy()
    product = np.zeros((u, w))
    for i in range(u):
        for q in range(w):
            x = strip[i, q]
            for k in range(w):
                product[i, k] += x * 0.5 * (middle[q, k] + middle[k, q])
    strip = strip.T.copy()
    for i in range(u):
        for q in range(w):
            x = product[i, q]
            for k in range(u):
                inverse[i, k] += x * strip[q, k]


@_compile
def _invert(matrix, w, factor):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Invert a positive definite matrix in place."""
    for i in range(w):
        for k in range(i + 1):
            t = 0.5 * (matrix[i, k] + matrix[k, i])
            for q in range(k):
                t -= factor[i, q] * factor[k, q]
            factor[i, k] = np.sqrt(max(t, TINY)) if i == k else t / factor[k, k]
    for i in range(w):
        factor[i, i] = 1.0 / factor[i, i]
        for k in range(i):
            t = 0.0
            for q in range(k, i):
                t -= factor[i, q] * factor[q, k]
            factor[i, k] = t * factor[i, i]
    for i in range(w):
        for k in range(i + 1):
            t = 0.0
            for q in range(i, w):
                t += factor[q, i] * factor[q, k]
            matrix[i, k] = t
            matrix[k, i] = t


@_compile
def _eigen(matrix, w, vectors, values):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Eigenvalues and vectors of a small symmetric matrix by Jacobi's rotations; destroys it."""
    for i in range(w):
        for k in range(w):
            vectors[i, k] = 1.0 if i == k else 0.0
            if k < i:
                matrix[i, k] = matrix[k, i] = 0.5 * (matrix[i, k] + matrix[k, i])
    for _ in range(30):
        off, diagonal = 0.0, 0.0
        for i in range(w):
            diagonal += matrix[i, i] * matrix[i, i]
            for k in range(i):
                off += matrix[i, k] * matrix[i, k]
        if not off > 1e-20 * diagonal:
            break
        for i in range(w):
            for k in range(i + 1, w):
                x = matrix[i, k]
                if x == 0.0:
                    continue
                angle = (matrix[k, k] - matrix[i, i]) / (2.0 * x)
                t = (1.0 if angle >= 0.0 else -1.0) / (abs(angle) + np.sqrt(1.0 + angle * angle))
                c = 1.0 / np.sqrt(1.0 + t * t)
                s = t * c
                for q in range(w):
                    a, b = matrix[q, i], matrix[q, k]
                    matrix[q, i], matrix[q, k] = c * a - s * b, s * a + c * b
                for q in range(w):
                    a, b = matrix[i, q], matrix[k, q]
                    matrix[i, q], matrix[k, q] = c * a - s * b, s * a + c * b
                    a, b = vectors[q, i], vectors[q, k]
                    vectors[q, i], vectors[q, k] = c * a - s * b, s * a + c * b
    for i in range(w):
        values[i] = matrix[i, i]


@_compile
def group(similarity, order, width):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Join the most similar units first, no group larger than `width`; return each unit's group."""
    d = len(similarity)
    of, size = np.arange(d), np.ones(d, np.int64)
    for pair in order:
        i, j = of[pair // d], of[pair % d]
        if i != j and size[i] + size[j] <= width:
            size[i] += size[j]
            for k in range(d):
                if of[k] == j:
                    of[k] = i
    return of
