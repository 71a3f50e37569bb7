"""The loops that choose Lam for `separable_fit`, one block after the other, and that group similar units.

Matrices that are block diagonal are packed as in `separable_compiled`.
"""

import numba
import numpy as np

from discreet.kernels.subsets.small_matrices_compiled import eigen_small, factor_small, invert_factor, invert_small

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")


@_compile
def invert_blocks(packed, columns, blocks):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Invert a block diagonal matrix in place.

    Shapes: packed (u, width), columns (n_units + 1,), blocks (n_blocks + 1,).
    """
    width = packed.shape[1]
    matrix, factor = np.empty((width, width)), np.empty((width, width))
    for block in range(len(blocks) - 1):
        c0, w = columns[blocks[block]], columns[blocks[block + 1]] - columns[blocks[block]]
        matrix[:w, :w] = packed[c0 : c0 + w, :w]
        invert_small(matrix, w, factor)
        packed[c0 : c0 + w, :w] = matrix[:w, :w]


@_compile
def invert_lower(factor):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Invert a lower triangular matrix in place."""
    invert_factor(factor, len(factor))


@_compile
def balance(inverse, packed, covariance, columns, blocks, mu, first_time):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return Lam after one sweep over the blocks towards the highest bound, with S - Lam positive definite.

    Shapes: inverse (u, u), packed, covariance (u, width), columns (n_units + 1,), blocks (n_blocks + 1,); returns
    packed.
    """
    # The bound rises with Lam_B at the rate Cov_B(b), and Cov_B = Lam^-1 N Lam^-1 for a nearly constant N. With
    # T = Lam_B + (S - Lam)/B the most that the block could take, stationarity of the bound plus mu log det(S - Lam)
    # is mu Lam N^-1 Lam + Lam = T, solved in closed form in coordinates where N = I.
    width = packed.shape[1]
    new = np.zeros_like(packed)
    old, slack, most = np.zeros((width, width)), np.zeros((width, width)), np.zeros((width, width))
    noise, root, work = np.zeros((width, width)), np.zeros((width, width)), np.zeros((width, width))
    vectors, values = np.zeros((width, width)), np.zeros(width)
    for block in range(len(blocks) - 1):
        c0 = columns[blocks[block]]
        w = columns[blocks[block + 1]] - c0
        for i in range(w):
            for k in range(w):
                old[i, k] = packed[c0 + i, k]
                # Of `inverse`, (S - Lam)^-1, the lower triangle alone is kept up to date.
                slack[i, k] = inverse[c0 + max(i, k), c0 + min(i, k)]
        # The inverse of a block of (S - Lam)^-1 is the Schur complement (S - Lam)/B: what Lam_B may still grow by while
        # S - Lam stays positive definite and the other blocks stay.
        invert_small(slack, w, work)
        for i in range(w):
            for k in range(w):
                most[i, k] = old[i, k] + slack[i, k]
        if first_time:
            # There are no moments yet. With N = T the equation is solved by a multiple of T.
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
            # N is singular where a unit is almost surely out, and its factor needs it regular.
            noise[i, i] += 1e-6 * trace / w + 1e-6 * mu * old[i, i] + 1e-12 * most[i, i]
        _solve_block(most, noise, w, mu, root, work, vectors, values)
        # root root' is the new block; the others have slack - (new - old) left
        for i in range(w):
            for k in range(w):
                t = 0.0
                for q in range(w):
                    t += root[i, q] * root[k, q]
                new[c0 + i, k] = t
                work[i, k] = most[i, k] - t
        _update_inverse(inverse, slack, work, c0, w, noise, vectors)
    return new


@_compile
def _solve_block(most, noise, w, mu, root, work, vectors, values):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Leave in `root` a factor of the solution X of mu X N^-1 X + X = T."""
    # With N = L L' and X = L Y L' the equation becomes mu Y^2 + Y = L^-1 T L^-T, whose solution has the same
    # eigenvectors as its right side; then X = R R' with R = L V Y^(1/2).
    factor_small(noise, w, root)
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
    eigen_small(work, w, vectors, values)
    for k in range(w):
        x = max(values[k], 0.0)
        # mu y^2 + y = x: y = 2 x / (1 + sqrt(1 + 4 mu x)), which does not cancel.
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
def _update_inverse(inverse, slack, new_slack, c0, w, middle, half):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Update the inverse of S - Lam after c0 + w, when a block's Schur complement went from `slack` to `new_slack`."""
    u = len(inverse)
    # Only the block B of M = S - Lam has changed, so M^-1 changes by M^-1[:, B] (K K'^-1 K - K) M^-1[B, :] (Woodbury),
    # with K the old and K' the new Schur complement: on B itself this is K'^-1 - K^-1.
    invert_small(new_slack, w, half)
    for i in range(w):
        for k in range(w):
            t = 0.0
            for q in range(w):
                t += new_slack[i, q] * slack[q, k]
            half[i, k] = t
    for i in range(w):
        for k in range(w):
            t = -slack[i, k]
            for q in range(w):
                t += slack[i, q] * half[q, k]
            middle[i, k] = t
    # The blocks that follow need no more than the lower triangle of their own rows and columns.
    n = u - c0 - w
    strip, product = np.empty((w, n)), np.empty(n)
    for q in range(w):
        for i in range(n):
            strip[q, i] = inverse[c0 + w + i, c0 + q]
    for q in range(w):
        product[:] = 0.0
        for k in range(w):
            # The middle matrix is symmetric but for rounding.
            x = 0.5 * (middle[q, k] + middle[k, q])
            for i in range(n):
                product[i] += x * strip[k, i]
        for i in range(n):
            x, row = product[i], inverse[c0 + w + i]
            for k in range(i + 1):
                row[c0 + w + k] += x * strip[q, k]


@_compile
def group(similarity, order, width):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Join the most similar units first, no group larger than `width`; return each unit's group."""
    d = len(similarity)
    of, size = np.arange(d), np.ones(d, np.int64)
    for pair in order:
        i, j = of[pair // d], of[pair % d]
        # Single linkage: `order` holds the pairs, the most similar first, and a pair joins the groups of its two units.
        if i != j and size[i] + size[j] <= width:
            size[i] += size[j]
            for k in range(d):
                if of[k] == j:
                    of[k] = i
    return of
