"""Factors, inverses and eigenvalues of small symmetric matrices, in the leading part of arrays that are reused."""

import numba
import numpy as np

_compile = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)

TINY = 1e-290
"""Smallest pivot: a smaller one is raised to it."""


@_compile
def factor_small(matrix, w, factor):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Fill the lower Cholesky factor of the leading w by w part of a positive definite matrix."""
    for i in range(w):
        for k in range(i + 1):
            t = matrix[i, k]
            for q in range(k):
                t -= factor[i, q] * factor[k, q]
            factor[i, k] = np.sqrt(max(t, TINY)) if i == k else t / factor[k, k]


@_compile
def solve_factor(factor, w, side, first, solution):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Solve factor @ solution = side[first:first + w] by forward substitution."""
    for i in range(w):
        t = side[first + i]
        for q in range(i):
            t -= factor[i, q] * solution[q]
        solution[i] = t / factor[i, i]


@_compile
def squared_length(matrix, w, side, first, solution):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return s'M^-1 s for s = side[first:first + w]; the matrix M is overwritten."""
    if w == 1:
        return side[first] * side[first] / max(matrix[0, 0], TINY)
    factor_small(matrix, w, matrix)
    solve_factor(matrix, w, side, first, solution)
    total = 0.0
    for i in range(w):
        total += solution[i] * solution[i]
    return total


@_compile
def invert_factor(factor, w):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Invert a lower triangular matrix in place."""
    for i in range(w):
        factor[i, i] = 1.0 / factor[i, i]
        # Whole rows of the inverse are added; entry q is overwritten once it has served.
        for q in range(i):
            x = -factor[i, i] * factor[i, q]
            factor[i, q] = x * factor[q, q]
            for k in range(q):
                factor[i, k] += x * factor[q, k]


@_compile
def invert_small(matrix, w, factor):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Invert a positive definite matrix in place."""
    factor_small(matrix, w, factor)
    invert_factor(factor, w)
    for i in range(w):
        for k in range(i + 1):
            t = 0.0
            for q in range(i, w):
                t += factor[q, i] * factor[q, k]
            matrix[i, k] = t
            matrix[k, i] = t


@_compile
def eigen_small(matrix, w, vectors, values):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Fill eigenvalues and eigenvectors of a symmetric matrix by Jacobi's rotations."""
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
                # cot 2 theta; t = tan theta is the smaller root of t^2 + 2 t cot 2 theta = 1, an angle of 45 degrees at
                # most.
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
