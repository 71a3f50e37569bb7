"""The loops behind `separable`: one block of units at a time, every subset of a block.

A block's columns stand together; a matrix that is block diagonal is stored as one row a column, `packed[i, k]` being
the entry of column i and the k-th column of its block.
"""

import numba
import numpy as np

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")

TINY = 1e-290
"""Smallest pivot: a smaller one is raised to it, which lowers the bound, and so it stays a bound."""

CAP = 2.0
"""Nats below a model's score from which on it does not matter how far a bound lies below."""


@_compile
def fill_tables(packed, field, cost, columns, blocks, tables):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Fill each block's table with cost(m) - g_m' (Lam_m)^-1 g_m for every subset m of its units.

    Shapes: packed (u, width), field (u,), cost (n_units,), columns (n_units + 1,), blocks (n_blocks + 1,), tables
    (n_blocks, n_subsets).
    """
    width = packed.shape[1]
    row, path, used = np.empty(width, np.int64), np.empty(width + 1, np.int64), np.empty(width + 1, np.int64)
    factor, half, value = np.empty((width, width)), np.empty(width), np.empty(width + 1)
    for block in range(len(blocks) - 1):
        low, n_units = blocks[block], blocks[block + 1] - blocks[block]
        first, table = columns[low], tables[block]
        table[:] = np.inf
        table[0], used[0], value[0], depth, j, m = 0.0, 0, 0.0, 0, 0, 0
        # Depth first, each subset entered once and left once: it shares the Cholesky rows of the one it extends.
        while True:
            if j < n_units:
                n, total = used[depth], value[depth] + cost[low + j]
                for column in range(columns[low + j], columns[low + j + 1]):
                    row[n] = column
                    # min over b of b' Lam_m b - 2 g' b = -|L^-1 g|^2 with Lam_m = L L': a column more adds one entry to
                    # L^-1 g, and the entries before stay.
                    total -= _extend(packed, field, row, n, first, factor, half)
                    n += 1
                m |= 1 << j
                path[depth] = j
                depth += 1
                used[depth], value[depth] = n, total
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
    """Append column row[n] to the Cholesky factor, whose diagonal is inverted; return the square that it takes off."""
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
def block_moments(packed, field, columns, blocks, probability, mean, covariance, slope, rest, point, spread):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Fill E[b] of the subset's minimizer b_m = Lam_m^-1 g_m, Cov(b), and dE[b]/dg = E[Lam_m^-1] + 2 Cov(b).

    Shapes: packed, covariance, slope (u, width), field, mean, rest, point, spread (u,), columns (n_units + 1,), blocks
    (n_blocks + 1,), probability (n_blocks, n_subsets).
    """
    width = packed.shape[1]
    factor, inverse, half, b = np.empty((width, width)), np.empty((width, width)), np.empty(width), np.empty(width)
    row, deviation = np.empty(width, np.int64), np.empty(width)
    mean[:], covariance[:, :], slope[:, :], spread[:] = 0.0, 0.0, 0.0, 0.0
    for block in range(len(blocks) - 1):
        low, first = blocks[block], columns[blocks[block]]
        last = columns[blocks[block + 1]]
        for m in range(1, 1 << (blocks[block + 1] - low)):
            p = probability[block, m]
            # Here and below subsets with little probability are left out: the moments steer the search, and a bound
            # holds whatever Lam, a and v they lead to.
            if p < 1e-5:
                continue
            n = 0
            for j in range(blocks[block + 1] - low):
                if (m >> j) & 1:
                    for column in range(columns[low + j], columns[low + j + 1]):
                        row[n] = column
                        _extend(packed, field, row, n, first, factor, half)
                        n += 1
            # b = L'^-1 (L^-1 g), from the last row up; the diagonal of `factor` holds the inverses.
            for i in range(n - 1, -1, -1):
                t = half[i]
                for q in range(i + 1, n):
                    t -= factor[q, i] * b[q]
                b[i] = t * factor[i, i]
            for i in range(first, last):
                deviation[i - first] = -point[i]
            for i in range(n):
                deviation[row[i] - first] += b[i]
                mean[row[i]] += p * b[i]
            # About the point, which is close to the mean: nothing is lost where one subset has all the probability.
            for i in range(first, last):
                x = deviation[i - first]
                spread[i] += p * min(rest[i] * x * x, CAP)
                for q in range(first, i + 1):
                    covariance[i, q - first] += p * x * deviation[q - first]
            if p > 3e-3:
                _add_inverse(factor, n, p, row, first, inverse, slope)
        # The empty subset has b = 0. Then Cov(b) = E[(b - a)(b - a)'] - (E[b] - a)(E[b] - a)'.
        p = max(probability[block, 0], 0.0)
        for i in range(first, last):
            spread[i] += p * min(rest[i] * point[i] * point[i], CAP)
            for q in range(first, i + 1):
                covariance[i, q - first] += p * point[i] * point[q]
                covariance[i, q - first] -= (mean[i] - point[i]) * (mean[q] - point[q])
                covariance[q, i - first] = covariance[i, q - first]
        for i in range(first, last):
            for q in range(first, last):
                # E[b] = sum p_m b_m with log p_m = g' Lam_m^-1 g + ...: its derivative is E[Lam_m^-1] plus Cov(b, d log
                # p / dg) = 2 Cov(b).
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
